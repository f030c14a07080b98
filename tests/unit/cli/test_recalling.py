from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"
NIGHT_TIME = datetime(2026, 9, 21, 2, tzinfo=UTC)
FUNNEL = ("recall", "cracked funnel", "--now", NIGHT)


def test_recall_answers_with_the_source_of_each_item(ask: Callable[..., Any], read: Path) -> None:
    answer = ask(*FUNNEL, "--limit", 2)
    assert answer.keys() == {"items", "more", "notes"}
    assert len(answer["items"]) == 2
    item = answer["items"][0]
    wanted = {
        "id", "kind", "text", "score", "source_id", "session", "occurred_at", "evidence",
    }  # fmt: skip
    assert item.keys() >= wanted
    assert (item["source_id"], item["session"]) == ("mon-support-1-02", "mon-support-1")
    assert item["occurred_at"] == "2026-09-14T08:13:02+00:00"
    assert "parts" not in item


def test_question_needs_no_quotes(ask: Callable[..., Any], read: Path) -> None:
    assert ask("recall", "cracked", "funnel", "--now", NIGHT) == ask(*FUNNEL)


def test_offset_goes_on_where_limit_stopped(ask: Callable[..., Any], read: Path) -> None:
    whole = ask(*FUNNEL, "--limit", 4)["items"]
    page = ask(*FUNNEL, "--limit", 2, "--offset", 2)["items"]
    assert page == whole[2:]


