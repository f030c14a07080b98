"""Sentences of chat messages: where they end, and what happens to code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.extractors.sentences import (
    CODE_LEFT_OUT,
    MESSAGE_CHARACTERS,
    SHORT_CODE_LINES,
    bounded,
    cut,
    sentences,
)

SHORT_CODE = "```sh\n# make it\nmake demo\n```"


def texts(message: str) -> list[str]:
    return [sentence.text for sentence in sentences(message)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("We met Dr. Huber. He agreed.", ["We met Dr. Huber.", "He agreed."]),
        ("Ask J. Smith, e.g. today. Or not?", ["Ask J. Smith, e.g. today.", "Or not?"]),
        ("Version 2.1.3 is out! Get it.", ["Version 2.1.3 is out!", "Get it."]),
        ('She said "stop." Then we left.', ['She said "stop."', "Then we left."]),
        ("it failed. trying again", ["it failed.", "trying again"]),
        ("东京很好。明天去！", ["东京很好。", "明天去！"]),
        ("... and then", ["... and then"]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_a_sentence_ends_at_its_mark_and_not_at_an_abbreviation(
    message: str, expected: object
) -> None:
    assert texts(message) == expected


def test_a_line_break_ends_a_sentence_without_a_full_stop() -> None:
    assert texts("order 4711\nis missing a part") == ["order 4711", "is missing a part"]


def test_a_long_line_that_goes_on_in_lower_case_was_wrapped() -> None:
    message = "The invoice for the second quarter was sent to the wrong address and\nreturned."
    assert texts(message) == [message.replace("\n", " ")]


def test_list_items_keep_their_numbers_and_are_not_joined() -> None:
    message = (
        "1. Stop the worker that holds the lease on the scope of the customer\n"
        "2. restart it. Wait.\n- done"
    )
    assert texts(message) == [
        "1. Stop the worker that holds the lease on the scope of the customer",
        "2. restart it.",
        "Wait.",
        "- done",
    ]


def test_headings_lose_their_marks_and_rules_are_left_out() -> None:
    assert texts("## Decision\n---\nUse SQLite.\n|---|---|") == ["Decision", "Use SQLite."]


def test_short_code_stays_whole_behind_its_sentence() -> None:
    (found,) = sentences(f"Run this:\n{SHORT_CODE}")
    assert found.text == "Run this:"
    assert found.code == SHORT_CODE


def test_a_heading_inside_code_is_code() -> None:
    assert all("make it" not in text for text in texts(f"Run:\n{SHORT_CODE}\nDone."))


@pytest.mark.parametrize(
    "code",
    [
        "```\n" + "x = 1\n" * SHORT_CODE_LINES + "```",
        "```\n" + "x" * 200 + "\n```",
        "```py\nnever closed",
        "```py\n```py",
        "```",
        "~~~\nmake\n~~~",
        "````\n```\n````",
        "  ```\n  make\n  ```",
    ],
)
def test_long_unclosed_or_unusual_code_is_replaced_by_a_mark(code: str) -> None:
    (found,) = sentences(f"Look:\n{code}")
    assert found.text == "Look:"
    assert found.code == CODE_LEFT_OUT


def test_a_message_that_is_code_gives_a_sentence_of_code_alone() -> None:
    first, second = sentences(f"{SHORT_CODE}\n{SHORT_CODE}")
    assert (first.text, first.code) == ("", SHORT_CODE)
    assert (second.text, second.code) == ("", SHORT_CODE)


def test_backquotes_in_a_line_open_no_code() -> None:
    assert texts("```make``` builds it.\nFine.") == ["```make``` builds it.", "Fine."]


def test_only_the_beginning_of_a_huge_message_is_read() -> None:
    found = texts("word " * MESSAGE_CHARACTERS)
    assert sum(len(text) for text in found) <= MESSAGE_CHARACTERS


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("one two three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("one, two three", 7, "one…"),
        ("unbreakable", 6, "unbre…"),
        ("a unbreakable", 8, "a unbre…"),
    ],
)
def test_a_cut_keeps_whole_words_where_there_are_any(
    text: str, limit: int, expected: object
) -> None:
    assert cut(text, limit) == expected


@given(st.text(max_size=80), st.integers(2, 40))
def test_a_cut_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(cut(text, limit)) <= limit


def test_a_foreign_text_that_fits_is_left_alone() -> None:
    assert bounded(f"Run\n{SHORT_CODE}", 100) == f"Run\n{SHORT_CODE}"


def test_a_foreign_text_is_cut_to_its_bound() -> None:
    assert bounded("word " * 100, 60).endswith("word…")


def test_a_fence_that_a_cut_leaves_open_is_replaced_from_its_first_line() -> None:
    text = "Run this\n```\n" + "make demo\n" * 20 + "```"
    assert bounded(text, 80) == f"Run this\n{CODE_LEFT_OUT}"


def test_a_fence_that_its_author_left_open_is_replaced() -> None:
    assert bounded("Run\n```\nmake", 80) == f"Run\n{CODE_LEFT_OUT}"


@given(st.lists(st.sampled_from(["```", "```py", "make it so", "~~~", ""]), max_size=30))
def test_bounded_text_never_leaves_a_fence_open(lines: list[str]) -> None:
    text = bounded("\n".join(lines), 60)
    assert len(text) <= 60
    assert sum(line.lstrip().startswith("```") for line in text.split("\n")) % 2 == 0
