from __future__ import annotations

import json
import sys
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.cli.output import (
    clean,
    count,
    duration,
    json_line,
    plain,
    shorten,
    when,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_text_loses_what_acts_on_a_terminal_and_keeps_the_rest() -> None:
    assert clean("a\x1b[31mred\u202eb\u2066c") == "a\ufffd[31mred\ufffdb\ufffdc"
    assert clean("Lucía\n\tтест 東京 🎉") == "Lucía\n\tтест 東京 🎉"


def test_long_text_is_cut_to_one_line() -> None:
    assert shorten("one\ntwo  three", 20) == "one two three"
    assert shorten("one two three", 8) == "one two…"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_json_is_lossless_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = TextIOWrapper(BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    value = {"text": "Lucía 東京", "path": "bad\udcff"}
    line = json_line(value)
    line.encode(encoding)
    assert json.loads(line) == value


def test_json_is_readable_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding="utf-8"))
    assert json_line({"text": "東京"}) == '{"text": "東京"}'


@pytest.mark.parametrize(
    ("function", "value", "shown"),
    [
        (when, "2026-09-21T04:00:00+02:00", "2026-09-21 02:00"),
        (when, None, "—"),
        (duration, 12.4, "12 ms"),
        (duration, 1234.0, "1.2 s"),
        (duration, 90_000.0, "1.5 min"),
        (plain, True, "true"),
        (plain, None, "none"),
        (plain, 0.5, "0.5"),
        (plain, "regex", "regex"),
    ],
)
def test_values_are_written_for_people(
    function: Callable[[object], str], value: object, shown: str
) -> None:
    assert function(value) == shown


def test_numbers_agree_with_their_nouns() -> None:
    assert count(1, "change") == "1 change"
    assert count(2000, "change") == "2,000 changes"
    assert count(0, "entity", "entities") == "0 entities"
