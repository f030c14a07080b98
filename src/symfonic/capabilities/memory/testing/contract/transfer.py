"""Export and import: everything of a scope, without loss, and no approval with it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import InputError, SymfonicError
from symfonic.capabilities.memory.records import KINDS, Procedure, Step
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.testing.builders import (
    NOW,
    make_entity,
    make_episode,
    make_session,
)
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    ContractBase,
    add,
    commit,
    dumped,
    edit,
    only,
    session_texts,
    waiting,
    write,
)
from symfonic.capabilities.memory.testing.contract.runs import night

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Record, Status
    from symfonic.capabilities.memory.store import MemoryStore


def procedure(i: str, status: Status) -> Record:
    """A procedure that a person decided about."""
    content = Procedure(
        title="Deploy", trigger="on Friday", steps=(Step(action="deploy"),), origin="stated",
        decided_by="ana", decided_at="2026-03-01T00:00:00+00:00",
    )  # fmt: skip
    return replace(make_entity(i), kind="procedure", content=content, status=status)


def full(store: MemoryStore) -> None:
    """A scope with something in every table, a tombstone, an undone run and a plan."""
    ids = add(store, make_session("one kettle", "two", "three", prefix="m")).ids
    store.commit(OWN, night(store), lease=None)
    number = write(store, make_entity("n5", "Eva"))
    store.commit(OWN, Commit(kind="undo", clock=NOW, undoes=((number, ""),)), lease=None)
    store.forget(OWN, ids[:1], subscriptions=())
    before = only(store, "n2")
    changed = edit(before, replace(before, text="Bob C."))
    store.save_plan(OWN, Commit(kind="deep", clock=NOW, changes=(changed,)))


class TransferContract(ContractBase):
    """Dump and load."""

    def test_a_dump_comes_back_equal_to_the_byte_twice(self, store: MemoryStore) -> None:
        full(store)
        exported = dumped(store)
        assert {json.loads(line)["table"] for line in exported} == {
            "scope", "record", "link", "seen", "answer", "use", "pending", "run", "change",
        }  # fmt: skip
        for _ in range(2):
            other = self.open_store()
            try:
                counts = other.load(OWN, [json.loads(line) for line in exported])
                assert sum(counts.values()) == len(exported)
                assert dumped(other) == exported
                assert other.check() == []
            finally:
                other.close()

    def test_a_loaded_scope_goes_on_as_the_first_would_have(self, store: MemoryStore) -> None:
        full(store)
        other = self.open_store()
        try:
            other.load(OWN, list(store.dump(OWN)))
            for one in (store, other):
                again = add(one, make_session("one kettle", "two", "three", "four", prefix="m"))
                assert (again.added, again.known, again.forgotten) == (1, 2, 1)
                commit(one, queue={"reading": ("n2",)})
            assert dumped(other) == dumped(store)
            assert waiting(other, "reading") == waiting(store, "reading")
            with other.snapshot(OWN) as reader:
                assert len(reader.search('"four"', kinds=KINDS, limit=9)) == 1
        finally:
            other.close()

    def test_loading_the_same_rows_again_adds_nothing(self, store: MemoryStore) -> None:
        full(store)
        exported = dumped(store)
        counts = store.load(OWN, [json.loads(line) for line in exported])
        assert not any(counts.values())
        assert dumped(store) == exported
        assert store.check() == []

    def test_rows_loaded_into_a_scope_that_is_there_leave_it_sound(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1"), make_episode("e1"))
        exported = list(store.dump(OWN))
        with store.snapshot(OWN) as reader:
            counter = reader.state.counter
        other = self.open_store()
        try:
            other.ensure_scope(OWN, half_life_hours=720.0, salt=OWN.path.encode())
            other.load(OWN, exported)
            assert other.check() == []
            with other.snapshot(OWN) as reader:
                assert reader.state.visible == 2
                assert reader.state.counter >= counter
            write(other, make_entity("n2", "Bob"))
            assert only(other, "n2").version > only(other, "e1").version
        finally:
            other.close()

    def test_rows_go_into_the_scope_that_is_named(self, store: MemoryStore) -> None:
        add(store, make_session("one", "two"))
        other = self.open_store()
        try:
            other.load(type(OWN)("zoe"), list(store.dump(OWN)))
            assert other.scopes() == ["zoe"]
            assert session_texts(other, scope=type(OWN)("zoe")) == ["one", "two"]
        finally:
            other.close()

    def test_an_approved_procedure_comes_in_as_a_draft(self, store: MemoryStore) -> None:
        write(store, procedure("p1", "approved"), procedure("p2", "rejected"))
        other = self.open_store()
        try:
            other.load(OWN, list(store.dump(OWN)))
            approved, rejected = only(other, "p1"), only(other, "p2")
        finally:
            other.close()
        assert (approved.status, rejected.status) == ("draft", "rejected")
        assert isinstance(approved.content, Procedure)
        assert (approved.content.decided_by, approved.content.decided_at) == (None, None)

    def test_rows_of_other_ids_are_refused(self, store: MemoryStore) -> None:
        add(store, make_session("one"))
        rows = list(store.dump(OWN))
        other = self.open_store()
        try:
            other.ensure_scope(OWN, half_life_hours=720.0, salt=b"another")
            before = dumped(other)
            with pytest.raises(InputError):
                other.load(OWN, rows)
            assert dumped(other) == before
        finally:
            other.close()

    def test_a_damaged_row_leaves_nothing(self, store: MemoryStore) -> None:
        add(store, make_session("one", "two"))
        rows = list(store.dump(OWN))
        broken = [{"table": "soup"}, {"table": "record", "id": "x"}]
        for bad in broken:
            other = self.open_store()
            try:
                with pytest.raises(SymfonicError):
                    other.load(OWN, [*rows, bad])
                assert other.scopes() == []
            finally:
                other.close()
