"""What is counted over questions: means by level and category, times, tokens."""

from __future__ import annotations

import pytest

from symfonic.capabilities.memory.evaluation.conversations import Asked
from symfonic.capabilities.memory.evaluation.measures import interval
from symfonic.capabilities.memory.evaluation.scores import Outcome, Scores, outcome, quantile
from symfonic.capabilities.memory.evaluation.ways_of_asking import Answer, Row

ROWS = (
    Row(turn="1", session="1", text="abcd" * 10),
    Row(turn=None, session=None, text="abcd"),
    Row(turn="4", session="2", text="abcde"),
)


def asked(*gold: str, category: str = "a", adversarial: bool = False) -> Asked:
    return Asked(
        text="?", category=category, gold=frozenset(gold), gold_sessions=frozenset(["2"]),
        adversarial=adversarial,
    )  # fmt: skip


def scored(question: Asked, seconds: float = 0.01) -> Outcome:
    return outcome(1, question, Answer(rows=ROWS, seconds=seconds))


def test_an_outcome_measures_turns_sessions_and_tokens() -> None:
    found = scored(asked("4", "5"))
    assert (found.turn["recall@1"], found.turn["recall@5"], found.turn["mrr"]) == (0, 0.5, 1 / 3)
    assert (found.session["any@1"], found.session["any@5"]) == (0.0, 1.0)
    assert found.tokens == 10 + 1 + 2


def test_a_level_without_gold_is_not_counted_there() -> None:
    scores = Scores(outcomes=(scored(asked("1")), scored(asked())))
    assert (scores.means("turn").questions, scores.means("session").questions) == (1, 2)
    assert scores.means("turn").values["recall@10"] == 1.0


def test_means_are_of_a_category_and_leave_adversarial_questions_apart() -> None:
    scores = Scores(outcomes=(
        scored(asked("1")), scored(asked("9")), scored(asked("9", category="b")),
        scored(asked("1", category="c", adversarial=True)),
    ))  # fmt: skip
    assert scores.categories == ["a", "b"]
    assert scores.means("turn").values["recall@10"] == pytest.approx(1 / 3)
    assert scores.means("turn", category="a").values["recall@10"] == 0.5
    assert scores.means("turn", adversarial=True).values["recall@10"] == 1.0
    assert scores.means("turn", adversarial=None).values["recall@10"] == 0.5


def test_plain_values_hold_every_measure_with_its_interval() -> None:
    scores = Scores(outcomes=(scored(asked("1")), scored(asked("9", category="b"), 0.03)))
    plain = scores.as_plain()
    assert list(plain) == [
        "turn", "session", "by_category", "adversarial", "all_questions", "latency_ms", "tokens",
    ]  # fmt: skip
    assert (plain["turn"]["recall@10"], plain["turn"]["questions"]) == (0.5, 2)
    assert plain["turn"]["intervals"]["recall@10"] == pytest.approx(interval(0.5, 2), abs=1e-6)
    assert plain["by_category"]["b"]["turn"]["recall@10"] == 0.0
    assert plain["adversarial"]["turn"] == {"questions": 0, "intervals": {}}
    assert plain["latency_ms"] == {"median": 10.0, "p95": 30.0}
    assert plain["tokens"] == 13.0


def test_a_quantile_is_a_value_that_was_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [quantile(values, share) for share in (0.0, 0.5, 0.95, 1.0)] == [1, 50, 95, 100]
    assert quantile([], 0.5) == 0.0
    assert Scores(outcomes=()).tokens == 0.0
