"""Whole nights taken back and brought back: what comes next is as if nothing had been undone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import StaleWrite, UndoRefused
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
NIGHT = timedelta(days=1)


@pytest.fixture
def tell(memory: Memory, tmp_path: Any, log: Callable[[int], list[dict[str, Any]]]) -> Any:
    """Brings the turns of the pottery's talk from one number to another in."""

    def tell(first: int, last: int, now: datetime) -> None:
        path = tmp_path / f"{first}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in log(last)[first:]))
        memory.ingest(path, scope=SCOPE, now=now)

    return tell


def held(memory: Memory) -> list[str]:
    """All that is remembered, but for what counts writes."""
    return sorted(
        repr({k: v for k, v in row.items() if k not in {"version", "seq"}})
        for row in memory.store.dump(Scope(SCOPE))
        if row["table"] in {"record", "link", "use"}
    )


def night(memory: Memory, learning: LearningPolicy, now: datetime) -> list[str]:
    report = memory.sleep(scope=SCOPE, policy=learning, now=now)
    return [run.run_id for run in report.passes if run.change_count]


def pairs(memory: Memory) -> set[str]:
    return {
        repr((row["source"], row["target"]))
        for row in memory.store.dump(Scope(SCOPE))
        if row["table"] == "link" and row["kind"] == "co_occurred"
    }


def test_a_night_is_undone_and_redone_ten_times(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    before = held(memory)
    (run,) = night(memory, learning, now)
    after = held(memory)
    assert {row.change.group.phase for row in memory.diff(run)} >= {
        "link_entities", "strengthen", "link_cooccurring", "summarise", "promote_procedures",
    }  # fmt: skip
    for _ in range(10):
        memory.undo(run, now=now)
        assert held(memory) == before
        memory.redo(run, now=now)
        assert held(memory) == after
    assert memory.store.check() == []


def test_the_nights_after_a_redo_do_what_they_would_have_done_anyway(
    memory: Memory, opened: Any, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    (run,) = night(memory, learning, now)
    other = opened()
    other.restore_rows(list(memory.export(scope=SCOPE)), scope=SCOPE)
    memory.undo(run, now=now)
    memory.redo(run, now=now)
    for days in (1, 9, 40):
        for one in (memory, other):
            one.add_turn(
                [{"role": "user", "content": f"Tobias Fenn met Ilse Brandt on day {days}."}],
                scope=SCOPE, session=f"d{days}", now=now + (days - 0.5) * NIGHT,
            )  # fmt: skip
            one.recall("Tobias Fenn", scope=SCOPE, now=now + (days - 0.5) * NIGHT)
        digests = [
            [run.digest for run in one.sleep(
                scope=SCOPE, policy=learning, now=now + days * NIGHT).passes]
            for one in (memory, other)
        ]  # fmt: skip
        assert digests[0] == digests[1]
        assert held(memory) == held(other)


def test_what_is_undone_stays_away_on_idle_nights_and_comes_back_by_a_redo(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    (run,) = night(memory, learning, now)
    after = held(memory)
    memory.undo(run, now=now)
    bare = held(memory)
    for days in range(1, 6):
        assert night(memory, learning, now + days * NIGHT) == []
    assert held(memory) == bare
    memory.redo(run, now=now)
    assert held(memory) == after


def test_an_undone_pair_stays_away_until_newer_evidence(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    (run,) = night(memory, learning, now)
    found = pairs(memory)
    assert found
    links = sorted({
        str(row.change.group) for row in memory.diff(run)
        if row.change.group.phase == "link_cooccurring"
    })  # fmt: skip
    memory.undo(run, groups=links, now=now)
    assert pairs(memory) == set()
    night(memory, learning, now + NIGHT)
    assert pairs(memory) == set()
    again = replace(learning, synthetic_link_min_co_count=3)
    report = memory.sleep(scope=SCOPE, policy=again, now=now + 2 * NIGHT)
    phases = [p for run in report.passes for p in run.phases if p.name == "link_cooccurring"]
    assert sum(phase.reread for phase in phases)
    assert sum(phase.dropped for phase in phases)
    assert pairs(memory) == set()
    tell(60, 90, now + 2 * NIGHT)
    night(memory, learning, now + 3 * NIGHT)
    assert pairs(memory)
    with pytest.raises(UndoRefused, match=r"First: symfonic-memory undo|build"):
        memory.redo(run, now=now)


def test_a_plan_kept_before_an_undo_and_its_redo_is_made_again(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    (run,) = night(memory, learning, now)
    tell(60, 72, now + NIGHT / 2)
    kept = memory.plan(scope=SCOPE, policy=learning, now=now + NIGHT)
    memory.undo(run, now=now)
    memory.redo(run, now=now)
    before = held(memory)
    with pytest.raises(StaleWrite):
        memory.apply(kept.run_id)
    assert held(memory) == before
    assert memory.drop(kept.run_id).status == "abandoned"
    again = memory.plan(scope=SCOPE, policy=learning, now=now + NIGHT)
    assert again.digest == kept.digest
    memory.apply(again.run_id)
    memory.undo(again.run_id, now=now + NIGHT)
    assert held(memory) == before


def test_a_cascade_over_three_nights_takes_what_builds_on_the_first(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    names = []
    for n, last in enumerate((60, 72, 84)):
        tell(last - (60 if n == 0 else 12), last, now + n * NIGHT)
        names += night(memory, learning, now + n * NIGHT)
    after = held(memory)
    with pytest.raises(UndoRefused, match="--cascade"):
        memory.undo(names[0], now=now)
    taken = memory.undo(names[0], cascade=True, now=now)
    assert memory.store.check() == []
    assert memory.runs(scope=SCOPE, limit=1)[0].report["run_id"] == taken.run_id
    made = {
        row.change.row[0] for row in memory.diff(names[0])
        if (row.change.table, row.change.operation) == ("record", "add")
    }  # fmt: skip
    left = [row for name in names for row in memory.diff(name) if row.undone_by is None]
    assert left
    assert not any(row.change.row[-1] in made for row in left if row.change.table == "link")
    memory.redo(taken.run_id, now=now)
    assert held(memory) == after
    assert all(row.undone_by is None for name in names for row in memory.diff(name))


def test_a_range_passes_over_undos_and_redos(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    before = held(memory)
    (run,) = night(memory, learning, now)
    memory.undo(run, now=now)
    again = memory.redo(run, now=now)
    after = held(memory)
    done = memory.undo_all(f"{SCOPE}#1", again.run_id, now=now)
    assert held(memory) == before
    assert [report.notes for report in done] == [(f"undoes {run}",)]
    memory.redo(done[0].run_id, now=now)
    assert held(memory) == after


def test_forgetting_after_a_redo_leaves_no_text_in_the_journal(
    memory: Memory, tell: Any, now: datetime, learning: LearningPolicy
) -> None:
    tell(0, 60, now)
    (run,) = night(memory, learning, now)
    memory.undo(run, now=now)
    memory.redo(run, now=now)
    last = memory.undo(run, now=now).run_id
    assert "Marguerite" in repr(list(memory.export(scope=SCOPE)))
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        told = [
            r.id for r in reader.records(reader.all_records()) if "Marguerite" in (r.text or "")
        ]
    memory.forget(told, scope=SCOPE)
    exported = list(memory.export(scope=SCOPE))
    gone = [row for row in exported if "marguerite" in repr(row).lower()]
    assert [row for row in gone if row["table"] == "change"] == []
    before = held(memory)
    with pytest.raises(UndoRefused, match="forgotten"):
        memory.redo(last, now=now)
    assert held(memory) == before
