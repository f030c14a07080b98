from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.worker.metrics import exposition
from symfonic.capabilities.memory.worker.pulse import Pulse, as_dict
from symfonic.capabilities.memory.worker.results import ScopeResult, ended, failed

if TYPE_CHECKING:
    from symfonic.capabilities.memory.worker.results import SleepKind

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def sleep_of(scope: str, kind: SleepKind, left: int = 0) -> ScopeResult:
    return ScopeResult(
        scope=scope, outcome="ran", at=NOW.isoformat(), kind=kind, passes=2, changes=7, left=left
    )


def test_worker_is_stuck_once_a_step_is_overdue_and_no_longer_after_the_next() -> None:
    seconds = Seconds()
    pulse = Pulse(monotonic=seconds, stuck_minutes=2)
    pulse.step("running")
    seconds.now += 120
    assert pulse.look().is_alive
    seconds.now += 1
    assert pulse.look().is_stuck
    assert not pulse.look().is_alive
    pulse.step("running")
    assert pulse.look().is_alive


def test_announced_wait_is_not_counted_as_being_stuck() -> None:
    seconds = Seconds()
    pulse = Pulse(monotonic=seconds, stuck_minutes=2)
    pulse.step("waiting", within_seconds=3600)
    seconds.now += 3700
    assert not pulse.look().is_stuck
    seconds.now += 100
    assert pulse.look().is_stuck


def test_worker_that_never_begins_is_stuck_too() -> None:
    seconds = Seconds()
    pulse = Pulse(monotonic=seconds, stuck_minutes=1)
    seconds.now += 61
    assert pulse.look().is_stuck


def test_worker_is_ready_after_its_first_round_and_until_it_stops() -> None:
    pulse = Pulse(monotonic=Seconds())
    assert not pulse.look().is_ready
    pulse.step("running")
    assert not pulse.look().is_ready
    pulse.end_round()
    assert pulse.look().is_ready
    pulse.step("stopping")
    assert not pulse.look().is_ready
    assert pulse.look().is_alive
    pulse.step("stopped")
    assert not pulse.look().is_alive


def test_results_are_counted_and_the_last_sleep_of_each_scope_is_kept() -> None:
    pulse = Pulse(monotonic=Seconds())
    pulse.note(sleep_of("a", "deep", left=5), NOW)
    pulse.note(sleep_of("a", "light", left=3), NOW + timedelta(hours=1))
    pulse.note(sleep_of("b", "deep", left=2), NOW)
    pulse.note(ended("a", NOW, "waits", ""), NOW)
    pulse.note(ended("a", NOW, "skipped", ""), NOW)
    pulse.note(failed("b", NOW, KeyError("what Ana said")), NOW)
    pulse.end_round()
    shown = as_dict(pulse.look(), NOW)
    assert shown == {
        "time": "2026-03-02T03:00:00+00:00", "state": "starting", "stuck": False, "ready": False,
        "rounds": 1, "deep_runs": 2, "light_runs": 1, "changes": 21, "skipped": 1, "failures": 1,
        "scopes": {
            "a": {"kind": "light", "at": NOW.isoformat(), "passes": 2, "changes": 7, "left": 3,
                  "failed_phases": 0},
            "b": {"kind": "deep", "at": NOW.isoformat(), "passes": 2, "changes": 7, "left": 2,
                  "failed_phases": 0},
        },
    }  # fmt: skip


def test_scopes_that_are_gone_are_forgotten() -> None:
    pulse = Pulse(monotonic=Seconds())
    for scope in ("a", "b"):
        pulse.note(sleep_of(scope, "deep"), NOW)
    pulse.forget({"b", "c"})
    assert list(pulse.look().last_runs) == ["b"]


def test_metrics_have_a_help_a_type_and_samples_without_scopes() -> None:
    pulse = Pulse(monotonic=Seconds())
    pulse.note(sleep_of("acme/ana", "deep", left=5), NOW)
    pulse.note(sleep_of("acme/ben", "deep", left=2), NOW)
    text = exposition(pulse.look(), NOW + timedelta(seconds=90))
    assert "acme" not in text
    assert text.endswith("symfonic_worker_stuck 0\n")
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples['symfonic_worker_runs_total{kind="deep"}'] == "2"
    assert samples['symfonic_worker_runs_total{kind="light"}'] == "0"
    assert samples['symfonic_worker_last_run_age_seconds{kind="deep"}'] == "90"
    assert 'symfonic_worker_last_run_age_seconds{kind="light"}' not in samples
    assert samples["symfonic_worker_backlog_rows"] == "7"
    assert samples["symfonic_worker_changes_total"] == "14"
    assert samples["symfonic_worker_scopes"] == "2"
    for name in {sample.partition("{")[0] for sample in samples}:
        assert f"# HELP {name} " in text
        assert f"# TYPE {name} " in text
