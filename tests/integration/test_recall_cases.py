"""Whole questions over small memories, each a fault that memory systems are known for."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from symfonic.capabilities.memory.recall import Recall, recall
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import MemoryStore, Turn
from symfonic.capabilities.memory.stores import open_store

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def remember(store: MemoryStore, scope: str, session: str, *texts: str, day: int = 0) -> None:
    """Turns of one session, a minute apart."""
    store.ensure_scope(Scope(scope), half_life_hours=720.0, salt=b"recall-cases")
    turns = [
        Turn(
            session=session, position=position, role="user", name="Runa", text=text,
            importer="tests", occurred_at=START + timedelta(days=day, minutes=position),
        )
        for position, text in enumerate(texts)
    ]  # fmt: skip
    store.add_turns(Scope(scope), turns, now=NOW, subscriptions=())


def ask(
    store: MemoryStore, query: str, *, scope: str = "yard", limit: int = 10, offset: int = 0
) -> Recall:
    with store.snapshot(Scope(scope)) as reader:
        return recall(reader, query, now=NOW, limit=limit, offset=offset)


def texts(store: MemoryStore, query: str, *, scope: str = "yard") -> list[str]:
    return [item.text for item in ask(store, query, scope=scope).items]


PARTS = (
    "TRK-8835 is the pump that seized.",
    "TRK-3047 is the spare pump.",
    "TRK-5521 was auctioned.",
    "The fault is in parseHullReport, line 12.",
    "The manual moved to https://docs.yard.example/guide/dry-dock?rev=4",
    "We froze numlib 3.20.7.",
    "Somebody else froze numlib 3.20.70.",
    "The OpenKnot mirror is read-only.",
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("TRK-8835", 0), ("trk-8835", 0), ("8835", 0), ("TRK-3047", 1), ("hull report", 3),
        ("parsehullreport", 3), ("parse_hull_report", 3), ("parseHullReport", 3),
        ("https://docs.yard.example/guide/dry-dock?rev=4", 4), ("dry-dock", 4),
        ("numlib 3.20.7", 5), ("numlib 3.20.70", 6), ("openknot", 7), ("OpenKnot", 7),
        ("auctoined", 2),
    ],
)  # fmt: skip
def test_identifiers_symbols_addresses_and_versions_are_found_exactly(
    query: str, first: int
) -> None:
    with closing(open_store(":memory:")) as store:
        remember(store, "yard", "s1", *PARTS)
        assert texts(store, query)[0] == PARTS[first]


def test_a_sibling_of_an_identifier_is_no_answer() -> None:
    with closing(open_store(":memory:")) as store:
        remember(store, "yard", "s1", *PARTS)
        assert texts(store, "TRK-8836") == []
        assert texts(store, "numlib-4") == []


TALK = (
    "Lantern streams lose frames above forty watchers.",
    "QA uses three Go probes.",
    "My rules for unit tests: fast ones.",
    "Iluka repairs the harbour radar.",
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("has Iluka told us anything new regarding our radar", [3]),
        ("can you say whether a Lantern viewer would lose a frame when it is above forty", [0]),
        ("QA", [1]),
        ("Go", [1]),
        ("Iluka", [3]),
        ("Iluka nougat bassoon", [3]),
        ("rules for unit tests", [2]),
        ("nougat bassoon", []),
        ("cheapest cycling hotels in Tasmania on rails", []),
        ("okay, so could it be that way then", []),
    ],
)
def test_whole_questions_and_two_letter_words_find_what_they_mean(
    query: str, expected: list[int]
) -> None:
    with closing(open_store(":memory:")) as store:
        remember(store, "yard", "s1", *TALK)
        assert texts(store, query) == [TALK[number] for number in expected]


def test_latest_and_first_are_decided_by_time_and_not_by_echo() -> None:
    started = "Began the roster rewrite this morning."
    echo = (
        "Current state of the roster rewrite: the roster rewrite is at part 2 of 6, before review."
    )
    done = "Review is through, last roster page swapped, finished."
    with closing(open_store(":memory:")) as store:
        remember(store, "yard", "s1", started, day=0)
        remember(store, "yard", "s2", echo, day=20)
        remember(store, "yard", "s3", done, day=40)
        remember(store, "yard", "s4", "The soup was good.", day=41)
        assert texts(store, "what is the current state of the roster rewrite")[:2] == [done, echo]
        assert texts(store, "latest roster news")[:2] == [done, echo]
        assert texts(store, "when did we first touch the roster")[0] == started
        plain = texts(store, "how did the roster review go")
        assert plain[0] in {done, echo}
        assert plain.index(done) < plain.index(started)
        for item in ask(store, "latest roster news").items:
            assert item.occurred_at is not None
            assert "soup" not in item.text


def test_pages_say_that_there_is_more_and_show_each_row_once() -> None:
    titles = ("Tin Rivers", "The Moss Ledger", "Tin Rivers", "Six Dams", "Paper Tides")
    with closing(open_store(":memory:")) as store:
        for day, title in enumerate(titles):
            remember(store, "yard", f"s{day}", f"I finished reading '{title}'.", day=day)
        remember(store, "yard", "s9", "The harbour froze.", day=9)
        first = ask(store, "books I finished reading", limit=2)
        assert (len(first.items), first.more) == (2, True)
        pages = [ask(store, "books I finished reading", limit=2, offset=o) for o in (0, 2, 4, 6)]
        assert [page.more for page in pages] == [True, True, False, False]
        seen = [item.id for page in pages for item in page.items]
        whole = [item.id for item in ask(store, "books I finished reading").items]
        assert seen == whole
        assert len(set(seen)) == 5


SCOPES = {
    "yard": ("We sort with labels.", "We answer in Canadian French."),
    "yard/dock": ("On this dock we sort with two colours.", "Here crane.py only lifts."),
    "yard/shop": ("crane.py dropped the pallet, mended in Zunder.",),
}


@pytest.mark.parametrize("order", sorted(permutations(SCOPES)))
def test_a_nearer_scope_comes_first_and_siblings_stay_apart(order: tuple[str, ...]) -> None:
    with closing(open_store(":memory:")) as store:
        for scope in order:
            remember(store, scope, scope.replace("/", "-"), *SCOPES[scope])
        assert texts(store, "how do we sort", scope="yard/dock") == [
            SCOPES["yard/dock"][0], SCOPES["yard"][0],
        ]  # fmt: skip
        assert texts(store, "how do we sort", scope="yard/shop") == [SCOPES["yard"][0]]
        assert texts(store, "how do we sort", scope="yard") == [SCOPES["yard"][0]]
        for scope in SCOPES:
            assert texts(store, "which French", scope=scope) == [SCOPES["yard"][1]]
        assert texts(store, "crane.py", scope="yard/dock") == [SCOPES["yard/dock"][1]]
        assert texts(store, "crane.py", scope="yard/shop") == [SCOPES["yard/shop"][0]]
        assert texts(store, "crane.py", scope="yard") == []
        assert texts(store, "Zunder", scope="yard/dock") == []


def test_scores_do_not_depend_on_a_sibling_scope() -> None:
    def scores(*, with_sibling: bool) -> list[tuple[str, float]]:
        with closing(open_store(":memory:")) as store:
            for scope in ("yard", "yard/dock", *(["yard/shop"] if with_sibling else [])):
                remember(store, scope, scope.replace("/", "-"), *SCOPES[scope])
            answer = ask(store, "who sorts with crane.py here", scope="yard/dock")
            return [(item.text, item.score) for item in answer.items]

    assert scores(with_sibling=True) == scores(with_sibling=False)
    assert scores(with_sibling=True)
