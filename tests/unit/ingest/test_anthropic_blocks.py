from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.anthropic_blocks import Content, content_of, messages_from
from symfonic.capabilities.memory.ingest.turns import Unreadable
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import Turn

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}


def use(call_id: str | None, name: Any, given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def turn(role: str) -> Turn:
    return Turn(session="s", position=4, role=role, text="", importer="anthropic", source_id="m")


def test_content_is_taken_apart_by_kind_in_order() -> None:
    found = content_of(
        [
            {"type": "thinking", "thinking": "secret plan", "signature": "x"},
            "bare",
            None,
            {"type": "text", "text": "said"},
            {"type": "text", "text": " \n"},
            {"type": "text", "text": None},
            use("a", "look", {"q": 1}),
            use(None, "list"),
            PNG,
            result("z", [None, {"type": "text", "text": "back"}]),
        ]
    )
    assert found.texts == ["bare", "said"]
    assert found.calls == [
        ToolCall(name="look", id="a", arguments={"q": 1}),
        ToolCall(name="list", id="call 2"),
    ]
    assert [(r.call, r.text, r.ok) for r in found.results] == [("z", "back", True)]
    assert found.flags == ["reasoning", "attachment"]
    assert found.speaks


@pytest.mark.parametrize("content", [None, "", [], [{"type": "redacted_thinking", "data": "x"}]])
def test_content_without_words_says_nothing(content: Any) -> None:
    assert not content_of(content).speaks


@pytest.mark.parametrize(
    ("block", "text", "ok", "flags"),
    [
        (result("a", None), "", True, ()),
        (result("a", "Error: no such file"), "Error: no such file", False, ()),
        (result("a", "Error: quoted", is_error=False), "Error: quoted", True, ()),
        (result("a", "fine", is_error=True), "fine", False, ()),
        (result("a", [{"type": "text", "text": "x"}, PNG, "y"]), "x\ny", True, ("attachment",)),
        (result("a", PNG), "", True, ("attachment",)),
        (
            {
                "type": "web_search_tool_result",
                "tool_use_id": "a",
                "content": [{"type": "web_search_result", "title": "T", "url": "u", "age": 3}],
            },
            "T\nu",
            True,
            (),
        ),
        (
            {
                "type": "web_search_tool_result",
                "tool_use_id": "a",
                "content": {"type": "web_search_tool_result_error", "error_code": "too_many"},
            },
            "too_many",
            False,
            (),
        ),
        (
            {
                "type": "bash_code_execution_tool_result",
                "tool_use_id": "a",
                "content": {"type": [], "stdout": "o", "stderr": "e", "return_code": 2,
                            "content": [{"text": "file"}, 3]},
            },
            "o\ne\nfile",
            False,
            (),
        ),
    ],
)  # fmt: skip
def test_a_result_has_text_and_outcome(
    block: Any, text: str, ok: bool, flags: tuple[str, ...]
) -> None:
    (found,) = content_of([block]).results
    assert (found.call, found.text, found.ok, found.flags) == ("a", text, ok, flags)


def test_a_client_that_always_states_the_outcome_is_believed() -> None:
    (found,) = content_of([result("a", "Error: a log that was read")], lenient=True).results
    assert found.ok is True


def test_what_was_only_started_has_no_outcome_yet() -> None:
    found = content_of([result("a", "started"), result("b", "no", is_error=True)])
    found.left_running()
    assert [one.ok for one in found.results] == [None, False]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (7, "content is int"),
        ([7], "no type"),
        ([{"text": "x"}], "no type"),
        ([{"type": "text", "text": 7}], "text of a block is int"),
        ([use("a", "")], "no name"),
        ([use("a", ["x"])], "name of tool call 1 is list"),
        ([use(["a"], "x")], "id of tool call 1 is list"),  # type: ignore[arg-type]
        ([result("a", 7)], "a result is int"),
        ([result("a", [7])], "block of a result"),
        ([result(["a"], "x")], "tool_use_id of result 1 is list"),  # type: ignore[arg-type]
        ([{"type": "hologram"}], "'hologram' is not known"),
    ],
)
def test_unreadable_content_says_why(content: Any, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        content_of(content)


def test_too_deep_arguments_are_unreadable() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    with pytest.raises(Unreadable, match="tool call 1 is nested"):
        content_of([use("a", "look", deep)])


def test_an_unknown_block_beside_known_ones_is_flagged_and_its_text_kept() -> None:
    found = content_of({"type": "hologram", "text": "hello"})
    assert (found.texts, found.flags) == (["hello"], ["unknown_block"])


def test_results_come_before_what_a_user_adds_and_after_an_assistants_call() -> None:
    content = content_of([{"type": "text", "text": "go on"}, result("a", "x"), result("b", "")])
    user = messages_from(content, turn("user"))
    assert [(m.turn.role, m.turn.position, m.turn.source_id, m.empty) for m in user] == [
        ("tool", 4, "m", False), ("tool", 5, "m#2", True), ("user", 6, "m#3", False),
    ]  # fmt: skip
    assistant = messages_from(content, turn("assistant"))
    assert [m.turn.role for m in assistant] == ["assistant", "tool", "tool"]


def test_a_live_turn_keeps_no_position_and_no_id() -> None:
    live = Turn(session="s", position=None, role="user", text="", importer="live")
    messages = messages_from(content_of([result("a", "x"), result("b", "y")]), live)
    assert [(m.turn.position, m.turn.source_id) for m in messages] == [(None, None)] * 2


def test_a_call_that_is_written_twice_is_one_and_calls_without_ids_are_several() -> None:
    content = Content()
    for block in (use("a", "look"), use("a", "look"), use(None, "list"), use(None, "list")):
        content.extend(content_of([block]))
    assert [call.name for call in content.calls] == ["look", "list", "list"]
