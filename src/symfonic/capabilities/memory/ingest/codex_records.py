"""The calls, results and speech that single Codex records state.

The same record stands bare in a line of an old rollout and inside ``payload`` in a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.codex_results import result_of
from symfonic.capabilities.memory.ingest.codex_texts import texts_of, without_wrappers
from symfonic.capabilities.memory.ingest.normalise import plain
from symfonic.capabilities.memory.ingest.openai_messages import ROLES, arguments_of
from symfonic.capabilities.memory.ingest.turns import Unreadable, identifier
from symfonic.capabilities.memory.records import ToolCall

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Plain, Role

CALLS: Final = frozenset(
    {"function_call", "local_shell_call", "custom_tool_call", "web_search_call",
     "tool_search_call", "image_generation_call", "mcp_call"}
)  # fmt: skip
RESULTS: Final = frozenset(
    {"function_call_output", "local_shell_call_output", "custom_tool_call_output",
     "tool_search_output", "mcp_tool_call_output"}
)  # fmt: skip
SPEECH: Final = frozenset({"message", "user_message", "agent_message"})
NOT_TALK: Final = frozenset(
    {"reasoning", "agent_reasoning", "agent_reasoning_raw_content", "token_count",
     "ghost_snapshot", "compaction", "compaction_summary", "compaction_trigger",
     "context_compaction", "turn_context", "session_meta", "compacted"}
)  # fmt: skip
"""Records that are counted and give no turn: thoughts, counters, and history told again."""

_ABORT_MARK: Final = "<turn_aborted>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What one record says; ``texts`` are all the texts that its twin may state.

    A prompt and an answer stand in a rollout twice, once as an ``item`` and once as an event.
    """

    role: Role
    text: str
    texts: frozenset[str]
    item: bool
    aborts: bool = False


def speech_of(record: Mapping[str, Any], flags: list[str]) -> Speech:
    """The speech of a record of a kind in ``SPEECH``. Raises ``Unreadable``."""
    kind = record["type"]
    if kind == "message":
        given = record.get("role")
        role = ROLES.get(given) if isinstance(given, str) else None
        if role is None:
            raise Unreadable(f"the role {str(given)[:40]!r} is not one of {', '.join(ROLES)}")
        parts = list(texts_of(record.get("content"), flags))
    else:
        role = "user" if kind == "user_message" else "assistant"
        parts = list(texts_of(record.get("message"), flags))
        if record.get("images") or record.get("local_images"):
            flags.append("attachment")
    aborts = role == "user" and any(part.lstrip().startswith(_ABORT_MARK) for part in parts)
    if role != "assistant":
        parts = [without_wrappers(part) for part in parts]
    said = [part for part in parts if part.strip()]
    text = "\n".join(said)
    texts = frozenset(" ".join(each.split()) for each in (text, *said))
    return Speech(role=role, text=text, texts=texts, item=kind == "message", aborts=aborts)


def call_of(record: Mapping[str, Any], flags: list[str]) -> ToolCall:
    """The call of a record of a kind in ``CALLS``. Raises ``Unreadable``."""
    kind = record["type"]
    name = identifier(record.get("name"), "the name of the call")
    if name is None:
        if kind in ("function_call", "custom_tool_call"):
            raise Unreadable("the call has no name")
        name = kind.removesuffix("_call")
    arguments: Plain
    if kind == "function_call":
        arguments = arguments_of(record.get("arguments"), 1, flags)
    else:
        keys = ("action", "arguments", "input", "query")
        given = next((record[key] for key in keys if record.get(key) is not None), None)
        try:
            arguments = plain(given, flags)
        except ValueError as cause:
            raise Unreadable(f"the call is {cause}") from None
    return ToolCall(name=name, id=call_id_of(record), arguments=arguments, ok=_ended(record))


def answer_of(record: Mapping[str, Any], flags: list[str]) -> tuple[str, bool]:
    """The text of a record of a kind in ``RESULTS``, and whether its call worked."""
    output = next(
        (record[key] for key in ("output", "result", "tools") if record.get(key) is not None), None
    )
    if isinstance(output, Mapping) and "Err" in output:
        return result_of(output["Err"], flags)[0], False
    text, ok = result_of(output, flags)
    return text, ok and record.get("status") not in ("failed", "error", "incomplete")


def outcome_of(event: Mapping[str, Any]) -> tuple[str, bool] | None:
    """The call that an event says has ended, and whether it worked; nothing for other events."""
    call_id = event.get("call_id")
    if not isinstance(call_id, str):
        return None
    code, success, result = (event.get(key) for key in ("exit_code", "success", "result"))
    if isinstance(code, int):
        return call_id, code == 0
    if isinstance(success, bool):
        return call_id, success
    if isinstance(result, Mapping) and "Err" in result:
        return call_id, False
    return None


def call_id_of(record: Mapping[str, Any]) -> str | None:
    """The id under which a call and its result are joined. Raises ``Unreadable``."""
    return identifier(record.get("call_id"), "call_id") or identifier(record.get("id"), "id")


def _ended(record: Mapping[str, Any]) -> bool | None:
    """How a call ended that will get no result; nothing where one is still to come."""
    status = record.get("status")
    if status in ("failed", "incomplete"):
        return False
    answered = record["type"] in ("function_call", "custom_tool_call", "local_shell_call")
    return True if status == "completed" and not answered else None
