"""What the turns around a candidate lend it: its neighbours, its session, its speaker.

A question is often asked with the words of another question: the turn that answers it stands after
the one that matched and shares no word with either. Lending is by position, never by time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.recall_scoring import Candidate, RecallWeights, speaker_names
from symfonic.capabilities.memory.records import Episode, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.records import Record, Role
    from symfonic.capabilities.memory.store import MemoryReader

Place = tuple[str, str, int]
"""Where a turn stands: scope, session and position."""

DISTANCE: Final = 2
_SESSION_MATCHES: Final = 3
_FULL_QUESTION: Final = 3
_QUESTION: Final = re.compile(r"[?？؟](?=\W|$)")


def add_context(
    reader: MemoryReader,
    matched: Sequence[Candidate],
    *,
    named: frozenset[str],
    of_agent: bool,
    weights: RecallWeights,
) -> list[Candidate]:
    """Set the lent parts of the candidates; they and the unmatched turns that earn a place.

    A turn that matched nothing earns one if it follows a question that matched, or, where a whole
    question of three terms or more was asked, if at least two of the four turns around it
    matched. Beside a single match, or for a word or two, it is only what was said next.

    Two people tell one story between them; a user and an agent do not, so there turns lend less
    and the user's count more. ``of_agent`` questions ask for what the agent said.
    """  # fmt: skip
    is_chat = {"user", "assistant"} <= {_role(c.record) for c in matched}
    lending = weights.reply if is_chat else 1.0
    own = {place: c for c in matched if (place := _place(c.record)) is not None}
    given = {place: c.total for place, c in own.items()}
    sessions = _session_scores(given, weights)
    candidates = list(matched)
    for record in _around(reader, own, weights):
        place = _place(record)
        if place is not None and place not in own and _earns_a_place(place, own):
            candidates.append(Candidate(record=record))
    for candidate in candidates:
        place = _place(candidate.record)
        if place is not None:
            candidate.parts["neighbours"] = rounded(lending * _lent(place, given, weights))
            candidate.parts["session"] = sessions.get(place[:2], 0.0)
        if named.intersection(speaker_names(candidate.record)):
            candidate.parts["speaker"] = rounded(weights.speaker * candidate.total)
        if is_chat and not of_agent and _role(candidate.record) == "user":
            candidate.parts["user"] = rounded(weights.user * candidate.total)
    return candidates


def _role(record: Record) -> Role | None:
    return record.content.role if isinstance(record.content, Episode) else None


def _place(record: Record) -> Place | None:
    if record.kind != "episode" or record.session is None or record.position is None:
        return None
    return record.scope, record.session, record.position


def _around(
    reader: MemoryReader, own: Mapping[Place, Candidate], weights: RecallWeights
) -> list[Record]:
    """The turns around the best matches, in order."""
    best = sorted(own.values(), key=lambda c: (-c.total, c.record.id))[: weights.seeds]
    if not best:
        return []
    found = reader.neighbours([c.record for c in best], distance=DISTANCE)
    return sorted(found, key=lambda record: record.order)


def _earns_a_place(place: Place, own: Mapping[Place, Candidate]) -> bool:
    asked = own.get(_beside(place, -1))
    if asked is not None and _QUESTION.search(asked.record.text):
        return True
    around = (own.get(_beside(place, step)) for step in (-2, -1, 1, 2))
    return sum(1 for c in around if c and c.match and len(c.match.counts) >= _FULL_QUESTION) >= 2


def _beside(place: Place, step: int) -> Place:
    return place[0], place[1], place[2] + step


def _lent(place: Place, given: Mapping[Place, float], weights: RecallWeights) -> float:
    near = given.get(_beside(place, -1), 0.0) + given.get(_beside(place, 1), 0.0)
    far = given.get(_beside(place, -2), 0.0) + given.get(_beside(place, 2), 0.0)
    return weights.neighbour * near + weights.second_neighbour * far


def _session_scores(
    given: Mapping[Place, float], weights: RecallWeights
) -> dict[tuple[str, str], float]:
    """What each session lends: a share of its best three matches' mean, missing ones as nothing."""
    scores: dict[tuple[str, str], list[float]] = {}
    for place, score in given.items():
        scores.setdefault(place[:2], []).append(score)
    return {
        session: rounded(weights.session * sum(sorted(of, reverse=True)[:_SESSION_MATCHES])
                         / _SESSION_MATCHES)
        for session, of in scores.items()
    }  # fmt: skip
