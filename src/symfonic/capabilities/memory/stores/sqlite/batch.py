"""The turns of one transaction with their contents, places and ids."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.records import (
    Episode,
    canonical,
    encode_content,
    identify,
    to_microseconds,
)
from symfonic.capabilities.memory.stores.sqlite.rows import array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import RecordId
    from symfonic.capabilities.memory.store import ScopeState, Turn
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


class Batch:
    """Turns on their way in.

    ``known`` maps ids that are there to their states and ``ends`` sessions to their last
    positions; ``ghosts`` are the turns that repeat something forgotten.
    """

    def __init__(
        self, db: Connection, state: ScopeState, turns: Sequence[Turn], recorded: int
    ) -> None:
        self.db = db
        self.path = state.path
        self.turns = turns
        self.recorded = recorded
        self._number = 0
        self.contents = [_episode(turn) for turn in turns]
        sessions = sorted({turn.session for turn in turns})
        rows = db.rows("session_ends", {"scope": self.path, "sessions": array(sessions)})
        self.ends: dict[str, int] = {s: end for s, end in rows if end is not None}
        self.ids = [
            self._identify(state.salt, turn, content)
            for turn, content in zip(turns, self.contents, strict=True)
        ]
        states = db.rows("known_states", {"scope": self.path, "ids": array(self.ids)})
        self.known: dict[str, str] = dict(states)
        self.ghosts = self._ghosts(state.salt)

    def _ghosts(self, salt: bytes) -> set[int]:
        """The turns that say what was forgotten in their session, whatever their ids."""
        if not self.db.rows("any_forgotten", {"scope": self.path}):
            return set()
        traces = [
            trace(salt, turn.session, turn.text, content)
            for turn, content in zip(self.turns, self.contents, strict=True)
        ]
        bound = {"scope": self.path, "traces": array(sorted(set(traces)))}
        found = {row[0] for row in self.db.rows("forgotten_traces", bound)}
        return {index for index, mark in enumerate(traces) if mark in found}

    def final_positions(self, resent: set[int]) -> list[int]:
        """Each turn's position; a live turn stands after the last one of its session."""
        following: dict[str, int] = {}
        positions = []
        for index, turn in enumerate(self.turns):
            if turn.position is not None:
                positions.append(turn.position)
                continue
            last = following.get(turn.session, self.ends.get(turn.session, -1))
            new = index not in resent and self.ids[index] not in self.known
            following[turn.session] = last + new
            positions.append(last + new)
        return positions

    def _identify(self, salt: bytes, turn: Turn, content: Episode) -> RecordId:
        """From its source: importer, session, message id or place, and what was said and called.

        What an importer noticed, and what a call gave back, is left out: a log read again once
        the result is there must find its turn. A live turn without an id is told from an equal one
        by when it came in; that it is not the same one handed over again, alignment has seen to.
        """
        if turn.source_id is not None:
            place = turn.source_id
        elif turn.position is not None:
            place = f"#{turn.position}"
        else:
            self._number += 1
            place = f"@{self.recorded}.{self._number}.{self.ends.get(turn.session, -1)}"
        plain = content
        if turn.flags or turn.calls:
            calls = tuple(replace(call, result=None, ok=None) for call in turn.calls)
            plain = replace(content, flags=(), calls=calls)
        body = encode_content(plain)
        session = turn.session
        if turn.anywhere and turn.source_id is not None and turn.occurred_at is not None:
            session, place = "", f"{place}@{to_microseconds(turn.occurred_at)}"
        return identify(salt, "episode", turn.importer, session, place, turn.text, body)


def trace(salt: bytes, session: str, text: str, content: Episode) -> str:
    """What a tombstone keeps of what was said: a digest keyed with the scope's salt, as its id is.

    A client that hands over its whole history again brings a forgotten turn back without an id; it
    must be known for what it is, and nothing may be read from it.
    """
    said = [[call.name, call.arguments] for call in content.calls]
    return identify(salt, "trace", session, content.role, text, canonical(said))


def _episode(turn: Turn) -> Episode:
    return Episode(
        role=turn.role,  # type: ignore[arg-type]
        name=turn.name,
        calls=turn.calls,
        source_id=turn.source_id,
        flags=turn.flags,
    )
