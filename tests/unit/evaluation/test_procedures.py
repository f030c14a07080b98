"""The evaluation whole: mined from the earlier trials, measured on the last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError, PhaseFailed
from symfonic.capabilities.memory.evaluation.next_step import Score
from symfonic.capabilities.memory.evaluation.procedures import evaluate
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Procedure
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from pathlib import Path


def attempt(trial: int, request: str, *names: str, reward: float = 1.0) -> dict[str, Any]:
    calls = [
        {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": "{}"}}]}
        for name in names
    ]
    return {
        "task_id": request, "trial": trial, "reward": reward,
        "traj": [{"role": "user", "content": request}, *calls],
    }  # fmt: skip


def desk(tmp_path: Path, *last: dict[str, Any]) -> Path:
    cancel = [attempt(n, "Can you cancel my trip?", "find", "cancel") for n in range(4)]
    move = [attempt(n, "The date is wrong.", "find", "search", "move") for n in range(3)]
    path = tmp_path / "desk.json"
    path.write_text(json.dumps([*cancel, *move, *last]), encoding="utf-8")
    return path


LAST = (
    attempt(9, "Another date, a later date.", "find", "find", "think", "search", "move"),
    attempt(9, "Bad luck, no trip.", "find", "close", reward=0.5),
)


def test_drafts_come_from_the_earlier_trials_and_figures_from_the_last(tmp_path: Path) -> None:
    found = evaluate(desk(tmp_path, *LAST))
    contents = [one.content for one in found.drafts if isinstance(one.content, Procedure)]
    assert [(one.title, one.support) for one in contents] == [
        ("find, then cancel", 4),
        ("find, search, then move", 3),
    ]
    assert (found.mined, found.held_out, found.successes, found.trial) == (7, 2, 1, 9)
    assert (found.covered, found.steps_in_successes, found.coverage) == (3, 3, 1.0)
    # find > search > move, and find > close: by support alone "find" is followed by "cancel".
    assert found.steps.by_calls == Score(places=3, opinions=3, right=1)
    assert found.steps.by_trigger == Score(places=3, opinions=3, right=2)
    assert found.steps.ngram_there == Score(places=3, opinions=3, right=1)
    # As made, "find" is once more followed by itself and once by a note to self.
    assert found.calls.ngram == Score(places=5, opinions=5, right=1)
    assert found.calls.by_trigger.places == 5
    assert found.counts["drafted"] == 2


def test_the_least_reward_and_the_number_of_drafts_are_options(tmp_path: Path) -> None:
    found = evaluate(desk(tmp_path, *LAST), drafts=1, success=0.5)
    assert (len(found.drafts), found.successes, found.steps_in_successes) == (1, 2, 5)
    assert found.counts["over_draft_cap"] == 1


def test_the_policys_knobs_hold(tmp_path: Path) -> None:
    found = evaluate(desk(tmp_path, *LAST), policy=LearningPolicy(promotion_min_pattern_count=5))
    assert found.drafts == ()
    assert found.coverage == 0.0
    assert found.steps.by_calls == Score(places=3, opinions=0, right=0)
    assert found.steps.ngram_there == Score(places=0, opinions=0, right=0)


def test_the_same_file_gives_the_same_figures_and_ids(tmp_path: Path) -> None:
    path = desk(tmp_path, *LAST)
    assert evaluate(path) == evaluate(path)


def test_a_repeat_and_a_first_call_are_no_next_step(tmp_path: Path) -> None:
    names = ("find", "search", "find", "search", "move")
    found = evaluate(desk(tmp_path, attempt(9, "Hi.", *names)))
    # search, find; then the block repeats and is one; then move.
    assert found.steps.ngram.places == 3
    assert found.calls.ngram.places == 4


def test_it_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[int] = []
    evaluate(desk(tmp_path, *LAST), watch=told.append)
    assert told == list(range(1, 10))


def test_a_file_with_one_trial_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps([attempt(0, "Hi.", "a", "b")]), encoding="utf-8")
    with pytest.raises(InputError, match="holds trial 0 only"):
        evaluate(path)


def test_a_phase_that_fails_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from symfonic.capabilities.memory.outcome import PhaseReport, RunReport, SleepReport

    failed = PhaseReport(name="promote_procedures", outcome="failed", reason="no luck")
    run = RunReport(
        run_id="r", scope="s", kind="deep", status="committed", clock="", phases=(failed,)
    )
    monkeypatch.setattr(Memory, "sleep", lambda *_, **__: SleepReport(passes=(run,)))
    with pytest.raises(PhaseFailed, match="no luck"):
        evaluate(desk(tmp_path, *LAST))
