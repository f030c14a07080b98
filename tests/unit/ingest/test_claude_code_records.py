from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.claude_code_records import line_of, said, session_named
from symfonic.capabilities.memory.ingest.claude_code_tree import Tree
from symfonic.capabilities.memory.ingest.turns import Context, Unreadable

REVIEW = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>the login page</command-args>"
)
CONTEXT = Context(session="file", importer="claude_code")


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def outcome(record: dict[str, Any]) -> tuple[str, tuple[str, ...], list[str]] | None:
    line = line_of(record, CONTEXT, "s")
    return None if line is None else (line.turn.role, line.turn.flags, line.content.texts)


@pytest.mark.parametrize(
    ("text", "words", "flag"),
    [
        ("plain words", "plain words", None),
        ("a < b and <b>bold</b>", "a < b and <b>bold</b>", None),
        ("<system-reminder>be careful</system-reminder>\nfix it", "fix it", None),
        ("fix it\n<system-reminder>be careful</system-reminder>", "fix it", None),
        ("what does <system-reminder>x</system-reminder> mean?",
         "what does <system-reminder>x</system-reminder> mean?", None),
        ("<system-reminder>never closed", "<system-reminder>never closed", None),
        ("<bash-stdout>out</bash-stdout><bash-stderr>err</bash-stderr>", "", None),
        ("<local-command-stdout>\x1b[1mset\x1b[22m</local-command-stdout>", "", None),
        ("<user-prompt-submit-hook>noted</user-prompt-submit-hook>\ngo", "go", None),
        ("<ide_opened_file>a.py</ide_opened_file>\nwhy?", "why?", None),
        ("<command-name>/clear</command-name>\n  <command-args></command-args>", "", "command"),
        (REVIEW, "/review the login page", "command"),
        ("<bash-input>ls -l</bash-input>", "! ls -l", "command"),
        ("<bash-input></bash-input>", "", "command"),
        ("[Request interrupted by user for tool use]",
         "[Request interrupted by user for tool use]", "interrupted"),
        ("[Request interrupted by user] was what I saw, and I do not know what it means",
         "[Request interrupted by user] was what I saw, and I do not know what it means", None),
    ],
)  # fmt: skip
def test_what_a_user_said_of_a_text(text: str, words: str, flag: str | None) -> None:
    assert said(text) == (words, flag)


def test_many_unclosed_blocks_take_no_longer_than_their_length() -> None:
    text = "<system-reminder>\n" * 20_000
    assert said(text) == (text, None)


@pytest.mark.parametrize(
    ("record", "role", "flags"),
    [
        (user("hello"), "user", ()),
        (user("hello", origin={"kind": "human"}), "user", ()),
        (user("hello", origin={"kind": "task-notification"}), "system", ("notification",)),
        (user("hello", isSidechain=True), "system", ("agent_prompt",)),
        (user("hello", isCompactSummary=True), "system", ("compaction_summary",)),
        (user("hello", isVisibleInTranscriptOnly=True), "system", ("compaction_summary",)),
        (user("<bash-input>hello</bash-input>"), "system", ("command",)),
        (user("This session is being continued from a previous conversation: hello"), "system",
         ("compaction_summary",)),
        ({"type": "summary", "message": {"content": "hello"}}, "system", ("compaction_summary",)),
        ({"type": "assistant", "message": {"content": "hello"}}, "assistant", ()),
        ({"type": "assistant", "message": {"content": "hello", "model": "<synthetic>"}}, "system",
         ("client_message",)),
        ({"type": "assistant", "message": {"content": "hello"}, "isApiErrorMessage": True},
         "system", ("client_message",)),
        ({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "hello"}},
         "user", ()),
        ({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "hello",
          "commandMode": "prompt", "origin": {"kind": "coordinator"}}}, "system",
         ("notification",)),
    ],
)  # fmt: skip
def test_whose_words_a_record_holds(
    record: dict[str, Any], role: str, flags: tuple[str, ...]
) -> None:
    found = outcome(record)
    assert found is not None
    assert found[:2] == (role, flags)
    assert "hello" in found[2][0]


