from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"
PHASES = [
    "link_entities", "strengthen", "link_cooccurring", "expire", "summarise", "promote_procedures",
]  # fmt: skip
LINKER = ("--set", "enable_entity_linker=true")


def test_sleep_prints_its_passes(ask: Callable[..., Any], read: Path, policy: Path) -> None:
    (run,) = ask("sleep", "--policy", policy, "--now", NIGHT)["passes"]
    assert run["run_id"] == "demo/office#2"
    assert run["status"] == "committed"
    assert len(run["digest"]) == len(run["input_digest"]) == 32
    assert run["change_count"] == sum(phase["changes"] for phase in run["phases"]) > 0
    assert [phase["name"] for phase in run["phases"]] == PHASES
    wanted = {"name", "outcome", "reason", "looked_at", "changes", "left"}
    assert all(phase.keys() >= wanted for phase in run["phases"])
    assert run["sources"]["enable_entity_linker"] == f"file {policy}"


def test_second_sleep_at_the_same_clock_changes_nothing(
    ask: Callable[..., Any], slept: Path, policy: Path
) -> None:
    passes = ask("sleep", "--policy", policy, "--now", NIGHT)["passes"]
    assert [run["change_count"] for run in passes] == [0]


def test_first_lines_say_what_declined_and_the_knob_for_it(
    run: Callable[..., Result], read: Path
) -> None:
    shown = run("sleep", "--now", NIGHT).stdout
    head = "\n".join(shown.splitlines()[:6])
    assert "declined link_entities" in head
    assert "--set enable_entity_linker=true" in head


def test_report_shows_what_was_learnt_within_80_columns(
    run: Callable[..., Result], read: Path, policy: Path
) -> None:
    shown = run("sleep", "--policy", policy, "--now", NIGHT).stdout
    for part in (
        "No phase declined", "New names", "Henrike Vos (27)", "Procedures drafted: 2",
        "4. send_receipt", "Condensed", "Grew strongest", "symfonic-memory undo demo/office#2",
        "enable_entity_linker = true  (file policy.toml)",
    ):  # fmt: skip
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown


def test_dry_run_shows_the_run_and_writes_nothing(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path, policy: Path
) -> None:
    before = ask("stats")
    arguments = ("sleep", "--policy", policy, "--now", NIGHT)
    shown = ask(*arguments, "--dry-run")
    assert shown["dry_run"] is True
    assert shown["passes"][0]["run_id"] == ""
    text = run(*arguments, "--dry-run").stdout
    assert "a dry run writes nothing" in text
    assert "Henrike Vos (27)" in text
    assert ask("stats") == before
    real = ask(*arguments)["passes"][0]
    for name in ("digest", "input_digest", "change_count"):
        assert real[name] == shown["passes"][0][name]


def test_several_passes_are_added_up(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copyfile(read, copy)
    small = (*LINKER, "--set", "entity_linker_max_episodics_per_run=60", "--now", NIGHT)
    passes = ask("sleep", *small)["passes"]
    assert len(passes) == 3
    assert sum(run["phases"][0]["looked_at"] for run in passes) == 178
    shown = run("sleep", *small, "--store", copy).stdout
    assert "in 3 passes" in shown
    assert "link_entities        ran             178" in shown


def test_flag_wins_over_environment_and_file(
    ask: Callable[..., Any], read: Path, tmp_path: Path
) -> None:
    file = tmp_path / "knobs.toml"
    file.write_text("lookback_hours = 40\n[limits]\nmax_passes = 7\n", encoding="utf-8")
    (run,) = ask(
        "sleep", "--dry-run", "--policy", file, "--set", "lookback_hours=42", "--now", NIGHT,
        SYMFONIC_LOOKBACK_HOURS="41", SYMFONIC_GRACE_DAYS="9",
    )["passes"]  # fmt: skip
    settings, sources = run["settings"], run["sources"]
    assert (settings["lookback_hours"], sources["lookback_hours"]) == (42, "flag")
    assert (settings["max_passes"], sources["max_passes"]) == (7, f"file {file}")
    assert settings["grace_days"] == 9
    assert sources["grace_days"] == "environment SYMFONIC_GRACE_DAYS"
    assert sources["hub_degree"] == "default"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--set", "lookback_hours=0"), 11),
        (("--set", "lookback_hour=3"), 11),
        (("--policy", "missing.toml"), 13),
        (("--now", "2026-09-21T02:00"), 13),
        (("--now", "2026-09-20T02:00Z"), 43),
    ],
)
def test_wrong_knob_or_clock_is_refused(
    arguments: tuple[str, ...], code: int, ask: Callable[..., Any], slept: Path
) -> None:
    before = ask("runs")
    assert ask("sleep", *arguments, code=code)["error"]["message"]
    assert ask("runs") == before


