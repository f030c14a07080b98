import json
from datetime import UTC, datetime
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.store import CallResult, Turn


def read(*values: Any, **options: Any) -> list[Turn]:
    items = list(turns_from_dicts(values, format="anthropic", **options))
    assert all(isinstance(item, Turn) for item in items), items
    return [item for item in items if isinstance(item, Turn)]


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


ASK = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "which?"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "a", "name": "find", "input": {"q": "x"}},
        {"type": "tool_use", "id": "b", "name": "count", "input": {}},
    ],
}
ANSWER = {
    "role": "user",
    "content": [
        result("b", "it broke", is_error=True),
        result("a", "found"),
        {"type": "text", "text": "and now?"},
    ],
}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "find it"},
    ASK,
    ANSWER,
    {"role": "assistant", "content": "Here."},
]
EXPECTED = [
    ("user", None, "find it"),
    ("assistant", None, "Looking."),
    ("tool", "count", "it broke"),
    ("tool", "find", "found"),
    ("user", None, "and now?"),
    ("assistant", None, "Here."),
]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(TALK).encode(),
        json.dumps(TALK, indent=1).encode(),
        lines(*TALK),
        json.dumps({"messages": TALK, "model": "m"}).encode(),
        lines({"messages": TALK, "system": None}),
    ],
    ids=["list", "indented list", "lines", "request", "request line"],
)
def test_every_form_gives_the_same_turns(data: bytes) -> None:
    reading = read_turns(data)
    turns = [item for item in reading if isinstance(item, Turn)]
    assert reading.format == "anthropic"
    assert [(t.role, t.name, t.text) for t in turns] == EXPECTED
    assert [t.position for t in turns] == list(range(6))
    assert [(c.name, c.result, c.ok) for c in turns[1].calls] == [
        ("find", "found", True), ("count", "it broke", False),
    ]  # fmt: skip
    assert turns[1].flags == ("reasoning",)
    assert (reading.rejected, reading.skipped) == (0, 0)


@pytest.mark.parametrize("system", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_a_system_prompt_comes_first_and_names_the_format(system: Any) -> None:
    data = lines({"system": system, "messages": TALK[:1], "id": "talk"})
    reading = read_turns(data)
    assert [(t.session, t.role, t.text) for t in reading if isinstance(t, Turn)] == [
        ("talk", "system", "Be brief."), ("talk", "user", "find it"),
    ]  # fmt: skip
    assert reading.format == "anthropic"


def test_an_answer_of_the_interface_is_one_message() -> None:
    answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hello."}],
    }  # fmt: skip
    (turn,) = read_turns(lines(answer))
    assert isinstance(turn, Turn)
    assert (turn.importer, turn.source_id, turn.text) == ("anthropic", "msg_1", "Hello.")


def test_requests_without_a_name_are_sessions_of_their_own() -> None:
    turns = read({"messages": TALK[:1]}, {"messages": TALK[:1]}, session="log")
    assert [turn.session for turn in turns] == ["log", "log#2"]


def test_loose_messages_belong_to_the_session_they_name() -> None:
    first = {**ASK, "session": "one"}
    turns = read(first, {"role": "user", "content": "hi", "session": "two"},
                 {"role": "user", "content": [result("a", "late")], "session": "one"})  # fmt: skip
    assert [(t.session, t.position, t.role) for t in turns] == [
        ("one", 0, "assistant"), ("two", 0, "user"), ("one", 1, "tool"),
    ]  # fmt: skip
    assert turns[2].answers == CallResult(call="a", result="late", ok=True)
    assert turns[2].flags == ("orphan_result",)


def test_messages_that_say_nothing_are_counted() -> None:
    reading = turns_from_dicts(
        [
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
            {"role": "user", "content": []},
            {"role": "user", "content": "hi"},
        ],
        format="anthropic",
    )
    assert [t.position for t in reading if isinstance(t, Turn)] == [2]
    assert (reading.read, reading.turns, reading.skipped) == (3, 1, 2)


def test_stated_times_stay_with_the_order_of_the_file() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    turns = read(
        {"role": "user", "content": "later", "timestamp": "2026-11-30T12:00:05Z"},
        {"role": "assistant", "content": "earlier", "timestamp": "2026-11-30T12:00:00Z"},
        {"role": "user", "content": "ahead", "timestamp": "2099-01-01T00:00:00Z"},
        {"role": "user", "content": "unknown", "timestamp": 0},
        now=now,
    )
    assert [turn.text for turn in turns] == ["later", "earlier", "ahead", "unknown"]
    assert [turn.flags for turn in turns] == [(), (), ("future",), ()]
    assert turns[3].occurred_at is None


def test_secrets_lone_surrogates_and_nul_do_not_come_in() -> None:
    key = "sk-test-" + "0" * 28
    data = (
        b'[{"role":"user","content":[{"type":"text","text":"a \\ud83d b \\u0000 \\ud83d\\ude80"}]},'
        b'{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"sh",'
        b'"input":{"cmd":"curl -H \'Authorization: Bearer ' + key.encode() + b"'\"}}]}]"
    )
    turns = [item for item in read_turns(data) if isinstance(item, Turn)]
    assert turns[0].text == "a \ufffd b \ufffd \U0001f680"
    assert key not in repr(turns[1].calls)
    assert "redacted" in turns[1].flags


def test_a_bad_message_is_a_reject_and_keeps_its_places() -> None:
    bad = {"role": "user", "content": [result("a", 7), {"type": "text", "text": "x"}]}
    for values in ([TALK[0], bad, TALK[3]], [{"messages": [TALK[0], bad, TALK[3]]}]):
        items = list(turns_from_dicts(values, format="anthropic"))
        assert [item.position for item in items if isinstance(item, Turn)] == [0, 3]
        (reject,) = [item for item in items if isinstance(item, Reject)]
        assert "a result is int" in reject.reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "JSON list is not a message"),
        ({"role": "tool", "content": "x"}, "role 'tool'"),
        ({"role": 7, "content": "x"}, "role '7'"),
        ({"messages": [], "session": []}, "session is list"),
        ({"messages": [3]}, "message 1: a JSON int"),
        ({"messages": [], "system": 3}, "system: content is int"),
        ({"role": "user", "content": "x", "at": "2026-01-01T10:00"}, "names no zone"),
    ],
)
def test_what_is_no_message_is_a_reject_with_a_reason(value: Any, reason: str) -> None:
    (item,) = turns_from_dicts([value], format="anthropic")
    assert isinstance(item, Reject)
    assert reason in item.reason


def test_a_torn_last_line_leaves_what_waits_for_it_to_the_next_reading() -> None:
    data = lines(*TALK[:2]) + b'{"role": "user", "content": [{"type": "tool_re'
    reading = read_turns(data)
    assert [t.text for t in reading if isinstance(t, Turn)] == ["find it"]
    assert reading.pending is not None
    whole = lines(*TALK)
    rest = [t.text for t in read_turns(whole, start=reading.checkpoint()) if isinstance(t, Turn)]
    assert rest == [text for _, _, text in EXPECTED[1:]]
