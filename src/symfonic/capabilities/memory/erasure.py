"""What a request to forget is about, as ids: the same for the preview and for the act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import RecordNotFound
from symfonic.capabilities.memory.records import Entity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import RecordId
    from symfonic.capabilities.memory.store import MemoryReader

_MANY: Final = 2**31

SHORTEST: Final = 8
"""The least of an id that is taken for it: what is erased must not be a slip of the hand."""


def forgettable(
    reader: MemoryReader, *, records: Sequence[str], session: str | None, entity: str | None
) -> list[RecordId]:
    """The scope's own records that are named, of a session, or about an entity.

    Raises ``RecordNotFound`` for an id or a name that is not there.
    """
    chosen = {whole_id(reader, i) for i in records}
    if session is not None:
        chosen |= set(reader.session_episodes(session))
    if entity is not None:
        chosen |= _about_entity(reader, entity)
    return sorted(chosen)


def whole_id(reader: MemoryReader, beginning: str) -> RecordId:
    """The id of the scope's own record that begins like this. Raises ``RecordNotFound``."""
    found = reader.ids_like(beginning) if len(beginning) >= SHORTEST else []
    if len(found) == 1:
        return found[0]
    path = reader.state.path
    if found:
        raise RecordNotFound(f"Several records of scope {path} begin with {beginning}; give more.")
    raise RecordNotFound(
        f"There is no record {beginning} in scope {path}. Name it by the id that recall shows, or "
        f"by at least {SHORTEST} characters of it."
    )


def _about_entity(reader: MemoryReader, name: str) -> set[RecordId]:
    """An entity of this name, and every episode that mentions it."""
    wanted = name.casefold()
    found = [
        record
        for record in reader.list_records(kinds=("entity",), limit=_MANY)
        if isinstance(record.content, Entity)
        and wanted in {name.casefold() for name in (record.content.name, *record.content.aliases)}
    ]
    if not found:
        raise RecordNotFound(f"No entity is called {name!r} in scope {reader.state.path}.")
    ids = [record.id for record in found]
    links = reader.links(ids, kinds=("mentions",), direction="in", per_record=_MANY)
    return {*ids, *(link.source for link in links)}
