"""Laws of co-occurrence: counts follow what was said, not when it came in or how it was split."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.store import WINDOW_LENGTH
from symfonic.capabilities.memory.testing.builders import NOW, make_memory, make_turn
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, WHERE, add

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Turn

POLICY = replace(EAGER, phase1_spreading_weight=0)
NAMES = ("Marta Kowalczyk", "Corin Ashdown", "Ilse Brandt", "Tobias Fenn")
PLACES = st.tuples(st.sampled_from(("s", "t", "u")), st.integers(0, 2 * WINDOW_LENGTH))


@st.composite
def talks(draw: st.DrawFn) -> list[Turn]:
    """Turns at positions of their own, each of which mentions at most two people."""
    turns = []
    for session, position in sorted(draw(st.sets(PLACES, min_size=2, max_size=14))):
        said = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
        text = " ".join(f"Then I met {name} at the fair." for name in said) or "ok"
        minutes = 100 * "stu".index(session) + position
        at = NOW.replace(month=1, hour=minutes // 60, minute=minutes % 60)
        turns.append(make_turn(
            text, session=session, position=position, source_id=f"{session}{position}", at=at
        ))  # fmt: skip
    return turns


def linked(memory: Memory) -> list[tuple[str, str, int, int]]:
    """Every co-occurrence link: ends, count, time."""
    return sorted(
        (row["source"], row["target"], row["count"], row["at"])
        for row in memory.store.dump(WHERE)
        if row["table"] == "link" and row["kind"] == "co_occurred"
    )


def kept(memory: Memory) -> list[tuple[str, int, str, str]]:
    """What is kept of windows."""
    return sorted(
        (row["session"], row["window"], row["key"], row["episode"])
        for row in memory.store.dump(WHERE)
        if row["table"] == "seen" and row.get("window") is not None
    )


def expected(memory: Memory, least: int) -> dict[tuple[str, str], int]:
    """The pairs that share enough windows, counted here from the mention links alone."""
    rows = list(memory.store.dump(WHERE))
    places = {
        row["id"]: (row["session"], row["position"] // WINDOW_LENGTH)
        for row in rows
        if row["table"] == "record" and row["kind"] == "episode" and "session" in row
    }
    members: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        if row["table"] == "link" and row["kind"] == "mentions":
            members.setdefault(places[row["source"]], set()).add(row["target"])
    count = Counter(pair for found in members.values() for pair in combinations(sorted(found), 2))
    return {pair: n for pair, n in count.items() if n >= least}


def portions(turns: Sequence[Turn], cuts: Sequence[int]) -> list[list[Turn]]:
    marks = [0, *sorted({min(cut, len(turns)) for cut in cuts}), len(turns)]
    return [list(turns[a:b]) for a, b in pairwise(marks) if a < b]


@pytest.mark.parametrize("least", [2, 3])
@given(talks(), st.lists(st.integers(0, 14), max_size=3), st.randoms(use_true_random=False),
       st.sampled_from((1, 2, 2000)), st.booleans())  # fmt: skip
def test_neither_nights_nor_order_nor_caps_change_who_is_spoken_of_together(
    least: int, turns: list[Turn], cuts: list[int], chance: random.Random, cap: int, light: bool
) -> None:
    policy = replace(POLICY, synthetic_link_min_co_count=least)
    limits = RunLimits(cooccurrence_max_episodics_per_run=cap)
    shuffled = list(turns)
    chance.shuffle(shuffled)
    with make_memory() as whole, make_memory() as split:
        add(whole, turns)
        whole.sleep(scope=SCOPE, policy=policy, now=NOW)
        for portion in portions(shuffled, cuts):
            add(split, portion)
            if light:
                split.sleep(scope=SCOPE, kind="light", policy=policy, limits=limits, now=NOW)
            else:
                split.sleep(scope=SCOPE, policy=policy, limits=limits, now=NOW)
        split.sleep(scope=SCOPE, policy=policy, limits=limits, now=NOW)
        assert linked(split) == linked(whole)
        assert kept(split) == kept(whole)
        found = {(source, target): count for source, target, count, _ in linked(whole)}
        assert found == expected(whole, least)
        for memory in (whole, split):
            assert memory.sleep(scope=SCOPE, policy=policy, now=NOW).change_count == 0
            assert memory.store.check() == []


@given(talks(), st.lists(st.integers(0, 13), min_size=1, max_size=4))
def test_forgetting_turns_leaves_what_would_be_there_without_them(
    turns: list[Turn], gone: list[int]
) -> None:
    with make_memory() as memory:
        ids = add(memory, turns)
        memory.sleep(scope=SCOPE, policy=POLICY, now=NOW)
        chosen = sorted({ids[n % len(ids)] for n in gone})
        memory.forget(chosen, scope=SCOPE)
        after = {(source, target): n for source, target, n, _ in linked(memory)}
        assert all(after[pair] <= n for pair, n in expected(memory, 2).items() if pair in after)
        assert not {i for row in kept(memory) for i in row[2:]}.intersection(chosen)
        memory.sleep(scope=SCOPE, policy=POLICY, now=NOW)
        found = {(source, target): n for source, target, n, _ in linked(memory)}
        assert found == expected(memory, 2)
        assert memory.sleep(scope=SCOPE, policy=POLICY, now=NOW).change_count == 0


@given(talks(), talks())
def test_a_raised_threshold_ends_where_it_had_been_from_the_beginning(
    first: list[Turn], second: list[Turn]
) -> None:
    strict = replace(POLICY, synthetic_link_min_co_count=3)
    late = [replace(turn, session=f"late {turn.session}", source_id=f"late {turn.source_id}")
            for turn in second]  # fmt: skip
    with make_memory() as moved, make_memory() as steady:
        for memory, policy in ((moved, POLICY), (steady, strict)):
            add(memory, first)
            memory.sleep(scope=SCOPE, policy=policy, now=NOW)
            add(memory, late)
            memory.sleep(scope=SCOPE, policy=strict, now=NOW)
        assert linked(moved) == linked(steady)
