"""A file of rated attempts: what is read of it, and what is said about a file that is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.evaluation.trajectories import read_trajectories

if TYPE_CHECKING:
    from pathlib import Path


def attempt(**changed: Any) -> dict[str, Any]:
    message = {"role": "user", "content": "Hello.", "timestamp": "2024-01-01T00:00:00Z"}
    return {"task_id": 1, "trial": 0, "reward": 1.0, "traj": [message], **changed}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "attempts.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("shape", ["list", "lines"])
def test_a_list_and_lines_are_read_alike(tmp_path: Path, shape: str) -> None:
    attempts = [attempt(), attempt(task_id="two", trial=1, reward=0)]
    text = json.dumps(attempts) if shape == "list" else "\n".join(map(json.dumps, attempts))
    found = list(read_trajectories(written(tmp_path, text)))
    assert [(one.number, one.trial, one.reward) for one in found] == [(1, 0, 1.0), (2, 1, 0.0)]
    assert found[0].messages == ({"role": "user", "content": "Hello."},)
    assert [turn.text for turn in found[0].turns] == ["Hello."]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"task_id": None}, "task_id is neither text nor a number"),
        ({"trial": "0"}, "trial is not a whole number"),
        ({"trial": True}, "trial is not a whole number"),
        ({"reward": "good"}, "reward is not a number"),
        ({"reward": float("nan")}, "reward is not a number"),
        ({"traj": {}}, "traj is not a list of messages"),
        ({"traj": ["hello"]}, "traj is not a list of messages"),
        ({"traj": [{"role": "judge", "content": "x"}]}, "Message 1 of 1 cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    path = written(tmp_path, f"{json.dumps(attempt())}\n{json.dumps(attempt(**changed))}\n")
    with pytest.raises(InputError, match=f"line 2, trajectory 2: .*{message}") as caught:
        list(read_trajectories(path))
    assert caught.value.facts["line"] == 2


@pytest.mark.parametrize("name", ["task_id", "trial", "reward", "traj"])
def test_a_missing_field_is_named(tmp_path: Path, name: str) -> None:
    value = attempt()
    del value[name]
    with pytest.raises(InputError, match=f"{name} is missing; a trajectory is an object"):
        list(read_trajectories(written(tmp_path, json.dumps([value]))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a JSON int is no trajectory"),
        ("[{", "trajectory 1: "),
        ("hello", "not valid JSON"),
        ("[]", "holds no trajectory"),
        ("", "holds no trajectory"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_trajectories(written(tmp_path, text)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json"):
        list(read_trajectories(tmp_path / "nothing.json"))
