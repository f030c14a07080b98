import json
from datetime import UTC, datetime
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest import codex
from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.reading import Checkpoint
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import SCOPE

Record = dict[str, Any]


def at(minute: int, second: float = 0) -> str:
    return f"2026-01-01T10:{minute:02}:{second:06.3f}Z"


def item(kind: str, *, when: str | None = None, **payload: Any) -> Record:
    return {"timestamp": when, "type": "response_item", "payload": {"type": kind, **payload}}


def event(kind: str, *, when: str | None = None, **payload: Any) -> Record:
    return {"timestamp": when, "type": "event_msg", "payload": {"type": kind, **payload}}


def said(role: str, text: str, *, when: str | None = None, **more: Any) -> Record:
    parts = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    return item("message", when=when, role=role, content=parts, **more)


def call(call_id: str, name: str = "shell", *, when: str | None = None) -> Record:
    return item("function_call", when=when, name=name, arguments="{}", call_id=call_id)


def output(call_id: str, text: str, *, when: str | None = None) -> Record:
    return item("function_call_output", when=when, call_id=call_id, output=text)


def meta(name: str, *, when: str | None = None, **more: Any) -> Record:
    return {"timestamp": when, "type": "session_meta", "payload": {"id": name, **more}}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(*records: Any) -> list[Turn]:
    items = list(turns_from_dicts(records, format="codex", now=NOW, session="file"))
    assert all(isinstance(found, Turn) for found in items), items
    return [found for found in items if isinstance(found, Turn)]


def outline(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text or turn.calls[0].name) for turn in turns]


def ended(turns: list[Turn]) -> list[bool | None]:
    return [made.ok for turn in turns for made in turn.calls]


WORK = (
    meta("s", when=at(0)),
    said("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>", when=at(0)),
    said("user", "mend it", when=at(1)),
    event("user_message", message="mend it", when=at(1)),
    item("reasoning", summary=[], when=at(2)),
    call("c1", when=at(2)),
    event("token_count", info=None, when=at(2)),
    output("c1", '{"output": "done", "metadata": {"exit_code": 0}}', when=at(3)),
    event("agent_message", message="Mended.", when=at(4)),
    said("assistant", "Mended.", when=at(4)),
    event("task_complete", last_agent_message="Mended.", when=at(4)),
)


def test_a_session_is_read_once_with_its_calls() -> None:
    reading = turns_from_dicts(WORK, format="codex", now=NOW)
    turns = [found for found in reading if isinstance(found, Turn)]
    assert outline(turns) == [
        ("user", "mend it"), ("assistant", "shell"), ("tool", "done"), ("assistant", "Mended."),
    ]  # fmt: skip
    assert [t.position for t in turns] == [0, 1, 2, 3]
    assert {t.session for t in turns} == {"s"}
    assert turns[0].occurred_at == datetime(2026, 1, 1, 10, 1, tzinfo=UTC)
    assert ended(turns) == [True]
    assert (reading.read, reading.turns, reading.skipped, reading.rejected) == (11, 4, 7, 0)


def test_a_turn_that_was_broken_off_is_no_success() -> None:
    turns = read(
        said("user", "first"), call("c1"), output("c1", "fine"), event("task_complete"),
        said("user", "second"), call("c2"), output("c2", "fine"), call("c3"),
        event("turn_aborted", reason="interrupted"), output("c3", "aborted by user"),
    )  # fmt: skip
    assert ended(turns) == [True, False, False]
    flagged = [t.calls[0].id for t in turns if "aborted" in t.flags]
    assert flagged == ["c2", "c3"]
    assert not any("orphan_result" in turn.flags for turn in turns)
    marked = read(said("user", "go"), call("c1"), said("user", "<turn_aborted>x</turn_aborted>"))
    assert ended(marked) == [False]


def test_an_event_tells_how_a_call_ended() -> None:
    assert ended(read(call("c1"), event("exec_command_end", call_id="c1", exit_code=2))) == [False]
    assert ended(read(call("c1"), event("patch_apply_end", call_id="c1", success=True))) == [True]


def test_a_repeated_prompt_is_two() -> None:
    once = (said("user", "go on"), event("user_message", message="go on"))
    answer = said("assistant", "Done.")
    assert outline(read(*once, answer, *once)) == [
        ("user", "go on"), ("assistant", "Done."), ("user", "go on"),
    ]  # fmt: skip
    assert len(read(once[0], once[0])) == 2
    assert len(read(once[1], call("c1"), once[0])) == 3


def test_records_without_a_time_take_that_of_the_one_before() -> None:
    turns = read(meta("s", timestamp=at(3)), said("user", "a"), said("user", "b", timestamp=at(5)))
    assert [(t.occurred_at and t.occurred_at.minute, t.flags) for t in turns] == [
        (3, ("inferred_time",)), (5, ()),
    ]  # fmt: skip
    (only,) = read(said("user", "a"))
    assert (only.occurred_at, only.flags) == (None, ("no_time",))


