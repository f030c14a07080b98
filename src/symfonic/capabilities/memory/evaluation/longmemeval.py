"""Reads LongMemEval: questions to an assistant, each with a history of sessions of its own.

Source: Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory"
(2024).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.evaluation.conversations import Asked, Conversation, Said
from symfonic.capabilities.memory.evaluation.fields import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.evaluation.fields import Value

_ABSTENTION: Final = "_abs"
_TIME: Final = "%Y/%m/%d (%a) %H:%M"
_EXAMPLE: Final = "2023/04/10 (Mon) 17:50"


def read_longmemeval(path: Path) -> Iterator[Conversation]:
    """Each question of a file with its history as a conversation, in order.

    Of the turns of both roles those marked ``has_answer`` are gold, of the sessions those that
    ``answer_session_ids`` names. A question whose id ends with ``_abs`` has no answer in its
    history. Times are taken as UTC. Raises ``InputError``.
    """
    for number, value in enumerate(values_of(path), 1):
        yield _conversation(value, number)


def _conversation(value: Value, number: int) -> Conversation:
    named = value.need("haystack_session_ids").items()
    dates = value.need("haystack_dates").items()
    sessions = value.need("haystack_sessions").items()
    if not len(named) == len(dates) == len(sessions):
        value.wrong(
            f"has {len(sessions)} haystack_sessions, {len(dates)} haystack_dates and "
            f"{len(named)} haystack_session_ids, which should be as many"
        )
    answering = {one.name() for one in value.need("answer_session_ids").items()}
    turns: list[Said] = []
    gold: set[str] = set()
    for session, (date, given) in enumerate(zip(dates, sessions, strict=True), 1):
        at = date.stamp(_TIME, _EXAMPLE)
        for position, one in enumerate(given.items()):
            turns.append(Said(
                id=str(len(turns) + 1), session=str(session), position=position, at=at,
                role=one.need("role").role(), text=one.need("content").text(),
            ))  # fmt: skip
            marked = one.get("has_answer")
            if marked is not None and marked.flag():
                gold.add(turns[-1].id)
    places = [str(session) for session, one in enumerate(named, 1) if one.name() in answering]
    question = Asked(
        text=value.need("question").text(), category=value.need("question_type").name(),
        gold=frozenset(gold), gold_sessions=frozenset(places),
        adversarial=value.need("question_id").name().endswith(_ABSTENTION),
        at=value.need("question_date").stamp(_TIME, _EXAMPLE),
    )  # fmt: skip
    return Conversation(number=number, turns=tuple(turns), questions=(question,))
