"""How good a ranking is, given what holds the answer: pure functions, each 0 to 1.

A ranking is a list of ids, best first. ``None`` in it is a row that is no turn, a summary for
example: it takes its place and is worth nothing. An id that comes again counts where it came first.
Every function wants at least one gold id: without one there is nothing to find.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, log2, sqrt
from typing import Final

Ranking = Sequence[str | None]
Gold = frozenset[str]

TURN_DEPTHS: Final = (1, 5, 10, 20, 50)
SESSION_DEPTHS: Final = (1, 5, 10)
FIRST: Final = 10
"""Rows of the answer that are judged as a whole, and whose tokens are counted."""
CHARACTERS: Final = 4_000
"""Characters of context, about a thousand tokens."""
_Z: Final = 1.959963984540054
"""Of a normal distribution 95 % lies within so many standard deviations."""


def recall_at(ranked: Ranking, gold: Gold, k: int) -> float:
    """The share of the gold ids that is among the first ``k``."""
    return len(gold.intersection(ranked[:k])) / len(gold)


def any_at(ranked: Ranking, gold: Gold, k: int) -> float:
    """1 where at least one gold id is among the first ``k``, else 0."""
    return float(not gold.isdisjoint(ranked[:k]))


def all_at(ranked: Ranking, gold: Gold, k: int) -> float:
    """1 where every gold id is among the first ``k``, else 0."""
    return float(gold.issubset(ranked[:k]))


def ndcg_at(ranked: Ranking, gold: Gold, k: int) -> float:
    """Discounted gain of the first ``k``, of the most that a ranking could have.

    A gold id gains 1, divided by the binary logarithm of its place plus one. Source: Järvelin and
    Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002).
    """
    places = [place for place, i in enumerate(_once(ranked), 1) if i in gold and place <= k]
    best = range(1, min(len(gold), k) + 1)
    return _gain(places) / _gain(best)


def reciprocal_rank(ranked: Ranking, gold: Gold, k: int) -> float:
    """1 by the place of the first gold id; 0 where none is among the first ``k``."""
    places = (place for place, i in enumerate(ranked[:k], 1) if i in gold)
    return 1 / next(places, float("inf"))


def recall_within(ranked: Ranking, lengths: Sequence[int], gold: Gold, characters: int) -> float:
    """The share of the gold ids among the rows that fit ``characters`` together.

    The first row that does not fit ends it: whoever fills a prompt from a ranking goes in its
    order, and half a turn may be the half without the answer.
    """
    taken = used = 0
    for length in lengths:
        used += length
        if used > characters:
            break
        taken += 1
    return recall_at(ranked, gold, taken)


def in_order(ranked: Iterable[str | None]) -> list[str]:
    """The ids of a ranking, each once, without rows that are none: the order of its sessions."""
    return list(dict.fromkeys(i for i in ranked if i is not None))


def turn_measures(ranked: Ranking, lengths: Sequence[int], gold: Gold) -> dict[str, float]:
    """Every measure of turns, by name."""
    return {
        **{f"recall@{k}": recall_at(ranked, gold, k) for k in TURN_DEPTHS},
        f"all_gold@{FIRST}": all_at(ranked, gold, FIRST),
        f"ndcg@{FIRST}": ndcg_at(ranked, gold, FIRST),
        "mrr": reciprocal_rank(ranked, gold, TURN_DEPTHS[-1]),
        f"recall@{CHARACTERS}_characters": recall_within(ranked, lengths, gold, CHARACTERS),
    }


def session_measures(ranked: Ranking, gold: Gold) -> dict[str, float]:
    """Every measure of sessions, by name.

    ``ranked`` are the sessions of a ranking's rows; the first ``k`` are the first ``k`` different
    ones, as LongMemEval's authors count. Source: their ``evaluate_retrieval_turn2session``.
    """
    sessions = in_order(ranked)
    return {
        f"{name}@{k}": measure(sessions, gold, k)
        for name, measure in (("recall", recall_at), ("any", any_at), ("all", all_at))
        for k in SESSION_DEPTHS
    }


def means(of: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over some questions, which all have the same measures."""
    return {name: fsum(one[name] for one in of) / len(of) for name in (of[0] if of else ())}


def interval(mean: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a mean of ``count`` values that are each 0 to 1, after Wilson.

    A closed form needs no random numbers, stays within 0 and 1, and has a width also where every
    question was answered. Wilson's is for values that are 0 or 1; of all values from 0 to 1 with
    one mean these vary most, so for shares it is too wide rather than too narrow. Questions of one
    conversation are taken as independent of each other.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927);
    Brown, Cai and DasGupta, "Interval estimation for a binomial proportion" (2001); Bhatia and
    Davis, "A better bound on the variance" (2000).
    """
    z = _Z * _Z / count
    middle = mean + z / 2
    reach = sqrt(z * mean * (1 - mean) + z * z / 4)
    return max(0.0, (middle - reach) / (1 + z)), min(1.0, (middle + reach) / (1 + z))


def _once(ranked: Ranking) -> list[str | None]:
    """The ranking with ``None`` in the place of an id that came before."""
    seen: set[str | None] = set()
    found: list[str | None] = []
    for i in ranked:
        found.append(None if i in seen else i)
        seen.add(i)
    return found


def _gain(places: Iterable[int]) -> float:
    return fsum(1 / log2(place + 1) for place in places)
