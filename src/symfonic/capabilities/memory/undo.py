"""The inverse of a run's changes: what stood there before, in reverse order.

Content columns are put back as they were. What only follows from other rows (strength, spread
uses) is taken out by its amount, so that an undo after later nights removes its own share and
nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.changes import Change
from symfonic.capabilities.memory.records import (
    Procedure,
    RecordId,
    Use,
    decode_content,
    encode_content,
    from_columns,
    rounded,
    to_columns,
)
from symfonic.capabilities.memory.strength import record_strength

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.records import Columns
    from symfonic.capabilities.memory.store import JournalRow, MemoryReader

_ALL = 2**31
_HOUR = 3_600_000_000
_FAR = datetime(9999, 12, 31, tzinfo=UTC)


def inverse(reader: MemoryReader, rows: Sequence[JournalRow]) -> list[Change]:
    """The changes that take ``rows`` back, for a reader of the scope as it is now.

    A record that was forgotten since stays forgotten: its rows are left out. A strength that no
    later run has set goes back to what it was; another is computed anew without this run's uses,
    and so is one from before the scope's half-life changed: it is on another scale.
    """
    ids = sorted({str(row.change.row[0]) for row in rows if row.change.table != "link"})
    there = {str(record.id): to_columns(record) for record in reader.records(ids)}
    uses = _uses(reader, ids)
    changes: list[Change] = []
    stale: dict[str, Change] = {}
    for row in reversed(rows):
        change, rescaled = row.change, row.run < reader.state.rescaled_by
        match change.table:
            case "record":
                i = str(change.row[0])
                if change.operation != "remove" and i not in there:
                    continue
                if change.operation != "add" and not (row.before or change.after):
                    continue  # emptied by forgetting: there is nothing to put back
                moved_on = rescaled or _moved_on(change, there.get(i, {}))
                if change.after.keys() == {"strength"} and moved_on:
                    stale[i] = change
                    continue
                if change.operation == "add":  # what is removed needs no strength
                    stale.pop(i, None)
                turned = _undecided(_record(row), there)
                changes.append(turned)
                _fold(turned, there)
                if rescaled and "strength" in turned.after:
                    stale[i] = change
            case "link":
                changes.append(_link(row))
                _uncount(row, uses)
            case _:
                if change.after:  # emptied where the record was forgotten, and its uses with it
                    changes.append(_use(row, uses))
    return changes + _recomputed(reader, there, uses, stale)


def _record(row: JournalRow) -> Change:
    change = row.change
    match change.operation:
        case "add":
            return _turned(change, "remove", {})
        case "edit":
            return _turned(change, "edit", dict(row.before))
        case _:
            return _turned(change, "add", dict(row.before))


def _fold(change: Change, there: dict[str, Columns]) -> None:
    """The next change sees the record as this one leaves it: it may be one that comes back."""
    i = str(change.row[0])
    if change.operation == "remove":
        del there[i]
    else:
        there[i] = {**there.get(i, {}), **change.after}


def _undecided(change: Change, there: Mapping[str, Columns]) -> Change:
    """What would be approved again is a draft: only a person approves, and taking back does not."""
    if change.after.get("status") != "approved":
        return change
    body = change.after["body"] if "body" in change.after else there[str(change.row[0])]["body"]
    content = decode_content("procedure", str(body))
    assert isinstance(content, Procedure)
    undecided = encode_content(replace(content, decided_by=None, decided_at=None))
    return replace(change, after={**change.after, "status": "draft", "body": undecided})


def _link(row: JournalRow) -> Change:
    if row.before:
        return _turned(row.change, "add", dict(row.before))
    return _turned(row.change, "remove", {})


def _uncount(row: JournalRow, uses: dict[tuple[Any, ...], Use]) -> None:
    """A mention whose link goes was a use of its target; one whose link comes back is again."""
    target = RecordId(str(row.change.row[2]))
    if row.change.row[1] != "mentions":
        return
    for columns, sign in ((row.change.after, -1), (row.before, 1)):
        if "at" in columns:
            hour = int(columns["at"]) // _HOUR  # type: ignore[arg-type]
            place = (target, hour, "mention")
            now = uses.get(place) or Use(record=target, hour=hour, kind="mention", weight=0.0)
            weight = rounded(now.weight + sign * int(columns["count"]))  # type: ignore[arg-type]
            uses[place] = replace(now, weight=weight)


def _use(row: JournalRow, uses: dict[tuple[Any, ...], Use]) -> Change:
    """Take this run's amount out, whatever others have added since."""
    change, before = row.change, row.before
    record, hour, kind = change.row
    now = uses.get(change.row) or Use(record=record, hour=hour, kind=kind, weight=0.0)  # type: ignore[arg-type]
    if change.operation == "edit":
        marked = float(change.after["spread_weight"]) - float(before.get("spread_weight", 0.0))  # type: ignore[arg-type]
        left = max(0.0, now.spread_weight - marked)
        return _turned(change, "edit", {"spread_weight": rounded(left)})
    share = float(change.after["weight"])  # type: ignore[arg-type]
    uses[change.row] = replace(now, weight=rounded(now.weight - share))
    return _turned(change, "add", {"weight": -share})


def _turned(change: Change, operation: Any, after: dict[str, Any]) -> Change:  # noqa: ANN401
    return Change(
        group=change.group, operation=operation, table=change.table, row=change.row, after=after,
        reason=f"undo: {change.reason}",
    )  # fmt: skip


def _moved_on(change: Change, columns: Columns) -> bool:
    return columns.get("strength") != change.after.get("strength")


def _recomputed(
    reader: MemoryReader,
    there: Mapping[str, Columns],
    uses: Mapping[tuple[Any, ...], Use],
    stale: Mapping[str, Change],
) -> list[Change]:
    left: dict[str, list[Use]] = {i: [] for i in sorted(stale)}
    for row, use in sorted(uses.items()):
        if row[0] in left and use.weight > 0:
            left[str(row[0])].append(use)
    changes = []
    for i, remaining in left.items():
        path = reader.state.path
        record = from_columns(there[i], id=RecordId(i), scope=path, version=0, seq=0)
        strength = record_strength(record, remaining, reader.state.half_life_hours)
        if strength != record.strength:
            changes.append(_turned(stale[i], "edit", {"strength": strength}))
    return changes


def _uses(reader: MemoryReader, ids: Sequence[str]) -> dict[tuple[Any, ...], Use]:
    rows = reader.uses(ids, until=_FAR, per_record=_ALL) if ids else []
    return {(use.record, use.hour, use.kind): use for use in rows}
