"""Patterns in what an agent did: short runs of tool calls that end in one episode.

What an agent keeps doing shows in the order of its calls, wherever they are stored and whoever's
turn they stand in. A pattern holds where its calls are and no argument of theirs, so that
forgetting an episode leaves none of its text behind in what was read of a later one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import Episode, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import Record, RecordId

CALLS_PREFIX: Final = "calls:"
SHORTEST: Final = 2
LONGEST: Final = 6
"""A pattern's length in calls: one call is no procedure, and longer ones hardly ever repeat."""

LAST_CALLS: Final = 40
"""How many of an episode's last calls may end a pattern: at most 200 patterns an episode."""

_LONGEST_REPEAT: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPattern:
    """Two to six calls in a row; ``places`` says which, as (episode, index of the call in it).

    ``ok`` is false where one of them failed; a call whose source does not say counts as done.
    """

    key: str
    ok: bool
    places: tuple[tuple[RecordId, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    name: str
    failed: bool
    episode: RecordId
    index: int


def call_patterns(episode: Record, before: Sequence[Record]) -> list[CallPattern]:
    """The patterns that end in ``episode``, at most one a key, in order of key.

    ``before`` are earlier episodes of the session with calls, oldest first. Of two occurrences of
    a key, one that succeeded is kept, then the later one.
    """
    calls = without_repeats([call for one in (*before, episode) for call in _calls(one)])
    own = [i for i, call in enumerate(calls) if call.episode == episode.id]
    found: dict[str, CallPattern] = {}
    for end in own[-LAST_CALLS:]:
        for start in range(max(0, end + 1 - LONGEST), end + 2 - SHORTEST):
            window = calls[start : end + 1]
            pattern = CallPattern(
                key=key_of([call.name for call in window]),
                ok=not any(call.failed for call in window),
                places=tuple((call.episode, call.index) for call in window),
            )
            known = found.get(pattern.key)
            if known is None or pattern.ok or not known.ok:
                found[pattern.key] = pattern
    return [found[key] for key in sorted(found)]


def key_of(names: Sequence[str]) -> str:
    """The key of the calls with these names. A name may hold any mark, so none joins them."""
    return CALLS_PREFIX + canonical(list(names))


def names_of(key: str) -> tuple[str, ...]:
    """The calls of a pattern's key, in order; none for a stated action's."""
    if not key.startswith(CALLS_PREFIX):
        return ()
    return tuple(json.loads(key.removeprefix(CALLS_PREFIX)))


def without_repeats(calls: Sequence[_Call]) -> list[_Call]:
    """The calls, with a block of up to three that is at once repeated counted as its last time.

    A loop of retries is one attempt at the same thing: unrolled it would read as a long procedure,
    and the attempts before the last would make one that ended well look failed.
    """
    kept: list[_Call] = []
    for call in calls:
        kept.append(call)
        for length in range(1, _LONGEST_REPEAT + 1):
            last, previous = kept[-length:], kept[-2 * length : -length]
            if [c.name for c in last] == [c.name for c in previous]:
                del kept[-2 * length : -length]
                break
    return kept


def _calls(episode: Record) -> list[_Call]:
    content = episode.content
    if not isinstance(content, Episode):
        return []
    return [
        _Call(
            name=" ".join(call.name.split()) or "unnamed",
            failed=call.ok is False,
            episode=episode.id,
            index=index,
        )
        for index, call in enumerate(content.calls)
    ]
