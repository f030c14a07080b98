"""Laws of a walk through history: stopped anywhere it ends as it would have, in any zone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.nights import Nights
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, filled, rows
from symfonic.capabilities.memory.testing.strategies import logs

if TYPE_CHECKING:
    from symfonic.capabilities.memory.backfill import Walked
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Turn

FEW = replace(
    EAGER, entity_linker_max_episodics_per_run=2, promotion_max_drafts_per_run=1,
    promotion_recency_days=400,
)  # fmt: skip
LIMITS = RunLimits(
    promotion_max_episodics_per_run=3, strengthen_max_records_per_run=5, max_passes=20
)


NIGHT = NOW + timedelta(days=1)


class Killed(Exception):
    """The walk is stopped here."""


def held(memory: Memory) -> list[str]:
    """All that a scope holds, but when its runs were planned and for how long."""
    tables = ("record", "link", "use", "seen", "pending", "change", "answer", "scope")
    return rows(memory, tables=tables)


def digests(memory: Memory) -> list[tuple[object, ...]]:
    """What each run went by and made, in order."""
    found = memory.runs(scope=SCOPE, limit=1000)
    return [(r.number, r.kind, r.status, r.clock, r.input_digest, r.digest) for r in found]


def walk(memory: Memory, *, phases: int | None = None, nights: int | None = None) -> None:
    """Walk, and be stopped when so many phases were begun, or so many nights were done."""
    begun = 0

    def watch(_number: int, _phase: str) -> None:
        nonlocal begun
        begun += 1
        if begun == phases:
            raise Killed

    def walked(far: Walked) -> None:
        if far.nights == nights:
            raise Killed

    memory.backfill(scope=SCOPE, policy=FEW, limits=LIMITS, until=NOW, watch=watch, walked=walked)


@given(logs(), st.lists(st.integers(1, 60), max_size=6))
def test_a_walk_that_is_stopped_anywhere_ends_as_it_would_have(
    turns: list[Turn], stops: list[int]
) -> None:
    with filled(turns) as whole, filled(turns) as stopped:
        walk(whole)
        done = False
        for phases in stops:
            try:
                walk(stopped, phases=phases)
            except Killed:
                continue
            done = True
            break
        if not done:
            walk(stopped)
        assert held(stopped) == held(whole)
        assert digests(stopped) == digests(whole)


@given(logs())
def test_a_walk_that_is_stopped_after_every_night_ends_as_it_would_have(turns: list[Turn]) -> None:
    with filled(turns) as whole, filled(turns) as stopped:
        walk(whole)
        while True:
            try:
                walk(stopped, nights=1)
            except Killed:
                continue
            except InputError:
                break
        assert held(stopped) == held(whole)
        assert digests(stopped) == digests(whole)


@given(logs())
def test_a_walked_history_has_nothing_left_to_walk(turns: list[Turn]) -> None:
    with filled(turns) as memory:
        walk(memory)
        before = held(memory)
        with pytest.raises(InputError, match="nothing to walk"):
            walk(memory)
        assert held(memory) == before


@given(logs())
def test_a_dry_run_names_the_nights_that_are_walked_and_writes_nothing(turns: list[Turn]) -> None:
    with filled(turns) as memory:
        before = held(memory)
        would = memory.backfill(scope=SCOPE, policy=FEW, until=NIGHT, dry_run=True)
        assert held(memory) == before
        done = memory.backfill(scope=SCOPE, policy=FEW, until=NIGHT)
        assert [(n.clock, n.episodes) for n in would.nights] == [
            (n.clock, n.episodes) for n in done.nights
        ]
        assert done.episodes == len(turns)


zones = st.sampled_from(
    ("UTC", "Europe/Vienna", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "-03:30")
)


@given(
    st.builds(Nights, at=st.times(), zone=zones),
    st.integers(-(10**10), 3 * 10**10).map(
        lambda deciseconds: NOW + timedelta(milliseconds=deciseconds * 100)
    ),
)
def test_nights_follow_each_other_and_miss_no_moment(nights: Nights, moment: datetime) -> None:
    after, before = nights.first_from(moment), nights.last_until(moment)
    assert after is not None
    assert before is not None
    assert before <= moment <= after
    assert nights.first_from(after) == after == nights.last_until(after)
    follows = nights.first_from(before + timedelta(microseconds=1))
    assert follows is not None
    assert follows >= after
    assert after - before <= timedelta(hours=49)
    assert (before == after) == (before == moment)


@given(st.builds(Nights, at=st.times(), zone=zones), st.datetimes(timezones=st.just(UTC)))
def test_nights_are_found_at_the_ends_of_the_calendar(nights: Nights, moment: datetime) -> None:
    after, before = nights.first_from(moment), nights.last_until(moment)
    assert after is None or after >= moment
    assert before is None or before <= moment


@given(logs(), zones, st.times())
def test_a_walk_in_any_zone_takes_every_episode_once(
    turns: list[Turn], zone: str, at: time
) -> None:
    with make_memory() as empty, filled(turns) as memory:
        nights = Nights(at=at, zone=zone)
        report = memory.backfill(scope=SCOPE, policy=FEW, until=NOW, nights=nights, dry_run=True)
        last = nights.last_until(NOW)
        assert last is not None
        assert report.episodes == sum(
            turn.occurred_at is not None and turn.occurred_at <= last for turn in turns
        )
        assert empty.scopes() == []
