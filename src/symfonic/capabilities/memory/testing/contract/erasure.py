"""Forgetting: the text is gone from every table, and nothing brings it back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import Change, Group, add_link, add_record
from symfonic.capabilities.memory.errors import RecordNotFound
from symfonic.capabilities.memory.records import (
    KINDS,
    Episode,
    RecordId,
    Seen,
    Summary,
    ToolCall,
    Use,
)
from symfonic.capabilities.memory.store import Answer, Commit
from symfonic.capabilities.memory.testing.builders import (
    NOW,
    make_entity,
    make_episode,
    make_link,
    make_session,
)
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    READS_TOUCHED,
    ContractBase,
    add,
    commit,
    dumped,
    edit,
    only,
    waiting,
    write,
)

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.store import MemoryStore

WORD = "xylograph"
NOTED = {"phases": [{"name": "naming", "notes": ["one was seen"]}]}
NIGHT = Group(phase="summarise", kind="summary", id="sum")


def secret_episode(i: str = "e1", position: int = 1) -> Record:
    """An episode that holds the word wherever an episode can hold text."""
    call = ToolCall(name=f"{WORD}-tool", arguments={"to": f"{WORD}-argument"}, result=WORD)
    content = Episode(
        role="assistant", name=f"{WORD}-speaker", calls=(call,), source_id=f"{WORD}-source"
    )
    return make_episode(
        i, f"The {WORD} is here.", session=f"{WORD}-session", position=position, content=content
    )


def summary() -> Record:
    """A summary that quotes it."""
    content = Summary(method="m", episode_count=2, first_at="", last_at="")
    return replace(
        make_episode("sum", f"They spoke of a {WORD}."), kind="summary", session=None,
        position=None, content=content,
    )  # fmt: skip


def derive(store: MemoryStore) -> int:
    """Two episodes, one secret, and all that a night may derive from them; the night's number."""
    write(store, secret_episode(), make_episode("e2", "Tea?", session="s2"))
    first, second = only(store, "e1"), only(store, "e2")
    changes: list[Change] = [add_record(NIGHT, summary(), f"about {WORD}")]
    for episode in (first, second):
        link = make_link("sum", episode.id, kind="summarises")
        changes += [
            add_link(NIGHT, link, f"{WORD} again"),
            edit(episode, replace(episode, state="condensed"), NIGHT),
        ]
    entity = Group(phase="link_entities", kind="entity", id="n1")
    changes += [
        add_record(entity, make_entity("n1", WORD), WORD),
        add_link(entity, make_link("e1", "n1"), WORD),
    ]
    seen = Seen(
        episode=first.id, reader="names", kind="mention", key=WORD, session=f"{WORD}-session",
        at=first.at, body={"name": WORD},
    )  # fmt: skip
    answer = Answer(question="q", collaborator="c", sources=(first.id,), body=WORD)
    report = {"phases": [{"name": "link_entities", "notes": [f"{WORD} was seen once"]}]}
    night = Commit(
        kind="deep", clock=NOW, changes=tuple(changes), seen=(seen,), answers=(answer,),
        report=report, queue={"reading": ("e1", "sum", "n1")},
    )  # fmt: skip
    number = store.commit(OWN, night, lease=None)
    store.add_uses(
        OWN, [Use(record=first.id, hour=1, kind="recalled", weight=1.0)], subscriptions=()
    )
    return number


