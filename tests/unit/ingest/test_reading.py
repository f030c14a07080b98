import json
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.inputs import (
    read_turns,
    turns_from_dicts,
    turns_from_messages,
)
from symfonic.capabilities.memory.ingest.reading import Checkpoint
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.store import Turn


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "find it"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "found"},
    {"role": "user", "content": ""},
    {"role": "assistant", "content": "here"},
    {"role": "nobody", "content": "?"},
    {"role": "user", "content": "thanks"},
]
PLAIN: list[dict[str, Any]] = [
    {"text": f"line {n}", "session": f"s{n % 3}", "role": "user" if n % 4 else "nobody"}
    for n in range(12)
]


@pytest.mark.parametrize(
    "data",
    [
        jsonl(*PLAIN),
        jsonl(*TALK),
        json.dumps(TALK).encode(),
        json.dumps(TALK, indent=2).encode("utf-16"),
        b"\xef\xbb\xbf" + json.dumps({"messages": TALK}, indent=2).encode(),
        json.dumps([{"messages": TALK}, {"messages": TALK}]).encode(),
    ],
    ids=["lines", "message lines", "list", "utf-16 list", "object", "list of objects"],
)
def test_a_reading_stopped_anywhere_goes_on_with_the_same_turns(data: bytes) -> None:
    whole = list(read_turns(data))
    for stop in range(len(whole) + 1):
        reading = read_turns(data)
        taken = list(islice(reading, stop))
        start = Checkpoint.from_plain(json.loads(json.dumps(reading.checkpoint().to_plain())))
        rest = list(read_turns(data, start=start))
        repeated = len(taken) + len(rest) - len(whole)
        assert repeated >= 0
        assert taken[: len(taken) - repeated] + rest == whole
    reading = read_turns(data)
    assert list(reading) == whole
    assert list(read_turns(data, start=reading.checkpoint())) == []


def test_a_line_is_never_read_twice_after_a_checkpoint() -> None:
    data = jsonl(*PLAIN)
    reading = read_turns(data)
    first = next(iter(reading))
    assert [first, *read_turns(data, start=reading.checkpoint())] == list(read_turns(data))


def test_a_torn_last_line_is_pending_and_read_by_the_next_reading() -> None:
    data = jsonl(*PLAIN)
    torn = data[:-9]
    reading = read_turns(torn)
    items = list(reading)
    assert len(items) == len(PLAIN) - 1
    assert reading.pending is not None
    assert reading.pending.line == len(PLAIN)
    assert not any(isinstance(i, Reject) and "JSON" in i.reason for i in items)
    assert reading.checkpoint().offset == reading.pending.offset == torn.rindex(b"\n") + 1
    assert [*items, *read_turns(data, start=reading.checkpoint())] == list(read_turns(data))


def test_a_last_line_without_a_line_feed_that_is_whole_is_read() -> None:
    reading = read_turns(jsonl(*PLAIN)[:-1])
    assert len(list(reading)) == len(PLAIN)
    assert reading.pending is None


def test_a_call_whose_result_is_torn_waits_for_it() -> None:
    data = jsonl(*TALK[:3])
    reading = read_turns(data[:-5])
    first = list(reading)
    rest = list(read_turns(data, start=reading.checkpoint()))
    assert [*first, *rest] == list(read_turns(data))
    assert isinstance(rest[0], Turn)
    assert rest[0].calls[0].result == "found"


def test_truncated_json_gives_what_is_whole_and_says_where_it_ends() -> None:
    data = json.dumps(TALK, indent=1).encode()
    reading = read_turns(data[:-20])
    assert sum(1 for _ in reading) > 0
    assert reading.pending is not None


def test_an_empty_file_is_read_and_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    reading = read_turns(path)
    assert list(reading) == []
    assert (reading.read, reading.offset, reading.pending) == (0, 0, None)


