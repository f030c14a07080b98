"""Inserting turns: what is known is skipped, what was re-sent is recognised, the rest is new.

`batch.py` gives the turns their ids, `alignment.py` recognises history under other ids, and
`results.py` puts late results onto their calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import (
    RecordId,
    encode_content,
    to_microseconds,
)
from symfonic.capabilities.memory.store import Ingested
from symfonic.capabilities.memory.stores.sqlite.alignment import resent
from symfonic.capabilities.memory.stores.sqlite.batch import Batch
from symfonic.capabilities.memory.stores.sqlite.indexing import index_row
from symfonic.capabilities.memory.stores.sqlite.results import complete_calls
from symfonic.capabilities.memory.stores.sqlite.rows import CONTEXT_SPAN, HOUR, array
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Trust
    from symfonic.capabilities.memory.store import ScopeState, Subscription, Turn
    from symfonic.capabilities.memory.stores.sqlite.alignment import Alignment
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

TRUST_OF_ROLE: dict[str, Trust] = {
    "user": "user", "tool": "tool", "assistant": "assistant", "system": "imported",
}  # fmt: skip


def insert_turns(
    db: Connection,
    state: ScopeState,
    turns: Sequence[Turn],
    *,
    now: datetime,
    subscriptions: Sequence[Subscription],
    alignment: Alignment,
) -> tuple[Ingested, int]:
    """Insert within an open transaction; what was added, and the scope's new counter."""
    batch = Batch(db, state, turns, to_microseconds(now))
    repeated, erased = resent(batch, alignment)
    left_out = repeated | erased
    positions = batch.final_positions(left_out)
    counter, row = state.counter, db.execute("last_row").fetchone()[0]
    records, texts, stamps, added = [], [], [], []
    taken: set[RecordId] = set()
    for index, turn in enumerate(turns):
        i, position = batch.ids[index], positions[index]
        if index in left_out or i in batch.known or i in taken:
            continue
        taken.add(i)
        counter += 1
        row += 1
        occurred = None if turn.occurred_at is None else to_microseconds(turn.occurred_at)
        at = batch.recorded if occurred is None or occurred > batch.recorded else occurred
        records.append((
            row, state.path, i, counter, counter, TRUST_OF_ROLE[turn.role],
            base_strength(at / HOUR, state.half_life_hours), occurred, batch.recorded,
            turn.session, position, turn.text, encode_content(batch.contents[index]),
        ))  # fmt: skip
        texts.append(index_row(state.path, row, turn.text, batch.contents[index]))
        stamps.append((at, i, counter))
        added.append((i, turn.session, position))
    db.executemany("insert_episode", records)
    db.executemany("insert_text", texts)
    _subscribe(batch, stamps, added, subscriptions, counter)
    counter = complete_calls(
        db, state.path, turns, batch.ids, batch.known, subscriptions=subscriptions, counter=counter
    )
    forgotten = len(erased) + sum(batch.known.get(i) == "forgotten" for i in batch.ids)
    result = Ingested(
        added=len(added),
        known=len(turns) - len(added) - forgotten,
        forgotten=forgotten,
        ids=tuple(i for i, _, _ in added),
    )
    return result, counter


def _subscribe(
    batch: Batch,
    stamps: list[tuple[int, RecordId, int]],
    added: list[tuple[RecordId, str, int]],
    subscriptions: Sequence[Subscription],
    counter: int,
) -> None:
    """New episodes are unread; where one arrives late, so are the ones that follow it."""
    db, path, ends = batch.db, batch.path, batch.ends
    for subscription in subscriptions:
        if "episode" not in subscription.reads:
            continue
        phase = subscription.phase
        db.executemany("insert_pending", ((path, phase, at, i, stamp) for at, i, stamp in stamps))
        if not subscription.context:
            continue
        renewed: set[str] = set()
        for _, session, position in added:
            if position < ends.get(session, -1):
                bound: dict[str, Any] = {
                    "scope": path, "session": session, "position": position,
                    "count": subscription.context, "span": CONTEXT_SPAN,
                }  # fmt: skip
                renewed.update(str(row[0]) for row in db.rows("later_episodes", bound))
        if renewed:
            db.execute(
                "touch_pending",
                {"scope": path, "phase": phase, "ids": array(sorted(renewed)), "stamp": counter},
            )