def test_old_rollouts_are_bare_records_or_one_object() -> None:
    parts = [{"type": "input_text", "text": "hello"}]
    message = {"type": "message", "role": "user", "content": parts}
    begun = {"id": "s", "timestamp": at(1), "instructions": None}
    bare = turns_from_dicts([begun, {"record_type": "state"}, message, {"type": "reasoning"}])
    whole = turns_from_dicts(
        [{"session": begun, "items": [message, {**message, "role": "assistant"}]}]
    )
    assert bare.format == whole.format == "codex"
    (turn,) = bare
    assert isinstance(turn, Turn)
    assert (turn.session, turn.text) == ("s", "hello")
    assert [t.role for t in whole if isinstance(t, Turn)] == ["user", "assistant"]


def test_a_copy_of_another_session_belongs_to_it() -> None:
    history = [said("user", "one", when=at(1)), said("assistant", "two", when=at(2))]
    first = [meta("old", when=at(0)), *history]
    copied = [{**record, "timestamp": at(30, 0.2)} for record in first]
    fork = [
        meta("new", when=at(30), forked_from_id="old"), *copied, said("user", "three", when=at(31))
    ]  # fmt: skip
    for records in (fork, [meta("new", when=at(30)), *copied, fork[-1]]):
        turns = read(*records)
        assert [(t.session, t.position, t.text) for t in turns] == [
            ("old", 0, "one"), ("old", 1, "two"), ("new", 0, "three"),
        ]  # fmt: skip
        assert ["copied" in t.flags for t in turns] == [True, True, False]
        for order in ((first, records), (records, first)):
            with make_memory() as memory:
                added = [
                    memory.ingest(one, scope=SCOPE, format="codex", now=NOW).added for one in order
                ]
            assert sum(added) == 3


def test_rollouts_behind_each_other_are_sessions_of_their_own() -> None:
    turns = read(
        meta("a", when=at(0)), said("user", "one", when=at(1)),
        meta("b", when=at(9)), said("user", "two", when=at(9)),
    )  # fmt: skip
    assert [(t.session, t.text) for t in turns] == [("a", "one"), ("b", "two")]


def test_the_prompts_of_a_subagent_are_no_persons() -> None:
    assert outline(read(meta("s", source={"subagent": "review"}), said("user", "look"))) == [
        ("system", "look")
    ]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (3, "a JSON int is not a record"),
        ({"type": "world_state", "payload": {}}, "of type 'world_state' is not known"),
        ({"type": "event_msg", "payload": []}, "the payload is list"),
        (item("from_the_future"), "of type 'from_the_future' is not known"),
        (item("message", role="critic"), "the role 'critic'"),
        (item("message", role="user", content=3), "content is int"),
        (item("message", role="user", content=[3]), "a part of content is int"),
        (item("function_call", call_id="c"), "the call has no name"),
        (item("function_call", name="f", call_id=[]), "call_id is list"),
        (item("custom_tool_call", name="f", input=json.loads("[" * 90 + "]" * 90)), "nested"),
        (said("user", "x", when="2026-01-01T10:00:00"), "names no zone"),
    ],
)
def test_what_cannot_be_read_is_a_reject_and_the_rest_lands(record: Any, reason: str) -> None:
    items = list(turns_from_dicts([said("user", "a"), record, said("user", "b")], format="codex"))
    assert [found.text for found in items if isinstance(found, Turn)] == ["a", "b"]
    (reject,) = [found for found in items if isinstance(found, Reject)]
    assert reason in reject.reason
    assert reject.line == 2


def test_a_torn_last_line_is_pending_and_comes_with_the_next_import(tmp_path: Any) -> None:
    path = tmp_path / "rollout.jsonl"
    whole = lines(*WORK)
    path.write_bytes(whole[:-400])
    with make_memory() as memory:
        first = memory.ingest(path, scope=SCOPE, now=NOW)
        assert first.pending
        assert first.added > 0
        path.write_bytes(whole)
        second = memory.ingest(path, scope=SCOPE, now=NOW)
        assert (first.added + second.added, second.pending) == (4, False)


def test_a_line_that_is_no_json_keeps_its_place() -> None:
    data = lines(said("user", "a")) + b"{broken\n" + lines(said("user", "b"))
    with read_turns(data) as reading:
        kinds = [type(found).__name__ for found in reading]
    assert kinds == ["Turn", "Reject", "Turn"]


def test_a_reading_that_goes_on_still_knows_its_session() -> None:
    more = (said("user", "again", when=at(9)), call("c9"), output("c9", "fine"))
    with read_turns(lines(*WORK, *more), now=NOW) as reading:
        everything = list(reading)
    with read_turns(lines(*WORK, *more), now=NOW) as reading:
        for _ in range(4):
            next(iter(reading))
        start = Checkpoint.from_plain(reading.checkpoint().to_plain())
    assert start.offset > 0
    with read_turns(lines(*WORK, *more), now=NOW, start=start) as reading:
        assert list(reading) == everything[4:]
        assert reading.turns == 3


def test_a_very_long_turn_is_given_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codex, "MAX_HELD", 2)
    records = [said("user", "go"), call("c1"), output("c1", '{"exit_code": 1, "output": "no"}')]
    turns = read(*records)
    assert turns[2].answers is not None
    assert turns[2].flags == ("no_time",)
    with make_memory() as memory:
        memory.ingest(records, scope=SCOPE, format="codex", now=NOW)
        rows = [
            row for row in memory.export(scope=SCOPE) if '"name":"shell"' in str(row.get("body"))
        ]
    assert rows
    assert '"ok":false' in str(rows[0]["body"])
