"""Notes: what memory is told directly, for good, for some hours, or until it falls due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.normalise import prose
from symfonic.capabilities.memory.records import Note, Record, identify
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.store import MemoryReader

NoteKind: TypeAlias = Literal["kept", "working", "prospective"]


def note_of(
    reader: MemoryReader, text: str, *, kind: NoteKind, until: datetime | None, now: datetime
) -> tuple[Record, bool]:
    """The note that holds ``text``, and whether it is new. Raises ``InputError`` for an empty one.

    The same words again are the same note. A forgotten note keeps its id as a tombstone, so the
    same words told anew are another one. Secrets are taken out, as they are of turns.
    """
    words = prose(text, []).strip()
    if not words:
        raise InputError("There is nothing to remember: the text is empty.")
    state = reader.state
    key = f"{kind}:{until.isoformat() if until else ''}:{words}"
    i, told = identify(state.salt, "note", key), 0
    while (known := reader.states([i]).get(i)) == "forgotten":
        told += 1
        i = identify(state.salt, "note", key, str(told))
    note = Record(
        id=i,
        scope=state.path,
        kind="note",
        key=key,
        content=Note(note_kind=kind),
        text=words,
        pinned=kind == "kept",
        strength=base_strength(now, state.half_life_hours),
        occurred_at=now,
        recorded_at=now,
        until=until,
    )
    return note, known is None
