"""What vectors add to a ranking, and what they do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.builders import NOW, SALT
from symfonic.capabilities.memory.testing.embedders import HashedWords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.recall import Recall

ME = "me"
MEANS = HashedWords(alike={"feline": "cat", "pet": "cat", "sum": "rent"})
TEXTS = (
    "The feline sleeps on the sofa.",
    "Rent is due on Monday.",
    "The boiler was serviced.",
    "A pet needs a vet.",
    "The vet is on Mill Lane.",
    "Trains run late on Sundays.",
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT, embedder=MEANS) as opened:
        opened.ingest(
            [
                {"session": f"s{n}", "role": "user", "text": text, "at": "2026-02-01T10:00Z"}
                for n, text in enumerate(TEXTS)
            ],
            scope=ME,
        )
        yield opened


def ask(memory: Memory, query: str, limit: int = 10) -> Recall:
    return memory.recall(query, scope=ME, limit=limit, explain=True, record_uses=False)


def test_the_nearest_comes_first_where_no_word_matches(memory: Memory) -> None:
    found = ask(memory, "cat", 1).items[0]
    assert found.text in {TEXTS[0], TEXTS[3]}
    assert "text" not in found.parts


def test_a_row_of_the_questions_own_words_comes_first(memory: Memory) -> None:
    found = ask(memory, "Where is the vet on Mill Lane?").items
    assert found[0].text == TEXTS[4]
    assert found[0].parts["text"] > found[0].parts["vector"]


def test_what_is_no_nearer_than_usual_and_shares_no_word_is_not_returned(memory: Memory) -> None:
    found = ask(memory, "cat").items
    assert 1 < len(found) < len(TEXTS)
    assert all(item.score > 0 for item in found)


def test_parts_still_add_up_to_the_score(memory: Memory) -> None:
    for query in ("cat", "feline on the sofa", "rent and vet"):
        for item in ask(memory, query).items:
            parts = [part for name, part in item.parts.items() if name != "strength"]
            assert sum(parts) == pytest.approx(item.score, abs=2e-3)


def test_a_question_without_a_word_to_look_for_is_asked_by_its_vector(memory: Memory) -> None:
    assert ask(memory, "What is it?").items != ()
    memory.embedder = None
    assert ask(memory, "What is it?").items == ()


@pytest.mark.parametrize("query", ["???", "--", "'\"*()^:", "\x00", "\ud800", " ", "🙂"])
def test_marks_alone_ask_for_nothing(memory: Memory, query: str) -> None:
    answer = ask(memory, query)
    assert answer.items == ()
    assert answer.notes == ("The question has no word to look for.",)


def test_without_vectors_the_answer_is_that_of_the_text(memory: Memory) -> None:
    other = EmbedderIdentity(name="other", version="1", dimensions=2)
    memory.store.set_embedder(Scope(ME), other)
    with_embedder = ask(memory, "the vet")
    memory.embedder = None
    assert ask(memory, "the vet") == with_embedder
    assert with_embedder.items[0].parts.keys().isdisjoint({"vector"})


def test_what_is_forgotten_is_not_found_by_its_vector(memory: Memory) -> None:
    first = ask(memory, "cat", 1).items[0]
    memory.forget([first.id], scope=ME)
    assert first.id not in {item.id for item in ask(memory, "cat").items}