@pytest.mark.parametrize(
    "record",
    [
        user("Caveat: made by the client", isMeta=True),
        user([{"type": "text", "text": "x"}, {"type": "image"}], isMeta=True),
        user("<local-command-stdout>x</local-command-stdout>"),
        user("<command-name>/clear</command-name>"),
        user([]),
        {"type": "summary", "summary": "A title", "leafUuid": "l"},
        {"type": "system", "subtype": "local_command", "content": "x"},
        {"type": "progress", "data": {"type": "hook_progress"}},
        {"type": "attachment", "attachment": {"type": "hook_success", "stdout": "x"}},
        {"type": "attachment", "attachment": 3},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x",
                                              "commandMode": "task-notification"}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x",
                                              "isMeta": True}},
        {"type": "something-new", "message": {"content": "x"}},
        {"type": ["user"]},
        {},
    ],
)  # fmt: skip
def test_what_says_nothing_gives_no_line(record: dict[str, Any]) -> None:
    assert line_of(record, CONTEXT, "s") is None


def test_results_in_a_users_message_are_kept_also_where_the_words_are_the_clients() -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": "Error: quoted"}
    line = line_of(user([block, {"type": "text", "text": "x"}], isMeta=True), CONTEXT, "s")
    assert line is not None
    assert [(r.call, r.ok) for r in line.content.results] == [("t", True)]
    assert line.content.texts == []
    running = line_of(user([block], toolUseResult={"backgroundTaskId": "b"}), CONTEXT, "s")
    assert running is not None
    assert [r.ok for r in running.content.results] == [None]


def test_an_image_with_a_reminder_stays_an_attachment_of_the_user() -> None:
    image = {"type": "image", "source": {"data": "QUJD"}}
    text = {"type": "text", "text": "<system-reminder>x</system-reminder>"}
    line = line_of(user([image, text]), CONTEXT, "s")
    assert line is not None
    assert (line.turn.role, line.content.flags, line.content.texts) == ("user", ["attachment"], [])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"type": "user"}, "message is NoneType"),
        ({"type": "assistant", "message": "x"}, "message is str"),
        (user(3), "content is int"),
        (user("x", uuid=[]), "uuid is list"),
        (user("x", timestamp="yesterday"), "not ISO 8601"),
        ({"type": "assistant", "message": {"id": [], "content": "x"}}, "id of the message is list"),
    ],
)
def test_a_record_that_cannot_be_read_says_why(record: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        line_of(record, CONTEXT, "s")


@pytest.mark.parametrize(
    ("record", "session"),
    [
        ({"sessionId": "s"}, "s"),
        ({"session_id": "s"}, "s"),
        ({}, "file"),
        ({"sessionId": "s", "forkedFrom": {"sessionId": "old", "messageUuid": "u"}}, "old"),
        ({"sessionId": "s", "forkedFrom": {"sessionId": 3}}, "s"),
        ({"sessionId": "s", "isSidechain": True, "agentId": "a1"}, "s/agent-a1"),
        ({"sessionId": "s", "isSidechain": True, "uuid": "t"}, "s/sidechain-r"),
        ({"sessionId": "s", "isSidechain": True, "parentUuid": "p"}, "s/sidechain-p"),
        ({"sessionId": "s", "isSidechain": True}, "s/sidechain"),
    ],
)
def test_the_session_of_a_record(record: dict[str, Any], session: str) -> None:
    assert session_named(record, CONTEXT, Tree(roots={"t": "r"})) == session


def test_a_copy_keeps_the_id_that_it_was_copied_from() -> None:
    copy = user("x", uuid="new", forkedFrom={"sessionId": "old", "messageUuid": "u"})
    line = line_of(copy, CONTEXT, "old")
    assert line is not None
    assert line.turn.source_id == "u"
