"""What a time that the question names lends to what is of that time.

Talk about an event comes on its day or some time after it, and a fact holds over a span, so the
window is soft: what lies beside it gets less, not nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.recall_query import MOST_CHARACTERS, query_terms
from symfonic.capabilities.memory.records import EPOCH, Fact, rounded
from symfonic.capabilities.memory.spoken_times import (
    SpokenTime,
    not_understood,
    spoken_times,
    without_times,
)
from symfonic.capabilities.memory.stop_words import WORDS_FOR_ANYTHING
from symfonic.capabilities.memory.text_terms import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.recall_query import Query, Side
    from symfonic.capabilities.memory.recall_scoring import Candidate, RecallWeights
    from symfonic.capabilities.memory.records import Record

LEAST_MARGIN: Final = timedelta(days=1)
"""Beside a span, what lies so far off gets half, and a longer one reaches half its length."""
WIDEST_MARGIN: Final = timedelta(days=30)

_EARLIER: Final = frozenset("before until bevor avant antes".split())
_EVENT: Final = re.compile(
    r"\b(?P<side>before|after|since|until|bevor|nachdem|avant|apres|antes|despues)\s+(?P<event>.+)",
    re.IGNORECASE | re.DOTALL,
)


def timed(query: Query, *, now: datetime) -> Query:
    """The question with the times that it names, as seen from ``now``."""
    times = spoken_times(query.text, now=now)
    if times:
        rest = query_terms(without_times(query.text, times)).terms
        only = all(term.text in WORDS_FOR_ANYTHING for term in rest)
        unclear = not_understood(query.text, times)
        return replace(query, times=times, only_times=only, unclear=unclear)
    query = replace(query, unclear=not_understood(query.text, ()))
    found = _EVENT.search(fold(query.text[:MOST_CHARACTERS]))
    if found is None:
        return query
    side: Side = "before" if found["side"].lower() in _EARLIER else "after"
    named = {term.text for term in query_terms(found["event"]).terms}
    ahead = {term.text for term in query_terms(found.string[: found.start()]).terms}
    event = frozenset(n for n, term in enumerate(query.terms) if term.text in named - ahead)
    return replace(query, event=event, side=side) if event and ahead - named else query


def times_meant(asked: Query, found: Sequence[Candidate]) -> tuple[SpokenTime, ...]:
    """The times that the question names; for "before the move", the time of the move.

    That is when the candidate that holds most of those words was said, and at least half of them.
    """
    if asked.side is None or not found:
        return asked.times
    held = [(_held(candidate, asked), candidate) for candidate in found]
    most, event = max(held, key=lambda pair: (pair[0], pair[1].total, pair[1].record.id))
    if 2 * most < len(asked.event):
        return ()
    at = event.record.at
    if asked.side == "before":
        return (SpokenTime(start=None, end=at),)
    return (SpokenTime(start=at, end=None),)


def _held(candidate: Candidate, asked: Query) -> int:
    counts = candidate.match.counts if candidate.match else ()
    return sum(1 for n in asked.event if n < len(counts) and counts[n])


def add_time(
    candidates: Sequence[Candidate], times: Sequence[SpokenTime], *, weights: RecallWeights
) -> None:
    """Set the ``time`` part: a share of what a candidate has otherwise, most inside a time."""
    for candidate in candidates if times else ():
        near = max(closeness(candidate.record, time) for time in times)
        candidate.parts["time"] = rounded(weights.time * near * candidate.total)


def is_of_the_time(record: Record, asked: Query) -> bool:
    """Whether a record may answer: words with a time ("greenhouse last week") ask for nothing else.

    In a question the time is a part of what is known ("What did we plant last week?"), and is
    often told of later; there it lifts and does not decide.
    """
    if asked.is_asked or not asked.times:
        return True
    return any(closeness(record, time) >= 1.0 for time in asked.times)


def closeness(record: Record, time: SpokenTime) -> float:
    """1 inside the time, half of it one margin away, and so on. A fact lies where it is valid."""
    first = last = record.at
    if isinstance(record.content, Fact) and record.content.valid_from is not None:
        first = _moment(record.content.valid_from)
        last = first if record.content.valid_to is None else _moment(record.content.valid_to)
    distance = timedelta(0)
    if time.end is not None and first >= time.end:
        distance = first - time.end
    elif time.start is not None and last < time.start:
        distance = time.start - last
    return float(0.5 ** (distance / _margin(time)))


def _margin(time: SpokenTime) -> timedelta:
    if time.start is None or time.end is None:
        return 7 * LEAST_MARGIN
    return min(WIDEST_MARGIN, max(LEAST_MARGIN, (time.end - time.start) / 2))


def _moment(stated: str) -> datetime:
    found = datetime.fromisoformat(stated)
    return found if found.tzinfo else found.replace(tzinfo=EPOCH.tzinfo)
