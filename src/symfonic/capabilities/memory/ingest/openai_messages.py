"""One OpenAI chat message: its text, its calls and, for a tool's, whether the call worked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.document import DECODER
from symfonic.capabilities.memory.ingest.normalise import plain, prose
from symfonic.capabilities.memory.ingest.turns import (
    TIME_KEYS,
    Context,
    Unreadable,
    identifier,
    moment,
    sorted_flags,
    speaker,
)
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.records import Plain, Role

ROLES: Final[Mapping[str, Role]] = {
    "user": "user", "assistant": "assistant", "tool": "tool", "system": "system",
    "developer": "system", "function": "tool",
}  # fmt: skip
_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
_ATTACHED_PARTS: Final = frozenset(
    {"image_url", "input_image", "image_file", "input_audio", "output_audio", "audio", "file",
     "input_file", "video_url"}
)  # fmt: skip
_FAILURE: Final = re.compile(r"\s*(?:(?:Error|ERROR)\b|error:|Traceback \(most recent call last\))")


@dataclass(slots=True)
class Message:
    """A turn and what connects it with others.

    ``call_ids`` name the turn's calls, ``answers`` the call that a tool's message answers, with
    ``ok`` saying whether it worked. An ``empty`` message said nothing and becomes no turn.
    """

    turn: Turn
    call_ids: tuple[str, ...] = ()
    answers: str | None = None
    ok: bool | None = None
    empty: bool = False


def message_of(value: object, context: Context, session: str, position: int | None) -> Message:
    """The message that one object states. Raises ``Unreadable``."""
    if not isinstance(value, Mapping):
        raise Unreadable(f"a JSON {type(value).__name__} is not a message")
    given = value.get("role")
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise Unreadable(f"the role {str(given)[:40]!r} is not one of {', '.join(ROLES)}")
    flags: list[str] = []
    raw = "\n".join(_texts(value, flags))
    text = prose(raw, flags)
    calls, call_ids = _calls(value, flags)
    stated = next((value[key] for key in TIME_KEYS if value.get(key) is not None), None)
    attached = "attachment" in flags
    turn = Turn(
        session=session,
        position=position,
        role=role,
        text=text,
        importer=context.importer,
        name=speaker(value.get("name")),
        calls=calls,
        occurred_at=moment(stated, context, flags),
        source_id=identifier(value.get("id"), "id"),
        flags=sorted_flags(flags),
    )
    empty = not text.strip() and not calls and not attached
    if role != "tool":
        return Message(turn, call_ids, empty=empty)
    answers = identifier(value.get("tool_call_id"), "tool_call_id")
    if answers is None and given == "function":
        answers = turn.name
    return Message(turn, answers=answers, ok=worked(value, raw), empty=empty)


def _texts(value: Mapping[str, Any], flags: list[str]) -> Iterator[str]:
    """The texts of a message, in order. Bytes of images, sound and files are left out."""
    content = value.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _part(content, flags)
    elif isinstance(content, (list, tuple)):
        for part in content:
            if part is not None:  # some clients write it for a part that they left out
                yield from _part(part, flags)
    elif content is not None:
        raise Unreadable(f"content is {type(content).__name__}, not text or a list of parts")
    refusal = value.get("refusal")
    if isinstance(refusal, str) and refusal:
        flags.append("refusal")
        yield refusal
    audio = value.get("audio")
    if isinstance(audio, Mapping):
        flags.append("attachment")
        if isinstance(audio.get("transcript"), str):
            yield audio["transcript"]


def _part(part: object, flags: list[str]) -> Iterator[str]:
    if isinstance(part, str):
        yield part
        return
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(kind, str):
        raise Unreadable("a part of content has no type")
    if kind in _ATTACHED_PARTS:
        flags.append("attachment")
        return
    if kind == "reasoning":  # what a model thought was not said to anyone
        flags.append("reasoning")
        return
    text = part.get("refusal" if kind == "refusal" else "text")
    if isinstance(text, Mapping):  # the Assistants interface wraps it
        text = text.get("value")
    if kind not in _TEXT_PARTS and kind != "refusal":
        raise Unreadable(f"content of type {kind[:40]!r} is not known in this format")
    if kind == "refusal":
        flags.append("refusal")
    if isinstance(text, str):
        yield text


def _calls(
    value: Mapping[str, Any], flags: list[str]
) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls, and for each the id under which its result will come."""
    given = value.get("tool_calls") or ()
    if not isinstance(given, (list, tuple)):
        raise Unreadable("tool_calls is not a list")
    given = [call for call in given if call is not None]
    ids = [_call_id(call, number) for number, call in enumerate(given, 1)]
    calls = [
        replace(_call(call, number, flags), id=call_id)
        for number, (call, call_id) in enumerate(zip(given, ids, strict=True), 1)
    ]
    older = value.get("function_call")
    if isinstance(older, Mapping):
        call = _call({"function": older}, len(calls) + 1, flags)
        calls.append(call)
        ids.append(call.name)
    return tuple(calls), tuple(ids)


def _call_id(given: object, number: int) -> str:
    if not isinstance(given, Mapping):
        raise Unreadable(f"tool call {number} is not an object")
    return identifier(given.get("id"), f"the id of tool call {number}") or f"call {number}"


def _call(given: object, number: int, flags: list[str]) -> ToolCall:
    if not isinstance(given, Mapping):
        raise Unreadable(f"tool call {number} is not an object")
    body = next(
        (given[k] for k in ("function", "custom") if isinstance(given.get(k), Mapping)), given
    )
    name = identifier(body.get("name"), f"the name of tool call {number}")
    if name is None:
        raise Unreadable(f"tool call {number} has no name")
    arguments = body.get("arguments", body.get("input"))
    return ToolCall(name=name, arguments=arguments_of(arguments, number, flags))


def arguments_of(given: object, number: int, flags: list[str]) -> Plain:
    """The parsed arguments, or their raw text where they are no JSON."""
    value = given
    if isinstance(given, str):
        if not given.strip():
            return None
        try:
            value = DECODER.decode(given)
        except (ValueError, RecursionError):
            flags.append("raw_arguments")
            return prose(given, flags)
    try:
        return plain(value, flags)
    except ValueError as cause:
        if isinstance(given, str):
            flags.append("raw_arguments")
            return prose(given, flags)
        raise Unreadable(f"tool call {number} is {cause}") from None


def worked(value: Mapping[str, Any], text: str) -> bool:
    """Whether a call succeeded, as far as its result tells: anything but a sign of failure."""
    if value.get("is_error") is True or value.get("ok") is False:
        return False
    if value.get("status") in ("error", "failed"):
        return False
    if text[:200].lstrip().startswith("{"):
        try:
            found = DECODER.decode(text)
        except (ValueError, RecursionError):
            return _FAILURE.match(text) is None
        return not _tells_failure(found)
    return _FAILURE.match(text) is None


def _tells_failure(result: Mapping[str, Any]) -> bool:
    exit_codes: Sequence[object] = [result.get(key) for key in ("exit_code", "returncode")]
    return (
        bool(result.get("error"))
        or result.get("is_error") is True
        or result.get("ok") is False
        or result.get("success") is False
        or any(isinstance(code, int) and code != 0 for code in exit_codes)
    )
