"""Stems agree with those of the text index."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.stemming import stem

# The examples of each step in Porter's paper.
PAPER = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre",
    "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
    "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
    "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
    "conditional": "condit", "rational": "ration", "digitizer": "digit", "radically": "radic",
    "vietnamization": "vietnam", "operator": "oper", "feudalism": "feudal",
    "decisiveness": "decis", "hopefulness": "hope", "formality": "formal",
    "sensibility": "sensibl", "triplicate": "triplic", "formative": "form", "goodness": "good",
    "revival": "reviv", "replacement": "replac", "adoption": "adopt", "irritant": "irrit",
    "probate": "probat", "rate": "rate", "cease": "ceas", "controlling": "control", "roll": "roll",
}  # fmt: skip

ENDINGS = (
    "", "s", "es", "ed", "ing", "ational", "ization", "iveness", "fulness", "bility", "ally",
    "ement", "ion", "ative", "alize", "logy", "ly", "eed", "y", "e", "ll", "ate", "icate",
)  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), sorted(PAPER.items()))
def test_stem_of_the_papers_example(word: str, expected: str) -> None:
    assert stem(word) == expected


def index_stems(words: list[str]) -> list[str]:
    """The stems that SQLite's index gives these words."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    db.executemany("INSERT INTO t(rowid, x) VALUES (?, ?)", enumerate(words))
    found = dict(db.execute("SELECT doc, term FROM v"))
    db.close()
    return [found[number] for number in range(len(words))]


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=40))
def test_stems_agree_with_the_index(roots: list[str]) -> None:
    words = [root + ending for root in roots for ending in ENDINGS]
    assert [stem(word) for word in words] == index_stems(words)


def test_words_beyond_the_indexs_lengths_are_their_own_stems() -> None:
    assert stem("is") == "is"
    assert stem("s" * 65) == "s" * 65
