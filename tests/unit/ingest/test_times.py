from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.times import (
    TimeProblem,
    ZoneMissing,
    read_time,
    zone_named,
)

VIENNA = zone_named("Europe/Vienna")
NOON = datetime(2027, 5, 4, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2027-05-04T12:00:00Z",
        "2027-05-04T14:00:00+02:00",
        "2027-05-04 12:00:00.000+00:00",
        1_809_432_000,
        1_809_432_000.0,
        1_809_432_000_000,
        1_809_432_000_000_000,
        1_809_432_000_000_000_000,
        "1809432000",
        NOON,
    ],
)
def test_the_same_moment_in_every_spelling(value: object) -> None:
    assert read_time(value, None) == (NOON, None)


@pytest.mark.parametrize("value", [None, "", 0, 0.0])
def test_nothing_and_zero_mean_unknown(value: object) -> None:
    assert read_time(value, None) == (None, None)


def test_a_local_time_needs_a_declared_zone() -> None:
    with pytest.raises(ZoneMissing, match="--timezone"):
        read_time("2027-05-04T14:00:00", None)
    assert read_time("2027-05-04T14:00:00", VIENNA) == (NOON, None)
    assert read_time("2027-05-04T14:00:00", zone_named("+02:00")) == (NOON, None)
    assert read_time(datetime(2027, 5, 4, 14), VIENNA) == (NOON, None)  # noqa: DTZ001


def test_a_skipped_local_time_moves_forward_and_a_repeated_one_is_the_first() -> None:
    # PEP 495 with fold=0; clocks in Vienna change on 2027-03-28 and 2027-10-31.
    gap = read_time("2027-03-28T02:15:00", VIENNA)
    assert gap == (datetime(2027, 3, 28, 1, 15, tzinfo=UTC), "gap_time")
    doubled = read_time("2027-10-31T02:15:00", VIENNA)
    assert doubled == (datetime(2027, 10, 31, 0, 15, tzinfo=UTC), "doubled_time")


@pytest.mark.parametrize(
    "value",
    ["yesterday", "2027-13-01T00:00:00Z", True, [], 1e30, float("nan"), float("inf"), 10**400,
     "0001-01-01T00:00:00+14:00", -9e13],
)  # fmt: skip
def test_what_is_no_time_says_so(value: object) -> None:
    with pytest.raises(TimeProblem):
        read_time(value, VIENNA)


@given(st.one_of(st.text(max_size=30), st.integers(), st.floats(), st.booleans()))
def test_any_value_is_a_utc_time_or_a_problem(value: object) -> None:
    try:
        found, _ = read_time(value, VIENNA)
    except TimeProblem:
        return
    assert found is None or found.tzinfo is UTC


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "", "Europe", "../etc/passwd", "+25:00", "localtime", "a\x00b"]
)
def test_a_zone_that_is_none_is_an_input_error(name: str) -> None:
    with pytest.raises(InputError, match="zone"):
        zone_named(name)


def test_no_zone_is_declared_by_default() -> None:
    assert zone_named(None) is None
