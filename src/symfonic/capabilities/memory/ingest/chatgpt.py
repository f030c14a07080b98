"""ChatGPT data exports: ``conversations.json``, one list of conversations, or one of them alone.

A conversation is a tree of messages; its active path is imported, each message under its own id,
so that a longer export adds what is new. The export is one line of hundreds of megabytes: one
conversation is held at a time, and one that is broken is a reject and stops nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.chatgpt_messages import Message, message_of
from symfonic.capabilities.memory.ingest.chatgpt_tree import branches
from symfonic.capabilities.memory.ingest.dating import filled, first_moment
from symfonic.capabilities.memory.ingest.joining import Joined
from symfonic.capabilities.memory.ingest.normalise import label
from symfonic.capabilities.memory.ingest.turns import (
    Batch,
    Context,
    Unreadable,
    rejected,
    shown,
    sorted_flags,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.ingest.rejects import Reject

UNTITLED: Final = "untitled"
"""What a conversation without a title is called where one is named."""

GUESSED: Final = "guessed_branch"
"""The flag of turns of a conversation that names no current node."""


def read(pieces: Iterator[Piece], context: Context, _: Mapping[str, int]) -> Iterator[Batch]:
    """A batch for each conversation."""
    for piece in pieces:
        if piece.torn:
            return
        if piece.problem is not None:
            yield Batch((rejected(piece, piece.problem, piece.text),), piece)
            continue
        try:
            yield _conversation(piece, context)
        except Unreadable as cause:
            reason = f"{_named(piece)}: {cause}"
            reject = rejected(piece, reason, shown(piece.value), zone_missing=cause.zone_missing)
            yield Batch((reject,), piece)


def _conversation(piece: Piece, context: Context) -> Batch:
    """All turns of a conversation. Raises ``Unreadable`` where it is none."""
    value = piece.value
    if not isinstance(value, Mapping):
        raise Unreadable(f"a JSON {type(value).__name__} is not a conversation")
    mapping = value.get("mapping")
    if not isinstance(mapping, Mapping):
        raise Unreadable("it has no mapping of messages")
    nodes = {str(key): node for key, node in mapping.items()}
    found = branches(nodes, value.get("current_node"))
    session = _id(value) or _first_id(nodes, found.active) or f"{context.session}#{piece.number}"
    joined = Joined()
    left_out = len(found.inactive)
    asked: str | None = None
    for position, key in enumerate(found.active):
        try:
            message = message_of(
                _said(nodes[key]), key, context, session=session, position=position
            )
        except Unreadable as cause:
            reason = f"{_named(piece)}, message {label(key)}: {cause}"
            text = shown(nodes[key])
            joined.add(rejected(piece, reason, text, zone_missing=cause.zone_missing))
            continue
        if message is None:
            left_out += 1
            continue
        if found.guessed:
            message = _flagged(message)
        if message.ok is not None:
            left_out += not joined.answer(message.turn, asked, ok=message.ok)
            continue
        joined.add(message.turn)
        if message.turn.role in ("assistant", "user"):
            asked = message.turn.calls[0].id if message.turn.calls else None
    if found.lost:
        joined.add(_lost(piece, nodes, found.lost))
    items = filled(
        joined.take(),
        begun=_moment(value.get("create_time"), context),
        ended=_moment(value.get("update_time"), context),
    )
    return Batch(items, piece, skipped=left_out)


def _moment(stated: object, context: Context) -> datetime | None:
    """A time of the whole conversation: only a stand-in, so one that is none is passed over."""
    try:
        return first_moment((stated,), context, [])
    except Unreadable:
        return None


def _said(node: object) -> object:
    if not isinstance(node, Mapping):
        raise Unreadable(f"a JSON {type(node).__name__} is not a node of a conversation")
    return node.get("message")


def _flagged(message: Message) -> Message:
    flags = sorted_flags([*message.turn.flags, GUESSED])
    return replace(message, turn=replace(message.turn, flags=flags))


def _lost(piece: Piece, nodes: Mapping[str, Any], lost: tuple[str, ...]) -> Reject:
    """One reject for all that hangs nowhere, with the beginning of it."""
    number = len(lost)
    hang = "message hangs" if number == 1 else "messages hang"
    reason = (
        f"{_named(piece)}: {number} {hang} on no branch, because a parent is missing or goes "
        f"round in a circle; the first is {label(lost[0])}"
    )
    return rejected(piece, reason, shown([nodes[key] for key in lost[:20]]))


def _named(piece: Piece) -> str:
    """A conversation as a reject names it: its number in the export, its id and its title."""
    value = piece.value if isinstance(piece.value, Mapping) else {}
    given = value.get("title")
    title = label(given[:60]).strip() if isinstance(given, str) else ""
    known = _id(value)
    named = f"{known}, {title or UNTITLED}" if known else title or UNTITLED
    return f"conversation {piece.number} ({' '.join(named.split())})"


def _id(value: Mapping[str, Any]) -> str | None:
    for key in ("conversation_id", "id"):
        found = value.get(key)
        if isinstance(found, str) and found.strip():
            return label(found)
        if isinstance(found, int) and not isinstance(found, bool) and abs(found) < 10**40:
            return str(found)
    return None


def _first_id(nodes: Mapping[str, Any], active: tuple[str, ...]) -> str | None:
    """The id of the first message: unlike its number, it stays when an export is reordered."""
    for key in active:
        message = nodes[key].get("message") if isinstance(nodes[key], Mapping) else None
        found = message.get("id") if isinstance(message, Mapping) else None
        if isinstance(found, str) and found.strip():
            return label(found)
    return None
