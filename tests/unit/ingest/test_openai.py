import json
from datetime import UTC, datetime
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.openai import RESULT_EXCERPT
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import Turn


def read(*values: Any, **options: Any) -> list[Turn]:
    items = list(turns_from_dicts(values, format="openai", **options))
    assert all(isinstance(item, Turn) for item in items), items
    return [item for item in items if isinstance(item, Turn)]


def call(call_id: str, name: str, arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def ask(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answer(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def test_older_and_newer_role_names_are_one() -> None:
    turns = read(
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "function_call": {"name": "look", "arguments": '{"q": 1}'}},
        {"role": "function", "name": "look", "content": "found"},
    )  # fmt: skip
    assert [turn.role for turn in turns] == ["system", "assistant", "tool"]
    assert turns[1].calls == (ToolCall(name="look", arguments={"q": 1}, result="found", ok=True),)
    assert turns[2].flags == ()


def test_content_may_be_nothing_text_or_parts_and_bytes_never_enter_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDRA=="}}
    reading = turns_from_dicts(
        [
            {"role": "user", "content": [{"type": "text", "text": "my"}, image, "boat"]},
            {"role": "user", "content": ""},
            {"role": "assistant", "content": None},
            {"role": "user", "content": [image]},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]},
            {"role": "assistant", "content": None, "refusal": "Nor this."},
            {"role": "assistant", "audio": {"data": "QUJD", "transcript": "spoken"}},
        ]
    )  # fmt: skip
    turns = [item for item in reading if isinstance(item, Turn)]
    assert [(t.position, t.text, t.flags) for t in turns] == [
        (0, "my\nboat", ("attachment",)),
        (3, "", ("attachment",)),
        (4, "I will not.", ("refusal",)),
        (5, "Nor this.", ("refusal",)),
        (6, "spoken", ("attachment",)),
    ]
    assert (reading.read, reading.turns, reading.skipped, reading.rejected) == (7, 5, 2, 0)


def test_null_in_a_list_is_nothing_and_the_rest_of_the_message_is_kept() -> None:
    turns = read(
        {"role": "user", "content": [None, {"type": "text", "text": "the mill"}, None]},
        {"role": "assistant", "content": None, "tool_calls": [None, call("c", "look")]},
        answer("c", [{"type": "text", "text": "found"}, None]),
    )
    assert [turn.text for turn in turns] == ["the mill", "", "found"]
    assert [(made.name, made.result) for made in turns[1].calls] == [("look", "found")]


def test_results_stand_on_their_calls_and_as_turns() -> None:
    turns = read(
        ask(call("a", "build", '{"target": "x"}'), call("b", "test")),
        answer("b", "Error: 3 failed"),
        answer("a", "built"),
        {"role": "assistant", "content": "One failed."},
    )
    assert turns[0].calls == (
        ToolCall(name="build", id="a", arguments={"target": "x"}, result="built", ok=True),
        ToolCall(name="test", id="b", arguments={}, result="Error: 3 failed", ok=False),
    )
    assert [(t.role, t.name, t.text) for t in turns[1:3]] == [
        ("tool", "test", "Error: 3 failed"), ("tool", "build", "built"),
    ]  # fmt: skip
    assert [turn.position for turn in turns] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("result", "worked"),
    [
        ({"content": "Error: no such order"}, False),
        ({"content": "Errors were rare this year"}, True),
        ({"content": "Traceback (most recent call last):\n ..."}, False),
        ({"content": '{"error": "denied"}'}, False),
        ({"content": '{"error": null, "rows": 3}'}, True),
        ({"content": '{"ok": false}'}, False),
        ({"content": '{"exit_code": 2}'}, False),
        ({"content": '{"exit_code": 0}'}, True),
        ({"content": '{"success": false}'}, False),
        ({"content": "{not json"}, True),
        ({"content": "no", "is_error": True}, False),
        ({"content": "", "status": "error"}, False),
        ({"content": ""}, True),
        ({"content": [{"type": "text", "text": "Error: x"}]}, False),
    ],
)
def test_a_result_tells_whether_the_call_worked(result: dict[str, Any], worked: bool) -> None:
    turns = read(ask(call("c", "run")), {"role": "tool", "tool_call_id": "c", **result})
    assert turns[0].calls[0].ok is worked


