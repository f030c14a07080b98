"""The times that a question names: "in May 2023", "last Friday", "two weeks ago", "before 3 June".

What was said at a time is often asked for by that time, and hardly ever says it itself. Each
expression becomes a span of whole days, UTC; one that depends on the speaker's day is counted from
the time at which the question is asked, and of two possible years or weeks the latest past one is
meant. Nothing else is guessed: a text without such an expression names no time.

Dates in numbers with slashes are read in both orders where both are possible, 03/04/2023 as the
third of April and the fourth of March.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.calendar_words import (
    AFTER,
    BEFORE,
    CURRENT,
    DAYS,
    FOLLOWING,
    FOLLOWING_AFTER,
    MONTHS,
    NUMBERS,
    PREVIOUS,
    PREVIOUS_AFTER,
    SEASONS,
    UNITS,
    WEEKDAYS,
)
from symfonic.capabilities.memory.text_terms import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST_CHARACTERS: Final = 2_000
"""Characters of a question that are looked through for times."""

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTime:
    """A time that a text names: from ``start`` on and before ``end``, ``None`` where it is open.

    ``begin`` and ``stop`` are where its words stand in the folded text, if they do.
    """

    start: datetime | None
    end: datetime | None
    begin: int = 0
    stop: int = 0


def spoken_times(text: str, *, now: datetime) -> tuple[SpokenTime, ...]:
    """The times that ``text`` names, in order, as seen from ``now``."""
    folded = fold(text[:MOST_CHARACTERS])
    found = _joined(folded, list(_atoms(folded, now.astimezone(UTC))))
    return tuple(_opened(folded, time) for time in found)


_NEARLY: Final = re.compile(
    r"(?<!\w)(?:(?:\w+\s+){1,2}ago|(?:last|past|previous)\s+(?:\w+\s+)?"
    r"(?:days?|weeks?|months?|years?|quarters?|fortnights?|moons?|decades?|semesters?))(?!\w)",
    re.IGNORECASE,
)


def not_understood(text: str, times: Sequence[SpokenTime]) -> str | None:
    """Words that sound like a time and are none of ``times``; ``None`` where there are none."""
    for hit in _NEARLY.finditer(without_times(text[:MOST_CHARACTERS], times)):
        return " ".join(hit[0].split())
    return None


def without_times(text: str, times: Iterable[SpokenTime]) -> str:
    """The folded ``text`` with the words of these times blanked out."""
    folded = fold(text)
    for time in times:
        folded = folded[: time.begin] + " " * (time.stop - time.begin) + folded[time.stop :]
    return folded


Span = tuple[datetime, datetime]
"""From the first moment on, and before the second."""

_VAGUE: Final = frozenset({"a couple of", "a few", "few", "several"})
_OTHERWISE: Final = frozenset("april august jan juin june juni mai mar march mars may".split())
"""Months that are also names of people and verbs."""
_LONGEST: Final = {"day": 60, "week": 52, "weekend": 52, "month": 120, "year": 100}


def _any(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in longest_first) + ")"


_WHICH_WORDS: Final = _any(PREVIOUS | CURRENT | FOLLOWING)
_WHICH: Final = rf"(?P<which>{_WHICH_WORDS})"
_MONTH: Final = rf"(?P<month>{_any(MONTHS)})\b\.?"
_OF_YEAR: Final = r"(?:,?\s+(?:of\s+|de\s+)?(?P<year>(?:19|20)\d\d))"
_NAMED_MONTH: Final = rf"(?P<core>(?:{_WHICH}\s+)?{_MONTH}{_OF_YEAR}?)"
_NUMBER: Final = rf"(?P<number>\d{{1,3}}|{_any(NUMBERS)})"
_UNIT: Final = rf"(?P<unit>{_any(UNITS)})"
_LEAD: Final = (
    r"in|during|since|until|till|throughout|early|late|mid|between|im|ab|seit|bis|en|depuis|desde"
    r"|hasta|from(?=\s+\S+\s+(?:to|until)\b)"
)
_LOOSE_LEAD: Final = r"of|by|before|after|from|to|and|vor|nach|avant|apres"


def _ymd(hit: re.Match[str], _now: datetime) -> list[Span]:
    year, month = int(hit["year"]), int(hit["m"])
    return _day(year, month, int(hit["d"])) if hit["d"] else _month(year, month)


def _numeric(hit: re.Match[str], _now: datetime) -> list[Span]:
    first, second, year = int(hit["a"]), int(hit["b"]), int(hit["year"])
    found = _day(year, second, first)
    if hit["sep"] == "/" and first != second:
        found += _day(year, first, second)
    return found


def _named_day(hit: re.Match[str], now: datetime) -> list[Span]:
    month, day = MONTHS[hit["month"].lower()], int(hit["d"])
    if hit["year"]:
        return _day(int(hit["year"]), month, day)
    near = [span for year in range(now.year, now.year - 5, -1) for span in _day(year, month, day)]
    return next(([span] for span in near if span[0] <= now), [])


def _named_month(hit: re.Match[str], now: datetime) -> list[Span]:
    month = MONTHS[hit["month"].lower()]
    which = (hit["which"] or "").lower()
    if hit["year"]:
        return _month(int(hit["year"]), month)
    otherwise = hit["loose"] is None or hit["month"].lower() in _OTHERWISE
    if not which and hit["lead"] is None and otherwise:
        return []
    if which in FOLLOWING:
        return _month(now.year + (month <= now.month), month)
    past = month > now.month or (which in PREVIOUS and month == now.month)
    return _month(now.year - past, month)


def _season(hit: re.Match[str], now: datetime) -> list[Span]:
    season, which = SEASONS[hit["season"].lower()], (hit["which"] or "").lower()
    if hit["year"]:
        return _months(int(hit["year"]), season)
    if which in PREVIOUS:
        return [span for y in (now.year, now.year - 1) for span in _months(y, season)
                if span[1] <= now][:1]  # fmt: skip
    return _months(now.year, season) if which in CURRENT else []


def _months(year: int, season: int) -> list[Span]:
    """A season's three months; the winter of a year begins in the December before it."""
    start = _start_of_month(year if season else year - 1, 3 * season or 12)
    return [(start, _add_months(start, 3))]


