from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import RunAlreadyActive, ScopeError, StoreUnavailable
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.worker import (
    Liveness,
    Schedule,
    ScopeResult,
    Worker,
    WorkerReport,
)
from symfonic.capabilities.memory.worker.loop import LONGEST_REST_SECONDS, LONGEST_WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.worker.conftest import Kept


NIGHTLY = Schedule(deep="0 3 * * *", light="off")
LINKER = LearningPolicy(enable_entity_linker=True, entity_linker_max_episodics_per_run=2)


def worked(kept: Kept, until: str, **given: Any) -> WorkerReport:
    """A worker that works until a time, from where the clock stands."""
    kept.time.end = datetime.fromisoformat(until)
    given.setdefault("schedule", NIGHTLY)
    return Worker(kept, clock=kept.time, wait=kept.time.wait, **given).run()


def once(kept: Kept, **given: Any) -> WorkerReport:
    given.setdefault("schedule", NIGHTLY)
    return Worker(kept, clock=kept.time, **given).run(once=True)


def rows(kept: Kept) -> list[Any]:
    return [list(kept.store.dump(Scope(scope))) for scope in kept.scopes()]


# -- days


@pytest.mark.parametrize(
    ("zone", "start", "end", "nights"),
    [
        (
            "Europe/Vienna", "2026-03-27T12:00+01:00", "2026-04-01T12:00+02:00",
            ["28T01:30", "29T01:00", "30T00:30", "31T00:30", "01T00:30"],
        ),
        (
            "Europe/Vienna", "2026-10-23T12:00+02:00", "2026-10-28T12:00+01:00",
            ["24T00:30", "25T00:30", "26T01:30", "27T01:30", "28T01:30"],
        ),
        (
            "America/New_York", "2026-03-06T12:00-05:00", "2026-03-10T12:00-04:00",
            ["07T07:30", "08T07:00", "09T06:30", "10T06:30"],
        ),
        (
            "America/New_York", "2026-10-30T12:00-04:00", "2026-11-03T12:00-05:00",
            ["31T06:30", "01T07:30", "02T07:30", "03T07:30"],
        ),
    ],
)  # fmt: skip
def test_every_night_is_run_once_across_the_clock_changes(
    remembering: Callable[..., Kept], zone: str, start: str, end: str, nights: list[str]
) -> None:
    kept = remembering(start)
    schedule = Schedule(deep="30 2 * * *", light="*/15 * * * *", zone=zone)
    report = worked(kept, end, schedule=schedule)
    first, *then = kept.of("deep")
    assert datetime.fromisoformat(first) == datetime.fromisoformat(start)
    assert [at[8:16] for at in then] == nights
    assert (report.deep_runs, report.failures) == (len(nights) + 1, 0)
    hours = (datetime.fromisoformat(end) - datetime.fromisoformat(start)) / timedelta(hours=1)
    quarters = Counter(call.at for call in kept.calls)
    assert set(quarters.values()) == {1}
    assert len(quarters) in {int(hours * 4), int(hours * 4) + 1}


