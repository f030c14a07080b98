"""How questions are taken apart, and that nothing of them reaches the index raw."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.recall_query import (
    MOST_TERMS,
    Term,
    beginning,
    beginning_expressions,
    expressions,
    query_terms,
)


def terms(query: str) -> list[str]:
    return [term.text for term in query_terms(query).terms]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what did you tell me about the harbour tour", ["harbour", "tour"]),
        ("notes on unit tests", ["notes", "unit", "tests"]),
        ("QA", ["qa"]),
        ("Go", ["go"]),
        ("what is the IT budget", ["it", "budget"]),
        ("what is it", []),
        ("WHAT IS IT", []),
        ("vitamin C", ["vitamin", "c"]),
        ("so, could it be that then?", []),
        ("foo AND", ["foo"]),
        ("Ana's kettle", ["ana", "kettle"]),
        ("tea/coffee", ["tea", "coffee"]),
        ("Wann hat Jo über den Hund gesprochen", ["jo", "hund", "gesprochen"]),
        ("the man who wore a hat in the war", ["man", "wore", "hat", "war"]),
        ("kettle kettle Kettle", ["kettle"]),
        ("well...really--kettle", ["kettle"]),
    ],
)
def test_words_that_only_ask_are_left_out(query: str, expected: list[str]) -> None:
    assert terms(query) == expected


@pytest.mark.parametrize(
    ("query", "forms"),
    [
        ("TRK-8836", [("trk", "8836")]),
        ("3.20.7", [("3", "20", "7")]),
        ("v3.20.7", [("v3", "20", "7"), ("v", "3", "20", "7"), ("3", "20", "7")]),
        ("hand-book", [("hand", "book"), ("handbook",)]),
        ("read_crate_list", [("read", "crate", "list"), ("readcratelist",)]),
        ("readCrateList", [("readcratelist",), ("read", "crate", "list")]),
        ("@acme/ui-kit", [("acme", "ui", "kit")]),
        ("MB/s", [("mb", "s")]),
        ("1,250", [("1", "250")]),
        (
            "https://docs.mill.example/a/b-c?x=1",
            [tuple("https docs mill example a b c x 1".split())],
        ),
    ],
)
def test_an_identifier_is_one_phrase(query: str, forms: list[tuple[str, ...]]) -> None:
    found = query_terms(query).terms
    assert [form for term in found for form in term.forms] == forms
    assert len(found) == 1


def test_a_run_without_spaces_is_looked_for_by_its_pairs() -> None:
    assert terms("京都駅で会う") == ["京都", "都駅", "駅で", "で会", "会う"]
    assert terms("食べるのは") == ["食べ"]
    assert terms("iPhone京都") == ["京都", "iphone"]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("latest kettle", "latest"),
        ("what is the current plan", "latest"),
        ("first kettle we bought", "first"),
        ("kettle", None),
        ("the kettle of last week", None),
        ("first and last kettle", None),
        ("first aid kit", None),
    ],
)
def test_the_end_of_time_that_is_asked_for(query: str, order: str | None) -> None:
    assert query_terms(query).order == order


def test_words_that_ask_for_an_end_of_time_are_not_looked_for_beside_others() -> None:
    assert terms("current state of the boiler repair") == ["boiler", "repair"]
    assert terms("latest") == ["latest"]
    assert terms("state of the boiler") == ["state", "boiler"]


def test_a_very_long_question_is_bounded_and_says_so() -> None:
    long = query_terms(" ".join(f"word{n}" for n in range(200)))
    assert len(long.terms) == MOST_TERMS
    assert long.truncated
    assert query_terms("kettle " * 5_000).truncated
    assert not query_terms("kettle").truncated


def test_only_ordinary_words_have_near_spellings() -> None:
    word = Term(text="harbour", kind="word", forms=(("harbour",),))
    assert beginning(word) == "harb"
    assert beginning(query_terms("rotates").terms[0]) == "rota"
    assert beginning(query_terms("tide").terms[0]) is None
    assert beginning(query_terms("TRK-8835").terms[0]) is None
    assert beginning(query_terms("34567").terms[0]) is None


@pytest.fixture
def index() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(scope, text, tokenize='porter unicode61')")
    db.execute("INSERT INTO t VALUES ('s1', 'kettle')")
    return db


def matches(db: sqlite3.Connection, wanted: str) -> int:
    asked = f'{{scope}} : ("s1") AND {{text}} : ({wanted})'
    return int(db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (asked,)).fetchone()[0])


HOSTILE = [
    "Bo's", "re-edit", "team:hermes", "MB/s", "(java", 'say "ho', "bar AND", "NEAR(", "*", "v2.5.1",
    "", "   ", "\x00", '"', "^x", "{text} : x", "a NEAR/2 b", "scope:s1", "-x", "+", "ket*",
    "'; --", "\ud800", "text : (", "NOT ke", "😀", "ˇ", "\u0301", "٣", "½",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_what_the_index_would_take_for_syntax_matches_nothing_by_accident(
    query: str, index: sqlite3.Connection
) -> None:
    wanted = " OR ".join(expressions(query_terms(query)))
    if wanted:
        assert matches(index, wanted) == 0
    index.close()


@given(st.text(alphabet=st.characters(), max_size=60))
def test_any_question_is_a_valid_expression(query: str) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(scope, text, tokenize='porter unicode61')")
    asked = query_terms(query)
    if asked.terms:
        assert matches(db, " OR ".join(expressions(asked))) == 0
    prefixes = [prefix for term in asked.terms if (prefix := beginning(term))]
    if prefixes:
        assert matches(db, " OR ".join(beginning_expressions(prefixes))) == 0
    db.close()
