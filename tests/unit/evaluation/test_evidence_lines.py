"""Evidence sets of one's own: turns and questions, a line each, in any order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.evaluation.evidence_lines import read_evidence_lines

if TYPE_CHECKING:
    from pathlib import Path

TURN = '{"id": "a", "session": "s", "text": "Hello."}\n'


def test_turns_stand_in_their_session_in_the_order_of_the_file(sets: Path) -> None:
    first, other = read_evidence_lines(sets / "lines.jsonl")
    assert [(turn.id, turn.session, turn.position, turn.role) for turn in first.turns] == [
        ("1", "1", 0, "user"), ("2", "1", 1, "user"), ("3", "2", 0, "assistant"),
    ]  # fmt: skip
    assert [turn.text for turn in first.turns] == [
        "Ana: The printer is out of toner again.",
        "Bo: The spare key hangs behind the printer.",
        "Noted: toner comes on Thursday.",
    ]
    assert first.turns[1].at == datetime(2026, 3, 2, 9, 1, tzinfo=UTC)
    assert (other.number, [turn.id for turn in other.turns]) == (2, ["1"])


def test_questions_may_stand_before_their_turns(sets: Path) -> None:
    first, other = read_evidence_lines(sets / "lines.jsonl")
    key, toner, ordered = first.questions
    assert (key.text, key.category, key.at) == ("Where is the spare key?", "places", None)
    assert key.gold == {"2"}
    assert toner.category == "question"
    assert toner.gold == {"1", "3"}
    assert toner.gold_sessions == {"1", "2"}
    assert toner.at == datetime(2026, 3, 3, 9, tzinfo=UTC)
    assert (key.adversarial, ordered.adversarial) == (False, True)
    assert other.questions[0].gold == {"1"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "b", "session": "s"}', "line 2: the value has neither text, as a turn, nor"),
        ('{"id": "a", "session": "s", "text": "x"}', r"line 2: \.id is the id of an earlier turn"),
        ('{"session": "s", "text": "x"}', r"line 2: \.id is missing"),
        ('{"id": "b", "text": "x"}', r"line 2: \.session is missing"),
        ('{"question": "Who?"}', r"line 2: \.gold is missing"),
        ('{"question": "Who?", "gold": ["a", "z"]}', r"\.gold\[1\] is 'z', and no turn of the con"),
        ('{"question": "Who?", "gold": ["a"], "at": "now"}', r"\.at is no time"),
        ("[1]", "line 2: the value is not an object"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(f"{TURN}{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        list(read_evidence_lines(path))
