"""What a way of asking is worth: the measures of each question, and their means with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, fsum
from typing import TYPE_CHECKING, Any, Final, Literal

from symfonic.capabilities.memory.evaluation.measures import (
    interval,
    means,
    session_measures,
    turn_measures,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.evaluation.conversations import Asked
    from symfonic.capabilities.memory.evaluation.ways_of_asking import Answer

Level = Literal["turn", "session"]

LEVELS: Final[tuple[Level, ...]] = ("turn", "session")

_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question, asked once. A level without gold has no measures, and is not counted there.

    ``seconds`` is CPU time of asking for the first ten rows, ``tokens`` what those cost a model.
    """

    conversation: int
    category: str
    adversarial: bool
    turn: Mapping[str, float]
    session: Mapping[str, float]
    seconds: float
    tokens: int

    def at(self, level: Level) -> Mapping[str, float]:
        """The measures of a level."""
        return self.turn if level == "turn" else self.session


def outcome(conversation: int, question: Asked, answer: Answer) -> Outcome:
    """How well an answer did for a question of the ``conversation``-th conversation."""
    turns = [row.turn for row in answer.rows]
    sessions = [row.session for row in answer.rows]
    lengths = [len(row.text) for row in answer.rows]
    return Outcome(
        conversation=conversation, category=question.category, adversarial=question.adversarial,
        turn=turn_measures(turns, lengths, question.gold) if question.gold else {},
        session=session_measures(sessions, question.gold_sessions)
        if question.gold_sessions else {},
        seconds=answer.seconds, tokens=answer.tokens,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The mean of each measure over ``questions``, by name, each with its 95 % interval."""

    questions: int
    values: Mapping[str, float]

    def interval(self, name: str) -> tuple[float, float]:
        """The lower and the upper end."""
        return interval(self.values[name], self.questions)

    def as_plain(self) -> dict[str, Any]:
        """As JSON can hold it: the measures by name, how many questions, the intervals."""
        return {
            **{name: round(value, _DECIMALS) for name, value in self.values.items()},
            "questions": self.questions,
            "intervals": {
                name: [round(end, _DECIMALS) for end in self.interval(name)] for name in self.values
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """All that was asked in one way."""

    outcomes: tuple[Outcome, ...]

    def means(
        self, level: Level, *, category: str | None = None, adversarial: bool | None = False
    ) -> Means:
        """Of the questions of a category, or of all; ``adversarial`` ones apart, or with ``None``
        all together.
        """
        found = [
            one.at(level)
            for one in self.outcomes
            if one.at(level)
            and category in {None, one.category}
            and adversarial in {None, one.adversarial}
        ]
        return Means(questions=len(found), values=means(found))

    @property
    def categories(self) -> list[str]:
        """The categories that are not measured apart, in the order in which they are asked."""
        return list(dict.fromkeys(one.category for one in self.outcomes if not one.adversarial))

    def milliseconds(self, share: float) -> float:
        """The CPU time that a share of the questions (0 to 1) did not exceed."""
        return 1000 * quantile([one.seconds for one in self.outcomes], share)

    @property
    def tokens(self) -> float:
        """The mean tokens of the first ten rows."""
        return fsum(one.tokens for one in self.outcomes) / max(1, len(self.outcomes))

    def as_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            **self._levels(),
            "by_category": {name: self._levels(category=name) for name in self.categories},
            "adversarial": self._levels(adversarial=True),
            "all_questions": self._levels(adversarial=None),
            "latency_ms": {
                "median": round(self.milliseconds(0.5), 3), "p95": round(self.milliseconds(0.95), 3)
            },
            "tokens": round(self.tokens, 1),
        }  # fmt: skip

    def _levels(
        self, *, category: str | None = None, adversarial: bool | None = False
    ) -> dict[str, Any]:
        return {
            level: self.means(level, category=category, adversarial=adversarial).as_plain()
            for level in LEVELS
        }


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that a share of all (0 to 1) does not exceed; 0 of none."""
    ranked = sorted(values)
    return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else 0.0
