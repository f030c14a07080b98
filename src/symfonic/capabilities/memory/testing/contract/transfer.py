"""Export and import: everything of a scope, without loss, and no approval with it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError, RecordNotFound
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
    """A scope with something in every table, a tombstone and an undone run."""
    ids = add(store, make_session("one kettle", "two", "three", prefix="m")).ids
    store.commit(OWN, night(store), lease=None)
    number = write(store, make_entity("n5", "Eva"))
    store.commit(OWN, Commit(kind="undo", clock=NOW, undoes=((number, ""),)), lease=None)
    store.forget(OWN, ids[:1], subscriptions=())


def kept_plan(store: MemoryStore) -> int:
    """A plan that changes the record ``n2``; its number."""
    before = only(store, "n2")
    changed = edit(before, replace(before, text="Bob C."))
    return store.save_plan(OWN, Commit(kind="deep", clock=NOW, changes=(changed,)))


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
                assert len(reader.search(['"four"'], kinds=KINDS, limit=9)) == 1
        finally:
            other.close()

    def test_loading_the_same_rows_again_adds_nothing(self, store: MemoryStore) -> None:
        full(store)
        kept_plan(store)
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
        kinds: tuple[Status, ...] = ("approved", "rejected", "retired")
        write(store, *(procedure(status, status) for status in kinds))
        other = self.open_store()
        try:
            other.load(OWN, list(store.dump(OWN)))
            approved, *decided = (only(other, status) for status in kinds)
            with other.snapshot(OWN) as reader:
                before = only(store, "approved")
                assert reader.as_of([(OWN.path, before.id, before.version)]) == {}
                assert reader.state.counter >= approved.version > before.version
        finally:
            other.close()
        assert approved.status == "draft"
        assert [record.status for record in decided] == ["rejected", "retired"]
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

    def test_a_kept_plan_comes_in_abandoned(self, store: MemoryStore) -> None:
        full(store)
        number = kept_plan(store)
        other = self.open_store()
        try:
            other.load(OWN, list(store.dump(OWN)))
            with other.snapshot(OWN) as reader:
                run = reader.run(number)
                assert (run.status, run.report["status"]) == ("abandoned", "abandoned")
                assert (run.plan, reader.journal(number)) == ({}, [])
                assert reader.state.run_count == number
            with pytest.raises(RecordNotFound):
                other.load_plan(OWN, number)
            assert other.check() == []
        finally:
            other.close()

    def test_clocks_come_in_and_never_go_back(self, store: MemoryStore) -> None:
        store.commit(OWN, Commit(kind="deep", clock=NOW), lease=None)
        other = self.open_store()
        try:
            other.ensure_scope(OWN, half_life_hours=720.0, salt=OWN.path.encode())
            other.load(OWN, list(store.dump(OWN)))
            rows = list(other.dump(OWN))
            rows[0] |= {"last_clock": rows[0]["last_clock"] - 1, "deep_clock": 1}
            other.load(OWN, rows)
            with other.snapshot(OWN) as reader:
                assert (reader.state.last_clock, reader.state.deep_clock) == (NOW, NOW)
        finally:
            other.close()

    def test_another_history_under_the_same_ids_is_refused(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"))
        first = list(store.dump(OWN))
        write(store, make_entity("n2", "Bob"))
        longer = list(store.dump(OWN))
        other = self.open_store()
        try:
            other.ensure_scope(OWN, half_life_hours=720.0, salt=OWN.path.encode())
            other.commit(OWN, Commit(kind="user", clock=NOW + timedelta(1)), lease=None)
            self._load_refused(other, first)
            self._load_refused(other, longer)
        finally:
            other.close()
        self._load_refused(store, first)

    def test_an_export_that_goes_on_where_the_scope_has_stopped_is_refused(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1"))
        other = self.open_store()
        try:
            other.load(OWN, list(store.dump(OWN)))
            before = only(store, "n1")
            commit(store, edit(before, replace(before, text="other")))
            self._load_refused(other, list(store.dump(OWN)))
        finally:
            other.close()

    def test_an_export_from_before_a_forgetting_is_refused(self, store: MemoryStore) -> None:
        (i, *_) = add(store, make_session("one", "two")).ids
        rows = list(store.dump(OWN))
        store.forget(OWN, [i], subscriptions=())
        self._load_refused(store, rows)

    def _load_refused(self, store: MemoryStore, rows: list[dict[str, Any]]) -> None:
        before = dumped(store)
        with pytest.raises(InputError):
            store.load(OWN, rows)
        assert dumped(store) == before

    @pytest.mark.parametrize(
        ("table", "damage"),
        [
            ("scope", {"salt": None}), ("scope", {"salt": "no hex"}), ("scope", {"salt": 5}),
            ("scope", {"settings": "{"}), ("scope", {"counter": "many"}),
            ("scope", {"last_clock": 10**30}), ("scope", {"table": "record"}),
            ("record", {"body": "{"}), ("record", {"body": "[]"}), ("record", {"body": None}),
            ("record", {"body": 5}), ("record", {"body": '{"role": "user", "calls": [{}]}'}),
            ("record", {"kind": "soup"}), ("record", {"kind": None}), ("record", {"state": "new"}),
            ("record", {"status": "approved"}), ("record", {"trust": "full"}),
            ("record", {"recorded_at": None}), ("record", {"recorded_at": "yesterday"}),
            ("record", {"occurred_at": 10**30}), ("record", {"id": None}),
            ("record", {"version": "one"}), ("record", {"text": ["a"]}),
            ("record", {"table": "soup"}), ("record", {"table": None}),
            ("record", {"table": "scope"}),
            ("link", {"at": "then"}), ("link", {"target": None}), ("link", {"at": 10**17 * 9}),
            ("seen", {"body": "{"}), ("seen", {"score": "high"}), ("answer", {"sources": "x"}),
            ("use", {"weight": "much"}), ("pending", {"stamp": None, "at": None}),
            ("run", {"report": "{"}), ("run", {"number": "one"}), ("run", {"settings": None}),
            ("change", {"row": "{"}), ("change", {"after": "x"}), ("change", {"first": None}),
        ],
    )  # fmt: skip
    def test_a_damaged_row_is_named_and_leaves_nothing(
        self, store: MemoryStore, table: str, damage: dict[str, Any]
    ) -> None:
        full(store)
        rows = [dict(row) for row in store.dump(OWN)]
        number = next(
            n for n, row in enumerate(rows)
            if row["table"] == table and row.get("state") != "forgotten"
        )  # fmt: skip
        rows[number] |= damage
        other = self.open_store()
        try:
            with pytest.raises(InputError) as caught:
                other.load(OWN, rows)
            assert caught.value.facts["row"] == number + 1
            assert other.scopes() == []
        finally:
            other.close()

    @pytest.mark.parametrize("rows", [[], ["row"], [None], [{"table": "record", "id": "x"}]])
    def test_an_export_begins_with_its_scope(self, store: MemoryStore, rows: list[Any]) -> None:
        with pytest.raises(InputError):
            store.load(type(OWN)("zoe"), rows)
        assert "zoe" not in store.scopes()
