"""Taking turns in: what is known, re-sent, repeated or forgotten is recognised."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.testing.builders import (
    HALF_LIFE_HOURS,
    NOW,
    make_session,
    make_turn,
)
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    ContractBase,
    add,
    dumped,
    only,
    session_texts,
)

if TYPE_CHECKING:
    from symfonic.capabilities.memory.store import MemoryStore, Turn

TALK = ("Good morning.", "The parcel is late.", "I will ask the courier.", "Thank you.")


def live(*texts: str) -> list[Turn]:
    """Turns as a live loop hands them over: without ids and positions."""
    return [make_turn(text, position=None, importer="live") for text in texts]


class IngestContract(ContractBase):
    """What becomes of turns."""

    def test_ids_are_keyed_with_the_salt_of_the_scope(self, store: MemoryStore) -> None:
        for path, salt in (("x", b"one"), ("y", b"one"), ("z", b"two")):
            store.ensure_scope(Scope(path), half_life_hours=HALF_LIFE_HOURS, salt=salt)
        ids = [add(store, make_session(*TALK), Scope(path)).ids for path in ("x", "y", "z")]
        assert len(ids[0]) == len(TALK)
        assert ids[0] == ids[1]
        assert not set(ids[0]) & set(ids[2])

    def test_a_scope_keeps_its_first_salt(self, store: MemoryStore) -> None:
        store.ensure_scope(OWN, half_life_hours=1.0, salt=b"another")
        with store.snapshot(OWN) as reader:
            assert reader.state.salt == OWN.path.encode()
            assert reader.state.half_life_hours == HALF_LIFE_HOURS

    def test_a_salt_that_is_not_given_is_random(self, store: MemoryStore) -> None:
        salts = set()
        for path in ("x", "y"):
            store.ensure_scope(Scope(path), half_life_hours=HALF_LIFE_HOURS, salt=None)
            with store.snapshot(Scope(path)) as reader:
                salts.add(reader.state.salt)
        assert len(salts) == 2
        assert min(map(len, salts)) >= 16

    def test_the_same_turns_again_add_nothing(self, store: MemoryStore) -> None:
        turns = make_session(*TALK, prefix="m")
        assert add(store, turns).added == len(TALK)
        before = dumped(store)
        again = add(store, turns)
        assert (again.added, again.known, again.ids) == (0, len(TALK), ())
        assert dumped(store) == before

    def test_the_same_turns_without_ids_again_add_nothing(self, store: MemoryStore) -> None:
        add(store, make_session(*TALK))
        assert add(store, make_session(*TALK)).known == len(TALK)
        assert session_texts(store) == list(TALK)

    def test_a_longer_file_adds_what_is_new(self, store: MemoryStore) -> None:
        add(store, make_session(*TALK[:2], prefix="m"))
        longer = add(store, make_session(*TALK, prefix="m"))
        assert (longer.added, longer.known) == (2, 2)
        assert session_texts(store) == list(TALK)

    def test_a_conversation_sent_again_under_new_ids_adds_only_its_tail(
        self, store: MemoryStore
    ) -> None:
        add(store, make_session(*TALK[:3], prefix="m"))
        renamed = make_session(*TALK, prefix="trace-")
        again = add(store, renamed)
        assert (again.added, again.known) == (1, 3)
        assert session_texts(store) == list(TALK)
        assert add(store, renamed).added == 0
        assert session_texts(store) == list(TALK)

    def test_a_turn_that_comes_late_is_added_where_it_belongs(self, store: MemoryStore) -> None:
        turns = make_session("Yes.", "Yes.", "Then go.", "Yes.", prefix="m")
        add(store, [turns[0], *turns[2:]])
        late = add(store, turns)
        assert (late.added, late.known) == (1, 3)
        assert session_texts(store) == ["Yes.", "Yes.", "Then go.", "Yes."]

    def test_a_live_history_sent_again_whole_adds_only_its_tail(self, store: MemoryStore) -> None:
        add(store, live(*TALK[:2]))
        assert add(store, live(*TALK)).added == 2
        assert add(store, live(*TALK)).added == 0
        assert session_texts(store) == list(TALK)

    def test_another_session_with_the_same_words_is_another_one(self, store: MemoryStore) -> None:
        add(store, make_session(*TALK, prefix="m"))
        other = make_session(*TALK, session="s2", prefix="n")
        assert add(store, other).added == len(TALK)

    def test_two_equal_turns_stay_two(self, store: MemoryStore) -> None:
        added = add(store, make_session("Yes.", "Yes."))
        assert (added.added, len(set(added.ids))) == (2, 2)
        assert session_texts(store) == ["Yes.", "Yes."]

    def test_two_equal_live_turns_said_one_after_the_other_stay_two(
        self, store: MemoryStore
    ) -> None:
        for text in ("Shall I?", "Yes.", "And then?", "Yes."):
            add(store, live(text))
        assert session_texts(store) == ["Shall I?", "Yes.", "And then?", "Yes."]

    def test_a_live_turn_stands_after_the_last_one_of_its_session(self, store: MemoryStore) -> None:
        ids = add(store, live("one", "two")).ids + add(store, live("three")).ids
        assert [only(store, i).position for i in ids] == [0, 1, 2]

    def test_a_forgotten_source_stays_forgotten(self, store: MemoryStore) -> None:
        turns = make_session(*TALK, prefix="m")
        ids = add(store, turns).ids
        store.forget(OWN, ids[:2], subscriptions=())
        again = add(store, turns)
        assert (again.added, again.known, again.forgotten) == (0, 2, 2)
        assert session_texts(store) == list(TALK[2:])

    def test_a_time_that_was_not_stated_is_the_time_of_ingest(self, store: MemoryStore) -> None:
        stated = NOW - timedelta(days=3)
        turns = [make_turn("a", at=stated), make_turn("b", position=1)]
        first, second = (only(store, i) for i in add(store, turns).ids)
        assert (first.at, first.recorded_at) == (stated, NOW)
        assert (second.at, second.occurred_at) == (NOW, None)

    def test_a_time_to_come_counts_as_the_time_of_ingest(self, store: MemoryStore) -> None:
        tomorrow = NOW + timedelta(days=1)
        (i,) = add(store, [make_turn("a", at=tomorrow)]).ids
        assert (only(store, i).occurred_at, only(store, i).at) == (tomorrow, NOW)

    def test_an_interrupted_ingest_goes_on_where_it_stopped(self, store: MemoryStore) -> None:
        mark = store.begin_ingest(OWN, "digest", now=NOW)
        assert not mark.counts
        kept = type(mark)(number=mark.number, counts={"checkpoint": 7})
        turns = make_session(*TALK)
        store.add_turns(OWN, turns, now=NOW, subscriptions=(), mark=lambda _: kept)
        assert store.begin_ingest(OWN, "digest", now=NOW) == kept
        store.end_ingest(OWN, kept)
        again = store.begin_ingest(OWN, "digest", now=NOW)
        assert (again.number != mark.number, again.counts) == (True, {})
