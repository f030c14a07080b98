"""Near spellings of words that the store does not hold.

Only a word without any exact match is looked for this way, by its beginning, and only texts with
a word one or two letters away are taken: a beginning alone would answer a question about
Patagonia with whatever starts with "pata".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.recall_query import beginning, beginning_expressions
from symfonic.capabilities.memory.recall_scoring import Candidate
from symfonic.capabilities.memory.records import rounded
from symfonic.capabilities.memory.text_terms import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.recall_query import Query, Term
    from symfonic.capabilities.memory.records import Kind
    from symfonic.capabilities.memory.store import MemoryReader

_MOST: Final = 100
_LONG_WORD: Final = 8
_WORTH: Final = 0.5


def near_spellings(
    reader: MemoryReader, query: Query, found: Sequence[Candidate], kinds: Sequence[Kind]
) -> list[Candidate]:
    """Rows with a word spelt nearly like one that no candidate holds, marked as approximate.

    Rows that matched something exactly are not among them. Each is worth half its share of the
    question's terms, and no more than the least exact match: it stands below them all.
    """
    missing = [
        term for position, term in enumerate(query.terms)
        if beginning(term) and not any(c.match and c.match.counts[position] for c in found)
    ]  # fmt: skip
    if not missing:
        return []
    prefixes = [prefix for term in missing if (prefix := beginning(term))]
    known = {candidate.record.id for candidate in found}
    least = min((candidate.total for candidate in found), default=1.0)
    near: list[Candidate] = []
    for hit in reader.search(beginning_expressions(prefixes), kinds=kinds, limit=_MOST):
        if hit.record.id in known:
            continue
        text = fold(hit.record.text).lower()
        held = sum(1 for term in missing if _has_near(term, text))
        if held:
            worth = min(_WORTH * held / len(query.terms), least)
            near.append(
                Candidate(record=hit.record, parts={"near": rounded(worth)}, approximate=True)
            )
    return near


def _has_near(term: Term, text: str) -> bool:
    """Whether the text has a word with the term's beginning, one or two letters away from it."""
    prefix, most = beginning(term) or "", 1 + (len(term.text) >= _LONG_WORD)
    for hit in re.finditer(re.escape(prefix) + r"[^\W_]*", text):
        begins = hit.start() == 0 or not text[hit.start() - 1].isalnum()
        if begins and distance(term.text, hit.group(), most) <= most:
            return True
    return False


def distance(first: str, second: str, most: int) -> int:
    """How many letters must be put in, left out, replaced or swapped with the next one.

    Anything above ``most`` is ``most + 1``. Source: optimal string
    alignment (Damerau, 1964; Levenshtein, 1966).
    """
    if abs(len(first) - len(second)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        following = [i]
        for j, other in enumerate(second, 1):
            cost = min(row[j] + 1, following[-1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        if min(following) > most:
            return most + 1
        before, row = row, following
    return min(row[-1], most + 1)
