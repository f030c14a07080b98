"""Laws of Codex rollouts, whatever stands in their records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.ingest.inputs import read_turns
from symfonic.capabilities.memory.ingest.reading import Checkpoint
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import SCOPE, content

if TYPE_CHECKING:
    from symfonic.capabilities.memory.ingest.rejects import Reject

TEXTS = st.text(st.characters(), max_size=12) | st.sampled_from(
    [
        "", "go on", "go on", "\udc88", "a\x00b", "<environment_context>x</environment_context>",
        "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>y</INSTRUCTIONS>", "<turn_aborted>",
        '{"output": "no", "metadata": {"exit_code": 1}}', "Process exited with code 2\nOutput:",
        '{"output": {"output": 3}}', "{" * 40, "Exit code: " + "9" * 30,
    ]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.sampled_from(
    ["2026-01-01T10:00:00.000Z", "2026-01-01T10:00:00.400Z", "2026-01-01T10:05:00Z", 1_767_261_600]
)
IDS = st.sampled_from(["c1", "c2", "c3"])


def odd(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what is usual in a field, now and then anything."""
    return st.one_of(usual, usual, usual, usual, ANYTHING)


def fields(**usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object of which any field may be missing or hold anything."""
    return odd(st.fixed_dictionaries({}, optional={k: odd(v) for k, v in usual.items()}))


PARTS = st.lists(
    fields(type=st.sampled_from(["input_text", "output_text", "input_image"]), text=TEXTS),
    max_size=3,
)
PAYLOAD = fields(
    type=st.sampled_from(
        [
            "message", "message", "user_message", "agent_message", "function_call",
            "function_call_output", "custom_tool_call", "custom_tool_call_output",
            "local_shell_call", "web_search_call", "reasoning", "token_count", "turn_aborted",
            "task_complete", "exec_command_end", "ghost_snapshot", "from_the_future",
        ]
    ),
    id=TEXTS,
    role=st.sampled_from(["user", "assistant", "developer"]),
    content=PARTS | TEXTS | st.none(),
    message=TEXTS,
    images=st.none() | st.lists(TEXTS, max_size=1),
    call_id=IDS,
    name=st.sampled_from(["shell", "apply_patch"]),
    arguments=TEXTS,
    input=TEXTS,
    action=fields(type=TEXTS, command=st.lists(TEXTS, max_size=2)),
    status=st.sampled_from(["completed", "failed", "in_progress"]),
    output=TEXTS | PARTS | fields(content=TEXTS, success=st.booleans()),
    exit_code=st.integers(0, 2),
    timestamp=TIMES,
    forked_from_id=st.sampled_from(["s0", "s1"]),
    source=fields(subagent=st.just("review")),
    instructions=st.none(),
    replacement_history=PARTS,
)  # fmt: skip
RECORD = odd(
    st.fixed_dictionaries(
        {},
        optional={
            "type": odd(
                st.sampled_from(
                    ["response_item", "response_item", "event_msg", "event_msg", "turn_context",
                     "compacted", "session_meta"]
                )
            ),
            "timestamp": odd(TIMES),
            "payload": PAYLOAD,
        },
    )
    | PAYLOAD
)  # fmt: skip
ROLLOUT = st.lists(RECORD, max_size=12)
SPOKEN = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8)


def lines(records: list[Any]) -> bytes:
    """A rollout of these records after a first one that gives no turn."""
    begun = {"type": "turn_context", "payload": {}}
    return b"".join(json.dumps(record).encode() + b"\n" for record in (begun, *records))


def read(data: bytes) -> list[Turn | Reject]:
    with read_turns(data, format="codex", now=NOW, session="file") as reading:
        return list(reading)


def prompt(text: str) -> list[dict[str, Any]]:
    parts = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": parts}
    return [
        {"type": "response_item", "payload": item},
        {"type": "event_msg", "payload": {"type": "user_message", "message": text}},
    ]


@given(ROLLOUT)
def test_whatever_a_rollout_holds_is_read_rejected_or_counted(rollout: list[Any]) -> None:
    with read_turns(lines(rollout), format="codex", now=NOW) as reading:
        items = list(reading)
    documents = [r for r in rollout if isinstance(r, dict) and "items" in r]
    assert reading.read == len(rollout) + 1 or documents
    assert len(items) == reading.turns + reading.rejected
    for item in items:
        if isinstance(item, Turn):
            item.text.encode()
            assert item.role in ("user", "assistant", "tool", "system")


@given(ROLLOUT, st.data())
def test_a_cut_off_rollout_gives_the_beginning_of_it(
    rollout: list[Any], data: st.DataObject
) -> None:
    whole = lines(rollout)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    with read_turns(cut, format="codex", now=NOW, session="file") as reading:
        begun = [i for i in reading if isinstance(i, Turn)]
    ended = [i for i in read(whole) if isinstance(i, Turn)]
    assert [(t.session, t.position, t.role, t.text) for t in begun] == [
        (t.session, t.position, t.role, t.text) for t in ended[: len(begun)]
    ]
    assert (reading.pending is not None) <= (not cut.endswith(b"\n"))


@given(ROLLOUT, st.data())
def test_a_reading_that_goes_on_gives_the_rest(rollout: list[Any], data: st.DataObject) -> None:
    whole = lines(rollout)
    everything = read(whole)
    with read_turns(whole, format="codex", now=NOW, session="file") as reading:
        taken = []
        for item in reading:
            taken.append(item)
            if data.draw(st.booleans()):
                break
        checkpoint = Checkpoint.from_plain(reading.checkpoint().to_plain())
    with read_turns(whole, format="codex", now=NOW, session="file", start=checkpoint) as reading:
        rest = list(reading)
    known = len(taken) + len(rest) - len(everything)
    assert known >= 0
    assert [*taken[: len(taken) - known], *rest] == everything


@given(ROLLOUT)
def test_turns_of_a_session_keep_the_order_of_the_file(rollout: list[Any]) -> None:
    places: dict[str, list[int]] = {}
    for item in read(lines(rollout)):
        if isinstance(item, Turn) and item.position is not None:
            places.setdefault(item.session, []).append(item.position)
    for found in places.values():
        assert found == sorted(set(found))


@given(ROLLOUT)
def test_a_rollout_again_adds_nothing(rollout: list[Any]) -> None:
    with make_memory() as memory:
        first = memory.ingest(rollout, scope=SCOPE, format="codex", now=NOW)
        before = content(memory)
        again = memory.ingest(rollout, scope=SCOPE, format="codex", now=NOW)
        assert again.added == 0
        assert again.known == first.added + first.known
        assert content(memory) == before


@given(SPOKEN, st.data())
def test_each_prompt_is_one_whichever_of_its_records_comes_first(
    texts: list[str], data: st.DataObject
) -> None:
    records = [r for text in texts for r in data.draw(st.permutations(prompt(text)))]
    turns = [item for item in read(lines(records)) if isinstance(item, Turn)]
    assert [turn.text for turn in turns] == texts
