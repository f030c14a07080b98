"""Read a stated time, and never guess a zone.

A time without a zone is only a time once the caller declares the zone: the machine's own would
give another history on another machine. Local times that a clock change skips or repeats follow
PEP 495 with ``fold=0``: a skipped one moves forward by the gap, a repeated one is the first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.records import EPOCH

NO_ZONE: Final = (
    "declare one with the timezone argument (--timezone on the command line), such as Europe/Vienna"
)
_MACHINE_ZONES: Final = frozenset({"localtime", "posixrules"})
_SCALES: Final = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0), (1e20, 0.001))
"""Seconds, milliseconds, microseconds and nanoseconds are told apart by size.

Seconds below 1e11 reach the year 5138; milliseconds from there begin in 1973.
"""


class TimeProblem(ValueError):
    """A stated time cannot be used; the message says why."""


class ZoneMissing(TimeProblem):
    """A stated time names no zone, and none was declared."""


def in_utc(moment: datetime) -> datetime:
    """An aware time in UTC, so that one moment in two zones is one. Raises ``InputError``."""
    if moment.tzinfo is None:
        raise InputError(f"The time {moment.isoformat()} has no zone; give an aware one.")
    return moment.astimezone(UTC)


def zone_named(name: str | None) -> tzinfo | None:
    """The zone of an IANA name such as ``Europe/Vienna``, or of an offset such as ``+02:00``.

    Raises ``InputError`` for a name that is neither, and for names of the machine's own zone.
    """
    if name is None:
        return None
    try:
        if name[:1] in {"+", "-"}:
            return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
        if name in _MACHINE_ZONES:
            raise InputError(
                f"The time zone {name!r} means another zone on another machine. "
                "Name the zone itself, for example Europe/Vienna.",
                timezone=name,
            )
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError, TypeError) as cause:
        if isinstance(cause, InputError):
            raise
        raise InputError(
            f"No time zone is called {name!r}. Use an IANA name such as Europe/Vienna, or an "
            "offset such as +02:00.",
            timezone=name,
        ) from cause


def read_time(value: object, zone: tzinfo | None) -> tuple[datetime | None, str | None]:
    """The moment that ``value`` states, in UTC, and a flag where the local time was mended.

    ISO 8601 text, a ``datetime``, or a number since 1970 UTC. Nothing, empty text and the
    number 0 mean that the time is not known. Flags: ``gap_time`` and ``doubled_time``.

    Raises ``ZoneMissing`` for a local time without a declared zone, ``TimeProblem`` otherwise.
    """
    if value is None or value == "" or (value == 0 and not isinstance(value, bool)):
        return None, None
    if isinstance(value, str):
        return _from_text(value, zone)
    if isinstance(value, datetime):
        return _placed(value, zone, value.isoformat())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value), None
    raise TimeProblem(f"a time is ISO 8601 text or a number, not {type(value).__name__}")


def _from_text(text: str, zone: tzinfo | None) -> tuple[datetime | None, str | None]:
    stripped = text.strip()
    if len(stripped) >= 9 and stripped.isascii() and stripped.isdigit():
        return _from_number(int(stripped[:25])), None
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise TimeProblem(f"the time {text[:60]!r} is not ISO 8601") from None
    return _placed(moment, zone, stripped)


def _from_number(value: float) -> datetime:
    scale = next((factor for bound, factor in _SCALES if abs(value) < bound), None)
    if scale is None:
        raise TimeProblem("the time is a number outside the years 1 to 9999")
    whole = value * int(scale) if scale >= 1 else value * scale
    try:
        return EPOCH + timedelta(microseconds=round(whole))
    except (OverflowError, ValueError):
        raise TimeProblem("the time is a number outside the years 1 to 9999") from None


def _placed(
    moment: datetime, zone: tzinfo | None, shown: str
) -> tuple[datetime | None, str | None]:
    """An aware time in UTC; a local one is read in ``zone``."""
    flag = None
    if moment.tzinfo is UTC:
        return moment, None
    try:
        if moment.utcoffset() is None:
            if zone is None:
                raise ZoneMissing(f"the time {shown[:60]!r} names no zone: {NO_ZONE}")
            moment = moment.replace(tzinfo=zone, fold=0)
            first, second = moment.utcoffset(), moment.replace(fold=1).utcoffset()
            if first is not None and second is not None and first != second:
                flag = "gap_time" if first < second else "doubled_time"
        return moment.astimezone(UTC), flag
    except OverflowError:
        raise TimeProblem(f"the time {shown[:60]!r} is outside the years 1 to 9999") from None
