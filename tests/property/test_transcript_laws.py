"""Laws of reading Anthropic messages and Claude Code transcripts, whatever stands in them.

The shapes follow the public schemas of both: any field may be missing, of another type or full of
odd text, and lines may be cut off.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.ingest.inputs import read_turns
from symfonic.capabilities.memory.ingest.reading import Checkpoint
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import SCOPE

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING = st.recursive(
    SCALARS,
    lambda held: (
        st.lists(held, max_size=3) | st.dictionaries(st.text(max_size=8), held, max_size=3)
    ),
    max_leaves=8,
)
ODD_TEXT = st.sampled_from([
    "\ud83d", "\x00", "e\u0301", "\u202e", "\U0001f680", "<system-reminder>", "</system-reminder>",
    "<command-name>/x</command-name>", "[Request interrupted by user]", "\x1b[1m",
    "data:a/b;base64,QQ==",
])  # fmt: skip
WORDS = st.lists(st.text(max_size=10) | ODD_TEXT, max_size=4).map("".join)
UUIDS = st.integers(0, 30).map(str)
SELDOM = st.integers(0, 9).map(lambda chance: chance == 5)
IDS = st.sampled_from(["a", "b", "c", "d", "t1", "t2"])


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@st.composite
def loosely(draw: st.DrawFn, /, **fields: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Objects with these fields, each now and then missing or of any other type."""
    given: dict[str, Any] = {}
    for name, field in fields.items():
        chance = draw(st.integers(0, 39))
        if chance == 17:
            given[name] = draw(ANYTHING | st.just(deep(90)))
        elif chance != 23:
            given[name] = draw(field)
    return given


def block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return loosely(type=st.just(kind), **fields)


TEXT = block("text", text=WORDS)
IMAGE = block("image", source=ANYTHING)
BLOCKS = st.one_of(
    TEXT,
    IMAGE,
    block("thinking", thinking=WORDS, signature=WORDS),
    block("tool_use", id=IDS, name=WORDS, input=ANYTHING),
    block("tool_result", tool_use_id=IDS, content=WORDS | st.lists(TEXT | IMAGE, max_size=2),
          is_error=st.booleans()),
    block("web_search_tool_result", tool_use_id=IDS, content=ANYTHING),
    block("hologram", data=ANYTHING),
)  # fmt: skip
CONTENT = WORDS | st.lists(BLOCKS, max_size=4)
TIMES = st.sampled_from(
    ["2026-01-01T10:00:00Z", "2026-01-01T10:00:05.123Z", "2099-01-01T00:00:00Z"]
)
MESSAGES = loosely(
    role=st.sampled_from(["user", "assistant", "system"]), content=CONTENT, id=IDS, timestamp=TIMES
)
REQUESTS = loosely(messages=st.lists(MESSAGES | ANYTHING, max_size=4), system=CONTENT, id=IDS)
RECORDS = loosely(
    type=st.sampled_from(
        ["user", "assistant", "user", "assistant", "system", "summary", "progress", "attachment"]
    ),
    uuid=UUIDS, parentUuid=st.none() | UUIDS, logicalParentUuid=UUIDS,
    sessionId=st.sampled_from(["s", "z"]), agentId=IDS,
    isSidechain=SELDOM, isMeta=SELDOM, isCompactSummary=SELDOM,
    timestamp=TIMES, forkedFrom=st.none() | loosely(sessionId=IDS, messageUuid=IDS),
    message=loosely(id=IDS, role=st.sampled_from(["user", "assistant"]), content=CONTENT),
    attachment=loosely(type=st.just("queued_command"), prompt=CONTENT),
    toolUseResult=st.none() | loosely(backgroundTaskId=IDS),
    origin=st.none() | loosely(kind=WORDS),
)  # fmt: skip


