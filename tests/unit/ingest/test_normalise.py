import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.ingest.normalise import MAX_DEPTH, clean, label, plain, prose
from symfonic.capabilities.memory.records import canonical

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=80) | st.text(
    st.sampled_from(
        "ae\u0301\u0308\ud83d\ude80\udc00\x00\x1b[31m\r\n\x0b=:;,/@ data:base64password"
    )
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda held: st.lists(held, max_size=4) | st.dictionaries(ANY_TEXT, held, max_size=4),
    max_leaves=12,
)


@given(ANY_TEXT)
def test_any_text_becomes_encodable_nfc_without_nul(text: str) -> None:
    cleaned = prose(text, [])
    cleaned.encode("utf-8")
    assert unicodedata.is_normalized("NFC", cleaned)
    assert "\x00" not in cleaned
    assert "\r" not in cleaned


@given(ANY_TEXT)
def test_normalising_twice_equals_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    flags: list[str] = []
    once = prose(text, [])
    assert prose(once, flags) == once
    assert flags == []


@given(ANY_JSON)
def test_any_arguments_become_canonical_json_once_and_for_all(value: object) -> None:
    once = plain(value, [])
    canonical(once).encode("utf-8")
    assert canonical(plain(once, [])) == canonical(once)


def test_ascii_text_is_returned_as_the_same_object() -> None:
    text = "The deploy failed on staging.\n\tSee the log."
    assert clean(text) is text


def test_lone_surrogates_and_nul_are_replaced_and_flagged_while_a_pair_stays_one_emoji() -> None:
    flags: list[str] = []
    assert prose("left \ud83e and \udd16 then\x00end", flags) == "left � and � then�end"
    assert flags == ["replaced_characters"]
    assert clean("go \ud83d\ude80 now") == "go \U0001f680 now"


def test_a_replacement_character_of_the_source_is_not_flagged() -> None:
    flags: list[str] = []
    assert prose("caf\ufffd \r\n", flags) == "caf\ufffd \n"
    assert flags == []


def test_two_compositions_of_a_word_become_one() -> None:
    assert clean("cafe\u0301") == clean("caf\u00e9") == "caf\u00e9"


def test_terminal_colours_and_controls_are_dropped_and_line_ends_unified() -> None:
    assert clean("\x1b[1;31mred\x1b[0m\x07\r\nnext\rlast\x0cpage") == "red\nnext\nlast\npage"


def test_inline_bytes_become_a_short_mark() -> None:
    flags: list[str] = []
    text = "see data:image/png;base64,QUJDRA== and data:;base64,QUJD."
    assert prose(text, flags) == "see [data:image/png, 4 bytes] and [data:text/plain, 3 bytes]."
    assert flags == ["attachment"]


def test_a_megabyte_keeps_its_needle_and_loses_its_image() -> None:
    text = (
        "y7 " * 170_000
        + "FIND-ME-7 "
        + "y7 " * 170_000
        + "data:image/gif;base64,"
        + "QUJD" * 90_000
    )
    kept = prose(text, [])
    assert "FIND-ME-7" in kept
    assert kept.endswith("[data:image/gif, 270000 bytes]")
    assert "QUJDQUJD" not in kept


def test_numbers_that_json_cannot_hold_become_text() -> None:
    assert plain([math.nan, math.inf, 1.5, 10**5000], [])[:3] == ["nan", "inf", 1.5]  # type: ignore[index]
    canonical(plain({"n": 10**5000, 3: {1}}, []))


def test_secrets_in_arguments_are_redacted_by_name_and_by_form() -> None:
    flags: list[str] = []
    given_arguments = {
        "password": "correct horse",
        "headers": [{"Authorization": "Bearer tok-5f6e7d8c9b0a1f2e"}],
        "pwd": "/home/ana",
        "next_page_token": "CAUQAA1234567890abcdef",
    }
    assert plain(given_arguments, flags) == {
        "password": "[redacted: secret]",
        "headers": [{"Authorization": "[redacted: secret]"}],
        "pwd": "/home/ana",
        "next_page_token": "CAUQAA1234567890abcdef",
    }
    assert "redacted" in flags


def test_nesting_is_bounded() -> None:
    value: object = "core"
    for _ in range(MAX_DEPTH):
        value = [value]
    plain(value, [])
    with pytest.raises(ValueError, match="levels deep"):
        plain([value], [])


def test_a_name_is_cleaned_and_holds_no_secret() -> None:
    assert label("Ana\x00") == "Ana\ufffd"
    assert label("token=ghp_" + "a1B2" * 9) == "token=[redacted: github token]"
    assert label(label("sk-" + "a1B2" * 9)) == "[redacted: api key]"
