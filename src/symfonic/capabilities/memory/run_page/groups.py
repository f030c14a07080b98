"""The journal by phase and by group, each group with what it is called and what it did.

A record is told as the run left it, from the journal, and as it is now only where the journal does
not say. One that somebody had erased is told as forgotten, whatever is known of it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import (
    Entity,
    Episode,
    Procedure,
    Record,
    from_columns,
    to_columns,
)
from symfonic.capabilities.memory.run_page.markup import excerpt
from symfonic.capabilities.memory.run_page.story import PAIR
from symfonic.capabilities.memory.run_page.wording import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.run_page.story import RunStory
    from symfonic.capabilities.memory.store import JournalRow

FORGOTTEN: Final = "forgotten"
_TITLE: Final = 90
_SHORT: Final = 8
_DONE: Final = {"add": "new", "edit": "changed", "remove": "removed"}
_TO_STATE: Final = {
    "archived": "archived", "merged": "merged", "superseded": "replaced",
    "retracted": "taken back", "active": "brought back",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The changes of one group in one run. ``rows`` are in their order and never empty."""

    rows: tuple[JournalRow, ...]

    @property
    def run(self) -> int:
        return self.rows[0].run

    @property
    def phase(self) -> str:
        return self.rows[0].change.group.phase

    @property
    def kind(self) -> str:
        return self.rows[0].change.group.kind

    @property
    def about(self) -> str:
        """The id of the record that the group is about."""
        return self.rows[0].change.group.id

    @property
    def name(self) -> str:
        """What ``undo --group`` is given."""
        return str(self.rows[0].change.group)

    @property
    def derived(self) -> bool:
        """Whether it only follows from other rows: strength, and shares of uses."""
        return all(row.change.derived for row in self.rows)

    @property
    def undone_by(self) -> int | None:
        """The run that took it back; a group is undone whole."""
        return self.rows[0].undone_by

    @property
    def subject(self) -> JournalRow | None:
        """The change to the record that the group is about, if there is one."""
        for row in self.rows:
            change = row.change
            if change.table == "record" and change.row[0] == self.about and not change.derived:
                return row
        return None

    @property
    def reason(self) -> str:
        """Why: what is said of the record itself, or where it is unchanged of the first row."""
        subject = self.subject
        if subject is not None:
            return subject.change.reason
        return next((row.change.reason for row in self.rows if row.change.reason), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """A story with its groups, and with what each record is called.

    ``erased`` are records whose text somebody had forgotten, whether a tombstone is left or not.
    """

    story: RunStory
    phases: Mapping[str, tuple[Told, ...]]
    records: Mapping[str, Record]
    erased: frozenset[str]

    def record(self, i: str) -> Record | None:
        return self.records.get(i)

    def label(self, i: str, *, width: int = _TITLE) -> str:
        """What a record is called, or a pair of them; an id's beginning where nobody knows more."""
        if PAIR in i:
            return " and ".join(self.label(one, width=width // 2) for one in i.split(PAIR))
        if i in self.erased:
            return FORGOTTEN
        record = self.records.get(i)
        return f"record {i[:_SHORT]}" if record is None else title(record, width=width)

    def what(self, group: Told) -> str:
        """What a group did in two or three words: ``new entity``, ``archived note``."""
        subject, record = group.subject, self.records.get(group.about)
        kind = KINDS.get(group.kind if record is None else record.kind, ("record",))[0]
        if PAIR in group.about:
            return f"{_DONE[group.rows[0].change.operation]} link"
        if subject is None:
            added = any(row.change.operation != "remove" for row in group.rows)
            return f"more about a known {kind}" if added else f"less about a known {kind}"
        if isinstance(record and record.content, Procedure) and subject.change.operation == "add":
            kind = str(subject.change.after.get("status") or "procedure")
        state = subject.change.after.get("state")
        if subject.change.operation == "edit" and state in _TO_STATE:
            return f"{_TO_STATE[str(state)]} {kind}"
        return f"{_DONE[subject.change.operation]} {kind}"


def telling(story: RunStory) -> Telling:
    """The story's changes by phase, in the order of the roster, and by group."""
    groups: dict[tuple[int, str], list[JournalRow]] = {}
    for row in story.journal:
        groups.setdefault((row.run, str(row.change.group)), []).append(row)
    told = [Told(rows=tuple(rows)) for rows in groups.values()]
    order = {name: place for place, name in enumerate(_phase_names(story, told))}
    told.sort(key=lambda group: (order[group.phase], group.run))
    phases = {phase: tuple(found) for phase, found in groupby(told, key=lambda g: g.phase)}
    erased = story.forgotten | {
        str(row.change.row[0])
        for row in story.journal
        if row.change.table == "record" and row.change.operation == "add" and not row.change.after
    }
    return Telling(story=story, phases=phases, records=_known(story, erased), erased=erased)


def title(record: Record, *, width: int = _TITLE) -> str:
    """A record by its name, or by the beginning of what it says, of a turn with who said it."""
    content = record.content
    match content:
        case Entity():
            said = content.name
        case Procedure():
            said = content.title
        case Episode():
            said = f"{content.name or content.role}: {record.text or 'no text'}"
        case _:
            said = record.text.partition("\n")[0]
    return excerpt(said, width) or f"{record.kind} {record.id[:_SHORT]}"


def _phase_names(story: RunStory, told: Sequence[Told]) -> list[str]:
    reported = [phase["name"] for run in story.runs for phase in run.report.get("phases", ())]
    return list(dict.fromkeys([*reported, *(group.phase for group in told)]))


def _known(story: RunStory, erased: frozenset[str]) -> dict[str, Record]:
    """The records as the runs left them, of those that are not forgotten."""
    known: dict[str, Record] = {str(i): record for i, record in story.records.items()}
    for row in story.journal:
        change, i = row.change, str(row.change.row[0])
        if change.table != "record":
            continue
        whole = row.before if change.operation == "remove" else change.after
        if change.operation != "edit" and "body" in whole:
            known[i] = from_columns(whole, id=i, scope=story.scope)
        elif change.operation == "edit" and not change.derived and i in known:
            known[i] = _edited(known[i], row)
    return {i: record for i, record in known.items() if i not in erased}


def _edited(record: Record, row: JournalRow) -> Record:
    columns = {**to_columns(record), **row.change.after}
    return from_columns(columns, id=record.id, scope=record.scope)
