from __future__ import annotations

import io
import json
from typing import Any

import pytest

from symfonic.capabilities.memory.errors import InputError, ScopeError
from symfonic.capabilities.memory.export_file import checked, framed, parsed, rows_of

ROWS = [{"table": "scope", "path": "acme/ana"}, {"table": "record", "text": "Zürich \ud800"}]


def lines() -> list[dict[str, Any]]:
    return [dict(line) for line in framed("acme/ana", ROWS)]


def read(found: list[dict[str, Any]], *, vouched: bool = True) -> list[dict[str, Any]]:
    steps: list[int] = []
    header, *rest = found
    rows = list(rows_of(iter(rest), "f", steps.append, vouched=header if vouched else None))
    assert steps == list(range(1, len(rows) + 1))
    return rows


def test_rows_come_back_between_a_first_and_a_last_line() -> None:
    assert checked(lines()[0], "f") == "acme/ana"
    assert read(lines()) == ROWS
    assert read(lines(), vouched=False) == ROWS


def test_the_digest_is_of_values_and_not_of_how_they_are_written() -> None:
    text = "\n".join(json.dumps(line, indent=None, sort_keys=True) for line in lines())
    assert read(list(parsed(io.BytesIO(text.encode()), "f"))) == ROWS


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_edited_line_is_found_where_the_rows_are_vouched_for(number: int) -> None:
    edited = lines()
    edited[number]["more"] = 1
    with pytest.raises(InputError, match="line 4 is not that of the lines before it"):
        read(edited)
    assert len(read(edited, vouched=False)) == 2


def test_an_export_without_a_digest_is_not_vouched_for() -> None:
    older = lines()
    del older[-1]["digest"]
    with pytest.raises(InputError, match="Line 4 of the export f holds no digest"):
        read(older)


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (lines()[:-1], "line 3 is its last; it breaks off after 2 rows"),
        (lines()[:2], "after 1 row"),
        ([*lines()[:2], lines()[3]], "line 3 says 2 rows and it holds 1"),
        ([*lines(), {}], "line 5 goes on after its last line"),
    ],
)
def test_an_export_that_is_not_whole_is_refused(damaged: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(damaged)


@pytest.mark.parametrize("scope", [None, 5, "", "a//b", ["a"]])
def test_a_first_line_names_a_scope(scope: object) -> None:
    with pytest.raises(ScopeError):
        checked({**lines()[0], "scope": scope}, "f")


def test_a_file_that_cannot_be_read_on_is_damaged() -> None:
    class Broken(io.BytesIO):
        def __next__(self) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(InputError, match="Input/output error"):
        list(parsed(Broken(), "f"))
