"""What the page calls things: states, columns, phases, links, times, in people's words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import from_microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

PHASES: Final[Mapping[str, tuple[str, str]]] = {
    "expire": ("What ran out", "archives notes past their time, ended facts and what grew weak"),
    "link_entities": ("People, places and things", "joins the mentions of one name"),
    "extract_facts": ("Facts", "reads statements about people and things"),
    "supersede": ("Corrections", "lets newer evidence replace what it contradicts"),
    "merge_duplicates": ("Duplicates", "joins what says the same"),
    "strengthen": ("Strength", "raises what was used, and a little of what it is linked to"),
    "link_cooccurring": ("What occurs together", "links what comes up in the same talk"),
    "summarise": ("Summaries", "condenses old turns, which stay beside the summary"),
    "promote_procedures": ("Procedures", "drafts what the agent keeps doing, for a person"),
    "screen": ("Screening", "marks text that must not be learnt from"),
    "user": ("By a person", "what somebody noted or decided"),
}
"""A phase's title, and what it does."""

STATES: Final[Mapping[str, str]] = {
    "active": "in use",
    "condensed": "condensed: recall still finds it",
    "archived": "archived: hidden from recall",
    "merged": "merged into another",
    "superseded": "replaced by a newer one",
    "retracted": "taken back: never true",
    "forgotten": "forgotten",
}

COLUMNS: Final[Mapping[str, str]] = {
    "state": "State", "text": "Text", "status": "Review", "strength": "Strength",
    "until": "Until", "occurred_at": "Happened", "recorded_at": "Recorded", "pinned": "Pinned",
    "trust": "Trust", "key": "Key", "session": "Session", "position": "Position",
    "valid_from": "True from", "valid_to": "True until", "entity_kind": "Kind",
    "would_change": "Would change", "decided_by": "Decided by", "decided_at": "Decided at",
    "support": "Seen in sessions", "first_at": "From", "last_at": "To",
    "episode_count": "Turns", "note_kind": "Kind of note", "count": "Times", "at": "At",
    "weight": "Weight", "spread_weight": "Already spread",
}  # fmt: skip

LINKS: Final[Mapping[str, tuple[str, str]]] = {
    "mentions": ("Mentions", "Mentioned in"),
    "evidence": ("Rests on", "Is evidence of"),
    "summarises": ("Condenses", "Is condensed in"),
    "co_occurred": ("Occurs with", "Occurs with"),
    "supersedes": ("Replaces", "Is replaced by"),
    "same_as": ("Is the same as", "Is the same as"),
    "part_of": ("Is part of", "Has the part"),
}
"""What a link says from its source, and from its target."""

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "episode": ("turn", "turns"),
    "entity": ("entity", "entities"),
    "fact": ("fact", "facts"),
    "summary": ("summary", "summaries"),
    "note": ("note", "notes"),
    "procedure": ("procedure", "procedures"),
}

_TIMES: Final = frozenset({"occurred_at", "recorded_at", "until", "at"})
_STATED: Final = frozenset({"valid_from", "valid_to", "first_at", "last_at", "decided_at"})
_NONE: Final[Mapping[str, str]] = {"valid_to": "open", "until": "open"}


def phase_title(name: str) -> str:
    """A phase by what it is about; one that is not known here by its name."""
    return PHASES[name][0] if name in PHASES else name.replace("_", " ").capitalize()


def column(name: str) -> str:
    """A column or a field of a record's content as a label."""
    return COLUMNS.get(name, name.replace("_", " ").capitalize())


def kinds(kind: str, number: int) -> str:
    """``1 entity``, ``2,000 entities``."""
    single, plural = KINDS.get(kind, (kind, f"{kind}s"))
    return f"{number:,} {single if number == 1 else plural}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 change``, ``2,000 changes``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def when(moment: datetime) -> str:
    """A time to the minute, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def long_date(moment: datetime) -> str:
    """``21 September 2026, 02:00 UTC``, in English whatever the machine speaks."""
    months = (
        "January February March April May June July August September October November December"
    ).split()
    at = moment.astimezone(UTC)
    return f"{at.day} {months[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def value(name: str, given: object) -> str:
    """A column's value as a person reads it."""
    if given is None or given == "":
        return _NONE.get(name, "none")
    if name == "state":
        return STATES.get(str(given), str(given))
    if name == "pinned":
        return "yes" if given else "no"
    if name in _TIMES and isinstance(given, int):
        return f"{when(from_microseconds(given))} UTC"
    if name in _STATED:
        return _stated(str(given))
    return plain(given)


def plain(given: object) -> str:
    """A value as a file or a flag would write it; a list of words as words."""
    if isinstance(given, str):
        return given
    if isinstance(given, list | tuple):
        return ", ".join(plain(one) for one in given) or "none"
    if given is None or isinstance(given, bool):
        return str(given).lower()
    return json.dumps(given, ensure_ascii=False, default=str)


def steps_of(given: Any) -> str:  # noqa: ANN401 - steps as a body holds them
    """A procedure's steps on one line: the tools in their order."""
    return ", then ".join(str(step["action"]) for step in given) or "none"


def _stated(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{when(moment)} UTC" if moment.tzinfo else text
