"""A turn as one text, and what follows from the turns of a conversation."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from symfonic.capabilities.memory.evaluation.conversations import (
    Conversation,
    Said,
    sessions_of,
    spoken,
)


@pytest.mark.parametrize(
    ("speaker", "caption", "text"),
    [
        (None, None, "Look."),
        ("Ines", None, "Ines: Look."),
        ("Ines", "a loft", "Ines: Look. [photo: a loft]"),
        (None, "a loft", "Look. [photo: a loft]"),
    ],
)
def test_a_turn_is_its_speaker_its_text_and_its_picture(
    speaker: str | None, caption: str | None, text: str
) -> None:
    assert spoken("Look.", speaker, caption) == text


def test_a_conversation_ends_at_the_latest_time_that_a_turn_states() -> None:
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 9, 5)]
    turns = tuple(
        Said(id=str(n), session="1", position=n, text="x", at=at)
        for n, at in enumerate([*days, None])
    )
    assert Conversation(number=1, turns=turns, questions=()).ended == days[1]
    assert Conversation(number=1, turns=turns[3:], questions=()).ended is None


def test_the_sessions_of_gold_turns_are_each_named_once() -> None:
    turns = {
        n: Said(id=n, session=s, position=0, text="x")
        for n, s in (("1", "1"), ("2", "1"), ("3", "2"))
    }
    assert sessions_of(turns, frozenset(["1", "2"])) == {"1"}
