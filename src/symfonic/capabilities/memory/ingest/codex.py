"""Codex rollouts: one session of the coding agent, one record a line, in both shapes there are.

What belongs together is a turn of the agent: a prompt, the calls made for it and their results,
up to the next prompt. It is held back until it ends, because a turn that was broken off must not
count as work that was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.codex_records import (
    CALLS,
    NOT_TALK,
    RESULTS,
    SPEECH,
    answer_of,
    call_id_of,
    call_of,
    outcome_of,
    speech_of,
)
from symfonic.capabilities.memory.ingest.codex_sessions import Sessions
from symfonic.capabilities.memory.ingest.codex_twins import Twins
from symfonic.capabilities.memory.ingest.dating import dated, first_moment
from symfonic.capabilities.memory.ingest.joining import Joined
from symfonic.capabilities.memory.ingest.normalise import prose
from symfonic.capabilities.memory.ingest.turns import (
    Batch,
    Context,
    Unreadable,
    identifier,
    rejected,
    shown,
    sorted_flags,
)
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.records import Role

MAX_HELD: Final = 2000
"""Turns held back for one turn of the agent; a longer one is given in several parts."""

_WRAPPED: Final = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
)
_ENDS: Final = frozenset({"task_complete", "turn_complete"})


def read(pieces: Iterator[Piece], context: Context, _: Mapping[str, int]) -> Iterator[Batch]:
    """A batch for each turn of the agent."""
    rollout = _Rollout(context)
    for piece in pieces:
        if piece.torn:
            break
        yield from rollout.take(piece)
    yield from rollout.flush()


class _Rollout:
    """Where a rollout stands, and the turn of the agent that is under way."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sessions = Sessions(context.session)
        self._joined = Joined()
        self._twins = Twins()
        self._left_out = 0
        self._end: Piece | None = None
        self._batches: list[Batch] = []
        self._in_document = False
        self._at: datetime | None = None

    def take(self, piece: Piece) -> Iterator[Batch]:
        """The batches that are complete once ``piece`` was read."""
        value = piece.value
        if piece.problem is not None:
            self._joined.add(rejected(piece, piece.problem, piece.text))
        elif _is_document(value):
            yield from self.flush()
            self._in_document = True
            self._record({"type": "session_meta", "payload": value["session"]}, piece)
            for item in value["items"]:
                self._record(item, piece)
            self._in_document = False
        else:
            self._record(value, piece)
        self._end = piece
        if len(self._joined.items) >= MAX_HELD:
            self._close()
        yield from self._batches
        self._batches = []

    def flush(self) -> Iterator[Batch]:
        """What is held back, as it stands."""
        self._close()
        yield from self._batches
        self._batches = []

    def _close(self) -> None:
        """The turn of the agent ends before the record that is being read."""
        if self._end is None or self._in_document:
            return
        items = self._joined.take()
        if items or self._left_out:
            self._batches.append(Batch(items, self._end, skipped=self._left_out))
        self._left_out = 0

    def _record(self, value: object, piece: Piece) -> None:
        try:
            self._take_record(value)
        except Unreadable as cause:
            reject = rejected(piece, str(cause), shown(value), zone_missing=cause.zone_missing)
            self._joined.add(reject)

    def _take_record(self, value: object) -> None:
        if not isinstance(value, Mapping):
            raise Unreadable(f"a JSON {type(value).__name__} is not a record")
        outer, payload = value.get("type"), value.get("payload")
        wrapped = isinstance(outer, str) and outer in _WRAPPED
        if not wrapped and isinstance(payload, Mapping):
            raise Unreadable(f"a record of type {str(outer)[:40]!r} is not known")
        record = payload if wrapped else value
        if not isinstance(record, Mapping):
            raise Unreadable(f"the payload is {type(record).__name__}, not an object")
        times = (value.get("timestamp"), record.get("timestamp"))
        at = self._stamp(times)
        if outer == "session_meta" or (not wrapped and outer is None and "id" in record):
            if self._sessions.open(record, at):
                self._close()
            self._left_out += 1
            return
        self._sessions.reach(at)
        kind = outer if outer in ("turn_context", "compacted") else record.get("type")
        if kind is None and "record_type" in record:
            kind = "turn_context"
        self._take_kind(kind if isinstance(kind, str) else "", record, times, outer)

    def _take_kind(
        self, kind: str, record: Mapping[str, Any], times: tuple[object, ...], outer: object
    ) -> None:
        if kind in SPEECH:
            self._speech(record, times)
        elif kind in CALLS:
            self._call(record, times)
        elif kind in RESULTS:
            self._result(record, times)
        elif kind in NOT_TALK or outer == "event_msg":
            self._event(kind, record)
            self._left_out += 1
        else:
            raise Unreadable(f"a record of type {kind[:40]!r} is not known")

    def _event(self, kind: str, record: Mapping[str, Any]) -> None:
        ended = outcome_of(record)
        if ended is not None:
            self._joined.settle(ended[0], ok=ended[1])
        if kind == "turn_aborted":
            self._joined.abort()
        if kind == "turn_aborted" or kind in _ENDS:
            self._close()

    def _speech(self, record: Mapping[str, Any], times: tuple[object, ...]) -> None:
        flags: list[str] = []
        said = speech_of(record, flags)
        if said.aborts:
            self._joined.abort()
        if not said.text and "attachment" not in flags:
            self._left_out += 1
            return
        if self._twins.has(said):
            self._left_out += 1
            return
        if said.role == "user":
            self._close()
        text = prose(said.text, flags)
        source_id = identifier(record.get("id"), "id")
        role: Role = said.role
        if role == "user" and self._sessions.is_subagent:
            role = "system"  # another agent wrote it, in the user's place
        self._joined.add(self._turn(role, text, flags, times, source_id=source_id))

    def _call(self, record: Mapping[str, Any], times: tuple[object, ...]) -> None:
        flags: list[str] = []
        call = call_of(record, flags)
        self._twins.pass_on("assistant")
        turn = self._turn("assistant", "", flags, times, source_id=call.id)
        self._joined.add(replace(turn, calls=(call,)))

    def _result(self, record: Mapping[str, Any], times: tuple[object, ...]) -> None:
        flags: list[str] = []
        call_id = call_id_of(record)
        raw, ok = answer_of(record, flags)
        source_id = None if call_id is None else f"{call_id} result"
        turn = self._turn("tool", prose(raw, flags), flags, times, source_id=source_id)
        self._left_out += not self._joined.answer(turn, call_id, ok=ok)

    def _turn(
        self,
        role: Role,
        text: str,
        flags: list[str],
        times: tuple[object, ...],
        *,
        source_id: str | None,
    ) -> Turn:
        """A turn in its session, dated by the record before it where it states no time."""
        at = first_moment(times, self._context, flags)
        if self._sessions.copying:
            flags.append("copied")
        session, position = self._sessions.place()
        turn = Turn(
            session=session,
            position=position,
            role=role,
            text=text,
            importer=self._context.importer,
            occurred_at=at,
            source_id=source_id,
            flags=sorted_flags(flags),
        )
        return turn if at is not None else dated(turn, self._at)

    def _stamp(self, times: tuple[object, ...]) -> datetime | None:
        """The time of a record, which is kept for those after it that state none."""
        try:
            at = first_moment(times, self._context, [])
        except Unreadable:
            return None
        self._at = at or self._at
        return at


def _is_document(value: object) -> bool:
    """Whether a value is a rollout of the first Codex, which wrote one object for a session."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("session"), Mapping)
        and isinstance(value.get("items"), list)
    )
