"""Values of a file: what is taken for what, and what is said of one that is something else."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.evaluation.fields import Value, values_of

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = Path("set.json")


def value(content: object, /) -> Value:
    return Value(content, file=FILE, line=3, path=".qa[0]")


def test_a_field_that_is_null_counts_as_missing() -> None:
    assert value({"a": None}).get("a") is None
    assert value({}).get("a") is None
    with pytest.raises(InputError, match=r"set\.json, line 3: \.qa\[0\]\.a is missing\.") as caught:
        value({"a": None}).need("a")
    assert caught.value.facts == {"path": "set.json", "line": 3, "json_path": ".qa[0].a"}


def test_what_is_inside_has_a_longer_path() -> None:
    with pytest.raises(InputError, match=r"\.qa\[0\]\.b\[1\] is not text"):
        value({"b": ["x", 1]}).need("b").items()[1].text()


@pytest.mark.parametrize(
    ("read", "content", "problem"),
    [
        (Value.names, [], "is not an object"),
        (Value.items, {}, "is not a list"),
        (Value.text, 5, "is not text"),
        (Value.flag, "yes", "is not true or false"),
        (Value.whole, True, "is no whole number"),
        (Value.whole, 1.5, "is no whole number"),
        (Value.name, " ", "is no name"),
        (Value.name, True, "is no name"),
        (Value.role, "judge", "is none of user, assistant, tool, system"),
        (Value.moment, "2026-03-02T09:00", "names no zone"),
        (Value.moment, "soon", "is no time: the time 'soon' is not ISO 8601"),
        (lambda v: v.stamp("%Y", "2026"), "soon", "is no time such as '2026'"),
    ],
)
def test_another_value_is_refused(
    read: Callable[[Value], object], content: object, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        read(value(content))


def test_values_are_read_as_what_they_are() -> None:
    assert value(7).name() == "7"
    assert value(" two\nwords ").name() == "two words"
    assert value("a\x00b").text() == "a\ufffdb"
    assert value({"is": False}).need("is").flag() is False
    assert value("tool").role() == "tool"
    assert value("2026-03-02T09:00+01:00").moment() == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert value("").moment() is None
    assert value("2026").stamp("%Y", "2026") == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ['[{"a": 1},\n {"a": 2}]', '{"a": 1}\n{"a": 2}\n'])
def test_a_list_and_lines_are_read_alike(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    assert [(one.content, one.line) for one in values_of(path)] == [({"a": 1}, 1), ({"a": 2}, 2)]


def test_a_value_of_a_list_has_its_place_in_the_path(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1}, {"a": 2}]', encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: \[1\]\.a is not text"):
        list(values_of(path))[1].need("a").text()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds nothing"),
        ("[]", "holds nothing"),
        ("[{", r"line 1: \[0\] cannot be read"),
        ('[{"a": 1},\n[2,}]', r"line 2: \[1\] cannot be read"),
        ('{"a": 1}\nhello\n', "line 2: the value cannot be read: not valid JSON"),
    ],
)
def test_a_file_without_values_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        list(values_of(path))


def test_a_value_of_many_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    long = '{"a": "' + "word " * 3_500_000 + '"}'
    path.write_text(f'[{long}, {{"a": 1}}]', encoding="utf-8")
    found = list(values_of(path))
    assert [len(found[0].content["a"]), found[1].content] == [17_500_000, {"a": 1}]
