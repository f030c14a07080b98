"""Reads LoCoMo: long conversations of two people, over months, with questions of five categories.

Source: Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents" (2024).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.evaluation.conversations import (
    Asked,
    Conversation,
    Said,
    sessions_of,
    spoken,
)
from symfonic.capabilities.memory.evaluation.fields import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from symfonic.capabilities.memory.evaluation.fields import Value

CATEGORIES: Final[Mapping[int, str]] = {
    1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial",
}  # fmt: skip

_ADVERSARIAL: Final = 5
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN: Final = re.compile(r"D:?(\d+):(\d+)")
"""A turn's id. The key also writes ``D:11:26`` and ``D30:05``, and several in one text."""
_TIME: Final = "%I:%M %p on %d %B, %Y"


def read_locomo(path: Path) -> Iterator[Conversation]:
    """The conversations of ``locomo10.json``, or of a file in its form, in order.

    Each turn has the time that its session states, taken as UTC. Raises ``InputError``.
    """
    for number, value in enumerate(values_of(path), 1):
        ids: dict[tuple[int, int], str] = {}
        turns = tuple(_turns(value.need("conversation"), ids))
        questions = tuple(_questions(value.need("qa"), ids, {turn.id: turn for turn in turns}))
        yield Conversation(number=number, turns=turns, questions=questions)


def _turns(conversation: Value, ids: dict[tuple[int, int], str]) -> Iterator[Said]:
    """The turns, session by session; ``ids`` gets each one's id by the one it has in the file."""
    names = [match for name in conversation.names() if (match := _SESSION.fullmatch(name))]
    for match in sorted(names, key=lambda match: int(match[1])):
        at = conversation.need(f"{match[0]}_date_time").stamp(_TIME, "1:56 pm on 8 May, 2023")
        for position, turn in enumerate(conversation.need(match[0]).items()):
            given = turn.need("dia_id")
            places = _places(given)
            if len(places) != 1 or places[0] in ids:
                given.wrong("is not the id of one turn, such as 'D1:3', that no other turn has")
            ids[places[0]] = str(len(ids) + 1)
            speaker, caption = turn.need("speaker").name(), turn.get("blip_caption")
            shown = None if caption is None else caption.text()
            yield Said(
                id=ids[places[0]], session=match[1], position=position, speaker=speaker, at=at,
                text=spoken(turn.need("text").text(), speaker, shown),
            )  # fmt: skip


def _questions(
    given: Value, ids: Mapping[tuple[int, int], str], turns: Mapping[str, Said]
) -> Iterator[Asked]:
    for row in given.items():
        category = row.need("category")
        if category.whole() not in CATEGORIES:
            category.wrong(f"is none of {', '.join(map(str, CATEGORIES))}")
        stated = row.need("evidence").items()
        named = dict.fromkeys(place for one in stated for place in _places(one))
        gold = frozenset(ids[place] for place in named if place in ids)
        yield Asked(
            text=row.need("question").text(), category=CATEGORIES[category.whole()], gold=gold,
            gold_sessions=sessions_of(turns, gold), missing=len(named) - len(gold),
            adversarial=category.whole() == _ADVERSARIAL,
        )  # fmt: skip


def _places(given: Value) -> list[tuple[int, int]]:
    return [(int(session), int(turn)) for session, turn in _TURN.findall(given.text())]