class ErasureContract(ContractBase):
    """Forget."""

    def test_no_row_of_any_table_holds_what_was_forgotten(self, store: MemoryStore) -> None:
        derive(store)
        plan = edit(only(store, "n1"), replace(only(store, "n1"), text=f"{WORD} planned"))
        store.save_plan(OWN, Commit(kind="deep", clock=NOW, changes=(plan,)))
        assert any(WORD in line for line in dumped(store))
        receipt = store.forget(OWN, ["e1"], subscriptions=())
        assert [line for line in dumped(store) if WORD in line] == []
        assert receipt.forgotten == ("e1",)
        assert set(receipt.derived_removed) == {"sum", "n1"}
        assert WORD not in repr(receipt)
        with store.snapshot(OWN) as reader:
            for word in (WORD, "argument", "speaker"):
                assert reader.search([f'"{word}"'], kinds=KINDS, limit=9) == []
        assert store.check() == []

    def test_what_was_undone_before_is_forgotten_too(self, store: MemoryStore) -> None:
        number = derive(store)
        changes = tuple(
            Change(group=NIGHT, operation="remove", table="record", row=(i,)) for i in ("sum", "n1")
        )
        links = tuple(
            Change(group=NIGHT, operation="remove", table="link", row=row)
            for row in (("sum", "summarises", "e1"), ("sum", "summarises", "e2"),
                        ("e1", "mentions", "n1"))
        )  # fmt: skip
        undo = Commit(kind="undo", clock=NOW, changes=(*links, *changes), undoes=((number, ""),))
        store.commit(OWN, undo, lease=None)
        store.forget(OWN, ["e1"], subscriptions=())
        assert [line for line in dumped(store) if WORD in line] == []

    def test_a_record_that_was_taken_away_is_forgotten_by_its_id(self, store: MemoryStore) -> None:
        write(store, make_entity("n1", WORD))
        commit(store, Change(group=NIGHT, operation="remove", table="record", row=("n1",)))
        store.forget(OWN, ["n1"], subscriptions=())
        assert [line for line in dumped(store) if WORD in line] == []

    def test_a_scope_that_is_forgotten_whole_keeps_no_text_in_its_history(
        self, store: MemoryStore
    ) -> None:
        derive(store)
        write(store, make_entity("n7", f"{WORD} elsewhere"))
        commit(store, Change(group=NIGHT, operation="remove", table="record", row=("n7",)))
        with store.snapshot(OWN) as reader:
            everything = reader.all_records()
        store.forget(OWN, everything, subscriptions=())
        assert [line for line in dumped(store) if WORD in line] == []
        with store.snapshot(OWN) as reader:
            assert reader.state.visible == 0
        assert store.check() == []

    def test_a_plan_made_before_cannot_be_applied(self, store: MemoryStore) -> None:
        write(store, secret_episode())
        changes = (add_record(NIGHT, make_entity("n1", WORD), WORD),)
        number = store.save_plan(OWN, Commit(kind="deep", clock=NOW, changes=changes))
        store.forget(OWN, ["e1"], subscriptions=())
        lease = store.acquire(OWN, now=NOW, term_seconds=60)
        with pytest.raises(RecordNotFound):
            store.commit_plan(OWN, number, lease=lease)
        with store.snapshot(OWN) as reader:
            assert reader.run(number).status == "abandoned"

    def test_the_other_sources_of_a_summary_stand_for_themselves_again(
        self, store: MemoryStore
    ) -> None:
        derive(store)
        assert only(store, "e2").state == "condensed"
        store.forget(OWN, ["e1"], subscriptions=())
        assert (only(store, "e2").state, only(store, "e2").text) == ("active", "Tea?")

    def test_an_entity_that_others_mention_stays_without_the_forgotten_spelling(
        self, store: MemoryStore
    ) -> None:
        number = derive(store)
        known = only(store, "n1")
        seen = Seen(
            episode=RecordId("e2"), reader="names", kind="mention", key=known.key or "",
            session="s2", at=known.at, body={"name": "the X"},
        )  # fmt: skip
        commit(store, add_link(NIGHT, make_link("e2", "n1"), "too"), seen=(seen,))
        assert number
        store.forget(OWN, ["e1"], subscriptions=[READS_TOUCHED])
        entity = only(store, "n1")
        assert WORD not in entity.text
        assert waiting(store, "touched") == {"n1"}
        with store.snapshot(OWN) as reader:
            links = reader.links(["n1"], kinds=["mentions"], direction="in", per_record=9)
        assert [link.source for link in links] == ["e2"]

    def test_forgetting_twice_changes_nothing_more(self, store: MemoryStore) -> None:
        derive(store)
        store.forget(OWN, ["e1"], subscriptions=())
        before = dumped(store, tables=("record", "link", "seen", "answer", "use", "pending"))
        receipt = store.forget(OWN, ["e1", "nobody"], subscriptions=())
        assert receipt.forgotten == ()
        content = ("record", "link", "seen", "answer", "use", "pending")
        assert dumped(store, tables=content) == before

    def test_a_tombstone_has_no_session_and_keeps_a_digest_apart(self, store: MemoryStore) -> None:
        (i, _) = add(store, make_session("one", "two", session="s1")).ids
        store.forget(OWN, [i], subscriptions=())
        (tombstone,) = [row for row in store.dump(OWN) if row.get("id") == i]
        assert "session" not in tombstone
        assert len(tombstone["trace"]) == 24
        rows = [row for row in store.dump(OWN) if row["table"] == "record"]
        assert [row["id"] for row in rows if "trace" in row] == [i]

    def test_only_reports_that_say_something_are_written_again(self, store: MemoryStore) -> None:
        (first, second, *_) = add(store, make_session("one", "two", "three")).ids
        store.commit(OWN, Commit(kind="deep", clock=NOW, report=NOTED), lease=None)
        store.commit(OWN, Commit(kind="deep", clock=NOW, report={"phases": []}), lease=None)
        assert store.forget(OWN, [first], subscriptions=()).rows["run"] == 1
        assert store.forget(OWN, [second], subscriptions=()).rows.get("run", 0) == 0
        with store.snapshot(OWN) as reader:
            assert reader.run(1).report["phases"] == [{"name": "naming", "notes": []}]
