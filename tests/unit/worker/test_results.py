from __future__ import annotations

from datetime import UTC, datetime
from typing import NoReturn

from symfonic.capabilities.memory.outcome import PhaseReport, RunReport, SleepReport
from symfonic.capabilities.memory.worker.results import WorkerReport, ended, failed, ran

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)


def a_pass(left: int, *, changes: int = 2, outcome: str = "ran") -> RunReport:
    phases = (
        PhaseReport(name="link_entities", outcome="declined", left=40),
        PhaseReport(name="summarise", outcome=outcome, left=left),  # type: ignore[arg-type]
    )
    return RunReport(
        run_id="a#1", scope="a", kind="deep", status="committed", clock=NOW.isoformat(),
        phases=phases, change_count=changes, duration_ms=1.5,
    )  # fmt: skip


def caught(error: Exception) -> Exception:
    try:
        _raise(error)
    except type(error) as found:
        return found


def _raise(error: Exception) -> NoReturn:
    raise error


def test_result_of_a_sleep_adds_up_its_passes_and_tells_what_the_last_one_left() -> None:
    report = SleepReport(passes=(a_pass(9), a_pass(4, outcome="failed")))
    result = ran("a", "deep", report, at=NOW, reason="slot")
    assert (result.passes, result.changes, result.left) == (2, 4, 4)
    assert result.duration_ms == 3
    assert result.failed_phases == ("summarise",)
    assert result.is_failure


def test_sleep_without_a_pass_is_a_run_of_nothing() -> None:
    result = ran("a", "light", SleepReport(), at=NOW, reason="slot")
    assert (result.passes, result.left, result.is_failure) == (0, 0, False)


def test_equal_failures_share_a_trace_and_others_do_not() -> None:
    first, again = (failed("a", NOW, caught(KeyError(text))) for text in ("one", "two"))
    other = failed("a", NOW, caught(ValueError("one")))
    assert first.trace == again.trace != other.trace
    assert "KeyError: 'one'" in first.traceback
    assert first.frames[-1].endswith(":_raise")


def test_report_names_the_scopes_that_failed() -> None:
    good, bad = ended("a", NOW, "waits", ""), failed("b", NOW, KeyError("k"))
    phase = ran("c", "deep", SleepReport(passes=(a_pass(0, outcome="failed"),)), at=NOW, reason="")
    report = WorkerReport(scopes=(good, bad, phase))
    assert report.failed == (bad, phase)
    assert report.as_dict()["scopes"][0]["outcome"] == "waits"
