"""Co-occurrence: which windows count, what is kept of them, and when a link goes again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import Group, add_link, add_record, remove_link
from symfonic.capabilities.memory.collaborators import CooccurrenceRule
from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Declined, Ran
from symfonic.capabilities.memory.phases.link_cooccurring import (
    NAME,
    STRONGEST,
    link_cooccurring,
)
from symfonic.capabilities.memory.records import EPOCH, Link, RecordId
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import WINDOW_LENGTH, Commit
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.testing.builders import make_entity, make_episode, make_link
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.store import MemoryStore

ANA = Scope("acme/ana")
NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
SAID = NOW - timedelta(days=10)
MINUTE = timedelta(minutes=1)
SETUP = Group(phase="test", kind="setup", id="setup")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = open_store(":memory:")
    store.ensure_scope(ANA, half_life_hours=720.0, salt=b"salt")
    yield store
    store.close()


def turn(session: str, position: int, *names: str, at: datetime = SAID) -> list[Record | Link]:
    """An episode that mentions some names, with its links."""
    i = f"{session}-{position:03}"
    when = at + position * MINUTE
    return [
        make_episode(i, session=session, position=position, at=when),
        *(make_link(i, name, at=when) for name in names),
    ]


def fill(store: MemoryStore, *rows: Record | Link) -> None:
    apply(
        store,
        *(
            add_record(SETUP, row, "") if not isinstance(row, Link) else add_link(SETUP, row, "")
            for row in rows
        ),
    )


def apply(store: MemoryStore, *changes: Change) -> None:
    store.commit(ANA, Commit(kind="user", clock=NOW, changes=changes), lease=None)


def people(*names: str) -> list[Record]:
    return [make_entity(name, name) for name in names]


def run(
    store: MemoryStore,
    *episodes: str,
    least: int = 2,
    limits: RunLimits | None = None,
    folded: Sequence[Change] = (),
    now: datetime = NOW,
) -> Ran:
    """One pass over these unread episodes, committed."""
    phase = link_cooccurring(CooccurrenceRule(min_co_count=least))
    with store.snapshot(ANA) as reader:
        view = View(
            reader, now=now, retention=RetentionPolicy(), limits=limits or RunLimits(),
            spread_since=now, unread={NAME: [RecordId(i) for i in episodes]}, mentioning={NAME},
            fresh={}, spent={}, answers={},
        )  # fmt: skip
        view.fold(folded)
        outcome = phase.propose(view)
    assert isinstance(outcome, Ran)
    changes = (*folded, *outcome.changes)
    commit = Commit(kind="deep", clock=now, changes=changes, seen=outcome.seen)
    store.commit(ANA, commit, lease=None)
    return outcome


def linked(store: MemoryStore, *names: str) -> dict[tuple[str, str], int]:
    with store.snapshot(ANA) as reader:
        links = reader.links(names, kinds=["co_occurred"], direction="out", per_record=1000)
    return {(link.source, link.target): link.count for link in links}


def kept(store: MemoryStore, *windows: tuple[str, int]) -> dict[str, str]:
    """The names that are kept of some windows, each with the episode of its last mention."""
    with store.snapshot(ANA) as reader:
        return {row.key: row.episode for row in reader.kept_windows(NAME, windows)}


def test_without_a_source_of_mentions_it_declines_and_names_the_knob(store: MemoryStore) -> None:
    phase = link_cooccurring(None)
    with store.snapshot(ANA) as reader:
        view = View(
            reader, now=NOW, retention=RetentionPolicy(), limits=RunLimits(), spread_since=NOW,
            unread={}, fresh={}, spent={}, answers={},
        )  # fmt: skip
        outcome = phase.propose(view)
    assert isinstance(outcome, Declined)
    assert outcome.knob == "enable_entity_linker"


@pytest.mark.parametrize("count", [1, 0, True, "2"])
def test_a_count_below_two_is_refused(count: int) -> None:
    with pytest.raises(PolicyError, match="synthetic_link_min_co_count"):
        link_cooccurring(CooccurrenceRule(min_co_count=count))


def test_it_reads_mentions_up_to_the_cap_of_the_run() -> None:
    phase = link_cooccurring(CooccurrenceRule(min_co_count=2))
    assert phase.reads_mentions
    assert phase.cap(RunLimits(cooccurrence_max_episodics_per_run=7)) == 7
    assert phase.settings == phase.reading == {"synthetic_link_min_co_count": 2}


def test_one_window_links_nobody_and_is_counted(store: MemoryStore) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a"), *turn("s", 1, "b"))
    ran = run(store, "s-000", "s-001")
    assert ran.changes == ()
    assert ran.counts == {
        "windows": 1, "pairs": 1, "below_threshold": 1, "weaker_than_kept": 0, "linked": 0,
        "removed": 0,
    }  # fmt: skip
    assert ran.looked_at == 2
    assert kept(store, ("s", 0)) == {"a": "s-000", "b": "s-001"}


def test_two_windows_link_two_names_and_say_in_how_many_and_how_late(store: MemoryStore) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a", "b"), *turn("t", 0, "a"), *turn("t", 3, "b"))
    ran = run(store, "s-000", "t-000", "t-003")
    (change,) = ran.changes
    assert change.row == ("a", "co_occurred", "b")
    assert str(change.group) == f"{NAME}/pair/a+b"
    assert "in 2 windows" in change.reason
    with store.snapshot(ANA) as reader:
        (link,) = reader.links(["a"], kinds=["co_occurred"], direction="out", per_record=9)
    assert (link.count, link.at) == (2, SAID + 3 * MINUTE)
    assert ran.evidence == {"a+b": {"s-000", "t-000", "t-003"}}


def test_a_window_is_twenty_positions_of_one_session(store: MemoryStore) -> None:
    fill(
        store, *people("a", "b", "c"),
        *turn("s", WINDOW_LENGTH - 1, "a"), *turn("s", WINDOW_LENGTH, "b"),
        *turn("t", 0, "a"), *turn("u", 0, "b"), *turn("s", 2 * WINDOW_LENGTH, "a", "c"),
        *turn("s", 3 * WINDOW_LENGTH, "a", "c"),
    )  # fmt: skip
    run(store, "s-019", "s-020", "t-000", "u-000", "s-040", "s-060")
    assert linked(store, "a", "b", "c") == {("a", "c"): 2}


def test_an_episode_of_no_session_stands_in_no_window(store: MemoryStore) -> None:
    alone = replace(make_episode("e"), session=None, position=None)
    fill(store, *people("a", "b"), alone, make_link("e", "a"), make_link("e", "b"))
    ran = run(store, "e")
    assert (ran.looked_at, ran.counts["windows"], ran.seen) == (1, 0, ())


def test_a_mention_that_this_run_adds_counts_and_one_it_takes_away_does_not(
    store: MemoryStore,
) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a", "b"), *turn("t", 0, "a"), *turn("u", 0, "b"))
    new = add_link(SETUP, make_link("t-000", "b", at=SAID), "")
    gone = remove_link(SETUP, "s-000", "mentions", "b", "")
    ran = run(store, "s-000", "u-000", folded=[new, gone])
    assert ran.looked_at == 3
    assert ran.counts["pairs"] == 1
    assert kept(store, ("s", 0)) == {"a": "s-000"}
    assert kept(store, ("t", 0)) == {"a": "t-000", "b": "t-000"}


def test_earlier_windows_are_counted_from_what_was_kept(store: MemoryStore) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a", "b"))
    run(store, "s-000")
    fill(store, *turn("t", 0, "a", "b"))
    run(store, "t-000")
    assert linked(store, "a") == {("a", "b"): 2}
    fill(store, *turn("u", 0, "a", "b"))
    run(store, "u-000", least=4)
    assert linked(store, "a") == {}


def test_windows_in_any_order_end_in_the_same_links_and_kept_rows(store: MemoryStore) -> None:
    late, early = turn("s", 5, "a", "b", at=SAID + timedelta(days=3)), turn("t", 0, "a", "b")
    found = []
    for order in ((late, early), (early, late)):
        one = open_store(":memory:")
        one.ensure_scope(ANA, half_life_hours=720.0, salt=b"salt")
        fill(one, *people("a", "b"))
        for rows in order:
            fill(one, *rows)
            run(one, str(rows[0].id))  # type: ignore[union-attr]
        with one.snapshot(ANA) as reader:
            links = reader.links(["a"], kinds=["co_occurred"], direction="out", per_record=9)
            rows_kept = reader.kept_windows(NAME, [("s", 0), ("t", 0)])
        found.append(([replace(k, version=0) for k in links], sorted(rows_kept, key=repr)))
        one.close()
    assert found[0] == found[1]
    assert found[0][0][0].at == SAID + timedelta(days=3) + 5 * MINUTE


def test_a_window_read_again_as_it_was_changes_nothing(store: MemoryStore) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a", "b"), *turn("t", 0, "a", "b"))
    run(store, "s-000", "t-000")
    again = run(store, "s-000", "t-000")
    assert (again.changes, again.seen) == ((), ())


def test_a_name_said_again_in_a_window_moves_its_date_and_no_count(store: MemoryStore) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a", "b"), *turn("t", 0, "a", "b"))
    run(store, "s-000", "t-000")
    fill(store, *turn("t", 7, "b"))
    (change,) = run(store, "t-007").changes
    assert change.after["count"] == 2
    assert kept(store, ("t", 0)) == {"a": "t-000", "b": "t-007"}


def test_a_window_that_lost_a_name_lowers_its_links_and_below_two_takes_them_away(
    store: MemoryStore,
) -> None:
    fill(store, *people("a", "b"), *(r for s in "stu" for r in turn(s, 0, "a", "b")))
    run(store, "s-000", "t-000", "u-000")
    assert linked(store, "a") == {("a", "b"): 3}
    for session, expected in (("s", {("a", "b"): 2}), ("t", {})):
        apply(store, remove_link(SETUP, f"{session}-000", "mentions", "b", ""))
        run(store, f"{session}-000")
        assert linked(store, "a") == expected
    apply(store, remove_link(SETUP, "u-000", "mentions", "b", ""))
    ran = run(store, "u-000")
    assert (ran.changes, ran.counts["removed"]) == ((), 0)


def test_a_window_that_names_nobody_any_more_keeps_nothing(store: MemoryStore) -> None:
    fill(store, *people("a"), *turn("s", 0, "a"))
    run(store, "s-000")
    apply(store, remove_link(SETUP, "s-000", "mentions", "a", ""))
    (row,) = run(store, "s-000").seen
    assert (row.kind, row.window, row.at) == ("nothing", 0, EPOCH)
    assert kept(store, ("s", 0)) == {}


def test_a_higher_threshold_takes_weaker_links_away(store: MemoryStore) -> None:
    fill(store, *people("a", "b", "c"), *(r for s in "stu" for r in turn(s, 0, "a", "b")),
         *turn("v", 0, "a", "c"), *turn("w", 0, "a", "c"))  # fmt: skip
    run(store, "s-000", "t-000", "u-000", "v-000", "w-000")
    assert linked(store, "a") == {("a", "b"): 3, ("a", "c"): 2}
    ran = run(store, "s-000", least=3)
    assert linked(store, "a") == {("a", "b"): 3}
    assert ran.counts["removed"] == 1


def test_of_a_long_list_those_mentioned_most_often_count(store: MemoryStore) -> None:
    names = [f"n{n:02}" for n in range(STRONGEST + 3)]
    rows = [r for s in "st" for r in turn(s, 0, *names)]
    rows += [r for s in "st" for r in turn(s, 1, *names[5:])]
    fill(store, *people(*names), *rows)
    run(store, "s-000", "t-000")
    found = {end for pair in linked(store, *names) for end in pair}
    assert found == {*names[5:], *names[:2]}
    assert len(found) == STRONGEST


def test_a_hub_keeps_its_closest_links(store: MemoryStore) -> None:
    """``far`` is met without the hub as often as with it, the others never."""
    rows: list[Record | Link] = []
    for name in ("one", "two", "three"):
        rows += [row for n in range(3) for row in turn(f"{name}{n}", 0, "hub", name)]
    for n in range(4):
        rows += turn(f"far{n}", 0, "far", *(["hub"] if n < 2 else []))
    fill(store, *people("hub", "one", "two", "three", "far"), *rows)
    ids = [str(row.id) for row in rows if not isinstance(row, Link)]
    ran = run(store, *ids, limits=RunLimits(hub_degree=3))
    pairs = linked(store, "hub", "one", "two", "three", "far")
    assert pairs == {("hub", "one"): 3, ("hub", "three"): 3, ("hub", "two"): 3}
    assert ran.counts["weaker_than_kept"] == 1


def test_a_link_gives_way_to_a_closer_one(store: MemoryStore) -> None:
    limits = RunLimits(hub_degree=1)
    fill(store, *people("x", "old", "new"),
         *(r for s in "st" for r in turn(s, 0, "old", "x")), *turn("u", 0, "old"))  # fmt: skip
    run(store, "s-000", "t-000", "u-000", limits=replace(limits, hub_degree=3))
    assert linked(store, "old") == {("old", "x"): 2}
    fill(store, *(r for s in "vwy" for r in turn(s, 0, "new", "x")))
    ran = run(store, "v-000", "w-000", "y-000", limits=replace(limits, hub_degree=1))
    assert set(linked(store, "x", "new", "old")) == {("new", "x")}
    assert ran.counts["removed"] == 1


def test_of_a_hub_name_only_so_many_windows_are_counted(store: MemoryStore) -> None:
    sessions = [f"s{n}" for n in range(6)]
    fill(store, *people("a", "b"), *(r for s in sessions for r in turn(s, 0, "a", "b")))
    for session in sessions:
        run(store, f"{session}-000", limits=RunLimits(hub_degree=3))
    assert linked(store, "a") == {("a", "b"): 3}
    assert run(store, "s0-000", limits=RunLimits(hub_degree=3)).changes == ()
    run(store, "s0-000", limits=RunLimits(hub_degree=1), least=4)
    assert linked(store, "a") == {("a", "b"): 4}


def test_what_lies_after_the_clock_is_in_no_window(store: MemoryStore) -> None:
    fill(store, *people("a", "b"), *turn("s", 0, "a", "b"),
         *turn("t", 0, "a"), *turn("t", 1, "b", at=NOW))  # fmt: skip
    run(store, "s-000", "t-000")
    assert kept(store, ("t", 0)) == {"a": "t-000"}