def _year(hit: re.Match[str], _now: datetime) -> list[Span]:
    start = datetime(int(hit["year"]), 1, 1, tzinfo=UTC)
    return [(start, _add_months(start, 12))]


def _ago(hit: re.Match[str], now: datetime) -> list[Span]:
    words = re.sub(r"\s+", " ", hit["number"].lower())
    unit, number = UNITS[hit["unit"].lower()], _number(words)
    if number > _LONGEST[unit]:
        return []
    return [_around(_unit(unit, -number, now), unit, wide=words in _VAGUE)]


def _last_units(hit: re.Match[str], now: datetime) -> list[Span]:
    """The last so many days, weeks, months or years, up to the end of today."""
    words = re.sub(r"\s+", " ", hit["number"].lower())
    return _until_today(UNITS[hit["unit"].lower()], _number(words), now)


def _until_today(unit: str, number: int, now: datetime) -> list[Span]:
    today = _midnight(now)
    if number > _LONGEST[unit]:
        return []
    if unit in {"month", "year"}:
        start = _shifted(today, -number * (12 if unit == "year" else 1))
    else:
        start = today - number * (_DAY if unit == "day" else _WEEK)
    return [(start, today + _DAY)]


def _which_unit(hit: re.Match[str], now: datetime) -> list[Span]:
    word = hit["which"].lower()
    if word == "past":  # the past week is the seven days before now, last week ended on Sunday
        return _until_today(UNITS[hit["unit"].lower()], 1, now)
    back, on = word in PREVIOUS | PREVIOUS_AFTER, word in FOLLOWING | FOLLOWING_AFTER
    return [_unit(UNITS[hit["unit"].lower()], on - back, now)]


def _day_word(hit: re.Match[str], now: datetime) -> list[Span]:
    start = _midnight(now) + DAYS[re.sub(r"\s+", " ", hit["core"].lower())] * _DAY
    return [(start, start + _DAY)]


