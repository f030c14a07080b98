"""Compacting changes no strength, and no night, whatever the uses and the nights were."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.records import EPOCH, RecordId, Use, UseKind
from symfonic.capabilities.memory.strength import record_strength
from symfonic.capabilities.memory.testing.builders import (
    HALF_LIFE_HOURS,
    NOW,
    make_memory,
    make_session,
)
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, WHERE, add, rows
from symfonic.capabilities.memory.testing.strategies import NAMES, logs

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory

DAYS = timedelta(days=1)
FAR = NOW + 4000 * DAYS

KINDS: tuple[UseKind, ...] = ("recalled", "confirmed", "spread", "base")
WEIGHTS = st.floats(0.01, 40).map(lambda weight: round(weight, 9))
USES = st.dictionaries(
    st.tuples(st.integers(0, 3000), st.sampled_from(KINDS)), WEIGHTS, min_size=1, max_size=30
)


def strengths(memory: Memory, *, computed: bool) -> dict[str, int]:
    """Every record's strength: as stored, or from all that is known of its uses."""
    with memory.store.snapshot(WHERE) as reader:
        records = reader.records(reader.all_records())
        found = reader.uses([r.id for r in records], until=FAR, per_record=2**31)
        half_life = reader.state.half_life_hours
    return {
        str(r.id): record_strength(r, [u for u in found if u.record == r.id], half_life)
        if computed
        else r.strength
        for r in records
    }


@given(uses=USES, half_life=st.floats(24, 5000), ages=st.lists(st.integers(0, 90), max_size=3))
def test_folding_uses_at_any_age_changes_no_strength_by_more_than_a_thousandth(
    uses: dict[tuple[int, UseKind], float], half_life: float, ages: list[int]
) -> None:
    first = (NOW - EPOCH) // timedelta(hours=1) - 3000
    with make_memory() as memory:
        memory.store.ensure_scope(WHERE, half_life_hours=half_life, salt=b"a")
        (i,) = memory.store.add_turns(
            WHERE, make_session("one", start=NOW - 130 * DAYS), now=NOW, subscriptions=()
        ).ids
        told = [
            Use(record=RecordId(i), hour=first + hour, kind=kind, weight=weight)
            for (hour, kind), weight in uses.items()
        ]
        memory.store.add_uses(WHERE, told, subscriptions=())
        before, stored = strengths(memory, computed=True), strengths(memory, computed=False)
        for age in [*sorted(ages, reverse=True), 0]:
            memory.compact(scope=SCOPE, now=NOW + (30 - age) * DAYS)
        after = strengths(memory, computed=True)
        assert strengths(memory, computed=False) == stored
        with memory.store.snapshot(WHERE) as reader:
            assert len(reader.uses([i], until=FAR, per_record=2**31)) <= 2
    assert all(abs(after[i] - before[i]) <= 1 for i in before)


@given(
    log=logs(),
    asked=st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 70))),
    data=st.data(),
)
def test_nights_go_on_as_if_nothing_had_been_compacted(
    log: list[Any], asked: list[tuple[str, int]], data: st.DataObject
) -> None:
    days = data.draw(st.lists(st.integers(1, 80), min_size=1, max_size=4, unique=True).map(sorted))
    compacted = data.draw(st.lists(st.sampled_from(days), unique=True))
    with make_memory() as plain, make_memory() as short:
        for memory in (plain, short):
            add(memory, log)
        for day in days:
            now = NOW + day * DAYS
            for memory in (plain, short):
                for name, on in asked:
                    if on <= day:
                        memory.recall(name, scope=SCOPE, now=NOW + on * DAYS)
            asked = [(name, on) for name, on in asked if on > day]
            if day in compacted:
                _compact_keeping_answers(short, now)
            for memory in (plain, short):
                memory.sleep(scope=SCOPE, policy=EAGER, now=now)
            first, second = (strengths(memory, computed=False) for memory in (plain, short))
            assert first.keys() == second.keys()
            assert all(abs(first[i] - second[i]) <= 1 for i in first)
            assert _content(plain) == _content(short)
        assert short.check() == []


def _compact_keeping_answers(memory: Memory, now: datetime) -> None:
    memory.flush_uses()
    before = rows(memory, tables=("record", "link", "seen", "pending", "answer"))
    memory.compact(scope=SCOPE, now=now)
    assert rows(memory, tables=("record", "link", "seen", "pending", "answer")) == before


def _content(memory: Memory) -> list[str]:
    return rows(memory, tables=("record", "link"), without=("version", "seq", "strength"))


@given(log=logs(), there=st.floats(1, 200), asked=st.lists(st.sampled_from(NAMES), max_size=4))
def test_after_another_half_life_a_night_is_empty_and_the_way_back_is_exact(
    log: list[Any], there: float, asked: list[str]
) -> None:
    with make_memory() as memory:
        add(memory, log)
        for name in asked:
            memory.recall(name, scope=SCOPE, now=NOW)
        memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
        before = strengths(memory, computed=False)
        memory.set_half_life(there, scope=SCOPE, now=NOW)
        assert strengths(memory, computed=False) == strengths(memory, computed=True)
        assert memory.sleep(scope=SCOPE, policy=EAGER, now=NOW).change_count == 0
        memory.set_half_life(HALF_LIFE_HOURS / 24, scope=SCOPE, now=NOW)
        assert strengths(memory, computed=False) == before
