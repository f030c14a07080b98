"""What is due to be archived, by each rule; and what stays whatever its age."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import pytest

from symfonic.capabilities.memory.changes import Group, add_link, add_record
from symfonic.capabilities.memory.records import (
    EPOCH,
    Fact,
    Link,
    Note,
    Procedure,
    RecordId,
    Use,
)
from symfonic.capabilities.memory.store import Commit, ExpiryRule
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode, make_link
from symfonic.capabilities.memory.testing.contract.base import (
    CHILD,
    OWN,
    ContractBase,
    commit,
    edit,
    only,
    write,
)

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.records import Content, Kind, LinkKind, Record
    from symfonic.capabilities.memory.store import MemoryStore

DAY = timedelta(days=1)
SAID = NOW - 200 * DAY
GRACE = NOW - 30 * DAY
WEAK = 2**40
ARCHIVING = Group(phase="archiving", kind="archive", id="r")


def derived(
    i: str = "r", kind: Kind = "fact", content: Content | None = None, **more: object
) -> Record:
    """A weak derived record from long ago."""
    values = content or Fact(subject="ana", attribute="city", value="Graz")
    base = replace(
        make_entity(i, i, at=SAID), kind=kind, content=values, strength=0, recorded_at=SAID
    )
    return replace(base, **more)  # type: ignore[arg-type]


def due(
    store: MemoryStore,
    name: Literal["notes", "facts", "weak", "old"] = "weak",
    *,
    before: datetime = GRACE,
    limit: int = 9,
) -> list[str]:
    """The ids that a rule says are due, in its order."""
    rule = ExpiryRule(name=name, phase="archiving", before=before, weaker_than=WEAK)
    with store.snapshot(OWN) as reader:
        found, _ = reader.expiring(rule, limit=limit)
    return [record.id for record in found]


def long_ago(store: MemoryStore, *rows: Record | Link) -> None:
    """Rows that were written before the grace days."""
    changes = tuple(
        add_link(ARCHIVING, row, "") if isinstance(row, Link) else add_record(ARCHIVING, row, "")
        for row in rows
    )
    store.commit(OWN, Commit(kind="user", clock=SAID, changes=changes), lease=None)


class ExpiryContract(ContractBase):
    """Which records a rule says are due."""

    def test_working_notes_are_due_from_their_expiry_on(self, store: MemoryStore) -> None:
        working = Note(note_kind="working")
        for i, until in (("n1", NOW), ("n2", NOW - DAY), ("n3", NOW + DAY), ("n4", None)):
            long_ago(store, derived(i, "note", working, until=until))
        long_ago(store, derived("n5", "note", Note(note_kind="prospective"), until=SAID))
        long_ago(store, derived("n6", "note", working, until=SAID, pinned=True))
        assert due(store, "notes", before=NOW) == ["n2", "n1"]

    def test_facts_are_due_after_their_end_but_for_those_of_an_identity(
        self, store: MemoryStore
    ) -> None:
        name = Fact(subject="ana", attribute="name", value="Ana", identity=True)
        long_ago(
            store, derived("f1", until=GRACE), derived("f2", until=GRACE + DAY), derived("f3"),
            derived("f4", content=name, until=SAID), derived("f5", until=SAID, state="archived"),
        )  # fmt: skip
        assert due(store, "facts") == ["f1"]

    def test_episodes_are_due_by_age_also_those_that_a_summary_stands_for(
        self, store: MemoryStore
    ) -> None:
        long_ago(
            store, make_episode("e1", at=SAID),
            make_episode("e2", at=SAID + DAY, state="condensed"),
            make_episode("e3", at=GRACE), make_episode("e4", at=SAID, state="archived"),
            replace(make_episode("e5", at=SAID), pinned=True),
        )  # fmt: skip
        assert due(store, "old") == ["e1", "e2"]

    def test_weak_records_are_due_weakest_first_up_to_the_limit(self, store: MemoryStore) -> None:
        long_ago(store, *(derived(f"r{n}", strength=-n) for n in range(4)), make_episode("e1"))
        long_ago(store, derived("r9", strength=WEAK))
        assert due(store) == ["r3", "r2", "r1", "r0"]
        assert due(store, limit=2) == ["r3", "r2"]
        rule = ExpiryRule(name="weak", phase="archiving", before=GRACE, weaker_than=WEAK)
        with store.snapshot(OWN) as reader:
            assert reader.expiring(rule, limit=0) == ([], 4)
        with store.snapshot(CHILD) as reader:
            assert reader.expiring(rule, limit=9) == ([], 0)

    def test_what_is_pinned_decided_or_an_identity_is_not_due(self, store: MemoryStore) -> None:
        steps = Procedure(title="t", trigger="t", steps=(), origin="calls")
        long_ago(
            store, derived("r1", pinned=True),
            derived("r2", content=Fact(subject="a", attribute="n", value="v", identity=True)),
            derived("r3", "procedure", steps, status="rejected"),
            derived("r4", "procedure", steps, status="retired"),
            derived("r5", "procedure", steps, status="draft"),
        )  # fmt: skip
        assert due(store) == ["r5"]

    @pytest.mark.parametrize("kind", ["evidence", "summarises", "part_of"])
    def test_what_a_visible_record_rests_on_is_not_due(
        self, store: MemoryStore, kind: LinkKind
    ) -> None:
        above = derived("above", recorded_at=NOW)
        long_ago(store, derived(), above, make_link("above", "r", kind=kind))
        assert due(store) == []
        commit(store, edit(only(store, "above"), replace(only(store, "above"), state="archived")))
        assert due(store) == ["r"]

    @pytest.mark.parametrize(("used", "expected"), [("recalled", []), ("confirmed", []),
                                                    ("spread", ["r"])])  # fmt: skip
    def test_what_was_used_within_the_grace_days_is_not_due(
        self, store: MemoryStore, used: Literal["recalled", "confirmed", "spread"],
        expected: list[str],
    ) -> None:  # fmt: skip
        long_ago(store, derived())
        hour = (GRACE - EPOCH) // timedelta(hours=1)
        for at, found in ((hour, ["r"]), (hour + 1, expected)):
            use = Use(record=RecordId("r"), hour=at, kind=used, weight=1.0)
            store.add_uses(OWN, [use], subscriptions=())
            assert due(store) == found

    def test_what_was_mentioned_or_recorded_within_the_grace_days_is_not_due(
        self, store: MemoryStore
    ) -> None:
        long_ago(store, derived(), derived("new", recorded_at=GRACE + DAY), make_episode("e1"))
        long_ago(store, make_link("e1", "r", at=GRACE))
        assert due(store) == ["r"]
        long_ago(store, make_link("e1", "r", at=GRACE + DAY))
        assert due(store) == []

    def test_what_was_changed_within_the_grace_days_is_not_due(self, store: MemoryStore) -> None:
        write(store, derived())
        assert due(store) == []  # adding it was a change of this night
        assert due(store, before=NOW) == ["r"]

    def test_another_strength_alone_is_no_change(self, store: MemoryStore) -> None:
        long_ago(store, derived())
        assert due(store) == ["r"]
        commit(store, edit(only(store, "r"), replace(only(store, "r"), strength=7)))
        assert due(store) == ["r"]
        commit(store, edit(only(store, "r"), replace(only(store, "r"), text="other words")))
        assert due(store) == []

    def test_what_a_person_brought_back_is_not_due_again(self, store: MemoryStore) -> None:
        long_ago(store, derived(), derived("r2", strength=5))
        active = only(store, "r")
        archived = replace(active, state="archived")
        change = edit(active, archived, ARCHIVING)
        number = store.commit(OWN, Commit(kind="deep", clock=SAID, changes=(change,)), lease=None)
        back = edit(archived, active, ARCHIVING)
        undo = Commit(kind="undo", clock=SAID, changes=(back,), undoes=((number, ""),))
        assert due(store) == ["r2"]
        store.commit(OWN, undo, lease=None)
        assert due(store) == ["r2"]
        assert due(store, limit=1) == ["r2"]