def _weekday(hit: re.Match[str], now: datetime) -> list[Span]:
    """The last such day before today, or the next one after it."""
    wanted, today = WEEKDAYS[hit["weekday"].lower()], _midnight(now)
    if (hit["which"] or "").lower() in FOLLOWING:
        start = today + ((wanted - today.weekday() - 1) % 7 + 1) * _DAY
    else:
        start = today - ((today.weekday() - wanted - 1) % 7 + 1) * _DAY
    return [(start, start + _DAY)]


_READERS: Final[tuple[tuple[str, Callable[[re.Match[str], datetime], list[Span]]], ...]] = (
    (r"(?P<core>(?P<year>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d))?)", _ymd),
    (
        r"(?P<core>(?P<a>\d{1,2})(?P<sep>[./])(?P<b>\d{1,2})(?P=sep)(?P<year>(?:19|20)\d\d))",
        _numeric,
    ),
    (
        rf"(?P<core>(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?{_MONTH}{_OF_YEAR}?)",
        _named_day,
    ),
    (
        rf"(?P<core>{_MONTH}\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b{_OF_YEAR}?)",
        _named_day,
    ),
    (
        rf"(?:(?:(?P<lead>{_LEAD})|(?P<loose>{_LOOSE_LEAD}))\s+)?{_NAMED_MONTH}",
        _named_month,
    ),
    (rf"(?P<core>(?:{_WHICH}\s+)?(?P<season>{_any(SEASONS)}){_OF_YEAR}?)", _season),
    (rf"(?P<core>{_any(DAYS)})", _day_word),
    (
        rf"(?P<core>{_any(PREVIOUS | PREVIOUS_AFTER)}\s+{_NUMBER}\s+{_UNIT})",
        _last_units,
    ),
    (rf"(?P<core>{_NUMBER}\s+{_UNIT}\s+ago)", _ago),
    (rf"(?P<core>(?:vor|il\s+y\s+a|hace)\s+{_NUMBER}\s+{_UNIT})", _ago),
    (rf"(?P<core>{_WHICH}\s+{_UNIT})", _which_unit),
    (
        rf"(?P<core>{_UNIT}\s+(?P<which>{_any(PREVIOUS_AFTER | FOLLOWING_AFTER)}))",
        _which_unit,
    ),
    (rf"(?P<core>(?:{_WHICH}\s+)?(?P<weekday>{_any(WEEKDAYS)}))", _weekday),
    (rf"(?:{_LEAD}|{_LOOSE_LEAD})\s+(?:the\s+year\s+)?(?P<core>(?P<year>(?:19|20)\d\d))", _year),
)
_BETWEEN: Final = re.compile(
    r"\s*(?:and|to|until|till|through|und|bis|et|y|al?|-|–)\s*", re.IGNORECASE
)
_OPENING: Final = re.compile(r"\b(?:between|from|zwischen|von|entre|de|del?)\s*$", re.IGNORECASE)
_OFFSET: Final = re.compile(
    rf"(?:{_NUMBER}\s+)?{_UNIT}\s+(?P<side>{_any(BEFORE | AFTER)})\s*$", re.IGNORECASE
)
_SIDE: Final = re.compile(
    rf"(?:^|(?<=[^\w]))(?P<side>{_any(BEFORE | AFTER)})\s+(?:the\s+|de\s+|el\s+|le\s+)?$",
    re.IGNORECASE,
)


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Callable[..., list[Span]]], ...]:
    """The patterns, made when the first text is read: a command that recalls nothing needs none."""
    return tuple(
        (re.compile(rf"(?<![\w.-]){pattern}(?![\w-])", re.IGNORECASE), reading)
        for pattern, reading in _READERS
    )


def _atoms(text: str, now: datetime) -> list[SpokenTime]:
    """The expressions, first come first read; of two that overlap the earlier reading stands."""
    found: list[SpokenTime] = []
    for pattern, reading in _compiled():
        for hit in pattern.finditer(text):
            begin, stop = hit.span("core")
            if any(begin < other.stop and other.begin < stop for other in found):
                continue
            try:
                spans = reading(hit, now)
            except (OverflowError, ValueError):  # before the year 1, or after 9999
                continue
            found += [SpokenTime(start=a, end=b, begin=begin, stop=stop) for a, b in spans]
    return sorted(found, key=lambda time: (time.begin, time.start or _FIRST))


