"""What stands in the ``content`` of an Anthropic message: its text, its calls, results of calls.

Results come back inside user messages, so a user's message may be no user's speech at all; and
what a model thought was said to nobody. So content is taken apart before anything becomes a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.normalise import plain, prose
from symfonic.capabilities.memory.ingest.openai_messages import Message, worked
from symfonic.capabilities.memory.ingest.turns import Unreadable, identifier, sorted_flags
from symfonic.capabilities.memory.records import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.store import Turn

_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_ATTACHED: Final = frozenset(
    {"image", "document", "file", "audio", "video", "search_result", "container_upload"}
)
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULT: Final = "tool_result"  # and web_search_tool_result, mcp_tool_result and so on
_RESULT_KEYS: Final = ("text", "title", "url", "stdout", "stderr", "error_code")
_UNNAMED: Final = "call "  # and its number: the id of a call that states none
_CODE_KEYS: Final = ("return_code", "exit_code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one call gave back; ``ok`` says whether it worked, if the source tells."""

    call: str | None
    text: str
    ok: bool | None
    flags: tuple[str, ...] = ()


@dataclass(slots=True)
class Content:
    """Content taken apart, each kind in the order of the source; ``unknown`` names other blocks."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def extend(self, other: Content) -> None:
        """Go on with further blocks of the same message; a call that came before is the same."""
        known = {call.id for call in self.calls if not (call.id or "").startswith(_UNNAMED)}
        self.texts.extend(other.texts)
        self.calls.extend(call for call in other.calls if call.id not in known)
        self.results.extend(other.results)
        self.flags.extend(other.flags)
        self.unknown.extend(other.unknown)

    def left_running(self) -> None:
        """The results only say that something was started: whether it works is not known."""
        self.results = [replace(one, ok=None if one.ok else one.ok) for one in self.results]

    @property
    def speaks(self) -> bool:
        """Whether there is more than results of calls."""
        return bool(self.texts or self.calls) or "attachment" in self.flags


def content_of(content: object, *, lenient: bool = False) -> Content:
    """The parts of a message's content. Raises ``Unreadable``.

    A result without ``is_error`` is also judged by its text, as loops that were written by hand
    forget to set it; not where it is ``lenient``, because the client always sets it.
    """
    found = Content()
    if isinstance(content, str):
        found.texts.append(content)
    elif isinstance(content, Mapping):
        _take(content, found, lenient=lenient)
    elif isinstance(content, (list, tuple)):
        for block in content:
            if block is not None:  # some clients write it for a block that they left out
                _take(block, found, lenient=lenient)
    elif content is not None:
        raise Unreadable(f"content is {type(content).__name__}, not text or a list of blocks")
    found.texts = [text for text in found.texts if text.strip()]
    if found.unknown and not found.speaks and not found.results:
        raise Unreadable(f"content of type {found.unknown[0][:40]!r} is not known in this format")
    return found


def messages_from(content: Content, turn: Turn) -> list[Message]:
    """The messages in a content: what was said as ``turn`` says, and a tool's for each result.

    What a user adds comes after the results; a server's results come after the assistant's call.
    The first keeps the turn's id, the others are numbered from 2.
    """
    flags = [*turn.flags, *content.flags]
    text = prose("\n".join(content.texts), flags)
    calls = tuple(content.calls)
    main = replace(turn, text=text, calls=calls, flags=sorted_flags(flags))
    results = [
        Message(
            replace(turn, role="tool", text=one.text, name=None, flags=_flags(turn, one)),
            answers=one.call,
            ok=one.ok,
            empty=not one.text.strip() and "attachment" not in one.flags,
        )
        for one in content.results
    ]
    empty = not text.strip() and not calls and "attachment" not in content.flags
    said = [Message(main, tuple(call.id or "" for call in calls), empty=empty)]
    if results and empty:
        said = []
    ordered = said + results if turn.role == "assistant" else results + said
    for number, message in enumerate(ordered):
        message.turn = _placed(message.turn, number)
    return ordered


def _flags(turn: Turn, result: Result) -> tuple[str, ...]:
    return sorted_flags([*turn.flags, *result.flags])


def _placed(turn: Turn, number: int) -> Turn:
    if not number:
        return turn
    position = None if turn.position is None else turn.position + number
    source_id = None if turn.source_id is None else f"{turn.source_id}#{number + 1}"
    return replace(turn, position=position, source_id=source_id)


def _take(block: object, found: Content, *, lenient: bool) -> None:
    if isinstance(block, str):
        found.texts.append(block)
        return
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(kind, str):
        raise Unreadable("a block of content has no type")
    if kind in _THOUGHTS:
        found.flags.append("reasoning")
    elif kind in _ATTACHED:
        found.flags.append("attachment")
    elif kind in _CALLS:
        found.calls.append(_call(block, len(found.calls) + 1, found.flags))
    elif kind.endswith(_RESULT):
        found.results.append(_result(block, len(found.results) + 1, lenient=lenient))
    else:
        if kind != "text":
            found.unknown.append(kind)
            found.flags.append("unknown_block")
        text = block.get("text")
        if isinstance(text, str):
            found.texts.append(text)
        elif kind == "text" and text is not None:
            raise Unreadable(f"the text of a block is {type(text).__name__}, not text")


def _call(block: Mapping[str, Any], number: int, flags: list[str]) -> ToolCall:
    name = identifier(block.get("name"), f"the name of tool call {number}")
    if name is None:
        raise Unreadable(f"tool call {number} has no name")
    call_id = identifier(block.get("id"), f"the id of tool call {number}") or f"{_UNNAMED}{number}"
    try:
        return ToolCall(name=name, id=call_id, arguments=plain(block.get("input"), flags))
    except ValueError as cause:
        raise Unreadable(f"tool call {number} is {cause}") from None


def _result(block: Mapping[str, Any], number: int, *, lenient: bool) -> Result:
    flags: list[str] = []
    content = block.get("content")
    raw = "\n".join(_result_texts(content, flags))
    call = identifier(block.get("tool_use_id"), f"tool_use_id of result {number}")
    stated = block.get("is_error")
    if stated is True or _failed(content):
        ok = False
    else:
        ok = lenient or stated is False or worked(block, raw)
    return Result(call=call, text=prose(raw, flags), ok=ok, flags=sorted_flags(flags))


def _failed(content: object) -> bool:
    """Whether what a server's tool gave back is an error."""
    if not isinstance(content, Mapping):
        return False
    codes = [content.get(key) for key in _CODE_KEYS]
    kind = content.get("type")
    return (isinstance(kind, str) and kind.endswith("_error")) or any(
        isinstance(code, int) and code != 0 for code in codes
    )


def _result_texts(content: object, flags: list[str]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        kind = content.get("type")
        if isinstance(kind, str) and kind in _ATTACHED:
            flags.append("attachment")
        yield from (content[key] for key in _RESULT_KEYS if isinstance(content.get(key), str))
        if isinstance(content.get("content"), (list, tuple)):
            for each in content["content"]:
                if isinstance(each, Mapping):
                    yield from (each[k] for k in _RESULT_KEYS if isinstance(each.get(k), str))
    elif isinstance(content, (list, tuple)):
        for block in content:
            if not isinstance(block, (str, Mapping, type(None))):
                raise Unreadable("a block of a result is neither text nor an object")
            yield from _result_texts(block, flags)
    elif content is not None:
        raise Unreadable(f"a result is {type(content).__name__}, not text or a list of blocks")
