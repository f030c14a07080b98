"""Recall, the plain index and BM25 over the same turns."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import MissingExtra
from symfonic.capabilities.memory.evaluation.conversations import Conversation, Said
from symfonic.capabilities.memory.evaluation.ways_of_asking import (
    Answer,
    ByBM25,
    ByFTS5,
    ByRecall,
    Row,
    scope_of,
)
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.builders import NOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.evaluation.ways_of_asking import Way

TEXTS = (
    "Ana: The kettle is broken again.",
    "Bo: I mended a kettle and a lamp.",
    "Ana: The lamp hangs in the hall.",
    "Bo: We walked to the lighthouse.",
)


def conversation(*texts: str) -> Conversation:
    turns = tuple(
        Said(id=str(n), session="1" if n < 3 else "2", position=n, text=text)
        for n, text in enumerate(texts, 1)
    )
    return Conversation(number=7, turns=turns, questions=())


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", salt=b"ways") as found:
        rows = [
            {"id": turn.id, "session": turn.session, "position": turn.position, "text": turn.text}
            for turn in conversation(*TEXTS).turns
        ]
        found.ingest(rows, scope="c7", format="jsonl", now=NOW)
        yield found


def turns(way: Way, question: str, *texts: str) -> list[str | None]:
    way.begin(conversation(*(texts or TEXTS)))
    return [row.turn for row in way.ask(question, now=NOW).rows]


def test_each_conversation_has_a_scope_of_its_own() -> None:
    assert scope_of(conversation()) == "c7"


def test_recall_gives_all_its_rows_in_its_order(memory: Memory) -> None:
    found = turns(ByRecall(memory), "Who mended the kettle?")
    answer = memory.recall("Who mended the kettle?", scope="c7", limit=200, now=NOW)
    assert found == [item.source_id for item in answer.items]
    assert found[0] == "2"


def test_recall_takes_up_its_answer_on_the_next_page(memory: Memory) -> None:
    rows = [
        {"id": f"k{n}", "session": "9", "position": n, "text": f"Kettle number {n}."}
        for n in range(30)
    ]
    memory.ingest(rows, scope="c7", format="jsonl", now=NOW)
    found = turns(ByRecall(memory), "Which kettle?")
    assert len(found) == len(set(found)) >= 32


def test_no_use_is_recorded(memory: Memory) -> None:
    turns(ByRecall(memory), "Who mended the kettle?")
    memory.flush_uses()
    with memory.store.snapshot(Scope("c7")) as reader:
        ids = reader.all_records()
        assert ids
        assert reader.uses(ids, until=NOW, per_record=10) == []


def test_a_row_that_is_no_turn_has_no_id_and_no_session(memory: Memory) -> None:
    memory.remember("The kettle was a gift.", scope="c7", now=NOW)
    way = ByRecall(memory)
    way.begin(conversation(*TEXTS))
    (note,) = [
        row for row in way.ask("kettle", now=NOW).rows if row.text.startswith("The kettle w")
    ]
    assert (note.turn, note.session) == (None, None)


@pytest.fixture
def fts5() -> Iterator[ByFTS5]:
    with closing(ByFTS5()) as way:
        yield way


def test_fts5_ranks_by_words_alone(fts5: ByFTS5) -> None:
    assert turns(fts5, "What about the mended kettle?") == ["2", "1"]
    assert turns(fts5, "What about it?") == []
    assert turns(fts5, "lighthouses") == ["4"]


def test_fts5_goes_on_beyond_the_first_rows(fts5: ByFTS5) -> None:
    assert len(turns(fts5, "Which kettle?", *(f"Kettle number {n}." for n in range(30)))) == 30


def test_fts5_knows_the_conversation_that_was_begun_last(fts5: ByFTS5) -> None:
    assert turns(fts5, "kettle", "A kettle.", "A lamp.") == ["1"]
    assert turns(fts5, "kettle", "A lamp.", "A lamp.", "A kettle.") == ["3"]


def test_tokens_are_those_of_the_first_ten_rows() -> None:
    rows = [Row(turn=str(n), session="1", text="abcd") for n in range(25)]
    assert Answer(rows=rows, seconds=0.0).tokens == 10


def test_bm25_ranks_by_words_alone() -> None:
    pytest.importorskip("bm25s")
    way = ByBM25()
    assert turns(way, "What about the mended kettle?") == ["2", "1"]
    assert turns(way, "lighthouses") == ["4"]
    assert turns(way, "What about it?") == []
    assert turns(way, "zeppelin") == []


def test_bm25_prefers_the_rarer_word_and_the_shorter_turn() -> None:
    pytest.importorskip("bm25s")
    texts = ("tea and cake", "tea", "tea and a very long walk by the sea", "cake", "bread")
    assert turns(ByBM25(), "tea bread", *texts) == ["5", "2", "1", "3"]


def test_equal_scores_keep_the_order_of_the_conversation() -> None:
    pytest.importorskip("bm25s")
    assert turns(ByBM25(), "tea", "tea", "cake", "tea", "tea") == ["1", "3", "4"]


def test_bm25_of_a_conversation_without_words_finds_nothing() -> None:
    pytest.importorskip("bm25s")
    assert turns(ByBM25(), "tea", "…", "!") == []


def test_without_its_package_bm25_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match=r"symfonic-memory\[eval\]") as caught:
        ByBM25()
    assert caught.value.facts["extra"] == "eval"
