"""What lookups answer: for no key, one or many; counted once, up to the run's clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.records import (
    EPOCH,
    KINDS,
    Episode,
    RecordId,
    Seen,
    Summary,
    Tally,
    ToolCall,
    Use,
)
from symfonic.capabilities.memory.store import Answer
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode, make_link
from symfonic.capabilities.memory.testing.contract.base import OWN, ContractBase, commit, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.store import MemoryStore

MANY = 2500
"""More keys than a statement can have parameters in many databases."""

HOUR = timedelta(hours=1)
FIRST = NOW - timedelta(days=10)


def reading(
    episode: str,
    key: str = "graz",
    *,
    session: str = "s1",
    at: datetime = FIRST,
    ok: bool | None = None,
    score: float = 1.0,
) -> Seen:
    """What a reader found in an episode."""
    return Seen(
        episode=RecordId(episode), reader="names", kind="pattern", key=key, session=session, at=at,
        ok=ok, score=score,
    )  # fmt: skip


def tallied(
    store: MemoryStore,
    *,
    since: datetime = FIRST - HOUR,
    until: datetime = NOW,
    least_score: float = 0.0,
    also: Sequence[Seen] = (),
) -> Tally | None:
    """The tally of one key."""
    with store.snapshot(OWN) as reader:
        rows = reader.tally(
            "names", ["graz"], since=since, until=until, least_score=least_score, also=also
        )
    return rows[0] if rows else None


class LookupContract(ContractBase):
    """The reader's set-based lookups."""

    def test_no_key_finds_nothing(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"), make_entity("n1"), make_link("e1", "n1"))
        with store.snapshot(OWN) as reader:
            assert reader.records([]) == []
            assert reader.states([]) == {}
            assert reader.before([], count=3) == {}
            for direction in ("out", "in"):
                assert reader.links([], kinds=["mentions"], direction=direction, per_record=9) == []
            assert reader.links(["e1"], kinds=[], direction="out", per_record=9) == []
            assert reader.degrees([], kinds=["mentions"]) == {}
            assert reader.seen("names", []) == []
            assert reader.tally("names", [], since=FIRST, until=NOW, least_score=0, also=()) == []
            assert reader.sightings("names", [], since=FIRST, until=NOW, per_key=9) == []
            assert reader.uses([], until=NOW, per_record=9) == []
            assert reader.answers([]) == {}
            assert reader.undone("testing", []) == {}
            assert reader.neighbours([], distance=3) == []
            assert reader.list_records(kinds=[], limit=9) == []
            assert reader.search(['"kettle"'], kinds=[], limit=9) == []

    @pytest.mark.parametrize("count", [1, MANY])
    def test_one_key_and_many_find_their_rows(self, store: MemoryStore, count: int) -> None:
        ids = [f"e{n}" for n in range(count)]
        write(store, *(make_episode(i, session=i) for i in ids), make_entity("n1"))
        write(store, *(make_link(i, "n1") for i in ids))
        commit(
            store,
            seen=tuple(reading(i, key=i) for i in ids),
            answers=tuple(
                Answer(question=i, collaborator="c", sources=(RecordId(i),), body=i) for i in ids
            ),
        )
        store.add_uses(
            OWN,
            [Use(record=RecordId(i), hour=1, kind="recalled", weight=1.0) for i in ids],
            subscriptions=(),
        )
        asked = [*ids, "nobody"]
        with store.snapshot(OWN) as reader:
            assert {r.id for r in reader.records(asked)} == set(ids)
            assert reader.states(asked) == dict.fromkeys(ids, "active")
            links = reader.links(asked, kinds=["mentions"], direction="out", per_record=9)
            assert {link.source for link in links} == set(ids)
            assert sum(reader.degrees(ids, kinds=["mentions"]).values()) == count
            assert {row.episode for row in reader.seen("names", asked)} == set(ids)
            tallies = reader.tally("names", asked, since=FIRST, until=NOW, least_score=0, also=())
            assert {row.key for row in tallies} == set(ids)
            found = reader.sightings("names", asked, since=FIRST, until=NOW, per_key=9)
            assert {row.key for row in found} == set(ids)
            assert {u.record for u in reader.uses(asked, until=NOW, per_record=9)} == set(ids)
            assert reader.answers(asked) == {i: i for i in ids}

    def test_a_forgotten_record_is_found_by_its_state_only(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"))
        store.forget(OWN, ["e1"], subscriptions=())
        with store.snapshot(OWN) as reader:
            assert reader.records(["e1"]) == []
            assert reader.states(["e1"]) == {"e1": "forgotten"}
            assert reader.all_records() == []
            assert reader.session_episodes("s1") == []

    def test_links_of_a_record_are_its_newest(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"), *(make_episode(f"e{n}") for n in range(5)))
        write(store, *(make_link(f"e{n}", "n1", at=FIRST + n * HOUR) for n in range(5)))
        with store.snapshot(OWN) as reader:
            links = reader.links(["n1"], kinds=["mentions"], direction="in", per_record=2)
        assert {link.source for link in links} == {"e3", "e4"}

    def test_a_tally_counts_distinct_episodes_and_sessions(self, store: MemoryStore) -> None:
        rows = (
            reading("e1", ok=True),
            reading("e2", at=FIRST + HOUR, ok=False),
            reading("e3", session="s2", at=FIRST + 2 * HOUR, ok=False),
            reading("e4", session="s3", at=FIRST + 3 * HOUR),
        )
        commit(store, seen=rows)
        expected = Tally(
            key="graz", episodes=4, sessions=3, successes=2, failures=1, first_at=FIRST,
            last_at=FIRST + 3 * HOUR,
        )  # fmt: skip
        assert tallied(store) == expected

    def test_a_tally_counts_what_is_not_yet_saved_once(self, store: MemoryStore) -> None:
        commit(store, seen=(reading("e1"), reading("e2", session="s2")))
        again = reading("e2", session="s2")
        new = reading("e3", session="s3")
        row = tallied(store, also=[again, new, reading("e4", key="linz")])
        assert row is not None
        assert (row.episodes, row.sessions) == (3, 3)

    def test_a_new_reading_of_an_episode_replaces_the_one_that_is_saved(
        self, store: MemoryStore
    ) -> None:
        commit(store, seen=(reading("e1"), reading("e2")))
        nothing = replace(reading("e2", key="linz"), kind="nothing")
        row = tallied(store, also=[nothing])
        assert row is not None
        assert row.episodes == 1

    def test_a_tally_keeps_to_its_times_and_its_least_score(self, store: MemoryStore) -> None:
        rows = (
            reading("e1", at=FIRST, score=0.4),
            reading("e2", at=FIRST + HOUR, score=0.5),
            reading("e3", at=FIRST + 2 * HOUR, score=0.9),
        )
        commit(store, seen=rows)
        for since, until, least, count in (
            (FIRST, NOW, 0.0, 3),
            (FIRST, NOW, 0.5, 2),
            (FIRST + HOUR, NOW, 0.0, 2),
            (FIRST, FIRST + HOUR, 0.0, 2),
        ):
            for also in ((), rows):
                row = tallied(store, since=since, until=until, least_score=least, also=also)
                assert row is not None
                assert row.episodes == count
        assert tallied(store, until=FIRST - timedelta(seconds=1)) is None

    def test_sightings_are_the_newest_of_a_key_up_to_the_clock(self, store: MemoryStore) -> None:
        commit(store, seen=tuple(reading(f"e{n}", at=FIRST + n * HOUR) for n in range(5)))
        with store.snapshot(OWN) as reader:
            rows = reader.sightings(
                "names", ["graz"], since=FIRST, until=FIRST + 3 * HOUR, per_key=2
            )
        assert {row.episode for row in rows} == {"e2", "e3"}

    def test_what_a_reader_finds_anew_in_an_episode_replaces_what_it_found(
        self, store: MemoryStore
    ) -> None:
        commit(store, seen=(reading("e1"), reading("e1", key="linz")))
        commit(store, seen=(reading("e1", key="wien"),))
        with store.snapshot(OWN) as reader:
            assert [row.key for row in reader.seen("names", ["e1"])] == ["wien"]

    def test_uses_are_counted_by_hour_with_the_mentions_among_them(
        self, store: MemoryStore
    ) -> None:
        hour = (FIRST - EPOCH) // HOUR
        write(store, make_entity("n1"), *(make_episode(f"e{n}") for n in range(3)))
        minute = timedelta(minutes=1)
        write(
            store, make_link("e0", "n1", at=FIRST + minute),
            make_link("e1", "n1", count=2, at=FIRST + 59 * minute),
            make_link("e2", "n1", at=FIRST + 60 * minute),
        )  # fmt: skip
        use = Use(record=RecordId("n1"), hour=hour, kind="recalled", weight=1.5)
        store.add_uses(OWN, [use, use], subscriptions=())
        expected = {
            Use(record=RecordId("n1"), hour=hour, kind="recalled", weight=3.0),
            Use(record=RecordId("n1"), hour=hour, kind="mention", weight=3.0),
            Use(record=RecordId("n1"), hour=hour + 1, kind="mention", weight=1.0),
        }
        with store.snapshot(OWN) as reader:
            assert set(reader.uses(["n1"], until=NOW, per_record=9)) == expected
            early = reader.uses(["n1"], until=FIRST + 30 * minute, per_record=9)
        assert {(u.kind, u.hour, u.weight) for u in early} == {
            ("recalled", hour, 3.0), ("mention", hour, 1.0),
        }  # fmt: skip

    def test_a_mention_from_before_1970_has_its_hour_too(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"), make_episode("e1"))
        write(store, make_link("e1", "n1", at=EPOCH - timedelta(minutes=1)))
        with store.snapshot(OWN) as reader:
            (use,) = reader.uses(["n1"], until=NOW, per_record=9)
        assert use.hour == -1

    def test_before_gives_the_last_turns_of_the_session_oldest_first(
        self, store: MemoryStore
    ) -> None:
        calls = Episode(role="assistant", calls=(ToolCall(name="deploy"),))
        rows = [make_episode(f"e{n}", position=n) for n in range(6)]
        rows[1] = replace(rows[1], content=calls)
        write(store, *rows, make_episode("other", session="s2", position=3))
        with store.snapshot(OWN) as reader:
            found = reader.before([rows[4]], count=2)
            with_calls = reader.before([rows[4]], count=2, with_calls=True)
        assert [r.id for r in found[rows[4].id]] == ["e2", "e3"]
        assert [r.id for r in with_calls[rows[4].id]] == ["e1"]

    def test_neighbours_stand_within_the_distance_in_the_same_session(
        self, store: MemoryStore
    ) -> None:
        rows = [make_episode(f"e{n}", position=n) for n in range(7)]
        write(store, *rows, make_episode("other", session="s2", position=3))
        with store.snapshot(OWN) as reader:
            near = reader.neighbours([rows[3]], distance=2)
        assert {r.id for r in near} == {"e1", "e2", "e4", "e5"}

    def test_uncondensed_episodes_are_the_oldest_active_ones(self, store: MemoryStore) -> None:
        rows = [make_episode(f"e{n}", position=n, at=FIRST + n * HOUR) for n in range(5)]
        rows[1] = replace(rows[1], state="condensed")
        write(store, *rows)
        with store.snapshot(OWN) as reader:
            found, total = reader.uncondensed(before=FIRST + 4 * HOUR, limit=2)
        assert ([r.id for r in found], total) == (["e0", "e2"], 3)

    def test_search_finds_visible_records_of_the_kinds_asked_for(self, store: MemoryStore) -> None:
        note = replace(
            make_episode("sum", "The kettle boils."), kind="summary", session=None, position=None,
            content=Summary(method="m", episode_count=1, first_at="", last_at=""),
        )  # fmt: skip
        write(
            store, make_episode("e1", "The kettle is on."), make_episode("e2", "Tea."), note,
            make_episode("e3", "An old kettle.", state="archived"),
            make_episode("e4", "A kettle again.", state="condensed"),
        )  # fmt: skip
        with store.snapshot(OWN) as reader:
            found = {h.record.id for h in reader.search(['"kettle"'], kinds=KINDS, limit=9)}
            episodes = reader.search(['"kettle"'], kinds=["episode"], limit=9)
            assert len(reader.search(['"kettle"'], kinds=KINDS, limit=1)) == 1
        assert found == {"e1", "e4", "sum"}
        assert {hit.record.id for hit in episodes} == {"e1", "e4"}
        assert [hit.score for hit in episodes] == sorted(
            (hit.score for hit in episodes), reverse=True
        )

    def test_search_is_bounded_by_time_and_passes_over_what_lies_outside(
        self, store: MemoryStore
    ) -> None:
        hours = [NOW - timedelta(hours=n) for n in range(9)]
        write(store, *(make_episode(f"k{n}", "A kettle.", at=at) for n, at in enumerate(hours)))
        with store.snapshot(OWN) as reader:
            found = reader.search(
                ['"kettle"'], kinds=KINDS, limit=2, since=hours[7], until=hours[5]
            )
            late = reader.search(['"kettle"'], kinds=KINDS, limit=99, since=hours[1])
        assert {hit.record.id for hit in found} == {"k6", "k7"}
        assert {hit.record.id for hit in late} == {"k0", "k1"}

    def test_records_within_a_time_are_the_newest_of_the_kinds(self, store: MemoryStore) -> None:
        hours = [FIRST + timedelta(hours=n) for n in range(4)]
        write(store, *(make_episode(f"e{n}", at=at) for n, at in enumerate(hours)))
        write(store, make_entity("n1"))
        with store.snapshot(OWN) as reader:

            def found(since: datetime | None, until: datetime | None, limit: int = 9) -> list[str]:
                rows = reader.records_within(
                    kinds=["episode"], since=since, until=until, limit=limit
                )
                return [row.id for row in rows]

            assert found(None, None) == ["e3", "e2", "e1", "e0"]
            assert found(hours[1], hours[3]) == ["e2", "e1"]
            assert found(None, None, limit=1) == ["e3"]
            assert found(hours[3], hours[1]) == []
            assert reader.records_within(kinds=[], since=None, until=None, limit=9) == []

    def test_a_snapshot_does_not_change_while_it_is_open(self, store: MemoryStore) -> None:
        if not self.reads_beside_writes():
            pytest.skip("in memory, readers and writers take turns")
        write(store, make_entity("n1"))
        with store.snapshot(OWN) as reader:
            write(store, make_entity("n2", "Bob"))
            assert reader.all_records() == ["n1"]
        with store.snapshot(OWN) as reader:
            assert reader.all_records() == ["n1", "n2"]
