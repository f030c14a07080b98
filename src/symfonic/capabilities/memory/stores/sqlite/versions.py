"""Records as they once were, from what they are now and the journal's before-images."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import from_columns, to_columns
from symfonic.capabilities.memory.stores.sqlite.rows import array, to_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.records import Columns, Record
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

_Edit = tuple[int, str, str | None, int | None]
"""An edit: the version before it, the operation, the image before it, its run's last version."""


def records_as_of(
    db: Connection, scope: str, wanted: Sequence[tuple[str, int]]
) -> Iterator[Record]:
    """The records at these versions; those that the journal no longer knows are left out.

    A version is the scope's counter at a write and never repeats, so the edits of a record, latest
    first, lead back from what it is to what it was. Where one of them is missing (its images were
    dropped, or the row was written without an entry: a source completed the turn, the half-life
    changed) nothing is guessed.
    """
    ids = array(sorted({i for i, _ in wanted}))
    rows = db.rows("get_records", {"scopes": array([scope]), "ids": ids})
    there = {record.id: record for record in map(to_record, rows)}
    stale = [
        (i, version)
        for i, version in wanted
        if (record := there.get(i)) is None or record.version != version  # type: ignore[call-overload]
    ]
    current = {(record.id, record.version) for record in there.values()}
    for i, version in wanted:
        if (i, version) in current:
            yield there[i]  # type: ignore[index]
    history: dict[str, list[_Edit]] = {}
    bound = {"scope": scope, "ids": array(sorted({i for i, _ in stale}))}
    for i, operation, version, before, last in db.rows("record_history", bound):
        history.setdefault(i, []).append((version, operation, before, last))
    for i, version in stale:
        record = there.get(i)  # type: ignore[call-overload]
        found = _walk_back(record, version, history.get(i, ()))
        if found is not None:
            seq = 0 if record is None else record.seq
            yield from_columns(found, id=i, scope=scope, version=version, seq=seq)


def _walk_back(record: Record | None, version: int, history: Sequence[_Edit]) -> Columns | None:
    """The columns at a version, from those of today and the edits since, the latest first.

    A version later than the last one of the run that edited came from a write without an entry.
    """
    columns: dict[str, Any] | None = None if record is None else to_columns(record)
    reached = None if record is None else record.version
    for from_version, operation, before, last in history:
        if from_version < version or (reached is not None and from_version >= reached):
            continue
        gap = operation == "edit" and reached is not None and last is not None and reached > last
        if before is None or gap:
            return None
        images = json.loads(before)
        if operation == "remove":
            columns = images
        elif columns is None:
            return None
        else:
            columns = {**columns, **images}
        reached = from_version
        if reached == version:
            return columns
    return None
