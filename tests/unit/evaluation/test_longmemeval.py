"""LongMemEval's form: a history for each question, and no name in it that gives an answer away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.evaluation.longmemeval import read_longmemeval

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_each_question_has_a_history_of_its_own(sets: Path) -> None:
    tram, bus = read_longmemeval(sets / "longmemeval.json")
    assert [(turn.id, turn.session, turn.position, turn.role) for turn in tram.turns] == [
        ("1", "1", 0, "user"), ("2", "1", 1, "assistant"),
        ("3", "2", 0, "user"), ("4", "2", 1, "assistant"), ("5", "2", 2, "user"),
    ]  # fmt: skip
    assert tram.turns[0].text == "How long do I boil an egg?"
    assert tram.turns[2].at == datetime(2024, 5, 3, 18, 45, tzinfo=UTC)
    assert len(bus.turns) == 1


def test_marked_turns_and_named_sessions_are_gold(sets: Path) -> None:
    tram, bus = read_longmemeval(sets / "longmemeval.json")
    (question,) = tram.questions
    assert question.gold == {"3"}
    assert question.gold_sessions == {"2"}
    assert question.category == "single-session-user"
    assert question.at == datetime(2024, 5, 20, 9, 30, tzinfo=UTC)
    assert not question.adversarial
    assert bus.questions[0].adversarial
    assert not bus.questions[0].gold
    assert bus.questions[0].gold_sessions == {"1"}


def test_no_name_of_the_file_comes_through(sets: Path) -> None:
    found = list(read_longmemeval(sets / "longmemeval.json"))
    assert "answer_" not in repr(found)
    assert "noise_" not in repr(found)


@pytest.mark.parametrize(
    ("steps", "to", "problem"),
    [
        ((1, "haystack_dates"), [], "has 1 haystack_sessions, 0 haystack_dates and 1"),
        ((1, "haystack_dates", 0), "May", r"\.haystack_dates\[0\] is no time such as '2023/04/10"),
        ((1, "question_date"), "May", r"\.question_date is no time"),
        ((0, "haystack_sessions", 1, 0, "role"), "judge", r"\[1\]\[0\]\.role is none of user"),
        ((0, "haystack_sessions", 1, 0, "has_answer"), 1, "has_answer is not true or false"),
        ((0, "haystack_sessions", 1, 0), "hello", r"\.haystack_sessions\[1\]\[0\] is not an obj"),
        ((0, "answer_session_ids"), None, r"\.answer_session_ids is missing"),
    ],
)
def test_what_is_wrong_is_said_with_its_path(
    changed: Callable[..., Path], steps: tuple[Any, ...], to: object, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        list(read_longmemeval(changed("longmemeval.json", *steps, to=to)))
