"""Which format a source is in, by what its first values look like.

A format that is recognised but has no reader yet is refused by name: taken for another one, it
would lose its tool calls or branches without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.document import DECODER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symfonic.capabilities.memory.ingest.document import Piece

Format = Literal["jsonl", "openai", "anthropic", "claude_code", "chatgpt", "codex"]
SUPPORTED: Final[tuple[Format, ...]] = get_args(Format)

_READ: Final[Mapping[str, Format]] = {
    "Anthropic messages": "anthropic",
    "Claude Code": "claude_code",
}
"""The recognised formats that have a reader."""

SAMPLE: Final = 20
"""How many values are looked at."""

_WHATSAPP: Final = re.compile(
    r"^[\u200e\ufeff]?\[?\d{1,4}[./-]\d{1,2}[./-]\d{2,4},?\s\d{1,2}[:.]\d{2}", re.MULTILINE
)
_ANTHROPIC_PARTS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"}
)
_RESPONSES_TYPES: Final = frozenset(
    {"function_call", "function_call_output", "reasoning", "item_reference", "custom_tool_call"}
)
_RESPONSES_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_CODEX_TYPES: Final = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
)
_CLAUDE_CODE_TYPES: Final = frozenset(
    {"file-history-snapshot", "queue-operation", "summary", "custom-title", "last-prompt"}
)


def is_document(text: str) -> bool:
    """Whether the beginning of a source is a JSON document rather than one value a line."""
    stripped = text.lstrip()
    if stripped.startswith("["):
        return True
    lines = stripped.splitlines()
    if not stripped.startswith("{") or len(lines) < 2:
        return False
    return not any(line.startswith("{") and _parses(line) for line in lines)


def named(given: str) -> Format:
    """The supported format of that name. Raises ``InputError`` for another."""
    for known in SUPPORTED:
        if given == known:
            return known
    raise InputError(
        f"There is no reader for the format {given!r}. Supported are: {', '.join(SUPPORTED)}.",
        format=given,
        supported=SUPPORTED,
    )


def detect(pieces: Sequence[Piece], *, head: str, name: str) -> Format:
    """The format of a source's first values; of a source without any it does not matter.

    Raises ``InputError`` that names the format seen, where it is one without a reader, or what
    was found instead.
    """
    values = [piece.value for piece in pieces if piece.problem is None]
    for value in values:
        own = unmistakable(value)
        if own is not None:
            return own
    for value in values:
        foreign = recognise(value)
        if foreign is not None and foreign in _READ:
            return _READ[foreign]
        if foreign is not None:
            raise _unsupported(name, foreign)
    for value in values:
        found = shape_of(value)
        if found is not None:
            return found
    if not pieces or (not values and pieces[0].torn and _is_begun_line(pieces[0].text)):
        return "jsonl"
    raise _unknown(pieces, values, head, name)


def shape_of(value: object) -> Format | None:
    """The supported format that one value is in, if it is in one."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("messages"), list):
        return "openai"
    if "text" in value:
        return "jsonl"
    if "role" in value and ({"content", "refusal", "function_call"} & value.keys()):
        return "openai"
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls:
        openai = any(isinstance(call, Mapping) and "function" in call for call in calls)
        return "openai" if openai else "jsonl"
    return None


def unmistakable(value: object) -> Format | None:
    """The supported format that one value cannot be taken for another of, if there is one."""
    if not isinstance(value, Mapping):
        return None
    return next((name for name, matches in _OWN if matches(value)), None)


def recognise(value: object) -> str | None:
    """The name of a format with a mark of its own that ``value`` is in, if it is in one."""
    if isinstance(value, str) and value.lstrip().startswith("{") and '"agents"' in value[:200]:
        return "Letta agent file"
    if not isinstance(value, Mapping):
        return None
    for name, matches in _FOREIGN:
        if matches(value):
            return name
    return None


