"""Recall measured on a file of conversations and questions.

Each conversation is a scope of its own, and all are in one store, as users of one service are.
The file is read once to store it and once more for each time it is asked, so that no more than one
conversation is held in memory.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack, get_args

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.evaluation.evidence_lines import read_evidence_lines
from symfonic.capabilities.memory.evaluation.locomo import read_locomo
from symfonic.capabilities.memory.evaluation.longmemeval import read_longmemeval
from symfonic.capabilities.memory.evaluation.measures import FIRST
from symfonic.capabilities.memory.evaluation.nights_slept import end_of, sleep_through
from symfonic.capabilities.memory.evaluation.scores import Outcome, Scores, outcome
from symfonic.capabilities.memory.evaluation.ways_of_asking import (
    ByBM25,
    ByFTS5,
    ByRecall,
    scope_of,
)
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.embedding.protocol import Embedder
    from symfonic.capabilities.memory.evaluation.conversations import Conversation
    from symfonic.capabilities.memory.evaluation.ways_of_asking import Way
    from symfonic.capabilities.memory.operations.runs import RunOptions

Format = Literal["locomo", "longmemeval", "jsonl"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_READERS: Final[Mapping[Format, Callable[[Path], Iterator[Conversation]]]] = {
    "locomo": read_locomo, "longmemeval": read_longmemeval, "jsonl": read_evidence_lines,
}  # fmt: skip
_SALT: Final = b"symfonic-eval-recall"
_COMPARED: Final = f"recall@{FIRST}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a file holds, as far as it was measured.

    ``unlabelled`` questions name no turn and no session that is there, and are not measured;
    ``missing`` counts the gold turns that are not there. ``blank`` turns say nothing.
    """

    conversations: int = 0
    turns: int = 0
    questions: int = 0
    adversarial: int = 0
    unlabelled: int = 0
    missing: int = 0
    blank: int = 0

    def and_of(self, conversation: Conversation) -> Counts:
        """With one conversation more."""
        asked = [one for one in conversation.questions if one.gold or one.gold_sessions]
        apart = sum(1 for one in asked if one.adversarial)
        return Counts(
            conversations=self.conversations + 1,
            turns=self.turns + len(conversation.turns),
            questions=self.questions + len(asked) - apart,
            adversarial=self.adversarial + apart,
            unlabelled=self.unlabelled + len(conversation.questions) - len(asked),
            missing=self.missing + sum(one.missing for one in conversation.questions),
            blank=self.blank + sum(1 for turn in conversation.turns if not turn.text.strip()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slept:
    """Recall asked again after nights, of which all conversations together had ``nights``.

    For ``worse`` questions less of what is gold is among the first ten turns than before, for
    ``better`` ones more.
    """

    nights: int
    scores: Scores
    worse: int
    better: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEvaluation:
    """What was measured, by the way of asking; ``slept`` where nights were asked for."""

    counts: Counts
    scores: Scores
    baselines: Mapping[str, Scores] = field(default_factory=dict)
    slept: Slept | None = None

    def as_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        counts = {name: getattr(self.counts, name) for name in Counts.__slots__}
        found = {
            **self.scores.as_plain(),
            "baselines": {name: scores.as_plain() for name, scores in self.baselines.items()},
            "counts": counts,
        }
        if self.slept is not None:
            found["after_sleep"] = {
                "nights": self.slept.nights, "worse": self.slept.worse,
                "better": self.slept.better, **self.slept.scores.as_plain(),
            }  # fmt: skip
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSet:
    """The conversations of a file that are measured: all, or those whose numbers are ``chosen``."""

    path: Path
    format: Format
    chosen: Container[int] | None = None

    def __iter__(self) -> Iterator[Conversation]:
        """Reads the file anew. Raises ``InputError``."""
        for conversation in _READERS[self.format](self.path):
            if self.chosen is None or conversation.number in self.chosen:
                yield conversation


def evaluate_recall(
    chosen: RecallSet,
    *,
    baselines: bool = False,
    embedder: Embedder | None = None,
    nights: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Unpack[RunOptions],
) -> RecallEvaluation:
    """Store every conversation, ask every question, and measure what came back.

    With ``baselines`` FTS5 and BM25 are asked the same. With an ``embedder`` recall goes by vectors
    too. With ``nights`` each conversation is slept through as many nights, by ``options``, and
    recall is asked again.

    ``progress`` is told what is done, with which conversation, and of how many (0 where unknown).

    Raises ``InputError`` for a file that cannot be read or asks nothing, ``MissingExtra`` for the
    baselines where their package is not installed, and ``PhaseFailed``.
    """
    told, fts5 = progress or _silent, ByFTS5()
    beside: list[Way] = [fts5, ByBM25()] if baselines else []
    with (
        closing(fts5),
        tempfile.TemporaryDirectory(prefix="symfonic-eval-") as directory,
        Memory.open(Path(directory) / "memory.db", salt=_SALT, embedder=embedder) as memory,
    ):
        counts = _stored(memory, chosen, told)
        recall = ByRecall(memory)
        asked = _asked([recall, *beside], chosen, counts, told)
        slept = None
        if nights:
            slept = _asked_after(memory, recall, chosen, counts, told, nights, asked[0], **options)
    return RecallEvaluation(
        counts=counts, scores=asked[0], slept=slept,
        baselines={way.name: scores for way, scores in zip(beside, asked[1:], strict=True)},
    )  # fmt: skip


def _stored(memory: Memory, chosen: RecallSet, told: Callable[[str, int, int], None]) -> Counts:
    counts = Counts()
    for conversation in chosen:
        counts = counts.and_of(conversation)
        told("storing", counts.conversations, 0)
        rows = [
            {
                "id": turn.id, "session": turn.session, "position": turn.position,
                "role": turn.role, "name": turn.speaker, "text": turn.text, "at": turn.at,
            }
            for turn in conversation.turns
            if turn.text.strip()
        ]  # fmt: skip
        report = memory.ingest(
            rows, scope=scope_of(conversation), format="jsonl", now=end_of(conversation)
        )
        assert report.added == len(rows)
    if not counts.questions + counts.adversarial:
        raise InputError(
            f"{chosen.path} has no question about the chosen conversations that says where its "
            "answer stands.",
            path=str(chosen.path),
        )
    return counts


def _asked(
    ways: Sequence[Way],
    chosen: RecallSet,
    counts: Counts,
    told: Callable[[str, int, int], None],
    since: Mapping[int, datetime] | None = None,
) -> list[Scores]:
    """Each question asked in every way; not before the time ``since`` of its conversation."""
    found: list[list[Outcome]] = [[] for _ in ways]
    for number, conversation in enumerate(chosen, 1):
        told("asking", number, counts.conversations)
        for way in ways:
            way.begin(conversation)
        for question in conversation.questions:
            if not question.gold and not question.gold_sessions:
                continue
            now = question.at or end_of(conversation)
            if since is not None:
                now = max(now, since[conversation.number])
            for way, outcomes in zip(ways, found, strict=True):
                answer = way.ask(question.text, now=now)
                outcomes.append(outcome(conversation.number, question, answer))
    return [Scores(outcomes=tuple(outcomes)) for outcomes in found]


def _asked_after(
    memory: Memory,
    recall: Way,
    chosen: RecallSet,
    counts: Counts,
    told: Callable[[str, int, int], None],
    nights: int,
    before: Scores,
    **options: Unpack[RunOptions],
) -> Slept:
    """Recall asked again once every conversation was slept through."""
    total, last = 0, {}
    for number, conversation in enumerate(chosen, 1):
        told("sleeping", number, counts.conversations)
        slept = sleep_through(memory, conversation, nights, **options)
        total += len(slept)
        last[conversation.number] = slept[-1] if slept else end_of(conversation)
        if memory.embedder is not None:
            memory.embed(scope_of(conversation))
    (scores,) = _asked([recall], chosen, counts, told, last)
    pairs = list(zip(before.outcomes, scores.outcomes, strict=True))
    changes = [after.turn[_COMPARED] - one.turn[_COMPARED] for one, after in pairs if one.turn]
    return Slept(
        nights=total, scores=scores, worse=sum(1 for change in changes if change < 0),
        better=sum(1 for change in changes if change > 0),
    )  # fmt: skip


def _silent(_doing: str, _number: int, _of: int) -> None:
    """No progress is shown."""
