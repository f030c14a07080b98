"""What the index is given for a text, and that the index finds it by what people ask."""

from __future__ import annotations

import base64
import sqlite3
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.recall_query import expressions, query_terms
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.text_terms import (
    CALL_RESULT,
    CALLS_TEXT,
    LONG_TEXT,
    MOST_INDEXED,
    call_text,
    fold,
    index_text,
    searchable,
)


def finds(query: str, text: str) -> bool:
    """Whether an index of ``text`` answers ``query``."""
    asked = " OR ".join(expressions(query_terms(query)))
    if not asked:
        return False
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2')"
    )
    db.execute("INSERT INTO t VALUES (?)", (index_text(text),))
    found = db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (asked,)).fetchone()[0]
    db.close()
    return bool(found)


def test_ordinary_text_is_given_as_it_is() -> None:
    text = "We moved the standup to ten, and Nadia takes the notes."
    assert index_text(text) is text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("crate manifest", "see readCrateManifest, line 12"),
        ("readcratemanifest", "see readCrateManifest, line 12"),
        ("read_crate_manifest", "see readCrateManifest, line 12"),
        ("readCrateManifest", "see read_crate_manifest, line 12"),
        ("http server", "the HTTPServer class"),
        ("TRK 8835", "ticket TRK8835"),
        ("TRK-8835", "ticket TRK8835"),
        ("TRK8835", "ticket TRK-8835"),
        ("8835", "ticket TRK-8835"),
        ("3.20.7", "upgraded to v3.20.7 today"),
        ("v3.20.7", "upgraded to 3.20.7 today"),
        ("ilik cay", "Ilık ÇAY içtik"),
        ("ILIK ÇAY", "ılık çay"),
        ("İnci Işık", "inci isik aradı"),
        ("inci isik", "İnci Işık aradı"),
        ("Gruesse aus der strasse", "Straße 7"),
        ("Straße", "STRASSE 7"),
        ("zoe", "Zoë called"),
        ("Zoë", unicodedata.normalize("NFD", "Zoë called")),
        ("Lodz", "the Łódź office"),
        ("office", "the oﬃce"),
        ("ABC", "ＡＢＣ"),
        ("京都", "明日は京都駅で待つ"),
        ("駅", "明日は京都駅で待つ"),
        ("京都駅", "明日は京都駅で待つ"),
        ("부산", "부산에서 만나요"),
        ("กาแฟ", "ฉันชอบกาแฟ"),
        ("елка", "ёлка во дворе"),
    ],
)
def test_a_text_is_found_by(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("TRK-8836", "ticket TRK-8835"),
        ("3.20.7", "upgraded to 3.20.70"),
        ("read-crate", "a crate to read"),
        ("京阪", "明日は京都駅で待つ"),
    ],
)
def test_a_text_is_not_found_by(query: str, text: str) -> None:
    assert not finds(query, text)


def test_emoji_stay_as_they_are() -> None:
    family = "👩‍👩‍👧 ✅ done 🎉"
    assert index_text(family) == family


def test_encoded_runs_are_left_out_and_long_paths_stay() -> None:
    encoded = base64.b64encode(bytes(range(256)) * 2).decode()
    wrapped = base64.encodebytes(bytes(range(256)) * 2).decode()
    path = "/srv/" + "/".join(f"folder-{n}" for n in range(40))
    assert index_text(f"before {encoded} after").split() == ["before", "after"]
    assert wrapped[:40] not in index_text(f"before\n{wrapped}\nafter")
    assert index_text(f"kept {'ab' * 90} too").split() == ["kept", "ab" * 90, "too"]
    assert "folder-39" in index_text(path)


def test_encoded_runs_of_hexadecimal_are_left_out() -> None:
    assert index_text("key " + "0f" * 150 + " end").split() == ["key", "end"]


def test_a_needle_in_a_megabyte_is_indexed_and_the_rest_once() -> None:
    text = "x0 " * 170_000 + "SPINDLE-58 " + "x0 " * 170_000
    indexed = index_text(text)
    assert len(indexed) < 100
    assert finds("SPINDLE-58", text)
    assert not finds("SPINDLE-59", text)


def test_what_a_megabyte_of_distinct_words_puts_into_the_index_is_bounded() -> None:
    text = " ".join(f"w{n}q" for n in range(200_000))
    indexed = index_text(text)
    assert len(indexed) <= MOST_INDEXED + 1
    assert "w0q" in indexed
    assert "w199999q" in indexed


def test_a_long_text_without_spaces_is_indexed_by_its_distinct_pairs() -> None:
    text = "明日京都" * LONG_TEXT
    assert len(index_text(text)) < 100
    assert finds("京都", text)


def test_words_of_calls_are_names_values_and_the_head_of_results() -> None:
    call = ToolCall(
        name="book_seat",
        arguments={"train": "RJX 63", "seats": [4, {"coach": "B"}], "quiet": True, "note": None},
        result="booked " + "z" * 5_000 + " tail",
    )
    words = call_text([call])
    assert words.split("\n")[:4] == ["book_seat", "4", "B", "RJX 63"]
    assert "booked" in words
    assert "tail" not in words
    assert len(words) < CALL_RESULT + 100
    assert len(call_text([call] * 20)) == CALLS_TEXT
    assert searchable("On it.", (call,)).startswith("On it.\nbook_seat")


def test_arguments_that_are_raw_text_are_indexed_too() -> None:
    assert call_text([ToolCall(name="run", arguments='{"broken')]) == 'run\n{"broken'


@given(st.text(max_size=400))
def test_any_text_gives_text_that_encodes(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    assert index_text(clean).encode().decode() == index_text(clean)
    assert fold(fold(clean)) == fold(clean)
