"""A kept plan: it comes back as it was, and is refused where something has overtaken it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import (
    add_record,
)
from symfonic.capabilities.memory.errors import (
    ClockRefused,
    RecordNotFound,
    StaleWrite,
)
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.testing.builders import NOW, make_entity
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    ContractBase,
    commit,
    dumped,
    edit,
    only,
    waiting,
    write,
)
from symfonic.capabilities.memory.testing.contract.runs import NIGHT, night, remove

if TYPE_CHECKING:
    from symfonic.capabilities.memory.store import MemoryStore


class PlanContract(ContractBase):
    """Plans that are kept and applied."""

    def test_a_plan_comes_back_as_it_was_kept_and_changes_nothing(self, store: MemoryStore) -> None:
        plan = night(store)
        content = ("record", "link", "seen", "answer", "use", "pending")
        before = dumped(store, tables=content)
        number = store.save_plan(OWN, plan)
        assert dumped(store, tables=content) == before
        loaded = store.load_plan(OWN, number)
        assert replace(loaded, report=plan.report) == plan
        with store.snapshot(OWN) as reader:
            assert reader.run(number).status == "planned"
            assert [row.change for row in reader.journal(number)] == list(plan.changes)

    def test_a_plan_that_is_committed_writes_what_a_run_would_have(
        self, store: MemoryStore
    ) -> None:
        plan = night(store)
        twin = self.open_store()
        try:
            twin.load(OWN, list(store.dump(OWN)))
            number = store.save_plan(OWN, plan)
            lease = store.acquire(OWN, now=NOW, term_seconds=60)
            store.commit_plan(OWN, number, lease=lease)
            assert twin.commit(OWN, plan, lease=None) == number
            assert dumped(store) == dumped(twin)
        finally:
            twin.close()
        assert waiting(store, "linking") == {"n2"}
        assert waiting(store, "again") == {"n1", "n2"}
        with pytest.raises(RecordNotFound):
            store.commit_plan(OWN, number, lease=lease)

    def test_a_stale_plan_is_refused(self, store: MemoryStore) -> None:
        number = store.save_plan(OWN, night(store))
        entity = only(store, "n1")
        commit(store, edit(entity, replace(entity, text="Ana C.")))
        before = dumped(store)
        lease = store.acquire(OWN, now=NOW, term_seconds=60)
        with pytest.raises(StaleWrite):
            store.commit_plan(OWN, number, lease=lease)
        assert dumped(store) == before

    def test_a_plan_of_an_earlier_time_than_the_last_run_is_refused(
        self, store: MemoryStore
    ) -> None:
        number = store.save_plan(OWN, night(store))
        store.commit(OWN, Commit(kind="light", clock=NOW + timedelta(hours=1)), lease=None)
        self._plan_refused(store, number, ClockRefused)

    def test_a_plan_whose_unread_rows_were_read_since_is_stale(self, store: MemoryStore) -> None:
        plan = night(store)
        number = store.save_plan(OWN, plan)
        commit(store, done=plan.done)
        self._plan_refused(store, number, StaleWrite)

    def test_a_plan_does_not_bring_back_what_was_undone_since(self, store: MemoryStore) -> None:
        adds = Commit(
            kind="deep", clock=NOW, changes=(add_record(NIGHT, make_entity("n1"), "new"),)
        )
        number = store.save_plan(OWN, adds)
        first = store.commit(OWN, adds, lease=None)
        takes_back = Commit(kind="undo", clock=NOW, changes=(remove("n1"),), undoes=((first, ""),))
        store.commit(OWN, takes_back, lease=None)
        self._plan_refused(store, number, StaleWrite)
        later = store.save_plan(OWN, adds)
        store.commit_plan(OWN, later, lease=store.acquire(OWN, now=NOW, term_seconds=60))
        assert only(store, "n1").text == "Ana"

    def _plan_refused(self, store: MemoryStore, number: int, error: type[Exception]) -> None:
        before = dumped(store)
        lease = store.acquire(OWN, now=NOW, term_seconds=60)
        with pytest.raises(error):
            store.commit_plan(OWN, number, lease=lease)
        store.release(lease)
        assert dumped(store) == before

    def test_a_run_that_is_not_planned_cannot_be_applied(self, store: MemoryStore) -> None:
        number = write(store, make_entity("n1"))
        for missing in (number, number + 1):
            with pytest.raises(RecordNotFound):
                store.load_plan(OWN, missing)
