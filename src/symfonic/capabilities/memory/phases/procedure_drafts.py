"""Build the draft of a procedure from the occurrences of one pattern, and add new ones to it.

Pure: occurrences, and the episodes they stand in, come in; records and links go out. A step holds
what all occurrences share; what differs between them stands as an argument's name in braces, so
that a draft never presents one customer's order number as the rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from symfonic.capabilities.memory.records import (
    Episode,
    Link,
    Procedure,
    Record,
    RecordId,
    Step,
    canonical,
    least_trust,
)
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Plain, Seen

TITLE_CHARACTERS: Final = 120
TEXT_CHARACTERS: Final = 240
"""A step's words, and an argument's value: enough to recognise it by."""

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]|\Z)")
_LEAST_DIGITS: Final = 3
"""Shorter numbers stand in any conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One time that the steps were done or stated, and the episodes that show it, in order.

    ``said`` is what stood in the turns before, where that was looked up.
    """

    steps: tuple[Step, ...]
    episodes: tuple[Record, ...]
    trigger: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How often, in distinct sessions."""

    sessions: int
    successes: int
    failures: int

    def __str__(self) -> str:
        counts = (
            counted(self.sessions, "session"),
            counted(self.successes, "success", "es"),
            counted(self.failures, "failure"),
        )
        return ", ".join(counts)


def counted(number: int, noun: str, plural: str = "s") -> str:
    """``1 session``, ``2 sessions``."""
    return f"{number} {noun}{'' if number == 1 else plural}"


def places_of(rows: Iterable[Seen]) -> set[RecordId]:
    """The episodes that these sightings stand in."""
    return {
        RecordId(place)
        for row in rows
        for place in (row.episode, *(call[0] for call in row.body.get("calls", ())))
    }


def occurrence_of(row: Seen, episodes: Mapping[RecordId, Record]) -> Occurrence | None:
    """What a sighting shows; ``None`` where an episode it stands in is no longer there."""
    if not places_of([row]) <= episodes.keys():
        return None
    if "calls" not in row.body:
        return Occurrence(
            steps=tuple(Step(action=bounded(step)) for step in row.body["steps"]),
            episodes=(episodes[row.episode],),
            trigger=bounded(row.body["trigger"]),
        )
    steps = [_step(episodes[place], index) for place, index in row.body["calls"]]
    shown_by = {place: episodes[place] for place, _ in row.body["calls"]}
    return Occurrence(steps=tuple(steps), episodes=tuple(shown_by.values()))


def draft_of(
    occurrences: Sequence[Occurrence],
    support: Support,
    *,
    id: RecordId,
    scope: str,
    key: str,
    origin: Literal["calls", "stated", "proposed"],
    now: datetime,
    half_life_hours: float,
    requests: Sequence[Record] = (),
    trigger: str = "",
    title: str = "",
    would_change: str | None = None,
) -> Record:
    """The draft that ``occurrences``, oldest first, give.

    It is worded as the last of them. ``requests`` are what users asked for before the calls, and
    ``trigger`` says so in words.
    """
    last = occurrences[-1]
    title = bounded(title or _title(last), TITLE_CHARACTERS)
    content = Procedure(
        title=title,
        trigger=last.trigger or trigger or title,
        steps=_without_cases(_shared_steps([each.steps for each in occurrences]), occurrences),
        origin=origin,
        support=support.sessions,
        successes=support.successes,
        failures=support.failures,
        would_change=would_change,
    )
    episodes = [*(one for each in occurrences for one in each.episodes), *requests]
    first = min(one.at for one in episodes)
    return Record(
        id=id,
        scope=scope,
        kind="procedure",
        key=key,
        content=content,
        text=readable(content),
        status="draft",
        trust=least_trust([one.trust for one in episodes]),
        strength=base_strength(first, half_life_hours),
        occurred_at=first,
        recorded_at=now,
    )


def extended(draft: Record, occurrences: Sequence[Occurrence], support: Support) -> Record:
    """The draft with new occurrences of its own pattern.

    Its wording stays: a reviewer who comes back finds the draft that they left. An archived one
    is active again, since somebody did it again.
    """
    content = draft.content
    if not isinstance(content, Procedure):
        raise TypeError(draft.kind)
    steps = [content.steps, *(each.steps for each in occurrences)]
    content = replace(
        content,
        steps=_shared_steps(steps, wording=0),
        support=support.sessions,
        successes=support.successes,
        failures=support.failures,
    )
    episodes = [one for each in occurrences for one in each.episodes]
    first = draft.at if draft.occurred_at is None else draft.occurred_at
    return replace(
        draft,
        content=content,
        text=readable(content),
        state="active",
        trust=least_trust([draft.trust, *(one.trust for one in episodes)]),
        occurred_at=min([first, *(one.at for one in episodes)]),
    )


