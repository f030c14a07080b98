"""How well a candidate answers a question: what it matched, who said it, and what stands beside it.

The index only proposes candidates, those of the rarest words first. A candidate is weighed here,
from its text and from counts of the reader's own records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import Episode, rounded
from symfonic.capabilities.memory.text_terms import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.recall_matching import Match
    from symfonic.capabilities.memory.recall_query import Query
    from symfonic.capabilities.memory.records import Record, RecordId


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallWeights:
    """What each part of a score is worth, beside a text match of 0 to 1.

    Chosen on LoCoMo, its turns without the speaker in their text: the share of evidence turns among
    the first ten, in percent, is 75.2 with each conversation in a store of its own and 71.0 with
    all in one scope. The pairs of numbers below are what is lost of these when the part is taken
    out. ``symfonic-memory eval recall`` measures it, and ``benchmarks/recall_locomo.py`` with all
    in one scope, both with the speaker in the text.
    """

    candidates: int = 250
    """Rows asked of the text index (120: 0.5 and 1.0); later ones hold only common words. How
    rare a word is moves with a night's summaries, so the last rows need some room.
    """
    seeds: int = 20
    """Best rows around which turns are fetched that matched nothing themselves (4.4 and 5.2)."""
    saturation: float = 0.5
    """What a repeated word adds: little, because a turn that repeats a word rarely says more."""
    length: float = 0.4
    """How much a text longer than the usual one is discounted: it matches more by accident. LoCoMo
    has no long turns (0.0 and 0.2); agents' logs do."""
    usual_length: int = 200
    """Characters below which no text is discounted."""
    phrase: float = 0.2
    """For words of the question that stand together in the text as well (0.4 and 0.4)."""
    speaker: float = 0.8
    """Share added to turns of a person whom the question names (3.8 and 8.3)."""
    named: float = 0.3
    """What that name counts beside another word: turns *to* a person hold it most (1.6 and 1.4)."""
    neighbour: float = 0.5
    """Share of its match that a turn lends to the one before and after: an answer lacks the words
    of its question (with the next one 6.6 and 6.2)."""
    second_neighbour: float = 0.25
    """The same for the turns after next."""
    reply: float = 0.5
    """Of what neighbours lend, the part that they lend where a user talks with an agent: the turn
    beside a statement is an answer to it, and no part of what somebody tells."""
    user: float = 0.3
    """Share added there to what the user said, unless the question asks what the agent said: what
    is asked for later is what somebody told, and an agent's turns repeat its words at length. These
    two are not measured: LoCoMo has no agent."""
    session: float = 0.6
    """Share of a session's best three matches that its turns get: they have one subject
    (1.4 and 1.1)."""
    vector: float = 0.25
    """For the nearest vector, less for the others down to nothing for the usual ones. With
    ``minilm`` recall@10 on LoCoMo's first five conversations is 78.0 without, 80.2 to 80.5 from 0.2
    to 0.3, 79.1 at 0.5 and 74.2 at 1.2: beyond it vectors outweigh the rare words."""
    nearest: int = 100
    """Rows asked of the vectors beside those of the index (50 and 200 differ by 0.1)."""
    usual_rank: int = 200
    """The candidate by nearness that counts as usual (50: 0.5 less)."""
    time: float = 1.0
    """Share added to what is of a time that the question names, less the farther it lies from it:
    a question names a time to be answered from it. On LoCoMo's first five conversations, where one
    question in seven names one, recall@10 is 1.2 higher; from 0.5 on more makes little difference.
    """
    comparable: int = 10
    """Best matches that a question for the latest or first puts in order of time."""


DEFAULT_WEIGHTS: Final = RecallWeights()


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A record under consideration; ``parts`` add up to its score, 0 to 1 once scaled.

    ``match`` is ``None`` for a turn that matched nothing and stands beside ones that did.
    """

    record: Record
    match: Match | None = None
    parts: dict[str, float] = field(default_factory=dict)
    approximate: bool = False
    evidence: tuple[RecordId, ...] = ()

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return math.fsum(self.parts.values())


def score_text(
    candidates: Sequence[Candidate], query: Query, *, stored: int, weights: RecallWeights
) -> frozenset[str]:
    """Set each candidate's ``text`` and ``phrase`` parts; the speakers whom the question names.

    A term weighs by its rarity among ``stored`` records, as far as the candidates show it: what
    the index left out holds only common words. Words that no record holds count too, so that a
    question mostly about something else gets a low score.
    """
    matches = [candidate.match for candidate in candidates if candidate.match is not None]
    speakers = _speakers(candidates)
    named = frozenset(term.text for term in query.terms) & speakers
    total = max(stored, len(matches))
    rarity: list[float] = []
    for position, term in enumerate(query.terms):
        rows = sum(1 for match in matches if match.counts[position])
        weight = math.log1p((total - rows + 0.5) / (rows + 0.5))
        rarity.append(weight * (weights.named if term.text in named else 1.0))
    whole = math.fsum(rarity) or 1.0
    mean = sum(match.length for match in matches) / max(1, len(matches))
    usual = max(mean, weights.usual_length)
    for candidate in candidates:
        if candidate.match is not None:
            discount = 1 + weights.length * max(0.0, candidate.match.length / usual - 1)
            said_by = named.intersection(speaker_names(candidate.record)) if named else ()
            shares = (
                weight * _saturated(max(count, term.text in said_by), weights.saturation, discount)
                for weight, count, term in zip(
                    rarity, candidate.match.counts, query.terms, strict=True
                )
            )
            candidate.parts["text"] = rounded(math.fsum(shares) / whole)
            candidate.parts["phrase"] = rounded(weights.phrase * candidate.match.adjacent)
    return named


def _saturated(count: int, saturation: float, discount: float) -> float:
    """The worth of a word that occurs ``count`` times, at most 1."""
    return count and min(1.0, count * (1 + saturation) / (count + saturation * discount))


def _speakers(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Every part of the names of those who spoke the candidates, folded."""
    return frozenset(part for c in candidates for part in speaker_names(c.record))


def speaker_names(record: Record) -> list[str]:
    """The parts of a turn's speaker's name, folded and in lower case; none for other records."""
    name = record.content.name if isinstance(record.content, Episode) else None
    return fold(name).lower().split() if name else []
