"""LIGHT between turns: it takes nothing from DEEP, and an idle one leaves no trace."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.roster import LIGHT
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
POLICY = LearningPolicy(
    enable_entity_linker=True, promotion_use_tool_calls_fallback=True,
    phase1_spreading_weight=0, episodic_summarization_max_entries=20,
    episodic_summarization_batch_size=12,
)  # fmt: skip


def everything(memory: Memory) -> list[dict[str, Any]]:
    return list(memory.store.dump(Scope(SCOPE)))


def what_no_split_may_change(memory: Memory) -> list[str]:
    """Entities, mention and co-occurrence links, kept windows, strengths, drafts' evidence."""
    found = []
    for row in everything(memory):
        match row["table"]:
            case "link" if row["kind"] in {"mentions", "co_occurred"}:
                kept = {"source", "kind", "target", "count", "at"}
            case "seen":
                kept = set(row) - {"version"}
            case "record" if row["kind"] in {"entity", "episode"}:
                kept = {"id", "key", "text", "body", "strength", "trust", "occurred_at"}
            case "record" if row["kind"] == "procedure":
                kept = {"id", "text"}
            case _:
                continue
        found.append(repr({name: row[name] for name in sorted(kept) if name in row}))
    return sorted(found)


@pytest.mark.parametrize("portion", [1, 6, 25])
def test_light_between_turns_takes_nothing_from_deep(
    portion: int, opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]],
    now: datetime,
) -> None:  # fmt: skip
    rows = log(72)
    busy, calm = opened(), opened()
    for start in range(0, len(rows), portion):
        busy.ingest(rows[start : start + portion], scope=SCOPE, now=now)
        busy.sleep(scope=SCOPE, kind="light", policy=POLICY, now=now)
    calm.ingest(rows, scope=SCOPE, now=now)
    for memory in (busy, calm):
        memory.sleep(scope=SCOPE, policy=POLICY, now=now)
        assert memory.stats(scope=SCOPE)["pending"] == {}
    assert what_no_split_may_change(busy) == what_no_split_may_change(calm)
    assert "co_occurred" in repr(what_no_split_may_change(calm))
    assert busy.sleep(scope=SCOPE, policy=POLICY, now=now).change_count == 0


def test_an_idle_light_run_adds_no_row_to_any_table(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=POLICY, now=now)
    before = everything(memory)
    for minutes in range(1, 4):
        report = memory.sleep(
            scope=SCOPE, kind="light", policy=POLICY, now=now + timedelta(minutes=minutes)
        )
        assert (len(report.passes), report.change_count, report.passes[0].run_id) == (1, 0, "")
        assert everything(memory) == before


def test_a_light_run_runs_the_cheap_phases_alone_and_clears_their_input_only(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    before = memory.stats(scope=SCOPE)["pending"]
    report = memory.sleep(scope=SCOPE, kind="light", policy=POLICY, now=now)
    assert {p.name for run in report.passes for p in run.phases} == LIGHT
    assert {row.kind for row in memory.runs(scope=SCOPE) if row.kind != "ingest"} == {"light"}
    after = memory.stats(scope=SCOPE)["pending"]
    assert before["promote_procedures"] == after["promote_procedures"] == 60
    assert before["link_entities"] == 60
    assert set(after) == {"promote_procedures", "link_cooccurring"}


def test_what_a_light_run_writes_is_unread_for_the_other_phases(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, kind="light", policy=POLICY, now=now)
    rows = [row for row in everything(memory) if row["table"] == "link"]
    speaking = {row["source"] for row in rows if row["kind"] == "mentions"}
    waiting = {
        row["record"] for row in everything(memory)
        if row["table"] == "pending" and row["phase"] == "link_cooccurring"
    }  # fmt: skip
    assert waiting == speaking
    assert not [row for row in rows if row["kind"] == "co_occurred"]
    report = memory.sleep(scope=SCOPE, policy=POLICY, now=now)
    (line,) = [p for p in report.passes[0].phases if p.name == "link_cooccurring"]
    assert line.looked_at == len(speaking)


def test_light_does_not_move_the_clock_that_widens_the_window_of_the_next_deep_run(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(30), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=POLICY, now=now)
    later = now + timedelta(days=9)
    more = [{**row, "id": f"m{row['id']}", "session": f"m{row['session']}"} for row in log(6)]
    memory.ingest(more, scope=SCOPE, now=later)
    memory.sleep(scope=SCOPE, kind="light", policy=POLICY, now=later)
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        assert (reader.state.last_clock, reader.state.deep_clock) == (later, now)
