"""Laws of a run: undo restores, a dry run is true, order does not matter, an idle night is idle."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.records import RecordId, Use, canonical, to_microseconds
from symfonic.capabilities.memory.roster import subscriptions_of
from symfonic.capabilities.memory.strength import record_strength, strength_at
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import (
    CONTENT,
    EAGER,
    SCOPE,
    WHERE,
    add,
    content,
    filled,
    rows,
)
from symfonic.capabilities.memory.testing.strategies import NAMES, WORDS, logs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import RunRow, Turn

NIGHT = timedelta(days=1)


def recalled(memory: Memory, queries: list[str], *, nights: int = 0) -> None:
    """Ask, and write down what was used."""
    for query in queries:
        memory.recall(query, scope=SCOPE, now=NOW + nights * NIGHT, limit=3)
    memory.flush_uses()


def undoable(memory: Memory) -> list[RunRow]:
    """The committed nights that changed something, latest first."""
    return [
        run for run in memory.runs(scope=SCOPE)
        if run.kind == "deep" and run.status == "committed" and run.report["change_count"]
    ]  # fmt: skip


queries = st.lists(st.sampled_from((*WORDS, *NAMES)), max_size=4)


@given(st.lists(st.tuples(logs(most=2), queries), min_size=1, max_size=3))
def test_undoing_nights_in_reverse_restores_every_column(
    nights: list[tuple[list[Turn], list[str]]],
) -> None:
    with make_memory() as memory:
        stood: dict[int, list[str]] = {}
        for number, (turns, asked) in enumerate(nights):
            add(memory, turns, now=NOW + number * NIGHT)
            recalled(memory, asked, nights=number)
            known = {run.number for run in undoable(memory)}
            before = content(memory)
            memory.sleep(scope=SCOPE, policy=EAGER, now=NOW + number * NIGHT)
            new = sorted({run.number for run in undoable(memory)} - known)
            if new:
                stood[new[0]] = before
        later: set[str] = set()
        for run in undoable(memory):
            memory.undo(run.report["run_id"], now=NOW + len(nights) * NIGHT)
            if run.number in stood:
                expected = set(stood[run.number])
                assert expected <= set(content(memory))
                later = set(content(memory)) - expected
                assert all('"kind":"episode"' in row or '"table":"use"' in row for row in later)
        assert undoable(memory) == []
        assert memory.store.check() == []


@given(
    st.lists(
        st.tuples(logs(most=2), st.lists(st.integers(0, 9), max_size=3)), min_size=1, max_size=3
    ),
    st.randoms(use_true_random=False),
)
def test_undoing_nights_in_any_order_that_is_allowed_restores_all_but_strength(
    nights: list[tuple[list[Turn], list[int]]], chance: random.Random
) -> None:
    with make_memory() as memory, make_memory() as awake:
        for number, (turns, used) in enumerate(nights):
            now = NOW + number * NIGHT
            for one in (memory, awake):
                ids = add(one, turns, now=now)
                use_episodes(one, [ids[n % len(ids)] for n in used if ids], now)
            memory.sleep(scope=SCOPE, policy=EAGER, now=now)
        waiting = undoable(memory)
        while waiting:
            chance.shuffle(waiting)
            left = [run for run in waiting if not undone(memory, run, NOW + len(nights) * NIGHT)]
            assert len(left) < len(waiting)
            waiting = left
        without = ("version", "seq", "strength")
        assert rows(memory, without=without) == rows(awake, without=without)
        assert memory.store.check() == []
        with memory.store.snapshot(WHERE) as reader:
            records = reader.records(reader.all_records())
            for record in records:
                uses = reader.uses([record.id], until=NOW + len(nights) * NIGHT, per_record=99)
                allowed = {
                    record_strength(record, some, reader.state.half_life_hours)
                    for some in ((), uses)
                }
                assert record.strength in allowed


def use_episodes(memory: Memory, ids: list[str], now: datetime) -> None:
    """Note that these were recalled, each once more."""
    hour = to_microseconds(now) // 3_600_000_000
    uses = [Use(record=RecordId(i), hour=hour, kind="recalled", weight=1.0) for i in ids]
    memory.store.add_uses(
        WHERE, uses, subscriptions=subscriptions_of(memory.engine(policy=EAGER).phases)
    )


def undone(memory: Memory, run: RunRow, now: datetime) -> bool:
    """Undo a run, where nothing builds on it."""
    try:
        memory.undo(run.report["run_id"], now=now)
    except UndoRefused:
        return False
    return True


@given(logs(), queries)
def test_undoing_the_only_night_restores_every_column(turns: list[Turn], asked: list[str]) -> None:
    with filled(turns) as memory:
        recalled(memory, asked)
        before = content(memory)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        for run in undoable(memory):
            memory.undo(run.report["run_id"], now=NOW)
        assert content(memory) == before
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        assert [row for row in content(memory) if '"kind":"entity"' in row] == [
            row for row in before if '"kind":"entity"' in row
        ]


@given(logs(), queries)
def test_a_version_only_grows(turns: list[Turn], asked: list[str]) -> None:
    with filled(turns) as memory:
        recalled(memory, asked)
        seen = versions(memory)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        for step in [lambda: None, *(undo_of(memory, run) for run in undoable(memory))]:
            step()
            now = versions(memory)
            assert all(now[i] >= seen[i] for i in now.keys() & seen.keys())
            assert len(set(now.values())) == len(now)
            seen |= now


def undo_of(memory: Memory, run: RunRow) -> Callable[[], object]:
    return lambda: memory.undo(run.report["run_id"], now=NOW)


def versions(memory: Memory) -> dict[str, int]:
    """The version of each record and link."""
    return {
        canonical([row.get("id"), row.get("source"), row.get("kind"), row.get("target")]): row[
            "version"
        ]
        for row in memory.store.dump(WHERE)
        if row["table"] in {"record", "link"}
    }


@given(logs(), queries)
def test_the_dry_run_shows_what_the_run_does(turns: list[Turn], asked: list[str]) -> None:
    with filled(turns) as memory, filled(turns) as other:
        for one in (memory, other):
            recalled(one, asked)
        before = rows(memory, tables=(*CONTENT, "pending", "seen", "change", "run"))
        plan, preview = memory.engine(policy=EAGER).preview(WHERE, now=NOW)
        assert rows(memory, tables=(*CONTENT, "pending", "seen", "change", "run")) == before
        kept = other.plan(scope=SCOPE, policy=EAGER, now=NOW)
        other.apply(kept.run_id)
        first = memory.sleep(scope=SCOPE, policy=EAGER, now=NOW).passes[0]
        digests = {(r.digest, r.input_digest) for r in (preview, kept, first)}
        assert len(digests) == 1
        assert len(plan.commit.changes) == first.change_count
        shown = [j.change for j in memory.diff(first.run_id)]
        assert shown == list(plan.commit.changes)
        assert shown == [j.change for j in other.diff(kept.run_id)]


@given(logs(), queries)
def test_a_plan_that_is_applied_leaves_what_the_run_would(
    turns: list[Turn], asked: list[str]
) -> None:
    with filled(turns) as memory, filled(turns) as other:
        for one in (memory, other):
            recalled(one, asked)
        kept = other.plan(scope=SCOPE, policy=EAGER, now=NOW)
        other.apply(kept.run_id)
        engine = memory.engine(policy=EAGER)
        plan, _ = engine.preview(WHERE, now=NOW)
        memory.store.commit(WHERE, plan.commit, lease=None)
        tables = (*CONTENT, "seen", "pending", "answer")
        assert rows(memory, tables=tables) == rows(other, tables=tables)


@given(logs(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_a_night_does_not_depend_on_the_order_of_its_input(
    turns: list[Turn], chance: random.Random, batches: int
) -> None:
    shuffled = list(turns)
    chance.shuffle(shuffled)
    with filled(turns) as memory, filled(shuffled, batches=batches) as other:
        one, two = (m.sleep(scope=SCOPE, policy=EAGER, now=NOW).passes for m in (memory, other))
        assert [(r.digest, r.input_digest) for r in one] == [
            (r.digest, r.input_digest) for r in two
        ]
        assert rows(memory, without=("version", "seq")) == rows(other, without=("version", "seq"))


@given(logs(), queries)
def test_a_second_sleep_at_the_same_time_plans_nothing(turns: list[Turn], asked: list[str]) -> None:
    with filled(turns) as memory:
        recalled(memory, asked)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        before = rows(memory)
        again = memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        assert again.change_count == 0
        assert rows(memory) == before


@given(logs(), queries)
def test_scores_and_strengths_lie_between_0_and_1(turns: list[Turn], asked: list[str]) -> None:
    with filled(turns) as memory:
        recalled(memory, asked)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        with memory.store.snapshot(WHERE) as reader:
            half_life = reader.state.half_life_hours
            records = reader.records(reader.all_records())
            uses = reader.uses([r.id for r in records], until=NOW, per_record=1000)
        assert all(0 <= strength_at(r.strength, NOW, half_life) <= 1 for r in records)
        assert all(use.weight > 0 and 0 <= use.spread_weight <= use.weight for use in uses)
        for query in (*WORDS[:3], NAMES[0]):
            items = memory.recall(query, scope=SCOPE, now=NOW, limit=50).items
            assert all(0 <= item.score <= 1 for item in items)
            assert [i.score for i in items] == sorted((i.score for i in items), reverse=True)


@given(logs(), queries)
def test_export_and_import_lose_nothing(turns: list[Turn], asked: list[str]) -> None:
    with filled(turns) as memory:
        recalled(memory, asked)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        if undone := undoable(memory)[:1]:
            memory.undo(undone[0].report["run_id"], now=NOW)
        exported = [canonical(row) for row in memory.export(scope=SCOPE)]
        with make_memory() as other:
            other.restore_rows([json.loads(line) for line in exported], scope=SCOPE)
            assert [canonical(row) for row in other.export(scope=SCOPE)] == exported
            assert other.store.check() == []
            one, two = (
                m.sleep(scope=SCOPE, policy=EAGER, now=NOW + NIGHT) for m in (memory, other)
            )
            assert [p.digest for p in one.passes] == [p.digest for p in two.passes]
            assert rows(memory) == rows(other)


@given(logs(), queries, st.data())
def test_forgetting_leaves_nothing_of_what_is_forgotten_and_a_sound_store(
    turns: list[Turn], asked: list[str], data: st.DataObject
) -> None:
    with filled(turns) as memory:
        recalled(memory, asked)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        ids = memory.find_forgettable(scope=SCOPE, everything=True)
        chosen = data.draw(st.lists(st.sampled_from(ids), unique=True, max_size=5))
        memory.forget(chosen, scope=SCOPE)
        with memory.store.snapshot(WHERE) as reader:
            there = set(reader.all_records())
            links = [
                link
                for direction in ("out", "in")
                for link in reader.links(
                    chosen, kinds=["mentions", "evidence", "summarises"], direction=direction,
                    per_record=99,
                )
            ]  # fmt: skip
            derived = reader.records(sorted(there))
        assert not there & set(chosen)
        assert links == []
        assert memory.store.check() == []
        for run in undoable(memory):
            memory.undo(run.report["run_id"], now=NOW)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        with memory.store.snapshot(WHERE) as reader:
            assert not set(reader.all_records()) & set(chosen)
        assert memory.store.check() == []
        assert derived is not None
