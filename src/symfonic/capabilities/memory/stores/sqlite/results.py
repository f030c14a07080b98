"""A call's result that comes after the call: put onto the turn that made it.

A live loop hands over a call and its result one after the other, and a log may be read while a
call is still running. Whether a call worked is what procedures are learned from, so the turn is
completed and read again. It is the source's own later word, not an edit: the journal has no row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import Episode, encode_content
from symfonic.capabilities.memory.stores.sqlite.indexing import reindex_record
from symfonic.capabilities.memory.stores.sqlite.rows import CONTEXT_SPAN, array, to_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.records import Record, RecordId, ToolCall
    from symfonic.capabilities.memory.store import Subscription, Turn
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


def complete_calls(
    db: Connection,
    path: str,
    turns: Sequence[Turn],
    ids: Sequence[RecordId],
    known: Mapping[str, str],
    *,
    subscriptions: Sequence[Subscription],
    counter: int,
) -> int:
    """Complete stored turns from these ones, within an open transaction; the new counter."""
    completed = _known_again(db, path, turns, ids, known)
    for turn in turns:
        if turn.answers is not None:
            caller = _caller(db, path, turn, completed)
            if caller is not None:
                completed[caller.id] = caller
    for record in completed.values():
        counter += 1
        _write(db, path, record, counter)
    for subscription in subscriptions:
        if "episode" in subscription.reads and completed:
            db.execute(
                "touch_pending",
                {"scope": path, "phase": subscription.phase, "ids": array(sorted(completed)),
                 "stamp": counter},
            )  # fmt: skip
    return counter


def _known_again(
    db: Connection,
    path: str,
    turns: Sequence[Turn],
    ids: Sequence[RecordId],
    known: Mapping[str, str],
) -> dict[str, Record]:
    """Known turns that now bring results which the stored ones lack."""
    again = {i: turn for i, turn in zip(ids, turns, strict=True) if turn.calls and i in known}
    if not again:
        return {}
    rows = db.rows("get_records", {"scopes": array([path]), "ids": array(sorted(again))})
    found = {}
    for record in map(to_record, rows):
        content = record.content
        assert isinstance(content, Episode)
        calls = tuple(
            new if old.ok is None and old.result is None else old
            for old, new in zip(content.calls, again[record.id].calls, strict=True)
        )
        if calls != content.calls:
            found[record.id] = replace(record, content=replace(content, calls=calls))
    return dict(sorted(found.items()))


def _caller(
    db: Connection, path: str, turn: Turn, completed: Mapping[str, Record]
) -> Record | None:
    """The latest turn of the session with an open call of this id, its result put onto it."""
    assert turn.answers is not None
    bound: dict[str, Any] = {"scope": path, "session": turn.session, "span": CONTEXT_SPAN}
    for row in db.rows("recent_calls", bound):
        record = to_record(row)
        record = completed.get(record.id, record)
        content = record.content
        assert isinstance(content, Episode)
        calls: list[ToolCall] = list(content.calls)
        for index, call in enumerate(calls):
            if call.id == turn.answers.call and call.ok is None and call.result is None:
                calls[index] = replace(call, result=turn.answers.result, ok=turn.answers.ok)
                return replace(record, content=replace(content, calls=tuple(calls)))
    return None


def _write(db: Connection, path: str, record: Record, version: int) -> None:
    content = record.content
    assert isinstance(content, Episode)
    db.execute(
        "rewrite_record",
        {"scope": path, "id": record.id, "version": version, "text": record.text,
         "body": encode_content(content)},
    )  # fmt: skip
    reindex_record(db, path, record.id, record.text, content)
