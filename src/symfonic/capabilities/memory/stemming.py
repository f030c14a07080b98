"""English word stems as Porter's algorithm gives them.

The store's text index stems what it holds, and recall has to see in a candidate's text which
words of the question it matched. Both must agree on what one word is, on every store, so the
algorithm stands here too; a test compares it with SQLite's.

Source: M. F. Porter, An algorithm for suffix stripping, Program 14 (3), 1980, with his two later
departures ("bli" and "logi" in step 2), as SQLite's FTS5 has them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Final

_VOWELS: Final = frozenset("aeiou")
_SHORTEST: Final = 3
_LONGEST: Final = 64
_STEP_2: Final = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("logi", "log"), ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"),
    ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
    ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"),
    ("biliti", "ble"),
)  # fmt: skip
_STEP_3: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Final = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word; words of one or two characters are their own."""
    if not _SHORTEST <= len(word) <= _LONGEST:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _stripped(word)
    return _final(word)


def _consonants(word: str) -> list[bool]:
    """For each letter whether it is a consonant; y is one at the start and after a vowel."""
    marks: list[bool] = []
    for letter in word:
        after_consonant = bool(marks) and marks[-1]
        marks.append(letter not in _VOWELS and not (letter == "y" and after_consonant))
    return marks


def _measure(word: str) -> int:
    """How many times a run of vowels is followed by a run of consonants."""
    marks = _consonants(word)
    return sum(1 for before, after in pairwise(marks) if after and not before)


def _has_vowel(word: str) -> bool:
    return not all(_consonants(word))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and word[-1] not in _VOWELS


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y."""
    marks = _consonants(word)
    return marks[-3:] == [True, False, True] and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if any(word.endswith(suffix) and len(word) > len(suffix) for suffix in ("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past(word: str) -> str:
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return _mended(rest) if _has_vowel(rest) else word
    return word


def _mended(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    if _measure(word) == 1 and _ends_short(word):
        return word + "e"
    return word


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    found = _longest(word, [suffix for suffix, _ in rules])
    if found is None or _measure(word[: -len(found)]) == 0:
        return word
    return word[: -len(found)] + dict(rules)[found]


def _stripped(word: str) -> str:
    found = _longest(word, _STEP_4)
    if found is None:
        return word
    rest = word[: -len(found)]
    if found == "ion" and not rest.endswith(("s", "t")):
        return word
    return rest if _measure(rest) > 1 else word


def _longest(word: str, suffixes: list[str] | tuple[str, ...]) -> str | None:
    found = [suffix for suffix in suffixes if word.endswith(suffix) and len(word) > len(suffix)]
    return max(found, key=len, default=None)


def _final(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        count = _measure(rest)
        if count > 1 or (count == 1 and not _ends_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        return word[:-1]
    return word
