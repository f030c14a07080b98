"""The nights that a conversation is slept through, and what they leave."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import PhaseFailed
from symfonic.capabilities.memory.evaluation.conversations import Conversation, Said
from symfonic.capabilities.memory.evaluation.nights_slept import (
    UNDATED,
    end_of,
    nights_of,
    sleep_through,
)
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.records import Record

LINKED = LearningPolicy(enable_entity_linker=True)


def conversation(*times: datetime | None) -> Conversation:
    turns = tuple(
        Said(id=str(n), session="1", position=n, text="I met Marta Kowalczyk.", at=at)
        for n, at in enumerate(times)
    )
    return Conversation(number=1, turns=turns, questions=())


def day(number: int, hour: int = 12) -> datetime:
    return datetime(2026, 3, number, hour, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", salt=b"nights") as found:
        yield found


def store(memory: Memory, given: Conversation) -> None:
    rows = [
        {"id": t.id, "session": t.session, "position": t.position, "text": t.text, "at": t.at}
        for t in given.turns
    ]
    memory.ingest(rows, scope="c1", format="jsonl", now=end_of(given))


def test_a_night_follows_each_day_on_which_something_was_said() -> None:
    given = conversation(day(2), day(2, 23), day(3, 1), day(9, 2), day(9, 3))
    assert nights_of(given, 10) == [day(3, 2), day(9, 2), day(10, 2)]
    assert nights_of(given, 2) == [day(9, 2), day(10, 2)]


def test_turns_without_a_time_fall_to_the_last_night() -> None:
    assert nights_of(conversation(day(2), None), 10) == [day(3, 2)]
    assert nights_of(conversation(None), 10) == [UNDATED + timedelta(hours=2)]
    assert end_of(conversation(None)) == UNDATED


def test_no_night_comes_after_the_end_of_the_calendar(memory: Memory) -> None:
    given = conversation(datetime(9999, 12, 31, 12, tzinfo=UTC))
    store(memory, given)
    assert nights_of(given, 1) == []
    assert sleep_through(memory, given, 1) == []


def test_turns_that_say_nothing_have_no_night() -> None:
    said = replace(conversation(day(2)).turns[0], text=" ")
    assert nights_of(Conversation(number=1, turns=(said,), questions=()), 3) == []


def test_nights_do_what_maintenance_does(memory: Memory) -> None:
    given = conversation(day(2), day(4), day(6))
    store(memory, given)
    assert sleep_through(memory, given, 2, policy=LINKED) == [day(5, 2), day(7, 2)]
    runs = [run for run in memory.runs(scope="c1") if run.kind == "deep"]
    assert {run.clock for run in runs} == {day(5, 2), day(7, 2)}
    assert [entity.text for entity in _entities(memory)] == ["Marta Kowalczyk"]


def test_a_phase_that_fails_ends_it(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    given = conversation(day(2))
    store(memory, given)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("no names today")

    monkeypatch.setattr(
        "symfonic.capabilities.memory.phases.mention_reader.MentionReader.read", broken
    )
    with pytest.raises(PhaseFailed, match="link_entities failed on conversation 1: "):
        sleep_through(memory, given, 1, policy=LINKED)


def _entities(memory: Memory) -> list[Record]:
    with memory.store.snapshot(Scope("c1")) as reader:
        return reader.list_records(kinds=("entity",), limit=10)
