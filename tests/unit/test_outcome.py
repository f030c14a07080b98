from __future__ import annotations

import json

from symfonic.capabilities.memory.outcome import PhaseReport, RunReport, SleepReport


def run(number: int, *, changes: int = 0, phases: tuple[PhaseReport, ...] = ()) -> RunReport:
    return RunReport(
        run_id=f"acme#{number}", scope="acme", kind="deep", status="committed",
        clock="2026-05-01T02:00:00+00:00", change_count=changes, phases=phases,
    )  # fmt: skip


def test_a_sleep_counts_the_changes_of_all_its_passes() -> None:
    assert SleepReport(passes=(run(1, changes=3), run(2, changes=4))).change_count == 7
    assert SleepReport().change_count == 0


def test_a_sleep_names_the_phases_that_failed_in_any_pass() -> None:
    fine = PhaseReport(name="strengthen", outcome="ran")
    broken = PhaseReport(name="summarise", outcome="failed", reason="ValueError: no")
    declined = PhaseReport(name="link_entities", outcome="declined", knob="enable_entity_linker")
    sleep = SleepReport(passes=(run(1, phases=(fine, broken)), run(2, phases=(declined,))))
    assert sleep.failed == (broken,)


def test_a_report_is_plain_values_that_json_can_hold() -> None:
    phase = PhaseReport(name="summarise", outcome="ran", counts={"left": 2}, notes=("a note",))
    given = SleepReport(passes=(run(1, phases=(phase,)),)).as_dict()
    again = json.loads(json.dumps(given))
    assert again["passes"][0]["run_id"] == "acme#1"
    assert again["passes"][0]["phases"][0]["counts"] == {"left": 2}
    assert again["passes"][0]["phases"][0]["notes"] == ["a note"]
