import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symfonic.capabilities.memory.ingest import source as sources
from symfonic.capabilities.memory.ingest.document import (
    Piece,
    pieces_of_document,
    pieces_of_lines,
)
from symfonic.capabilities.memory.ingest.source import Source


def read(data: bytes, offset: int = 0, line: int = 1, number: int = 0) -> list[Piece]:
    return list(pieces_of_document(Source(data), offset=offset, line=line, number=number))


@settings(max_examples=60)
@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(), max_size=3)),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from([1, 5, 4096]),
)
def test_a_list_gives_its_values_and_goes_on_after_each(
    values: list[Any], indent: int | None, ascii_only: bool, encoding: str, chunk: int
) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode(encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "_CHUNK", chunk)
        pieces = read(data)
        assert [piece.value for piece in pieces] == values
        for index, piece in enumerate(pieces):
            rest = read(data, piece.end, piece.last_line, piece.number)
            assert [(p.value, p.offset, p.line, p.number) for p in rest] == [
                (p.value, p.offset, p.line, p.number) for p in pieces[index + 1 :]
            ]


def test_lines_and_offsets_are_those_of_the_file() -> None:
    data = b'[\n  {"a": 1},\n  {"b": 2}\n]\n'
    pieces = read(data)
    assert [piece.line for piece in pieces] == [2, 3]
    assert [data[p.offset : p.end] for p in pieces] == [b'{"a": 1}', b'{"b": 2}']


def test_values_without_a_list_around_them_are_read_one_after_the_other() -> None:
    assert [p.value for p in read(b'{\n"a": 1\n}\n{\n"b": 2\n}\n')] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("cut", range(2, 40))
def test_a_cut_off_list_gives_its_whole_values_and_is_torn(cut: int) -> None:
    data = b'[{"text": "first"}, {"text": "second"}]'
    pieces = read(data[:cut])
    whole = [p.value for p in pieces if p.problem is None]
    if cut == len(data):
        assert len(whole) == 2
        assert all(not p.torn for p in pieces)
        return
    assert len(whole) == (cut >= 18) + (cut >= 38)
    assert pieces[-1].torn
    assert pieces[-1].offset <= cut


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'[{"a": 1} {"b": 2}, {"c": 3}]', "comma"),
        (b'[{"a": 1}, {"b" 2, "c": "long enough to be no torn end"}]', "not valid JSON"),
        (b'[{"a": 1}] trailing', "goes on"),
    ],
)
def test_a_broken_list_keeps_what_came_before(data: bytes, reason: str) -> None:
    first, second = read(data)
    assert first.value == {"a": 1}
    assert reason in (second.problem or "")
    assert not second.torn


def test_a_value_over_the_bound_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_UNIT_BYTES", 100)
    monkeypatch.setattr(sources, "_CHUNK", 10)
    (piece,) = read(json.dumps([{"text": "x" * 1000}]).encode())
    assert "longer than" in (piece.problem or "")


def test_deep_nesting_is_a_problem_not_a_crash() -> None:
    deep = b"[" * 100_000
    assert "nested" in (read(b"[" + deep)[0].problem or "")
    (piece,) = pieces_of_lines(Source(b'{"a":' + deep + b"\n").lines(offset=0, number=0))
    assert "nested" in (piece.problem or "")


def test_blank_lines_are_no_pieces_and_raw_tabs_are_accepted() -> None:
    source = Source(b'\n  \n{"text": "a\tb"}\n{"n": 1\n\n')
    first, second = pieces_of_lines(source.lines(offset=0, number=0))
    assert (first.line, first.value) == (3, {"text": "a\tb"})
    assert (second.line, second.torn) == (4, False)
    assert "not valid JSON" in (second.problem or "")


def test_a_number_of_too_many_digits_is_a_problem() -> None:
    source = Source(b'{"n": ' + b"9" * 6000 + b"}\n")
    (piece,) = pieces_of_lines(source.lines(offset=0, number=0))
    assert piece.problem is not None
