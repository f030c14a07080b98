"""Keeping a store small, and its strengths on one scale: what memory answers stays the same."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from symfonic.capabilities.memory.changes import Group, add_link, add_record, add_spread
from symfonic.capabilities.memory.errors import InputError, RunAlreadyActive, StaleWrite
from symfonic.capabilities.memory.records import EPOCH, RecordId, Use
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.strength import record_strength
from symfonic.capabilities.memory.testing.builders import (
    HALF_LIFE_HOURS,
    NOW,
    make_entity,
    make_episode,
    make_link,
)
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    SETUP,
    SIBLING,
    ContractBase,
    dumped,
    edit,
    only,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.outcome import RunKind
    from symfonic.capabilities.memory.records import Record, UseKind
    from symfonic.capabilities.memory.store import JournalRow, Lease, MemoryStore
    from symfonic.capabilities.memory.upkeep import Compacted

DAYS: Final = timedelta(days=1)
OLD: Final = NOW - 40 * DAYS
LIMIT: Final = NOW - 30 * DAYS
HOUR: Final = (OLD - EPOCH) // timedelta(hours=1)
_FAR: Final = NOW + 999 * DAYS


@contextmanager
def held(store: MemoryStore) -> Iterator[Lease]:
    """The scope's lease."""
    lease = store.acquire(OWN, now=NOW, term_seconds=60)
    yield lease
    store.release(lease)


def compact(store: MemoryStore, *, unspread: datetime = NOW, dry_run: bool = False) -> Compacted:
    """Compact what is older than thirty days."""
    with held(store) as lease:
        return store.compact(
            OWN, before=LIMIT, unspread=unspread, lease=None if dry_run else lease,
            watch=lambda _done: None,
        )  # fmt: skip


def run(
    store: MemoryStore,
    *changes: Change,
    kind: RunKind = "light",
    clock: datetime = OLD,
    **rest: Any,  # noqa: ANN401 - passed on as they are
) -> int:
    """A run whose clock says this."""
    return store.commit(OWN, Commit(kind=kind, clock=clock, changes=changes, **rest), lease=None)


def journal(store: MemoryStore, number: int) -> list[JournalRow]:
    """What the history keeps of a run."""
    with store.snapshot(OWN) as reader:
        return reader.journal(number)


def used(
    store: MemoryStore, i: str, hour: int, kind: UseKind = "recalled", weight: float = 1.0
) -> None:
    """A record was used in an hour."""
    use = Use(record=RecordId(i), hour=hour, kind=kind, weight=weight)
    store.add_uses(OWN, [use], subscriptions=())


def uses(store: MemoryStore, i: str = "n1") -> list[Use]:
    """A record's uses by hour, without mentions."""
    with store.snapshot(OWN) as reader:
        found = reader.uses([i], until=_FAR, per_record=10_000)
    return sorted((u for u in found if u.kind != "mention"), key=lambda u: (u.hour, u.kind))


def computed(store: MemoryStore, i: str, half_life: float = HALF_LIFE_HOURS) -> int:
    """A record's strength, from all that the store knows of its uses."""
    with store.snapshot(OWN) as reader:
        (record,) = reader.records([i])
        return record_strength(record, reader.uses([i], until=_FAR, per_record=10_000), half_life)


def rescale(store: MemoryStore, hours: float, *, cap: int = 256) -> tuple[int, list[int]]:
    """Set the half-life; the run, and how many records there were and changed."""
    told: list[int] = []

    def report(records: int, changed: int) -> dict[str, Any]:
        told.extend((records, changed))
        return {"settings": {"half_life_days": hours / 24}, "digest": ""}

    with held(store) as lease:
        number = store.set_half_life(
            OWN, hours, clock=NOW, uses_per_record=cap, lease=lease, report=report
        )
    return number, told


