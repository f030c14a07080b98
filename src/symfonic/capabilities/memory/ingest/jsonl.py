"""Plain JSONL: one turn a line, in the format that this package defines.

``{"id", "session", "at", "role", "name", "text", "position", "tool_calls"}``, and a call is
``{"name", "arguments", "result", "ok"}``. Only ``text`` or ``tool_calls`` is required; ``role``
defaults to user, and other fields are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.ingest.normalise import plain, prose
from symfonic.capabilities.memory.ingest.turns import (
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
    stated_position,
)
from symfonic.capabilities.memory.records import ROLES, ToolCall, canonical
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.ingest.document import Piece


def read(
    pieces: Iterator[Piece], context: Context, positions: Mapping[str, int]
) -> Iterator[Batch]:
    """A batch for each line. A rejected line that names its session keeps its position in it.

    So when it is mended and imported again, no other turn moves.
    """
    for piece in pieces:
        if piece.torn:
            return
        value = piece.value
        if piece.problem is not None:
            yield Batch((rejected(piece, piece.problem, piece.text),), piece)
            continue
        if not isinstance(value, Mapping):
            reason = f"the line is a JSON {type(value).__name__}, not an object"
            yield Batch((rejected(piece, reason, shown(value)),), piece)
            continue
        session = None
        position = 0
        try:
            session = session_of(value, context.session)
            position = positions.get(session, 0)
            item = turn_of(value, context, session, position)
        except Unreadable as cause:
            reject = rejected(piece, str(cause), shown(value), zone_missing=cause.zone_missing)
            yield Batch((reject,), piece, session, position + 1)
        else:
            yield Batch((item,), piece, session, position + 1)


def turn_of(value: Mapping[str, Any], context: Context, session: str, position: int | None) -> Turn:
    """The turn that one object states. Raises ``Unreadable``."""
    flags: list[str] = []
    role = value.get("role")
    if role is None:
        role = "user"
    elif role not in ROLES:
        raise Unreadable(f"the role {str(role)[:40]!r} is not one of {', '.join(ROLES)}")
    text = value.get("text")
    if text is None:
        text = ""
    elif not isinstance(text, str):
        raise Unreadable(f"text is {type(text).__name__}, not text")
    calls = value.get("tool_calls")
    if not calls and not text.strip():
        raise Unreadable("there is neither text nor tool_calls")
    stated = stated_position(value.get("position"))
    occurred_at = moment(value.get("at"), context, flags)
    return Turn(
        session=session,
        position=position if stated is None else stated,
        role=role,
        text=prose(text, flags),
        importer=context.importer,
        name=speaker(value.get("name")),
        calls=_calls(calls, flags) if calls else (),
        occurred_at=occurred_at,
        source_id=identifier(value.get("id"), "id"),
        stated_position=stated is not None,
        flags=sorted_flags(flags),
    )


def _calls(given: object, flags: list[str]) -> tuple[ToolCall, ...]:
    if not isinstance(given, (list, tuple)):
        raise Unreadable("tool_calls is not a list")
    return tuple(_call(call, number, flags) for number, call in enumerate(given, 1))


def _call(given: object, number: int, flags: list[str]) -> ToolCall:
    if not isinstance(given, Mapping):
        raise Unreadable(f"tool call {number} is not an object")
    name = identifier(given.get("name"), f"the name of tool call {number}")
    if name is None:
        raise Unreadable(f"tool call {number} has no name")
    ok = given.get("ok")
    if ok is not None and not isinstance(ok, bool):
        raise Unreadable(f"ok of tool call {number} is neither true nor false")
    result = given.get("result")
    try:
        arguments = plain(given.get("arguments"), flags)
        kept = plain(result, flags)
    except ValueError as cause:
        raise Unreadable(f"tool call {number} is {cause}") from None
    if kept is not None and not isinstance(kept, str):
        kept = canonical(kept)
    return ToolCall(name=name, arguments=arguments, result=kept, ok=ok)