def test_a_file_names_the_session_of_what_names_none(tmp_path: Path) -> None:
    path = tmp_path / "support-07.jsonl"
    path.write_bytes(
        jsonl({"text": "a"}, {"text": "b", "session": "own"}, {"text": "c", "session": ""})
    )
    assert [turn.session for turn in read_turns(path)] == ["support-07", "own", "support-07"]  # type: ignore[union-attr]
    assert [turn.session for turn in read_turns(path, session="x")] == ["x", "own", "x"]  # type: ignore[union-attr]


def test_bad_lines_are_rejects_with_line_and_offset_and_the_rest_is_read() -> None:
    good = jsonl({"text": "good"})
    bad = b'{"text": "caf\xe9"}\n'
    reading = read_turns(good + b"{oops\n" + bad + good)
    items = list(reading)
    assert [(i.line, i.offset) for i in items if isinstance(i, Reject)] == [
        (2, len(good)), (3, len(good) + 6),
    ]  # fmt: skip
    assert (reading.read, reading.turns, reading.rejected) == (4, 2, 2)


def test_a_ten_megabyte_line_is_read() -> None:
    (turn,) = read_turns(jsonl({"text": "ab cd " * 1_700_000}))
    assert isinstance(turn, Turn)
    assert len(turn.text) > 10_000_000


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for count in (2000, 20_000):
        for shape in ("lines", "list"):
            path = tmp_path / f"{shape}-{count}.json"
            values = [{"text": f"turn number {n} " + "x" * 100} for n in range(count)]
            path.write_bytes(jsonl(*values) if shape == "lines" else json.dumps(values).encode())
            del values
            tracemalloc.start()
            assert sum(1 for _ in read_turns(path)) == count
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert max(peaks) < 3_000_000


def test_a_file_that_became_shorter_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl({"text": "a"}))
    with pytest.raises(InputError, match="shorter"):
        read_turns(path, start=Checkpoint(offset=1000, line=9, number=9))


def test_an_unknown_zone_is_an_input_error_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Mars/Olympus"):
        read_turns(tmp_path / "absent.jsonl", timezone="Mars/Olympus")


def test_dicts_in_memory_are_read_as_a_file_of_them_is() -> None:
    def without_importer_place(items: Any) -> list[Any]:
        return [i if isinstance(i, Turn) else i.reason for i in items]

    cases: list[list[dict[str, Any]]] = [PLAIN, TALK, [{"messages": TALK}]]
    for values in cases:
        from_file = read_turns(jsonl(*values), session="s")
        from_dicts = turns_from_dicts(iter(values), session="s")
        assert from_dicts.format == from_file.format
        assert without_importer_place(from_dicts) == without_importer_place(from_file)
    assert list(turns_from_dicts([])) == []


def test_a_live_loop_hands_over_messages_of_either_shape() -> None:
    plain = {"text": "plain", "role": "assistant", "tool_calls": [{"name": "f", "ok": True}]}
    turns = turns_from_messages([*TALK[:3], plain], session="live-1", start_position=40)
    assert [(t.position, t.role, t.text) for t in turns] == [
        (40, "user", "find it"),
        (41, "assistant", ""),
        (42, "tool", "found"),
        (43, "assistant", "plain"),
    ]
    assert {(t.session, t.importer) for t in turns} == {("live-1", "live")}
    assert turns[1].calls[0].result == "found"


def test_live_turns_stand_after_what_is_stored_unless_told() -> None:
    (turn,) = turns_from_messages({"role": "user", "content": "hi"})
    assert (turn.position, turn.session) == (None, "default")
    assert turns_from_messages([{"role": "user", "content": ""}]) == []
    assert turns_from_messages([]) == []


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{"role": "user", "content": "a"}, {"role": "wizard", "content": "b"}], "wizard"),
        ([{"text": "x", "at": "2027-01-01T00:00:00"}], "--timezone"),
        (["text"], "not str"),
    ],
)
def test_a_live_message_that_cannot_be_read_is_an_input_error(messages: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        turns_from_messages(messages, session="s")