def _joined(text: str, times: Sequence[SpokenTime]) -> list[SpokenTime]:
    """With "between A and B" and "from A to B" as one time."""
    found: list[SpokenTime] = []
    for time in times:
        last = found[-1] if found else None
        if (
            last is not None
            and last.stop <= time.begin
            and _BETWEEN.fullmatch(text, last.stop, time.begin)
            and (opening := _OPENING.search(text[: last.begin]))
            and last.start is not None and time.end is not None and last.start < time.end
        ):  # fmt: skip
            found[-1] = SpokenTime(
                start=last.start, end=time.end, begin=opening.start(), stop=time.stop
            )
        else:
            found.append(time)
    return found


def _opened(text: str, time: SpokenTime) -> SpokenTime:
    """With what stands before it: "two weeks before", "before", "since"."""
    ahead = text[: time.begin]
    if time.start is None or time.end is None:
        return time
    if offset := _OFFSET.search(ahead):
        unit, side = UNITS[offset["unit"].lower()], offset["side"].lower()
        words = re.sub(r"\s+", " ", (offset["number"] or "the").lower())
        try:
            moved = _unit(unit, (-1 if side in BEFORE else 1) * _number(words), time.start)
        except (OverflowError, ValueError):
            return time
        start, end = _around(moved, unit, wide=words in _VAGUE)
        return SpokenTime(start=start, end=end, begin=offset.start(), stop=time.stop)
    if side := _SIDE.search(ahead):
        before = side["side"].lower() in BEFORE
        return SpokenTime(
            start=None if before else time.start, end=time.start if before else None,
            begin=side.start("side"), stop=time.stop,
        )  # fmt: skip
    return time


def _number(words: str) -> int:
    return int(words) if words.isdecimal() else NUMBERS[words]


def _unit(unit: str, step: int, now: datetime) -> Span:
    """The day, week (from Monday), weekend, month or year that lies ``step`` of them from now."""
    today = _midnight(now)
    match unit:
        case "day":
            start = today + step * _DAY
            return start, start + _DAY
        case "week":
            start = today - today.weekday() * _DAY + step * _WEEK
            return start, start + _WEEK
        case "weekend":
            saturday = today + (5 - today.weekday()) * _DAY + step * _WEEK
            return saturday, saturday + 2 * _DAY
        case "month":
            start = _add_months(today.replace(day=1), step)
            return start, _add_months(start, 1)
        case _:
            start = datetime(now.year + step, 1, 1, tzinfo=UTC)
            return start, _add_months(start, 12)


def _around(span: Span, unit: str, *, wide: bool) -> Span:
    """Wider by a unit at both ends where the number is a manner of speaking, "a few days ago"."""
    if not wide:
        return span
    margin = {"day": 2 * _DAY, "week": _WEEK, "weekend": _WEEK, "month": 31 * _DAY}
    by = margin.get(unit, 366 * _DAY)
    return span[0] - by, span[1] + by


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(year: int, month: int, day: int) -> list[Span]:
    """The day; nothing where the calendar has none."""
    try:
        start = datetime(year, month, day, tzinfo=UTC)
        return [(start, start + _DAY)]
    except (ValueError, OverflowError):
        return []


def _month(year: int, month: int) -> list[Span]:
    if not 1 <= month <= 12:
        return []
    start = _start_of_month(year, month)
    return [(start, _add_months(start, 1))]


def _start_of_month(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def _shifted(day: datetime, months: int) -> datetime:
    """The same day so many months on, or the last one of that month."""
    first = _add_months(day.replace(day=1), months)
    return min(first + (day.day - 1) * _DAY, _add_months(first, 1) - _DAY)


def _add_months(moment: datetime, count: int) -> datetime:
    number = moment.year * 12 + moment.month - 1 + count
    return moment.replace(year=number // 12, month=number % 12 + 1)
