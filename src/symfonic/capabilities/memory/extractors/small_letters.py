"""Names written without capitals: "ipek yıldız asked for a copy".

Nothing in such a turn tells a name from two words, so what is found here counts for little: it is
linked where the name is known from elsewhere, and never makes an entity at the default threshold.
Only sentences that begin with a small letter are read; who writes capitals writes them for names.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.common_words import is_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterator

SCORE: Final = 0.3
"""The floor from which a mention of a known name is linked, and below the default threshold."""

MOST: Final = 6
"""Pairs of words an episode gives at most."""

_SENTENCE: Final = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=\n))[^\W\d_A-Z][^.!?\n]*")
_WORD: Final = re.compile(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*")
_SHORTEST: Final = 3


def small_names(text: str) -> Iterator[str]:
    """Pairs of neighbouring words that may be a name, as written, the first ``MOST`` of them."""
    given = 0
    for sentence in _SENTENCE.finditer(text):
        words = list(_WORD.finditer(sentence[0]))
        for one, other in pairwise(words):
            if not (_may_name(one[0]) and _may_name(other[0])):
                continue
            if sentence[0][one.end() : other.start()] != " ":
                continue
            yield f"{one[0]} {other[0]}"
            given += 1
            if given == MOST:
                return


def _may_name(word: str) -> bool:
    return len(word) >= _SHORTEST and word.islower() and not is_ordinary(word)
