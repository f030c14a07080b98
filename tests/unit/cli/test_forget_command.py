from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


def test_dry_run_names_the_records_and_erases_nothing(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    before = ask("stats")
    shown = ask("forget", "--session", "mon-support-1", "--dry-run")
    assert shown["dry_run"] is True
    assert len(shown["records"]) == 8
    text = run("forget", "--session", "mon-support-1", "--dry-run")
    assert text.exit_code == 0
    assert "Asked for: 8 episodes." in text.stdout
    assert "With them, as it rests on them: 1 procedure, 1 summary." in text.stdout
    assert "Released: 8 turns that may be condensed anew." in text.stdout
    assert max(map(len, text.stdout.splitlines())) <= 80
    assert len(text.stdout.splitlines()) == 8 + 2 + 3
    assert ask("stats") == before


def test_preview_is_what_forgetting_does(ask: Callable[..., Any], slept: Path) -> None:
    would = ask("forget", "--session", "mon-support-1", "--dry-run")["receipt"]
    done = ask("forget", "--session", "mon-support-1", "--yes")["receipt"]
    for name in ("forgotten", "derived_removed", "rows"):
        assert would[name] == done[name]
    assert len(done["derived_removed"]) == 2


def test_beginning_of_an_id_is_enough_from_eight_characters_on(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    i = ask("recall", "cracked funnel", "--limit", 1)["items"][0]["id"]
    assert i[:8] in run("recall", "cracked funnel", "--limit", 1).stdout
    assert ask("forget", "--record", i[:7], "--dry-run", code=23)["error"]
    assert ask("forget", "--record", i[:8], "--dry-run")["records"] == [i]


def test_receipt_holds_ids_and_no_text(ask: Callable[..., Any], slept: Path) -> None:
    found = ask("forget", "--session", "mon-support-1", "--dry-run")["records"]
    receipt = ask("forget", "--session", "mon-support-1", "--yes")["receipt"]
    assert sorted(receipt["forgotten"]) == found
    assert receipt["rows"]["record"] > 0
    assert receipt["unreachable"]
    assert "funnel" not in str(receipt)
    assert ask("stats")["records"]["episode"]["forgotten"] == 8


def test_confirmation_is_asked_for(
    run: Callable[..., Result], ask: Callable[..., Any], slept: Path
) -> None:
    before = ask("stats")
    for answer in ("n\n", ""):
        refused = run("forget", "--session", "mon-support-1", text=answer)
        assert refused.exit_code == 1
        assert "Nothing was forgotten" in refused.stderr
        assert "Erase 8 records and 2 that rest on them for good?" in refused.stderr
        assert ask("stats") == before
    agreed = run("forget", "--session", "mon-support-1", text="y\n")
    assert agreed.exit_code == 0
    assert "Forgotten in demo/office: 8 records" in agreed.stdout
    assert "Not reached: " in agreed.stdout


def test_record_and_entity_are_forgotten_by_name(ask: Callable[..., Any], slept: Path) -> None:
    i = ask("recall", "cracked funnel", "--limit", 1)["items"][0]["id"]
    assert ask("forget", "--record", i, "--yes")["receipt"]["forgotten"] == [i]
    graz = ask("forget", "--entity", "graz", "--dry-run")["records"]
    ask("forget", "--entity", "graz", "--yes")
    assert len(graz) == 4
    assert not [item for item in ask("recall", "Graz")["items"] if "Graz" in item["text"]]


def test_everything_leaves_nothing_to_recall(ask: Callable[..., Any], slept: Path) -> None:
    ask("forget", "--everything", "--yes")
    assert ask("recall", "cracked funnel")["items"] == []
    assert ask("stats")["visible"] == 0
    assert ask("forget", "--everything", "--yes")["receipt"]["forgotten"] == []


@pytest.mark.parametrize(
    "selection",
    [("--session", "no-such"), ("--entity", "Nobody"), ("--record", "ffffffffffffffffffffffff")],
)
def test_what_is_not_there_is_refused(
    selection: tuple[str, ...], ask: Callable[..., Any], slept: Path
) -> None:
    assert ask("forget", *selection, "--yes", code=23)["error"]["type"] == "RecordNotFound"


def test_what_to_forget_must_be_said(run: Callable[..., Result], slept: Path) -> None:
    assert run("forget", "--yes").exit_code == 2


def test_json_cannot_ask(run: Callable[..., Result], slept: Path) -> None:
    result = run("forget", "--everything", "--json")
    assert result.exit_code == 2
    assert "--yes" in json.loads(result.stdout)["error"]["message"]


@pytest.mark.parametrize(
    "selection", [("--session", "mon-support-1"), ("--record", "f" * 24), ("--entity", "graz")]
)
def test_everything_and_a_part_of_it_contradict_each_other(
    selection: tuple[str, ...], ask: Callable[..., Any], slept: Path
) -> None:
    before = ask("stats")
    error = ask("forget", "--everything", *selection, "--yes", code=2)["error"]
    assert error["type"] == "UsageError"
    assert "--everything" in error["message"]
    assert ask("stats") == before
