"""Inserting turns: what is known is skipped, what was re-sent is recognised, the rest is new.

Clients and traces repeat their history, often under new ids. A text hash would drop the second of
two equal turns; ids alone would double the conversation. So a batch whose ids are unknown is laid
against the stored session, turn by turn, and only what runs on past its end is added.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import (
    Episode,
    RecordId,
    canonical,
    encode_content,
    identify,
    to_microseconds,
)
from symfonic.capabilities.memory.store import Ingested
from symfonic.capabilities.memory.strength import base_strength
from symfonic.capabilities.memory.stores.sqlite.rows import CONTEXT_SPAN, array, scope_token
from symfonic.capabilities.memory.text_terms import call_text, index_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Trust
    from symfonic.capabilities.memory.store import ScopeState, Subscription, Turn
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

_HOUR = 3_600_000_000

ALIGNED_TURNS = 20_000
"""How much of a stored session is held against an imported one; a live turn looks at its end only."""

TRUST_OF_ROLE: dict[str, Trust] = {
    "user": "user", "tool": "tool", "assistant": "assistant", "system": "imported",
}  # fmt: skip


@dataclass(slots=True)
class Alignment:
    """Where each session of one ingest stands in what is stored.

    A session is laid against the store when it is first met; later batches go on from there. The
    value is what remains to be matched, oldest first, and empty once something new was seen.
    """

    remaining: dict[str, list[_Stored]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stored:
    role: str
    text: str
    calls: str
    occurred_at: int | None
    position: int

    def equals(self, other: _Stored) -> bool:
        """The same turn said once: two stated times that differ are two turns."""
        if (self.role, self.text, self.calls) != (other.role, other.text, other.calls):
            return False
        return None in (self.occurred_at, other.occurred_at) or (
            self.occurred_at == other.occurred_at
        )


def insert_turns(
    db: Connection,
    state: ScopeState,
    turns: Sequence[Turn],
    *,
    now: datetime,
    subscriptions: Sequence[Subscription],
    alignment: Alignment,
) -> tuple[Ingested, int]:
    """Insert within an open transaction; what was added, and the scope's new counter."""
    contents = [_episode(turn) for turn in turns]
    bodies = [encode_content(content) for content in contents]
    ends = _session_ends(db, state.path, turns)
    positions = _positions(turns, ends)
    ids = [
        _episode_id(state.salt, turn, position, body)
        for turn, position, body in zip(turns, positions, bodies, strict=True)
    ]
    known = dict(db.rows("known_states", {"scope": state.path, "ids": array(ids)}))
    resent = _resent(db, state.path, turns, contents, ids, known, ends, alignment)
    counter, row = state.counter, db.execute("last_row").fetchone()[0]
    recorded = to_microseconds(now)
    token = scope_token(state.path)
    records, texts, stamps, added = [], [], [], []
    taken: set[RecordId] = set()
    live_shift: dict[str, int] = {}
    for index, turn in enumerate(turns):
        i = ids[index]
        if i in known or i in taken:
            continue
        if index in resent:
            if turn.position is None:
                live_shift[turn.session] = live_shift.get(turn.session, 0) + 1
            continue
        position = positions[index]
        if turn.position is None:
            position -= live_shift.get(turn.session, 0)
        taken.add(i)
        counter += 1
        row += 1
        occurred = None if turn.occurred_at is None else to_microseconds(turn.occurred_at)
        at = recorded if occurred is None or occurred > recorded else occurred
        records.append((
            row, state.path, i, counter, counter, TRUST_OF_ROLE[turn.role],
            base_strength(at / _HOUR, state.half_life_hours), occurred, recorded, turn.session,
            position, turn.text, bodies[index],
        ))  # fmt: skip
        words = turn.text if not turn.calls else f"{turn.text}\n{call_text(turn.calls)}"
        texts.append((row, token, index_text(words)))
        stamps.append((at, i, counter))
        added.append((i, turn.session, position))
    db.executemany("insert_episode", records)
    db.executemany("insert_text", texts)
    _subscribe(db, state.path, stamps, added, ends, subscriptions, counter)
    forgotten = sum(1 for i in ids if known.get(i) == "forgotten")
    result = Ingested(
        added=len(added),
        known=len(turns) - len(added) - forgotten,
        forgotten=forgotten,
        ids=tuple(i for i, _, _ in added),
    )
    return result, counter


def _episode(turn: Turn) -> Episode:
    return Episode(
        role=turn.role,  # type: ignore[arg-type]
        name=turn.name,
        calls=turn.calls,
        source_id=turn.source_id,
        flags=turn.flags,
    )


def _episode_id(salt: bytes, turn: Turn, position: int, body: str) -> RecordId:
    """From its source: importer, session, message id or position, and the content.

    Flags are left out: what an importer noticed about a turn is not what was said.
    """
    if turn.flags:
        body = encode_content(_episode(turn_without_flags(turn)))
    place = turn.source_id if turn.source_id is not None else f"#{position}"
    return identify(salt, "episode", turn.importer, turn.session, place, turn.text, body)


def turn_without_flags(turn: Turn) -> Turn:
    """The turn as its source gave it."""
    from dataclasses import replace  # noqa: PLC0415 - a rare path

    return replace(turn, flags=())


