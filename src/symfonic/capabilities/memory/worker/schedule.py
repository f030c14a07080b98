"""When runs are due: a cron expression for DEEP, one for LIGHT, both in one named zone.

The rule for clock changes is Debian cron's, which cronsim follows. An expression whose minute or
hour begins with ``*`` goes by elapsed time: every 15 minutes stays every 15 minutes. Any other one
names times of the day: a time that the spring change skips is due at the end of the gap, and one
that the autumn change repeats is due the first time only. So a night at 02:30 happens once a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError, MissingExtra
from symfonic.capabilities.memory.ingest.times import zone_named

if TYPE_CHECKING:
    from datetime import tzinfo
    from types import ModuleType

OFF: Final = "off"
DEEP: Final = "0 3 * * *"
LIGHT: Final = "*/15 * * * *"
ZONE: Final = "UTC"

_FIELDS: Final = 5
_LONGEST: Final = 200
_BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""From when an expression is tried once, so that one that never comes is refused at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Cron expressions of five fields for DEEP and LIGHT, and the zone that they are read in.

    An empty expression or ``off`` switches its kind off; one of the two stays on. ``zone`` is an
    IANA name such as ``Europe/Vienna``, or an offset such as ``+02:00``.

    Raises ``InputError`` for an expression or a zone that is none, ``MissingExtra`` without
    cronsim.
    """

    deep: str = DEEP
    light: str = LIGHT
    zone: str = ZONE

    def __post_init__(self) -> None:
        zone = _zone(self.zone)
        for name in ("deep", "light"):
            text = " ".join(getattr(self, name).split())
            object.__setattr__(self, name, "" if text.lower() == OFF else text)
            if getattr(self, name):
                _check(name, getattr(self, name), zone)
        if not (self.deep or self.light):
            raise InputError(
                "Both schedules are off, so nothing would ever run. Leave one of them on, such as "
                f"deep = {DEEP!r}."
            )

    def deep_after(self, moment: datetime) -> datetime | None:
        """The first DEEP slot after ``moment``, in UTC; none when DEEP is off."""
        return slot_after(self.deep, _zone(self.zone), moment)

    def light_after(self, moment: datetime) -> datetime | None:
        """The first LIGHT slot after ``moment``, in UTC; none when LIGHT is off."""
        return slot_after(self.light, _zone(self.zone), moment)

    def next_after(self, moment: datetime) -> datetime | None:
        """The first slot of either kind after ``moment``."""
        slots = (self.deep_after(moment), self.light_after(moment))
        return min((slot for slot in slots if slot is not None), default=None)


def slot_after(expression: str, zone: tzinfo, moment: datetime) -> datetime | None:
    """The first slot after ``moment``, in UTC; none for an empty expression or after the year 9999.

    Asked within the hour that the autumn change repeats, cronsim answers with a slot of its first
    round, which lies before ``moment``. Such an answer is passed over: the slot was due once.
    """
    if not expression:
        return None
    cronsim = _cronsim()
    try:
        for slot in cronsim.CronSim(expression, moment.astimezone(zone)):
            found: datetime = slot.astimezone(UTC)
            if found > moment:
                return found
    except OverflowError:  # the calendar ends with the year 9999
        return None
    return None


def _check(name: str, expression: str, zone: tzinfo) -> None:
    """Raise ``InputError`` for an expression that cannot be read, or that never comes."""
    cronsim = _cronsim()
    facts = {"name": name, "value": expression}
    right = (
        f"Write five fields, minute hour day month weekday, such as {DEEP!r} for every night at "
        f"three or {LIGHT!r} for every quarter of an hour, or {OFF!r}."
    )
    fields = len(expression.split())
    if fields != _FIELDS or len(expression) > _LONGEST:
        raise InputError(
            f"The {name} schedule {expression[:60]!r} has {fields} fields. {right}", **facts
        )
    try:
        first = slot_after(expression, zone, _BEGINNING)
    except (cronsim.CronSimError, ValueError) as cause:
        raise InputError(
            f"The {name} schedule {expression!r} is no cron expression: {cause}. {right}", **facts
        ) from cause
    if first is None:
        raise InputError(
            f"The {name} schedule {expression!r} names a day that never comes. {right}", **facts
        )


def _zone(name: str) -> tzinfo:
    """The zone of a name. Raises ``InputError``."""
    found = zone_named(name)
    assert found is not None
    return found


def _cronsim() -> ModuleType:
    try:
        return import_module("cronsim")
    except ImportError as cause:
        raise MissingExtra(
            "The worker reads cron expressions with cronsim, which is not installed. Install it: "
            "pip install 'symfonic-memory[worker]'",
            extra="worker",
        ) from cause
