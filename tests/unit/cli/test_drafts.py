from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.cli.drafts import call_line
from symfonic.capabilities.memory.records import ToolCall

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
    assert "no procedure that was approved" in run("drafts", "list", "--status", "approved").stdout
    assert "There is no procedure in" in run("drafts", "list", "--status", "all").stdout


def test_best_supported_draft_stands_first(ask: Callable[..., Any], slept: Path) -> None:
    supports = [draft["support"] for draft in ask("drafts", "list")["drafts"]]
    assert supports == sorted(supports, reverse=True)
    assert len(set(supports)) > 1


def test_too_short_an_id_asks_for_more(ask: Callable[..., Any], slept: Path) -> None:
    i = refund(ask)["id"]
    assert "at least four" in ask("drafts", "show", i[:3], code=23)["error"]["message"]


def test_second_decision_says_what_can_be_done(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    i = refund(ask)["id"]
    ask("drafts", "approve", i)
    assert f"drafts retire {i[:8]}" in run("drafts", "approve", i).stderr
    ask("drafts", "retire", i)
    assert "New evidence" in run("drafts", "approve", i).stderr


def test_long_arguments_are_cut_off() -> None:
    call = ToolCall(name="send", arguments={"text": "word " * 100}, ok=False)
    assert len(call_line(call)) < 140
    assert call_line(call).endswith("…) failed")
    assert call_line(ToolCall(name="ping")) == "ping()"
    assert call_line(ToolCall(name="raw", arguments="not json")) == "raw(not json)"


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
    assert "  session mon-support-1\n" in text
    assert "→ lookup_order(order: BW-10482) ok" in text
    assert shown["evidence"][1]["calls"][0]["arguments"] == {"order": "BW-10482"}


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
