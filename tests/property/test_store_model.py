"""The store against a plain dict: whatever is done in whatever order, both say the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    edit_record,
    remove_link,
)
from symfonic.capabilities.memory.errors import StaleWrite
from symfonic.capabilities.memory.records import EPOCH, KINDS, Record, RecordId, Use
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Subscription
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.testing.builders import (
    HALF_LIFE_HOURS,
    NOW,
    SALT,
    make_link,
    make_turn,
)
from symfonic.capabilities.memory.undo import inverse

if TYPE_CHECKING:
    from symfonic.capabilities.memory.store import MemoryReader, MemoryStore

WHERE = Scope("acme/ana")
GROUP = Group(phase="testing", kind="edit", id="g")
SUBSCRIPTIONS = (
    Subscription(phase="reading", reads=("episode",)),
    Subscription(phase="touched", reads=(), reads_touched=True),
)
HOUR = (NOW - EPOCH) // timedelta(hours=1)
WORDS = ("kettle", "parcel", "refund", "日本語")


@dataclass
class Model:
    """What a store should hold, in the simplest words there are."""

    texts: dict[str, str] = field(default_factory=dict)
    pinned: dict[str, bool] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    uses: dict[tuple[str, int], float] = field(default_factory=dict)
    links: dict[tuple[str, str], int] = field(default_factory=dict)
    unread: dict[str, set[str]] = field(
        default_factory=lambda: {"reading": set(), "touched": set()}
    )

    def forget(self, i: str) -> None:
        self.forgotten.add(i)
        for columns in (self.texts, self.pinned, self.states):
            columns.pop(i)
        self.uses = {row: w for row, w in self.uses.items() if row[0] != i}
        self.links = {row: n for row, n in self.links.items() if i not in row}
        for ids in self.unread.values():
            ids.discard(i)


class StoreMachine(RuleBasedStateMachine):
    records = Bundle("records")
    runs = Bundle("runs")

    @initialize()
    def open(self) -> None:
        self.store: MemoryStore = self._new()
        self.store.ensure_scope(WHERE, half_life_hours=HALF_LIFE_HOURS, salt=SALT)
        self.model = Model()
        self.given: dict[str, Any] = {}
        self.versions: dict[tuple[object, ...], int] = {}

    def _new(self) -> MemoryStore:
        return open_store(":memory:")

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.check() == []
            self.store.close()

    def reader_of(self, i: str) -> Record:
        with self.store.snapshot(WHERE) as reader:
            (record,) = reader.records([i])
        return record

    # -- what may happen

    @rule(target=records, words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
          days=st.integers(0, 9))  # fmt: skip
    def add(self, words: list[str], days: int) -> Any:
        turns = [
            make_turn(
                word, session=f"s{len(self.given)}", position=n, source_id=f"m{n}",
                at=NOW - timedelta(days=days),
            )
            for n, word in enumerate(words)
        ]  # fmt: skip
        added = self._add(turns)
        assert (added.added, added.known, added.forgotten) == (len(words), 0, 0)
        for i, turn in zip(added.ids, turns, strict=True):
            self.model.texts[i], self.model.pinned[i] = turn.text, False
            self.model.states[i] = "active"
            self.model.unread["reading"].add(i)
            self.given[i] = turn
        return multiple(*added.ids)

    def _add(self, turns: Any) -> Any:
        return self.store.add_turns(
            WHERE, turns, now=NOW, subscriptions=SUBSCRIPTIONS,
            alignment=self.store.new_alignment(),
        )  # fmt: skip

    @rule(i=records)
    def add_again(self, i: str) -> None:
        again = self._add([self.given[i]])
        gone = i in self.model.forgotten
        assert (again.added, again.known, again.forgotten) == (0, int(not gone), int(gone))

    @rule(i=records)
    def forget(self, i: str) -> None:
        receipt = self.store.forget(WHERE, [i], subscriptions=SUBSCRIPTIONS)
        assert receipt.forgotten == (() if i in self.model.forgotten else (i,))
        if i not in self.model.forgotten:
            self.model.forget(i)

    @rule(i=records, hour=st.integers(HOUR - 3, HOUR), weight=st.sampled_from([1.0, 2.0, 0.5]))
    def use(self, i: str, hour: int, weight: float) -> None:
        if i in self.model.forgotten:
            return
        use = Use(record=RecordId(i), hour=hour, kind="recalled", weight=weight)
        self.store.add_uses(WHERE, [use], subscriptions=SUBSCRIPTIONS)
        self.model.uses[i, hour] = self.model.uses.get((i, hour), 0.0) + weight
        self.model.unread["touched"].add(i)

    @rule(target=runs, i=records, pinned=st.booleans(),
          state=st.sampled_from(["active", "condensed", "archived"]))  # fmt: skip
    def edit(self, i: str, pinned: bool, state: Any) -> Any:
        if i in self.model.forgotten:
            return multiple()
        before = self.reader_of(i)
        change = edit_record(GROUP, before, replace(before, pinned=pinned, state=state), "edited")
        if change is None:
            return multiple()
        self.model.pinned[i], self.model.states[i] = pinned, state
        return self._commit(change, read=((i, before.version),))

    @rule(target=runs, one=records, other=records, count=st.integers(1, 5))
    def link(self, one: str, other: str, count: int) -> Any:
        if {one, other} & self.model.forgotten or one == other:
            return multiple()
        if self.model.links.get((one, other)) == count:
            return multiple()
        self.model.links[one, other] = count
        link = make_link(one, other, kind="co_occurred", count=count, at=NOW)
        return self._commit(add_link(GROUP, link, "together"))

    @rule(target=runs, one=records, other=records)
    def unlink(self, one: str, other: str) -> Any:
        if self.model.links.pop((one, other), None) is None:
            return multiple()
        return self._commit(remove_link(GROUP, one, "co_occurred", other, "apart"))

    def _commit(self, *changes: Change, **rest: Any) -> int:
        commit = Commit(kind="user", clock=NOW, changes=changes, **rest)
        return self.store.commit(WHERE, commit, lease=None)

    @rule(run=consumes(runs))
    def undo_where_nothing_builds_on_it(self, run: int) -> None:
        with self.store.snapshot(WHERE) as reader:
            if reader.dependents(run, [str(GROUP)]):
                return
            changes = tuple(inverse(reader, reader.journal(run)))
            self._expect(reader, run)
        undo = Commit(kind="undo", clock=NOW, changes=changes, undoes=((run, ""),))
        self.store.commit(WHERE, undo, lease=None)

    def _expect(self, reader: MemoryReader, run: int) -> None:
        """Take the run back in the model, as far as nothing was forgotten since."""
        for row in reader.journal(run):
            ids = {str(row.change.row[0]), str(row.change.row[-1])}
            if ids & self.model.forgotten:
                continue
            if row.change.table == "record":
                (i,) = ids
                if "pinned" in row.before:
                    self.model.pinned[i] = bool(row.before["pinned"])
                if "state" in row.before:
                    self.model.states[i] = str(row.before["state"])
            elif row.before:
                count = row.before["count"]
                assert isinstance(count, int)
                self.model.links[str(row.change.row[0]), str(row.change.row[2])] = count
            else:
                self.model.links.pop((str(row.change.row[0]), str(row.change.row[2])), None)

    @rule(i=records)
    def a_stale_commit_writes_nothing(self, i: str) -> None:
        if i in self.model.forgotten:
            return
        version = self.reader_of(i).version
        with pytest.raises(StaleWrite):
            self._commit(read=((i, version + 1),))

    @rule(phase=st.sampled_from(["reading", "touched"]), cap=st.integers(1, 4))
    def read(self, phase: str, cap: int) -> None:
        with self.store.snapshot(WHERE) as reader:
            rows, total = reader.pending(phase, until=NOW, cap=cap)
        assert total == len(self.model.unread[phase])
        assert len(rows) == min(cap, total)
        self._commit(done=tuple(rows))
        self.model.unread[phase] -= {row.record for row in rows}

    @precondition(lambda self: self.model.texts)
    @rule()
    def move_house(self) -> None:
        other = self._new()
        other.load(WHERE, list(self.store.dump(WHERE)))
        assert list(other.dump(WHERE)) == list(self.store.dump(WHERE))
        self.store.close()
        self.store = other

    # -- what must hold

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "store"):
            return
        model = self.model
        with self.store.snapshot(WHERE) as reader:
            ids = [*model.texts, *model.forgotten]
            found = {r.id: r for r in reader.records(ids)}
            states = reader.states(ids)
            uses = {
                (str(u.record), u.hour): u.weight
                for u in reader.uses(ids, until=NOW, per_record=99)
            }
            links = {
                (str(link.source), str(link.target)): link.count
                for link in reader.links(ids, kinds=["co_occurred"], direction="out", per_record=99)
            }
            unread = {
                phase: {str(r.record) for r in reader.pending(phase, until=NOW, cap=999)[0]}
                for phase in model.unread
            }
            visible = {i for i, state in model.states.items() if state != "archived"}
            assert reader.state.visible == len(visible)
            for word in WORDS[:3]:
                hits = reader.search([f'"{word}"'], kinds=KINDS, limit=999)
                assert {str(hit.record.id) for hit in hits} == {
                    i for i in visible if model.texts[i] == word
                }
        assert {i: r.text for i, r in found.items()} == model.texts
        assert {i: r.pinned for i, r in found.items()} == model.pinned
        assert states == {**model.states, **dict.fromkeys(model.forgotten, "forgotten")}
        assert uses == model.uses
        assert links == model.links
        assert unread == model.unread

    @invariant()
    def versions_only_grow_and_never_repeat(self) -> None:
        if not hasattr(self, "store"):
            return
        now: dict[tuple[object, ...], int] = {
            (row["table"], row.get("id"), row.get("source"), row.get("target")): row["version"]
            for row in self.store.dump(WHERE)
            if row["table"] in {"record", "link"}
        }
        assert all(now[row] >= self.versions[row] for row in now.keys() & self.versions.keys())
        assert len(set(now.values())) == len(now)
        self.versions |= now


TestStoreAgainstAModel = StoreMachine.TestCase
TestStoreAgainstAModel.settings = settings(
    max_examples=2 * settings().max_examples, stateful_step_count=30
)
