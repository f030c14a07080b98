"""OpenAI chat messages: a list of them, one a line, or conversations with ``messages``.

A tool's result comes in a message of its own, after the assistant's that made the call. Result
and outcome are put onto the call too, because what an agent did and whether it worked is what
procedures are learned from; the tool's message is kept as well. So an assistant message is held
back until its calls are answered or somebody else speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.openai_messages import Message, message_of
from symfonic.capabilities.memory.ingest.turns import (
    Batch,
    Context,
    Unreadable,
    identifier,
    rejected,
    session_of,
    shown,
)
from symfonic.capabilities.memory.store import CallResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.ingest.rejects import Reject
    from symfonic.capabilities.memory.records import ToolCall
    from symfonic.capabilities.memory.store import Turn

RESULT_EXCERPT: Final = 2000
"""How many characters of a result stand on the call; the tool's own turn holds all of it."""

_MAX_HELD: Final = 100  # messages held back for one assistant message


def read(
    pieces: Iterator[Piece], context: Context, positions: Mapping[str, int]
) -> Iterator[Batch]:
    """A batch for each conversation object, or for each assistant message with its results."""
    loose = _Loose(context, positions)
    for piece in pieces:
        if piece.torn:  # what is held back may be answered there: the next reading begins with it
            return
        value = piece.value
        if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
            yield from loose.flush()
            yield _conversation(value, piece, context, positions)
        elif isinstance(value, Mapping):
            yield from loose.add(value, piece)
        else:
            yield from loose.flush()
            reason = piece.problem or f"a JSON {type(value).__name__} is not a message"
            yield Batch((rejected(piece, reason, piece.text or shown(value)),), piece)
    yield from loose.flush()


def turns_of(
    messages: list[Mapping[str, Any]], context: Context, positions: list[int | None]
) -> list[Turn]:
    """The turns of a few messages of one session. Raises ``Unreadable``; nothing is rejected."""
    group = Group()
    turns: list[Turn] = []
    for value, position in zip(messages, positions, strict=True):
        message = message_of(value, context, context.session, position)
        if not group.takes(message):
            turns.extend(group.turns())
            group = Group()
        group.add(message)
    turns.extend(group.turns())
    return turns


@dataclass(slots=True)
class Group:
    """Messages from an assistant's on, for as long as they answer its calls."""

    messages: list[Message] = field(default_factory=list)
    _open: dict[str, list[int]] = field(default_factory=dict)
    _calls: list[ToolCall] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether a call is not answered yet."""
        return bool(self._open) and len(self.messages) < _MAX_HELD

    def takes(self, message: Message) -> bool:
        """Whether a message belongs to the ones held."""
        return not self.messages or (self.waits and message.turn.role == "tool")

    def add(self, message: Message) -> None:
        """Hold a message; a result is matched to its call."""
        if not self.messages:
            self._calls = list(message.turn.calls)
            for index, call_id in enumerate(message.call_ids):
                self._open.setdefault(call_id, []).append(index)
        if message.turn.role == "tool":
            message = self._matched(message)
        self.messages.append(message)

    def turns(self) -> list[Turn]:
        """The turns of the messages that said something, the first with its results."""
        if not self.messages:
            return []
        first = self.messages[0]
        if first.turn.calls:
            first.turn = replace(first.turn, calls=tuple(self._calls))
        return [message.turn for message in self.messages if not message.empty]

    def _matched(self, message: Message) -> Message:
        waiting = self._open.get(message.answers or "")
        if not waiting:
            flags = tuple(sorted({*message.turn.flags, "orphan_result"}))
            late = None
            if message.answers is not None and message.ok is not None:
                result = _excerpt(message.turn.text)
                late = CallResult(call=message.answers, result=result, ok=message.ok)
            turn = replace(message.turn, flags=flags, answers=late)
            return Message(turn, empty=message.empty)
        index = waiting.pop(0)
        if not waiting:
            del self._open[message.answers or ""]
        call = self._calls[index]
        result = _excerpt(message.turn.text)
        self._calls[index] = replace(call, result=result, ok=message.ok)
        named = message.turn.name or call.name
        return Message(replace(message.turn, name=named), empty=message.empty)


def _excerpt(result: str) -> str:
    return result if len(result) <= RESULT_EXCERPT else result[:RESULT_EXCERPT] + "…"


class _Loose:
    """Messages that stand in the source one by one, each naming its session or none."""

    def __init__(self, context: Context, positions: Mapping[str, int]) -> None:
        self._context = context
        self._positions = positions
        self._group = Group()
        self._session = context.session
        self._next = 0
        self._end: Piece | None = None

    def add(self, value: Mapping[str, Any], piece: Piece) -> Iterator[Batch]:
        """The batches that are complete once ``value`` was read."""
        session: str | None = None
        position = 0
        try:
            session = session_of(value, self._context.session)
            if self._end is not None and session != self._session:
                yield from self.flush()
            held = self._end is not None
            position = self._next if held else self._positions.get(session, 0)
            message = message_of(value, self._context, session, position)
        except Unreadable as cause:
            yield from self.flush()
            reject = rejected(piece, str(cause), shown(value), zone_missing=cause.zone_missing)
            yield Batch((reject,), piece, session, position + 1)
            return
        if not self._group.takes(message):
            yield from self.flush()
        self._group.add(message)
        self._session, self._next, self._end = session, position + 1, piece
        if not self._group.waits:
            yield from self.flush()

    def flush(self) -> Iterator[Batch]:
        """What is held back, as it stands."""
        if self._end is None:
            return
        turns = self._group.turns()
        skipped = len(self._group.messages) - len(turns)
        batch = Batch(turns, self._end, self._session, self._next, skipped)
        self._group, self._end = Group(), None
        yield batch


def _conversation(
    value: Mapping[str, Any], piece: Piece, context: Context, positions: Mapping[str, int]
) -> Batch:
    """All turns of one conversation; one that has no name is named by its number."""
    unnamed = context.session if piece.number == 1 else f"{context.session}#{piece.number}"
    try:
        session = session_of(value, identifier(value.get("id"), "id") or unnamed)
    except Unreadable as cause:
        return Batch((rejected(piece, str(cause), shown(value)),), piece)
    items: list[Turn | Reject] = []
    group = Group()
    skipped = 0
    begin = positions.get(session, 0)
    for position, given in enumerate(value["messages"], begin):
        try:
            message = message_of(given, context, session, position)
        except Unreadable as cause:
            reason = f"message {position - begin + 1}: {cause}"
            items.append(rejected(piece, reason, shown(given), zone_missing=cause.zone_missing))
            continue
        skipped += message.empty
        if not group.takes(message):
            items.extend(group.turns())
            group = Group()
        group.add(message)
    items.extend(group.turns())
    return Batch(items, piece, session, begin + len(value["messages"]), skipped)
