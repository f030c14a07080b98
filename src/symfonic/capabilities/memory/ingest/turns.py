"""What the readers of all formats share: the context of a reading, and single fields.

A reader gives batches: the turns that only make sense together, and where the source stands
after them. Between batches a reading can stop and go on later.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from symfonic.capabilities.memory.ingest.normalise import label
from symfonic.capabilities.memory.ingest.rejects import MAX_TEXT, Reject, excerpt
from symfonic.capabilities.memory.ingest.times import TimeProblem, ZoneMissing, read_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.store import Turn

SESSION_KEYS: Final = ("session", "session_id", "conversation_id", "thread_id")
TIME_KEYS: Final = ("at", "timestamp", "created_at")
_MAX_POSITION: Final = 2**53


class Unreadable(ValueError):
    """One message cannot become a turn; the text says why."""

    def __init__(self, reason: str, *, zone_missing: bool = False) -> None:
        super().__init__(reason)
        self.zone_missing = zone_missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What holds for a whole reading.

    ``session`` is the one of turns that name none, ``zone`` the declared zone of local times,
    and a time after ``now`` is flagged ``future``. ``again`` reads the source once more from its
    beginning, for a format whose end decides what its beginning means.
    """

    session: str
    importer: str
    zone: tzinfo | None = None
    now: datetime | None = None
    again: Callable[[], Iterator[Piece]] | None = None


class Batch(NamedTuple):
    """Turns and rejects that end at ``end``; ``session`` then stands at ``next_position``.

    ``skipped`` counts messages that said nothing. ``places`` is where further sessions stand.
    """

    items: Sequence[Turn | Reject]
    end: Piece
    session: str | None = None
    next_position: int = 0
    skipped: int = 0
    places: tuple[tuple[str, int], ...] = ()


def rejected(piece: Piece, reason: str, text: str, *, zone_missing: bool = False) -> Reject:
    """A reject at the place of a piece."""
    return Reject(
        line=piece.line,
        offset=piece.offset,
        reason=reason,
        text=excerpt(text),
        zone_missing=zone_missing,
    )


def shown(value: object) -> str:
    """The beginning of a value as text for a reject: the JSON that it came from."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:MAX_TEXT]
    except (ValueError, TypeError, RecursionError):
        return repr(value)[:MAX_TEXT]


def identifier(value: object, what: str) -> str | None:
    """A name of a message or session: text or a whole number; nothing where it is empty."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return label(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40:
        return str(value)
    raise Unreadable(f"{what} is {type(value).__name__}, not text or a whole number")


def session_of(value: Mapping[str, Any], default: str) -> str:
    """The session that a message or conversation names, or ``default``."""
    for key in SESSION_KEYS:
        if key in value:
            found = identifier(value[key], key)
            if found is not None and found.strip():
                return found
    return default


def speaker(value: object) -> str | None:
    """The name of who speaks, in one line; nothing where it is empty."""
    name = identifier(value, "name")
    if name is None:
        return None
    return (" ".join(name.split()) if not name.isalpha() else name) or None


def moment(value: object, context: Context, flags: list[str]) -> datetime | None:
    """The stated time in UTC, with what had to be mended added to ``flags``."""
    try:
        found, flag = read_time(value, context.zone)
    except TimeProblem as cause:
        raise Unreadable(str(cause), zone_missing=isinstance(cause, ZoneMissing)) from None
    if flag is not None:
        flags.append(flag)
    if found is not None and context.now is not None and found > context.now:
        flags.append("future")
    return found


def stated_position(value: object) -> int | None:
    """The position that a message states. Counts from 0."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_POSITION:
        return value
    raise Unreadable("position is not a whole number from 0")


def sorted_flags(flags: list[str]) -> tuple[str, ...]:
    """Each flag once, in an order that does not depend on where it was found."""
    return tuple(sorted(set(flags))) if flags else ()
