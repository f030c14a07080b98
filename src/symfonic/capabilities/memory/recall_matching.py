"""What a text holds of a question: which of its terms, how often, and which stand together.

The index says that a row matched, not what. Recall has to know: a row with three words of the
question answers it better than one that repeats a single word. The text is searched as it stands,
by the index's stems and at the places where the index splits words, because making its index form
again for two hundred long turns would cost more than the search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from symfonic.capabilities.memory.records import Episode
from symfonic.capabilities.memory.stemming import stem
from symfonic.capabilities.memory.text_terms import (
    SPLIT,
    UNSPACED,
    UNSPACED_RANGES,
    call_text,
    fold,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.recall_query import Term
    from symfonic.capabilities.memory.records import Record

_RUN: Final = re.compile(f"[^\\W_{UNSPACED_RANGES}]+")
_GAP: Final = re.compile(r"[\W_]+")
_MOST_COUNTED: Final = 8
_MOST_TRIED: Final = 5_000
"""Places at which one term is tried in one text: a log may begin every word alike."""
_TOGETHER: Final = 6
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
        text = record.text
        if isinstance(record.content, Episode) and record.content.calls:
            text = f"{text}\n{call_text(record.content.calls)}"
        text = fold(text)
        lower = text.lower()
        if len(lower) != len(text):  # the few capitals whose small form is longer
            text = lower
        places = [_places(forms, text, lower) for forms in self._forms]
        return Match(counts=tuple(map(len, places)), adjacent=_adjacent(places), length=len(text))


class _Form(NamedTuple):
    """How one phrase is looked for: by the ``start`` of its first word, then by its stems.

    ``pair`` is set for characters of a script without spaces, which stand anywhere.
    """

    start: str
    stems: tuple[str, ...]
    pair: re.Pattern[str] | None


@lru_cache(maxsize=4096)
def _compiled(form: tuple[str, ...]) -> _Form:
    pair = re.compile(r"[^\w\s]{0,2}".join(form[0])) if UNSPACED.match(form[0]) else None
    return _Form(_beginning(form[0]), tuple(map(stem, form)), pair)


def _beginning(token: str) -> str:
    """What all words with this one's stem begin with: a stem may end otherwise than its words."""
    if not (token.isascii() and token.isalpha()):
        return token
    root = stem(token)
    return root[: max(2, len(root) - 2)]


def _places(forms: Sequence[_Form], text: str, lower: str) -> list[Span]:
    """Where a term stands, in any of its forms, each place once and as far as it is counted."""
    found: list[Span] = []
    for form in forms:
        for begin, end in _spans(form, text, lower):
            if any(begin < other_end and other < end for other, other_end in found):
                continue
            found.append((begin, end))
            if len(found) == _MOST_COUNTED:
                return found
    return found


def _spans(form: _Form, text: str, lower: str) -> Iterator[Span]:
    if form.pair is not None:
        for hit in form.pair.finditer(lower):
            yield hit.span()
        return
    at = lower.find(form.start)
    for _ in range(_MOST_TRIED):
        if at < 0:
            return
        end = _phrase_end(form.stems, text, lower, at) if _begins_word(text, at) else None
        if end is not None:
            yield at, end
        at = lower.find(form.start, max(at + 1, end or 0))


def _begins_word(text: str, at: int) -> bool:
    """Whether a word, or a part of one in camel case, begins here."""
    if at == 0 or not text[at - 1].isalnum():
        return True
    return SPLIT.match(text, at) is not None or UNSPACED.match(text, at - 1) is not None


def _phrase_end(stems: tuple[str, ...], text: str, lower: str, at: int) -> int | None:
    """Where the words that begin at ``at`` end, if they are these; ``None`` if they are not."""
    run = _RUN.match(lower, at)
    if run is None:
        return None
    inner = SPLIT.search(text, at + 1, run.end())
    for end in (run.end(), *([inner.start()] if inner else [])):
        if stem(lower[at:end]) != stems[0]:
            continue
        if len(stems) == 1:
            return end
        gap = _GAP.match(lower, end)
        following = _phrase_end(stems[1:], text, lower, gap.end() if gap else end)
        if following is not None:
            return following
    return None


def _adjacent(places: Sequence[list[Span]]) -> float:
    if len(places) < 2:
        return 0.0
    together = 0
    for first, second in pairwise(places):
        if first and second:
            together += any(
                0 <= start - end <= _TOGETHER for _, end in first for start, _ in second
            )
    return together / (len(places) - 1)
