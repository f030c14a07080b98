"""Which sentences stand for all of them: centrality in the graph of sentences that share words.

A sentence that many others resemble says what the batch is about. Each is a vector of word counts
weighted by rarity (TF-IDF), two are linked by the cosine of their vectors, and a random walk over
the links tells how central each is. It needs no model and no numeric package, and the same
sentences give the same ranks everywhere: sums are exact, the number of steps is bounded, and
values are rounded before anything compares them.

Source: G. Erkan and D. Radev, "LexRank: Graph-based Lexical Centrality as Salience in Text
Summarization", JAIR 22 (2004): the continuous form with its threshold of 0.1. A sentence is
not its own neighbour here: with that, one that resembles nothing ranks as an average one. Rarity
is ``ln(1 + N / n)``, so that the topic of a whole batch, named in all of it, keeps some weight.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from operator import itemgetter, mul, sub, truediv
from typing import TYPE_CHECKING, Final, TypeAlias

from symfonic.capabilities.memory.records import rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Neighbours: TypeAlias = "list[dict[int, float]]"
"""For each sentence the similar ones, by position, with their similarity, 0 to 1."""

LEAST_SIMILARITY: Final = 0.1
"""Below it two sentences are not linked: one common word of many says nothing."""

DAMPING: Final = 0.85
"""The share of the walk that follows links; the rest starts again anywhere."""

MAX_STEPS: Final = 60
TOLERANCE: Final = 1e-3
"""The walk ends when no rank moved by more than this share of the average rank."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’.:/@-][^\W_]+)*")
_WIDE: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_COMMON: Final = frozenset(
    """
    a about after again all also am an and any are as at be been before being but by can could
    did do does doing down for from had has have he her here hers him his how i i'd i'll i'm
    i've if in into is it it's its just me more most my of off on once only or other our out
    over own same she should so some such than that that's the their them then there these they
    this those through to too under until up us very was we we're were what when where which
    while who why will with would you you're your yours
    """.split()
)
"""Words that tell nothing apart. Words that deny are not among them: they turn a sentence round."""


def terms(text: str) -> Counter[str]:
    """The words of a sentence that carry meaning, folded, with their counts, in their order.

    Runs of Chinese, Japanese and Korean characters, which have no spaces, count as pairs.
    """
    found: Counter[str] = Counter()
    spaced = _WIDE.search(text) is None
    for word in _WORD.findall(text.casefold().replace("’", "'")):
        if not spaced and _WIDE.search(word):
            found.update(word[n : n + 2] for n in range(max(1, len(word) - 1)))
        elif word not in _COMMON:
            found[word] += 1
    return found


def similarities(bags: Sequence[Mapping[str, int]]) -> Neighbours:
    """The linked pairs, found through an index from words: a pair that shares none is never met."""
    holders: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, bag in enumerate(bags):
        for term, count in bag.items():
            holders[term].append((number, float(count)))
    weighted = {
        term: [(number, count * math.log(1 + len(bags) / len(held))) for number, count in held]
        for term, held in holders.items()
    }
    norms = _norms(weighted.values(), len(bags))
    products: list[defaultdict[int, list[float]]] = [defaultdict(list) for _ in bags]
    for held in weighted.values():
        for place, (left, weight) in enumerate(held, start=1):
            row = products[left]
            for right, other in held[place:]:
                row[right].append(weight * other)
    found: Neighbours = [{} for _ in bags]
    for left, row in enumerate(products):
        for right, parts in row.items():
            cosine = rounded(math.fsum(parts) / (norms[left] * norms[right]))
            if cosine >= LEAST_SIMILARITY:
                found[left][right] = found[right][left] = cosine
    return found


def centrality(neighbours: Neighbours) -> list[float]:
    """How central each sentence is, 0 to 1, the most central one being 1."""
    count = len(neighbours)
    if count == 0:
        return []
    # Two entries without weight: an itemgetter of fewer than two gives no tuple.
    incoming = [(itemgetter(*near, 0, 0), [*near.values(), 0.0, 0.0]) for near in neighbours]
    totals = [math.fsum(near.values()) or 1.0 for near in neighbours]
    alone = [number for number, near in enumerate(neighbours) if not near]
    ranks = [1.0 / count] * count
    for _ in range(MAX_STEPS):
        lost = math.fsum(ranks[number] for number in alone)
        start = (1.0 - DAMPING + DAMPING * lost) / count
        passed = list(map(truediv, ranks, totals))
        walked = [
            start + DAMPING * math.fsum(map(mul, pick(passed), weights))
            for pick, weights in incoming
        ]
        moved = max(map(abs, map(sub, walked, ranks)))
        ranks = walked
        if rounded(moved * count) <= TOLERANCE:
            break
    highest = max(ranks)
    return [rounded(rank / highest) for rank in ranks]


def _norms(weighted: Iterable[list[tuple[int, float]]], count: int) -> list[float]:
    squares: list[list[float]] = [[] for _ in range(count)]
    for held in weighted:
        for number, weight in held:
            squares[number].append(weight * weight)
    return [math.sqrt(math.fsum(parts)) for parts in squares]
