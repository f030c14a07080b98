"""How likely a capitalised run is a name, and what of.

Scores are ranks made comparable. From 0.5 on it is more likely a name than not, which the benchmark
``entities_locomo.py`` measures; below that stands what other episodes have to confirm.
"""

from __future__ import annotations

import re
from typing import Final

from symfonic.capabilities.memory.extractors.common_words import (
    COMMON_ACRONYMS,
    CURRENCIES_AND_UNITS,
    DEMONYMS,
    KIN,
    STARTERS,
    is_ordinary,
)
from symfonic.capabilities.memory.extractors.name_context import (
    ORGANISATION_HEADS,
    PLACE_HEADS,
    THING_HEADS,
    TITLES,
    Context,
)

SPEAKER: Final = 0.95
HIGHEST: Final = 0.9
"""The highest score that text alone supports."""
IDENTIFIER_SCORE: Final = 0.7
STRONG: Final = 0.5
REPEATED: Final = 0.05
_ORGANISATION: Final = 0.85
_SEVERAL_WORDS: Final = 0.75
_SEVERAL_FIRST: Final = 0.6
_INNER_CAPITAL: Final = 0.6
_INSIDE: Final = 0.55
_CAPITALS_ONLY: Final = 0.5
_ORDINARY_WORDS: Final = 0.5
_FIRST_WORD: Final = 0.4
_ORDINARY_INSIDE: Final = 0.4
_ADDRESSED: Final = 0.15
_PLACED: Final = 0.1

_INNER: Final = re.compile(r"\w[a-z]+[A-Z][a-z]")
_LONGEST_ACRONYM: Final = 6
_LINE: Final = 200
"""How far back a line's beginning is looked for: a field of a form is near it."""
_FIELD_LINE: Final = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]|\*\*|__|\|)")


def score_of_several(words: list[str], context: Context) -> float:
    """The score of a run of several words, 0 for none: raised voice, or a sentence's beginning."""
    ordinary = [is_ordinary(word.lower()) for word in words]
    if sum(word.isupper() and len(word) > 1 for word in words) > 1 and any(ordinary):
        return 0
    first = words[0].lower().rstrip(".")
    if first in TITLES:
        return HIGHEST
    if all(ordinary):
        return _ORDINARY_WORDS if context.position != "start" else 0
    score = _SEVERAL_FIRST if context.position == "start" else _SEVERAL_WORDS
    return score + (_ADDRESSED if context.spoken_to or context.named else 0)


def score_of_one(text: str, parts: list[str], context: Context) -> float:
    """The score of a single word, perhaps with a number after it; 0 for none."""
    word = parts[0]
    lower = word.lower()
    if lower in STARTERS or lower in KIN or lower in DEMONYMS or lower in TITLES:
        return _INSIDE if lower == "will" and context != Context("inside") else 0
    if word.isupper() or (word[:-1].isupper() and word[-1] == "s" and len(word) > 2):
        return _acronym(word)
    if _INNER.match(word):
        return _INNER_CAPITAL
    if len(parts) > 1:
        return _SEVERAL_FIRST if not is_ordinary(lower) else 0
    evidence = context.spoken_to or context.named or context.said
    added = _ADDRESSED if evidence else 0
    if context.position == "start":
        if is_ordinary(lower) or _also_lower(text, lower) or _drops_g(text, word):
            return 0
        return _FIRST_WORD + added
    if is_ordinary(lower):
        return _ORDINARY_INSIDE + added
    return _INSIDE + max(added, _PLACED if context.kind == "place" else 0)


def heads_a_field(text: str, start: int, words: list[str]) -> bool:
    """Whether ordinary words at ``start`` are a field of a form, as in ``- **Cabin Class:** …``.

    Forms write in capitals what talk does not. In a list item or a bold line such words name a
    field or its value; a name there has a word that is not ordinary.
    """
    if not all(is_ordinary(low := word.lower()) or low in COMMON_ACRONYMS for word in words):
        return False
    begin = text.rfind("\n", max(0, start - _LINE), start) + 1
    return (begin > 0 or start < _LINE) and _FIELD_LINE.match(text, begin, start) is not None


def _also_lower(text: str, word: str) -> bool:
    """Whether the same text writes the word small too: then its capital is the sentence's."""
    return f" {word}" in text and re.search(rf"\b{re.escape(word)}\b", text) is not None


def _drops_g(text: str, word: str) -> bool:
    """Whether it is a verb in spoken spelling, as in "Startin' now"."""
    return word.endswith("in") and re.search(rf"\b{word}['’](?!\w)", text) is not None


def _acronym(word: str) -> float:
    """Capitals alone; a plural of such is a class of things, and a long one is raised voice."""
    lower = word.lower()
    if (
        lower in COMMON_ACRONYMS
        or lower in CURRENCIES_AND_UNITS
        or is_ordinary(lower)
        or len(word) > _LONGEST_ACRONYM
        or not word.isupper()
    ):
        return 0
    return _CAPITALS_ONLY if len(word) > 2 else _ORDINARY_INSIDE


def kind_of(parts: list[str], words: list[str], context: Context) -> tuple[str, float]:
    """What it is by its own words, else by its context, and the score that this alone supports."""
    first, last = words[0].lower().rstrip("."), words[-1].lower()
    if len(words) > 1:
        if first in TITLES:
            return "person", HIGHEST
        if last in ORGANISATION_HEADS or (first in ORGANISATION_HEADS and "of" in parts):
            return "organisation", _ORGANISATION
        if last in PLACE_HEADS or first in {"lake", "mount", "mt", "st"}:
            return "place", 0
        if first in THING_HEADS:
            return "thing", 0
    if parts[-1].isdigit():
        return "thing", 0
    return context.kind or "unknown", 0
