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