def test_explain_says_what_scores_are_made_of(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    item = ask(*FUNNEL, "--explain", "--limit", 1)["items"][0]
    parts = {name: part for name, part in item["parts"].items() if name != "strength"}
    assert sum(parts.values()) == pytest.approx(item["score"], abs=0.001)
    assert "score: " in run(*FUNNEL, "--explain", "--limit", 1).stdout


def test_kind_and_budget_narrow_the_answer(ask: Callable[..., Any], slept: Path) -> None:
    summaries = ask(*FUNNEL, "--kind", "summary")["items"]
    assert {item["kind"] for item in summaries} == {"summary"}
    assert summaries[0]["evidence"]
    short = ask(*FUNNEL, "--token-budget", 60)["items"]
    assert 0 < sum(-(-len(item["text"]) // 4) for item in short) <= 60


def test_since_and_until_bound_the_answer(ask: Callable[..., Any], read: Path) -> None:
    span = ("--since", "2026-09-15T00:00Z", "--until", "2026-09-17T00:00Z")
    items = ask(*FUNNEL, *span, "--limit", 50)["items"]
    assert items
    assert all("2026-09-15" <= item["occurred_at"][:10] <= "2026-09-16" for item in items)
    refused = ask(*FUNNEL, *span[:2], "--until", "2026-09-01T00:00Z", code=13)
    assert "is not before" in refused["error"]["message"]


def test_context_is_a_block_for_a_prompt(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    block = ask(*FUNNEL, "--context", "--no-use")["context"]
    assert "\nFrom memory, the likeliest first." in block
    assert "\n\n[1] 2026-09-" in block
    assert run(*FUNNEL, "--context", "--no-use").stdout == block + "\n"
    assert run("recall", "xylophone", "--context").stdout == ""


def test_as_of_leaves_out_what_had_not_happened(ask: Callable[..., Any], read: Path) -> None:
    items = ask(*FUNNEL, "--as-of", "2026-09-15T00:00Z")["items"]
    assert items
    assert max(item["occurred_at"] for item in items) < "2026-09-15"


def test_human_answer_shows_text_as_it_is(
    run: Callable[..., Result], ask: Callable[..., Any], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"text": "The [bold]kettle[/bold] is \\u001b[31mred :smile:"}\n')
    ask("ingest", log)
    shown = run("recall", "kettle").stdout
    assert "The [bold]kettle[/bold] is" in shown
    assert ":smile:" in shown
    assert "\x1b" not in shown


def test_nothing_found_says_so(run: Callable[..., Result], read: Path) -> None:
    result = run("recall", "zygomorphic")
    assert result.exit_code == 0
    assert "Nothing that demo/office remembers" in result.stdout


def test_more_is_offered(run: Callable[..., Result], read: Path) -> None:
    assert "--offset 1" in run(*FUNNEL, "--limit", 1).stdout


def test_recalled_records_are_learnt_from(ask: Callable[..., Any], slept: Path) -> None:
    ask(*FUNNEL)
    assert ask("stats")["pending"]["strengthen"] > 0


def test_looking_without_use_leaves_no_trace(ask: Callable[..., Any], slept: Path) -> None:
    before = ask("stats")
    assert ask(*FUNNEL, "--no-use")["items"]
    assert ask("stats") == before


def test_live_turn_is_shown_with_its_role_and_when_it_was_recorded(
    run: Callable[..., Result], ask: Callable[..., Any], store: Path
) -> None:
    turn = {"role": "assistant", "content": "The kettle is on."}
    with Memory.open(store) as memory:
        memory.add_turn(turn, scope="demo/office", session="live", now=NIGHT_TIME)
    (item,) = ask("recall", "kettle")["items"]
    shown = run("recall", "kettle").stdout
    assert f"episode · recorded 2026-09-21 02:00 · assistant · {item['id'][:8]}\n" in shown


def test_budget_alone_sets_no_limit(ask: Callable[..., Any], read: Path) -> None:
    assert len(ask("recall", "Wren order", "--now", NIGHT)["items"]) == 10
    assert len(ask("recall", "Wren order", "--token-budget", 4000, "--now", NIGHT)["items"]) > 10


@pytest.mark.parametrize(
    "arguments",
    [("--limit", "-1"), ("--limit", "0"), ("--kind", "dream"), ("--token-budget", "x"), ()],
)
def test_wrong_option_is_a_usage_error(
    arguments: tuple[str, ...], run: Callable[..., Result], read: Path
) -> None:
    words = ("recall", "funnel", *arguments) if arguments else ("recall",)
    assert run(*words).exit_code == 2


def test_note_is_remembered_once(ask: Callable[..., Any]) -> None:
    first = ask("remember", "The kettle is blue.")
    assert first == {**ask("remember", "The kettle is blue."), "expires": None, "due": None}
    (item,) = ask("recall", "kettle")["items"]
    assert (item["id"], item["kind"]) == (first["id"], "note")


def test_a_working_note_says_until_when_it_is_kept(
    ask: Callable[..., Any], run: Callable[..., Result]
) -> None:
    note = ask("remember", "The kettle is hot.", "--working", "--now", NIGHT)
    assert note["expires"] == "2026-09-22T02:00:00+00:00"
    three = {"SYMFONIC_WORKING_MEMORY_HOURS": "3"}
    told = run("remember", "The pot is hot.", "--working", "--now", NIGHT, **three)
    assert "until 2026-09-21 05:00 UTC" in " ".join(told.stdout.split())
    refused = run("remember", "The pot is hot.", "--working", "--for", 2)
    assert refused.exit_code == 13
    assert "working" in refused.stderr


def test_working_note_expires_and_an_intention_falls_due(
    ask: Callable[..., Any], run: Callable[..., Result]
) -> None:
    note = ask("remember", "The kettle is hot.", "--for", 2, "--now", NIGHT)
    assert note["expires"] == "2026-09-21T04:00:00+00:00"
    assert ask("recall", "kettle", "--now", "2026-09-21T03:59Z")["items"]
    assert not ask("recall", "kettle", "--now", "2026-09-21T04:00Z")["items"]
    due = ("--due", "2026-09-22T09:00+02:00", "--now", NIGHT)
    assert ask("remember", "Descale it.", *due)["due"] == "2026-09-22T07:00:00+00:00"
    assert "due 2026-09-22 07:00 UTC" in run("remember", "Descale it.", *due).stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("",), 13),
        (("x", "--for", "1", "--due", "2026-09-22T09:00Z"), 13),
        (("x", "--due", "2026-09-22T09:00"), 13),
    ],
)
def test_note_that_makes_no_sense_is_refused(
    arguments: tuple[str, ...], code: int, ask: Callable[..., Any]
) -> None:
    assert ask("remember", *arguments, code=code)["error"]["type"] == "InputError"


@pytest.mark.parametrize("hours", ["1e9", "nan", "inf", "-inf", "1e400", "0", "-1", "69903000"])
def test_note_that_would_outlast_the_calendar_is_a_usage_error(
    hours: str, ask: Callable[..., Any], store: Path
) -> None:
    error = ask("remember", "The kettle.", f"--for={hours}", "--now", NIGHT, code=2)["error"]
    assert error["type"] == "UsageError"
    assert "0" in error["message"]
    assert not store.exists()


def test_longest_note_expires_in_the_last_year(ask: Callable[..., Any]) -> None:
    error = ask("remember", "The kettle.", "--for", "inf", "--now", NIGHT, code=2)["error"]
    (longest,) = re.findall(r"at most (\d+) ", error["message"])
    note = ask("remember", "The kettle.", "--for", longest, "--now", NIGHT)
    assert note["expires"].startswith("9999-12-31T23:")
    ask("remember", "The kettle.", "--for", int(longest) + 1, "--now", NIGHT, code=2)


@pytest.mark.parametrize("command", ["recall", "remember"])
def test_unknown_option_says_where_text_with_a_dash_goes(
    command: str, ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    shown = run(command, "-a")
    assert shown.exit_code == 2
    assert f"{command} -- TEXT" in shown.stderr
    assert run(command, "--", "-a").exit_code == 0
    assert run(command, "--", "--json").exit_code == 0
