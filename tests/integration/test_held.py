"""The guard: what would hide too much waits for a person, once, and the rest of the run lands."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import RecordNotFound, StaleWrite
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.outcome import PhaseReport, SleepReport
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
DAY = timedelta(days=1)
LINKING = LearningPolicy(enable_entity_linker=True)
KEEPING = RetentionPolicy(episode_days=60)
"""A retention under which the old turns of :func:`aged` are due, and the young ones are not."""


def aged(old: int, young: int, now: datetime) -> list[dict[str, Any]]:
    """Turns of a hundred days ago and of yesterday, a session each."""
    return [
        {"id": f"{age}{n}", "session": f"{age}{n}", "position": 0, "role": "user",
         "text": f"This morning Marguerite Oakes asked me about vase {age} {n}.",
         "at": (now - days * DAY + timedelta(minutes=n)).isoformat()}
        for age, count, days in (("old", old, 100), ("young", young, 1))
        for n in range(count)
    ]  # fmt: skip


def expire_line(report: SleepReport) -> PhaseReport:
    (line,) = [p for p in report.passes[-1].phases if p.name == "expire"]
    return line


def archived(memory: Memory) -> int:
    records = memory.stats(scope=SCOPE)["records"]
    return int(records.get("episode", {}).get("archived", 0))


def held_runs(memory: Memory) -> list[str]:
    return [r.report["run_id"] for r in memory.runs(scope=SCOPE) if r.status == "held"]


@pytest.fixture
def night(memory: Memory, now: datetime) -> Callable[..., SleepReport]:
    """A night of the memory, so many days later, with the old turns due."""

    def sleep(later: int = 0, **options: Any) -> SleepReport:
        given = {"policy": LINKING, "retention": KEEPING, **options}
        return memory.sleep(scope=SCOPE, now=now + later * DAY, **given)

    return sleep


def test_what_would_hide_too_much_is_held_and_the_rest_lands(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    report = night()
    line = expire_line(report)
    assert (line.outcome, line.knob, line.left) == ("held", "max_hidden_share", 10)
    assert "10 of 30 records (33%)" in line.reason
    assert archived(memory) == 0
    assert memory.stats(scope=SCOPE)["records"]["entity"] == {"active": 1}
    assert [report.held] == held_runs(memory)
    kept = memory.run(str(report.held))
    assert (kept.kind, kept.report["change_count"]) == ("deep", 10)
    assert [p["name"] for p in kept.report["phases"]] == ["expire"]


@pytest.mark.parametrize(
    ("old", "young", "is_held"),
    [(4, 16, False), (5, 16, True), (4, 15, False), (19, 0, False), (20, 0, True)],
)
def test_a_fifth_may_go_and_fewer_than_twenty_are_not_guarded(
    old: int, young: int, *, is_held: bool, memory: Memory, now: datetime,
    night: Callable[..., SleepReport],
) -> None:  # fmt: skip
    memory.ingest(aged(old, young, now), scope=SCOPE, now=now)
    report = night(policy=LearningPolicy())
    assert (report.held is not None) is is_held
    assert archived(memory) == (0 if is_held else old)


@pytest.mark.parametrize(
    ("share", "is_held"), [(0.3, True), (0.34, False), (1.0, False), (0.0, True)]
)
def test_the_share_is_the_deployment_s(
    share: float, *, is_held: bool, memory: Memory, now: datetime,
    night: Callable[..., SleepReport],
) -> None:  # fmt: skip
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    report = night(limits=RunLimits(max_hidden_share=share))
    assert (report.held is not None) is is_held


@pytest.mark.parametrize("cap", [1, 3, 6])
def test_many_small_passes_do_not_evade_the_guard(
    cap: int, memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    report = night(limits=RunLimits(expire_max_records_per_run=cap))
    assert archived(memory) == 0
    assert expire_line(report).outcome == "held"
    assert memory.run(str(report.held)).report["change_count"] == cap


def test_a_light_run_is_guarded_too_and_keeps_no_plan(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    report = night(kind="light")
    assert (expire_line(report).outcome, report.held) == ("held", None)
    assert (archived(memory), held_runs(memory)) == (0, [])


def test_an_equal_plan_is_kept_night_after_night(
    memory: Memory, now: datetime, night: Callable[..., SleepReport],
    contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    first = night()
    before = contents(memory, SCOPE, history=True)
    for later in range(1, 6):
        assert night(later).held == first.held
        assert contents(memory, SCOPE, history=True) == before
    assert held_runs(memory) == [first.held]


def test_weak_records_that_are_held_keep_one_plan_though_they_fade(
    memory: Memory, now: datetime, night: Callable[..., SleepReport],
    contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    names = ("Aurel", "Bettine", "Casimir", "Dorothea", "Emmerich", "Franziska", "Gotthold")
    rows = [
        {"id": f"{name}{n}", "session": f"{name}{n}", "position": 0, "role": "user",
         "text": f"This morning I met {name} Quast.", "at": now.isoformat()}
        for name in names for n in range(2)
    ]  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    night(retention=RetentionPolicy())
    retention = RetentionPolicy()
    first = night(200, retention=retention)
    assert first.held is not None
    before = contents(memory, SCOPE, history=True)
    for later in range(201, 206):
        assert night(later, retention=retention).held == first.held
        assert contents(memory, SCOPE, history=True) == before


def test_a_scope_has_one_held_plan_and_a_newer_takes_its_place(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    first = night()
    more = [{**row, "id": f"m{row['id']}", "session": f"m{row['session']}"}
            for row in aged(5, 0, now)]  # fmt: skip
    memory.ingest(more, scope=SCOPE, now=now)
    second = night(1)
    assert held_runs(memory) == [second.held] != [first.held]
    assert memory.run(str(first.held)).status == "abandoned"
    assert memory.run(str(second.held)).report["change_count"] == 15


def test_a_held_plan_is_applied_some_nights_later(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    held = night().held
    for later in (1, 2, 3):
        night(later)
    assert memory.apply(str(held)).status == "committed"
    assert archived(memory) == 10
    report = night(4)
    assert (report.held, report.change_count) == (None, 0)
    assert memory.store.check() == []
    memory.undo(str(held), now=now + 4 * DAY)
    assert archived(memory) == 0
    assert night(5).held is None  # what a person brought back is left alone
    assert archived(memory) == 0


def test_a_plan_whose_records_changed_since_is_refused(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    held = night().held
    chosen = memory.find_forgettable(scope=SCOPE, session="old0")
    memory.forget(chosen, scope=SCOPE)
    with pytest.raises((StaleWrite, RecordNotFound)):
        memory.apply(str(held))
    assert archived(memory) == 0


def test_a_dropped_plan_is_abandoned_and_the_next_night_asks_again(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    held = night().held
    assert memory.drop(str(held)).status == "abandoned"
    assert (held_runs(memory), memory.diff(str(held)), archived(memory)) == ([], [], 0)
    with pytest.raises(RecordNotFound):
        memory.apply(str(held))
    assert night(1).held not in {None, held}


def test_a_plan_that_nothing_is_held_for_any_more_is_dropped(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    held = night().held
    assert night(1, retention=RetentionPolicy()).held is None
    assert memory.run(str(held)).status == "abandoned"
    assert held_runs(memory) == []


def test_a_preview_shows_what_would_be_held_and_a_plan_holds_nothing_back(
    memory: Memory, now: datetime
) -> None:
    memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
    changes, report = memory.preview(scope=SCOPE, policy=LINKING, retention=KEEPING, now=now)
    assert [p.outcome for p in report.phases if p.name == "expire"] == ["held"]
    assert not [c for c in changes if c.group.phase == "expire"]
    planned = memory.plan(scope=SCOPE, policy=LINKING, retention=KEEPING, now=now)
    assert [p.changes for p in planned.phases if p.name == "expire"] == [10]


def test_what_was_held_is_what_an_unguarded_night_would_have_archived(
    opened: Callable[..., Memory], now: datetime, learnt: Callable[..., list[dict[str, Any]]]
) -> None:
    guarded, free = opened(), opened()
    for memory, share in ((guarded, 0.2), (free, 1.0)):
        memory.ingest(aged(10, 20, now), scope=SCOPE, now=now)
        report = memory.sleep(
            scope=SCOPE, policy=LINKING, retention=KEEPING, now=now,
            limits=RunLimits(max_hidden_share=share),
        )  # fmt: skip
        if report.held is not None:
            memory.apply(report.held)
    assert learnt(guarded, SCOPE) == learnt(free, SCOPE)
