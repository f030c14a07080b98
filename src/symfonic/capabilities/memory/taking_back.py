"""What an undo or a redo takes back, and what stands in its way.

Groups go whole. What later groups build on is not taken away under them: they are named, or with
``cascade`` they go first, in one run. A redo takes back an undo, and what had been undone stands
again under its own run's number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.as_left import check_as_left
from symfonic.capabilities.memory.changes import DERIVED_COLUMNS
from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.undo import inverse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.store import JournalRow, MemoryReader, RunRow

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """The changes that take something back, the rows they were planned from, and what it was.

    ``undoes`` are (run, group) pairs and ``restores`` the undo that a redo takes back. ``notes``
    say what is left as it is, and why.
    """

    changes: tuple[Change, ...]
    read: tuple[tuple[str | int, ...], ...]
    undoes: tuple[tuple[int, str], ...]
    restores: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> list[int]:
        """The runs it takes something of back, the latest first."""
        return sorted({number for number, _ in self.undoes}, reverse=True)


def plan_undo(
    reader: MemoryReader, number: int, *, groups: Sequence[str], cascade: bool
) -> TakenBack:
    """Take back a run, or some of its groups; with ``cascade`` also all that builds on them.

    Raises ``UndoRefused``, naming the later groups that build on what is to be undone.
    """
    rows = _chosen(reader, reader.run(number), reader.journal(number), groups)
    wanted = {(number, str(row.change.group)) for row in rows}
    dependents = _dependents(reader, wanted)
    if dependents and not cascade:
        raise _refused(reader.state.path, number, sorted(dependents))
    while dependents:
        wanted |= dependents
        dependents = _dependents(reader, wanted)
    for run in sorted({run for run, _ in wanted} - {number}):
        _check_kept(reader.run(run))
    rows = [
        row for run in sorted({run for run, _ in wanted}) for row in reader.journal(run)
        if row.undone_by is None and (run, str(row.change.group)) in wanted
    ]  # fmt: skip
    _check_known(reader, rows)
    return _taken_back(reader, rows, undoes=wanted)


def plan_redo(reader: MemoryReader, number: int) -> TakenBack:
    """Take back an undo, named by its own number or by the run it had undone.

    A person's approval is left out, and what it approved comes back as a draft: only a person
    approves.

    Raises ``UndoRefused`` where nothing but an approval is undone, where what came later builds on
    the undo, and where what it left is not there as it had left it.
    """
    path = reader.state.path
    undo = _undo_of(reader, number)
    rows = [row for row in reader.journal(undo) if row.undone_by is None]
    name = f"{path}#{undo}"
    if not rows:
        raise UndoRefused(f"There is nothing left to redo in {name}.", run=name)
    approved = {row.change.group: row for row in rows if row.before.get("status") == "approved"}
    rows = [row for row in rows if row.change.group not in approved]
    if not rows:
        i = min(str(row.change.row[0]) for row in approved.values())
        raise UndoRefused(
            f"{name} took back the approval of {i}, and only a person approves. Decide again: "
            f"symfonic-memory drafts approve {i} --scope {path}",
            run=name,
        )
    groups = {(undo, str(row.change.group)) for row in rows}
    later = _dependents(reader, groups)
    if later:
        raise _refused(path, undo, sorted(later), verb="redone")
    check_as_left(reader, undo, rows)
    notes = tuple(
        f"the approval of {row.change.row[0]} is not redone: decide on its draft again"
        for _, row in sorted(approved.items())
    )
    return _taken_back(reader, rows, undoes=groups, restores=undo, notes=notes)


def _taken_back(
    reader: MemoryReader,
    rows: Sequence[JournalRow],
    *,
    undoes: Iterable[tuple[int, str]],
    restores: int | None = None,
    notes: tuple[str, ...] = (),
) -> TakenBack:
    changes = tuple(inverse(reader, rows))
    there = {record.id: record for record in reader.records([str(c.row[0]) for c in changes])}
    own = reader.state.path
    return TakenBack(
        changes=changes,
        read=tuple((i, there[i].version) for i in sorted(there) if there[i].scope == own),
        undoes=tuple(sorted(undoes)),
        restores=restores,
        notes=notes,
    )


def _dependents(reader: MemoryReader, wanted: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """The groups outside ``wanted`` that build on one in it."""
    found: set[tuple[int, str]] = set()
    for run in sorted({run for run, _ in wanted}):
        groups = {g for number, g in wanted if number == run}
        found.update(reader.dependents(run, sorted(groups)))
        found.update((run, group) for group in _written_over(reader.journal(run), groups))
    return found - wanted


def _written_over(journal: Sequence[JournalRow], groups: set[str]) -> set[str]:
    """The groups of the same run that changed what one of ``groups`` had changed before them."""
    changed: set[tuple[object, ...]] = set()
    found: set[str] = set()
    for row in journal:
        change = row.change
        if row.undone_by is not None or change.derived:
            continue
        columns = (
            sorted(change.after.keys() - DERIVED_COLUMNS) if change.table == "record" else [""]
        )
        touched = {(change.table, change.row, column) for column in columns}
        if str(change.group) in groups:
            changed |= touched
        elif changed & touched:
            found.add(str(change.group))
    return found


def _chosen(
    reader: MemoryReader, run: RunRow, journal: Sequence[JournalRow], groups: Sequence[str]
) -> list[JournalRow]:
    """The journal rows to undo. Raises ``UndoRefused`` where there is nothing to take back."""
    name = f"{reader.state.path}#{run.number}"
    if run.status not in {"committed", "undone"}:
        raise UndoRefused(f"The run {name} is {run.status}; only a committed run can be undone.")
    if run.kind == "undo":
        raise UndoRefused(
            f"The run {name} is itself an undo. Take it back with: symfonic-memory redo {name}",
            run=name,
        )
    if run.kind == "redo":
        raise _is_redo(run)
    _check_kept(run)
    rows = [row for row in journal if row.undone_by is None]
    unknown = sorted(set(groups) - {str(row.change.group) for row in journal})
    if unknown:
        raise UndoRefused(
            f"The run {name} has no group {unknown[0]!r}. 'symfonic-memory diff {name}' lists.",
            groups=tuple(unknown),
        )
    if groups:
        rows = [row for row in rows if str(row.change.group) in set(groups)]
    if not rows:
        raise UndoRefused(
            f"There is nothing left to undo in run {name}. What an ingest brought in is taken out "
            "with 'symfonic-memory forget'.",
            run=name,
        )
    return rows


def _check_kept(run: RunRow) -> None:
    if run.compacted:
        name = f"{run.scope}#{run.number}"
        raise UndoRefused(
            f"The run {name} is too old to be taken back: 'compact' has dropped what was there "
            "before it. Retention keeps that for undo_days.",
            run=name,
        )


def _check_known(reader: MemoryReader, rows: Sequence[JournalRow]) -> None:
    """Whether the journal still says what stood where something was edited that stays."""
    made = {row.change.row for row in rows if row.change.operation == "add"}
    emptied = {
        str(row.change.row[0]): row for row in rows
        if row.change.table == "record" and row.change.operation == "edit"
        and not (row.before or row.change.after) and row.change.row not in made
    }  # fmt: skip
    for record in reader.records(sorted(emptied)):
        row = emptied[record.id]
        raise UndoRefused(
            f"{reader.state.path}#{row.run} edited {record.id}, and what stood there before was "
            f"erased with evidence that was forgotten: the group {row.change.group} stands. "
            "Other groups can be taken back with --group.",
            groups=(f"{reader.state.path}#{row.run} {row.change.group}",),
        )


def _is_redo(run: RunRow) -> UndoRefused:
    """That a redo is taken back by undoing what it brought back, once more."""
    first, *more = run.report["restored"]
    what = f"{run.scope}#{first}{' --cascade' if more else ''}"
    return UndoRefused(
        f"The run {run.scope}#{run.number} is a redo. Undo what it brought back: "
        f"symfonic-memory undo {what}",
        run=f"{run.scope}#{run.number}",
    )


def _undo_of(reader: MemoryReader, number: int) -> int:
    """The undo that is meant: the run itself, or the last one that took some of it back."""
    run = reader.run(number)
    _check_kept(run)
    if run.kind == "undo":
        return number
    if run.kind == "redo":
        raise _is_redo(run)
    by = [row.undone_by for row in reader.journal(number) if row.undone_by is not None]
    if not by:
        name = f"{run.scope}#{number}"
        raise UndoRefused(f"Nothing of the run {name} is undone, so there is no redo.", run=name)
    _check_kept(reader.run(max(by)))
    return max(by)


def _refused(
    path: str, number: int, dependents: Sequence[tuple[int, str]], verb: str = "undone"
) -> UndoRefused:
    """That later groups build on what is to be taken back, and how to go on."""
    groups = tuple(f"{path}#{run} {group}" for run, group in dependents)
    later = sorted({run for run, _ in dependents} - {number})
    if not later:
        first = "Undo the whole run, or name those groups too."
    elif len(later) == 1:
        name = f"{path}#{later[0]}"
        first = f"Undo {name} first: symfonic-memory undo {name}"
    else:
        name = f"{path}#{later[0]}..{later[-1]}"
        last = f"{path}#{later[-1]}"
        first = f"Undo {last} down to #{later[0]} first: symfonic-memory undo {name}"
    if verb == "undone":
        first += ". Or take all of it back at once with --cascade."
    build = "1 later group builds" if len(groups) == 1 else f"{len(groups)} later groups build"
    more = f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    return UndoRefused(
        f"{build} on what is to be {verb}: {', '.join(groups[:_SHOWN])}{more}. {first}",
        groups=groups,
    )
