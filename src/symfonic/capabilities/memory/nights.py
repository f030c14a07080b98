"""The nights of a calendar: one a day, at one time of day in one named zone.

The rule for clock changes is the worker's: a night that the spring change skips begins at the end
of the gap, and one that the autumn change repeats is the first of the two. So history that is
walked later has the nights that a worker would have had.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.times import zone_named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, tzinfo

AT: Final = time(2)
ZONE: Final = "UTC"

_AROUND: Final = 2
"""Days on either side in which the nearest night lies, also where the calendar skips a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """A night each day at ``at``, a time of day without a zone, in ``zone``.

    ``zone`` is an IANA name such as ``Europe/Vienna``, or an offset such as ``+02:00``. Raises
    ``InputError`` for another one, and for a time of day that names a zone of its own.
    """

    at: time = AT
    zone: str = ZONE

    def __post_init__(self) -> None:
        if self.at.tzinfo is not None:
            raise InputError(
                f"The time of day {self.at.isoformat()} names a zone of its own; state it alone, "
                "and the zone beside it."
            )
        _zone(self.zone)

    def first_from(self, moment: datetime) -> datetime | None:
        """The first night that is not before ``moment``, in UTC; none after the year 9999."""
        return min((n for n in self._around(moment) if n >= moment), default=None)

    def last_until(self, moment: datetime) -> datetime | None:
        """The last night that is not after ``moment``, in UTC; none before the year 1."""
        return max((n for n in self._around(moment) if n <= moment), default=None)

    def _around(self, moment: datetime) -> Iterator[datetime]:
        zone = _zone(self.zone)
        for days in range(-_AROUND, _AROUND + 1):
            try:
                day = (moment.replace(tzinfo=None) + timedelta(days)).date()
                yield _begun(datetime.combine(day, self.at), zone)
            except OverflowError:
                continue


def beginning_of(day: date, zone: str) -> datetime:
    """When a day begins in a zone, in UTC. Raises ``OverflowError`` at the ends of the calendar."""
    return _begun(datetime.combine(day, time()), _zone(zone))


def _begun(wall: datetime, zone: tzinfo) -> datetime:
    """The moment of a local time; of a skipped one the end of the gap, of a doubled the first."""
    first = wall.replace(tzinfo=zone).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == wall:
        return first
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    offset = first.astimezone(zone).utcoffset()
    low, high = 0, int((first - before).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        moved = (before + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset
        low, high = (low, middle) if moved else (middle, high)
    return before + timedelta(seconds=high)


def _zone(name: str) -> tzinfo:
    found = zone_named(name)
    assert found is not None
    return found
