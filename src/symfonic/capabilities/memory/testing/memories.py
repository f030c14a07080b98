"""Memories filled from turns, a policy that learns from little, and what to compare of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import canonical
from symfonic.capabilities.memory.roster import subscriptions_of
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.testing.builders import (
    HALF_LIFE_HOURS,
    NOW,
    SALT,
    make_memory,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Turn

SCOPE: Final = "acme/ana"
WHERE: Final = Scope(SCOPE)
EAGER: Final = LearningPolicy(
    enable_entity_linker=True,
    promotion_use_tool_calls_fallback=True,
    promotion_min_pattern_count=2,
    promotion_recency_days=365,
    episodic_summarization_max_entries=4,
    episodic_summarization_batch_size=3,
    entity_linker_confidence_threshold=0.2,
)
"""Learns from little, so that a handful of turns makes every kind of change."""

CONTENT: Final = ("record", "link", "use")


def filled(turns: Sequence[Turn], *, batches: int = 1, now: datetime = NOW) -> Memory:
    """A memory in which these turns came in, in so many batches."""
    memory = make_memory()
    add(memory, turns, batches=batches, now=now)
    return memory


def add(
    memory: Memory, turns: Sequence[Turn], *, batches: int = 1, now: datetime = NOW
) -> list[str]:
    """Bring turns in as one import of several batches; the ids that were added."""
    memory.store.ensure_scope(WHERE, half_life_hours=HALF_LIFE_HOURS, salt=SALT)
    subscriptions = subscriptions_of(memory.engine(policy=EAGER).phases)
    alignment = memory.store.new_alignment()
    size = max(1, -(-len(turns) // batches))
    ids: list[str] = []
    for begin in range(0, len(turns), size):
        ids += memory.store.add_turns(
            WHERE, turns[begin : begin + size], now=now,
            subscriptions=subscriptions, alignment=alignment,
        ).ids  # fmt: skip
    return ids


def rows(
    memory: Memory, *, tables: Sequence[str] = CONTENT, without: Sequence[str] = ()
) -> list[str]:
    """The scope's rows of these tables, sorted, without some columns."""
    dumped: list[dict[str, Any]] = [
        {k: v for k, v in row.items() if k not in without}
        for row in memory.store.dump(WHERE)
        if row["table"] in tables
    ]
    return sorted(canonical(row) for row in dumped)


def content(memory: Memory) -> list[str]:
    """Every column of every record, link and use but the version."""
    return rows(memory, without=("version",))
