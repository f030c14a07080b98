"""Anthropic messages: a list of them, one a line, or requests with ``messages`` and ``system``.

A user's message may hold the results of the assistant's calls, what the user said, or both. Each
result becomes a tool's turn and stands on its call too, as with OpenAI's messages. So a message of
the assistant is held back until its calls are answered or somebody speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.anthropic_blocks import content_of, messages_from
from symfonic.capabilities.memory.ingest.openai import Group
from symfonic.capabilities.memory.ingest.turns import (
    TIME_KEYS,
    Batch,
    Context,
    Unreadable,
    identifier,
    moment,
    rejected,
    session_of,
    shown,
    sorted_flags,
    speaker,
)
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.ingest.openai_messages import Message
    from symfonic.capabilities.memory.ingest.rejects import Reject
    from symfonic.capabilities.memory.records import Role

ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}


def read(
    pieces: Iterator[Piece], context: Context, positions: Mapping[str, int]
) -> Iterator[Batch]:
    """A batch for each request object, or for each assistant's message with its results."""
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


def messages_of(
    value: object, context: Context, session: str, position: int | None
) -> list[Message]:
    """What one message says and brings back, in order. Raises ``Unreadable``."""
    if not isinstance(value, Mapping):
        raise Unreadable(f"a JSON {type(value).__name__} is not a message")
    given = value.get("role")
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise Unreadable(f"the role {str(given)[:40]!r} is not one of {', '.join(ROLES)}")
    content = content_of(value.get("content"))
    flags: list[str] = []
    stated = next((value[key] for key in TIME_KEYS if value.get(key) is not None), None)
    turn = Turn(
        session=session,
        position=position,
        role=role,
        text="",
        importer=context.importer,
        name=speaker(value.get("name")),
        occurred_at=moment(stated, context, flags),
        source_id=identifier(value.get("id"), "id"),
        flags=sorted_flags(flags),
    )
    return messages_from(content, turn)


def width(value: object) -> int:
    """How many positions a message takes, readable or not: one mended later must move no other."""
    content = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(content, (list, tuple)):
        return 1
    kinds = [block.get("type") if isinstance(block, Mapping) else None for block in content]
    results = sum(isinstance(kind, str) and kind.endswith("tool_result") for kind in kinds)
    return results + (results < len(kinds) or not kinds)


class _Loose:
    """Messages that stand in the source one by one, each naming its session or none."""

    def __init__(self, context: Context, positions: Mapping[str, int]) -> None:
        self._context = context
        self._positions = positions
        self._begin()

    def _begin(self) -> None:
        self._group = Group()
        self._turns: list[Turn] = []
        self._skipped = 0
        self._session = self._context.session
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
            messages = messages_of(value, self._context, session, position)
        except Unreadable as cause:
            yield from self.flush()
            reject = rejected(piece, str(cause), shown(value), zone_missing=cause.zone_missing)
            yield Batch((reject,), piece, session, position + width(value))
            return
        if messages and not self._group.takes(messages[0]):
            yield from self.flush()
        for message in messages:
            if not self._group.takes(message):
                self._close()
            self._group.add(message)
        self._session, self._next, self._end = session, position + width(value), piece
        if not self._group.waits:
            yield from self.flush()

    def flush(self) -> Iterator[Batch]:
        """What is held back, as it stands."""
        if self._end is None:
            return
        self._close()
        batch = Batch(self._turns, self._end, self._session, self._next, self._skipped)
        self._begin()
        yield batch

    def _close(self) -> None:
        turns = self._group.turns()
        self._skipped += len(self._group.messages) - len(turns)
        self._turns.extend(turns)
        self._group = Group()


def _conversation(
    value: Mapping[str, Any], piece: Piece, context: Context, positions: Mapping[str, int]
) -> Batch:
    """All turns of one request, its system prompt first; a nameless one is named by its number."""
    unnamed = context.session if piece.number == 1 else f"{context.session}#{piece.number}"
    try:
        session = session_of(value, identifier(value.get("id"), "id") or unnamed)
    except Unreadable as cause:
        return Batch((rejected(piece, str(cause), shown(value)),), piece)
    given = [(f"message {n}", message) for n, message in enumerate(value["messages"], 1)]
    if value.get("system") is not None:
        given.insert(0, ("system", {"role": "system", "content": value["system"]}))
    items: list[Turn | Reject] = []
    group = Group()
    skipped = 0
    position = positions.get(session, 0)
    for name, each in given:
        try:
            messages = messages_of(each, context, session, position)
        except Unreadable as cause:
            reason = f"{name}: {cause}"
            items.append(rejected(piece, reason, shown(each), zone_missing=cause.zone_missing))
            messages = []
        position += width(each)
        for message in messages:
            skipped += message.empty
            if not group.takes(message):
                items.extend(group.turns())
                group = Group()
            group.add(message)
    items.extend(group.turns())
    return Batch(items, piece, session, position, skipped)
