"""Between SQLite rows and the values of ``records`` and ``store``."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.changes import Change, Group
from symfonic.capabilities.memory.errors import StoreUnavailable
from symfonic.capabilities.memory.records import (
    Link,
    Record,
    RecordId,
    Seen,
    canonical,
    decode_content,
    from_microseconds,
)
from symfonic.capabilities.memory.store import Answer, JournalRow, RunRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


CONTEXT_SPAN = 50
"""How many positions of a session are looked through for turns with tool calls."""

HOUR = 3_600_000_000
"""An hour in microseconds: uses count whole hours."""

LARGEST = 2**62
"""The largest whole number that is bound: a policy may say more, a row count cannot be more."""


def array(values: Iterable[object]) -> str:
    """A set of keys as one JSON array, to be bound as one value."""
    return json.dumps(list(values), ensure_ascii=False)


def to_record(row: Sequence[Any]) -> Record:
    """A record from ``scope, id, version, seq`` and its content columns in their order."""
    (
        scope, i, version, seq, kind, key, state, pinned, trust, strength, occurred_at,
        recorded_at, until, session, position, status, text, body, *_,
    ) = row  # fmt: skip
    return Record(
        id=i, scope=scope, kind=kind, key=key, state=state, pinned=bool(pinned), trust=trust,
        strength=strength,
        occurred_at=None if occurred_at is None else from_microseconds(occurred_at),
        recorded_at=from_microseconds(recorded_at),
        until=None if until is None else from_microseconds(until),
        session=session, position=position, status=status, text=text or "",
        content=decode_content(kind, body), version=version, seq=seq,
    )  # fmt: skip


def to_link(row: Sequence[Any]) -> Link:
    """A link from its six columns."""
    return Link(
        source=row[0], kind=row[1], target=row[2], count=row[3],
        at=from_microseconds(row[4]), version=row[5],
    )  # fmt: skip


def to_seen(row: Sequence[Any]) -> Seen:
    """A ``seen`` row from its columns."""
    return Seen(
        episode=RecordId(row[0]), reader=row[1], kind=row[2], key=row[3], session=row[4],
        at=from_microseconds(row[5]), ok=None if row[6] is None else bool(row[6]), score=row[7],
        body=json.loads(row[8]) if row[8] else {}, window=row[9] if len(row) > 9 else None,
    )  # fmt: skip


def to_answer(row: Sequence[Any]) -> Answer:
    """A collaborator's answer from its four columns."""
    return Answer(
        question=row[0], collaborator=row[1], sources=tuple(json.loads(row[2])),
        body=None if row[3] is None else json.loads(row[3]),
    )  # fmt: skip


def to_run(row: Sequence[Any]) -> RunRow:
    """A run from its columns; the plan only where the input column holds one.

    Raises ``StoreUnavailable`` where a column does not hold what was written there.
    """
    try:
        clock = from_microseconds(row[4])
        settings, report, plan = (_fields(text) for text in row[7:10])
    except (ValueError, OverflowError) as cause:
        raise StoreUnavailable(
            f"The run {row[1]}#{row[0]} is damaged: what the store keeps of it cannot be read "
            f"({cause}). Keep a copy of the file, and import your latest export into a new one.",
            run=f"{row[1]}#{row[0]}",
        ) from cause
    return RunRow(
        number=row[0], scope=row[1], kind=row[2], status=row[3], clock=clock,
        input_digest=row[5], digest=row[6], settings=settings, report=report, plan=plan,
        compacted=bool(row[10]) if len(row) > 10 else False,
    )  # fmt: skip


def _fields(text: str | None) -> dict[str, Any]:
    """The JSON object that a column holds; nothing where it is empty."""
    found = json.loads(text) if text else {}
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a damaged file, not a caller's fault
    return found


def to_journal(row: Sequence[Any]) -> JournalRow:
    """A journal row from its columns."""
    return JournalRow(
        run=row[0],
        seq=row[1],
        change=Change(
            group=Group(phase=row[2], kind=row[3], id=row[4]),
            operation=row[5],
            table=row[6],
            row=tuple(json.loads(row[7])),
            after=json.loads(row[9]) if row[9] else {},
            reason=row[10] or "",
        ),
        before=json.loads(row[8]) if row[8] else {},
        from_version=row[11],
        undone_by=row[12],
    )


def change_row(scope: str, run: int, seq: int, change: Change) -> list[Any]:
    """A journal row's columns without the before-image."""
    second = change.row[2] if change.table == "link" else None
    return [
        scope, run, seq, change.group.phase, change.group.kind, change.group.id, change.operation,
        change.table, change.row[0], second, canonical(list(change.row)), None, None,
        canonical(change.after), change.reason,
    ]  # fmt: skip


def scope_token(path: str) -> str:
    """The word under which a scope's texts are indexed: digits, so that no stemmer changes it."""
    return "s" + str(int.from_bytes(blake2b(path.encode(), digest_size=12).digest(), "big"))
