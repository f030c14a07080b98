"""What every part of the contract shares: how a store is opened, and short ways to write to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    edit_record,
)
from symfonic.capabilities.memory.records import Link, Record, RecordId, canonical
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Subscription
from symfonic.capabilities.memory.testing.builders import HALF_LIFE_HOURS, NOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.store import Ingested, MemoryStore, Turn

ROOT: Final = Scope("acme")
OWN: Final = Scope("acme/ana")
CHILD: Final = Scope("acme/ana/support")
SIBLING: Final = Scope("acme/bob")
SCOPES: Final = (ROOT, OWN, CHILD, SIBLING)
SETUP: Final = Group(phase="testing", kind="setup", id="setup")
READS_EPISODES: Final = Subscription(phase="reading", reads=("episode",), reads_touched=False)
READS_TOUCHED: Final = Subscription(phase="touched", reads=(), reads_touched=True)
SUBSCRIPTIONS: Final = (READS_EPISODES, READS_TOUCHED)


class ContractBase:
    """Opens stores for the contract. Subclasses say how."""

    def open_store(self) -> MemoryStore:
        """A new and empty store. The contract closes it."""
        raise NotImplementedError

    def shared_url(self) -> str | None:
        """Where another process can open the store that ``open_store`` gave last.

        ``None`` for a store that lives in this process alone.
        """
        return None

    def reads_beside_writes(self) -> bool:
        """Whether a snapshot can stay open while the same caller writes, as it must be able to
        wherever readers and writers do not take turns on one connection.
        """
        return self.shared_url() is not None

    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        """A store with four scopes: one, its parent, its child and its sibling."""
        store = self.open_store()
        make_scopes(store)
        yield store
        store.close()


def make_scopes(store: MemoryStore) -> None:
    """The four scopes, each with a salt of its own."""
    for scope in SCOPES:
        store.ensure_scope(scope, half_life_hours=HALF_LIFE_HOURS, salt=scope.path.encode())


def add(store: MemoryStore, turns: Sequence[Turn], scope: Scope = OWN) -> Ingested:
    """Add turns with both subscriptions, as an import of its own."""
    return store.add_turns(
        scope, turns, now=NOW, subscriptions=SUBSCRIPTIONS, alignment=store.new_alignment()
    )


def write(store: MemoryStore, *rows: Record | Link, scope: Scope = OWN) -> int:
    """Commit new records and links; the run's number."""
    return commit(
        store,
        *(
            add_record(SETUP, row, "setup") if isinstance(row, Record)
            else add_link(SETUP, row, "setup")
            for row in rows
        ),
        scope=scope,
    )  # fmt: skip


def commit(store: MemoryStore, *changes: Change, scope: Scope = OWN, **rest: Any) -> int:  # noqa: ANN401
    """Commit changes as a user's run; the run's number."""
    return store.commit(scope, Commit(kind="user", clock=NOW, changes=changes, **rest), lease=None)


def edit(before: Record, after: Record, group: Group = SETUP) -> Change:
    """The change from one record to the other."""
    change = edit_record(group, before, after, "a test changes it")
    assert change is not None
    return change


def only(store: MemoryStore, i: str, scope: Scope = OWN) -> Record:
    """The record with this id."""
    with store.snapshot(scope) as reader:
        (record,) = reader.records([i])
    return record


def texts(store: MemoryStore, ids: Sequence[str], scope: Scope = OWN) -> list[str]:
    """The texts of these records, in order of session and position."""
    with store.snapshot(scope) as reader:
        records = reader.records(ids)
    return [r.text for r in sorted(records, key=lambda r: (r.session or "", r.position or 0))]


def session_texts(store: MemoryStore, session: str = "s1", scope: Scope = OWN) -> list[str]:
    """A session's texts in their order."""
    with store.snapshot(scope) as reader:
        ids = reader.session_episodes(session)
    return texts(store, ids, scope)


def waiting(store: MemoryStore, phase: str, scope: Scope = OWN) -> set[RecordId]:
    """The records that a phase has not read."""
    with store.snapshot(scope) as reader:
        rows, _ = reader.pending(phase, until=NOW, cap=1000)
    return {row.record for row in rows}


def dumped(store: MemoryStore, scope: Scope = OWN, *, tables: Sequence[str] = ()) -> list[str]:
    """The scope's rows as canonical lines, of these tables or all."""
    rows = store.dump(scope)
    return [canonical(row) for row in rows if not tables or row["table"] in tables]
