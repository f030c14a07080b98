from datetime import UTC, datetime
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.chatgpt_messages import Message, message_of
from symfonic.capabilities.memory.ingest.turns import Context, Unreadable

CONTEXT = Context(session="s", importer="chatgpt", now=datetime(2026, 1, 1, tzinfo=UTC))


def message(role: Any, content: Any, **more: Any) -> Message | None:
    value = {"id": "m", "author": {"role": role}, "content": content, "create_time": 5, **more}
    return message_of(value, "key", CONTEXT, session="s", position=0)


def told(role: Any, content: Any, **more: Any) -> tuple[str, tuple[str, ...]]:
    found = message(role, content, **more)
    assert found is not None
    return found.turn.text, found.turn.flags


def parts(*given: Any, kind: str = "text") -> dict[str, Any]:
    return {"content_type": kind, "parts": list(given)}


IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}


def test_pictures_and_files_leave_a_mark_and_no_text() -> None:
    attached = ("attachment",)
    assert told("user", parts(IMAGE, "what?", kind="multimodal_text")) == ("what?", attached)
    assert told("user", parts(IMAGE, kind="multimodal_text")) == ("", attached)
    spoken = {"content_type": "audio_transcription", "text": "hello"}
    assert told("user", parts(spoken, kind="multimodal_text")) == ("hello", ())
    listed = {"attachments": [{"name": "a.txt"}]}
    assert told("user", parts("see"), metadata=listed) == ("see", attached)
    assert told("tool", {"content_type": "computer_output", "screenshot": {}}) == ("", attached)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (parts("a", None, "", "b"), "a\nb"),
        ({"content_type": "text", "parts": None, "text": "t"}, "t"),
        ({"content_type": "code", "language": "python", "text": "1 + 1"}, "1 + 1"),
        ({"content_type": "execution_output", "text": "2"}, "2"),
        ({"content_type": "system_error", "name": "Timeout", "text": "slow"}, "Timeout\nslow"),
        ({"content_type": "tether_browsing_display", "result": "", "summary": "s"}, "s"),
        (
            {"content_type": "tether_quote", "title": "T", "url": "u", "text": "quoted"},
            "T\nu\nquoted",
        ),
        ({"content_type": "sonic_webpage", "url": "u", "snippet": "s", "text": ""}, "u\ns"),
    ],
)
def test_each_type_of_content_gives_its_text(content: Any, text: str) -> None:
    assert told("tool", content) == (text, ())


def test_a_type_from_the_future_gives_what_text_it_has() -> None:
    assert told("user", {"content_type": "x", "text": "t"}) == ("t", ("unknown_content",))
    assert told("user", {"content_type": 3, "parts": ["p"]}) == ("p", ("unknown_content",))


def test_citation_marks_are_no_text() -> None:
    marked = "High at noon.\ue200cite\ue202turn0search1\ue201 Low at six."
    assert told("assistant", parts(marked)) == ("High at noon. Low at six.", ())


@pytest.mark.parametrize(
    ("role", "content", "more"),
    [
        ("system", parts(""), {}),
        ("user", None, {}),
        ("system", parts("x"), {"metadata": {"is_visually_hidden_from_conversation": True}}),
        ("user", parts("x"), {"metadata": {"is_visually_hidden_from_conversation": True}}),
        ("system", parts("x"), {"metadata": {"is_user_system_message": True}}),
        ("user", {"content_type": "user_editable_context", "user_profile": "x"}, {}),
        ("assistant", {"content_type": "model_editable_context", "text": "x"}, {}),
        ("assistant", {"content_type": "thoughts", "thoughts": []}, {}),
        ("assistant", parts("Thought for 3 s", kind="reasoning_recap"), {}),
        ("assistant", parts("hm"), {"channel": "analysis"}),
    ],
)
def test_what_nobody_was_told_gives_no_turn(role: str, content: Any, more: Any) -> None:
    assert message(role, content, **more) is None


def test_a_hidden_call_and_its_result_are_what_was_done() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    call = message("assistant", parts("{}"), recipient="bio", metadata=hidden)
    assert call is not None
    assert [c.name for c in call.turn.calls] == ["bio"]
    assert told("tool", parts("saved"), metadata=hidden) == ("saved", ())


def test_only_an_assistant_calls() -> None:
    code = {"content_type": "code", "text": "print('x')"}
    call = message("assistant", code, recipient="python")
    assert call is not None
    assert call.turn.calls[0].arguments == "print('x')"
    assert call.turn.flags == ("raw_arguments",)
    assert told("user", parts("x"), recipient="python") == ("x", ())
    for nobody in ("all", "", None, 3):
        assert told("assistant", parts("x"), recipient=nobody) == ("x", ())


@pytest.mark.parametrize(
    ("content", "metadata", "ok"),
    [
        (parts("fine"), {}, True),
        (parts("Traceback (most recent call last):"), {}, False),
        (parts('{"error": "no such page"}'), {}, False),
        (parts("x"), {"status": "failed"}, False),
        (parts("x"), {"aggregate_result": {"status": "success"}}, True),
        (parts("x"), {"aggregate_result": {"status": "failed_with_in_kernel_exception"}}, False),
        (parts("x"), {"aggregate_result": {"in_kernel_exception": {"name": "E"}}}, False),
        (parts("x"), {"aggregate_result": {"timeout_triggered": 60}}, False),
        (parts("x"), {"is_failure": True}, False),
        ({"content_type": "system_error", "text": "x"}, {}, False),
    ],
)
def test_a_result_tells_whether_its_call_worked(content: Any, metadata: Any, ok: bool) -> None:
    found = message("tool", content, metadata=metadata)
    assert found is not None
    assert found.ok is ok


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("text", "a JSON str is not a message"),
        ({"author": {"role": "critic"}}, "the role 'critic'"),
        ({"author": 3}, "the role 'None'"),
        ({"author": {"role": "user"}, "content": 3}, "content is int"),
        ({"author": {"role": "user"}, "content": parts(3)}, "a part of content is int"),
        ({"author": {"role": "user"}, "content": {"content_type": "x"}}, "of type 'x' holds no"),
    ],
)
def test_what_cannot_be_read_says_why(value: Any, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        message_of(value, "key", CONTEXT, session="s", position=0)


def test_a_message_is_known_by_its_id_or_else_its_node() -> None:
    for given, expected in (("m7", "m7"), ("", "key"), (None, "key"), ({}, "key")):
        found = message("user", parts("x"), id=given)
        assert found is not None
        assert found.turn.source_id == expected


def test_names_are_one_line_and_odd_ones_none() -> None:
    for name, expected in (("web\nsearch", "web search"), (" ", None), ({}, None)):
        found = message("tool", parts("x"), author={"role": "tool", "name": name})
        assert found is not None
        assert found.turn.name == expected