def test_half_past_one_in_new_york_is_run_once_in_its_doubled_hour(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-10-31T12:00-04:00")
    schedule = Schedule(deep="30 1 * * *", light="off", zone="America/New_York")
    worked(kept, "2026-11-01T23:00-05:00", schedule=schedule)
    assert [at[8:16] for at in kept.of("deep")][1:] == ["01T05:30"]


def test_worker_started_in_the_second_round_of_the_hour_does_not_run_the_night_again(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-10-25T00:30Z")
    schedule = Schedule(deep="30 2 * * *", light="off", zone="Europe/Vienna")
    assert once(kept, schedule=schedule).deep_runs == 1
    kept.time.now = datetime.fromisoformat("2026-10-25T01:15Z")
    assert once(kept, schedule=schedule).deep_runs == 0


def test_missed_week_is_caught_up_by_one_run(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    assert once(kept, policy=LINKER).deep_runs == 1
    for day in range(1, 7):
        kept.talk("acme/ana", kept.time.now + timedelta(days=day))
    kept.time.now += timedelta(days=7, hours=5)
    worked(kept, "2026-03-09T20:00Z", policy=LINKER)
    assert kept.of("deep")[1:] == ["2026-03-09T08:00+00:00"]
    run = kept.memory.runs(scope="acme/ana", limit=1)[0]
    assert {p["left"] for p in run.report["phases"]} == {0}
    pending = kept.memory.stats(scope="acme/ana")["pending"]
    assert not any(pending.values())


def test_deep_takes_the_place_of_light_at_the_same_moment(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T02:40Z")
    worked(kept, "2026-03-02T03:35Z", schedule=Schedule())
    assert [(call.at[11:16], call.kind) for call in kept.calls] == [
        ("02:40", "deep"), ("02:45", "light"), ("03:00", "deep"), ("03:15", "light"),
        ("03:30", "light"),
    ]  # fmt: skip


def test_scope_that_comes_in_later_is_found(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    first = Worker(kept, schedule=Schedule(), clock=kept.time)
    assert [r.scope for r in first.run(once=True).scopes] == ["acme/ana"]
    kept.talk("acme/ben", kept.time.now)
    assert [(r.scope, r.outcome) for r in first.run(once=True).scopes] == [
        ("acme/ana", "waits"), ("acme/ben", "ran"),
    ]  # fmt: skip


def test_named_scopes_alone_are_run(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben", "acme/cid"))
    report = once(kept, scopes=["acme/cid", "acme/ana", "acme/ana"])
    assert [call.scope for call in kept.calls] == ["acme/ana", "acme/cid"]
    assert [result.scope for result in report.scopes] == ["acme/ana", "acme/cid"]


def test_scope_that_is_gone_leaves_the_report(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben"))
    worker = Worker(kept, schedule=NIGHTLY, clock=kept.time)
    worker.run(once=True)
    kept.scopes = lambda: ["acme/ben"]  # type: ignore[method-assign]
    assert [result.scope for result in worker.run(once=True).scopes] == ["acme/ben"]
    assert list(worker.pulse.look().last_runs) == ["acme/ben"]


def test_path_that_is_no_scope_is_refused(remembering: Callable[..., Kept]) -> None:
    with pytest.raises(ScopeError):
        Worker(remembering("2026-03-02T03:00Z"), scopes=["acme//ana"])


# -- nothing due


def test_nothing_due_writes_nothing(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben"))
    once(kept)
    before = rows(kept)
    kept.time.now += timedelta(hours=23)
    report = once(kept)
    assert rows(kept) == before
    assert [(r.outcome, r.next) for r in report.scopes] == [
        ("waits", "2026-03-03T03:00:00+00:00")
    ] * 2


def test_waiting_is_cut_into_minutes_so_that_a_clock_that_is_set_is_noticed(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    worked(kept, "2026-03-02T04:00:30Z")
    assert set(kept.time.waits) == {LONGEST_WAIT_SECONDS}
    assert len(kept.time.waits) == 61


def test_clock_that_is_set_back_begins_a_new_round(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    waits = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        kept.time.now -= timedelta(hours=2)
        return len(waits) == 2

    worker = Worker(kept, schedule=NIGHTLY, clock=kept.time, wait=wait)
    report = worker.run()
    assert (report.rounds, report.deep_runs) == (2, 1)
    assert "lies ahead" in report.scopes[0].reason


def test_schedule_with_no_slot_left_waits_on(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    worker = Worker(kept, schedule=NIGHTLY, clock=kept.time, wait=kept.time.wait)
    kept.time.end = kept.time.now + timedelta(minutes=3)
    worker._wait_until(kept.time.now, None)
    assert kept.time.waits == [LONGEST_WAIT_SECONDS] * 3


# -- failures


def test_failing_scope_does_not_stop_the_others(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben", "acme/cid"))

    def fail(scope: str) -> None:
        if scope == "acme/ben":
            raise KeyError("what Ben said")

    kept.before = fail
    report = once(kept)
    assert [(r.scope, r.outcome) for r in report.scopes] == [
        ("acme/ana", "ran"), ("acme/ben", "failed"), ("acme/cid", "ran"),
    ]  # fmt: skip
    (bad,) = report.failed
    assert bad.error == "KeyError"
    assert "in fail" in bad.traceback
    assert len(bad.trace) == 12
    assert report.failures == 1


def test_failure_is_logged_with_its_frames_and_without_what_it_quotes(
    remembering: Callable[..., Kept], caplog: pytest.LogCaptureFixture
) -> None:
    kept = remembering("2026-03-02T03:00Z")

    def fail(scope: str) -> None:
        raise KeyError("what Ana said")

    kept.before = fail
    (bad,) = once(kept).scopes
    (line,) = [r.getMessage() for r in caplog.records if "failed" in r.getMessage()]
    assert bad.trace in line
    assert ":fail" in line
    assert "Ana" not in line


def test_scope_that_keeps_failing_is_tried_less_often_and_recovers(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben"))
    tries = []

    def fail(scope: str) -> None:
        if scope == "acme/ben":
            tries.append(kept.time.now)
            if len(tries) < 10:
                raise StoreUnavailable("The disk is full.")

    kept.before = fail
    report = worked(kept, "2026-03-03T02:00Z")
    rests = [(b - a).total_seconds() for a, b in pairwise(tries)]
    assert rests == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert max(rests) == LONGEST_REST_SECONDS
    assert report.failures == 9
    assert report.failed == ()
    assert kept.of("deep") == [
        "2026-03-02T03:00+00:00", tries[-1].isoformat(timespec="minutes")
    ]  # fmt: skip


def test_light_slots_do_not_shorten_the_rest_of_a_failing_scope(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    tries = []

    def fail(scope: str) -> None:
        tries.append(kept.time.now)
        raise StoreUnavailable("The disk is full.")

    kept.before = fail
    worked(kept, "2026-03-02T06:00Z", schedule=Schedule(light="* * * * *"))
    assert len(tries) == 8


def test_missing_scope_is_a_failure_that_names_it(remembering: Callable[..., Kept]) -> None:
    report = once(remembering("2026-03-02T03:00Z"), scopes=["acme/nobody"])
    (bad,) = report.failed
    assert bad.error == "RecordNotFound"
    assert "acme/nobody" in bad.reason


def test_phase_that_fails_makes_the_visit_a_failure(
    remembering: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(PatternEntityExtractor, "extract", fail)
    report = once(remembering("2026-03-02T03:00Z"), policy=LINKER)
    assert report.failed[0].failed_phases == ("link_entities",)
    assert (report.deep_runs, report.failures) == (1, 1)


def test_scopes_that_cannot_be_listed_are_tried_again(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    tries = []

    def scopes() -> list[str]:
        tries.append(kept.time.now.minute)
        if len(tries) < 3:
            raise StoreUnavailable("locked")
        return ["acme/ana"]

    kept.scopes = scopes  # type: ignore[method-assign]
    report = worked(kept, "2026-03-02T03:20Z")
    assert tries == [0, 1, 3]
    assert (report.deep_runs, report.rounds) == (1, 1)


def test_scopes_that_cannot_be_listed_end_a_single_round(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")

    def scopes() -> list[str]:
        raise StoreUnavailable("locked")

    kept.scopes = scopes  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        once(kept)


# -- other workers


def test_scope_that_another_run_holds_is_skipped_and_tried_again_in_a_minute(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    lease = kept.store.acquire(Scope("acme/ana"), now=_machine_time(), term_seconds=600)
    tries = []

    def count(scope: str) -> None:
        tries.append(kept.time.now.minute)
        if len(tries) == 3:
            kept.store.release(lease)

    kept.before = count
    report = worked(kept, "2026-03-02T03:10Z")
    assert tries == [0, 1, 2]
    assert (report.skipped, report.deep_runs, report.failures) == (2, 1, 0)


def test_run_that_another_worker_ended_meanwhile_is_not_done_again(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")

    def other(scope: str) -> None:
        kept.before = lambda scope: None
        kept.memory.sleep(scope=scope)

    kept.before = other
    report = once(kept)
    assert [result.outcome for result in report.scopes] == ["skipped"]
    assert len([r for r in kept.memory.runs(scope="acme/ana") if r.kind == "deep"]) == 1
    kept.store.acquire(Scope("acme/ana"), now=_machine_time(), term_seconds=1)  # it is free


def test_run_that_another_worker_goes_on_with_meanwhile_is_not_done_again(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    kept.talk("acme/ana", kept.time.now, count=20)
    kept.memory.sleep(scope="acme/ana", policy=LINKER, limits=RunLimits(max_passes=1))

    def other(scope: str) -> None:
        kept.before = lambda scope: None
        kept.memory.sleep(scope=scope, policy=LINKER)

    kept.before = other
    assert [result.outcome for result in once(kept, policy=LINKER).scopes] == ["skipped"]


def test_two_workers_on_one_store_do_nothing_twice(remembering: Callable[..., Kept]) -> None:
    names = [f"acme/{n}" for n in range(12)]
    kept = remembering("2026-03-02T03:00Z", scopes=names)
    start = threading.Barrier(2)
    reports = []

    def work() -> None:
        start.wait()
        reports.append(once(kept, policy=LINKER))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [r.traceback for report in reports for r in report.failed]
    results = [result for report in reports for result in report.scopes]
    for name in names:
        (done,) = [r for r in results if r.scope == name and r.outcome == "ran"]
        runs = [r for r in kept.memory.runs(scope=name) if r.kind == "deep"]
        assert len(runs) == done.passes


# -- stopping


def test_stop_lets_the_pass_end_and_the_next_start_goes_on(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben"))
    kept.talk("acme/ana", kept.time.now, count=20)
    worker = Worker(kept, LINKER, schedule=NIGHTLY, clock=kept.time)
    sleep, passes = kept.sleep, []

    def stopping(*, watch: Any, **given: Any) -> Any:
        def both(number: int, phase: str) -> None:
            passes.append(number)
            if number == 2 and phase == "strengthen":
                worker.stop()
            watch(number, phase)

        return sleep(watch=both, **given)

    kept.sleep = stopping  # type: ignore[method-assign, assignment]
    report = worker.run()
    assert [(r.scope, r.outcome) for r in report.scopes] == [("acme/ana", "abandoned")]
    assert report.stopped
    assert len([r for r in kept.memory.runs(scope="acme/ana") if r.kind == "deep"]) == 2
    assert max(passes) == 3
    assert kept.memory.check() == []
    kept.sleep = sleep  # type: ignore[method-assign]
    kept.time.now += timedelta(minutes=1)
    again = once(kept, policy=LINKER)
    assert [(r.scope, r.outcome, r.reason) for r in again.scopes] == [
        ("acme/ana", "ran", "unfinished"), ("acme/ben", "ran", "first"),
    ]  # fmt: skip
    assert not any(kept.memory.stats(scope="acme/ana")["pending"].values())
    assert [r.outcome for r in once(kept, policy=LINKER).scopes] == ["waits", "waits"]


def test_sleep_that_made_all_its_passes_waits_for_the_next_night(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    kept.talk("acme/ana", kept.time.now, count=20)
    worker = Worker(kept, LINKER, limits=RunLimits(max_passes=2), schedule=NIGHTLY, clock=kept.time)
    assert worker.run(once=True).scopes[0].left > 0
    assert [worker.run(once=True).scopes[0].outcome for _ in range(2)] == ["waits"] * 2


def test_stop_from_another_thread_ends_a_wait(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    worker = Worker(kept, schedule=NIGHTLY)
    waiting = threading.Event()
    real = worker._stop.wait

    def wait(seconds: float) -> bool:
        waiting.set()
        return real(seconds)

    worker._wait = wait
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert waiting.wait(60)
    worker.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert worker.report().stopped
    assert worker.pulse.look().state == "stopped"


def test_worker_that_was_stopped_before_it_began_does_nothing(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    worker = Worker(kept, schedule=NIGHTLY, clock=kept.time)
    worker.stop()
    assert worker.run() == WorkerReport(stopped=True)


def test_stop_between_scopes_leaves_the_rest(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z", scopes=("acme/ana", "acme/ben"))
    worker = Worker(kept, schedule=NIGHTLY, clock=kept.time)
    light = worker._watch

    def stopping(state: Any) -> Any:
        watch = light(state)

        def both(number: int, phase: str) -> None:
            watch(number, phase)
            worker.stop()

        return both

    worker._watch = stopping  # type: ignore[method-assign, assignment]
    assert [(r.scope, r.outcome) for r in worker.run().scopes] == [("acme/ana", "ran")]


def test_uses_that_wait_are_written_at_the_end(remembering: Callable[..., Kept]) -> None:
    kept = remembering("2026-03-02T03:00Z")
    once(kept)
    kept.memory.recall("Ana Berger", scope="acme/ana")
    once(kept)
    uses = [row for row in kept.store.dump(Scope("acme/ana")) if row.get("kind") == "recalled"]
    assert uses


# -- what is passed on


def test_run_goes_by_the_memorys_own_clock_unless_one_is_stated(
    remembering: Callable[..., Kept],
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    seen: list[dict[str, Any]] = []
    sleep = kept.sleep

    def note(**given: Any) -> Any:
        seen.append(given)
        return sleep(**given)

    kept.sleep = note  # type: ignore[method-assign]
    Worker(kept, LINKER, schedule=NIGHTLY, sources={"lookback_hours": "flag"}).run(once=True)
    assert "now" not in seen[0]
    assert "kind" not in seen[0]
    assert seen[0]["policy"] == LINKER
    run = kept.memory.runs(scope="acme/ana")[0]
    assert run.clock == kept.time.now
    assert run.report["sources"]["lookback_hours"] == "flag"


def test_liveness_shows_the_worker_and_lends_it_its_patience(
    remembering: Callable[..., Kept], tmp_path: Any
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    file = tmp_path / "alive.json"
    worker = Worker(
        kept, schedule=NIGHTLY, clock=kept.time, liveness=Liveness(file=file, stuck_minutes=5)
    )
    assert worker.pulse._patience == 300
    worker.run(once=True)
    assert '"state": "stopped"' in file.read_text()
    assert '"deep_runs": 1' in file.read_text()
    assert "Ana Berger" not in file.read_text()


def test_defaults_are_those_that_the_interface_names(remembering: Callable[..., Kept]) -> None:
    worker = Worker(remembering("2026-03-02T03:00Z"))
    assert worker.schedule == Schedule(deep="0 3 * * *", light="*/15 * * * *", zone="UTC")
    assert worker._with["policy"] == LearningPolicy()
    assert worker._with["limits"] == RunLimits()


def test_results_are_public_values() -> None:
    result = ScopeResult(scope="a", outcome="waits", at="")
    assert not result.is_failure
    assert issubclass(RunAlreadyActive, Exception)


def _machine_time() -> datetime:
    """Leases go by the machine's own clock."""
    from symfonic.capabilities.memory.service import system_clock

    return system_clock()


def test_store_that_was_removed_ends_the_worker(
    remembering: Callable[..., Kept], tmp_path: Path
) -> None:
    kept = remembering("2026-03-02T03:00Z")
    worker = Worker(kept, schedule=NIGHTLY, clock=kept.time, wait=kept.time.wait)
    kept.time.end = kept.time.now + timedelta(days=3)
    kept.before = lambda scope: (tmp_path / "memory.db").unlink()
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        worker.run()
    assert not (tmp_path / "memory.db").exists()
    assert worker.report().deep_runs == 0
