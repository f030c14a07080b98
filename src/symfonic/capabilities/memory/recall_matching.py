"""What a text holds of a question: which of its terms, how often, and which stand together.

The index says that a row matched, not what. Recall has to know: a row with three words of the
question answers it better than one that repeats a single word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from symfonic.capabilities.memory.records import Episode
from symfonic.capabilities.memory.stemming import stem
from symfonic.capabilities.memory.text_terms import fold, searchable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.recall_query import Term
    from symfonic.capabilities.memory.records import Record

_AFTER: Final = "([^\\W_]*)"
_BETWEEN: Final = "[\\W_]+"
_MOST_COUNTED: Final = 8
_GAP: Final = 6
"""Characters between two words that stand together: one small word may come between."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What one text holds of a question.

    ``counts`` has a number for each term in order, ``adjacent`` is the share (0 to 1) of the
    question's neighbouring terms that are neighbours in the text, ``length`` is in characters.
    """

    counts: tuple[int, ...]
    adjacent: float
    length: int

    @property
    def found(self) -> int:
        """How many of the question's terms the text holds."""
        return sum(1 for count in self.counts if count)


class Matcher:
    """Finds a question's terms in texts, by the same stems as the index."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._forms = [[_compiled(form) for form in term.forms] for term in terms]

    def match(self, record: Record) -> Match:
        """What ``record`` holds of the question."""
        calls = record.content.calls if isinstance(record.content, Episode) else ()
        text = fold(searchable(record.text, calls)).lower()
        places = [_places(forms, text) for forms in self._forms]
        return Match(counts=tuple(map(len, places)), adjacent=_adjacent(places), length=len(text))


class _Form(NamedTuple):
    """How one phrase is looked for: quickly by ``start``, then by pattern, then by its stems."""

    start: str
    pattern: re.Pattern[str]
    stems: tuple[str, ...]


@lru_cache(maxsize=4096)
def _compiled(form: tuple[str, ...]) -> _Form:
    pattern = _BETWEEN.join(re.escape(_beginning(token)) + _AFTER for token in form)
    return _Form(_beginning(form[0]), re.compile(pattern), tuple(map(stem, form)))


def _beginning(token: str) -> str:
    """What all words with this one's stem begin with: a stem may end otherwise than its words."""
    if not (token.isascii() and token.isalpha()):
        return token
    root = stem(token)
    return root[: max(2, len(root) - 2)]


def _places(forms: Sequence[_Form], text: str) -> list[Span]:
    """Where a term stands, in any of its forms, as far as it is counted."""
    found: list[Span] = []
    for form in forms:
        if form.start not in text:
            continue
        for hit in form.pattern.finditer(text):
            if _holds(hit, form.stems, text):
                found.append(hit.span())
                if len(found) == _MOST_COUNTED:
                    return found
    return found


def _holds(hit: re.Match[str], stems: tuple[str, ...], text: str) -> bool:
    """Whether a hit begins a word and is made of the words that are looked for."""
    start = hit.start()
    if start and text[start - 1].isalnum():
        return False
    if len(stems) == 1:
        return stem(hit.group()) == stems[0]
    return tuple(map(stem, re.split(_BETWEEN, hit.group()))) == stems


def _adjacent(places: Sequence[list[Span]]) -> float:
    if len(places) < 2:
        return 0.0
    together = 0
    for first, second in pairwise(places):
        if first and second:
            together += any(0 < start - end <= _GAP for _, end in first for start, _ in second)
    return together / (len(places) - 1)
