from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import (
    PolicyError,
    RecordNotFound,
    RunAlreadyActive,
    UndoRefused,
)
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import system_clock
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.stores.sqlite import compacting, rescaling
from symfonic.capabilities.memory.testing.builders import NOW, make_memory, make_session
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, WHERE, add, content, filled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.upkeep import Compacted

DAYS = timedelta(days=1)
LATER = NOW + 31 * DAYS
TALK = make_session(
    "I asked Marta Kowalczyk about it.", "Marta Kowalczyk wrote to Ilse Aichinger.",
    "Ilse Aichinger is in Graz.", "Marta Kowalczyk is in Graz.", "ok",
    prefix="m", start=NOW - 9 * DAYS,
)  # fmt: skip


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory after two nights, in which somebody asked."""
    memory = filled(TALK)
    memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
    memory.recall("Marta Kowalczyk", scope=SCOPE, now=NOW)
    memory.recall("Graz", scope=SCOPE, now=NOW + timedelta(hours=2))
    memory.sleep(scope=SCOPE, policy=EAGER, now=NOW + 1 * DAYS)
    yield memory
    memory.close()


def interrupted(memory: Memory, at: int) -> int:
    """Break off ``compact`` after so many steps; how many there were."""
    steps = 0

    def watch(_done: Compacted) -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        memory.compact(scope=SCOPE, now=LATER, watch=watch)
    return steps


def test_what_memory_holds_recalls_and_learns_stays_the_same(memory: Memory) -> None:
    def answers() -> list[tuple[str, float]]:
        found = memory.recall("Marta in Graz", scope=SCOPE, now=LATER + 1 * DAYS, record_uses=False)
        return [(item.id, item.score) for item in found.items]

    before = answers(), [run.report for run in memory.runs(scope=SCOPE)]
    report = memory.compact(scope=SCOPE, now=LATER + 1 * DAYS)
    assert report.scopes[0].runs == len([r for r in memory.runs(scope=SCOPE) if r.compacted])
    assert report.scopes[0].runs >= 2
    assert report.scopes[0].dropped
    assert (answers(), [run.report for run in memory.runs(scope=SCOPE)]) == before
    assert memory.sleep(scope=SCOPE, policy=EAGER, now=LATER + 1 * DAYS).passes[0].phases
    assert memory.check() == []


def test_the_longer_of_undo_days_and_grace_days_counts(memory: Memory) -> None:
    kept = RetentionPolicy(undo_days=40, grace_days=3)
    report = memory.compact(scope=SCOPE, retention=kept, now=LATER)
    assert (report.before, report.scopes[0].runs) == (LATER - 40 * DAYS, 0)
    graced = RetentionPolicy(undo_days=3, grace_days=40)
    assert memory.compact(scope=SCOPE, retention=graced, now=LATER).scopes[0].runs == 0
    short = RetentionPolicy(undo_days=3, grace_days=3)
    assert memory.compact(scope=SCOPE, retention=short, now=LATER).scopes[0].runs >= 2


def test_uses_inside_the_look_back_stay_as_they_are(memory: Memory) -> None:
    memory.recall("Marta Kowalczyk", scope=SCOPE, now=NOW + 12 * DAYS)
    memory.recall("Marta Kowalczyk", scope=SCOPE, now=NOW + 13 * DAYS)
    memory.sleep(scope=SCOPE, policy=EAGER, now=NOW + 60 * DAYS)
    far = NOW + 90 * DAYS
    retention = RetentionPolicy(undo_days=1, grace_days=1)
    wide = memory.compact(
        scope=SCOPE,
        now=far,
        retention=retention,
        policy=LearningPolicy(lookback_hours=24 * 80),
        dry_run=True,
    )
    usual = memory.compact(scope=SCOPE, now=far, retention=retention, dry_run=True)
    assert wide.scopes[0].uses < usual.scopes[0].uses


def test_what_was_compacted_is_neither_undone_nor_redone(memory: Memory) -> None:
    run = memory.runs(scope=SCOPE)[-1].report["run_id"]
    undone = memory.undo(run, cascade=True, now=NOW + 1 * DAYS)
    memory.compact(scope=SCOPE, now=LATER + 5 * DAYS)
    for take_back in (memory.undo, memory.redo):
        with pytest.raises(UndoRefused, match="too old"):
            take_back(run)
    with pytest.raises(UndoRefused, match="too old"):
        memory.redo(undone.run_id)


def test_what_a_person_undid_does_not_come_back_after_compact(memory: Memory) -> None:
    run = memory.runs(scope=SCOPE)[-1].report["run_id"]
    memory.undo(run, cascade=True, now=NOW + 1 * DAYS)
    memory.compact(scope=SCOPE, now=LATER + 5 * DAYS)
    before = content(memory)
    memory.sleep(scope=SCOPE, policy=EAGER, now=LATER + 5 * DAYS)
    kinds = [line for line in content(memory) if '"kind":"entity"' in line]
    assert kinds == [line for line in before if '"kind":"entity"' in line]


def test_an_undo_of_a_kept_run_works_after_compact(memory: Memory) -> None:
    add(memory, make_session("Nora Fingerl called.", "Nora Fingerl wrote.", session="s2",
                             prefix="n", start=NOW + 20 * DAYS), now=NOW + 20 * DAYS)  # fmt: skip
    before = content(memory)
    run = memory.sleep(scope=SCOPE, policy=EAGER, now=NOW + 25 * DAYS).passes[0].run_id
    memory.compact(scope=SCOPE, now=NOW + 40 * DAYS)
    memory.undo(run, now=NOW + 40 * DAYS)
    names = [line for line in content(memory) if '"kind":"entity"' in line]
    assert names == [line for line in before if '"kind":"entity"' in line]
    assert memory.check() == []


@pytest.mark.parametrize("at", range(1, 9))
def test_broken_off_at_any_step_it_ends_the_same(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    rows = list(memory.export(scope=SCOPE))
    monkeypatch.setattr(compacting, "JOURNAL_ROWS", 3)
    monkeypatch.setattr(compacting, "RECORDS", 1)
    with make_memory() as other:
        other.restore_rows(rows, scope=SCOPE)
        other.compact(scope=SCOPE, now=LATER)
        before = content(other)
        assert interrupted(memory, at) == at
        oldest = memory.runs(scope=SCOPE)[-1]
        assert oldest.compacted
        memory.compact(scope=SCOPE, now=LATER)
        assert content(memory) == before
        assert list(memory.export(scope=SCOPE)) == list(other.export(scope=SCOPE))


def test_turns_and_recalls_go_on_between_its_steps(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "JOURNAL_ROWS", 3)
    said: list[int] = []

    def watch(_done: Compacted) -> None:
        turn = {"role": "user", "text": f"still here {len(said)}"}
        said.append(memory.add_turn(turn, scope=SCOPE, session="live", now=LATER).added)
        memory.recall("Graz", scope=SCOPE, now=LATER)

    memory.compact(scope=SCOPE, now=LATER, watch=watch)
    assert len(said) > 3
    assert set(said) == {1}
    assert memory.check() == []


def test_every_scope_is_compacted_and_a_busy_one_is_named(memory: Memory) -> None:
    memory.add_turn({"role": "user", "text": "hi"}, scope="acme/bob", session="s", now=NOW)
    lease = memory.store.acquire(WHERE, now=system_clock(), term_seconds=60)
    report = memory.compact(now=LATER)
    assert ([one.scope for one in report.scopes], report.busy) == (["acme/bob"], (SCOPE,))
    with pytest.raises(RunAlreadyActive):
        memory.compact(scope=SCOPE, now=LATER)
    memory.store.release(lease)
    assert [one.scope for one in memory.compact(now=LATER).scopes] == [SCOPE, "acme/bob"]


def test_a_scope_that_is_not_there_is_not_compacted(memory: Memory) -> None:
    with pytest.raises(RecordNotFound, match="acme/eve"):
        memory.compact(scope="acme/eve", now=LATER)


def test_the_lease_is_lengthened_while_it_works(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 100_000, 300))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    renewed: list[int] = []
    renew = memory.store.renew

    def counting(*arguments: Any, **named: Any) -> Any:
        renewed.append(1)
        return renew(*arguments, **named)

    monkeypatch.setattr(memory.store, "renew", counting)
    memory.compact(scope=SCOPE, now=LATER)
    assert renewed
    monkeypatch.undo()
    assert memory.compact(scope=SCOPE, now=LATER).busy == ()


def test_free_space_is_given_back_when_it_is_much_or_asked_for(tmp_path: Path) -> None:
    with make_memory(tmp_path / "m.db") as memory:
        add(memory, TALK)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        assert memory.compact(now=NOW).rebuilt is False
        assert memory.compact(now=NOW, vacuum=True).rebuilt is True
        added = [{"role": "user", "text": f"word{n} " * 300} for n in range(300)]
        memory.add_turn(added, scope="bulk", session="s", now=NOW)
        store: Any = memory.store
        with store._lock, store._db.writing():
            store._db.raw.execute("DELETE FROM record_text")
        big = memory.size()
        assert not big.mostly_needed
        assert memory.compact(now=NOW, vacuum=False).rebuilt is False
        assert memory.compact(now=NOW, dry_run=True).rebuilt is False
        report = memory.compact(now=NOW)
        assert report.rebuilt is True
        assert report.size_after.total < report.size_before.total == big.total
        assert (tmp_path / "m.db").stat().st_size == report.size_after.total


def test_where_somebody_is_in_the_way_free_space_stays_and_it_says_so(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory.store, "rebuild", lambda: False)
    assert memory.compact(now=LATER, vacuum=True).rebuilt is None


def test_another_half_life_is_a_run_of_the_history(memory: Memory) -> None:
    before = memory.state(scope=SCOPE)
    report = memory.set_half_life(60, scope=SCOPE, now=LATER)
    assert (report.before, report.after) == (30, 60)
    assert 0 < report.changed == report.records
    row = memory.run(report.run)
    assert (row.kind, row.status, row.clock) == ("user", "committed", LATER)
    assert row.report["half_life"] == {
        "before": 30, "after": 60, "records": report.records, "changed": report.changed
    }  # fmt: skip
    after = memory.state(scope=SCOPE)
    assert (after.half_life_hours, after.last_clock) == (1440, before.last_clock)
    with pytest.raises(UndoRefused):
        memory.undo(report.run)


def test_a_scope_that_has_had_no_night_fades_at_another_rate_too() -> None:
    with filled(TALK) as memory:
        assert memory.set_half_life(60, scope=SCOPE, now=NOW).changed == len(TALK)


def test_the_half_life_that_a_scope_has_already_writes_nothing(memory: Memory) -> None:
    before = list(memory.export(scope=SCOPE))
    report = memory.set_half_life(30, scope=SCOPE, now=LATER)
    assert (report.run, report.changed) == ("", 0)
    assert list(memory.export(scope=SCOPE)) == before


@pytest.mark.parametrize("days", [0.5, -1, float("nan"), float("inf")])
def test_a_half_life_out_of_range_is_refused(memory: Memory, days: float) -> None:
    with pytest.raises(PolicyError, match="half_life_days"):
        memory.set_half_life(days, scope=SCOPE, now=LATER)


def test_after_another_half_life_a_night_notes_nothing_and_changes_nothing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescaling, "RECORDS", 2)
    memory.set_half_life(60, scope=SCOPE, now=NOW + 1 * DAYS)
    kept = RetentionPolicy(half_life_days=60)
    report = memory.sleep(scope=SCOPE, policy=EAGER, retention=kept, now=NOW + 1 * DAYS)
    assert (report.change_count, report.passes[0].notes) == (0, ())


def test_as_many_uses_count_as_a_night_would_count(memory: Memory) -> None:
    few = RunLimits(uses_per_record=1)
    memory.set_half_life(60, scope=SCOPE, limits=few, now=NOW + 1 * DAYS)
    one = memory.sleep(scope=SCOPE, policy=EAGER, limits=few, now=NOW + 1 * DAYS)
    assert one.change_count == 0


def _strengths(memory: Memory) -> dict[str, int]:
    with memory.store.snapshot(WHERE) as reader:
        return {str(r.id): r.strength for r in reader.records(reader.all_records())}


def _anew(memory: Memory) -> dict[str, int]:
    """What every strength is after setting the half-life away and back."""
    days = memory.state(scope=SCOPE).half_life_hours / 24
    memory.set_half_life(days + 1, scope=SCOPE, now=LATER)
    memory.set_half_life(days, scope=SCOPE, now=LATER)
    return _strengths(memory)


@pytest.mark.parametrize("take_back", ["undo", "redo"])
def test_what_is_taken_back_later_is_on_the_new_scale(memory: Memory, take_back: str) -> None:
    run = memory.runs(scope=SCOPE)[-1].report["run_id"]
    if take_back == "undo":
        memory.set_half_life(60, scope=SCOPE, now=LATER)
        memory.undo(run, cascade=True, now=LATER)
    else:
        memory.undo(run, cascade=True, now=LATER)
        memory.set_half_life(60, scope=SCOPE, now=LATER)
        memory.redo(run, now=LATER)
    found = _strengths(memory)
    anew = _anew(memory)
    assert found.keys() == anew.keys()
    assert all(abs(found[i] - anew[i]) <= 1 for i in found)
