from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.run_page.markup import (
    Html,
    clean,
    escaped,
    excerpt,
    highlighted,
    joined,
    tag,
)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "a < b & 'c'", tag("b", "x")) == "<p>a &lt; b &amp; &#x27;c&#x27;<b>x</b></p>"
    assert escaped(Html("<b>")) == "<b>"
    assert joined(["<", None, Html("<hr>")], ", ") == "&lt;, <hr>"


def test_attributes_are_quoted_spelled_and_left_out() -> None:
    made = tag("p", class_='a"b', data_label="x", hidden=True, open=False, title=None, tabindex=0)
    assert made == '<p class="a&quot;b" data-label="x" hidden tabindex="0"></p>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_characters_that_act_on_a_page_are_replaced() -> None:
    assert clean("a\x00b\u202ec\ud800d\r\ne\ufffef\tg") == "a\ufffdb\ufffdc\ufffdd\ne\ufffdf\tg"


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ("", "one two three…"),
        ("eight", "…eight nine ten"),
        ("absent", "one two three…"),
        ("ten", "…eight nine ten"),
    ],
)
def test_excerpt_is_cut_between_words_around_what_matters(around: str, expected: str) -> None:
    text = "one two three four five six seven eight nine ten"
    assert excerpt(text, 18, around=around) == expected
    assert excerpt(" short\n text ", 18) == "short text"


def test_excerpt_of_one_long_word_is_cut_in_it() -> None:
    assert excerpt("x" * 50, 10) == f"{'x' * 9}…"
    shown = excerpt("x" * 50 + "NAME" + "x" * 50, 20, around="name")
    assert "NAME" in shown
    assert len(shown) <= 20


@given(st.text(), st.integers(min_value=8, max_value=40), st.text(max_size=5))
def test_excerpt_is_never_longer_than_asked(text: str, width: int, around: str) -> None:
    shown = excerpt(text, width, around=around)
    assert len(shown) <= width
    assert "\n" not in shown


def test_a_name_is_marked_once_whatever_its_case() -> None:
    assert highlighted("<ANA> ana", "ana") == "&lt;<mark>ANA</mark>&gt; ana"
    assert highlighted("Bo", "") == "Bo"
    assert highlighted("Bo", "ana") == "Bo"


@given(st.text("ab <", max_size=200), st.integers(min_value=20, max_value=60))
def test_excerpt_holds_what_it_was_cut_around(text: str, width: int) -> None:
    assert "NAME" in excerpt(f"{text} NAME {text}", width, around="name")
