"""Recall on LoCoMo with all its conversations in one scope.

    python benchmarks/recall_locomo.py FILE

``symfonic-memory eval recall FILE --format locomo`` gives each conversation a scope of its own, as
the protocol has it. Here the ten are sessions of one scope: ten times the turns, and twenty people.
LoCoMo (Maharana et al., 2024) is not part of this project.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.evaluation.conversations import Conversation
from symfonic.capabilities.memory.evaluation.recall_run import RecallSet, evaluate_recall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.evaluation.conversations import Asked, Said


class OneScope(RecallSet):
    """The conversations of a file as one."""

    def __iter__(self) -> Iterator[Conversation]:
        turns: list[Said] = []
        questions: list[Asked] = []
        for conversation in super().__iter__():
            number = conversation.number
            turns += (
                replace(turn, id=_within(number, turn.id), session=_within(number, turn.session))
                for turn in conversation.turns
            )
            questions += (
                replace(
                    one,
                    gold=frozenset(_within(number, i) for i in one.gold),
                    gold_sessions=frozenset(_within(number, i) for i in one.gold_sessions),
                    at=conversation.ended,
                )
                for one in conversation.questions
            )
        yield Conversation(number=1, turns=tuple(turns), questions=tuple(questions))


def _within(number: int, name: str) -> str:
    return f"{number}/{name}"


def main() -> None:
    """Print the shares of evidence turns among the first ten rows, in per cent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    found = evaluate_recall(OneScope(path=parser.parse_args().file, format="locomo"))
    categories = (None, *found.scores.categories)
    for category in categories:
        means = found.scores.means("turn", category=category)
        low, high = means.interval("recall@10")
        print(
            f"{category or 'all':<12}{means.questions:>6}"
            f"{100 * means.values['recall@10']:>7.1f}  ({100 * low:.1f} to {100 * high:.1f})"
        )


if __name__ == "__main__":
    main()
