"""Committing a run: whole or not at all, with what stood there before; and keeping a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    add_spread,
    output_digest,
    remove_link,
    set_strength,
)
from symfonic.capabilities.memory.errors import (
    StaleWrite,
)
from symfonic.capabilities.memory.records import (
    RecordId,
    Seen,
    Use,
    to_columns,
)
from symfonic.capabilities.memory.store import Answer, Commit
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode, make_link
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    ROOT,
    SETUP,
    ContractBase,
    commit,
    dumped,
    edit,
    only,
    write,
)

if TYPE_CHECKING:
    from symfonic.capabilities.memory.store import MemoryStore

NIGHT = Group(phase="testing", kind="night", id="n1")


def remove(i: str, group: Group = SETUP) -> Change:
    """A record taken away."""
    return Change(group=group, operation="remove", table="record", row=(i,))


def night(store: MemoryStore) -> Commit:
    """A run over one episode and one entity that writes something of everything."""
    write(store, make_episode("e1"), make_entity("n1"))
    commit(store, queue={"reading": ("e1",)})
    entity, episode = only(store, "n1"), only(store, "e1")
    with store.snapshot(OWN) as reader:
        done, _ = reader.pending("reading", until=NOW, cap=9)
    use = Use(record=entity.id, hour=3, kind="spread", weight=0.25)
    changes = (
        edit(entity, replace(entity, text="Ana B."), NIGHT),
        add_record(NIGHT, make_entity("n2", "Bob"), "new"),
        add_link(NIGHT, make_link("e1", "n2", count=2), "named"),
        add_spread(NIGHT, use, "near"),
        set_strength(NIGHT, entity.id, entity.strength + 7, "used"),
    )
    seen = Seen(
        episode=episode.id, reader="names", kind="mention", key="bob", session="s1", at=episode.at,
        score=0.75, ok=False, body={"name": "Bob"},
    )  # fmt: skip
    answer = Answer(question="q", collaborator="c", sources=(episode.id,), body={"said": [1, None]})
    return Commit(
        kind="deep", clock=NOW, changes=changes, settings={"knob": 1.5}, input_digest="in",
        digest=output_digest(changes), report={"phases": []}, done=tuple(done), seen=(seen,),
        answers=(answer,), queue={"linking": ("n2",)}, reread={"again": ("entity",)},
        reading={"reading": "knobs"},
        read=((episode.id, episode.version), (entity.id, entity.version)),
    )  # fmt: skip


class RunContract(ContractBase):
    """Runs, their journal and plans."""

    def test_a_version_never_repeats(self, store: MemoryStore) -> None:
        versions = []
        for _ in range(2):
            write(store, make_entity("n1"))
            versions.append(only(store, "n1").version)
            before = only(store, "n1")
            commit(store, edit(before, replace(before, text="other")))
            versions.append(only(store, "n1").version)
            commit(store, remove("n1"))
        assert versions == sorted(set(versions))

    def test_a_row_that_was_read_and_changed_since_stops_the_commit(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1"), make_entity("n2", "Bob"))
        read = tuple((i, only(store, i).version) for i in ("n1", "n2"))
        before = only(store, "n2")
        commit(store, edit(before, replace(before, text="other")))
        self._refused(store, read, {"n2"})

    def test_a_row_that_was_read_and_removed_since_stops_the_commit(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1"))
        read = (("n1", only(store, "n1").version),)
        commit(store, remove("n1"))
        self._refused(store, read, {"n1"})
        write(store, make_entity("n1"))
        self._refused(store, read, {"n1"})

    def test_a_row_that_was_read_and_forgotten_since_stops_the_commit(
        self, store: MemoryStore
    ) -> None:
        write(store, make_episode("e1"))
        read = (("e1", only(store, "e1").version),)
        store.forget(OWN, ["e1"], subscriptions=())
        self._refused(store, read, {"e1"})

    def test_an_ancestors_row_that_was_read_and_changed_stops_the_commit(
        self, store: MemoryStore
    ) -> None:
        write(store, make_entity("n1", scope=ROOT.path), scope=ROOT)
        before = only(store, "n1")
        read = (("n1", before.version),)
        commit(store, edit(before, replace(before, text="other")), scope=ROOT)
        self._refused(store, read, {"n1"})

    def test_a_link_that_was_read_and_changed_since_stops_the_commit(
        self, store: MemoryStore
    ) -> None:
        row = ("e1", "mentions", "n1")
        write(store, make_episode("e1"), make_entity("n1"), make_link("e1", "n1"))
        with store.snapshot(OWN) as reader:
            (link,) = reader.links(["e1"], kinds=["mentions"], direction="out", per_record=9)
        commit(store, read=((*row, link.version),))
        commit(store, add_link(SETUP, replace(link, count=2), "again"))
        self._refused(store, ((*row, link.version),), {"e1"})
        commit(store, remove_link(SETUP, "e1", "mentions", "n1", "gone"))
        self._refused(store, ((*row, link.version),), {"e1"})

    def _refused(
        self, store: MemoryStore, read: tuple[tuple[str | int, ...], ...], names: set[str]
    ) -> None:
        before = dumped(store)
        with pytest.raises(StaleWrite) as caught:
            commit(store, add_record(SETUP, make_entity("n9"), "new"), read=read)
        assert set(caught.value.facts["rows"]) == names  # type: ignore[call-overload]
        assert dumped(store) == before

    def test_a_commit_that_fails_in_the_middle_leaves_nothing(self, store: MemoryStore) -> None:
        write(store, make_entity("n1"))
        before = dumped(store)
        fine = add_record(SETUP, make_entity("n2", "Bob"), "new")
        missing = edit(make_entity("n3"), make_entity("n3", "Cem"))
        for broken in (missing, add_record(SETUP, make_entity("n1"), "twice"), remove("n3")):
            with pytest.raises(StaleWrite):
                commit(store, fine, broken)
            assert dumped(store) == before

    def test_the_journal_keeps_what_stood_there_before(self, store: MemoryStore) -> None:
        write(store, make_episode("e1"), make_entity("n1"), make_link("e1", "n1"))
        old = only(store, "n1")
        number = commit(
            store,
            edit(old, replace(old, text="other", pinned=True)),
            add_link(SETUP, make_link("e1", "n1", count=5), "more"),
            add_record(SETUP, make_entity("n2", "Bob"), "new"),
            remove("n1"),
        )
        with store.snapshot(OWN) as reader:
            edited, linked, added, removed = reader.journal(number)
        assert edited.before == {"text": old.text, "pinned": 0}
        assert edited.from_version == old.version
        assert linked.before == {"count": 1, "at": linked.change.after["at"]}
        assert (added.before, added.from_version) == ({}, None)
        assert removed.before == to_columns(replace(old, text="other", pinned=True))
        assert [row.seq for row in (edited, linked, added, removed)] == [0, 1, 2, 3]
        assert {row.undone_by for row in (edited, linked, added, removed)} == {None}

    def test_a_run_marks_what_it_undoes(self, store: MemoryStore) -> None:
        other = Group(phase="testing", kind="other", id="n2")
        number = commit(
            store,
            add_record(NIGHT, make_entity("n1"), "new"),
            add_record(other, make_entity("n2", "Bob"), "new"),
        )
        undo = Commit(kind="undo", clock=NOW, undoes=((number, str(NIGHT)),))
        first = store.commit(OWN, undo, lease=None)
        with store.snapshot(OWN) as reader:
            assert [row.undone_by for row in reader.journal(number)] == [first, None]
            assert reader.run(number).status == "committed"
        store.commit(OWN, replace(undo, undoes=((number, ""),)), lease=None)
        with store.snapshot(OWN) as reader:
            assert reader.run(number).status == "undone"

    def test_a_redo_lets_what_it_brings_back_stand_and_leaves_the_rest_undone(
        self, store: MemoryStore
    ) -> None:
        other = Group(phase="testing", kind="other", id="n2")
        made = [add_record(NIGHT, make_entity("n1"), ""), add_record(other, make_entity("n2"), "")]
        number = commit(store, *made)
        gone = [replace(change, operation="remove", after={}) for change in made]
        undo = store.commit(
            OWN, Commit(kind="undo", clock=NOW, changes=tuple(gone), undoes=((number, ""),)),
            lease=None,
        )  # fmt: skip
        redo = store.commit(
            OWN,
            Commit(
                kind="redo", clock=NOW, changes=(made[0],), undoes=((undo, str(NIGHT)),),
                restores=undo,
            ),
            lease=None,
        )  # fmt: skip
        with store.snapshot(OWN) as reader:
            marks = [[row.undone_by for row in reader.journal(n)] for n in (number, undo, redo)]
            assert marks == [[None, undo], [redo, None], [redo]]
            assert [reader.run(n).status for n in (number, undo, redo)] == ["committed"] * 3
            assert reader.run(redo).report["restored"] == [number]
            assert set(reader.undone("testing", [NIGHT.id, "n2"])) == {"n2"}
            assert reader.dependents(number, [str(NIGHT)]) == []

    def test_only_runs_of_maintenance_move_the_clock(self, store: MemoryStore) -> None:
        commit(store)
        with store.snapshot(OWN) as reader:
            assert reader.state.last_clock is None
        store.commit(OWN, Commit(kind="light", clock=NOW), lease=None)
        with store.snapshot(OWN) as reader:
            assert (reader.state.last_clock, reader.state.deep_clock) == (NOW, None)
        store.commit(OWN, Commit(kind="deep", clock=NOW), lease=None)
        with store.snapshot(OWN) as reader:
            assert reader.state.deep_clock == NOW

    def test_a_clock_never_goes_back(self, store: MemoryStore) -> None:
        for kind, hours in (("deep", 2), ("deep", 1), ("light", 0)):
            clock = NOW + timedelta(hours=hours)
            store.commit(OWN, Commit(kind=kind, clock=clock), lease=None)  # type: ignore[arg-type]
        with store.snapshot(OWN) as reader:
            latest = NOW + timedelta(hours=2)
            assert (reader.state.last_clock, reader.state.deep_clock) == (latest, latest)

    def test_a_later_change_depends_on_the_one_it_builds_on(self, store: MemoryStore) -> None:
        first = commit(store, add_record(NIGHT, make_entity("n1"), "new"))
        later = Group(phase="testing", kind="later", id="x")
        entity = only(store, "n1")
        commit(store, set_strength(later, RecordId("n1"), 5, "derived"))
        with store.snapshot(OWN) as reader:
            assert reader.dependents(first, [str(NIGHT)]) == []
        second = commit(store, edit(entity, replace(entity, text="other"), later))
        with store.snapshot(OWN) as reader:
            assert reader.dependents(first, [str(NIGHT)]) == [(second, str(later))]
            assert reader.dependents(second, [str(later)]) == []
