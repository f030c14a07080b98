"""Vectors: kept with their record, gone with its words, compared only with their own kind."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import Change
from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
from symfonic.capabilities.memory.errors import InputError, StaleWrite
from symfonic.capabilities.memory.records import KINDS, RecordId
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode
from symfonic.capabilities.memory.testing.contract.base import (
    CHILD,
    OWN,
    SETUP,
    ContractBase,
    commit,
    edit,
    only,
    write,
)

if TYPE_CHECKING:
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import MemoryStore

PAIR = EmbedderIdentity(name="pair", version="1", dimensions=2)
NEWER = EmbedderIdentity(name="pair", version="2", dimensions=2)


def turned(degrees: float) -> bytes:
    """A vector of unit length, so far turned from the first axis."""
    angle = math.radians(degrees)
    return struct.pack("<2f", math.cos(angle), math.sin(angle))


def embed(store: MemoryStore, scope: Scope = OWN, /, **degrees: float) -> int:
    """Keep a vector for each of these records; how many were kept."""
    store.set_embedder(scope, PAIR)
    with store.snapshot(scope) as reader:
        waiting = {record.id: record for record in reader.unembedded(limit=999)}
    rows = [(RecordId(i), waiting[RecordId(i)].version, turned(d)) for i, d in degrees.items()]
    return store.add_vectors(scope, PAIR, rows)


def near(store: MemoryStore, scope: Scope = OWN, limit: int = 9) -> list[str]:
    """The ids of what is nearest to the first axis."""
    with store.snapshot(scope) as reader:
        hits = reader.nearest(turned(0), PAIR, kinds=KINDS, limit=limit)
    return [hit.record.id for hit in hits]


def waiting(store: MemoryStore) -> list[str]:
    """The ids of what is to get a vector."""
    with store.snapshot(OWN) as reader:
        return [record.id for record in reader.unembedded(limit=99)]


class VectorContract(ContractBase):
    """Keeping vectors and finding by them."""

    def test_a_scope_without_an_embedder_keeps_nothing(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"))
        assert waiting(store) == []
        assert near(store) == []
        with store.snapshot(OWN) as reader:
            assert reader.embedder() is None
            assert reader.vector_counts() == (0, 0)

    def test_what_is_there_and_what_comes_is_to_get_a_vector(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"), make_entity("n1"))
        store.set_embedder(OWN, PAIR)
        write(store, make_episode("e2"), make_entity("n2"))
        assert waiting(store) == ["e1", "e2"]
        assert embed(store, e1=0) == 1
        assert waiting(store) == ["e2"]
        with store.snapshot(OWN) as reader:
            assert reader.embedder() == PAIR
            assert reader.vector_counts() == (1, 1)

    def test_the_nearest_come_first(self, store: MemoryStore) -> None:
        write(store, *(make_episode(f"e{n}") for n in range(5)))
        embed(store, e0=80, e1=10, e2=170, e3=40, e4=0)
        assert near(store) == ["e4", "e1", "e3", "e0", "e2"]
        assert near(store, limit=2) == ["e4", "e1"]
        with store.snapshot(OWN) as reader:
            hits = reader.nearest(turned(0), PAIR, kinds=KINDS, limit=9)
            found = reader.similarities(turned(0), PAIR, ["e1", "e2", "nobody"])
        assert hits[0].score == pytest.approx(1.0)
        assert found == {h.record.id: h.score for h in hits if h.record.id in {"e1", "e2"}}
        assert found[RecordId("e2")] == pytest.approx(math.cos(math.radians(170)), abs=1e-6)

    def test_of_equals_the_older_comes_first(self, store: MemoryStore) -> None:
        write(store, *(make_episode(f"e{n}") for n in range(40)))
        embed(store, OWN, **{f"e{n}": 5.0 for n in range(40)})
        assert near(store, limit=3) == ["e0", "e1", "e2"]

    def test_only_the_kinds_and_the_time_asked_for(self, store: MemoryStore) -> None:
        days = [NOW - n * timedelta(days=1) for n in range(60)]
        write(store, *(make_episode(f"e{n}", at=at) for n, at in enumerate(days)))
        embed(store, OWN, **{f"e{n}": float(n) for n in range(60)})
        with store.snapshot(OWN) as reader:
            old = reader.nearest(turned(0), PAIR, kinds=KINDS, limit=2, until=days[49])
            new = reader.nearest(turned(90), PAIR, kinds=KINDS, limit=1, since=days[2])
            assert reader.nearest(turned(0), PAIR, kinds=["fact"], limit=9) == []
        assert [hit.record.id for hit in old] == ["e50", "e51"]
        assert [hit.record.id for hit in new] == ["e2"]

    def test_an_ancestors_vectors_are_found_if_they_are_of_the_same_embedder(
        self, store: MemoryStore
    ) -> None:
        write(store, make_episode("e1"))
        write(store, make_episode("c1", scope=CHILD.path), scope=CHILD)
        embed(store, e1=10)
        embed(store, CHILD, c1=20)
        assert near(store, CHILD) == ["e1", "c1"]
        assert near(store) == ["e1"]
        store.set_embedder(OWN, NEWER)
        assert near(store, CHILD) == ["c1"]

    def test_another_embedder_begins_anew_and_the_same_one_goes_on(
        self, store: MemoryStore
    ) -> None:
        write(store, make_episode("e1"), make_episode("e2"))
        embed(store, e1=10)
        store.set_embedder(OWN, PAIR)
        assert near(store) == ["e1"]
        store.set_embedder(OWN, NEWER)
        assert near(store) == []
        assert waiting(store) == ["e1", "e2"]
        with pytest.raises(StaleWrite, match="pair@2"):
            store.add_vectors(OWN, PAIR, [(RecordId("e1"), 1, turned(0))])
        store.set_embedder(OWN, None)
        assert waiting(store) == []

    def test_a_vector_of_another_length_is_refused_with_the_batch(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"), make_episode("e2"))
        store.set_embedder(OWN, PAIR)
        with store.snapshot(OWN) as reader:
            one, two = reader.unembedded(limit=9)
        rows = [(one.id, one.version, turned(0)), (two.id, two.version, turned(0)[:4])]
        with pytest.raises(InputError, match="e2"):
            store.add_vectors(OWN, PAIR, rows)
        assert waiting(store) == ["e1", "e2"]

    def test_a_record_that_changed_meanwhile_is_passed_over(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"))
        store.set_embedder(OWN, PAIR)
        before = only(store, "e1")
        commit(store, edit(before, replace(before, text="Other words.")))
        assert store.add_vectors(OWN, PAIR, [(before.id, before.version, turned(0))]) == 0
        assert waiting(store) == ["e1"]

    def test_a_new_wording_takes_the_vector_away_and_a_new_strength_does_not(
        self, store: MemoryStore
    ) -> None:
        write(store, make_episode("e1"), make_episode("e2"))
        embed(store, e1=0, e2=10)
        commit(store, edit(only(store, "e1"), replace(only(store, "e1"), text="Other words.")))
        commit(store, edit(only(store, "e2"), replace(only(store, "e2"), strength=12_345)))
        assert near(store) == ["e2"]
        assert waiting(store) == ["e1"]

    def test_forgetting_and_taking_away_take_the_vector_too(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"), make_episode("e2"), make_episode("e3"))
        embed(store, e1=0, e2=10)
        store.forget(OWN, ["e1"], subscriptions=())
        commit(store, *(Change(group=SETUP, operation="remove", table="record", row=(i,))
                        for i in ("e2", "e3")))  # fmt: skip
        with store.snapshot(OWN) as reader:
            assert reader.vector_counts() == (0, 0)
        assert near(store) == []
        assert store.check() == []

    def test_what_is_hidden_is_not_found_and_is_found_again(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"))
        embed(store, e1=0)
        commit(store, edit(only(store, "e1"), replace(only(store, "e1"), state="archived")))
        assert near(store) == []
        with store.snapshot(OWN) as reader:
            assert reader.vector_counts() == (1, 0)

    def test_what_was_asked_before_a_change_is_not_answered_from_memory(
        self, store: MemoryStore
    ) -> None:
        write(store, make_episode("e1"), make_episode("e2"))
        embed(store, e1=30)
        assert near(store) == ["e1"]
        embed(store, e2=10)
        assert near(store) == ["e2", "e1"]
        store.forget(OWN, ["e2"], subscriptions=())
        assert near(store) == ["e1"]
