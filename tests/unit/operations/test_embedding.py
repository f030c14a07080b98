"""Embedding a scope, and recall by what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import CollaboratorError, InputError
from symfonic.capabilities.memory.operations import embedding
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.builders import NOW, SALT
from symfonic.capabilities.memory.testing.embedders import HashedWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ME = "me"
MEANS = HashedWords(alike={"pet": "cat", "dwelling": "flat"})
NEWER = HashedWords(version="2")


def rows(count: int = 1) -> list[dict[str, Any]]:
    return [
        {"session": f"s{n}", "role": "user", "text": text, "at": "2026-02-01T10:00Z"}
        for n in range(count)
        for text in (f"My cat is called Miso {n}.", f"Rent is paid on day {n}.")
    ]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT) as opened:
        yield opened


def test_what_is_there_gets_vectors_once(memory: Memory) -> None:
    memory.ingest(rows(50), scope=ME)
    told: list[tuple[int, int]] = []
    assert memory.embed(ME, embedder=MEANS, progress=lambda *done: told.append(done)) == 100
    assert told == [(64, 100), (100, 100)]
    assert memory.embed(ME, embedder=MEANS) == 0
    assert memory.vectors(ME) == {
        "embedder": "hashed-words@1 (64 dimensions)", "vectors": 100, "waiting": 0,
    }  # fmt: skip


def test_recall_finds_by_meaning_what_shares_no_word() -> None:
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT, embedder=MEANS) as memory:
        memory.ingest(rows(), scope=ME)
        found = memory.recall("Any pet?", scope=ME, explain=True)
        assert found.items[0].text == "My cat is called Miso 0."
        assert found.items[0].parts["vector"] > 0


def test_without_an_embedder_nothing_is_found_by_meaning(memory: Memory) -> None:
    memory.ingest(rows(), scope=ME)
    memory.embed(ME, embedder=MEANS)
    assert memory.recall("Any pet?", scope=ME).items == ()


def test_text_alone_is_recalled_by_while_vectors_are_missing() -> None:
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT, embedder=MEANS) as memory:
        memory.add_turn({"role": "user", "text": "My cat is Miso."}, scope=ME, session="s")
        assert memory.recall("the cat", scope=ME).items[0].text == "My cat is Miso."
        assert memory.vectors(ME)["vectors"] == 0


def test_another_embedder_is_refused_unless_all_is_made_anew(memory: Memory) -> None:
    memory.ingest(rows(), scope=ME)
    memory.embed(ME, embedder=MEANS)
    with pytest.raises(InputError, match="--again"):
        memory.embed(ME, embedder=NEWER)
    assert memory.vectors(ME)["vectors"] == 2
    assert memory.embed(ME, embedder=NEWER, again=True) == 2
    assert memory.embed(ME, embedder=NEWER, again=True) == 2
    assert memory.vectors(ME)["embedder"] == "hashed-words@2 (64 dimensions)"


def test_no_embedder_is_an_error(memory: Memory) -> None:
    with pytest.raises(InputError, match="No embedder"):
        memory.embed(ME)


class Breaks(HashedWords):
    """Gives a vector of zeros for one text, until it is mended."""

    broken = True

    def embed_documents(self, texts: Sequence[str]) -> Any:
        found = super().embed_documents(texts)
        for number, text in enumerate(texts):
            if self.broken and "day 1." in text:
                found[number] = 0
        return found


def test_a_vector_that_is_refused_costs_only_its_own_record(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 2)
    memory.ingest(rows(3), scope=ME)
    breaks = Breaks()
    with pytest.raises(CollaboratorError, match=r"all zeros.*found by text") as caught:
        memory.embed(ME, embedder=breaks)
    named: Any = caught.value.facts["records"]
    (refused,) = named
    assert memory.records([refused], scope=ME)[refused].text == "Rent is paid on day 1."
    assert memory.vectors(ME) == {
        "embedder": "hashed-words@1 (64 dimensions)", "vectors": 5, "waiting": 1,
    }  # fmt: skip
    assert memory.recall("day 1", scope=ME).items[0].id == refused
    breaks.broken = False
    assert memory.embed(ME, embedder=breaks) == 1


class Down(HashedWords):
    """Answers nothing."""

    def embed_queries(self, texts: Sequence[str]) -> Any:
        raise CollaboratorError("The server is down.", collaborator=self.name)


class Empty(HashedWords):
    """Gives zeros for every question."""

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return [[0.0] * self.dimensions for _ in texts]


@pytest.mark.parametrize(("embedder", "why"), [(Down(), "server is down"), (Empty(), "zeros")])
def test_recall_goes_by_text_and_says_so_where_the_question_cannot_be_embedded(
    embedder: HashedWords, why: str
) -> None:
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT, embedder=embedder) as memory:
        memory.ingest(rows(), scope=ME)
        answer = memory.recall("the cat", scope=ME)
        assert answer.items[0].text == "My cat is called Miso 0."
        assert why in answer.notes[0]


def test_who_said_it_is_embedded_with_it(memory: Memory) -> None:
    memory.ingest([{**rows()[0], "name": "Ana"}], scope=ME)
    with memory.store.snapshot(Scope(ME)) as reader:
        (record,) = reader.records(reader.all_records())
    assert embedding.embedded_text(record) == "Ana: My cat is called Miso 0."
