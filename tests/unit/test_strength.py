"""Strength: the decayed sum, its logarithm, and how it is read."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.records import EPOCH, Episode, Record, RecordId, Use
from symfonic.capabilities.memory.strength import (
    START,
    base_strength,
    log_strength,
    record_strength,
    strength_at,
)

if TYPE_CHECKING:
    from random import Random

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
MONTH = 30 * 24.0
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)

moments = st.datetimes(timezones=st.just(UTC))
half_lives = st.floats(min_value=1, max_value=1e9)
weighted = st.tuples(moments, st.floats(min_value=1e-6, max_value=1e6))


def hour_of(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(hours=1)


def test_one_fresh_use_reads_one_half() -> None:
    assert strength_at(base_strength(NOW, MONTH), NOW, MONTH) == pytest.approx(0.5, abs=1e-3)


def test_a_use_loses_half_of_its_weight_in_a_half_life() -> None:
    later = NOW + timedelta(hours=MONTH)
    expected = 1 - 2**-0.5
    assert strength_at(base_strength(NOW, MONTH), later, MONTH) == pytest.approx(expected, abs=1e-3)


def test_a_single_use_falls_below_the_archive_threshold_after_113_days() -> None:
    # RetentionPolicy.archive_threshold states this figure for the default half-life.
    strength = base_strength(NOW, MONTH)
    assert strength_at(strength, NOW + timedelta(days=112), MONTH) > 0.05
    assert strength_at(strength, NOW + timedelta(days=114), MONTH) < 0.05


def test_the_logarithm_is_that_of_the_decayed_sum_in_thousandths() -> None:
    uses = [(START + timedelta(hours=10), 1.0), (START + timedelta(hours=20), 3.0)]
    assert log_strength(uses, 10.0) == round(1000 * math.log2(1 * 2**1 + 3 * 2**2))


def test_a_time_in_hours_counts_as_the_same_moment() -> None:
    moment = START + timedelta(hours=17)
    assert log_strength([(17, 2.0)], 24.0) == log_strength([(moment, 2.0)], 24.0)


def test_a_use_without_weight_counts_nothing() -> None:
    assert log_strength([(NOW, 1.0), (LAST, 0.0)], MONTH) == base_strength(NOW, MONTH)


@pytest.mark.parametrize("uses", [[], [(NOW, 0.0)]])
def test_nothing_used_has_no_logarithm(uses: list[tuple[datetime, float]]) -> None:
    with pytest.raises(ValueError, match="positive weight"):
        log_strength(uses, MONTH)


def test_a_record_counts_one_use_at_its_time_and_each_use_from_the_start_of_its_hour() -> None:
    stated = NOW - timedelta(days=9)
    record = Record(
        id=RecordId("a"), scope="acme", kind="episode", key=None, content=Episode(role="user"),
        occurred_at=stated, recorded_at=NOW,
    )  # fmt: skip
    use = Use(record=record.id, hour=hour_of(NOW), kind="mention", weight=2.0)
    start_of_hour = NOW.replace(minute=0)
    expected = log_strength([(stated, 1.0), (start_of_hour, 2.0)], MONTH)
    assert record_strength(record, [use], MONTH) == expected
    assert record_strength(record, [], MONTH) == base_strength(stated, MONTH)


@given(st.lists(weighted, min_size=1, max_size=20), half_lives, st.randoms())
def test_the_order_of_uses_does_not_matter(
    uses: list[tuple[datetime, float]], half_life: float, random: Random
) -> None:
    shuffled = list(uses)
    random.shuffle(shuffled)
    assert log_strength(shuffled, half_life) == log_strength(uses, half_life)


@given(st.lists(weighted, min_size=1, max_size=5), moments, half_lives)
def test_a_strength_lies_within_0_and_1_at_any_time(
    uses: list[tuple[datetime, float]], now: datetime, half_life: float
) -> None:
    assert 0 <= strength_at(log_strength(uses, half_life), now, half_life) <= 1


@given(moments, moments, half_lives)
def test_another_use_never_weakens(first: datetime, second: datetime, half_life: float) -> None:
    assert log_strength([(first, 1.0), (second, 1.0)], half_life) >= base_strength(first, half_life)


def test_the_ends_of_the_calendar_do_not_overflow() -> None:
    oldest, newest = base_strength(FIRST, 1.0), base_strength(LAST, 1.0)
    assert strength_at(oldest, LAST, 1.0) == 0.0
    assert strength_at(newest, FIRST, 1.0) == 1.0
    assert log_strength([(FIRST, 1.0), (LAST, 1.0)], 1.0) == newest


@given(moments, moments, st.integers(0, 10_000))
def test_the_order_of_two_records_does_not_change_with_time(
    first: datetime, second: datetime, days: int
) -> None:
    later = NOW + timedelta(days=days)
    weaker, stronger = sorted(base_strength(moment, MONTH) for moment in (first, second))
    assert strength_at(weaker, later, MONTH) <= strength_at(stronger, later, MONTH)