def test_failed_phase_ends_with_42_after_the_report(
    ask: Callable[..., Any],
    run: Callable[..., Result],
    read: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copyfile(read, copy)

    def burn(*_: object, **__: object) -> None:
        raise ZeroDivisionError("the extractor is on fire")

    monkeypatch.setattr(PatternEntityExtractor, "extract", burn)
    (done,) = ask("sleep", *LINKER, "--now", NIGHT, code=42)["passes"]
    outcomes = {phase["name"]: phase["outcome"] for phase in done["phases"]}
    assert outcomes == {**dict.fromkeys(PHASES, "ran"), "link_entities": "failed"}
    assert done["change_count"] > 0
    shown = run("sleep", *LINKER, "--now", NIGHT, "--notes", "--store", copy)
    assert shown.exit_code == 42
    assert "failed link_entities" in "\n".join(shown.stdout.splitlines()[:4])
    assert "on fire" in shown.stdout
    assert "Traceback" in shown.stdout


def test_plan_is_kept_and_changes_nothing(ask: Callable[..., Any], read: Path) -> None:
    before = ask("stats")["records"]
    (planned,) = ask("plan", *LINKER, "--now", NIGHT)["passes"]
    assert (planned["run_id"], planned["status"]) == ("demo/office#2", "planned")
    assert ask("stats")["records"] == before
    assert ask("runs")["runs"][0]["status"] == "planned"


def test_plan_says_what_to_do_with_it(run: Callable[..., Result], read: Path) -> None:
    shown = run("plan", *LINKER, "--now", NIGHT).stdout
    assert "symfonic-memory apply demo/office#2" in shown
    assert "Henrike Vos (27)" in shown


def test_report_says_what_was_read_again_and_what_a_person_holds_back(
    run: Callable[..., Result], slept: Path, policy: Path
) -> None:
    assert run("undo", 2, "--now", NIGHT).exit_code == 0
    changed = ("--set", "promotion_use_tool_calls_fallback=false")
    shown = run("sleep", "--policy", policy, *changed, "--now", NIGHT).stdout
    said = " ".join(shown.split())
    assert "read again because a knob changed 178" in said
    assert "held back because a person undid or forgot it" in said
    assert "Procedures drafted" not in said


def test_clock_behind_the_last_run_is_raised_and_noted(
    run: Callable[..., Result], slept: Path
) -> None:
    ahead = (datetime.now(UTC) + timedelta(days=900)).isoformat()
    assert run("sleep", "--now", ahead).exit_code == 0
    assert "note: the clock said" in run("sleep").stdout


def test_clock_that_is_a_slip_is_refused_before_anything_is_done(
    run: Callable[..., Result], slept: Path
) -> None:
    for command in (("sleep",), ("remember", "x"), ("recall", "funnel")):
        result = run(*command, "--now", "9999-01-01T00:00Z")
        assert result.exit_code == 13
        assert "ahead of this machine's clock" in result.stderr
    assert "note: the clock said" not in run("sleep", "--now", NIGHT).stdout


def test_missing_collaborator_is_told_with_its_knob(run: Callable[..., Result], read: Path) -> None:
    shown = run("sleep", "--set", "phase_12_use_llm_extractor=true", "--now", NIGHT).stdout
    head = " ".join("\n".join(shown.splitlines()[:10]).replace("│", " ").split())
    assert "declined promote_procedures" in head
    assert "phase_12_use_llm_extractor is on" in head
    assert "Memory.sleep(given={'proposer': …})." in head


def test_missing_extractor_names_the_knob_that_asked_for_it(
    ask: Callable[..., Any], read: Path
) -> None:
    kind = ("--set", "entity_linker_extractor_kind=llm")
    (run,) = ask("sleep", *LINKER, *kind, "--now", NIGHT)["passes"]
    declined = run["phases"][0]
    assert (declined["outcome"], declined["knob"]) == ("declined", "entity_linker_extractor_kind")
    assert declined["reason"].endswith("Memory.sleep(given={'llm_extractor': …}).")


def test_missing_spacy_names_what_to_install(
    ask: Callable[..., Any], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    kind = ("--set", "entity_linker_extractor_kind=spacy")
    (run,) = ask("sleep", *LINKER, *kind, "--now", NIGHT)["passes"]
    declined = run["phases"][0]
    assert (declined["outcome"], declined["knob"]) == ("declined", "entity_linker_extractor_kind")
    assert declined["reason"].endswith("pip install 'symfonic-memory[spacy]'")


def test_near_miss_in_the_environment_is_a_plain_warning(
    run: Callable[..., Result], read: Path
) -> None:
    result = run("sleep", "--dry-run", "--now", NIGHT, SYMFONIC_LOOKBACK_HOUR="3")
    assert result.stderr == (
        "Warning: SYMFONIC_LOOKBACK_HOUR sets nothing. Did you mean SYMFONIC_LOOKBACK_HOURS?\n"
    )


def test_whole_sleep_is_taken_back_with_one_command(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    before = ask("stats")["records"]
    small = (*LINKER, "--set", "entity_linker_max_episodics_per_run=60", "--now", NIGHT)
    shown = run("sleep", *small).stdout
    command = "symfonic-memory undo demo/office#2..4"
    assert shown.endswith(f"Take it back with: {command}\n")
    undone = ask(*command.split()[1:], "--now", NIGHT)
    assert undone["undoes"] == "demo/office#2..4"
    assert [report["run_id"] for report in undone["runs"]] == [
        f"demo/office#{number}" for number in (5, 6, 7)
    ]
    assert undone["change_count"] > 0
    assert ask("stats")["records"] == before


def test_plan_says_what_one_pass_leaves(run: Callable[..., Result], read: Path) -> None:
    small = (*LINKER, "--set", "entity_linker_max_episodics_per_run=60", "--now", NIGHT)
    for said in (run("plan", *small).stdout, run("apply", 2).stdout):
        assert "A plan is one pass. Left for later: link_entities 118." in " ".join(said.split())
        assert "'symfonic-memory sleep' goes on" in " ".join(said.split())


def test_draft_is_shown_with_the_support_of_the_last_pass(
    run: Callable[..., Result], ask: Callable[..., Any], read: Path, policy: Path
) -> None:
    small = ("--policy", policy, "--set", "promotion_max_episodics_per_run=80", "--now", NIGHT)
    shown = run("sleep", *small).stdout
    best = ask("drafts", "list")["drafts"][0]
    assert "in 1 pass\n" not in shown
    assert f"seen again: {best['support']} sessions" in shown


def test_idle_phase_says_that_there_was_nothing_to_read(
    run: Callable[..., Result], slept: Path, policy: Path
) -> None:
    shown = run("sleep", "--policy", policy, "--now", NIGHT).stdout
    assert "promote_procedures: patterns 0\n" in shown
    assert "link_entities: unread 0\n" in shown