@st.composite
def sources(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> bytes:
    """The bytes of lines or of a list of these values, with broken lines and a cut-off end."""
    count = draw(st.integers(0, 8))
    given = [draw(ANYTHING if draw(st.integers(0, 19)) == 11 else values) for _ in range(count)]
    texts = [json.dumps(value, ensure_ascii=draw(st.booleans())) for value in given]
    if draw(st.booleans()):
        data = ("[" + ",\n".join(texts) + "]").encode("utf-8", "surrogatepass")
    else:
        texts = [t[: draw(st.integers(0, len(t)))] if draw(st.integers(0, 19)) == 7 else t
                 for t in texts]  # fmt: skip
        data = "".join(t + "\n" for t in texts).encode("utf-8", "surrogatepass")
    cut = draw(st.integers(0, len(data))) if draw(st.integers(0, 3)) == 0 else len(data)
    return data[:cut]


def check_reading(data: bytes, name: str) -> None:
    """Everything is accounted for, storable and in order, and a reading may stop anywhere."""
    reading = read_turns(data, format=name)
    items = list(reading)
    turns = [item for item in items if isinstance(item, Turn)]
    rejects = [item for item in items if isinstance(item, Reject)]
    assert (len(turns), len(rejects)) == (reading.turns, reading.rejected)
    assert reading.read == reading.turns + reading.rejected + reading.skipped
    for turn in turns:
        turn.text.encode()
        assert turn.text.strip() or turn.calls or "attachment" in turn.flags
    for reject in rejects:
        assert reject.reason
    assert [reject.line for reject in rejects] == sorted(reject.line for reject in rejects)
    for stop in range(len(items)):
        part = read_turns(data, format=name)
        taken = list(islice(part, stop))
        start = Checkpoint.from_plain(json.loads(json.dumps(part.checkpoint().to_plain())))
        rest = list(read_turns(data, format=name, start=start))
        repeated = len(taken) + len(rest) - len(items)
        assert repeated >= 0
        assert taken[: len(taken) - repeated] + rest == items


@given(sources(MESSAGES | REQUESTS))
def test_any_messages_are_read_or_rejected(data: bytes) -> None:
    check_reading(data, "anthropic")


@given(sources(RECORDS))
def test_any_transcript_is_read_or_rejected(data: bytes) -> None:
    check_reading(data, "claude_code")


@given(st.lists(RECORDS | ANYTHING, max_size=5))
def test_any_session_in_one_document_is_read_or_rejected(records: list[Any]) -> None:
    check_reading(json.dumps({"loglines": records}).encode(), "claude_code")


@given(sources(MESSAGES | REQUESTS), sources(RECORDS))
def test_again_adds_nothing(
    tmp_path_factory: pytest.TempPathFactory, messages: bytes, transcript: bytes
) -> None:
    folder = tmp_path_factory.mktemp("again")
    with make_memory() as memory:
        for name, data in (("anthropic", messages), ("claude_code", transcript)):
            path = folder / name
            path.write_bytes(data)
            memory.ingest(path, scope=SCOPE, format=name, now=NOW)
            again = memory.ingest(path, scope=SCOPE, format=name, now=NOW)
            assert again.added == 0


@st.composite
def talks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A transcript as the client writes it: prompts, and messages over several lines with calls."""
    records: list[dict[str, Any]] = []

    def put(kind: str, content: Any, **message: Any) -> None:
        number = len(records)
        records.append({
            "type": kind, "uuid": f"u{number}", "sessionId": "s", "isSidechain": False,
            "parentUuid": records[-1]["uuid"] if records else None,
            "timestamp": f"2026-01-01T10:{number // 60:02}:{number % 60:02}Z",
            "message": {"role": kind, "content": content, **message},
        })  # fmt: skip

    for number in range(draw(st.integers(1, 4))):
        put("user", f"prompt {number}.")
        for part in range(draw(st.integers(0, 3))):
            name = f"m{number}.{part}"
            calls = draw(st.integers(0, 2))
            put("assistant", [{"type": "text", "text": f"saying {name}."}], id=name)
            for call in range(calls):
                use = {"type": "tool_use", "id": f"t{name}.{call}", "name": "Bash", "input": {}}
                put("assistant", [use], id=name)
            for call in range(calls):
                back = f"result {name}.{call}."
                put("user", [
                    {"type": "tool_result", "tool_use_id": f"t{name}.{call}", "content": back}
                ])  # fmt: skip
    return records


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@given(talks(), st.data())
def test_a_longer_transcript_adds_what_is_new_in_order(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("longer") / "s.jsonl"
    turns = [t for t in read_turns(written(path, records)) if isinstance(t, Turn)]
    said = [
        part if isinstance(part, str) else part[0].get("text") or part[0].get("content")
        for part in (record["message"]["content"] for record in records)
    ]
    assert [turn.text for turn in turns] == [text for text in said if text is not None]
    assert [turn.position for turn in turns] == list(range(len(turns)))
    assert all(call.ok for turn in turns for call in turn.calls)
    ends = [
        n for n in range(1, len(records) + 1)
        if n == len(records)
        or records[n]["message"].get("id") is None
        or records[n]["message"].get("id") != records[n - 1]["message"].get("id")
    ]  # fmt: skip
    cut = data.draw(st.sampled_from(ends))
    with make_memory() as memory:
        first = memory.ingest(written(path, records[:cut]), scope=SCOPE, now=NOW)
        second = memory.ingest(written(path, records), scope=SCOPE, now=NOW)
        assert first.added + second.added == len(turns)
        assert memory.ingest(path, scope=SCOPE, now=NOW).added == 0


@given(talks(), st.data())
def test_whatever_is_taken_back_the_active_branch_is_what_was_said_last(
    records: list[dict[str, Any]], data: st.DataObject
) -> None:
    prompts = [n for n, r in enumerate(records) if isinstance(r["message"]["content"], str)]
    back = data.draw(st.sampled_from(prompts[1:] or prompts))
    parent = records[back]["parentUuid"]
    last = {**records[0], "uuid": "new", "parentUuid": parent,
            "message": {"role": "user", "content": "instead."}}  # fmt: skip
    lines = "".join(json.dumps(record) + "\n" for record in [*records, last]).encode()
    before = "".join(json.dumps(record) + "\n" for record in records[:back]).encode()
    kept = [t for t in read_turns(before, format="claude_code") if isinstance(t, Turn)]
    turns = [t for t in read_turns(lines, format="claude_code") if isinstance(t, Turn)]
    if back:
        assert turns[:-1] == kept
    assert turns[-1].text == "instead."
