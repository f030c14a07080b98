"""What recall sees in a text is what the index finds there."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symfonic.capabilities.memory.recall_matching import Match, Matcher
from symfonic.capabilities.memory.recall_query import expressions, query_terms
from symfonic.capabilities.memory.records import Episode, Record, RecordId, ToolCall
from symfonic.capabilities.memory.text_terms import index_text


def match(query: str, text: str, *calls: ToolCall) -> Match:
    record = Record(
        id=RecordId("e"), scope="mill", kind="episode", key=None, text=text,
        content=Episode(role="user", calls=calls),
    )  # fmt: skip
    return Matcher(query_terms(query).terms).match(record)


@pytest.mark.parametrize(
    ("query", "text", "counts"),
    [
        ("kettles boiling", "A kettle boiled, and the Kettle boils.", (2, 2)),
        ("crate list", "readCrateList", (1, 1)),
        ("read_crate_list", "readCrateList and read crate list", (2,)),
        ("readcratelist", "readCrateList", (1,)),
        ("v2.5.1", "v2.5.1, 2.5.1 and V 2.5.1, not 2.5.10", (3,)),
        ("TRK-8835", "TRK8835 trk 8835 TRK-88350 XTRK-8835", (2,)),
        ("go", "Go, going, ago, go", (3,)),
        ("京都", "京都駅と東京都", (2,)),
        ("ipek", "İPEK çay, ipek", (2,)),
        ("strasse", "Straße", (1,)),
        ("kettle", "x" * 300, (0,)),
        ("kettle", "kettle " * 50, (8,)),
    ],
)
def test_terms_are_counted(query: str, text: str, counts: tuple[int, ...]) -> None:
    assert match(query, text).counts == counts


def test_calls_are_part_of_the_text() -> None:
    assert (
        match("seat RJX-63", "", ToolCall(name="book_seat", arguments={"t": "RJX 63"})).found == 2
    )


@pytest.mark.parametrize(
    ("query", "text", "adjacent"),
    [
        ("green table", "a green table", 1.0),
        ("green table", "green and table", 1.0),
        ("green table", "the table is green", 0.0),
        ("green round table", "a round table, green", 0.5),
        ("table", "table", 0.0),
    ],
)  # fmt: skip
def test_words_together_in_the_question_and_in_the_text(
    query: str, text: str, adjacent: float
) -> None:
    assert match(query, text).adjacent == adjacent


PIECES = (
    *("kettle", "kettles", "Kettle-8", "readCrate", "readcrate", "read", "crate", "crates"),
    *("v2.5", "2.5", "2.50", "QX7", "qx-7", "7", "QX", "HTTPServer", "server", "http"),
    *("İpek", "ipek", "京都駅", "京都", "都", "iPhone京都", "iphone", "Straße", "strasse"),
    *("a_b", "hand-book", "handbook", "O'Brien", "running", "run", "ran", "relational", "relate"),
)


@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3),
    st.sampled_from([" ", ", ", "\n"]),
)
@example(["iPhone京都"], ["iphone"], " ")
def test_recall_sees_a_term_where_the_index_finds_one(
    text: list[str], query: list[str], gap: str
) -> None:
    said, asked = gap.join(text), query_terms(" ".join(query))
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
    db.execute("INSERT INTO t VALUES (?)", (index_text(said),))
    found = db.execute(
        "SELECT count(*) FROM t WHERE t MATCH ?", (" OR ".join(expressions(asked)),)
    ).fetchone()[0]
    db.close()
    assert bool(match(" ".join(query), said).found) == bool(found)
