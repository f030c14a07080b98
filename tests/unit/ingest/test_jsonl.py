import json
from datetime import UTC, datetime
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.inputs import turns_from_dicts
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import Turn


def read(*values: Any, **options: Any) -> list[Turn | Reject]:
    return list(turns_from_dicts(values, format="jsonl", **options))


def read_one(value: Any, **options: Any) -> Turn:
    (item,) = read(value, **options)
    assert isinstance(item, Turn), item
    return item


def test_every_field_of_a_line_is_kept() -> None:
    line = {
        "id": 17,
        "session": 4,
        "at": "2027-01-02T03:04:05Z",
        "role": "assistant",
        "name": " Wren\n2 ",
        "text": "Shipped.",
        "position": 9,
        "extra": {"ignored": True},
        "tool_calls": [
            {"name": "ship", "arguments": {"order": "B-1"}, "result": {"b": 1, "a": 2}, "ok": True}
        ],
    }
    assert read_one(line) == Turn(
        session="4",
        position=9,
        role="assistant",
        text="Shipped.",
        importer="jsonl",
        name="Wren 2",
        calls=(ToolCall(name="ship", arguments={"order": "B-1"}, result='{"a":2,"b":1}', ok=True),),
        occurred_at=datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC),
        source_id="17",
        stated_position=True,
    )


def test_text_or_calls_are_enough() -> None:
    turn = read_one({"text": "hi"})
    assert (turn.role, turn.session, turn.position, turn.stated_position) == (
        "user",
        "default",
        0,
        False,
    )
    assert read_one({"tool_calls": [{"name": "look"}]}).calls == (ToolCall(name="look"),)


def test_positions_count_within_each_session() -> None:
    items = read(
        {"text": "a", "session": "x"}, {"text": "b", "session": "y"}, {"text": "c", "session": "x"}
    )
    assert [(i.session, i.position) for i in items if isinstance(i, Turn)] == [
        ("x", 0),
        ("y", 0),
        ("x", 1),
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (["text"], "not an object"),
        ("text", "not an object"),
        ({"role": "user"}, "neither text nor tool_calls"),
        ({"text": "  "}, "neither text nor tool_calls"),
        ({"text": "x", "role": "robot"}, "user, assistant, tool, system"),
        ({"text": "x", "role": []}, "user, assistant, tool, system"),
        ({"text": 5}, "text is int"),
        ({"text": "x", "session": 1.5}, "session is float"),
        ({"text": "x", "session": True}, "session is bool"),
        ({"text": "x", "id": {}}, "id is dict"),
        ({"text": "x", "position": -1}, "position"),
        ({"text": "x", "position": "3"}, "position"),
        ({"text": "x", "at": "noon"}, "ISO 8601"),
        ({"text": "x", "tool_calls": {"name": "f"}}, "not a list"),
        ({"text": "x", "tool_calls": ["f"]}, "tool call 1 is not an object"),
        (
            {"text": "x", "tool_calls": [{"name": "f"}, {"arguments": {}}]},
            "tool call 2 has no name",
        ),
        ({"text": "x", "tool_calls": [{"name": "f", "ok": "yes"}]}, "neither true nor false"),
    ],
)
def test_a_line_that_cannot_be_a_turn_is_a_reject_with_its_reason(value: Any, reason: str) -> None:
    first, second = read(value, {"text": "after"})
    assert isinstance(first, Reject)
    assert reason in first.reason
    assert json.loads(first.text) == value
    assert isinstance(second, Turn)


def test_a_reject_keeps_its_place_so_that_mending_it_moves_nothing() -> None:
    broken = {"text": "b", "at": "2027-01-02T03:04:05"}
    rejected = read({"text": "a"}, broken, {"text": "c"})
    mended = read({"text": "a"}, broken, {"text": "c"}, timezone="Europe/Vienna")
    assert isinstance(rejected[1], Reject)
    assert rejected[1].zone_missing
    assert [rejected[0], rejected[2]] == [mended[0], mended[2]]
    assert isinstance(mended[1], Turn)
    assert mended[1].position == 1


def test_names_of_calls_and_deep_text_pass_the_normaliser() -> None:
    call = {"name": "cafe\u0301", "arguments": {"k": ["\ud83d", float("nan")]}, "result": "a\x00"}
    turn = read_one({"text": "x", "tool_calls": [call]})
    assert turn.calls == (
        ToolCall(name="caf\u00e9", arguments={"k": ["\ufffd", "nan"]}, result="a\ufffd"),
    )
    assert turn.flags == ("replaced_characters",)


def test_a_future_time_is_kept_and_flagged() -> None:
    now = datetime(2027, 1, 1, tzinfo=UTC)
    turn = read_one({"text": "x", "at": "2098-01-01T00:00:00Z"}, now=now)
    assert turn.occurred_at == datetime(2098, 1, 1, tzinfo=UTC)
    assert turn.flags == ("future",)
    assert read_one({"text": "x", "at": "2026-01-01T00:00:00Z"}, now=now).flags == ()


def test_arguments_nested_too_deeply_are_a_reject() -> None:
    value: Any = []
    for _ in range(200):
        value = [value]
    (item,) = read({"text": "x", "tool_calls": [{"name": "f", "arguments": value}]})
    assert isinstance(item, Reject)
    assert "levels deep" in item.reason