def test_a_call_without_a_result_has_no_outcome_and_a_result_without_a_call_is_flagged() -> None:
    turns = read(
        ask(call("a", "build")),
        {"role": "user", "content": "stop"},
        answer("a", "built after all"),
        answer("zz", "whose?"),
    )
    assert (turns[0].calls[0].result, turns[0].calls[0].ok) == (None, None)
    assert [turn.flags for turn in turns[2:]] == [("orphan_result",)] * 2


def test_a_stream_of_results_without_calls_is_not_held_back() -> None:
    results = (answer(f"x{n}", "late") for n in range(1000))
    reading = iter(turns_from_dicts([ask(call("a", "build")), *results], format="openai"))
    assert isinstance(next(reading), Turn)
    assert sum(1 for _ in reading) == 1000


@pytest.mark.parametrize(
    ("given", "kept", "flags"),
    [
        ('{"q": "caf\\u00e9"}', {"q": "café"}, ()),
        ("{half", "{half", ("raw_arguments",)),
        ("", None, ()),
        ({"q": 1}, {"q": 1}, ()),
        ("7", 7, ()),
        ('{"n": NaN}', {"n": "nan"}, ()),
        ("[" * 500 + "]" * 500, "[" * 500 + "]" * 500, ("raw_arguments",)),
    ],
)
def test_arguments_are_parsed_or_kept_raw(given: Any, kept: Any, flags: tuple[str, ...]) -> None:
    (turn,) = read(ask(call("a", "f", given)))
    assert turn.calls[0].arguments == kept
    assert turn.flags == flags


def test_a_token_in_a_shell_command_does_not_reach_memory() -> None:
    command = "curl -H 'Authorization: Bearer tok-998877665544332211' https://ship.example/go"
    turns = read(ask(call("c", "shell", json.dumps({"cmd": command}))), answer("c", "ok"))
    assert "998877" not in repr(turns)
    assert "[redacted: bearer token]" in repr(turns[0].calls)
    assert turns[0].flags == ("redacted",)


def test_a_long_result_stands_whole_in_its_own_turn_only() -> None:
    text = "z9 " * 20_000 + "NEEDLE-7"
    turns = read(ask(call("c", "log")), answer("c", text))
    assert turns[1].text == text
    assert len(turns[0].calls[0].result) == RESULT_EXCERPT + 1


def test_conversations_have_sessions_of_their_own() -> None:
    hello = {"role": "user", "content": "hello"}
    turns = read(
        {"messages": [hello, {"role": "assistant", "content": "hi"}], "tools": []},
        {"messages": [hello]},
        {"messages": [hello], "id": "conv-9"},
        {"messages": [hello], "session_id": 12},
        session="train",
    )
    assert [(t.session, t.position) for t in turns] == [
        ("train", 0), ("train", 1), ("train#2", 0), ("conv-9", 0), ("12", 0),
    ]  # fmt: skip


def test_messages_may_name_their_session_and_results_stay_with_theirs() -> None:
    turns = read(
        {**ask(call("c", "look")), "session": "x"},
        {"role": "user", "content": "other", "session": "y"},
        {**answer("c", "found"), "session": "x"},
    )
    assert [(t.session, t.position) for t in turns] == [("x", 0), ("y", 0), ("x", 1)]


