"""What a run asks the store follows from its phases, not from how much is stored or new."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.stores.sqlite.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
MOST = 40
"""Statements of one phase: eight lookups, each in a few places and for each hop of the spread."""

ALL_AT_ONCE = LearningPolicy(
    enable_entity_linker=True, promotion_use_tool_calls_fallback=True,
    entity_linker_max_episodics_per_run=100_000, episodic_summarization_max_entries=20,
    episodic_summarization_batch_size=12,
)  # fmt: skip
LIMITS = RunLimits(
    promotion_max_episodics_per_run=100_000, strengthen_max_records_per_run=100_000,
    summarize_max_batches_per_run=10_000,
)  # fmt: skip


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that any connection runs, in order."""
    asked: list[str] = []

    def counted(method: Any) -> Any:
        def run(self: Connection, name: str, parameters: object = ()) -> Any:
            asked.append(name)
            return method(self, name, parameters)

        return run

    for name in ("rows", "execute", "executemany"):
        monkeypatch.setattr(Connection, name, counted(getattr(Connection, name)))
    return asked


def costs(memory: Memory, statements: list[str], now: datetime) -> tuple[Counter[str], int]:
    """Statements by phase of one planned pass, and the changes it plans."""
    found: Counter[str] = Counter()
    current = ["reading"]

    def watch(_: int, phase: str) -> None:
        found[current[0]] += len(statements)
        statements.clear()
        current[0] = phase

    engine = memory.engine(policy=ALL_AT_ONCE, limits=LIMITS, watch=watch)
    statements.clear()
    plan, _ = engine.preview(Scope(SCOPE), now=now)
    found[current[0]] += len(statements)
    return found, len(plan.commit.changes)


def test_statements_of_a_phase_are_bounded_and_do_not_grow_with_what_is_new(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime,
    statements: list[str],
) -> None:  # fmt: skip
    found = []
    for count in (120, 1200):
        memory = opened()
        memory.ingest(log(count), scope=SCOPE, now=now)
        memory.recall("Marguerite Oakes glaze", scope=SCOPE, now=now)
        memory.flush_uses()
        found.append(costs(memory, statements, now))
    (few, small), (many, large) = found
    assert large > 5 * small > 0
    assert not many - few  # no phase asks more often; one whose uses reach nobody asks less
    assert set(few) == {
        "reading", "link_entities", "strengthen", "link_cooccurring", "expire", "summarise",
        "promote_procedures",
    }  # fmt: skip
    assert max(few.values()) <= MOST
    assert few["link_cooccurring"] <= 8
    assert few["expire"] <= 4


def test_statements_of_a_phase_do_not_grow_with_what_is_stored(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime,
    statements: list[str],
) -> None:  # fmt: skip
    found = []
    for stored in (120, 1200):
        memory = opened()
        memory.ingest(log(stored), scope=SCOPE, now=now)
        memory.sleep(scope=SCOPE, policy=ALL_AT_ONCE, limits=LIMITS, now=now)
        new = [{**row, "id": f"new {row['id']}", "session": f"new {row['session']}",
                "at": now.isoformat()} for row in log(36)]  # fmt: skip
        memory.ingest(new, scope=SCOPE, now=now)
        memory.recall("Marguerite Oakes glaze", scope=SCOPE, now=now)
        memory.flush_uses()
        found.append(costs(memory, statements, now)[0])
    few, many = found
    assert not many - few  # no phase asks more often; one whose uses reach nobody asks less
    assert max(few.values()) <= MOST


def test_an_idle_night_asks_as_little_whatever_is_stored(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime,
    statements: list[str],
) -> None:  # fmt: skip
    found = []
    for stored in (60, 600):
        memory = opened()
        memory.ingest(log(stored), scope=SCOPE, now=now)
        memory.sleep(scope=SCOPE, policy=ALL_AT_ONCE, limits=LIMITS, now=now)
        asked, changes = costs(memory, statements, now)
        assert changes == 0
        found.append(asked)
    assert found[0] == found[1]
    assert max(found[0].values()) <= 10
