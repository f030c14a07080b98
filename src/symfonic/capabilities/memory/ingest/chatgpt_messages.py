"""One message of a ChatGPT export: what it says, whether it is a call, or why it is not talk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.dating import first_moment
from symfonic.capabilities.memory.ingest.normalise import label, prose
from symfonic.capabilities.memory.ingest.openai_messages import ROLES, arguments_of, worked
from symfonic.capabilities.memory.ingest.turns import Context, Unreadable, sorted_flags
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

_THOUGHT: Final = frozenset({"thoughts", "reasoning_recap"})
_INSTRUCTIONS: Final = frozenset({"user_editable_context", "model_editable_context"})
_TEXT_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "text": (("text",),),
    "multimodal_text": (("text",),),
    "code": (("text",),),
    "execution_output": (("text",),),
    "system_error": (("name",), ("text",)),
    "tether_browsing_display": (("result", "summary"),),
    "tether_quote": (("title",), ("url",), ("text",)),
    "sonic_webpage": (("title",), ("url",), ("text", "snippet")),
    "computer_output": (),
}
"""For each type of content the fields with its text, in order; of several the first that has any.

``parts`` come before them in every type.
"""

_OTHER_FIELDS: Final = (("text", "result", "content", "summary"),)
_CITATION: Final = re.compile(r"\ue200(?:file)?cite\ue202[^\ue200\ue201]{0,500}\ue201")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A turn, and how the call that it answers ended: ``None`` unless a tool says it."""

    turn: Turn
    ok: bool | None = None


def message_of(
    value: object, key: str, context: Context, *, session: str, position: int
) -> Message | None:
    """The turn that one message is; nothing where it was not said to anybody.

    Not talk are hidden messages, custom instructions, thoughts, and what holds neither text nor
    a picture or file. ``key`` is the message's place in the tree, its id where it states none.
    The time is left out where the message states none. Raises ``Unreadable``.
    """
    if not isinstance(value, Mapping):
        raise Unreadable(f"a JSON {type(value).__name__} is not a message")
    metadata = _object(value, "metadata")
    author = _object(value, "author")
    given = author.get("role")
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise Unreadable(f"the role {str(given)[:40]!r} is not one of {', '.join(ROLES)}")
    recipient = value.get("recipient")
    called = role == "assistant" and isinstance(recipient, str) and recipient not in ("all", "")
    if _is_silent(value, metadata, is_work=called or role == "tool"):
        return None
    flags: list[str] = []
    raw = "\n".join(text for text in _texts(value.get("content"), flags) if text)
    if isinstance(metadata.get("attachments"), (list, tuple)) and metadata["attachments"]:
        flags.append("attachment")
    name = author.get("name")
    source_id = value.get("id")
    source_id = label(source_id if isinstance(source_id, str) and source_id else key)
    calls: tuple[ToolCall, ...] = ()
    if called:
        arguments = arguments_of(raw, 1, flags)
        calls = (ToolCall(name=label(str(recipient)), id=source_id, arguments=arguments),)
    text = "" if called else prose(_CITATION.sub("", raw), flags)
    if not text.strip() and not called and role != "tool" and "attachment" not in flags:
        return None
    turn = Turn(
        session=session,
        position=position,
        role=role,
        text=text,
        importer=context.importer,
        name=label(" ".join(name.split())) or None if isinstance(name, str) else None,
        calls=calls,
        occurred_at=first_moment(
            (value.get("create_time"), value.get("update_time")), context, flags
        ),
        source_id=source_id or None,
        flags=sorted_flags(flags),
    )
    if role != "tool":
        return Message(turn=turn)
    return Message(turn=turn, ok=_succeeded(value, metadata, raw))


def _is_silent(value: Mapping[str, Any], metadata: Mapping[str, Any], *, is_work: bool) -> bool:
    """Whether nobody was told this. A hidden call or result is still what was done."""
    content = value.get("content")
    kind = content.get("content_type") if isinstance(content, Mapping) else None
    if isinstance(kind, str) and (kind in _THOUGHT or kind in _INSTRUCTIONS):
        return True
    if metadata.get("is_user_system_message") is True:
        return True
    if is_work:
        return False
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    return hidden or value.get("channel") == "analysis"


def _texts(content: object, flags: list[str]) -> Iterator[str]:
    """The texts of a message, in order; pictures, sound and files are flagged ``attachment``."""
    if content is None:
        return
    if isinstance(content, str):
        yield content
        return
    if not isinstance(content, Mapping):
        raise Unreadable(f"content is {type(content).__name__}, not an object")
    parts = content.get("parts")
    for part in parts if isinstance(parts, (list, tuple)) else (parts,):
        yield from _part(part, flags)
    kind = content.get("content_type")
    fields = _TEXT_FIELDS.get(kind) if isinstance(kind, str) else None
    if kind == "computer_output":
        flags.append("attachment")
    if fields is not None:
        yield from _fields(content, fields)
        return
    found = list(_fields(content, _OTHER_FIELDS))
    if not found and not parts:
        raise Unreadable(f"content of type {str(kind)[:40]!r} holds no text that is known here")
    flags.append("unknown_content")
    yield from found


def _fields(content: Mapping[str, Any], fields: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for names in fields:
        held = (content.get(name) for name in names)
        found = next((text for text in held if isinstance(text, str) and text.strip()), None)
        if found is not None:
            yield found


def _part(part: object, flags: list[str]) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        text = part.get("text")
        if isinstance(text, str):  # a transcript of what was spoken
            yield text
        else:
            flags.append("attachment")
    elif part is not None:
        raise Unreadable(f"a part of content is {type(part).__name__}, not text or an object")


def _succeeded(value: Mapping[str, Any], metadata: Mapping[str, Any], text: str) -> bool:
    """Whether a call worked, as far as its result tells: anything but a sign of failure."""
    if _object(value, "content").get("content_type") == "system_error":
        return False
    ended = _object(metadata, "aggregate_result")
    for told in (metadata, ended):
        status = told.get("status")
        if isinstance(status, str) and status.startswith(("fail", "error", "cancel")):
            return False
        if any(told.get(name) for name in ("in_kernel_exception", "system_exception")):
            return False
        if told.get("timeout_triggered") or told.get("is_failure") is True:
            return False
    return worked(metadata, text)


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    held = value.get(key)
    return held if isinstance(held, Mapping) else {}
