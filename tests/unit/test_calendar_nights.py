from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.nights import Nights, beginning_of

VIENNA = Nights(at=time(2, 30), zone="Europe/Vienna")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_night_begins_each_day_at_one_time() -> None:
    nights = Nights()
    assert nights.first_from(at("2026-03-02T02:00Z")) == at("2026-03-02T02:00Z")
    assert nights.first_from(at("2026-03-02T02:00:01Z")) == at("2026-03-03T02:00Z")
    assert nights.last_until(at("2026-03-02T01:59Z")) == at("2026-03-01T02:00Z")
    assert nights.last_until(at("2026-03-02T02:00Z")) == at("2026-03-02T02:00Z")


def test_nights_are_told_in_utc_whatever_zone_is_asked_in() -> None:
    found = VIENNA.first_from(at("2026-01-10T20:00-05:00"))
    assert found == at("2026-01-11T01:30Z")
    assert found.tzinfo is UTC


def test_a_night_that_the_spring_change_skips_begins_at_the_end_of_the_gap() -> None:
    assert VIENNA.first_from(at("2026-03-28T12:00Z")) == at("2026-03-29T01:00Z")
    assert VIENNA.first_from(at("2026-03-29T01:00:01Z")) == at("2026-03-30T00:30Z")
    assert VIENNA.last_until(at("2026-03-29T12:00Z")) == at("2026-03-29T01:00Z")


def test_a_night_that_the_autumn_change_repeats_is_the_first() -> None:
    assert VIENNA.first_from(at("2026-10-24T12:00Z")) == at("2026-10-25T00:30Z")
    assert VIENNA.first_from(at("2026-10-25T00:31Z")) == at("2026-10-26T01:30Z")


def test_a_day_that_a_zone_leaves_out_begins_with_the_next() -> None:
    nights = Nights(at=time(0), zone="Pacific/Apia")
    assert nights.first_from(at("2011-12-29T11:00Z")) == at("2011-12-30T10:00Z")
    assert nights.first_from(at("2011-12-30T10:01Z")) == at("2011-12-31T10:00Z")


def test_the_calendar_ends() -> None:
    assert Nights().last_until(datetime.min.replace(tzinfo=UTC)) is None
    assert Nights().first_from(datetime.max.replace(tzinfo=UTC)) is None


def test_a_day_begins_in_its_zone() -> None:
    assert beginning_of(at("2026-03-29T00:00Z").date(), "Europe/Vienna") == at("2026-03-28T23:00Z")


@pytest.mark.parametrize("zone", ["Nowhere/None", "localtime", "", "+99:00"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(InputError):
        Nights(zone=zone)


def test_a_time_of_day_with_a_zone_of_its_own_is_refused() -> None:
    with pytest.raises(InputError, match="names a zone of its own"):
        Nights(at=time(2, tzinfo=UTC))
