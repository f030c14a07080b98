"""When to do it: the words of requests that tell one pattern of calls from the others. Pure.

Everybody at a desk says "please", "flight" and "reservation". What says when to cancel one is the
words that stand before cancelling and not before everything else, so the requests before the other
patterns of the night are what each is compared with.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.stemming import stem
from symfonic.capabilities.memory.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symfonic.capabilities.memory.records import Record

SHARE: Final = 1 / 3
"""The least share of a pattern's sessions in which a word that tells it apart was said."""

APART: Final = 1.25
"""How much more often than before all patterns it was said."""

MOST: Final = 2.0
"""From there on, a word's rarity elsewhere says no more for it: one case told at length would."""

_WORDS: Final = 4
_CHARACTERS: Final = 600
_PUNCTUATION: Final = ".,;:!?()[]\"'*"
_COURTESY: Final = frozenset(
    """
    ahead alright anything appreciate assist assistance confirm correct could details else first
    forward glad good great hello help hey information know let like looking love make moment
    need needed now okay one perfect please proceed provide remember said say since sorry sounds
    sure tell thank thanks understand want wanted welcome wish wonderful would yes yet
    """.split()
)
"""Words with which people ask for anything at all."""


def triggers_of(requests: Mapping[str, Sequence[Record]]) -> dict[str, str]:
    """For each pattern a trigger in words; empty where its requests share none.

    Sessions vote, not turns. Names and numbers take no part: who asked is no reason to do it again.
    """
    said = {key: _by_session(found) for key, found in requests.items()}
    sessions = [words for by_session in said.values() for words in by_session]
    everywhere = Counter(word for words in sessions for word in words)
    return {key: _asked_about(found, everywhere, len(sessions)) for key, found in said.items()}


def content_words(text: str) -> dict[str, str]:
    """The words of a request that say what it is about: their stems, each as first written."""
    found: dict[str, str] = {}
    for word in text.split():
        bare = word.strip(_PUNCTUATION)
        plain = len(bare) > 2 and bare.islower() and bare.replace("'", "").isalpha()
        if plain and bare not in STOP_WORDS["english"] and bare not in _COURTESY:
            found.setdefault(stem(bare), bare)
    return found


def _by_session(requests: Sequence[Record]) -> list[dict[str, str]]:
    by_session: dict[str, dict[str, str]] = {}
    for request in requests:
        words = by_session.setdefault(request.session or request.id, {})
        for key, word in content_words(without_pasted(request.text)[:_CHARACTERS]).items():
            words.setdefault(key, word)
    return list(by_session.values())


def _asked_about(found: Sequence[Mapping[str, str]], everywhere: Counter[str], among: int) -> str:
    """The words that tell these sessions from all, else those that most of them share."""
    votes = Counter(key for words in found for key in words)
    several = {key: count for key, count in votes.items() if count > 1}
    apart = {
        key: count * among / (everywhere[key] * len(found))
        for key, count in several.items()
        if count >= SHARE * len(found) and count * among >= APART * everywhere[key] * len(found)
    }
    chosen = apart or {key: 1.0 for key, count in several.items() if 2 * count > len(found)}
    best = sorted(chosen, key=lambda key: (-votes[key] * min(chosen[key], MOST), key))[:_WORDS]
    shown = [_written(words[key] for words in found if key in words) for key in best]
    return f"the user asks about: {', '.join(shown)}" if shown else ""


def _written(forms: Iterable[str]) -> str:
    """The form of a word that is used most."""
    counts = Counter(forms)
    return min(counts, key=lambda form: (-counts[form], len(form), form))
