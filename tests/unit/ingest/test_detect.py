import json
from typing import Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.detect import is_document
from symfonic.capabilities.memory.ingest.inputs import read_turns


def encoded(value: Any, *, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent).encode() + b"\n"


MESSAGE = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (encoded({"text": "a"}), "jsonl"),
        (encoded({"text": "a"}) + encoded({"text": "b"}), "jsonl"),
        (encoded({"tool_calls": [{"name": "look"}]}), "jsonl"),
        (encoded([{"text": "a"}], indent=1), "jsonl"),
        (encoded([MESSAGE]), "openai"),
        (encoded([MESSAGE], indent=1), "openai"),
        (encoded({"messages": [MESSAGE]}), "openai"),
        (encoded({"messages": [MESSAGE]}, indent=1), "openai"),
        (encoded([{"messages": [MESSAGE]}]), "openai"),
        (encoded({"messages": [MESSAGE]}) * 2, "openai"),
        (encoded(MESSAGE) * 2, "openai"),
        (encoded({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}), "openai"),
        (encoded([{"title": None, "mapping": {}, "current_node": "n"}]), "chatgpt"),
        (encoded({"mapping": {"r": {}}}, indent=1), "chatgpt"),
        (encoded([None, {"mapping": [], "current_node": None}]), "chatgpt"),
        (encoded({"type": "session_meta", "payload": {"id": "s"}}), "codex"),
        (encoded([{"type": "event_msg", "payload": {}}], indent=1), "codex"),
        (encoded({"id": "s", "timestamp": "2025-01-01T00:00:00Z", "instructions": None}), "codex"),
        (encoded({"record_type": "state"}) + encoded({"type": "message"}), "codex"),
        (encoded({"session": {"id": "s"}, "items": []}, indent=1), "codex"),
        (b"{broken\n" + encoded({"text": "a"}), "jsonl"),
        (encoded({"type": "user", "sessionId": "s", "message": MESSAGE}), "claude_code"),
        (encoded({"type": "summary", "summary": "s", "leafUuid": "l"}), "claude_code"),
        (encoded({"loglines": [{"type": "user", "message": MESSAGE}]}, indent=1), "claude_code"),
        (encoded({"role": "assistant", "content": [{"type": "tool_use"}]}), "anthropic"),
        (encoded({"messages": [MESSAGE], "system": "Be brief."}), "anthropic"),
        (b"", "jsonl"),
        (b" \n\n", "jsonl"),
    ],
)
def test_a_supported_format_is_recognised(data: bytes, expected: str) -> None:
    assert read_turns(data).format == expected


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"uuid": "u", "chat_messages": []}, "Claude.ai export"),
        ({"sessionId": "s", "projectHash": "h", "messages": []}, "Gemini CLI"),
        ({"type": "human", "data": {"content": "x"}}, "LangChain"),
        ({"resourceSpans": []}, "OpenTelemetry spans"),
        ({"conversations": [{"from": "human", "value": "x"}]}, "ShareGPT"),
        ({"messages": [{"from": "A", "from_id": "user1", "text": "x"}]}, "Telegram"),
        ({"messages": [{"sender_name": "A", "timestamp_ms": 1}]}, "Facebook Messenger"),
        ({"type": "message", "ts": "1.2", "user": "U", "text": "x"}, "Slack"),
        ({"results": [{"memory": "x"}]}, "mem0"),
        ({"type": "entity", "name": "A", "entityType": "person"}, "MCP memory file"),
        ({"agents": [], "blocks": []}, "Letta agent file"),
        ({"type": "function_call", "call_id": "c", "name": "f"}, "OpenAI Responses"),
        ({"role": "user", "content": [{"type": "input_text", "text": "x"}]}, "OpenAI Responses"),
    ],
)
def test_a_known_format_without_a_reader_is_named_with_the_supported_ones(
    value: dict[str, Any], found: str
) -> None:
    for data in (encoded(value), encoded([value]), encoded(value, indent=2)):
        with pytest.raises(InputError, match=found) as raised:
            read_turns(data)
        assert "jsonl, openai" in str(raised.value)


def test_a_foreign_value_after_ordinary_ones_is_still_seen() -> None:
    foreign = {"role": "user", "content": [{"type": "input_text", "text": "hm"}]}
    with pytest.raises(InputError, match="OpenAI Responses"):
        read_turns(encoded([MESSAGE, foreign]))
    thinking = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}
    assert read_turns(encoded([MESSAGE, thinking])).format == "anthropic"


def test_a_named_format_is_not_questioned() -> None:
    with read_turns(encoded({"type": "message", "ts": "1", "text": "x"}), format="jsonl") as given:
        assert [turn.text for turn in given] == ["x"]


def test_an_unknown_name_lists_the_supported_ones() -> None:
    with pytest.raises(InputError, match="jsonl, openai"):
        read_turns(b"", format="xml")


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"just some prose\nin two lines\n", "line 1"),
        (b'{"alpha": 1, "beta": 2}\n', '"alpha", "beta"'),
        (b"[1, 2]", "int"),
        (b'{\n "messages": [\n  {"role": "user",', "not valid JSON"),
        (b"[05.05.27, 15:48:11] Ana: hi\n", "WhatsApp"),
        (b"[" * 5000, "nested"),
    ],
)
def test_what_is_in_no_known_format_says_what_was_seen(data: bytes, seen: str) -> None:
    with pytest.raises(InputError, match=seen):
        read_turns(data)


def test_types_that_are_no_text_do_not_confuse_detection() -> None:
    with pytest.raises(InputError, match="no format known"):
        read_turns(encoded({"type": ["a"], "role": {}, "payload": None, "messages": 3}))


def test_a_document_is_told_from_lines() -> None:
    assert is_document('[{"a": 1}]')
    assert is_document('{\n  "messages": [\n {}\n')
    assert not is_document('{"a": 1}\n{"b": 2}\n')
    assert not is_document('{"a": 1')
    assert not is_document('{broken\n{"b": 2}\n')
