"""The ways in which a conversation is asked: recall, and what is measured beside it.

All look through the same turns, know the same words and stems, and leave out the same words of a
question, so that what differs is the ranking alone.
"""

from __future__ import annotations

import re
import sqlite3
import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from symfonic.capabilities.memory.errors import MissingExtra
from symfonic.capabilities.memory.evaluation.measures import FIRST
from symfonic.capabilities.memory.packing import tokens
from symfonic.capabilities.memory.recall_query import expressions, query_terms
from symfonic.capabilities.memory.stemming import stem
from symfonic.capabilities.memory.text_terms import index_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from types import ModuleType

    from symfonic.capabilities.memory.evaluation.conversations import Conversation
    from symfonic.capabilities.memory.service import Memory

DEPTH: Final = 200
"""Rows that are looked at: enough that the first ten sessions are among them."""

EXTRA: Final = "symfonic-memory[eval]"

_MAKE_INDEX: Final = (
    "CREATE VIRTUAL TABLE said USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')"
)
_ADD_TEXT: Final = "INSERT INTO said (rowid, text) VALUES (?, ?)"
_SEARCH: Final = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said), rowid LIMIT ?"
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer; without ``turn`` and ``session`` where it is no turn."""

    turn: str | None
    session: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows, best first, and the CPU time (seconds) of asking for the first ten."""

    rows: Sequence[Row]
    seconds: float

    @property
    def tokens(self) -> int:
        """About how many tokens the first ten rows cost a model."""
        return sum(tokens(row.text) for row in self.rows[:FIRST])


class Way(Protocol):
    """A way of asking. ``begin`` is called before the questions of a conversation."""

    name: str

    def begin(self, conversation: Conversation) -> None:
        """Get ready for the questions of a conversation."""
        ...

    def ask(self, question: str, *, now: datetime) -> Answer:
        """What is found for a question of this conversation, asked at a time."""
        ...


class ByRecall:
    """``Memory.recall``, with all that it returns unless asked otherwise; no use is recorded.

    The first ten rows are asked for as a user would, and timed; the rest is the next page.
    """

    name = "recall"

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._scope = ""

    def begin(self, conversation: Conversation) -> None:
        self._scope = scope_of(conversation)

    def ask(self, question: str, *, now: datetime) -> Answer:
        began = time.process_time()
        items = self._page(question, now, offset=0, limit=FIRST)
        seconds = time.process_time() - began
        items += self._page(question, now, offset=FIRST, limit=DEPTH - FIRST)
        return Answer(rows=items, seconds=seconds)

    def _page(self, question: str, now: datetime, *, offset: int, limit: int) -> list[Row]:
        found = self._memory.recall(
            question, scope=self._scope, offset=offset, limit=limit, record_uses=False, now=now
        )
        return [
            Row(
                turn=item.source_id, text=item.text,
                session=item.session if item.kind == "episode" else None,
            )
            for item in found.items
        ]  # fmt: skip


class ByFTS5:
    """SQLite's FTS5 alone, ranked by its own BM25: an index of the conversation and nothing else.

    Its words and stems are those of the store's index, which recall asks for candidates and whose
    order is another one.
    """

    name = "fts5"

    def __init__(self) -> None:
        self._turns: tuple[Row, ...] = ()
        self._index = sqlite3.connect(":memory:")

    def begin(self, conversation: Conversation) -> None:
        self._turns = _rows_of(conversation)
        self._index.close()
        self._index = sqlite3.connect(":memory:")
        self._index.execute(_MAKE_INDEX)
        texts = ((n, index_text(row.text)) for n, row in enumerate(self._turns))
        self._index.executemany(_ADD_TEXT, texts)

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()

    def ask(self, question: str, *, now: datetime) -> Answer:
        began = time.process_time()
        rows = self._search(question, FIRST)
        seconds = time.process_time() - began
        if len(rows) == FIRST:
            rows = self._search(question, DEPTH)
        return Answer(rows=rows, seconds=seconds)

    def _search(self, question: str, limit: int) -> list[Row]:
        expression = " OR ".join(expressions(query_terms(question)))
        if not expression:
            return []
        found = self._index.execute(_SEARCH, (expression, limit))
        return [self._turns[place] for (place,) in found]


class ByBM25:
    """BM25 as Lucene has it, by the ``bm25s`` package: statistics of the conversation alone.

    Words and stems are those of the index. Raises ``MissingExtra`` where it is not installed.
    """

    name = "bm25"

    def __init__(self) -> None:
        self._bm25s = _bm25s()
        self._turns: tuple[Row, ...] = ()
        self._index: Any = None

    def begin(self, conversation: Conversation) -> None:
        self._turns = _rows_of(conversation)
        words = [[stem(word) for word in _words(index_text(row.text))] for row in self._turns]
        self._index = self._bm25s.BM25() if any(words) else None
        if self._index is not None:
            self._index.index(words, show_progress=False)

    def ask(self, question: str, *, now: datetime) -> Answer:
        began = time.process_time()
        rows = self._ranked(question)
        return Answer(rows=rows, seconds=time.process_time() - began)

    def _ranked(self, question: str) -> list[Row]:
        terms = query_terms(question).terms
        found = (word for term in terms for form in term.forms for word in form)
        words = list(dict.fromkeys(map(stem, found)))
        if self._index is None or not words:
            return []
        scores = self._index.get_scores(words).tolist()
        places = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return [self._turns[place] for place in places[:DEPTH] if scores[place] > 0]


def _rows_of(conversation: Conversation) -> tuple[Row, ...]:
    return tuple(
        Row(turn=turn.id, session=turn.session, text=turn.text) for turn in conversation.turns
    )


def _words(text: str) -> list[str]:
    found: list[str] = _WORD.findall(text.lower())
    return found


def scope_of(conversation: Conversation) -> str:
    """The scope that holds a conversation, and nothing else."""
    return f"c{conversation.number}"


def _bm25s() -> ModuleType:
    try:
        return import_module("bm25s")
    except ImportError as cause:
        raise MissingExtra(
            f"The baseline BM25 is the bm25s package, which is not installed. Run: pip install "
            f"'{EXTRA}'",
            extra="eval",
        ) from cause
