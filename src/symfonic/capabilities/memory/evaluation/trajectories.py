"""Reads what agents did in rated attempts at tasks: a file of trajectories.

One JSON list, or one object a line, each with ``task_id``, ``trial``, ``reward`` and ``traj``, the
attempt's messages as the OpenAI API has them. It is read value by value, so that a set of any size
can be measured, and checked whole before anything is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.detect import is_document
from symfonic.capabilities.memory.ingest.document import pieces_of_document, pieces_of_lines
from symfonic.capabilities.memory.ingest.inputs import turns_from_messages
from symfonic.capabilities.memory.ingest.source import Source
from symfonic.capabilities.memory.ingest.turns import TIME_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.store import Turn

_SHAPE: Final = "an object with task_id, trial, reward and traj"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One attempt: the ``number``-th of its file, which trial it was, what it was worth.

    ``messages`` are without their times: a set of attempts has no calendar, and old ones would be
    too old to learn from.
    """

    number: int
    trial: int
    reward: float
    messages: tuple[dict[str, Any], ...]
    turns: tuple[Turn, ...]


def read_trajectories(path: Path) -> Iterator[Trajectory]:
    """The trajectories of a file, in its order.

    Raises ``InputError`` that names the line and what is wrong there, and for a file that cannot be
    opened or holds none.
    """
    source = Source(path)
    try:
        if is_document(source.head_text()):
            pieces = pieces_of_document(source, offset=0, line=1, number=0)
        else:
            pieces = pieces_of_lines(source.lines(offset=0, number=0))
        number = 0
        for number, piece in enumerate(pieces, 1):
            yield _trajectory(piece, number, path)
        if not number:
            raise InputError(f"{path} holds no trajectory. Each is {_SHAPE}.", path=str(path))
    finally:
        source.close()


def _trajectory(piece: Piece, number: int, path: Path) -> Trajectory:
    try:
        return _checked(piece, number)
    except (ValueError, TypeError) as cause:
        raise InputError(
            f"{path}, line {piece.line}, trajectory {number}: {cause}", path=str(path),
            line=piece.line, number=number,
        ) from cause  # fmt: skip


def _checked(piece: Piece, number: int) -> Trajectory:
    if piece.problem is not None:
        raise ValueError(piece.problem)
    value = piece.value
    if not isinstance(value, dict):
        raise TypeError(f"a JSON {type(value).__name__} is no trajectory, which is {_SHAPE}")
    trial, reward, messages = (_field(value, name) for name in ("trial", "reward", "traj"))
    if not isinstance(_field(value, "task_id"), str | int):
        raise TypeError("task_id is neither text nor a number")
    if isinstance(trial, bool) or not isinstance(trial, int):
        raise TypeError("trial is not a whole number")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not isfinite(reward):
        raise TypeError("reward is not a number")
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise TypeError("traj is not a list of messages")
    timeless = tuple(
        {name: part for name, part in one.items() if name not in TIME_KEYS} for one in messages
    )
    turns = tuple(turns_from_messages(timeless, session=str(number)))
    return Trajectory(
        number=number, trial=trial, reward=float(reward), messages=timeless, turns=turns
    )


def _field(value: dict[str, Any], name: str) -> Any:  # noqa: ANN401 - checked by the caller
    if name not in value:
        raise ValueError(f"{name} is missing; a trajectory is {_SHAPE}")
    return value[name]
