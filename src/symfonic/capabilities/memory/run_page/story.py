"""Everything one page tells, read in one go: runs, their changes, and the records they touch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError, RecordNotFound
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Link, LinkKind, Record, RecordId
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import JournalRow, MemoryReader, RunRow

_EVIDENCE: Final[tuple[LinkKind, ...]] = ("evidence", "summarises")
PAIR: Final = "+"
"""What joins two ids where a group is about both records."""

_PER_RECORD: Final = 6
"""Links looked up of a record that the run changed without linking it to anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """Runs of one scope, oldest first, with what they changed.

    ``records`` holds the records that are there now; of the rest, ``forgotten`` names those that
    somebody had erased. ``links`` are evidence that stood before the runs. Strengths are read with
    ``half_life_hours``, at the clock of the run that changed them.
    """

    runs: tuple[RunRow, ...]
    journal: tuple[JournalRow, ...] = ()
    records: Mapping[RecordId, Record] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()
    links: tuple[Link, ...] = ()
    half_life_hours: float

    @property
    def scope(self) -> str:
        return self.runs[0].scope

    @property
    def name(self) -> str:
        """What ``undo`` is given: ``acme/ana#3``, or ``acme/ana#3..7`` for several."""
        first, last = self.runs[0].number, self.runs[-1].number
        return f"{self.scope}#{first}" if first == last else f"{self.scope}#{first}..{last}"

    @property
    def clock(self) -> datetime:
        return self.runs[-1].clock

    def run_name(self, number: int) -> str:
        return f"{self.scope}#{number}"


def run_story(memory: Memory, first: str, last: str | None = None) -> RunStory:
    """The story of a run, or of all from ``first`` to ``last``: the passes of a sleep.

    Raises ``RecordNotFound`` where the first or the last is not there, ``InputError`` for two that
    make no range. A number between them that no run has is passed over.
    """
    path, begin = _split(first)
    other, end = _split(last or first)
    if other != path or end < begin:
        raise InputError(f"{first} to {last} is no range of runs of one scope.")
    with memory.store.snapshot(Scope(path)) as reader:
        runs = _runs(reader, begin, end)
        journal = tuple(row for run in runs for row in reader.journal(run.number))
        links = tuple(reader.links(
            _unlinked(journal), kinds=_EVIDENCE, direction="out", per_record=_PER_RECORD
        ))  # fmt: skip
        ids = sorted({*_named(journal), *(link.target for link in links)})
        records = {record.id: record for record in reader.records(ids)}
        missing = [i for i in ids if i not in records]
        states = reader.states(missing)
        return RunStory(
            runs=runs, journal=journal, records=records, links=links,
            forgotten=frozenset(i for i, state in states.items() if state == "forgotten"),
            half_life_hours=reader.state.half_life_hours,
        )  # fmt: skip


def _split(run: str) -> tuple[str, int]:
    path, _, number = run.rpartition("#")
    return path, int(number)


def _runs(reader: MemoryReader, begin: int, end: int) -> tuple[RunRow, ...]:
    if begin == end:
        return (reader.run(begin),)
    reader.run(end)
    found = [reader.run(begin)]
    for number in range(begin + 1, end + 1):
        try:
            found.append(reader.run(number))
        except RecordNotFound:  # a plan that was dropped leaves its number unused
            continue
    return tuple(found)


def _named(journal: Sequence[JournalRow]) -> set[str]:
    """The ids of the records that changes name."""
    ids: set[str] = set()
    for row in journal:
        change = row.change
        ids |= {*change.group.id.split(PAIR), str(change.row[0])}
        if change.table == "link":
            ids.add(str(change.row[2]))
    return ids


def _unlinked(journal: Sequence[JournalRow]) -> list[str]:
    """Records with a content change, of groups that bring no link."""
    linked = {(row.run, row.change.group) for row in journal if row.change.table == "link"}
    return sorted({
        str(row.change.row[0])
        for row in journal
        if row.change.table == "record" and not row.change.derived
        and (row.run, row.change.group) not in linked
    })  # fmt: skip
