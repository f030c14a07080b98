"""A user and an agent are not two people: who said a thing weighs, and turns lend less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.recall_query import query_terms
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.builders import NOW, SALT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.recall import RecallItem

CHAT = (
    ("user", "My sister moved to Porto in spring."),
    ("assistant", "How lovely that your sister moved to Porto! Porto is a fine city to move to."),
    ("user", "She works for a bakery there."),
    ("assistant", "A bakery in Porto sounds delightful."),
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT) as opened:
        yield opened


def told(memory: Memory, *turns: tuple[str, str], **more: Any) -> None:
    rows = [
        {"session": "s", "role": role, "text": text, "at": "2026-02-01T10:00Z", **more}
        for role, text in turns
    ]
    memory.ingest(rows, scope="me")


def ask(memory: Memory, query: str) -> list[RecallItem]:
    found = memory.recall(query, scope="me", explain=True, record_uses=False)
    return list(found.items)


def test_what_the_user_said_comes_before_the_agents_echo(memory: Memory) -> None:
    told(memory, *CHAT)
    first = ask(memory, "Where did my sister move?")[0]
    assert first.text == CHAT[0][1]
    assert first.parts["user"] > 0


def test_a_question_for_what_the_agent_said_gives_the_user_nothing_more(memory: Memory) -> None:
    told(memory, *CHAT)
    for question in ("What did you say about Porto?", "What did the assistant say about Porto?"):
        assert {part for item in ask(memory, question) for part in item.parts} & {"user"} == set()


def test_two_people_lend_each_other_more_than_a_user_and_an_agent(memory: Memory) -> None:
    told(memory, ("user", "Which colour shall the ferry get?"), ("assistant", "Green, I think."))
    chat = {item.text: item.parts for item in ask(memory, "the colour of the ferry")}
    with Memory.open(":memory:", clock=lambda: NOW, salt=SALT) as other:
        told(other, ("user", "Which colour shall the ferry get?"), ("user", "Green, I think."))
        people = {item.text: item.parts for item in ask(other, "the colour of the ferry")}
    assert "user" not in people["Which colour shall the ferry get?"]
    assert people["Green, I think."]["neighbours"] > 0
    assert chat.keys() == people.keys()


@pytest.mark.parametrize(
    ("query", "of_agent"),
    [
        ("What did you recommend?", True),
        ("What did the bot answer?", True),
        ("Was hast du empfohlen?", True),
        ("What did I say about Porto?", False),
        ("YOUTUBE channel", False),
    ],
)
def test_who_is_asked_about(query: str, of_agent: bool) -> None:
    assert query_terms(query).of_agent is of_agent
