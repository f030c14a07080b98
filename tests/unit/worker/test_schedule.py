from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symfonic.capabilities.memory.errors import InputError, MissingExtra
from symfonic.capabilities.memory.worker.schedule import Schedule, slot_after

VIENNA, NEW_YORK = ZoneInfo("Europe/Vienna"), ZoneInfo("America/New_York")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def slots(expression: str, zone: ZoneInfo, begin: str, end: str) -> list[str]:
    """Every slot after ``begin`` up to ``end``, each asked for from the one before it."""
    found, at = [], moment(begin)
    while (slot := slot_after(expression, zone, at)) is not None and slot <= moment(end):
        assert slot > at
        at = slot
        found.append(slot.strftime("%d %H:%M"))
    return found


def test_times_are_read_in_the_zone_and_given_in_utc() -> None:
    schedule = Schedule(deep="0 3 * * *", light="off", zone="Europe/Vienna")
    assert schedule.deep_after(moment("2026-07-01T00:00Z")) == moment("2026-07-01T01:00Z")
    assert schedule.deep_after(moment("2026-01-01T00:00Z")) == moment("2026-01-01T02:00Z")
    found = schedule.deep_after(moment("2026-01-01T00:00Z"))
    assert found is not None
    assert found.tzinfo is UTC


def test_slot_lies_after_the_moment_even_at_the_slot_itself() -> None:
    schedule = Schedule(deep="0 3 * * *")
    assert schedule.deep_after(moment("2026-07-01T03:00Z")) == moment("2026-07-02T03:00Z")
    just_before = moment("2026-07-01T03:00Z") - timedelta(microseconds=1)
    assert schedule.deep_after(just_before) == moment("2026-07-01T03:00Z")


@pytest.mark.parametrize(
    ("zone", "day", "expected"),
    [
        # The spring gap: due at its end, as Debian's cron(8) has it.
        (VIENNA, "2026-03-29", ["29 01:00"]),
        (NEW_YORK, "2026-03-08", ["08 07:00"]),
        # The doubled autumn hour: the first 02:30 (01:30 in New York), and not the second.
        (VIENNA, "2026-10-25", ["25 00:30"]),
    ],
)
def test_half_past_two_happens_once_on_days_of_a_clock_change(
    zone: ZoneInfo, day: str, expected: list[str]
) -> None:
    midnight = moment(day).replace(tzinfo=zone)
    next_midnight = (midnight + timedelta(days=1)).astimezone(UTC)
    begin = midnight.astimezone(UTC) - timedelta(seconds=1)
    end = next_midnight - timedelta(seconds=1)
    assert slots("30 2 * * *", zone, begin.isoformat(), end.isoformat()) == expected


def test_half_past_one_in_new_york_happens_once_in_its_doubled_hour() -> None:
    found = slots("30 1 * * *", NEW_YORK, "2026-11-01T04:00Z", "2026-11-02T04:00Z")
    assert found == ["01 05:30"]


def test_nothing_is_due_again_in_the_second_round_of_the_doubled_hour() -> None:
    # cronsim answers 00:30, which lies behind, when it is asked at the second 02:15.
    asked = moment("2026-10-25T01:15Z")
    assert slot_after("30 2 * * *", VIENNA, asked) == moment("2026-10-26T01:30Z")


def test_quarters_of_an_hour_go_by_elapsed_time_through_the_changes() -> None:
    spring = slots("*/15 * * * *", VIENNA, "2026-03-29T00:30Z", "2026-03-29T01:30Z")
    assert spring == ["29 00:45", "29 01:00", "29 01:15", "29 01:30"]
    autumn = slots("*/15 * * * *", VIENNA, "2026-10-25T00:00Z", "2026-10-25T02:00Z")
    assert len(autumn) == 8


@settings(deadline=None)
@given(
    st.integers(1_577_836_800, 2_114_380_800).map(lambda at: datetime.fromtimestamp(at, UTC)),
    st.sampled_from(["30 2 * * *", "0 3 * * *", "15 1,2 * * *", "*/7 * * * *", "0 2-3 * * MON"]),
    st.sampled_from(["Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "UTC", "+05:30"]),
)
def test_slots_always_move_forward(at: datetime, expression: str, zone: str) -> None:
    schedule = Schedule(deep=expression, zone=zone)
    slot = schedule.deep_after(at)
    assert slot is not None
    assert at < slot <= at + timedelta(days=8)


@pytest.mark.parametrize("off", ["", "  ", "off", "OFF"])
def test_kind_that_is_off_has_no_slots(off: str) -> None:
    schedule = Schedule(light=off)
    now = moment("2026-07-01T02:00Z")
    assert schedule.light_after(now) is None
    assert schedule.next_after(now) == moment("2026-07-01T03:00Z")
    assert schedule == Schedule(light="off")


def test_next_is_the_earlier_of_the_two() -> None:
    schedule = Schedule()
    assert schedule.next_after(moment("2026-07-01T02:50Z")) == moment("2026-07-01T03:00Z")
    assert schedule.next_after(moment("2026-07-01T03:01Z")) == moment("2026-07-01T03:15Z")


def test_both_off_is_refused() -> None:
    with pytest.raises(InputError, match="Leave one of them on"):
        Schedule(deep="off", light="")


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("0 3 * *", "has 4 fields"),
        ("0 0 3 * * *", "has 6 fields"),
        ("@daily", "has 1 fields"),
        ("0 99 * * *", "Bad hour"),
        ("x 3 * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 3 */20 * 1L", "never comes"),
        (f"{'1,' * 200}1 3 * * *", "Write five fields"),
    ],
)
def test_expression_that_is_none_is_refused_with_what_is_right(expression: str, what: str) -> None:
    with pytest.raises(InputError, match="Write five fields") as caught:
        Schedule(deep=expression)
    assert what in str(caught.value)
    assert caught.value.facts["name"] == "deep"


@settings(deadline=None)
@given(st.text(alphabet="0123456789*/,-#LWMON ²é", max_size=24))
def test_any_text_is_a_schedule_or_an_input_error(text: str) -> None:
    try:
        schedule = Schedule(deep=text)
    except InputError:
        return
    schedule.deep_after(moment("2026-07-01T02:50Z"))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "localtime", "../UTC", "Europe"])
def test_zone_that_is_none_is_refused_with_what_is_right(zone: str) -> None:
    with pytest.raises(InputError, match="Europe/Vienna"):
        Schedule(zone=zone)


def test_missing_cronsim_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(MissingExtra, match=r"symfonic-memory\[worker\]"):
        Schedule()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_no_slot_comes_after_the_year_9999(zone: str) -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert Schedule(zone=zone).next_after(last) is None
