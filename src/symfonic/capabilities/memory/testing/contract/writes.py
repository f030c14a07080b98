"""What any run writes: approvals, indexed words and sums of uses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import Change, add_record
from symfonic.capabilities.memory.errors import ReviewError
from symfonic.capabilities.memory.records import (
    KINDS,
    Episode,
    Procedure,
    RecordId,
    ToolCall,
    Use,
    rounded,
)
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    SETUP,
    ContractBase,
    commit,
    dumped,
    edit,
    only,
    write,
)

if TYPE_CHECKING:
    from symfonic.capabilities.memory.outcome import RunKind
    from symfonic.capabilities.memory.records import Columns
    from symfonic.capabilities.memory.store import MemoryStore


def found(store: MemoryStore, expression: str) -> list[str]:
    """The ids of what a full-text expression finds."""
    with store.snapshot(OWN) as reader:
        return [hit.record.id for hit in reader.search([expression], kinds=KINDS, limit=9)]


class WriteContract(ContractBase):
    """What holds for every way in."""

    @pytest.mark.parametrize("kind", ["deep", "light", "undo", "redo", "user"])
    @pytest.mark.parametrize("by", [None, " ", "ana"])
    def test_only_a_named_person_s_run_approves(
        self, store: MemoryStore, kind: RunKind, by: str | None
    ) -> None:
        content = Procedure(title="t", trigger="", steps=(), origin="stated")
        draft = replace(make_entity("p1"), kind="procedure", content=content, status="draft")
        write(store, draft)
        approved = replace(draft, status="approved", content=replace(content, decided_by=by))
        changes = (
            edit(only(store, "p1"), approved),
            add_record(SETUP, replace(approved, id=RecordId("p2")), "new"),
        )
        before = dumped(store)
        for change in changes:
            run = Commit(kind=kind, clock=NOW, changes=(change,))
            if kind == "user" and by == "ana":
                store.commit(OWN, run, lease=None)
                continue
            with pytest.raises(ReviewError):
                store.commit(OWN, run, lease=None)
            assert dumped(store) == before

    def test_a_run_may_change_an_approved_procedure(self, store: MemoryStore) -> None:
        content = Procedure(title="t", trigger="", steps=(), origin="stated", decided_by="ana")
        write(store, replace(make_entity("p1"), kind="procedure", content=content,
                             status="approved"))  # fmt: skip
        before = only(store, "p1")
        change = edit(before, replace(before, content=replace(content, support=4)))
        store.commit(OWN, Commit(kind="deep", clock=NOW, changes=(change,)), lease=None)
        assert only(store, "p1").status == "approved"

    def test_the_words_of_a_turn_s_calls_are_found_however_it_was_written(
        self, store: MemoryStore
    ) -> None:
        call = ToolCall(name="book", arguments={"place": "wharf"})
        content = Episode(role="assistant", calls=(call,))
        write(store, make_episode("e1", "Done.", content=content))
        assert found(store, '"wharf"') == ["e1"]
        before = only(store, "e1")
        commit(store, edit(before, replace(before, text="Well done.")))
        assert (found(store, '"wharf"'), found(store, '"well"')) == (["e1"], ["e1"])
        before = only(store, "e1")
        other = replace(content, calls=(replace(call, arguments={"place": "quay"}),))
        commit(store, edit(before, replace(before, content=other)))
        assert (found(store, '"wharf"'), found(store, '"quay"')) == ([], ["e1"])

    def test_uses_add_up_as_they_do_everywhere_else(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"))
        weights = (458.48125093, 7.561461741500011)
        uses = [Use(record=RecordId("n1"), hour=3, kind="recalled", weight=w) for w in weights]
        expected = rounded(rounded(weights[0]) + weights[1])
        for use in uses:
            store.add_uses(OWN, [use], subscriptions=())
        store.add_uses(OWN, [replace(use, hour=4) for use in uses], subscriptions=())
        for use in uses:
            row = (use.record, 5, "spread")
            after: Columns = {"weight": use.weight}
            commit(store, Change(group=SETUP, operation="add", table="use", row=row, after=after))
        with store.snapshot(OWN) as reader:
            found_uses = reader.uses(["n1"], until=NOW, per_record=9)
        assert [use.weight for use in found_uses if use.hour in {3, 4, 5}] == [expected] * 3