def _parses(line: str) -> bool:
    try:
        return isinstance(DECODER.decode(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_begun_line(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith("{") and "\n" not in stripped


def _has(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda value: all(key in value for key in keys)


def _type_of(value: Mapping[str, Any]) -> str:
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def _first(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    items = value.get(key)
    first = items[0] if isinstance(items, list) and items else None
    return first if isinstance(first, Mapping) else {}


def _messages(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = value.get("messages")
    messages = held[:SAMPLE] if isinstance(held, list) else [value]
    return [message for message in messages if isinstance(message, Mapping)]


def _part_types(value: Mapping[str, Any]) -> set[str]:
    contents = [m["content"] for m in _messages(value) if isinstance(m.get("content"), list)]
    types = (p.get("type") for parts in contents for p in parts if isinstance(p, Mapping))
    return {kind for kind in types if isinstance(kind, str)}


def _is_claude_code(value: Mapping[str, Any]) -> bool:
    lines = _first(value, "loglines")
    return (
        ("sessionId" in value and ("message" in value or "uuid" in value))
        or _type_of(value) in _CLAUDE_CODE_TYPES
        or ("message" in lines and "type" in lines)
    )


def _is_chatgpt(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("mapping"), Mapping) or _has("mapping", "current_node")(value)


def _is_codex(value: Mapping[str, Any]) -> bool:
    return (
        (_type_of(value) in _CODEX_TYPES and "payload" in value)
        or "record_type" in value
        or (_has("id", "timestamp", "instructions")(value) and not _type_of(value))
        or (isinstance(value.get("session"), Mapping) and isinstance(value.get("items"), list))
    )


def _is_langchain(value: Mapping[str, Any]) -> bool:
    return (
        value.get("lc") == 1
        or (_type_of(value) in {"human", "ai", "system", "tool"} and "data" in value)
        or "response_metadata" in value
    )


def _is_span(value: Mapping[str, Any]) -> bool:
    return "resourceSpans" in value or ("attributes" in value and "context" in value)


def _is_pydantic_ai(value: Mapping[str, Any]) -> bool:
    return "part_kind" in _first(value, "parts")


def _is_gemini(value: Mapping[str, Any]) -> bool:
    return ("projectHash" in value and "messages" in value) or (
        isinstance(value.get("parts"), list) and value.get("role") in ("user", "model")
    )


def _is_telegram(value: Mapping[str, Any]) -> bool:
    message = _first(value, "messages")
    return "from_id" in message or "text_entities" in message or "message.id" in value


def _is_slack(value: Mapping[str, Any]) -> bool:
    return _type_of(value) == "message" and "ts" in value


def _is_anthropic(value: Mapping[str, Any]) -> bool:
    if _type_of(value) == "message" and "role" in value and "stop_reason" in value:
        return True
    if value.get("system") is not None and "role" in _first(value, "messages"):
        return True
    sourced = any(
        isinstance(part, Mapping) and part.get("type") == "image" and "source" in part
        for message in _messages(value)
        if isinstance(message.get("content"), list)
        for part in message["content"]
    )
    return sourced or not _ANTHROPIC_PARTS.isdisjoint(_part_types(value))


def _is_responses(value: Mapping[str, Any]) -> bool:
    types = _part_types(value)
    return _type_of(value) in _RESPONSES_TYPES or not _RESPONSES_PARTS.isdisjoint(types)


def _is_own_export(value: Mapping[str, Any]) -> bool:
    return value.get("format") == "symfonic-memory" or (
        value.get("table") in {"scope", "record", "link"} and "scope" in value
    )


def _is_reject(value: Mapping[str, Any]) -> bool:
    return value.keys() == {"line", "offset", "reason", "text"}


_OWN: Final[tuple[tuple[Format, Callable[[Mapping[str, Any]], bool]], ...]] = (
    ("chatgpt", _is_chatgpt),
    ("codex", _is_codex),
)

_FOREIGN: Final[tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...]] = (
    ("symfonic export (bring it in with 'symfonic-memory import')", _is_own_export),
    ("symfonic reject file (mend its lines and ingest those)", _is_reject),
    ("Claude.ai export", _has("chat_messages")),
    ("Claude Code", _is_claude_code),
    ("Gemini CLI", _is_gemini),
    ("LangChain", _is_langchain),
    ("Pydantic AI", _is_pydantic_ai),
    ("OpenTelemetry spans", _is_span),
    ("ShareGPT", lambda v: "from" in _first(v, "conversations")),
    ("Telegram", _is_telegram),
    ("Facebook Messenger", lambda v: "sender_name" in _first(v, "messages")),
    ("Slack", _is_slack),
    ("mem0", lambda v: "memory" in _first(v, "results")),
    ("MCP memory file", lambda v: "entityType" in v or "relationType" in v),
    ("Letta agent file", lambda v: isinstance(v.get("agents"), list) and "blocks" in v),
    ("Graphiti episodes", _has("source_description", "reference_time")),
    ("Anthropic messages", _is_anthropic),
    ("OpenAI Responses", _is_responses),
)


def _unsupported(name: str, found: str) -> InputError:
    return InputError(
        f"{name} looks like {found}, which has no reader yet. "
        f"Supported are: {', '.join(SUPPORTED)}. If it is one of these, name it with --format.",
        path=name,
        found=found,
        supported=SUPPORTED,
    )


def _unknown(pieces: Sequence[Piece], values: list[Any], head: str, name: str) -> InputError:
    if _WHATSAPP.search(head[:2000]) and not any(isinstance(v, Mapping) for v in values):
        return _unsupported(name, "WhatsApp export")
    if values and isinstance(values[0], Mapping):
        keys = ", ".join(json.dumps(str(key)) for key in list(values[0])[:8])
        seen = f"its first value has the keys {keys}" if keys else "its first value is empty"
    elif values:
        seen = f"its first value is a {type(values[0]).__name__}, not an object"
    else:
        seen = f"line {pieces[0].line}: {pieces[0].problem}"
    return InputError(
        f"{name} is in no format known here ({seen}). Supported are: {', '.join(SUPPORTED)}; "
        "name one with --format if it is.",
        path=name,
        supported=SUPPORTED,
    )
