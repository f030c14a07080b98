"""LoCoMo's form: what is read of it, and that no name of the file's comes through."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.evaluation.locomo import read_locomo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_turns_have_numbers_their_session_and_its_time(sets: Path) -> None:
    harbour, kiln = read_locomo(sets / "locomo.json")
    assert (harbour.number, kiln.number) == (1, 2)
    assert [(turn.id, turn.session, turn.position) for turn in harbour.turns] == [
        ("1", "1", 0), ("2", "1", 1), ("3", "1", 2), ("4", "2", 0), ("5", "2", 1), ("6", "2", 2),
    ]  # fmt: skip
    loft = harbour.turns[1]
    assert loft.text == "Ines: I built a loft for my pigeons. [photo: a wooden shed on a roof]"
    assert (loft.speaker, loft.role) == ("Ines", "user")
    assert loft.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert harbour.ended == datetime(2024, 6, 3, 10, 5, tzinfo=UTC)


def test_gold_turns_are_found_however_the_key_writes_them(sets: Path) -> None:
    harbour, _ = read_locomo(sets / "locomo.json")
    assert [sorted(question.gold) for question in harbour.questions] == [
        ["2"], ["4"], ["3", "5"], [], ["2"], ["6"],
    ]  # fmt: skip
    assert [sorted(question.gold_sessions) for question in harbour.questions] == [
        ["1"], ["2"], ["1", "2"], [], ["1"], ["2"],
    ]  # fmt: skip
    assert [question.missing for question in harbour.questions] == [0, 0, 0, 0, 0, 1]


def test_adversarial_questions_are_told_apart(sets: Path) -> None:
    harbour, _ = read_locomo(sets / "locomo.json")
    assert [(question.category, question.adversarial) for question in harbour.questions] == [
        ("single-hop", False), ("temporal", False), ("multi-hop", False),
        ("open-domain", False), ("adversarial", True), ("single-hop", False),
    ]  # fmt: skip


def test_sessions_are_read_by_number_whatever_their_order(
    sets: Path, changed: Callable[..., Path]
) -> None:
    (tenth, _) = read_locomo(
        changed("locomo.json", 0, "conversation", to={
            "session_10_date_time": "1:00 pm on 8 May, 2024",
            "session_10": [{"speaker": "A", "dia_id": "D10:1", "text": "later"}],
            "session_2_date_time": "1:00 pm on 7 May, 2024",
            "session_2": [{"speaker": "A", "dia_id": "D2:1", "text": "sooner"}],
        })
    )  # fmt: skip
    assert [(turn.session, turn.text) for turn in tenth.turns] == [
        ("2", "A: sooner"), ("10", "A: later"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "to", "problem"),
    [
        ((0, "qa", 2, "category"), 9, r"\.qa\[2\]\.category is none of 1, 2, 3, 4, 5"),
        ((0, "qa", 2, "evidence"), "D1:1", r"\.qa\[2\]\.evidence is not a list"),
        ((0, "qa", 2, "evidence", 0), 7, r"\.qa\[2\]\.evidence\[0\] is not text"),
        (
            (0, "conversation", "session_2", 1, "dia_id"), "D2:1",
            r"session_2\[1\]\.dia_id is not the id of one turn",
        ),
        ((0, "conversation", "session_2", 1, "dia_id"), "two", "is not the id of one turn"),
        ((0, "conversation", "session_2_date_time"), "in June", "is no time such as '1:56 pm"),
        ((0, "conversation", "session_2", 0, "text"), None, r"session_2\[0\]\.text is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_path(
    changed: Callable[..., Path], steps: tuple[Any, ...], to: object, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        list(read_locomo(changed("locomo.json", *steps, to=to)))


def test_a_session_without_its_time_is_refused(changed: Callable[..., Path]) -> None:
    path = changed("locomo.json", 1, "conversation", "session_1_date_time")
    with pytest.raises(InputError, match=r"\.conversation\.session_1_date_time is missing"):
        list(read_locomo(path))