def _session_ends(db: Connection, path: str, turns: Sequence[Turn]) -> dict[str, int]:
    """The last position of each session that the store holds."""
    sessions = sorted({turn.session for turn in turns})
    rows = db.rows("session_ends", {"scope": path, "sessions": array(sessions)})
    return {str(session): int(end) for session, end in rows if end is not None}


def _positions(turns: Sequence[Turn], ends: dict[str, int]) -> list[int]:
    """Each turn's position; a live turn stands after the last one of its session."""
    following: dict[str, int] = {}
    positions = []
    for turn in turns:
        if turn.position is not None:
            positions.append(turn.position)
            continue
        position = following.get(turn.session, ends.get(turn.session, -1)) + 1
        following[turn.session] = position
        positions.append(position)
    return positions


def _resent(
    db: Connection,
    path: str,
    turns: Sequence[Turn],
    contents: Sequence[Episode],
    ids: Sequence[RecordId],
    known: dict[object, object],
    ends: dict[str, int],
    alignment: Alignment,
) -> set[int]:
    """The indexes of turns that repeat, under new ids, what their session already holds."""
    groups: dict[str, list[int]] = {}
    for index, turn in enumerate(turns):
        groups.setdefault(turn.session, []).append(index)
    found: set[int] = set()
    for session, indexes in groups.items():
        if session in alignment.remaining:
            stored = alignment.remaining[session]
            start = 0
        elif session not in ends or any(ids[i] in known for i in indexes):
            alignment.remaining[session] = []
            continue
        else:
            live = turns[indexes[0]].position is None
            stored = _stored_session(db, path, session, len(indexes) if live else None)
            start = -1
        if not stored:
            continue
        given = [_as_stored(turns[i], contents[i]) for i in indexes]
        if start < 0:
            whole = turns[indexes[0]].position is not None or len(stored) <= len(given)
            start = _start(stored, given, whole=whole)
        length = _run(stored[start:], given) if start >= 0 else 0
        found.update(indexes[:length])
        ended = length < len(given) or start + length >= len(stored)
        alignment.remaining[session] = [] if ended else stored[start + length :]
    return found


def _stored_session(db: Connection, path: str, session: str, live: int | None) -> list[_Stored]:
    count = ALIGNED_TURNS if live is None else live + 1
    bound = {"scope": path, "session": session, "count": count}
    rows = db.rows("session_tail", bound)[::-1]
    return [
        _Stored(str(role), str(text), str(calls or ""), at, position)
        for role, text, calls, at, position in rows
    ]


def _as_stored(turn: Turn, content: Episode) -> _Stored:
    calls = canonical([asdict(call) for call in content.calls]) if content.calls else ""
    at = None if turn.occurred_at is None else to_microseconds(turn.occurred_at)
    return _Stored(turn.role, turn.text, _respelled(calls), at, turn.position or 0)


def _respelled(calls: str) -> str:
    """As SQLite's ``json_extract`` writes it, which keeps our spacing and order."""
    return calls and json.dumps(json.loads(calls), ensure_ascii=False, separators=(",", ":"))


def _start(stored: list[_Stored], given: list[_Stored], *, whole: bool) -> int:
    """Where ``given`` begins to repeat ``stored``, or -1 where it does not.

    It must repeat up to the end of one of the two, and more than one chance turn: two turns, or
    one whose stated time agrees, or the whole of what is stored with something after it. A live
    pair equal to the last two and nothing after it was said twice, unless it is all there is.
    """
    best, best_length = -1, 0
    for start, turn in enumerate(stored):
        if not turn.equals(given[0]):
            continue
        length = _run(stored[start:], given)
        at_end = start + length == len(stored)
        if not at_end and length < len(given):
            continue
        timed = turn.occurred_at is not None and given[0].occurred_at is not None
        grown = at_end and length < len(given)
        all_of_it = start == 0 and at_end and whole
        convincing = timed or (length >= 2 and (grown or whole)) or (all_of_it and grown)
        if convincing and length >= best_length:
            best, best_length = start, length
    return best


def _run(stored: list[_Stored], given: list[_Stored]) -> int:
    """How many turns from the beginning of both are equal."""
    length = 0
    for one, other in zip(stored, given, strict=False):
        if not one.equals(other):
            break
        length += 1
    return length


def _subscribe(
    db: Connection,
    path: str,
    stamps: list[tuple[int, RecordId, int]],
    added: list[tuple[RecordId, str, int]],
    ends: dict[str, int],
    subscriptions: Sequence[Subscription],
    counter: int,
) -> None:
    """New episodes are unread; where one arrives late, so are the ones that follow it."""
    for subscription in subscriptions:
        if "episode" not in subscription.reads:
            continue
        phase = subscription.phase
        db.executemany("insert_pending", ((path, phase, at, i, stamp) for at, i, stamp in stamps))
        if not subscription.context:
            continue
        renewed: set[str] = set()
        for _, session, position in added:
            if position < ends.get(session, -1):
                bound: dict[str, Any] = {
                    "scope": path, "session": session, "position": position,
                    "count": subscription.context, "span": CONTEXT_SPAN,
                }  # fmt: skip
                renewed.update(str(row[0]) for row in db.rows("later_episodes", bound))
        if renewed:
            db.execute(
                "touch_pending",
                {"scope": path, "phase": phase, "ids": array(sorted(renewed)), "stamp": counter},
            )