class UpkeepContract(ContractBase):
    """``compact``, ``set_half_life`` and what a store says of its size."""

    def test_an_old_run_loses_its_input_and_journal_and_keeps_its_digests(
        self, store: MemoryStore
    ) -> None:
        old = run(
            store, add_record(SETUP, make_entity("n1"), "new"), input_digest="in", digest="out",
            settings={"knob": 1}, report={"phases": [1]}, recording={"calls": "one"},
        )  # fmt: skip
        with store.snapshot(OWN) as reader:
            before = reader.run(old)
        done = compact(store)
        with store.snapshot(OWN) as reader:
            after = reader.run(old)
        assert (done.runs, done.dropped, done.kept) == (1, 1, 0)
        assert journal(store, old) == []
        assert before.plan
        assert after == replace(before, plan={}, compacted=True)
        assert only(store, "n1").text == "Ana"

    def test_a_young_run_stays_whole_and_so_does_all_that_came_after_it(
        self, store: MemoryStore
    ) -> None:
        old = run(store, add_record(SETUP, make_entity("n1"), "new"))
        young = run(store, add_record(SETUP, make_entity("n2"), "new"), clock=LIMIT)
        backfilled = run(store, add_record(SETUP, make_entity("n3"), "new"), clock=OLD)
        before = journal(store, young), journal(store, backfilled)
        assert compact(store).runs == 1
        assert journal(store, old) == []
        assert (journal(store, young), journal(store, backfilled)) == before

    def test_kept_plans_and_unfinished_ingests_are_left_alone(self, store: MemoryStore) -> None:
        change = add_record(SETUP, make_entity("n1"), "new")
        plan = Commit(kind="deep", clock=OLD, changes=(change,))
        kept, on_hold = store.save_plan(OWN, plan), store.save_plan(OWN, plan, held=True)
        begun = store.begin_ingest(OWN, "log", now=OLD)
        compact(store)
        assert store.load_plan(OWN, kept).changes == store.load_plan(OWN, on_hold).changes
        assert store.load_plan(OWN, kept).changes == (change,)
        assert store.begin_ingest(OWN, "log", now=NOW) == begun

    def test_why_a_record_is_hidden_is_answered_for_ever(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"), make_entity("n2", "Bob"))
        before = only(store, "n1")
        hidden = edit(before, replace(before, state="archived"))
        other = only(store, "n2")
        old = run(store, hidden, edit(other, replace(other, text="Bob B.")))
        compact_everything(store)
        (row,) = journal(store, old)
        assert (row.change, row.before) == (hidden, {})

    def test_what_a_person_did_is_kept_with_its_reason(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"))
        before = only(store, "n1")
        change = edit(before, replace(before, text="Ana B."))
        old = run(store, change, kind="user")
        compact_everything(store)
        (row,) = journal(store, old)
        assert (row.change, row.before) == (change, {})

    def test_what_a_person_undid_is_still_known_and_says_nothing_more(
        self, store: MemoryStore
    ) -> None:
        write(store, make_episode("e1"))
        group = Group(phase="naming", kind="entity", id="n1")
        condensed = edit(only(store, "e1"), replace(only(store, "e1"), state="condensed"), group)
        spread = Use(record=RecordId("n1"), hour=5, kind="spread", weight=0.5)
        made = (
            add_record(group, make_entity("n1"), "new"),
            add_link(group, make_link("e1", "n1"), "named"),
            add_spread(group, spread, "near"),
        )  # fmt: skip
        old = run(store, *made, condensed)
        run(store, kind="undo", undoes=((old, ""),))
        with store.snapshot(OWN) as reader:
            known = reader.undone("naming", ["n1"]), reader.undone_sources("naming")
        assert known[0]
        assert known[1] == ["e1"]
        compact_everything(store)
        with store.snapshot(OWN) as reader:
            assert (reader.undone("naming", ["n1"]), reader.undone_sources("naming")) == known
        rows = journal(store, old)
        assert [row.change.table for row in rows] == ["record", "link", "record"]
        assert all(not (row.before or row.change.after or row.change.reason) for row in rows)

    def test_old_uses_become_one_of_the_same_weight_that_never_spreads(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1", at=OLD), make_entity("n2", at=OLD))
        used(store, "n1", HOUR, weight=2.0)
        used(store, "n1", HOUR + 50, "spread", 0.25)
        used(store, "n1", HOUR + 50, "confirmed")
        used(store, "n1", HOUR + 900)
        used(store, "n2", HOUR)
        before = computed(store, "n1"), only(store, "n1"), uses(store, "n2")
        done = compact(store)
        folded, young = uses(store)
        assert (done.uses, done.records) == (3, 1)
        assert (folded.hour, folded.kind, folded.spread_weight) == (
            HOUR + 50,
            "base",
            folded.weight,
        )
        assert folded.weight == pytest.approx(1.25 + 2 * 2 ** (-50 / HALF_LIFE_HOURS), abs=1e-9)
        assert (young.hour, young.kind) == (HOUR + 900, "recalled")
        assert abs(computed(store, "n1") - before[0]) <= 1
        assert (only(store, "n1"), uses(store, "n2")) == before[1:]

    def test_uses_that_may_still_spread_are_not_folded(self, store: MemoryStore) -> None:
        write(store, make_entity("n1", at=OLD))
        used(store, "n1", HOUR)
        used(store, "n1", HOUR + 1)
        assert compact(store, unspread=OLD).uses == 0
        run(store, kind="deep", clock=OLD)
        assert compact(store).uses == 0
        run(store, kind="deep", clock=OLD + 1 * DAYS)
        assert compact(store).uses == 2

    def test_uses_that_a_run_with_a_history_wrote_are_not_folded(self, store: MemoryStore) -> None:
        write(store, make_entity("n1", at=OLD))
        used(store, "n1", HOUR)
        used(store, "n1", HOUR + 1)
        spread = Use(record=RecordId("n1"), hour=HOUR + 1, kind="spread", weight=0.5)
        run(store, add_spread(SETUP, spread, "near"), clock=NOW)
        assert compact(store).uses == 0
        assert len(uses(store)) == 3

    def test_a_second_compact_finds_nothing(self, store: MemoryStore) -> None:
        filled(store)
        compact(store)
        before = dumped(store)
        again = compact(store)
        assert (again.runs, again.dropped, again.uses) == (0, 0, 0)
        assert dumped(store) == before

    def test_a_dry_run_counts_and_writes_nothing(self, store: MemoryStore) -> None:
        filled(store)
        before = dumped(store)
        would = compact(store, dry_run=True)
        assert dumped(store) == before
        assert would.runs
        assert would.uses
        assert compact(store) == would

    def test_without_the_lease_nothing_is_compacted(self, store: MemoryStore) -> None:
        filled(store)
        with held(store) as lease:
            pass
        before = dumped(store)
        with pytest.raises(RunAlreadyActive):
            store.compact(OWN, before=LIMIT, unspread=NOW, lease=lease, watch=lambda _done: None)
        assert dumped(store) == before

    def test_a_compacted_scope_is_exported_and_imported_whole(self, store: MemoryStore) -> None:
        filled(store)
        compact(store)
        other = self.open_store()
        other.load(OWN, list(store.dump(OWN)))
        assert dumped(other) == dumped(store)
        other.close()

    def test_an_export_from_before_brings_nothing_back(self, store: MemoryStore) -> None:
        filled(store)
        whole = list(store.dump(OWN))
        compact(store)
        before = dumped(store)
        store.load(OWN, whole)
        assert dumped(store) == before

    def test_a_compacted_export_counts_no_use_twice(self, store: MemoryStore) -> None:
        filled(store)
        other = self.open_store()
        other.load(OWN, list(store.dump(OWN)))
        before = dumped(other, tables=("use",))
        compact(store)
        other.load(OWN, list(store.dump(OWN)))
        assert dumped(other, tables=("use",)) == before
        other.close()

    def test_another_half_life_computes_every_strength_anew(self, store: MemoryStore) -> None:
        filled(store)
        version = only(store, "n1").version
        number, (records, changed) = rescale(store, 100.0)
        assert (records, changed) == (3, 3)
        for i in ("e1", "n1", "n2"):
            assert only(store, i).strength == computed(store, i, 100.0)
        assert only(store, "n1").version > version
        with store.snapshot(OWN) as reader:
            assert (reader.state.half_life_hours, reader.state.rescaled_by) == (100.0, number)
            found = reader.run(number)
        assert (found.kind, found.status, found.settings) == (
            "user", "committed", {"half_life_days": 100 / 24},
        )  # fmt: skip
        assert journal(store, number) == []
        with store.snapshot(SIBLING) as reader:
            assert reader.state.half_life_hours == HALF_LIFE_HOURS

    def test_the_half_life_there_and_back_leaves_every_strength(self, store: MemoryStore) -> None:
        filled(store)
        rescale(store, HALF_LIFE_HOURS)
        before = strengths(store)
        rescale(store, 100.0)
        assert strengths(store) != before
        rescale(store, HALF_LIFE_HOURS)
        assert strengths(store) == before

    def test_strengths_come_from_the_latest_uses_up_to_the_clock(self, store: MemoryStore) -> None:
        write(store, make_entity("n1", at=OLD))
        for hour in (HOUR, HOUR + 1, HOUR + 2, (NOW - EPOCH) // timedelta(hours=1) + 1):
            used(store, "n1", hour)
        rescale(store, 100.0, cap=2)
        kept = [
            Use(record=RecordId("n1"), hour=HOUR + n, kind="recalled", weight=1.0) for n in (1, 2)
        ]
        assert only(store, "n1").strength == record_strength(only(store, "n1"), kept, 100.0)

    def test_a_plan_from_before_another_half_life_is_stale(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"))
        before = only(store, "n1")
        change = edit(before, replace(before, text="Ana B."))
        plan = Commit(
            kind="deep", clock=NOW, changes=(change,), read=((before.id, before.version),)
        )
        number = store.save_plan(OWN, plan)
        rescale(store, 100.0)
        with held(store) as lease, pytest.raises(StaleWrite):
            store.commit_plan(OWN, number, lease=lease)

    def test_without_the_lease_the_half_life_stays(self, store: MemoryStore) -> None:
        filled(store)
        before = dumped(store)
        with held(store) as lease:
            pass
        with pytest.raises(RunAlreadyActive):
            store.set_half_life(
                OWN, 9.0, clock=NOW, uses_per_record=9, lease=lease, report=lambda _n, _c: {}
            )
        assert dumped(store) == before

    def test_an_export_of_another_half_life_is_refused(self, store: MemoryStore) -> None:
        filled(store)
        whole = list(store.dump(OWN))
        rescale(store, 100.0)
        before = dumped(store)
        with pytest.raises(InputError, match="half-life 30 --scope acme/ana"):
            store.load(OWN, whole)
        assert dumped(store) == before

    def test_a_store_knows_its_size_and_gives_free_space_back(self, store: MemoryStore) -> None:
        write(store, *(make_episode(f"e{n}", "many words " * 200) for n in range(200)))
        store.forget(OWN, [f"e{n}" for n in range(200)], subscriptions=())
        assert store.rebuild()
        size = store.size()
        assert size.total > 0
        assert size.mostly_needed


def compact_everything(store: MemoryStore) -> None:
    """Compact, also what the contract's own short ways have written just now."""
    with held(store) as lease:
        store.compact(OWN, before=_FAR, unspread=_FAR, lease=lease, watch=lambda _done: None)


def filled(store: MemoryStore) -> None:
    """An old run and a young one, an undone one, mentions, and uses old and young."""
    run(
        store, add_record(SETUP, make_episode("e1", at=OLD), "heard"),
        add_record(SETUP, make_entity("n1", at=OLD), "new"),
        add_link(SETUP, make_link("e1", "n1", at=OLD), "named"),
    )  # fmt: skip
    gone = run(store, add_record(SETUP, make_entity("n9", "Eva"), "new"))
    record = make_entity("n9", "Eva")
    undo = replace(add_record(SETUP, record, "undo"), operation="remove", after={})
    run(store, undo, kind="undo", undoes=((gone, ""),))
    run(store, add_record(SETUP, make_entity("n2", "Bob", at=OLD), "new"), clock=NOW)
    for hour in (HOUR, HOUR + 7, HOUR + 800):
        used(store, "n1", hour)
        used(store, "n2", hour, "confirmed")


def strengths(store: MemoryStore) -> list[int]:
    """The stored strengths."""
    found: list[Record] = [only(store, i) for i in ("e1", "n1", "n2")]
    return [record.strength for record in found]
