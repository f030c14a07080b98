"""Which episodes no night has come to: what a walk through history goes by."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.testing.builders import NOW, make_session, make_turn
from symfonic.capabilities.memory.testing.contract.base import OWN, ContractBase, add

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.outcome import RunKind
    from symfonic.capabilities.memory.store import MemoryStore

DAY = timedelta(days=1)


def said(store: MemoryStore, *days: int) -> None:
    """A turn so many days before the night."""
    for day in days:
        at = NOW - day * DAY
        add(store, [make_turn(f"day {day}", session=f"d{day}", at=at, source_id=f"d{day}")])


def slept(store: MemoryStore, days: int, kind: RunKind = "deep") -> int:
    """A sleep so many days before the night that changes nothing; its number."""
    return store.commit(OWN, Commit(kind=kind, clock=NOW - days * DAY), lease=None)


def unslept(store: MemoryStore, until: datetime = NOW) -> list[int]:
    """How many days ago the episodes are that no sleep has come to."""
    with store.snapshot(OWN) as reader:
        return sorted((NOW - at).days for at in reader.unslept(until=until))


class NightsContract(ContractBase):
    """``unslept``."""

    def test_every_episode_waits_for_its_first_night(self, store: MemoryStore) -> None:
        said(store, 9, 7, 5)
        assert unslept(store) == [5, 7, 9]
        assert unslept(store, NOW - 6 * DAY) == [7, 9]
        assert unslept(store, NOW - 7 * DAY) == [7, 9]

    def test_a_night_comes_to_what_is_not_later_than_its_clock(self, store: MemoryStore) -> None:
        said(store, 9, 7, 5)
        slept(store, 7)
        assert unslept(store) == [5]

    def test_what_comes_in_after_a_night_is_new_however_old_it_is(self, store: MemoryStore) -> None:
        said(store, 5)
        slept(store, 1)
        said(store, 9, 0)
        assert unslept(store) == [0, 9]
        slept(store, 8)
        assert unslept(store) == [0]

    def test_only_deep_sleeps_come_to_episodes(self, store: MemoryStore) -> None:
        said(store, 5)
        slept(store, 1, "light")
        slept(store, 1, "user")
        store.save_plan(OWN, Commit(kind="deep", clock=NOW))
        assert unslept(store) == [5]

    def test_a_night_that_was_undone_has_come(self, store: MemoryStore) -> None:
        said(store, 5)
        number = slept(store, 1)
        store.commit(OWN, Commit(kind="undo", clock=NOW, undoes=((number, ""),)), lease=None)
        assert unslept(store) == []

    def test_forgotten_episodes_wait_for_no_night(self, store: MemoryStore) -> None:
        ids = add(store, make_session("one", "two", start=NOW - 2 * DAY, prefix="m")).ids
        store.forget(OWN, ids[:1], subscriptions=())
        assert unslept(store) == [1]
