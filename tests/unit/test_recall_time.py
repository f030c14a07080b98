"""Times that a question names: what is of them comes first, and what is beside them is not lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.recall import Recall, recall
from symfonic.capabilities.memory.recall_query import query_terms
from symfonic.capabilities.memory.recall_time import closeness, timed
from symfonic.capabilities.memory.records import Fact, Note, Record, RecordId
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.spoken_times import SpokenTime
from symfonic.capabilities.memory.store import MemoryStore, Turn
from symfonic.capabilities.memory.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
YARD = Scope("yard")
DAY = timedelta(days=1)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    opened = open_store(":memory:")
    opened.ensure_scope(YARD, half_life_hours=720.0, salt=b"recall-time")
    yield opened
    opened.close()


def say(store: MemoryStore, text: str, at: datetime) -> None:
    """One turn in a session of its own."""
    turn = Turn(
        session=f"{at:%Y-%m-%d}", position=0, role="user", text=text, importer="tests",
        occurred_at=at,
    )  # fmt: skip
    store.add_turns(YARD, [turn], now=NOW, subscriptions=())


def ask(store: MemoryStore, query: str, **given: Any) -> Recall:
    with store.snapshot(YARD) as reader:
        return recall(reader, query, now=NOW, limit=20, explain=True, **given)


def texts(store: MemoryStore, query: str) -> list[str]:
    return [item.text for item in ask(store, query).items]


def test_of_two_alike_the_one_of_the_time_comes_first(store: MemoryStore) -> None:
    say(store, "We painted the ferry green.", datetime(2026, 5, 9, tzinfo=UTC))
    say(store, "We painted the ferry again.", datetime(2026, 9, 9, tzinfo=UTC))
    assert texts(store, "Who painted the ferry in May?")[0].endswith("green.")
    assert texts(store, "Who painted the ferry in September?")[0].endswith("again.")
    found = ask(store, "Who painted the ferry in May?").items
    assert found[0].parts["time"] > found[1].parts.get("time", 0.0)


def test_the_window_is_soft(store: MemoryStore) -> None:
    say(store, "The ferry's crane was repaired.", datetime(2026, 6, 2, tzinfo=UTC))
    assert texts(store, "Was the crane repaired in May 2026?") == [
        "The ferry's crane was repaired."
    ]


def test_a_time_alone_asks_for_what_there_is_of_it(store: MemoryStore) -> None:
    say(store, "We greased the winch.", NOW - DAY)
    say(store, "The winch stood still.", NOW - 3 * DAY)
    for question in ("What happened yesterday?", "yesterday", "What did we talk about yesterday?"):
        assert texts(store, question) == ["We greased the winch."]
    assert texts(store, "What happened today?") == []


def test_a_time_alone_keeps_to_since_and_until(store: MemoryStore) -> None:
    say(store, "We greased the winch.", NOW - DAY)
    assert ask(store, "What happened yesterday?", since=NOW).items == ()
    assert ask(store, "What happened yesterday?", until=NOW - 2 * DAY).items == ()


def test_relative_times_are_seen_from_the_time_of_as_of(store: MemoryStore) -> None:
    say(store, "We greased the winch.", NOW - 11 * DAY)
    found = ask(store, "What happened yesterday?", as_of=NOW - 10 * DAY)
    assert [item.text for item in found.items] == ["We greased the winch."]


@pytest.mark.parametrize(
    ("time", "found"),
    [
        ("last 3 days", ["mast"]), ("yesterday", ["mast"]), ("past week", ["mast", "keel"]),
        ("last Friday", ["keel"]), ("last Wednesday", []), ("in November 2024", ["hull"]),
        ("before 2025", ["hull"]), ("since 1 November", ["mast", "keel", "rudder"]),
    ],
)  # fmt: skip
def test_words_with_a_time_ask_for_nothing_from_another_one(
    store: MemoryStore, time: str, found: list[str]
) -> None:
    say(store, "Dock: the hull.", datetime(2024, 11, 10, 9, tzinfo=UTC))
    say(store, "Dock: the rudder.", NOW - 12 * DAY)
    say(store, "Dock: the keel.", NOW - 5 * DAY)
    say(store, "Dock: the mast.", NOW - DAY)
    for query in (f"dock {time}", f"{time} dock"):
        assert sorted(texts(store, query)) == sorted(f"Dock: the {what}." for what in found)


def test_a_time_that_is_not_understood_is_told_and_not_applied(store: MemoryStore) -> None:
    say(store, "Dock: the hull.", datetime(2024, 11, 10, 9, tzinfo=UTC))
    answer = ask(store, "dock three moons ago")
    assert len(answer.items) == 1
    assert "'three moons ago' was not understood" in answer.notes[0]
    assert ask(store, "dock three days ago").notes == ()


def test_before_and_after_an_event_count_from_when_it_was_told(store: MemoryStore) -> None:
    say(store, "The cook was called Ingo.", NOW - 90 * DAY)
    say(store, "We did the move to the new harbour.", NOW - 60 * DAY)
    say(store, "The cook was called Hedda.", NOW - 30 * DAY)
    for side, first in (("before", "Ingo"), ("after", "Hedda")):
        found = texts(store, f"Who was the cook {side} the move to the harbour?")
        cooks = [text for text in found if "cook" in text]
        assert len(cooks) == 2
        assert first in cooks[0]


def test_of_many_that_match_those_of_the_time_are_considered(store: MemoryStore) -> None:
    turns = [
        Turn(
            session="log", position=n, role="user", importer="tests",
            text=f"The gauge of tank {n} reads low.", occurred_at=NOW - 200 * DAY + n * DAY / 4,
        )
        for n in range(700)
    ]  # fmt: skip
    store.add_turns(YARD, turns, now=NOW, subscriptions=())
    found = ask(store, "What did the gauge read on 3 June 2026?").items
    assert found[0].occurred_at is not None
    assert found[0].occurred_at.startswith("2026-06-03")


def test_a_fact_lies_where_it_is_valid() -> None:
    may = SpokenTime(start=datetime(2026, 5, 1, tzinfo=UTC), end=datetime(2026, 6, 1, tzinfo=UTC))
    fact = Record(
        id=RecordId("f"), scope="yard", kind="fact", key="f", text="", occurred_at=NOW,
        recorded_at=NOW,
        content=Fact(
            subject="Ana", attribute="home", value="Ghent", valid_from="2026-01-01",
            valid_to="2026-05-03",
        ),
    )  # fmt: skip
    assert closeness(fact, may) == 1.0
    assert closeness(replace(fact, content=Note()), may) < 0.1


def test_only_what_stands_behind_before_is_the_event() -> None:
    asked = timed(query_terms("Who was the cook before the move?"), now=NOW)
    assert (asked.side, [asked.terms[n].text for n in asked.event]) == ("before", ["move"])
    assert timed(query_terms("before the move"), now=NOW).side is None
    assert timed(query_terms("Who cooked before 3 June?"), now=NOW).side is None
