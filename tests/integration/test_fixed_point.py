"""A night in which nothing happened changes nothing, and a run straight after another neither."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"


def worked(memory: Memory, log: list[dict[str, Any]], now: datetime) -> None:
    """A memory with uses of yesterday, so that every phase has had something to do."""
    memory.ingest(log, scope=SCOPE, now=now)
    for question in ("kiln", "Marguerite Oakes", "glaze recipe"):
        memory.recall(question, scope=SCOPE, now=now - timedelta(hours=3))


def test_ten_idle_nights_change_nothing(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    worked(memory, log(120), now)
    first = memory.sleep(scope=SCOPE, policy=learning, now=now)
    assert {p.name for run in first.passes for p in run.phases if p.changes} == {
        "link_entities", "strengthen", "link_cooccurring", "summarise", "promote_procedures",
    }  # fmt: skip
    before = contents(memory, SCOPE, history=True)
    for night in range(1, 11):
        report = memory.sleep(scope=SCOPE, policy=learning, now=now + timedelta(days=night))
        assert len(report.passes) == 1
        assert report.change_count == 0
        assert contents(memory, SCOPE, history=True) == before


def test_an_idle_night_moves_only_the_scope_s_clocks_and_run_count(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    worked(memory, log(60), now)
    memory.sleep(scope=SCOPE, policy=learning, now=now)

    def own_row() -> dict[str, Any]:
        (row,) = [r for r in memory.store.dump(Scope(SCOPE)) if r["table"] == "scope"]
        return row

    before = own_row()
    memory.sleep(scope=SCOPE, policy=learning, now=now + timedelta(days=1))
    after = own_row()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"run_count", "last_clock", "deep_clock"}


def test_a_run_straight_after_another_plans_nothing(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    worked(memory, log(120), now)
    assert memory.sleep(scope=SCOPE, policy=learning, now=now).change_count > 100
    report = memory.plan(scope=SCOPE, policy=learning, now=now)
    assert report.change_count == 0
    assert all(phase.left == 0 for phase in report.phases)


def test_the_last_pass_of_a_sleep_leaves_no_phase_a_visible_row(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
) -> None:  # fmt: skip
    worked(memory, log(120), now)
    policy = LearningPolicy(
        enable_entity_linker=True, promotion_use_tool_calls_fallback=True,
        entity_linker_max_episodics_per_run=50,
    )  # fmt: skip
    report = memory.sleep(scope=SCOPE, policy=policy, now=now)
    assert len(report.passes) == 3
    assert memory.stats(scope=SCOPE)["pending"] == {}
    again = memory.sleep(scope=SCOPE, policy=policy, now=now)
    assert (len(again.passes), again.change_count) == (1, 0)


def test_the_run_does_not_take_its_own_writes_for_use(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    for night in range(3):
        memory.sleep(scope=SCOPE, policy=learning, now=now + timedelta(days=night))
    assert [row for row in contents(memory, SCOPE) if row["table"] == "use"] == []


def test_reading_memory_changes_nothing_but_uses(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    worked(memory, log(60), now)
    memory.sleep(scope=SCOPE, policy=learning, now=now)
    before = contents(memory, SCOPE, history=True)
    memory.recall("kiln", scope=SCOPE, now=now, record_uses=False)
    memory.stats(scope=SCOPE)
    memory.runs(scope=SCOPE)
    memory.procedures(scope=SCOPE)
    list(memory.export(scope=SCOPE))
    assert contents(memory, SCOPE, history=True) == before


def test_a_hundred_idle_nights_change_only_what_time_makes_due(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(60), scope=SCOPE, now=now)
    young = [
        {"id": f"y{n}", "session": "young", "position": n, "text": f"A note on vase {n}.",
         "at": (now - timedelta(hours=2)).isoformat()}
        for n in range(30)
    ]  # fmt: skip
    memory.ingest(young, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=learning, now=now)
    busy = []
    for night in range(1, 101):
        report = memory.sleep(
            scope=SCOPE, policy=learning, retention=RetentionPolicy(),
            now=now + timedelta(days=night),
        )  # fmt: skip
        busy += [(night, p.name) for run in report.passes for p in run.phases if p.changes]
    assert busy[0] == (1, "summarise")
    assert {phase for _, phase in busy[1:]} == {"expire"}
    assert (
        min(night for night, phase in busy if phase == "expire") > 80
    )  # what one use takes to fade
    archived = {row["kind"] for row in memory.store.dump(Scope(SCOPE))
                if row["table"] == "record" and row["state"] == "archived"}  # fmt: skip
    assert archived <= {"entity", "summary", "procedure"}
    assert len(busy) <= 5