def evidence_of(procedure: RecordId, episodes: Iterable[Record], *, most: int) -> list[Link]:
    """Links from the procedure to the newest ``most`` of the episodes, in order of id."""
    distinct = {one.id: one for one in episodes}
    newest = sorted(distinct.values(), key=lambda one: one.order)[-most:]
    links = (Link(source=procedure, kind="evidence", target=one.id, at=one.at) for one in newest)
    return sorted(links, key=lambda link: link.target)


def readable(content: Procedure) -> str:
    """The procedure as text to recall and to read: title, trigger, numbered steps."""
    lines = [content.title]
    if content.trigger != content.title:
        lines.append(f"When: {content.trigger}")
    for number, step in enumerate(content.steps, start=1):
        shown = ", ".join(f"{name}: {_shown(value)}" for name, value in step.arguments.items())
        lines.append(f"{number}. {step.action}{f' ({shown})' if shown else ''}")
    return "\n".join(lines)


def arguments_of(arguments: Plain) -> dict[str, Any]:
    """Arguments by name, long values cut; raw text and lists stand under one name."""
    if not isinstance(arguments, dict):
        return {} if arguments is None else {"arguments": _cut(arguments)}
    return {bounded(name): _cut(value) for name, value in arguments.items()}


def bounded(text: str, characters: int = TEXT_CHARACTERS) -> str:
    """``text`` in one line and at most so long; what was cut off shows as an ellipsis."""
    text = " ".join(text.split())
    return text if len(text) <= characters else f"{text[: characters - 1].rstrip()}…"


def _step(episode: Record, index: int) -> Step:
    calls = episode.content.calls if isinstance(episode.content, Episode) else ()
    return Step(action=calls[index].name, arguments=arguments_of(calls[index].arguments))


def _title(last: Occurrence) -> str:
    actions = [step.action for step in last.steps]
    steps = ", then ".join([", ".join(actions[:-1]), actions[-1]]) if actions[1:] else actions[0]
    return f"{last.trigger}: {steps}" if last.trigger else steps


def _shared_steps(all_steps: Sequence[tuple[Step, ...]], *, wording: int = -1) -> tuple[Step, ...]:
    """The steps of one occurrence with what all share; one of another length has no say in it."""
    worded = all_steps[wording]
    alike = [steps for steps in all_steps if len(steps) == len(worded)]
    return tuple(
        Step(action=step.action, arguments=_shared([steps[place].arguments for steps in alike]))
        for place, step in enumerate(worded)
    )


def _shared(all_arguments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Each argument with the value that all share, else with its name in braces."""
    shared: dict[str, Any] = {}
    for name in sorted({name for arguments in all_arguments for name in arguments}):
        values = {canonical(arguments.get(name)) for arguments in all_arguments}
        given = all(name in arguments for arguments in all_arguments)
        one = given and len(values) == 1
        shared[name] = all_arguments[0][name] if one else f"{{{name}}}"
    return shared


def _without_cases(steps: tuple[Step, ...], occurrences: Sequence[Occurrence]) -> tuple[Step, ...]:
    """The steps with values that were told each time as their argument's name in braces.

    The same customer may have called in every session there is: what all of them share is then
    theirs and no rule. A value that stood in a third of the conversations before the call was
    taken from there, and a date is always that of one case.
    """
    told = [each.said for each in occurrences if each.said]
    if not told:
        return steps

    def is_told(value: Plain) -> bool:
        return 3 * sum(_stands_in(value, said) for said in told) >= len(told) or _is_date(value)

    return tuple(
        Step(
            action=step.action,
            arguments={
                name: f"{{{name}}}" if is_told(value) else value
                for name, value in step.arguments.items()
            },
        )
        for step in steps
    )


def _is_date(value: Plain) -> bool:
    return isinstance(value, str) and _DATE.match(value) is not None


def _stands_in(value: Plain, said: str) -> bool:
    """Whether a value, or one inside it, is among the words of ``said``, in small letters."""
    if isinstance(value, dict):
        return any(_stands_in(inner, said) for inner in value.values())
    if isinstance(value, list):
        return any(_stands_in(inner, said) for inner in value)
    if isinstance(value, bool) or value is None:
        return False
    shown = str(value).casefold()
    if isinstance(value, int | float) and len(shown) < _LEAST_DIGITS:
        return False
    return bool(shown) and re.search(rf"(?<!\w){re.escape(shown)}(?!\w)", said) is not None


def _cut(value: Plain) -> Plain:
    if isinstance(value, str):
        return bounded(value)
    if isinstance(value, list | dict):
        shown = canonical(value)
        return value if len(shown) <= TEXT_CHARACTERS else bounded(shown)
    return value


def _shown(value: Plain) -> str:
    return value if isinstance(value, str) else canonical(value)
