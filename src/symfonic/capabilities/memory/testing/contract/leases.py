"""Who may run a scope: one holder at a time, and none that is dead for long."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from symfonic.capabilities.memory.changes import add_record
from symfonic.capabilities.memory.errors import RunAlreadyActive
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.testing.builders import NOW, make_entity
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    SETUP,
    SIBLING,
    ContractBase,
    dumped,
    write,
)

if TYPE_CHECKING:
    from symfonic.capabilities.memory.store import MemoryStore

TERM = 60

_HOLDER: Final = """
import sys
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.testing.builders import NOW

store = open_store(sys.argv[1])
print(store.acquire(Scope(sys.argv[2]), now=NOW, term_seconds=60).fence, flush=True)
sys.stdin.read()
"""
"""A process that takes the lease and lives until its input ends or it is killed."""


class LeaseContract(ContractBase):
    """The lease and its fence."""

    def test_a_held_scope_is_refused(self, store: MemoryStore) -> None:
        store.acquire(OWN, now=NOW, term_seconds=TERM)
        with pytest.raises(RunAlreadyActive):
            store.acquire(OWN, now=NOW + timedelta(seconds=TERM - 1), term_seconds=TERM)
        store.acquire(SIBLING, now=NOW, term_seconds=TERM)

    def test_a_lease_that_was_given_back_can_be_taken(self, store: MemoryStore) -> None:
        first = store.acquire(OWN, now=NOW, term_seconds=TERM)
        store.release(first)
        assert store.acquire(OWN, now=NOW, term_seconds=TERM).fence > first.fence

    def test_a_lease_is_replaced_after_its_term(self, store: MemoryStore) -> None:
        first = store.acquire(OWN, now=NOW, term_seconds=TERM)
        later = NOW + timedelta(seconds=TERM)
        assert store.acquire(OWN, now=later, term_seconds=TERM).fence > first.fence

    def test_a_renewed_lease_is_held_for_longer(self, store: MemoryStore) -> None:
        lease = store.acquire(OWN, now=NOW, term_seconds=TERM)
        half = NOW + timedelta(seconds=TERM / 2)
        renewed = store.renew(lease, now=half, term_seconds=TERM)
        assert (renewed.fence, renewed.until) == (lease.fence, half + timedelta(seconds=TERM))
        with pytest.raises(RunAlreadyActive):
            store.acquire(OWN, now=NOW + timedelta(seconds=TERM + 1), term_seconds=TERM)

    def test_a_run_that_lost_its_lease_writes_nothing(self, store: MemoryStore) -> None:
        lost = store.acquire(OWN, now=NOW, term_seconds=TERM)
        number = store.save_plan(OWN, Commit(kind="deep", clock=NOW))
        later = NOW + timedelta(seconds=TERM)
        taken = store.acquire(OWN, now=later, term_seconds=TERM)
        before = dumped(store)
        change = add_record(SETUP, make_entity("n1"), "new")
        commit = Commit(kind="deep", clock=NOW, changes=(change,))
        with pytest.raises(RunAlreadyActive):
            store.commit(OWN, commit, lease=lost)
        with pytest.raises(RunAlreadyActive):
            store.commit_plan(OWN, number, lease=lost)
        with pytest.raises(RunAlreadyActive):
            store.renew(lost, now=later, term_seconds=TERM)
        assert dumped(store) == before
        store.commit(OWN, commit, lease=taken)

    def test_giving_back_a_lost_lease_does_not_free_the_scope(self, store: MemoryStore) -> None:
        lost = store.acquire(OWN, now=NOW, term_seconds=TERM)
        later = NOW + timedelta(seconds=TERM)
        store.acquire(OWN, now=later, term_seconds=TERM)
        store.release(lost)
        with pytest.raises(RunAlreadyActive):
            store.acquire(OWN, now=later, term_seconds=TERM)

    def test_a_lease_that_was_given_back_commits_nothing(self, store: MemoryStore) -> None:
        lease = store.acquire(OWN, now=NOW, term_seconds=TERM)
        store.release(lease)
        with pytest.raises(RunAlreadyActive):
            store.commit(OWN, Commit(kind="deep", clock=NOW), lease=lease)

    def test_a_dead_holder_on_this_host_is_replaced_at_once_and_a_living_one_is_not(
        self, store: MemoryStore
    ) -> None:
        url = self.shared_url()
        if url is None:
            pytest.skip("the store lives in this process alone")
        write(store, make_entity("n1"))
        with subprocess.Popen(  # noqa: S603 - this Python, on this module's own text
            [sys.executable, "-c", _HOLDER, url, OWN.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as holder:  # fmt: skip
            assert holder.stdout is not None
            fence = int(holder.stdout.readline())
            try:
                with pytest.raises(RunAlreadyActive) as caught:
                    store.acquire(OWN, now=NOW, term_seconds=TERM)
            finally:
                holder.kill()
        assert str(holder.pid) in str(caught.value)
        assert store.acquire(OWN, now=NOW, term_seconds=TERM).fence == fence + 1