def test_one_bad_message_does_not_take_its_conversation_with_it() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "wizard", "content": "b"}, "c",
                {"role": "user", "content": 5}, {"role": "user", "content": "d"}]  # fmt: skip
    cases: list[list[Any]] = [[{"messages": messages}], messages]
    for values in cases:
        items = list(turns_from_dicts(values, format="openai"))
        reasons = [item.reason for item in items if isinstance(item, Reject)]
        assert len(reasons) == 3
        assert "user, assistant, tool, system, developer, function" in reasons[0]
        assert [item.text for item in items if isinstance(item, Turn)] == ["a", "d"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "user", "content": [5]}, "no type"),
        ({"role": "user", "content": [{"type": "hologram"}]}, "hologram"),
        ({"role": "assistant", "content": "", "tool_calls": 5}, "not a list"),
        ({"role": "assistant", "content": "", "tool_calls": [5]}, "not an object"),
        ({"role": "assistant", "content": "", "tool_calls": [{"function": {}}]}, "no name"),
        ({"content": "x"}, "role"),
    ],
)
def test_what_cannot_be_read_says_why(message: Any, reason: str) -> None:
    (item,) = turns_from_dicts([message], format="openai")
    assert isinstance(item, Reject)
    assert reason in item.reason


def test_file_order_is_the_sequence_and_stated_times_stay_apart() -> None:
    now = datetime(2027, 6, 1, tzinfo=UTC)
    times = [
        "2027-05-01T10:00:09Z",
        "2027-05-01T10:00:01Z",
        "2095-01-01T00:00:00Z",
        0,
        1_809_432_000_000,
    ]
    values = [{"role": "user", "content": str(n), "timestamp": at} for n, at in enumerate(times)]
    turns = read(*values, now=now)
    assert [turn.position for turn in turns] == [0, 1, 2, 3, 4]
    assert turns[0].occurred_at > turns[1].occurred_at  # type: ignore[operator]
    assert turns[2].flags == ("future",)
    assert turns[3].occurred_at is None
    assert turns[4].occurred_at == datetime(2027, 5, 4, 12, tzinfo=UTC)


def test_local_times_of_messages_are_rejects_until_a_zone_is_declared() -> None:
    data = json.dumps([
        {"role": "user", "content": "gap", "timestamp": "2027-03-28T02:15:00"},
        {"role": "user", "content": "aware", "timestamp": "2027-03-28T02:15:00+01:00"},
    ]).encode()  # fmt: skip
    without = read_turns(data)
    assert [type(item) for item in without] == [Reject, Turn]
    assert without.zone_missing == 1
    declared = list(read_turns(data, timezone="Europe/Vienna"))
    assert [item.flags for item in declared if isinstance(item, Turn)] == [("gap_time",), ()]


def test_surrogates_written_as_escapes_are_mended_or_joined() -> None:
    data = (
        b'[{"role": "user", "content": "cut \\ud83e off \\u0000 x"},'
        b' {"role": "assistant", "content": "\\ud83e\\udd16"}]'
    )
    first, second = read_turns(data)
    assert isinstance(first, Turn)
    assert isinstance(second, Turn)
    assert (first.text, first.flags) == ("cut � off � x", ("replaced_characters",))
    assert second.text == "\U0001f916"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "text", "text": "alone"}, "alone"),
        ([{"type": "text", "text": {"value": "wrapped"}}], "wrapped"),
        ([{"type": "reasoning", "summary": []}, {"type": "output_text", "text": "said"}], "said"),
    ],
)
def test_parts_of_neighbouring_interfaces_are_read(content: Any, text: str) -> None:
    (turn,) = read({"role": "assistant", "content": content})
    assert turn.text == text


def test_content_that_is_no_text_is_a_reject_and_keeps_what_was_held_back() -> None:
    items = list(
        turns_from_dicts(
            [
                ask(call("c", "look")),
                {"role": "user", "content": 5},
                {"messages": [], "session": []},
                {"messages": [{"role": "user", "content": "last"}]},
            ],
            format="openai",
        )
    )
    assert [type(item) for item in items] == [Turn, Reject, Reject, Turn]
    assert isinstance(items[1], Reject)
    assert "content is int" in items[1].reason


def test_arguments_given_as_an_object_that_nests_too_deeply_are_a_reject() -> None:
    value: Any = {}
    for _ in range(200):
        value = {"in": value}
    (item,) = turns_from_dicts([ask(call("c", "look", value))], format="openai")
    assert isinstance(item, Reject)
