"""Nights, undos, redos, cascades, uses and forgets in any order leave a sound store.

An undo and its redo cancel out, however often; what a refused one names is there; nothing that is
forgotten comes back.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.records import ToolCall, canonical
from symfonic.capabilities.memory.testing.builders import NOW, make_memory, make_turn
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, WHERE, add, content, rows
from symfonic.capabilities.memory.testing.strategies import NAMES, TOOLS, WORDS

if TYPE_CHECKING:
    from symfonic.capabilities.memory.store import RunRow, Turn

HOURS = timedelta(hours=1)


def talk(session: int, name: str, other: str, word: str) -> list[Turn]:
    """A short session in which two are named and two tools are called, some days before."""
    at = NOW - timedelta(days=9) + session * HOURS
    calls: tuple[ToolCall, ...] = tuple(
        ToolCall(name=tool, arguments={"order": session}, ok=True) for tool in TOOLS[:2]
    )
    texts = (
        f"I asked {name} about the {word} today.", f"Then {other} wrote to {name}.",
        f"Before every {word}: run the tests.",
    )  # fmt: skip
    told = [
        make_turn(text, session=f"s{session}", position=n, at=at + n * timedelta(minutes=1),
                  source_id=f"s{session}-{n}")
        for n, text in enumerate(texts)
    ]  # fmt: skip
    done = make_turn(
        "done", session=f"s{session}", position=3, role="assistant", calls=calls, at=at + HOURS / 2,
        source_id=f"s{session}-3",
    )  # fmt: skip
    return [*told, done]


class TakingBack(RuleBasedStateMachine):
    """A small memory, and what is done to it on the days after."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = make_memory()
        self.session = 0
        self.day = 0
        self.forgotten: set[str] = set()
        self.undecided = False

    def teardown(self) -> None:
        self.memory.close()

    @property
    def now(self) -> Any:
        return NOW + timedelta(days=self.day)

    def runs(self, *kinds: str, status: str = "committed") -> list[RunRow]:
        return [
            run for run in self.memory.runs(scope=SCOPE)
            if run.kind in kinds and run.status == status and run.report["change_count"]
        ]  # fmt: skip

    def held(self) -> list[str]:
        """All that is remembered, but for what counts writes."""
        return rows(
            self.memory, tables=("record", "link", "use", "seen"), without=("version", "seq")
        )

    @initialize()
    def begin(self) -> None:
        self.hear(NAMES[0], NAMES[1], WORDS[0])
        self.hear(NAMES[0], NAMES[1], WORDS[1])
        self.hear(NAMES[1], NAMES[2], WORDS[1])
        self.night()
        self.hear(NAMES[0], NAMES[2], WORDS[0])
        self.night()

    @rule(name=st.sampled_from(NAMES), other=st.sampled_from(NAMES), word=st.sampled_from(WORDS))
    def hear(self, name: str, other: str, word: str) -> None:
        add(self.memory, talk(self.session, name, other, word), now=self.now)
        self.session += 1

    @rule()
    def night(self) -> None:
        self.day += 1
        self.memory.sleep(scope=SCOPE, policy=EAGER, now=self.now)
        again = self.memory.sleep(scope=SCOPE, policy=EAGER, now=self.now)
        assert again.change_count == 0

    @rule(word=st.sampled_from((*WORDS, *NAMES)))
    def ask(self, word: str) -> None:
        self.memory.recall(word, scope=SCOPE, now=self.now, limit=3)
        self.memory.flush_uses()

    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        drafts = self.memory.procedures(scope=SCOPE)
        if drafts:
            chosen = data.draw(st.sampled_from(drafts))
            decision: Any = data.draw(st.sampled_from(("approved", "rejected")))
            self.memory.decide(chosen.id, decision, scope=SCOPE, by="ana", now=self.now)

    @rule(data=st.data(), cascade=st.booleans(), part=st.booleans(), again=st.integers(0, 2))
    def undo(self, data: st.DataObject, cascade: bool, part: bool, again: int) -> None:
        runs = self.runs("deep", "user")
        if not runs:
            return
        run = data.draw(st.sampled_from(runs))
        name = run.report["run_id"]
        standing = [row for row in self.memory.diff(name) if row.undone_by is None]
        groups = sorted({str(row.change.group) for row in standing if not row.change.derived})
        chosen = [data.draw(st.sampled_from(groups))] if part and groups else []
        before = self.held()
        try:
            report = self.memory.undo(name, groups=chosen, cascade=cascade, now=self.now)
        except UndoRefused:
            event("an undo was refused")
            assert not cascade or self.forgotten
            assert self.held() == before
            return
        event("an undo was done")
        after = self.held()
        taken = self.memory.diff(report.run_id)
        if not taken or any(row.before.get("status") == "approved" for row in taken):
            return
        for _ in range(again):
            self.memory.redo(report.run_id, now=self.now)
            assert self.held() == before
            report = self.memory.undo(name, groups=chosen, cascade=cascade, now=self.now)
            assert self.held() == after

    @rule(data=st.data(), original=st.booleans())
    def redo(self, data: st.DataObject, original: bool) -> None:
        found = self.runs("deep", "user", status="undone") if original else []
        runs = found or self.runs("undo")
        if not runs:
            return
        run = data.draw(st.sampled_from(runs))
        before = self.held()
        try:
            self.memory.redo(run.report["run_id"], now=self.now)
        except UndoRefused:
            event("a redo was refused")
            assert self.held() == before
        else:
            event("a redo was done")

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        ids = self.memory.find_forgettable(scope=SCOPE, everything=True)
        if ids:
            chosen = data.draw(st.sampled_from(ids))
            self.memory.forget([chosen], scope=SCOPE)
            self.forgotten.add(chosen)

    @rule()
    def replay(self) -> None:
        for run in self.memory.runs(scope=SCOPE):
            if run.kind == "deep":
                found = self.memory.replay(run.report["run_id"])
                event(f"a run replayed {found.outcome}")
                gone = found.outcome == "input-gone" and (self.forgotten or self.undecided)
                assert gone or found.outcome == "equal", found

    @rule()
    def move(self) -> None:
        """Into another store, and on from there."""
        exported = [canonical(row) for row in self.memory.export(scope=SCOPE)]
        other = make_memory()
        other.restore_rows([json.loads(line) for line in exported], scope=SCOPE)
        if self.memory.procedures(scope=SCOPE, status="approved"):  # they come in as drafts
            self.undecided = True
        else:
            assert [canonical(row) for row in other.export(scope=SCOPE)] == exported
        self.memory.close()
        self.memory = other

    @invariant()
    def the_store_is_sound(self) -> None:
        assert self.memory.store.check() == []
        with self.memory.store.snapshot(WHERE) as reader:
            there = set(reader.all_records())
        ends = {
            end for row in self.memory.store.dump(WHERE) if row["table"] == "link"
            for end in (row["source"], row["target"])
        }  # fmt: skip
        assert ends <= there
        assert not there & self.forgotten
        approved = [r for r in content(self.memory) if '"status":"approved"' in r]
        assert all('decided_by\\":\\"ana' in row for row in approved)


TestTakingBack = TakingBack.TestCase
TestTakingBack.settings = settings(stateful_step_count=25)
