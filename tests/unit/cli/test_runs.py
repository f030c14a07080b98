from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"
RUN = "demo/office#2"


def test_runs_are_listed_newest_first(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    latest, first = ask("runs")["runs"]
    assert (latest["run_id"], latest["kind"], latest["status"]) == (RUN, "deep", "committed")
    assert latest["change_count"] > 0
    assert first["kind"] == "ingest"
    short = ask("runs", "--limit", 1)
    assert ([row["run_id"] for row in short["runs"]], short["more"]) == ([RUN], True)
    assert ask("runs")["more"] is False
    assert RUN in run("runs").stdout
    assert "There are more" in run("runs", "--limit", 1).stdout
    assert "There are more" not in run("runs", "--limit", 2).stdout


def test_diff_holds_every_change_with_what_was_before(ask: Callable[..., Any], slept: Path) -> None:
    shown = ask("diff", 2)
    assert shown["run_id"] == RUN
    assert len(shown["changes"]) == shown["change_count"]
    edit = next(c for c in shown["changes"] if c["after"] == {"state": "condensed"})
    assert (edit["operation"], edit["table"], edit["before"]) == (
        "edit",
        "record",
        {"state": "active"},
    )
    assert edit["group"].startswith("summarise/summary/")
    assert edit["reason"]


def test_diff_groups_by_phase_and_full_shows_values(
    run: Callable[..., Result], slept: Path
) -> None:
    short, full = run("diff", RUN).stdout, run("diff", RUN, "--full").stdout
    for shown in (short, full):
        assert "link_entities: " in shown
        assert "promote_procedures/procedure/" in shown
        assert max(map(len, shown.splitlines())) <= 80
    assert "more groups: --full" in short
    assert "state: active → condensed" not in short
    assert "state: active → condensed" in full
    assert "more groups" not in full


def test_diff_of_a_plan_is_what_apply_carries_out(ask: Callable[..., Any], read: Path) -> None:
    ask("plan", "--now", NIGHT)
    planned = ask("diff", 2)
    assert planned["status"] == "planned"
    applied = ask("apply", RUN)
    assert (applied["run_id"], applied["status"]) == (RUN, "committed")
    assert applied["digest"] == planned["digest"]
    done = ask("diff", 2)
    assert [c["after"] for c in done["changes"]] == [c["after"] for c in planned["changes"]]


def test_plan_is_applied_once(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    ask("plan", "--now", NIGHT)
    assert "demo/office#2 is committed" in run("apply", 2).stdout
    assert ask("apply", 2, code=23)["error"]["facts"]["status"] == "committed"


def test_stale_plan_is_refused(ask: Callable[..., Any], read: Path) -> None:
    ask("plan", "--now", NIGHT)
    ask("sleep", "--now", NIGHT)
    error = ask("apply", 2, code=24)["error"]
    assert error["type"] == "StaleWrite"
    assert error["facts"]["rows"]


def test_plan_over_forgotten_text_is_gone(ask: Callable[..., Any], read: Path) -> None:
    ask("plan", "--now", NIGHT)
    ask("forget", "--session", "mon-support-1", "--yes")
    assert ask("apply", 2, code=23)["error"]["facts"]["status"] == "abandoned"


def test_undo_takes_back_the_whole_run(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    shown = ask("undo", RUN, "--now", NIGHT)
    assert (shown["undoes"], shown["status"]) == (RUN, "committed")
    assert ask("stats")["records"] == {"episode": {"active": 178}}
    assert ask("runs")["runs"][1]["status"] == "undone"
    again = run("undo", RUN)
    assert again.exit_code == 44
    assert "nothing left to undo" in again.stderr


def test_undo_takes_back_one_group(ask: Callable[..., Any], slept: Path) -> None:
    (draft, *_) = ask("drafts", "list")["drafts"]
    group = f"promote_procedures/procedure/{draft['id']}"
    shown = ask("undo", 2, "--group", group, "--now", NIGHT)
    assert shown["groups"] == [group]
    assert draft["id"] not in {row["id"] for row in ask("drafts", "list")["drafts"]}
    assert ask("stats")["records"]["entity"]["active"] > 0
    undone = [c for c in ask("diff", 2)["changes"] if c["undone_by"] is not None]
    assert {c["group"] for c in undone} == {group}
    assert ask("undo", 2, "--group", "no/such/group", code=44)["error"]["facts"]["groups"]


def test_beginning_of_a_groups_name_is_enough(ask: Callable[..., Any], slept: Path) -> None:
    (draft, *_) = ask("drafts", "list")["drafts"]
    short = f"promote_procedures/procedure/{draft['id'][:6]}"
    assert ask("undo", 2, "--group", "promote", code=44)["error"]["facts"]["groups"] == ["promote"]
    undone = ask("undo", 2, "--group", short, "--now", NIGHT)
    assert undone["groups"] == [f"promote_procedures/procedure/{draft['id']}"]


def test_undo_under_a_decision_is_refused_and_says_what_comes_first(
    ask: Callable[..., Any], slept: Path
) -> None:
    first, second = ask("drafts", "list")["drafts"]
    ask("drafts", "approve", first["id"], "--now", NIGHT)
    error = ask("undo", RUN, code=44)["error"]
    assert len(error["facts"]["groups"]) == 1
    assert error["message"].startswith("1 later group builds on")
    assert "Undo demo/office#3 first: symfonic-memory undo demo/office#3." in error["message"]
    ask("drafts", "reject", second["id"], "--now", NIGHT)
    message = ask("undo", RUN, code=44)["error"]["message"]
    command = "symfonic-memory undo demo/office#3..4"
    assert f"Undo demo/office#4 down to #3 first: {command}." in message
    ask(*command.split()[1:], "--now", NIGHT)
    assert ask("undo", RUN, "--now", NIGHT)["change_count"] > 0


@pytest.mark.parametrize("name", ["1..3", "#1..3", "1..#3", "demo/office#1..3"])
def test_range_of_runs_passes_over_imports(
    name: str, ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    ask("remember", "The kettle is blue.", "--now", NIGHT)
    shown = run("undo", name, "--now", NIGHT)
    assert "Undone: 2 runs of demo/office#1..3, by demo/office#4..5" in " ".join(
        shown.stdout.split()
    )
    assert ask("stats")["records"] == {"episode": {"active": 178}}
    assert ask("undo", name, code=44)["error"]["type"] == "UndoRefused"


def test_range_that_is_none_is_refused(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    assert ask("undo", "2..1", code=13)["error"]["type"] == "InputError"
    assert ask("undo", "2..9", code=23)["error"]["type"] == "RecordNotFound"
    assert ask("undo", "a..b", code=13)["error"]["type"] == "InputError"
    assert run("undo", "1..2", "--group", "x").exit_code == 2


def test_unknown_run_is_refused(ask: Callable[..., Any], slept: Path) -> None:
    for command in ("diff", "apply", "undo"):
        assert ask(command, 99, code=23)["error"]["type"] == "RecordNotFound"
        assert ask(command, "latest", code=13)["error"]["type"] == "InputError"
        assert ask(command, 2, code=12, SYMFONIC_SCOPE=None)["error"]["type"] == "ScopeError"


def test_full_name_of_a_run_needs_no_scope(ask: Callable[..., Any], slept: Path) -> None:
    assert ask("diff", RUN, SYMFONIC_SCOPE=None)["scope"] == "demo/office"


def test_results_are_told_in_words(run: Callable[..., Result], slept: Path) -> None:
    shown = run("undo", 2, "--now", NIGHT).stdout
    assert "Undone: demo/office#2, by demo/office#3" in shown
    assert "(undone)" in run("diff", 2).stdout
    assert "-1 record" in run("diff", 3).stdout
    assert "undo" in run("runs").stdout


@pytest.mark.parametrize("number", ["9" * 21, "9" * 5000, "0" * 5000, str(2**63), str(2**62 + 1)])
@pytest.mark.parametrize("command", ["diff", "undo", "apply"])
def test_number_that_no_run_has_is_not_found(
    command: str, number: str, ask: Callable[..., Any], slept: Path
) -> None:
    for name in (f"demo/office#{number}", number, f"#{number}"):
        assert ask(command, name, code=23)["error"]["type"] == "RecordNotFound"
    assert ask("show", f"demo/office#{number}", code=23)["error"]["type"] == "RecordNotFound"


def test_range_to_a_number_that_no_run_has_is_not_found(
    ask: Callable[..., Any], slept: Path
) -> None:
    assert ask("undo", f"2..{'9' * 21}", code=23)["error"]["type"] == "RecordNotFound"


def test_redo_brings_back_what_an_undo_took(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    before = ask("stats")["records"]
    told = run("undo", RUN, "--now", NIGHT).stdout
    assert "Bring it back with: symfonic-memory redo demo/office#3" in told
    shown = ask("redo", 3, "--now", NIGHT)
    assert (shown["kind"], shown["status"], shown["redoes"]) == (
        "redo", "committed", "demo/office#3",
    )  # fmt: skip
    assert ask("stats")["records"] == before
    listed = [(row["kind"], row["status"]) for row in ask("runs")["runs"][:3]]
    assert listed == [("redo", "committed"), ("undo", "undone"), ("deep", "committed")]
    ask("undo", RUN, "--now", NIGHT)
    assert f"Redone: {RUN}, by demo/office#6" in run("redo", RUN, "--now", NIGHT).stdout
    assert ask("stats")["records"] == before


def test_redo_of_what_is_no_undo_says_what_to_do(ask: Callable[..., Any], slept: Path) -> None:
    error = ask("redo", RUN, code=44)["error"]
    assert error["type"] == "UndoRefused"
    ask("undo", RUN, "--now", NIGHT)
    ask("redo", RUN, "--now", NIGHT)
    for command in ("undo", "redo"):
        message = ask(command, 4, code=44)["error"]["message"]
        assert message.endswith(f"Undo what it brought back: symfonic-memory undo {RUN}")
    assert "symfonic-memory redo demo/office#3" in ask("undo", 3, code=44)["error"]["message"]
    assert ask("redo", 99, code=23)["error"]["type"] == "RecordNotFound"
    assert ask("redo", "latest", code=13)["error"]["type"] == "InputError"
    assert ask("redo", 2, code=12, SYMFONIC_SCOPE=None)["error"]["type"] == "ScopeError"


def test_cascade_takes_a_persons_decisions_back_as_well_and_one_redo_restores_them(
    ask: Callable[..., Any], slept: Path
) -> None:
    first, second = ask("drafts", "list")["drafts"]
    ask("drafts", "reject", second["id"], "--now", NIGHT)
    before = ask("stats")["records"]
    shown = ask("undo", RUN, "--cascade", "--now", NIGHT)
    assert shown["notes"] == ["undoes demo/office#3, demo/office#2"]
    assert ask("stats")["records"] == {"episode": {"active": 178}}
    ask("redo", RUN, "--now", NIGHT)
    assert ask("stats")["records"] == before
    assert [d["id"] for d in ask("drafts", "list")["drafts"]] == [first["id"]]
    message = ask("undo", 5, code=44)["error"]["message"]
    assert message.endswith(f"symfonic-memory undo {RUN} --cascade")


def test_approval_is_left_out_of_a_redo(ask: Callable[..., Any], slept: Path) -> None:
    first, second = ask("drafts", "list")["drafts"]
    ask("drafts", "approve", first["id"], "--now", NIGHT)
    ask("undo", RUN, "--cascade", "--now", NIGHT)
    ask("redo", 4, "--now", NIGHT)
    assert {d["id"] for d in ask("drafts", "list")["drafts"]} == {first["id"], second["id"]}
    message = ask("redo", 4, code=44)["error"]["message"]
    assert message.endswith(f"drafts approve {first['id']} --scope demo/office")
    ask("drafts", "approve", first["id"], "--now", NIGHT)


def test_cascade_and_groups_are_of_one_run(run: Callable[..., Result], slept: Path) -> None:
    assert run("undo", "1..2", "--cascade").exit_code == 2


def test_range_passes_over_undos_and_redos(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    ask("undo", RUN, "--now", NIGHT)
    ask("redo", RUN, "--now", NIGHT)
    shown = ask("undo", "1..4", "--now", NIGHT)
    assert [row["notes"] for row in shown["runs"]] == [[f"undoes {RUN}"]]
    assert ask("stats")["records"] == {"episode": {"active": 178}}


def test_kept_plan_is_dropped_and_nothing_else(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    before = ask("stats")
    ask("plan", "--now", NIGHT)
    assert "demo/office#2 is abandoned." in run("drop", RUN).stdout
    assert {**ask("stats"), "runs": 0} == {**before, "runs": 0}
    assert ask("diff", RUN)["changes"] == []
    for command, code in (("drop", 23), ("apply", 23), ("undo", 44), ("redo", 44)):
        assert ask(command, RUN, code=code)["error"]["message"]
    ask("plan", "--now", NIGHT)
    assert ask("drop", 3)["status"] == "abandoned"
    assert ask("drop", 99, code=23)["error"]["type"] == "RecordNotFound"
    assert ask("drop", 1, code=23)["error"]["type"] == "RecordNotFound"


def test_held_plan_is_dropped_or_applied(
    ask: Callable[..., Any], slept: Path, run: Callable[..., Result]
) -> None:
    far = "2027-09-21T02:00Z"
    hiding = ("--set", "archive_threshold=0.9", "--set", "max_hidden_share=0.01")
    held = ask("sleep", "--now", far, *hiding)["held"]
    assert held is not None
    before = ask("stats")["records"]
    assert ask("drop", held)["status"] == "abandoned"
    assert ask("stats")["records"] == before
    again = ask("sleep", "--now", far, *hiding)["held"]
    assert again != held
    assert ask("apply", again)["status"] == "committed"
    after = ask("stats")["records"]
    assert after != before
    ask("undo", again, "--now", far)
    assert ask("stats")["records"] == before
    ask("redo", again, "--now", far)
    assert ask("stats")["records"] == after
    assert "committed" in run("runs").stdout
