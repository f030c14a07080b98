import json
from itertools import islice
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.reading import Checkpoint, Reading
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.store import CallResult, Turn


def encoded(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def user(uuid: str, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    own = {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s"}
    return {**own, "message": message, **more}


def agent(
    uuid: str, message: str | None, *blocks: Any, parent: str | None = None, **more: Any
) -> dict[str, Any]:
    given = {"id": message, "role": "assistant", "content": list(blocks)}
    own = {"type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s"}
    return {**own, "message": given, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"x": call_id}}


def result(call_id: str, content: str = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def items_of(*records: Any) -> list[Turn | Reject]:
    return list(read_turns(encoded(*records), format="claude_code"))


def turns_of(*records: Any) -> list[Turn]:
    items = items_of(*records)
    assert all(isinstance(item, Turn) for item in items), items
    return [item for item in items if isinstance(item, Turn)]


def told(turns: list[Turn]) -> list[tuple[str, str, str]]:
    return [(turn.session, turn.role, turn.text) for turn in turns]


PARALLEL = (
    user("u", "go"),
    agent("a0", "m", {"type": "thinking", "thinking": "hm"}, parent="u"),
    agent("a1", "m", text("Two at once."), parent="a0"),
    agent("a2", "m", use("t1"), parent="a1"),
    {"type": "progress", "uuid": "p", "parentUuid": "a2", "sessionId": "s"},
    agent("a3", "m", use("t2", "Read"), parent="p"),
    user("r1", [result("t1", "no", is_error=True)], parent="a2"),
    user("r2", [result("t2", "file")], parent="a3"),
    agent("b", "n", text("Done."), parent="r2"),
)
FORKED = (
    user("u", "start"),
    agent("a", "m1", use("t1"), parent="u"),
    user("r", [result("t1")], parent="a"),
    agent("b", "m2", text("first answer"), parent="r"),
    user("c", "old question", parent="b"),
    agent("d", "m3", text("old answer"), use("t2"), parent="c"),
    user("e", [result("t2"), text("old words")], parent="d"),
    user("c2", "new question", parent="b"),
    agent("d2", "m4", text("new answer"), parent="c2"),
)
SIDE = (
    user("u", "start"),
    agent("a", "m1", use("task", "Task"), parent="u"),
    user("x", "Look at the tests.", parent=None, isSidechain=True),
    agent("y", "m2", use("t"), parent="x", isSidechain=True),
    user("z", [result("t")], parent="y", isSidechain=True),
    agent("w", "m3", text("Looked."), parent="z", isSidechain=True),
    user("r", [result("task", "Looked.")], parent="a"),
    agent("b", "m4", text("All well."), parent="r"),
)


def test_one_message_over_several_lines_is_one_turn_with_its_results() -> None:
    turns = turns_of(*PARALLEL)
    assert told(turns) == [
        ("s", "user", "go"), ("s", "assistant", "Two at once."), ("s", "tool", "no"),
        ("s", "tool", "file"), ("s", "assistant", "Done."),
    ]  # fmt: skip
    calls = [(call.name, call.result, call.ok) for call in turns[1].calls]
    assert calls == [("Bash", "no", False), ("Read", "file", True)]
    assert turns[1].flags == ("reasoning",)
    assert [turn.position for turn in turns] == [0, 1, 2, 3, 4]
    assert [turn.source_id for turn in turns] == ["u", "a0", "r1", "r2", "b"]


def test_a_result_between_the_blocks_of_a_message_does_not_cut_it() -> None:
    turns = turns_of(
        user("u", "go"),
        agent("a", "m", use("t1"), parent="u"),
        user("r", [result("t1")], parent="a"),
        agent("b", "m", use("t2"), parent="r"),
        user("q", [result("t2")], parent="b"),
    )
    assert [(t.role, len(t.calls)) for t in turns] == [
        ("user", 0), ("assistant", 2), ("tool", 0), ("tool", 0),
    ]  # fmt: skip
    assert all(call.ok for call in turns[1].calls)


def test_messages_without_an_id_or_with_one_that_somebody_spoke_after_are_several() -> None:
    turns = turns_of(
        agent("a", None, text("one")), agent("b", None, text("two"), parent="a"),
        agent("c", "m", text("three"), parent="b"), user("u", "hm", parent="c"),
        agent("d", "m", text("four"), parent="u"),
    )  # fmt: skip
    assert [turn.text for turn in turns] == ["one", "two", "three", "hm", "four"]


def test_a_branch_that_was_taken_back_is_left_out_and_counted() -> None:
    reading = read_turns(encoded(*FORKED))
    turns = [item for item in reading if isinstance(item, Turn)]
    assert [turn.text for turn in turns] == [
        "start", "", "done", "first answer", "new question", "new answer",
    ]  # fmt: skip
    assert (reading.turns, reading.skipped, reading.rejected) == (6, 3, 0)
    positions = [turn.position for turn in turns]
    assert positions == sorted(positions, key=lambda p: -1 if p is None else p)
    before = {turn.source_id: turn.position for turn in turns_of(*FORKED[:7])}
    assert all(before.get(turn.source_id, turn.position) == turn.position for turn in turns)


def test_a_repeated_uuid_is_one_message_and_an_unknown_parent_drops_none() -> None:
    turns = turns_of(user("u", "go"), user("u", "other"), user("v", "second", parent="ghost"))
    assert [turn.text for turn in turns] == ["go", "second"]


def test_a_copy_of_another_session_is_the_same_turn_there() -> None:
    fork = {"sessionId": "s", "messageUuid": "u"}
    copied = user("u", "go", sessionId="s2", forkedFrom=fork)
    (original,) = turns_of(user("u", "go"))
    (copy, added) = turns_of(copied, user("v", "new", parent="u", sessionId="s2"))
    assert copy == original
    assert (added.session, added.position) == ("s2", 0)


def test_talk_with_a_sub_agent_is_a_session_of_its_own() -> None:
    turns = turns_of(*SIDE)
    inner = "s/sidechain-x"
    assert told(turns) == [
        ("s", "user", "start"), ("s", "assistant", ""), ("s", "tool", "Looked."),
        (inner, "system", "Look at the tests."), (inner, "assistant", ""),
        (inner, "tool", "done"), (inner, "assistant", "Looked."), ("s", "assistant", "All well."),
    ]  # fmt: skip
    assert turns[1].calls[0].ok is True
    assert turns[3].flags == ("agent_prompt",)


def test_a_session_in_one_document_is_read_as_its_lines_are() -> None:
    bare = [{k: v for k, v in record.items() if k != "sessionId"} for record in PARALLEL]
    document = json.dumps({"loglines": [*bare, 3]}, indent=1).encode()
    items = list(read_turns(document, session="s"))
    assert [item for item in items if isinstance(item, Turn)] == turns_of(*PARALLEL)
    assert [item.reason for item in items if isinstance(item, Reject)] == [
        "the record is a JSON int, not an object"
    ]


def test_records_in_memory_are_read_as_a_file_is() -> None:
    reading = turns_from_dicts(iter(FORKED))
    assert reading.format == "claude_code"
    assert [t.text for t in reading if isinstance(t, Turn)] == [t.text for t in turns_of(*FORKED)]


def test_a_bad_record_is_a_reject_and_the_rest_lands() -> None:
    data = (
        encoded(user("u", "before"))
        + b'{"type": "user", "uui\n'
        + encoded(user("v", 3), [1], user("w", "after"))
    )
    items = list(read_turns(data))
    rejects = [(item.line, item.reason) for item in items if isinstance(item, Reject)]
    assert [line for line, _ in rejects] == [2, 3, 4]
    assert rejects[0][1].startswith("not valid JSON")
    assert [reason for _, reason in rejects[1:]] == [
        "content is int, not text or a list of blocks",
        "the record is a JSON list, not an object",
    ]
    assert [(t.text, t.position) for t in items if isinstance(t, Turn)] == [
        ("before", 0), ("after", 2),
    ]  # fmt: skip


def test_a_torn_last_line_is_pending_and_read_by_the_next_reading() -> None:
    whole = encoded(user("u", "kept"), agent("a", "m", text("said"), parent="u"),
                    user("v", "later", parent="a"))  # fmt: skip
    reading = read_turns(whole[:-30])
    assert [t.text for t in reading if isinstance(t, Turn)] == ["kept", "said"]
    assert reading.pending is not None
    assert (reading.pending.line, reading.rejected) == (3, 0)
    rest = read_turns(whole, start=reading.checkpoint())
    assert [t.text for t in rest if isinstance(t, Turn)] == ["later"]


def test_a_message_that_goes_on_in_a_torn_line_waits_for_it() -> None:
    whole = encoded(user("u", "go"), agent("a", "m-1", text("one"), parent="u"),
                    agent("b", "m-1", text("two"), parent="a"))  # fmt: skip
    reading = read_turns(whole[:-3])
    assert [t.text for t in reading if isinstance(t, Turn)] == ["go"]
    rest = read_turns(whole, start=reading.checkpoint())
    assert [t.text for t in rest if isinstance(t, Turn)] == ["one\ntwo"]


@pytest.mark.parametrize("records", [PARALLEL, FORKED, SIDE], ids=["parallel", "forked", "side"])
def test_a_reading_stopped_anywhere_goes_on_with_the_same_turns(records: tuple[Any, ...]) -> None:
    for data in (encoded(*records), json.dumps(list(records)).encode()):
        whole = list(read_turns(data))
        for stop in range(len(whole) + 1):
            reading = read_turns(data)
            taken = list(islice(reading, stop))
            start = Checkpoint.from_plain(json.loads(json.dumps(reading.checkpoint().to_plain())))
            rest = list(read_turns(data, start=start))
            repeated = len(taken) + len(rest) - len(whole)
            assert repeated >= 0
            assert taken[: len(taken) - repeated] + rest == whole


def test_a_long_wait_ends_and_the_late_result_finds_its_call() -> None:
    side = [user(f"x{n}", f"step {n}", isSidechain=True, agentId="a1") for n in range(600)]
    records = (agent("a", "m", use("task", "Task")), *side, user("r", [result("task")], parent="a"))
    reading: Reading = read_turns(encoded(*records))
    turns = [item for item in reading if isinstance(item, Turn)]
    assert len(turns) == 602
    assert turns[-1].answers == CallResult(call="task", result="done", ok=True)
    assert turns[-1].flags == ("orphan_result",)


def test_words_beside_a_result_come_after_it_under_a_number() -> None:
    turns = turns_of(agent("a", "m", use("t")), user("r", [text("and"), result("t")], parent="a"))
    assert [(t.role, t.text, t.source_id) for t in turns[1:]] == [
        ("tool", "done", "r"), ("user", "and", "r#2"),
    ]  # fmt: skip


def test_an_empty_source_gives_nothing() -> None:
    assert list(read_turns(b"", format="claude_code")) == []
    assert items_of() == []


def test_a_result_that_answers_no_call_of_the_message_under_way_is_kept_and_flagged() -> None:
    turns = turns_of(agent("a", "m", use("t")), user("r", [result("t")], parent="a"),
                     user("q", [result("ghost", "lost")], parent="r"))  # fmt: skip
    assert [(t.text, t.flags) for t in turns[1:]] == [("done", ()), ("lost", ("orphan_result",))]
