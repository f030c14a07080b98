"""``eval procedures``: what it shows, what it prints for programs, how it fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.cli import evaluating

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def attempts(tmp_path: Path) -> Path:
    def attempt(trial: int, *names: str) -> dict[str, Any]:
        calls = [{"function": {"name": name, "arguments": "{}"}} for name in names]
        said = {"role": "user", "content": "Please cancel my \x1b[31mtrip."}
        traj = [said, {"role": "assistant", "tool_calls": calls}]
        return {"task_id": 1, "trial": trial, "reward": 1, "traj": traj}

    path = tmp_path / "attempts.jsonl"
    lines = [attempt(trial, "find", "cancel") for trial in (0, 0, 1)] + [attempt(2, "find", "move")]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_every_draft_and_both_tables_are_shown(
    run: Callable[..., Result], attempts: Path, store: Path
) -> None:
    result = run("eval", "procedures", str(attempts))
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert "Mined 3 trajectories; measured on 1 of trial 2, 1 successful." in text
    assert "3 sessions: 3 successes, 0 failures\n  find, then cancel" in text
    assert "Coverage: 0.0 % of the steps in successful trajectories (0 of 2)" in text
    for title in ("next step", "next call as made"):
        assert title in text
    assert "\x1b[31m" not in text
    assert not store.exists()


def test_without_an_opinion_there_is_no_share(run: Callable[..., Result], attempts: Path) -> None:
    result = run("eval", "procedures", str(attempts), "--set", "promotion_min_pattern_count=4")
    (row,) = [row for row in result.stdout.splitlines() if row.startswith("drafts  ")][:1]
    assert row.split() == ["drafts", "1", "0", "0", "—", "0.0", "%"]


def test_a_program_gets_the_same_figures(ask: Callable[..., Any], attempts: Path) -> None:
    found = ask("eval", "procedures", str(attempts), "--drafts", "1", "--success", "0.5")
    assert [draft["title"] for draft in found["drafts"]] == ["find, then cancel"]
    assert (found["mined"], found["held_out"], found["coverage"]) == (3, 1, 0.0)
    assert found["steps"]["by_calls"] == {"places": 1, "opinions": 1, "right": 0}
    assert set(found["calls"]) == {"by_calls", "by_trigger", "ngram_there", "ngram"}


def test_a_file_that_cannot_be_read_is_an_input_error(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text('[{"task_id": 1}]')
    result = run("eval", "procedures", str(tmp_path / "x.json"))
    assert result.exit_code == 13
    assert "trial is missing" in result.stderr


def test_somebody_who_watches_sees_how_far_it_is(
    run: Callable[..., Result], attempts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluating, "shows_progress", lambda: True)
    monkeypatch.setattr(evaluating, "_EACH", 2)
    assert "\r2 trajectories\r4 trajectories" in run("eval", "procedures", str(attempts)).stderr
