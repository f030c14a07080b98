"""Restore: a dump put back as it was, into a scope that holds nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.records import Procedure
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.testing.builders import NOW, make_session
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    ContractBase,
    add,
    dumped,
    only,
    write,
)
from symfonic.capabilities.memory.testing.contract.transfer import full, kept_plan, procedure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from symfonic.capabilities.memory.store import MemoryStore

Rows = list[dict[str, Any]]


def copied(store: MemoryStore) -> Rows:
    """The scope's dump, as an export brings it."""
    return [json.loads(line) for line in dumped(store)]


def place(rows: Rows, table: str, number: int = 0) -> int:
    """Where a row of a table stands."""
    return [n for n, row in enumerate(rows) if row["table"] == table][number]


def swapped(rows: Rows) -> int:
    first = place(rows, "run")
    rows[first], rows[first + 1] = rows[first + 1], rows[first]
    return first + 1


def doubled(rows: Rows) -> int:
    first = place(rows, "use")
    rows.insert(first, rows[first])
    return first + 1


def moved(rows: Rows) -> int:
    last = len(rows) - 1
    rows.append(rows.pop(place(rows, "link")))
    return last


def torn(rows: Rows) -> int:
    first = place(rows, "change")
    rows[first] = {**rows[first], "after": "{"}
    return first


class RestoreContract(ContractBase):
    """``restore``."""

    def test_everything_comes_back_to_the_byte(self, store: MemoryStore) -> None:
        full(store)
        write(store, procedure("p1", "approved"))
        number = kept_plan(store)
        other = self.open_store()
        try:
            counts = other.restore(OWN, copied(store))
            assert sum(counts.values()) == len(dumped(store))
            assert dumped(other) == dumped(store)
            assert other.check() == []
            approved = only(other, "p1")
            assert approved.status == "approved"
            assert isinstance(approved.content, Procedure)
            assert approved.content.decided_by == "ana"
            assert other.load_plan(OWN, number) == store.load_plan(OWN, number)
        finally:
            other.close()

    def test_a_restored_scope_goes_on_as_the_first_would_have(self, store: MemoryStore) -> None:
        full(store)
        other = self.open_store()
        try:
            other.restore(OWN, copied(store))
            for one in (store, other):
                again = add(one, make_session("one kettle", "two", "three", "four", prefix="m"))
                assert (again.added, again.known, again.forgotten) == (1, 2, 1)
                one.commit(OWN, Commit(kind="deep", clock=NOW), lease=None)
            assert dumped(other) == dumped(store)
        finally:
            other.close()

    def test_an_empty_scope_takes_the_ids_of_the_dump(self, store: MemoryStore) -> None:
        full(store)
        other = self.open_store()
        try:
            other.ensure_scope(OWN, half_life_hours=1.0, salt=b"another")
            other.restore(OWN, copied(store))
            assert dumped(other) == dumped(store)
        finally:
            other.close()

    def test_a_scope_that_holds_anything_is_left_as_it_is(self, store: MemoryStore) -> None:
        full(store)
        rows = copied(store)
        other = self.open_store()
        try:
            other.ensure_scope(OWN, half_life_hours=1.0, salt=b"another")
            ids = add(other, make_session("one")).ids
            for _ in range(2):
                before = dumped(other)
                with pytest.raises(InputError, match="not empty"):
                    other.restore(OWN, rows)
                assert dumped(other) == before
                other.forget(OWN, ids, subscriptions=())
        finally:
            other.close()

    def test_runs_are_told_under_another_name_and_back(self, store: MemoryStore) -> None:
        full(store)
        zoe = Scope("zoe")
        other, third = self.open_store(), self.open_store()
        try:
            other.restore(zoe, copied(store))
            with other.snapshot(zoe) as reader:
                reports = [run.report for run in reader.runs(limit=9)]
            assert all(report["run_id"].startswith("zoe#") for report in reports)
            third.restore(OWN, [json.loads(json.dumps(row)) for row in other.dump(zoe)])
            assert len(dumped(third)) == len(dumped(store))
            assert third.check() == []
        finally:
            other.close()
            third.close()

    @pytest.mark.parametrize("damage", [swapped, doubled, moved, torn])
    def test_rows_that_are_not_as_they_were_dumped_are_named_and_leave_nothing(
        self, store: MemoryStore, damage: Callable[[Rows], int]
    ) -> None:
        full(store)
        rows = copied(store)
        number = damage(rows)
        other = self.open_store()
        try:
            with pytest.raises(InputError) as caught:
                other.restore(OWN, rows)
            assert caught.value.facts["row"] == number + 1
            assert caught.value.facts["line"] == number + 2
            assert other.scopes() == []
        finally:
            other.close()

    def test_an_error_at_the_end_of_the_rows_leaves_nothing(self, store: MemoryStore) -> None:
        full(store)

        def broken() -> Iterator[dict[str, Any]]:
            yield from copied(store)
            raise InputError("It was edited.")

        other = self.open_store()
        try:
            with pytest.raises(InputError, match="edited"):
                other.restore(OWN, broken())
            assert other.scopes() == []
        finally:
            other.close()

    @pytest.mark.parametrize("rows", [[], [{"table": "record", "id": "x"}]])
    def test_a_dump_begins_with_its_scope(self, store: MemoryStore, rows: Rows) -> None:
        with pytest.raises(InputError):
            store.restore(Scope("zoe"), rows)
        assert "zoe" not in store.scopes()
