"""Which session the records of a Codex rollout belong to.

A rollout that goes on from another one begins with a copy of it. The copied records belong to
the session they come from, at the places they have there: imported from both files they are the
same turns, and nothing that was said once counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.normalise import label

if TYPE_CHECKING:
    from datetime import datetime

_COPYING: Final = timedelta(seconds=1)
"""A copy is written at once: what follows after a longer pause is new."""


class Sessions:
    """The session of a rollout, the one it was copied from, and the next place in each.

    Until a session is named, turns belong to ``unnamed``.
    """

    def __init__(self, unnamed: str) -> None:
        self._own: str | None = None
        self._unnamed = unnamed
        self._parent: str | None = None
        self._begun: datetime | None = None
        self._places: dict[str, int] = {}
        self.copying = False
        self.is_subagent = False

    def open(self, meta: Mapping[str, Any], at: datetime | None) -> bool:
        """Take a record that names a session; whether another session begins with it."""
        name = _name(meta, "id")
        if name is None or name == self._own:
            return False
        if self._own is not None and self._is_copied(at):
            self._parent = self._parent or name
            self.copying = True
            return False
        self._own = name
        self._parent = _name(meta, "forked_from_id")
        self.copying = self._parent not in (None, name)
        self._begun = at
        source = meta.get("source")
        self.is_subagent = isinstance(source, Mapping) and "subagent" in source
        return True

    def reach(self, at: datetime | None) -> None:
        """Note the time of a record: it tells where a copy ends."""
        self.copying = self.copying and (at is None or self._is_copied(at))

    def place(self) -> tuple[str, int]:
        """The session of the next turn, and its position there."""
        session = self._own or self._unnamed
        if self.copying and self._parent is not None:
            session = self._parent
        position = self._places.get(session, 0)
        self._places[session] = position + 1
        return session, position

    def _is_copied(self, at: datetime | None) -> bool:
        """Whether a record was written together with the beginning of the rollout, or before."""
        if at is None or self._begun is None or at > self._begun + _COPYING:
            return False
        self._begun = max(self._begun, at)
        return True


def _name(meta: Mapping[str, Any], key: str) -> str | None:
    found = meta.get(key)
    return label(found) if isinstance(found, str) and found.strip() else None
