"""Which times a text names, and which words only look like one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.spoken_times import (
    not_understood,
    spoken_times,
    without_times,
)

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
"""A Wednesday."""


def spans(text: str, now: datetime = NOW) -> list[tuple[str, str]]:
    return [
        (
            "" if time.start is None else f"{time.start:%Y-%m-%d}",
            "" if time.end is None else f"{time.end:%Y-%m-%d}",
        )
        for time in spoken_times(text, now=now)
    ]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What broke on 2026-05-08?", "2026-05-08", "2026-05-09"),
        ("the audit of 2026-05", "2026-05-01", "2026-06-01"),
        ("on 7 May, 2026", "2026-05-07", "2026-05-08"),
        ("on the 7th of May 2026", "2026-05-07", "2026-05-08"),
        ("October 13, 2025", "2025-10-13", "2025-10-14"),
        ("on Oct. 13 2025", "2025-10-13", "2025-10-14"),
        ("am 31.12.2025", "2025-12-31", "2026-01-01"),
        ("on 31/12/2025", "2025-12-31", "2026-01-01"),
        ("on June 3", "2026-06-03", "2026-06-04"),
        ("on December 3", "2025-12-03", "2025-12-04"),
        ("on February 29", "2024-02-29", "2024-03-01"),
        ("in May 2026", "2026-05-01", "2026-06-01"),
        ("im März 2026", "2026-03-01", "2026-04-01"),
        ("en août 2026", "2026-08-01", "2026-09-01"),
        ("en enero de 2026", "2026-01-01", "2026-02-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("last May", "2026-05-01", "2026-06-01"),
        ("last November", "2025-11-01", "2025-12-01"),
        ("next March", "2027-03-01", "2027-04-01"),
        ("summer 2025", "2025-06-01", "2025-09-01"),
        ("last summer", "2026-06-01", "2026-09-01"),
        ("last winter", "2025-12-01", "2026-03-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("yesterday", "2026-11-17", "2026-11-18"),
        ("the day before yesterday", "2026-11-16", "2026-11-17"),
        ("vorgestern", "2026-11-16", "2026-11-17"),
        ("ayer", "2026-11-17", "2026-11-18"),
        ("today", "2026-11-18", "2026-11-19"),
        ("tomorrow", "2026-11-19", "2026-11-20"),
        ("three days ago", "2026-11-15", "2026-11-16"),
        ("2 weeks ago", "2026-11-02", "2026-11-09"),
        ("a month ago", "2026-10-01", "2026-11-01"),
        ("vor zwei Wochen", "2026-11-02", "2026-11-09"),
        ("il y a 3 jours", "2026-11-15", "2026-11-16"),
        ("hace dos meses", "2026-09-01", "2026-10-01"),
        ("last 3 days", "2026-11-15", "2026-11-19"),
        ("the past seven days", "2026-11-11", "2026-11-19"),
        ("last two weeks", "2026-11-04", "2026-11-19"),
        ("past 2 months", "2026-09-18", "2026-11-19"),
        ("letzten drei Tage", "2026-11-15", "2026-11-19"),
        ("the past week", "2026-11-11", "2026-11-19"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("letzte Woche", "2026-11-09", "2026-11-16"),
        ("la semaine dernière", "2026-11-09", "2026-11-16"),
        ("el año pasado", "2025-01-01", "2026-01-01"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("last weekend", "2026-11-14", "2026-11-16"),
        ("next year", "2027-01-01", "2028-01-01"),
        ("on Friday", "2026-11-13", "2026-11-14"),
        ("last Wednesday", "2026-11-11", "2026-11-12"),
        ("next Wednesday", "2026-11-25", "2026-11-26"),
        ("between 3 May and 9 May 2026", "2026-05-03", "2026-05-10"),
        ("from May to July 2026", "2026-05-01", "2026-08-01"),
        ("two weeks before 11 August 2026", "2026-07-27", "2026-08-03"),
        ("the weekend before 4 October 2026", "2026-09-26", "2026-09-28"),
        ("the day after June 3", "2026-06-04", "2026-06-05"),
        ("before 3 June", "", "2026-06-03"),
        ("until yesterday", "", "2026-11-17"),
        ("since 2024", "2024-01-01", ""),
        ("after last May", "2026-05-01", ""),
    ],
)  # fmt: skip
def test_a_time_is_read(text: str, start: str, end: str) -> None:
    assert spans(text) == [(start, end)]


def test_a_vague_number_of_days_is_wider() -> None:
    assert spans("a few days ago") == [("2026-11-13", "2026-11-18")]


def test_a_date_in_slashes_is_read_in_both_orders() -> None:
    assert spans("on 03/04/2026") == [("2026-03-04", "2026-03-05"), ("2026-04-03", "2026-04-04")]


def test_two_times_are_two() -> None:
    assert spans("in May 2026 and on Friday") == [
        ("2026-05-01", "2026-06-01"), ("2026-11-13", "2026-11-14"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "May I ask something?",
        "What did April say to June?",
        "a gift from Jan",
        "march on",
        "the spring in the pump",
        "the fall of the wall",
        "Cyberpunk 2077",
        "call 0301-2026-44",
        "release 2.3.20",
        "on 31 November 202",
        "999 years ago",
        "9999-99-99",
        "0000-01-01",
        "the weekly review",
        "",
    ],
)
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert spans(text) == []


def test_the_day_is_counted_in_utc() -> None:
    late = datetime(2026, 11, 18, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert spans("today", now=late) == [("2026-11-19", "2026-11-20")]


def test_words_of_a_time_can_be_left_out() -> None:
    text = "What did we sign last Friday, in Ghent?"
    left = without_times(text, spoken_times(text, now=NOW))
    assert left.split() == ["What", "did", "we", "sign", ",", "in", "Ghent?"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("greenhouse three moons ago", "three moons ago"),
        ("the last quarter", "last quarter"),
        ("last two fortnights", "last two fortnights"),
        ("greenhouse three days ago", None),
        ("last week and a while ago", "a while ago"),
        ("the last screw, long past", None),
    ],
)
def test_words_that_sound_like_a_time_are_told(text: str, words: str | None) -> None:
    assert not_understood(text, spoken_times(text, now=NOW)) == words


def test_months_back_end_with_their_month() -> None:
    assert spans("last 1 months", datetime(2026, 3, 31, tzinfo=UTC)) == [
        ("2026-02-28", "2026-04-01")
    ]


@given(
    st.text() | st.lists(
        st.sampled_from(
            "last next 2 31 12 0 week days ago May in before two weeks 2026 9999-12-31 1-1 vor "
            "Friday between and from to the a few winter 29 February yesterday".split()
        )
    ).map(" ".join),
    st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)),  # noqa: DTZ001
)  # fmt: skip
def test_any_text_at_any_time_is_read_without_a_fault(text: str, now: datetime) -> None:
    for time in spoken_times(text, now=now.replace(tzinfo=UTC)):
        assert time.start is None or time.end is None or time.start < time.end
        assert 0 <= time.begin < time.stop
