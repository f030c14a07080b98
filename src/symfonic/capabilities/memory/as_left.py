"""Whether what an undo touched still stands as it left it, which a redo builds on.

A redo puts back what the undo had found. Where another undo has gone further down since, or a
later run has made the same again, that would bring back links to nothing, or an old value over a
newer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.changes import DERIVED_COLUMNS
from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.records import RecordId, to_columns, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symfonic.capabilities.memory.records import Columns, Record
    from symfonic.capabilities.memory.store import JournalRow, MemoryReader, RunRow

_ALL = 2**31
Row = tuple[str | int, ...]


def check_as_left(reader: MemoryReader, undo: int, rows: Sequence[JournalRow]) -> None:
    """Raise ``UndoRefused``, naming what stands in the way of taking back these rows of an undo.

    What only follows from other rows (strength, uses) is no matter.
    """
    path = reader.state.path
    forgotten = _forgotten(reader, rows)
    if forgotten:
        raise UndoRefused(
            f"{path}#{undo} cannot be redone: the record {forgotten} was forgotten since, and what "
            "is forgotten does not come back. Nothing was changed.",
            run=f"{path}#{undo}",
        )
    record_rows = [row for row in rows if row.change.table == "record"]
    link_rows = [
        row for row in rows
        if row.change.table == "link" and (row.before or row.change.after)  # emptied by forgetting
    ]  # fmt: skip
    left = _left(record_rows)
    ends = {str(end) for row in link_rows for end in (row.change.row[0], row.change.row[2])}
    ids = sorted(ends.union(str(row[0]) for row in left))
    there = {record.id: record for record in reader.records(ids)}
    moved = [*_moved_records(left, there), *_moved_links(reader, _left(link_rows))]
    back = {str(row.change.row[0]) for row in record_rows if row.change.operation == "remove"}
    moved += _loose_ends(link_rows, back.union(there))
    if moved:
        raise _in_the_way(reader, undo, moved[0])


def _forgotten(reader: MemoryReader, rows: Sequence[JournalRow]) -> str | None:
    """A record of which the journal keeps nothing any more, or that is a tombstone."""
    ids = sorted({str(row.change.row[0]) for row in rows if row.change.table == "record"})
    states = reader.states(ids)
    for row in rows:
        if row.change.table == "record":
            emptied = not (row.before or row.change.after)
            if emptied or states.get(str(row.change.row[0])) == "forgotten":
                return str(row.change.row[0])
    return None


def _left(rows: Sequence[JournalRow]) -> dict[Row, Columns | None]:
    """Per row the columns that stood there when the undo was done; ``None`` where it was gone."""
    left: dict[Row, Columns | None] = {}
    for row in rows:
        change = row.change
        if change.operation == "remove":
            left[change.row] = None
        else:
            left[change.row] = {**(left.get(change.row) or {}), **change.after}
    return left


def _moved_records(
    left: Mapping[Row, Columns | None], there: Mapping[RecordId, Record]
) -> Iterator[str]:
    for (i, *_), columns in sorted(left.items()):
        record = there.get(RecordId(str(i)))
        if (record is None) != (columns is None):
            yield str(i)
        elif record is not None and columns is not None:
            now = to_columns(record)
            if any(now[n] != columns[n] for n in sorted(columns.keys() - DERIVED_COLUMNS)):
                yield str(i)


def _moved_links(reader: MemoryReader, left: Mapping[Row, Columns | None]) -> Iterator[str]:
    now: dict[Row, Columns] = {}
    if left:
        kinds: Any = sorted({str(kind) for _, kind, _ in left})
        sources = sorted({str(source) for source, *_ in left})
        for link in reader.links(sources, kinds=kinds, direction="out", per_record=_ALL):
            row = (link.source, link.kind, link.target)
            now[row] = {"count": link.count, "at": to_microseconds(link.at)}
    return (str(row[0]) for row, columns in sorted(left.items()) if now.get(row) != columns)


def _loose_ends(rows: Sequence[JournalRow], there: set[str]) -> list[str]:
    """What a link that comes back would name, and is not there."""
    return sorted(
        str(end)
        for row in rows
        if row.before
        for end in (row.change.row[0], row.change.row[2])
        if str(end) not in there
    )


def _in_the_way(reader: MemoryReader, undo: int, i: str) -> UndoRefused:
    path = reader.state.path
    run = _later(reader, undo, i)
    if run is None:
        what = "It was changed outside of any run."
    else:
        name = f"{path}#{run.number}"
        match run.kind:
            case "undo":
                what = f"{name} took more of it back. First: symfonic-memory redo {name}"
            case "redo":
                first = f"{path}#{run.report['restored'][0]}"
                what = f"{name} brought it back. First: symfonic-memory undo {first}"
            case _:
                what = f"{name} changed it since. First: symfonic-memory undo {name}"
    return UndoRefused(
        f"{path}#{undo} cannot be redone: the record {i} is not as it had left it. {what}",
        run=f"{path}#{undo}",
    )


def _later(reader: MemoryReader, undo: int, i: str) -> RunRow | None:
    """The last run after the undo that changed a record or its links, and stands."""
    for run in reader.runs(limit=max(1, reader.state.run_count - undo)):
        if run.number > undo and run.status == "committed":
            for row in reader.journal(run.number):
                stands = row.undone_by in {None, run.number}  # a redo's are settled by itself
                if stands and not row.change.derived and i in row.change.row:
                    return run
    return None
