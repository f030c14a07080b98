from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"


def test_turn_is_shown_whole_by_the_beginning_of_its_id(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    item = ask("recall", "cracked funnel", "--limit", 1, "--now", NIGHT)["items"][0]
    shown = ask("show", item["id"][:8])["record"]
    assert (shown["id"], shown["kind"], shown["text"]) == (item["id"], "episode", item["text"])
    assert (shown["session"], shown["content"]["source_id"]) == (
        "mon-support-1",
        "mon-support-1-02",
    )
    assert shown["occurred_at"] == item["occurred_at"]
    assert {link["kind"] for link in shown["links"]} >= {"mentions", "evidence"}
    assert shown["sources"] == []
    text = run("show", item["id"]).stdout
    for part in ("occurred: 2026-09-14 08:13 UTC", "session: mon-support-1", "mentions (", "Ilse"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80


def test_derived_record_is_shown_with_its_sources(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    summary = ask("recall", "funnel", "--kind", "summary", "--now", NIGHT)["items"][0]
    shown = ask("show", summary["id"])["record"]
    assert {source["id"] for source in shown["sources"]} == set(summary["evidence"])
    assert all(source["text"] for source in shown["sources"])
    text = run("show", summary["id"]).stdout
    assert f"condenses ({len(summary['evidence'])})" in text
    assert "more: --json" in text


def test_calls_of_a_turn_are_shown(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    draft = ask("drafts", "list")["drafts"][0]
    turn = ask("drafts", "show", draft["id"])["draft"]["evidence"][1]
    assert "→ lookup_order(order: BW-10482) ok" in run("show", turn["id"]).stdout
    assert "state: active, draft" in run("show", draft["id"]).stdout


def test_note_that_ends_is_shown_with_its_end(
    ask: Callable[..., Any], run: Callable[..., Result]
) -> None:
    i = ask("remember", "The kettle is hot.", "--for", 2, "--now", NIGHT)["id"]
    assert "until: 2026-09-21 04:00 UTC" in run("show", i).stdout
    assert ask("show", i)["record"]["links"] == []


def test_unknown_or_short_id_is_refused(ask: Callable[..., Any], slept: Path) -> None:
    for i in ("ffffffffffff", "abc"):
        assert ask("show", i, code=23)["error"]["type"] == "RecordNotFound"
