"""What is unread: which rows a pass takes, and when a row counts as read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.records import EPOCH, Use
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_session, make_turn
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    READS_TOUCHED,
    ContractBase,
    add,
    commit,
    waiting,
    write,
)

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.store import MemoryStore, PendingRow

START = NOW - timedelta(days=1)
HOUR = (NOW - EPOCH) // timedelta(hours=1) - 1


def taken(
    store: MemoryStore, phase: str = "reading", *, until: datetime = NOW, cap: int = 1000
) -> tuple[list[PendingRow], int]:
    """The rows that a pass takes, and how many there are in all."""
    with store.snapshot(OWN) as reader:
        return reader.pending(phase, until=until, cap=cap)


class PendingContract(ContractBase):
    """Unread rows, per phase."""

    def test_a_pass_takes_half_the_newest_and_half_the_oldest(self, store: MemoryStore) -> None:
        ids = add(store, make_session(*"abcdefghij", start=START)).ids
        rows, total = taken(store, cap=4)
        assert total == 10
        assert {row.record for row in rows} == {ids[0], ids[1], ids[8], ids[9]}

    def test_the_odd_row_of_a_cap_goes_to_the_newest(self, store: MemoryStore) -> None:
        ids = add(store, make_session(*"abcdefghij", start=START)).ids
        assert {row.record for row in taken(store, cap=3)[0]} == {ids[0], ids[8], ids[9]}
        assert {row.record for row in taken(store, cap=1)[0]} == {ids[9]}

    def test_fewer_rows_than_the_cap_are_each_taken_once(self, store: MemoryStore) -> None:
        ids = add(store, make_session("a", "b", "c", start=START)).ids
        rows, total = taken(store, cap=5)
        assert sorted(row.record for row in rows) == sorted(ids)
        assert total == 3

    def test_only_subscribed_kinds_are_unread(self, store: MemoryStore) -> None:
        write(store, make_entity())
        assert waiting(store, "reading") == set()
        assert waiting(store, "another phase") == set()

    def test_rows_after_the_clock_are_neither_taken_nor_counted(self, store: MemoryStore) -> None:
        ids = add(store, make_session("a", "b", "c", start=START)).ids
        rows, total = taken(store, until=START + timedelta(minutes=1))
        assert ({row.record for row in rows}, total) == ({ids[0], ids[1]}, 2)
        assert taken(store, until=START - timedelta(microseconds=1)) == ([], 0)

    def test_a_commit_clears_the_rows_it_read(self, store: MemoryStore) -> None:
        ids = add(store, make_session("a", "b", start=START)).ids
        rows, _ = taken(store)
        commit(store, done=tuple(row for row in rows if row.record == ids[0]))
        assert waiting(store, "reading") == {ids[1]}

    def test_a_row_renewed_since_it_was_read_stays_unread(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"))
        use = Use(record=make_entity("n1").id, hour=HOUR, kind="recalled", weight=1.0)
        store.add_uses(OWN, [use], subscriptions=[READS_TOUCHED])
        read, _ = taken(store, "touched")
        store.add_uses(OWN, [use], subscriptions=[READS_TOUCHED])
        commit(store, done=tuple(read))
        assert waiting(store, "touched") == {"n1"}
        again, _ = taken(store, "touched")
        commit(store, done=tuple(again))
        assert waiting(store, "touched") == set()

    def test_a_row_queued_by_a_commit_is_unread_even_if_the_commit_read_it(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1"))
        commit(store, queue={"reading": ("n1",)})
        read, _ = taken(store)
        commit(store, done=tuple(read), queue={"reading": ("n1",)})
        assert waiting(store, "reading") == {"n1"}

    def test_a_queued_record_that_is_not_there_is_left_out(self, store: MemoryStore) -> None:
        commit(store, queue={"reading": ("nobody",)})
        assert waiting(store, "reading") == set()

    def test_reading_again_makes_all_of_a_kind_unread_but_what_was_just_read(
        self, store: MemoryStore
    ) -> None:
        ids = add(store, make_session("a", "b", "c", start=START)).ids
        commit(store, done=tuple(taken(store)[0]))
        commit(store, queue={"reading": (ids[0],)})
        rows, _ = taken(store)
        commit(store, done=tuple(rows), reread={"reading": ("episode",)})
        assert waiting(store, "reading") == {ids[1], ids[2]}

    def test_a_use_makes_its_record_unread_only_for_phases_that_read_what_is_touched(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1"))
        use = Use(record=make_entity("n1").id, hour=HOUR, kind="recalled", weight=1.0)
        store.add_uses(OWN, [use], subscriptions=[READS_TOUCHED])
        assert waiting(store, "touched") == {"n1"}
        assert waiting(store, "reading") == set()

    def test_a_known_turn_does_not_become_unread_again(self, store: MemoryStore) -> None:
        turns = [make_turn("a", at=START, source_id="m1")]
        add(store, turns)
        commit(store, done=tuple(taken(store)[0]))
        add(store, turns)
        assert waiting(store, "reading") == set()
