"""Windows of conversation: what is counted of them, and what a forgetting leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.records import EPOCH, RecordId, Seen
from symfonic.capabilities.memory.store import WINDOW_LENGTH, Commit, Shared, Subscription
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode, make_link
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    ContractBase,
    dumped,
    waiting,
    write,
)

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.store import MemoryStore

DAY = timedelta(days=1)
SAID = NOW - 200 * DAY
READER = "pairs"
KEEPS_WINDOWS = Subscription(phase=READER, reads=(), reads_mentions=True)


def member(episode: str, key: str, *, window: int = 0, at: datetime = SAID) -> Seen:
    """That a name stands in a window of the session that its episode names."""
    return Seen(
        episode=RecordId(episode), reader=READER, kind="window", key=key,
        session=episode.partition(".")[0], window=window, at=at,
    )  # fmt: skip


def keep(store: MemoryStore, *rows: Seen) -> None:
    """Keep what windows hold; all rows of a window at once."""
    store.commit(OWN, Commit(kind="deep", clock=NOW, seen=rows), lease=None)


def talk(store: MemoryStore, *sessions: str, names: tuple[str, ...] = ("a", "b")) -> None:
    """A turn in each of these sessions that mentions all the names, and what is kept of it."""
    for number, session in enumerate(sessions):
        at = SAID + number * DAY
        write(store, make_episode(f"{session}.0", session=session, at=at))
        write(store, *(make_link(f"{session}.0", name, at=at) for name in names))
        keep(store, *(member(f"{session}.0", name, at=at) for name in names))


def together(store: MemoryStore, count: int, *, at: datetime = SAID) -> None:
    """Link two names as standing together in so many windows."""
    write(store, make_link("a", "b", kind="co_occurred", count=count, at=at))


def linked(store: MemoryStore) -> list[tuple[int, datetime]]:
    """Count and time of the link between the two names, if there is one."""
    with store.snapshot(OWN) as reader:
        links = reader.links(["a"], kinds=["co_occurred"], direction="out", per_record=9)
    return [(link.count, link.at) for link in links]


class WindowContract(ContractBase):
    """What is kept of windows, counted, and forgotten."""

    def test_windows_give_the_mentions_of_their_positions(self, store: MemoryStore) -> None:
        write(
            store, make_entity("a"),
            *(make_episode(f"e{n}", position=n) for n in (0, 19, 20)),
            make_episode("late", position=3, at=NOW + DAY),
        )  # fmt: skip
        write(store, *(make_link(i, "a") for i in ("e0", "e19", "e20", "late")))
        with store.snapshot(OWN) as reader:
            rows = reader.windows([("s1", 0), ("s9", 0)], length=20, until=NOW)
            assert reader.windows([], length=20, until=NOW) == []
        assert {(r.link.source, r.position) for r in rows} == {("e0", 0), ("e19", 19)}

    def test_what_is_kept_of_a_window_is_replaced_whole(self, store: MemoryStore) -> None:
        keep(store, member("s.0", "a"), member("s.0", "b"), member("s.30", "a", window=1))
        keep(store, member("s.1", "c"))
        with store.snapshot(OWN) as reader:
            rows = reader.kept_windows(READER, [("s", 0), ("s", 1)])
            assert reader.kept_windows("another", [("s", 0)]) == []
        assert {(r.window, r.key, r.episode) for r in rows} == {(0, "c", "s.1"), (1, "a", "s.30")}

    def test_a_window_that_holds_nothing_any_more_is_emptied(self, store: MemoryStore) -> None:
        keep(store, member("s.0", "a"))
        nothing = replace(member("", "", at=EPOCH), kind="nothing", session="s")
        keep(store, nothing)
        with store.snapshot(OWN) as reader:
            assert reader.kept_windows(READER, [("s", 0)]) == []

    def test_shared_windows_are_counted_and_dated(self, store: MemoryStore) -> None:
        for n in range(4):
            rows = [member(f"s{n}.0", "a", at=SAID + n * DAY)]
            if n < 3:
                rows.append(member(f"s{n}.1", "b", at=SAID + (n + 5) * DAY))
            keep(store, *rows, member(f"t{n}.0", "c"))
        pairs = [("a", "b"), ("a", "c")]
        with store.snapshot(OWN) as reader:
            found = reader.shared_windows(READER, pairs, without=(), most=9)
            fewer = reader.shared_windows(READER, pairs, without=[("s2", 0), ("s9", 4)], most=9)
            newest = reader.shared_windows(READER, pairs, without=(), most=2)
            assert reader.shared_windows(READER, [], without=(), most=9) == {}
            counts = reader.window_counts(READER, ["a", "b", "z"], without=[("s0", 0)], most=2)
        assert found == {("a", "b"): Shared(count=3, at=SAID + 7 * DAY)}
        assert fewer == {("a", "b"): Shared(count=2, at=SAID + 6 * DAY)}
        assert newest == {("a", "b"): Shared(count=1, at=SAID + 7 * DAY)}  # of a's newest two
        assert counts == {"a": 2, "b": 2, "z": 0}

    def test_a_forgotten_episode_takes_what_is_kept_of_its_window(self, store: MemoryStore) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t", "u")
        write(store, make_episode("s.1", session="s", position=1))
        write(store, make_episode("s.20", session="s", position=WINDOW_LENGTH))
        together(store, 3, at=SAID + 2 * DAY)
        store.forget(OWN, ["s.0"], subscriptions=[KEEPS_WINDOWS])
        with store.snapshot(OWN) as reader:
            assert reader.kept_windows(READER, [("s", 0)]) == []
            assert len(reader.kept_windows(READER, [("t", 0), ("u", 0)])) == 4
        assert linked(store) == [(2, SAID + 2 * DAY)]
        assert waiting(store, READER) == {"s.1"}
        assert store.check() == []

    def test_a_pair_that_is_left_in_one_window_is_linked_no_more(self, store: MemoryStore) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t")
        together(store, 2)
        store.forget(OWN, ["t.0"], subscriptions=[KEEPS_WINDOWS])
        assert linked(store) == []
        assert waiting(store, READER) == set()

    def test_a_window_of_one_name_lowers_nothing(self, store: MemoryStore) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t")
        talk(store, "u", names=("a",))
        together(store, 2, at=SAID + DAY)
        before = [row for row in dumped(store, tables=["link"]) if "co_occurred" in row]
        store.forget(OWN, ["u.0"], subscriptions=[KEEPS_WINDOWS])
        assert [row for row in dumped(store, tables=["link"]) if "co_occurred" in row] == before

    def test_a_link_moves_back_to_the_windows_that_are_left(self, store: MemoryStore) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t", "u")
        together(store, 2, at=SAID + 2 * DAY)
        store.forget(OWN, ["u.0"], subscriptions=[KEEPS_WINDOWS])
        assert linked(store) == [(2, SAID + DAY)]

    def test_a_link_that_says_what_the_other_windows_say_stays_as_it_is(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t", "u")
        together(store, 2, at=SAID + 2 * DAY)
        before = [row for row in dumped(store, tables=["link"]) if "co_occurred" in row]
        store.forget(OWN, ["s.0"], subscriptions=[KEEPS_WINDOWS])
        assert [row for row in dumped(store, tables=["link"]) if "co_occurred" in row] == before

    def test_a_forgotten_name_stands_in_no_window(self, store: MemoryStore) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t")
        together(store, 2)
        store.forget(OWN, ["b"], subscriptions=[KEEPS_WINDOWS])
        assert [row for row in dumped(store, tables=["seen", "link"]) if '"b"' in row] == []
        with store.snapshot(OWN) as reader:
            assert {r.key for r in reader.kept_windows(READER, [("s", 0), ("t", 0)])} == {"a"}

    def test_a_forgotten_episode_is_named_in_no_kept_row(self, store: MemoryStore) -> None:
        write(store, make_entity("a"), make_entity("b", "Bob"))
        talk(store, "s", "t")
        store.forget(OWN, ["s.0", "t.0"], subscriptions=())
        assert dumped(store, tables=["seen", "link", "pending"]) == []
        assert store.check() == []
