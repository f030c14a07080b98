"""Strengthen: which records change, how far a use spreads, and that it spreads once."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    output_digest,
)
from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phases.strengthen import LEAST_SHARE, NAME, strengthen
from symfonic.capabilities.memory.records import (
    EPOCH,
    Entity,
    Episode,
    Link,
    Record,
    RecordId,
    Use,
)
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.strength import base_strength, log_strength
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.records import LinkKind, State, UseKind
    from symfonic.capabilities.memory.store import MemoryStore

ACME, ANA = Scope("acme"), Scope("acme/ana")
NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
SEEN = NOW - timedelta(days=10)
HOUR = (NOW - EPOCH) // timedelta(hours=1) - 5
HALF_LIFE = 720.0
FRESH = base_strength(SEEN, HALF_LIFE)
SETUP = Group(phase="test", kind="setup", id="setup")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = open_store(":memory:")
    for scope in (ACME, ANA):
        store.ensure_scope(scope, half_life_hours=HALF_LIFE, salt=scope.path.encode())
    yield store
    store.close()


def episode(i: str, *, state: State = "active", scope: Scope = ANA) -> Record:
    return Record(
        id=RecordId(i), scope=scope.path, kind="episode", key=None, content=Episode(role="user"),
        text=i, state=state, strength=FRESH, recorded_at=SEEN, session="s",
    )  # fmt: skip


def entity(i: str, *, scope: Scope = ANA) -> Record:
    return Record(
        id=RecordId(i), scope=scope.path, kind="entity", key=i, strength=FRESH, recorded_at=SEEN,
        content=Entity(name=i, entity_kind="person"),
    )  # fmt: skip


def link(source: str, target: str, *, kind: LinkKind = "mentions", count: int = 1) -> Link:
    return Link(source=RecordId(source), kind=kind, target=RecordId(target), count=count, at=SEEN)


def use(i: str, *, weight: float = 1.0, kind: UseKind = "recalled", hour: int = HOUR) -> Use:
    return Use(record=RecordId(i), hour=hour, kind=kind, weight=weight)


def fill(
    store: MemoryStore, *rows: Record | Link, uses: tuple[Use, ...] = (), scope: Scope = ANA
) -> None:
    changes = tuple(
        add_record(SETUP, row, "") if isinstance(row, Record) else add_link(SETUP, row, "")
        for row in rows
    )
    apply(store, changes, scope=scope)
    store.add_uses(scope, uses, subscriptions=())


def apply(store: MemoryStore, changes: tuple[Change, ...], *, scope: Scope = ANA) -> None:
    store.commit(scope, Commit(kind="user", clock=NOW, changes=changes), lease=None)


@contextmanager
def view(
    store: MemoryStore,
    *touched: str,
    limits: RunLimits | None = None,
    since: datetime | None = None,
) -> Iterator[View]:
    with store.snapshot(ANA) as reader:
        yield View(
            reader,
            now=NOW,
            retention=RetentionPolicy(),
            limits=limits or RunLimits(),
            spread_since=since or NOW - timedelta(hours=24),
            touching={NAME},
            unread={NAME: [RecordId(i) for i in touched]},
            fresh={},
            spent={},
            answers={},
        )


def run(
    store: MemoryStore,
    *touched: str,
    weight: float = 0.5,
    limits: RunLimits | None = None,
    since: datetime | None = None,
) -> Ran:
    phase = strengthen(spreading_weight=weight, lookback_hours=24.0)
    with view(store, *touched, limits=limits, since=since) as seen:
        outcome = phase.propose(seen)
    assert isinstance(outcome, Ran)
    return outcome


def shares(ran: Ran) -> dict[str, float]:
    return {
        str(c.row[0]): float(c.after["weight"])  # type: ignore[arg-type]
        for c in ran.changes
        if c.table == "use" and c.operation == "add"
    }


def marked(ran: Ran) -> dict[str, float]:
    return {
        str(c.row[0]): float(c.after["spread_weight"])  # type: ignore[arg-type]
        for c in ran.changes
        if c.table == "use" and c.operation == "edit"
    }


def strengths(ran: Ran) -> dict[str, int]:
    return {str(c.row[0]): int(c.after["strength"]) for c in ran.changes if c.table == "record"}  # type: ignore[arg-type]


def test_the_phase_reads_touched_records_up_to_its_cap() -> None:
    phase = strengthen(spreading_weight=0.5, lookback_hours=24)
    assert phase.name == NAME
    assert phase.reads == ()
    assert phase.reads_touched
    assert phase.cap(RunLimits(strengthen_max_records_per_run=7)) == 7
    assert phase.window_hours == 24.0
    assert phase.settings == {"spreading_weight": 0.5, "lookback_hours": 24.0}
    assert phase.reading == {}


@pytest.mark.parametrize(
    "knobs", [{"spreading_weight": 1.5}, {"lookback_hours": 0.5}, {"spreading_weight": "much"}]
)
def test_a_knob_out_of_range_is_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(knobs))):
        strengthen(**{"spreading_weight": 0.5, "lookback_hours": 24.0, **knobs})


def test_with_nothing_touched_it_ran_and_says_so(store: MemoryStore) -> None:
    ran = run(store)
    assert ran.changes == ()
    assert ran.counts == {"touched": 0, "uses": 0, "spread_to": 0, "changed": 0}


def test_a_used_record_gets_the_strength_of_its_uses(store: MemoryStore) -> None:
    fill(
        store, episode("e1"), episode("e2"), uses=(use("e1", weight=2.0), use("e1", hour=HOUR + 1))
    )
    ran = run(store, "e1")
    expected = log_strength([(SEEN, 1.0), (HOUR, 2.0), (HOUR + 1, 1.0)], HALF_LIFE)
    assert strengths(ran) == {"e1": expected}
    assert expected > FRESH
    assert ran.counts == {"touched": 1, "uses": 2, "spread_to": 0, "changed": 1}


def test_mentions_count_as_uses_dated_by_their_episodes(store: MemoryStore) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana", count=3))
    ran = run(store, "ana")
    seen = (SEEN - EPOCH) // timedelta(hours=1)
    assert strengths(ran) == {"ana": log_strength([(SEEN, 1.0), (seen, 3.0)], HALF_LIFE)}
    assert shares(ran) == {}


def test_a_strength_that_is_right_already_is_not_written(store: MemoryStore) -> None:
    fill(store, episode("e1"))
    ran = run(store, "e1")
    assert ran.changes == ()
    assert ran.looked_at == 1


def test_a_use_spreads_to_neighbours_by_association_and_is_marked(store: MemoryStore) -> None:
    # e1 mentions ana; their only link has count 1 and both ends' counts are 1: association 1.
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1"),))
    ran = run(store, "e1")
    assert shares(ran) == {"ana": 0.5}
    assert marked(ran) == {"e1": 1.0}
    seen = (SEEN - EPOCH) // timedelta(hours=1)
    expected = log_strength([(SEEN, 1.0), (seen, 1.0), (HOUR, 0.5)], HALF_LIFE)
    assert strengths(ran)["ana"] == expected
    assert ran.counts["spread_to"] == 1


def test_the_groups_are_those_of_the_records_that_change(store: MemoryStore) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1"),))
    ran = run(store, "e1")
    assert all(c.group == Group(phase=NAME, kind="strength", id=str(c.row[0])) for c in ran.changes)


def test_a_use_spreads_against_the_direction_of_a_link_too(store: MemoryStore) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("ana"),))
    assert shares(run(store, "ana")) == {"e1": 0.5}


def test_what_spreads_is_divided_among_the_neighbours(store: MemoryStore) -> None:
    # Four links of count 1: associations of 1 / sqrt(4 * 1), which add up to 2, so each gets 1/4.
    names = [entity(f"n{n}") for n in range(4)]
    links = [link("e1", f"n{n}") for n in range(4)]
    fill(store, episode("e1"), *names, *links, uses=(use("e1"),))
    assert shares(run(store, "e1")) == {f"n{n}": 0.125 for n in range(4)}


def test_counts_weigh_a_link_and_a_hub_is_damped(store: MemoryStore) -> None:
    others = [episode(f"o{n}") for n in range(15)]
    fill(
        store, episode("e1"), entity("hub"), entity("close"), *others,
        link("e1", "hub"), link("e1", "close"), *(link(o.id, "hub") for o in others),
        uses=(use("e1"),),
    )  # fmt: skip
    found = shares(run(store, "e1", limits=RunLimits(spread_hops=1)))
    # hub: 1 / sqrt(2 * 16), close: 1 / sqrt(2 * 1); together less than 1, so nothing is divided.
    assert found == {"close": 0.353553391, "hub": 0.088388348}


def test_a_second_hop_spreads_a_share_of_the_share_and_no_echo(store: MemoryStore) -> None:
    fill(
        store, episode("e1"), entity("ana"), episode("e2"), link("e1", "ana"), link("e2", "ana"),
        uses=(use("e1"),),
    )  # fmt: skip
    # Both associations are 1 / sqrt(2). Ana's two add up to more than 1, so she passes on halves;
    # the one that would return to e1 goes nowhere.
    near = 0.5 / 2**0.5
    expected = {"ana": pytest.approx(near), "e2": pytest.approx(near * 0.5 / 2)}
    assert shares(run(store, "e1")) == expected
    assert set(shares(run(store, "e1", limits=RunLimits(spread_hops=1)))) == {"ana"}


def test_two_paths_to_one_record_add_up(store: MemoryStore) -> None:
    fill(
        store, episode("e1"), entity("ana"), entity("ben"), episode("e2"),
        *(link(e, n) for e in ("e1", "e2") for n in ("ana", "ben")), uses=(use("e1"),),
    )  # fmt: skip
    # Every association is 1 / 2: e1 gives 0.25 to each name, and each gives 0.0625 on to e2.
    assert shares(run(store, "e1")) == {"ana": 0.25, "ben": 0.25, "e2": 0.125}


@pytest.mark.parametrize("limits", [RunLimits(spread_hops=0), RunLimits(spread_hops=2)])
def test_without_weight_or_hops_nothing_spreads_and_no_use_is_marked(
    store: MemoryStore, limits: RunLimits
) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1"),))
    ran = run(store, "e1", weight=0.0 if limits.spread_hops else 0.5, limits=limits)
    assert (shares(ran), marked(ran)) == ({}, {})
    assert set(strengths(ran)) == {"e1"}


def test_what_has_spread_does_not_spread_again(store: MemoryStore) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1"),))
    apply(store, run(store, "e1").changes)
    assert run(store, "e1", "ana").changes == ()
    store.add_uses(ANA, [use("e1", weight=2.0)], subscriptions=())
    again = run(store, "e1")
    assert shares(again) == {"ana": 1.0}
    assert marked(again) == {"e1": 3.0}
    apply(store, again.changes)
    seen = (SEEN - EPOCH) // timedelta(hours=1)
    expected = log_strength([(SEEN, 1.0), (seen, 1.0), (HOUR, 1.5)], HALF_LIFE)
    assert strengths(again)["ana"] == expected
    assert run(store, "e1", "ana").changes == ()


@pytest.mark.parametrize("kind", ["spread", "base", "mention"])
def test_only_recalls_and_confirmations_spread(store: MemoryStore, kind: UseKind) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1", kind=kind),))
    ran = run(store, "e1")
    assert shares(ran) == {}
    assert "e1" in strengths(ran)


def test_both_spreading_kinds_of_an_hour_add_up_in_one_share(store: MemoryStore) -> None:
    fill(
        store, episode("e1"), entity("ana"), link("e1", "ana"),
        uses=(use("e1"), use("e1", kind="confirmed", weight=3.0)),
    )  # fmt: skip
    assert shares(run(store, "e1")) == {"ana": 2.0}


def test_uses_from_before_the_window_do_not_spread_but_its_first_hour_counts_whole(
    store: MemoryStore,
) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1"),))
    inside = EPOCH + timedelta(hours=HOUR, minutes=59)
    assert shares(run(store, "e1", since=inside)) == {"ana": 0.5}
    assert shares(run(store, "e1", since=inside + timedelta(minutes=1))) == {}


def test_a_use_that_reaches_nobody_stays_unspent(store: MemoryStore) -> None:
    fill(store, episode("e1"), uses=(use("e1"),))
    ran = run(store, "e1")
    assert marked(ran) == {}
    fill(store, entity("ana"), link("e1", "ana"))
    assert shares(run(store, "e1")) == {"ana": 0.5}


def test_only_the_strongest_neighbours_receive_up_to_the_hub_degree(store: MemoryStore) -> None:
    names = [entity(f"n{n}") for n in range(4)]
    links = [link("e1", f"n{n}", count=n + 1) for n in range(4)]
    fill(store, episode("e1"), *names, *links, uses=(use("e1"),))
    both = RunLimits(hub_degree=4, spread_hops=1)
    assert set(shares(run(store, "e1", limits=both))) == {"n0", "n1", "n2", "n3"}
    fill(store, *(link(f"n{n}", "e1", kind="co_occurred", count=9) for n in (0, 1)))
    assert len(shares(run(store, "e1", limits=RunLimits(hub_degree=2, spread_hops=1)))) == 2


def test_a_share_below_the_cut_off_is_dropped(store: MemoryStore) -> None:
    names = [entity(f"n{n:02}") for n in range(60)]
    fill(store, episode("e1"), *names, *(link("e1", n.id) for n in names), uses=(use("e1"),))
    limits = RunLimits(hub_degree=60, spread_hops=1)
    assert LEAST_SHARE > 0.5 / 60
    assert shares(run(store, "e1", limits=limits)) == {}
    assert len(shares(run(store, "e1", limits=limits, weight=1.0))) == 60


def test_a_share_that_rounds_to_nothing_is_not_written(store: MemoryStore) -> None:
    fill(
        store, episode("e1"), *(entity(f"n{n}") for n in range(4)),
        *(link("e1", f"n{n}") for n in range(4)), uses=(use("e1", weight=2e-9),),
    )  # fmt: skip
    ran = run(store, "e1")
    assert shares(ran) == {}
    assert marked(ran) == {"e1": 2e-9}
    assert run(store, "e1", weight=1.0).counts["spread_to"] == 4


def test_links_of_other_kinds_and_to_itself_are_not_walked(store: MemoryStore) -> None:
    fill(
        store, episode("e1"), entity("ana"), entity("ben"),
        link("ana", "e1", kind="evidence"), link("e1", "ben", kind="same_as"), link("e1", "e1"),
        uses=(use("e1"),),
    )  # fmt: skip
    assert shares(run(store, "e1")) == {}


def test_a_hidden_record_receives_nothing(store: MemoryStore) -> None:
    fill(
        store, entity("ana"), episode("e1", state="archived"), episode("e2", state="condensed"),
        link("e1", "ana"), link("e2", "ana"), uses=(use("ana"),),
    )  # fmt: skip
    assert set(shares(run(store, "ana"))) == {"e2"}


def test_an_ancestors_record_passes_on_but_is_not_changed(store: MemoryStore) -> None:
    fill(store, entity("ana", scope=ACME), scope=ACME)
    fill(store, episode("e1"), episode("e2"), link("e1", "ana"), link("e2", "ana"),
         uses=(use("e1"),))  # fmt: skip
    ran = run(store, "e1", "ana")
    assert set(shares(ran)) == {"e2"}
    assert set(strengths(ran)) == {"e1", "e2"}
    assert ran.counts["touched"] == 1


def test_a_receiver_that_was_touched_too_is_computed_once(store: MemoryStore) -> None:
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"), uses=(use("e1"), use("ana")))
    ran = run(store, "e1", "ana")
    assert shares(ran) == {"ana": 0.5, "e1": 0.5}
    seen = (SEEN - EPOCH) // timedelta(hours=1)
    assert strengths(ran) == {
        "ana": log_strength([(SEEN, 1.0), (seen, 1.0), (HOUR, 1.5)], HALF_LIFE),
        "e1": log_strength([(SEEN, 1.0), (HOUR, 1.5)], HALF_LIFE),
    }


def test_a_share_counts_among_the_latest_hours_only(store: MemoryStore) -> None:
    limits = RunLimits(uses_per_record=1)
    fill(store, episode("e1"), entity("ana"), link("e1", "ana"),
         uses=(use("e1"), use("ana", hour=HOUR + 1, kind="base")))  # fmt: skip
    ran = run(store, "e1", limits=limits)
    assert shares(ran) == {"ana": 0.5}
    assert strengths(ran)["ana"] == log_strength([(SEEN, 1.0), (HOUR + 1, 1.0)], HALF_LIFE)


def test_a_mention_link_of_the_same_run_touches_its_target(store: MemoryStore) -> None:
    fill(store, episode("e1"), uses=(use("e1"),))
    phase = strengthen(spreading_weight=0.5, lookback_hours=24.0)
    with view(store) as seen:
        new = replace(entity("ana"), recorded_at=NOW, occurred_at=SEEN)
        seen.fold([add_record(SETUP, new, ""), add_link(SETUP, link("e1", "ana"), "")])
        ran = phase.propose(seen)
    assert isinstance(ran, Ran)
    assert set(strengths(ran)) == {"ana"}


def test_the_same_memory_gives_the_same_digest_in_any_row_order(store: MemoryStore) -> None:
    names = [entity(f"n{n}") for n in range(5)]
    links = [link(f"e{e}", f"n{n}", count=1 + (e * n) % 3) for e in range(4) for n in range(5)]
    rows: list[Record | Link] = [*names, *(episode(f"e{n}") for n in range(4)), *links]
    uses = tuple(use(f"e{n}", weight=n + 0.1) for n in range(4))
    fill(store, *rows, uses=uses)
    other = open_store(":memory:")
    other.ensure_scope(ANA, half_life_hours=HALF_LIFE, salt=b"x")
    fill(other, *reversed(rows), uses=tuple(reversed(uses)))
    touched = [f"e{n}" for n in range(4)]
    first, second = run(store, *touched), run(other, *reversed(touched))
    other.close()
    assert output_digest(first.changes) == output_digest(second.changes)
    assert shares(first)


def test_the_number_of_lookups_does_not_grow_with_the_touched(store: MemoryStore) -> None:
    names = [entity(f"n{n}") for n in range(40)]
    links = [link(f"e{n}", f"n{m % 40}") for n in range(40) for m in (n, n + 1)]
    fill(store, *(episode(f"e{n:}") for n in range(40)), *names, *links,
         uses=tuple(use(f"e{n}") for n in range(40)))  # fmt: skip
    assert statements(store, 1) == statements(store, 40) <= 16


def statements(store: MemoryStore, touched: int) -> int:
    seen_statements: list[str] = []
    phase = strengthen(spreading_weight=0.5, lookback_hours=24.0)
    with view(store, *(f"e{n}" for n in range(touched))) as seen:
        raw = seen._reader.connection.raw  # type: ignore[attr-defined]
        raw.set_trace_callback(seen_statements.append)
        phase.propose(seen)
        raw.set_trace_callback(None)
    return len(seen_statements)
