"""Laws of recall: what one scope answers follows from its own rows and its ancestors' alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.embedding.checked import packed
from symfonic.capabilities.memory.embedding.protocol import identity_of
from symfonic.capabilities.memory.recall import recall
from symfonic.capabilities.memory.recall_scoring import DEFAULT_WEIGHTS
from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.testing.builders import NOW, make_memory, make_turn
from symfonic.capabilities.memory.testing.embedders import HashedWords

if TYPE_CHECKING:
    from symfonic.capabilities.memory.recall import Recall
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Turn

ROOT, OWN, SIBLING, BELOW = Scope("acme"), Scope("acme/ana"), Scope("acme/ben"), Scope("acme/ana/x")
FEW = replace(DEFAULT_WEIGHTS, candidates=3, nearest=3)
MEANS = HashedWords()
WORDS = ("kettle", "boat", "paint", "cellar", "Marta", "Friday", "kettles", "boats")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def turns(texts: list[str], name: str) -> list[Turn]:
    return [
        make_turn(text, session=name, position=n, source_id=f"{name}{n}")
        for n, text in enumerate(texts)
    ]


def told(memory: Memory, scope: Scope, texts: list[str]) -> None:
    memory.store.ensure_scope(scope, half_life_hours=720.0, salt=scope.path.encode())
    memory.store.add_turns(scope, turns(texts, scope.path), now=NOW, subscriptions=())


def answer(memory: Memory, query: str) -> Recall:
    with memory.store.snapshot(OWN) as reader:
        return recall(reader, query, now=NOW, limit=50, explain=True, weights=FEW)


@given(st.lists(TEXTS, min_size=4, max_size=14), TEXTS, st.lists(TEXTS, min_size=1, max_size=30))
def test_what_another_scope_holds_changes_no_row_order_or_score(
    own: list[str], query: str, others: list[str]
) -> None:
    memory = make_memory()
    told(memory, ROOT, own[:2])
    told(memory, OWN, own[2:])
    before = answer(memory, query)
    told(memory, SIBLING, others)
    told(memory, BELOW, others)
    assert answer(memory, query) == before


@given(st.lists(TEXTS, min_size=3, max_size=14), TEXTS, st.lists(TEXTS, min_size=1, max_size=30))
def test_it_makes_no_difference_who_came_first(
    own: list[str], query: str, others: list[str]
) -> None:
    first, second = make_memory(), make_memory()
    told(first, SIBLING, others)
    for memory in (first, second):
        told(memory, ROOT, [])
        told(memory, OWN, own)
    assert answer(first, query) == answer(second, query)


def near(memory: Memory, query: str) -> Recall:
    """The answer by words and vectors."""
    (row,), _ = packed(MEANS.embed_queries([query]), MEANS, ["the question"])
    assert row is not None
    embedded = EmbeddedQuery(vector=row, identity=identity_of(MEANS))
    with memory.store.snapshot(OWN) as reader:
        return recall(
            reader, query, now=NOW, limit=50, explain=True, weights=FEW, embedded=embedded
        )


@given(st.lists(TEXTS, min_size=4, max_size=9), TEXTS, st.lists(TEXTS, min_size=1, max_size=9))
def test_vectors_of_another_scope_change_nothing_either(
    own: list[str], query: str, others: list[str]
) -> None:
    memory = make_memory()
    told(memory, ROOT, own[:2])
    told(memory, OWN, own[2:])
    for scope in (ROOT, OWN):
        memory.embed(scope.path, embedder=MEANS)
    before = near(memory, query)
    for scope in (SIBLING, BELOW):
        told(memory, scope, others)
        memory.embed(scope.path, embedder=MEANS)
    assert near(memory, query) == before
