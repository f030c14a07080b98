from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"


def refund(ask: Callable[..., Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = ask("drafts", "list")["drafts"]
    return next(draft for draft in found if draft["origin"] == "calls")


def test_list_shows_what_waits_for_a_decision(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    draft = refund(ask)
    assert draft["status"] == "draft"
    assert [step["action"] for step in draft["steps"]] == [
        "lookup_order", "check_policy", "issue_refund", "send_receipt",
    ]  # fmt: skip
    assert (draft["support"], draft["successes"], draft["failures"]) == (6, 5, 1)
    assert draft["id"][:8] in run("drafts", "list").stdout


def test_empty_list_says_so(run: Callable[..., Result], read: Path) -> None:
    assert "nothing to review" in run("drafts", "list").stdout


def test_show_brings_the_evidence_oldest_first(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    i = refund(ask)["id"]
    shown = ask("drafts", "show", i[:6])["draft"]
    times = [turn["occurred_at"] for turn in shown["evidence"]]
    assert shown["id"] == i
    assert times == sorted(times)
    assert {"mon-support-1", "fri-support-2"} <= {turn["session"] for turn in shown["evidence"]}
    text = run("drafts", "show", i).stdout
    assert "mon-support-1-03" in text
    assert "[lookup_order, check_policy]" in text


def test_approved_procedure_is_recalled_and_says_who_approved(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    i = refund(ask)["id"]
    question = ("recall", "lookup_order issue_refund", "--kind", "procedure", "--now", NIGHT)
    assert ask(*question)["items"] == []
    shown = run("drafts", "approve", i, "--by", "Henrike Vos", "--now", NIGHT)
    assert "approved by Henrike Vos at 2026-09-21 02:00 UTC" in shown.stdout
    assert [item["id"] for item in ask(*question)["items"]] == [i]
    (record,) = ask("drafts", "list", "--status", "approved")["drafts"]
    assert record["decided_by"] == "Henrike Vos"


@pytest.mark.parametrize(
    ("command", "status"), [("approve", "approved"), ("reject", "rejected"), ("retire", "retired")]
)
def test_decision_is_made_once_and_by_the_login_name(
    command: str, status: str, ask: Callable[..., Any], slept: Path
) -> None:
    i = refund(ask)["id"]
    decided = ask("drafts", command, i)["draft"]
    assert (decided["status"], decided["decided_by"]) == (status, "ana")
    error = ask("drafts", "reject", i, code=51)["error"]
    assert error["facts"] == {"id": i, "status": status}


def test_decision_without_a_person_is_refused(ask: Callable[..., Any], slept: Path) -> None:
    i = refund(ask)["id"]
    assert "--by" in ask("drafts", "approve", i, "--by", " ", code=13)["error"]["message"]
    assert refund(ask)["status"] == "draft"


def test_unknown_draft_is_refused(ask: Callable[..., Any], slept: Path) -> None:
    for command in ("show", "approve", "reject", "retire"):
        assert ask("drafts", command, "ffffffff", code=23)["error"]["type"] == "RecordNotFound"
