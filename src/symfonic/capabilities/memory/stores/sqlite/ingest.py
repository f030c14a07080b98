"""Inserting turns: what is known is skipped, what was re-sent is recognised, the rest is new.

Clients and traces repeat their history, often under new ids. A text hash would drop the second of
two equal turns; ids alone would double the conversation. So a batch whose ids are unknown is laid
against the stored session, turn by turn, and only what runs on past its end is added.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
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
from symfonic.capabilities.memory.stores.sqlite.results import complete_calls
from symfonic.capabilities.memory.stores.sqlite.rows import CONTEXT_SPAN, array, scope_token
from symfonic.capabilities.memory.strength import base_strength
from symfonic.capabilities.memory.text_terms import searchable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Trust
    from symfonic.capabilities.memory.store import ScopeState, Subscription, Turn
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

_HOUR = 3_600_000_000

ALIGNED_TURNS = 20_000
"""How many stored turns an imported session is held against; a live turn sees the last ones."""

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
    """A turn as alignment compares it; ``named`` if the batch names a stored turn by its id."""

    id: str
    named: bool
    role: str
    text: str
    calls: str
    occurred_at: int | None

    def equals(self, other: _Stored) -> bool:
        """The same turn said once: two stated times that differ are two turns.

        A turn that is named by its id is that one, and no other that merely says the same.
        """
        if self.named or other.named:
            return self.id == other.id
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
    batch = _Batch(db, state, turns, to_microseconds(now))
    resent = _resent(batch, alignment)
    positions = batch.final_positions(resent)
    counter, row = state.counter, db.execute("last_row").fetchone()[0]
    token = scope_token(state.path)
    records, texts, stamps, added = [], [], [], []
    taken: set[RecordId] = set()
    for index, turn in enumerate(turns):
        i, position = batch.ids[index], positions[index]
        if index in resent or i in batch.known or i in taken:
            continue
        taken.add(i)
        counter += 1
        row += 1
        occurred = None if turn.occurred_at is None else to_microseconds(turn.occurred_at)
        at = batch.recorded if occurred is None or occurred > batch.recorded else occurred
        records.append((
            row, state.path, i, counter, counter, TRUST_OF_ROLE[turn.role],
            base_strength(at / _HOUR, state.half_life_hours), occurred, batch.recorded,
            turn.session, position, turn.text, encode_content(batch.contents[index]),
        ))  # fmt: skip
        texts.append((row, token, searchable(turn.text, turn.calls)))
        stamps.append((at, i, counter))
        added.append((i, turn.session, position))
    db.executemany("insert_episode", records)
    db.executemany("insert_text", texts)
    _subscribe(batch, stamps, added, subscriptions, counter)
    counter = complete_calls(
        db, state.path, turns, batch.ids, batch.known, subscriptions=subscriptions, counter=counter
    )
    forgotten = sum(1 for i in batch.ids if batch.known.get(i) == "forgotten")
    result = Ingested(
        added=len(added),
        known=len(turns) - len(added) - forgotten,
        forgotten=forgotten,
        ids=tuple(i for i, _, _ in added),
    )
    return result, counter


class _Batch:
    """The turns of one transaction with their contents, places and ids."""

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
        return identify(salt, "episode", turn.importer, turn.session, place, turn.text, body)


def _episode(turn: Turn) -> Episode:
    return Episode(
        role=turn.role,  # type: ignore[arg-type]
        name=turn.name,
        calls=turn.calls,
        source_id=turn.source_id,
        flags=turn.flags,
    )


def _resent(batch: _Batch, alignment: Alignment) -> set[int]:
    """The indexes of turns that repeat, under new ids, what their session already holds.

    A system prompt is not part of the talk: it may change from call to call, so it is compared by
    itself and the talk is laid against the talk.
    """
    groups: dict[str, list[int]] = {}
    for index, turn in enumerate(batch.turns):
        groups.setdefault(turn.session, []).append(index)
    found: set[int] = set()
    for session, all_indexes in groups.items():
        indexes = [i for i in all_indexes if batch.known.get(batch.ids[i]) != "forgotten"]
        given = {i: _as_stored(batch, i) for i in indexes}
        talk = [i for i in indexes if given[i].role != "system"]
        said = [given[i] for i in talk]
        live = batch.turns[all_indexes[0]].position is None
        prompts: list[_Stored] = []
        if session in alignment.remaining:
            stored, start = alignment.remaining[session], 0
        elif not given or session not in batch.ends or _told_by_ids(list(given.values())):
            stored, start = [], -1
        else:
            everything = _stored_session(batch, session, len(indexes) if live else None)
            prompts = [turn for turn in everything if turn.role == "system"]
            stored = [turn for turn in everything if turn.role != "system"]
            start = _start(stored, said, whole=not live or len(stored) <= len(said))
        length = _run(stored[start:], said) if stored and start >= 0 else 0
        found.update(talk[:length])
        if live or length:
            found.update(i for i in indexes if any(given[i].equals(p) for p in prompts))
        alignment.remaining[session] = stored[start + length :] if length == len(said) else []
    return found


def _told_by_ids(given: Sequence[_Stored]) -> bool:
    """Whether the ids say it all: what is known comes first, and what is new after it.

    An unknown turn before a known one may be one that was recognised under another id.
    """
    named = [turn.named for turn in given]
    return any(named) and False not in named[: len(named) - named[::-1].index(True)]


def _stored_session(batch: _Batch, session: str, live: int | None) -> list[_Stored]:
    count = ALIGNED_TURNS if live is None else live + 1
    bound = {"scope": batch.path, "session": session, "count": count}
    rows = batch.db.rows("session_tail", bound)[::-1]
    return [
        _Stored(i, i in batch.known, role, text, _called(json.loads(calls or "[]")), at)
        for role, text, calls, at, i in rows
    ]


def _as_stored(batch: _Batch, index: int) -> _Stored:
    turn, i = batch.turns[index], batch.ids[index]
    calls = _called([asdict(call) for call in batch.contents[index].calls])
    at = None if turn.occurred_at is None else to_microseconds(turn.occurred_at)
    return _Stored(i, i in batch.known, turn.role, turn.text, calls, at)


def _called(calls: list[dict[str, Any]]) -> str:
    """What was called with what; ids are the client's and results may come later."""
    return canonical([[call["name"], call.get("arguments")] for call in calls])


def _start(stored: list[_Stored], given: list[_Stored], *, whole: bool) -> int:
    """Where ``given`` begins to repeat ``stored``, or -1 where it does not.

    It must repeat up to the end of one of the two, or from the beginning of both (a history that
    was edited further on), and more than one chance turn: two turns, or one whose stated time
    agrees, or the whole of what is stored with something after it. A live pair equal to the last
    two and nothing after it was said twice, unless it is all there is.
    """
    best, best_length = -1, 0
    for start, turn in enumerate(stored):
        if not given or not turn.equals(given[0]):
            continue
        length = _run(stored[start:], given)
        at_end = start + length == len(stored)
        from_beginning = start == 0 and whole
        if not (at_end or from_beginning or length == len(given)):
            continue
        timed = turn.occurred_at is not None and given[0].occurred_at is not None
        grown = at_end and length < len(given)
        convincing = timed or (length >= 2 and (grown or whole)) or (from_beginning and grown)
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
    batch: _Batch,
    stamps: list[tuple[int, RecordId, int]],
    added: list[tuple[RecordId, str, int]],
    subscriptions: Sequence[Subscription],
    counter: int,
) -> None:
    """New episodes are unread; where one arrives late, so are the ones that follow it."""
    db, path, ends = batch.db, batch.path, batch.ends
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
