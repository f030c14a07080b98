"""When a turn was said, where its source states that in one of several places or in none.

An export leaves out the time of a message now and then. The time beside it is better than the
time of the import, which would move years of talk into one minute; a flag says that it is one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.ingest.turns import Context, Unreadable, moment, sorted_flags
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from symfonic.capabilities.memory.ingest.rejects import Reject

INFERRED: Final = "inferred_time"
"""The flag of a turn whose time is that of what stands beside it."""

UNKNOWN: Final = "no_time"
"""The flag of a turn of a dated format for which no time is known."""


def first_moment(values: Iterable[object], context: Context, flags: list[str]) -> datetime | None:
    """The first time that one of ``values`` states; ``flags`` gets what had to be mended of it.

    A value that is no time is passed over and flagged ``bad_time``. Raises ``Unreadable`` for a
    local time without a declared zone: with the zone it can be read.
    """
    for value in values:
        found: list[str] = []
        try:
            at = moment(value, context, found)
        except Unreadable as cause:
            if cause.zone_missing:
                raise
            flags.append("bad_time")
            continue
        if at is not None:
            flags.extend(found)
            return at
    return None


def filled(
    items: Iterable[Turn | Reject], *, begun: datetime | None, ended: datetime | None
) -> list[Turn | Reject]:
    """Turns of one conversation, in order, with a time for those that state none.

    It is that of the turn before; of leading turns ``begun``, else that of the first turn that
    states one, else ``ended``.
    """
    given = list(items)
    stated = (i.occurred_at for i in given if isinstance(i, Turn) and i.occurred_at is not None)
    at = begun or next(stated, None) or ended
    result: list[Turn | Reject] = []
    for item in given:
        if isinstance(item, Turn):
            if item.occurred_at is None:
                result.append(dated(item, at))
                continue
            at = item.occurred_at
        result.append(item)
    return result


def dated(turn: Turn, at: datetime | None) -> Turn:
    """``turn`` with a time that it does not state itself."""
    flags = [*turn.flags, UNKNOWN if at is None else INFERRED]
    return replace(turn, occurred_at=at, flags=sorted_flags(flags))
