"""Expire: what is archived and why, what is left in peace, and how much one pass takes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    edit_record,
)
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phases.expire import NAME, expire
from symfonic.capabilities.memory.records import Fact, Note, Procedure, RecordId
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.strength import base_strength
from symfonic.capabilities.memory.testing.builders import make_entity, make_episode, make_link
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.store import MemoryStore

ANA = Scope("acme/ana")
NOW = datetime(2026, 9, 1, 3, tzinfo=UTC)
DAY = timedelta(days=1)
LONG_AGO = NOW - 200 * DAY
HALF_LIFE = 720.0
SETUP = Group(phase="test", kind="setup", id="setup")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = open_store(":memory:")
    store.ensure_scope(ANA, half_life_hours=HALF_LIFE, salt=b"salt")
    yield store
    store.close()


def entity(i: str = "n1", *, days: float = 200) -> Record:
    """An entity that was noticed once, so many days ago."""
    return make_entity(i, i, at=NOW - days * DAY)


def note(i: str, until: datetime | None, *, working: bool = True) -> Record:
    content = Note(note_kind="working" if working else "prospective")
    return replace(entity(i), kind="note", content=content, until=until)


def fact(i: str, ended: datetime | None) -> Record:
    content = Fact(subject="ana", attribute="city", value="Graz")
    strong = base_strength(NOW, HALF_LIFE)
    return replace(entity(i), kind="fact", content=content, until=ended, strength=strong)


def fill(store: MemoryStore, *records: Record, at: datetime = LONG_AGO) -> None:
    changes = tuple(add_record(SETUP, record, "") for record in records)
    store.commit(ANA, Commit(kind="user", clock=at, changes=changes), lease=None)


def run(
    store: MemoryStore,
    *,
    retention: RetentionPolicy | None = None,
    limits: RunLimits | None = None,
    folded: Sequence[Change] = (),
) -> Ran:
    with store.snapshot(ANA) as reader:
        view = View(
            reader, now=NOW, retention=retention or RetentionPolicy(), limits=limits or RunLimits(),
            spread_since=NOW, unread={}, fresh={}, spent={}, answers={},
        )  # fmt: skip
        view.fold(folded)
        outcome = expire().propose(view)
    assert isinstance(outcome, Ran)
    assert all(change.after == {"state": "archived"} for change in outcome.changes)
    assert all(str(change.group) == f"{NAME}/archive/{change.row[0]}" for change in outcome.changes)
    return outcome


def archived(ran: Ran) -> dict[str, str]:
    return {str(change.row[0]): change.reason for change in ran.changes}


def test_it_reads_nothing_pending_and_has_no_knob_of_the_policy() -> None:
    phase = expire()
    assert not phase.is_driven_by_pending
    assert (phase.settings, phase.reading) == ({}, {})


def test_it_looks_and_finds_nothing_in_an_empty_memory(store: MemoryStore) -> None:
    assert run(store) == Ran(changes=(), looked_at=0, counts={"notes": 0, "facts": 0, "weak": 0})


def test_a_working_note_goes_at_its_expiry_and_says_when_that_was(store: MemoryStore) -> None:
    until = NOW - DAY
    fill(store, note("w1", until), note("w2", NOW + DAY), note("w3", None),
         note("p1", until, working=False))  # fmt: skip
    assert archived(run(store)) == {"w1": "It expired at 2026-08-31T03:00+00:00."}


def test_a_fact_goes_the_grace_days_after_its_end(store: MemoryStore) -> None:
    fill(store, fact("f1", NOW - 30 * DAY), fact("f2", NOW - 29 * DAY), fact("f3", None))
    ran = run(store)
    assert archived(ran) == {"f1": "It was true until 2026-08-02T03:00+00:00, and 30 days more."}
    assert ran.counts["facts"] == 1
    assert set(archived(run(store, retention=RetentionPolicy(grace_days=29)))) == {"f1", "f2"}


def test_a_derived_record_goes_below_the_threshold_and_says_since_when(
    store: MemoryStore,
) -> None:
    """One use reads below 0.05 after 113 days at a half-life of 30."""
    fill(store, entity("old", days=114), entity("young", days=112), make_episode("e1", at=LONG_AGO))
    found = archived(run(store))
    assert list(found) == ["old"]
    assert found["old"] == (
        "Its strength fell below 0.05 on 2026-08-30, and nobody used or changed it for 30 days."
    )


@pytest.mark.parametrize(("threshold", "expected"), [(0.0, []), (0.01, []), (0.05, ["n1"]),
                                                     (1.0, ["n1", "n2"])])  # fmt: skip
def test_the_threshold_is_the_deployments(
    store: MemoryStore, threshold: float, expected: list[str]
) -> None:
    fill(store, entity("n1", days=120), entity("n2", days=60))
    ran = run(store, retention=RetentionPolicy(archive_threshold=threshold))
    assert list(archived(ran)) == expected
    assert ran.left == 0


def test_what_cannot_be_weaker_than_the_threshold_is_not_left_for_another_pass(
    store: MemoryStore,
) -> None:
    """A record used very often reads as 1, which is not below a threshold of 1."""
    fill(store, replace(entity("n1"), strength=base_strength(NOW, HALF_LIFE) + 20_000))
    ran = run(store, retention=RetentionPolicy(archive_threshold=1.0))
    assert (ran.changes, ran.left, ran.counts["weak"]) == ((), 0, 0)


def test_a_draft_goes_and_a_decided_procedure_stays(store: MemoryStore) -> None:
    steps = Procedure(title="t", trigger="t", steps=(), origin="calls")
    fill(store, *(replace(entity(s), kind="procedure", content=steps, status=s)
                  for s in ("draft", "rejected", "retired")))  # fmt: skip
    assert list(archived(run(store))) == ["draft"]


def test_episodes_stay_whatever_their_age_unless_a_deployment_says_how_long(
    store: MemoryStore,
) -> None:
    fill(store, make_episode("e1", at=NOW - 61 * DAY), make_episode("e2", at=NOW - 59 * DAY))
    assert run(store).changes == ()
    ran = run(store, retention=RetentionPolicy(episode_days=60))
    assert archived(ran) == {"e1": "It is from 2026-07-02; episodes are kept for 60 days."}
    assert ran.counts == {"notes": 0, "facts": 0, "weak": 0, "old": 1}


def test_a_pass_takes_so_many_over_all_rules_and_says_what_is_left(store: MemoryStore) -> None:
    fill(store, *(note(f"w{n}", NOW - (n + 1) * DAY) for n in range(3)),
         fact("f1", LONG_AGO), fact("f2", LONG_AGO + DAY), entity("n1"))  # fmt: skip
    ran = run(store, limits=RunLimits(expire_max_records_per_run=4))
    assert list(archived(ran)) == ["w2", "w1", "w0", "f1"]
    assert (ran.looked_at, ran.left) == (6, 2)
    ran = run(store, limits=RunLimits(expire_max_records_per_run=3))
    assert (list(archived(ran)), ran.left) == (["w2", "w1", "w0"], 3)


def test_what_two_rules_name_goes_once(store: MemoryStore) -> None:
    fill(store, replace(fact("f1", LONG_AGO), strength=0))
    ran = run(store)
    assert [change.row[0] for change in ran.changes] == ["f1"]
    assert ran.left == 0


def test_what_this_run_changed_is_left_for_the_next_pass(store: MemoryStore) -> None:
    weak = entity("n1")
    fill(store, weak)
    change = edit_record(SETUP, weak, replace(weak, strength=weak.strength + 1), "")
    assert change is not None
    ran = run(store, folded=[change])
    assert (ran.changes, ran.left) == ((), 1)


def test_what_this_run_mentions_is_left_for_the_next_pass(store: MemoryStore) -> None:
    fill(store, entity("n1"), make_episode("e1", at=NOW - DAY))
    ran = run(store, folded=[add_link(SETUP, make_link("e1", "n1", at=NOW - DAY), "")])
    assert (ran.changes, ran.left) == ((), 1)


def test_what_this_run_changed_does_not_fill_the_place_of_what_is_due(store: MemoryStore) -> None:
    first, second = entity("n1", days=300), entity("n2", days=200)
    fill(store, first, second)
    change = edit_record(SETUP, first, replace(first, text="other"), "")
    assert change is not None
    ran = run(store, folded=[change], limits=RunLimits(expire_max_records_per_run=1))
    assert list(archived(ran)) == ["n2"]


def test_what_supports_what_this_run_adds_stays(store: MemoryStore) -> None:
    """A summary or a fact that a phase before has made rests on it from now on."""
    fill(store, entity("n1"))
    above = add_record(SETUP, replace(entity("new"), recorded_at=NOW), "")
    ran = run(store, folded=[above, add_link(SETUP, make_link("new", "n1", kind="part_of"), "")])
    assert RecordId("n1") not in archived(ran)
