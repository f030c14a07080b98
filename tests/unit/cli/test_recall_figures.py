"""``eval recall``: what it shows, what it prints for programs, how it fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from symfonic.capabilities.memory.cli import recall_figures
from symfonic.capabilities.memory.evaluation.recall_run import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

SETS: Final = Path(__file__).parents[1] / "evaluation/sets"
LOCOMO: Final = ("eval", "recall", SETS / "locomo.json", "--format", "locomo")


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each line by its first word; the first of two that are alike."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.split():
            found.setdefault(line.split()[0], line.split()[1:])
    return found


def test_figures_are_shown_with_their_intervals(run: Callable[..., Result], store: Path) -> None:
    result = run(*LOCOMO)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[:4] == [
        "2 conversations, 8 turns, 5 questions.",
        "Measured apart: 1 adversarial question.",
        "Left out: 1 question without a turn or session that holds the answer.",
        "Not there: 1 turn that questions name.",
    ]
    found = rows(result.stdout)
    assert found["recall@10"] == ["100.0", "±43.4"]
    assert found["single-hop"] == ["3", "100.0", "±56.1"]
    assert found["adversarial"][0] == "1"
    assert "recall@10, turns" in result.stdout
    assert "recall@10, sessions" in result.stdout
    assert "sessions, %" in result.stdout
    assert "CPU time, median" in result.stdout
    assert not store.exists()


def test_what_a_file_does_not_have_is_not_spoken_of(run: Callable[..., Result]) -> None:
    lines = run(*LOCOMO, "--conversations", "2").stdout.splitlines()
    assert lines[:2] == ["1 conversation, 2 turns, 1 question.", ""]


def test_baselines_and_nights_are_columns_of_their_own(run: Callable[..., Result]) -> None:
    pytest.importorskip("bm25s")
    result = run(*LOCOMO, "--baseline", "--after-sleep", "2", "--set", "enable_entity_linker=true")
    assert result.exit_code == 0, result.output
    assert rows(result.stdout)["turns,"] == ["%", "recall", "fts5", "bm25", "after", "sleep"]
    assert len(rows(result.stdout)["ndcg@10"]) == 8
    assert result.stdout.endswith(
        "\nSlept through 3 nights in 2 conversations.\n"
        "Then recall@10 of turns is lower for 0 questions and higher for 0.\n"
    )


def test_a_program_gets_the_same_figures(ask: Callable[..., Any]) -> None:
    found = ask(*LOCOMO, "--conversations", "2")
    assert list(found)[:3] == ["turn", "session", "by_category"]
    assert found["turn"]["recall@10"] == 1.0
    assert found["counts"]["questions"] == 1
    assert found["baselines"] == {}


@pytest.mark.parametrize(
    ("given", "conversations"), [("1-5", 2), ("1, 2", 2), ("2", 1), ("1-1,2-9", 2)]
)
def test_conversations_are_chosen_by_number(
    ask: Callable[..., Any], given: str, conversations: int
) -> None:
    found = ask(*LOCOMO, "--conversations", given)
    assert found["counts"]["conversations"] == conversations


@pytest.mark.parametrize("given", ["0", "0-2", "5-1", "one", "1-", "", "1,,2"])
def test_a_choice_that_is_none_is_refused(run: Callable[..., Result], given: str) -> None:
    result = run(*LOCOMO, "--conversations", given)
    assert result.exit_code == 13
    assert "Write numbers from 1, such as 1-5" in result.stderr


def test_questions_without_turns_show_sessions_alone(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    whole = (SETS / "longmemeval.json").read_text(encoding="utf-8")
    path = tmp_path / "set.json"
    path.write_text(whole.replace('"has_answer": true', '"has_answer": false'), encoding="utf-8")
    result = run("eval", "recall", path, "--format", "longmemeval")
    assert result.exit_code == 0, result.output
    assert "turns" not in result.stdout.replace("6 turns", "")
    assert "sessions, %" in result.stdout


def test_what_is_wrong_in_a_file_is_said_with_its_place(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "a", "session": "s"}\n')
    result = run("eval", "recall", path, "--format", "jsonl")
    assert result.exit_code == 13
    assert "x.jsonl, line 1: the value has neither text" in result.stderr


def test_without_the_package_the_extra_is_named(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    result = run(*LOCOMO, "--baseline")
    assert result.exit_code == 60
    assert "symfonic-memory[eval]" in result.stderr


def test_somebody_who_watches_sees_how_far_it_is(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_figures, "shows_progress", lambda: True)
    stderr = run(*LOCOMO).stderr
    assert "storing: conversation 2\n" in stderr.replace("\r", "\n") + "\n"
    assert "asking: 2 of 2 conversations" in stderr


def test_the_formats_are_those_that_can_be_read() -> None:
    assert recall_figures._FORMATS == FORMATS
