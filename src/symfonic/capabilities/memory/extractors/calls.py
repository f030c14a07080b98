"""Patterns in what an agent did: short runs of tool calls that end in one episode.

What an agent keeps doing shows in the order of its calls, wherever they are stored and whoever's
turn they stand in. A pattern holds where its calls are and no argument of theirs, so that
forgetting an episode leaves none of its text behind in what was read of a later one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import Episode, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import Record, RecordId

CALLS_PREFIX: Final = "calls:"
TOOLS_KEY: Final = f"{CALLS_PREFIX}[]"
"""The key of no call: its sightings say which tools an agent has."""

LONGEST: Final = 6
"""A pattern's length in calls: longer ones hardly ever repeat."""

CONTEXT: Final = 3 * (LONGEST - 1)
"""How many earlier episodes with calls are read: a call that is made for each of several things,
and notes to self, take room between the calls of one pattern."""

LAST_CALLS: Final = 40
"""How many of an episode's last calls may end a pattern: at most 240 patterns an episode."""

_LONGEST_REPEAT: Final = 3
_NOTES_TO_SELF: Final = frozenset(
    {"reflect", "scratchpad", "sequentialthinking", "think", "thinking", "thought"}
)
_LAST_PART: Final = re.compile(r"(?:__|[./:])(?=[^./:]+$)")
_MARKS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPattern:
    """One to six calls in a row; ``places`` says which, as (episode, index of the call in it).

    One call alone is no procedure; it is kept because what follows it is judged by how often it
    is made at all. ``ok`` is false where a call failed; one whose source does not say counts as
    done.
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
        for start in range(max(0, end + 1 - LONGEST), end + 1):
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


def tools_of(patterns: Sequence[CallPattern]) -> list[str]:
    """The tools of the episode that these patterns end in, sorted, and of no earlier one."""
    return sorted({names_of(pattern.key)[-1] for pattern in patterns})


def key_of(names: Sequence[str]) -> str:
    """The key of the calls with these names. A name may hold any mark, so none joins them."""
    return CALLS_PREFIX + canonical(list(names))


def names_of(key: str) -> tuple[str, ...]:
    """The calls of a pattern's key, in order; none for a stated action's."""
    if not key.startswith(CALLS_PREFIX):
        return ()
    return tuple(json.loads(key.removeprefix(CALLS_PREFIX)))


def is_note_to_self(name: str) -> bool:
    """Whether a tool of this name only keeps the agent's own reasoning, and does nothing.

    Such tools are known by their names ("think", "sequential-thinking"): an agent calls them
    between any two steps, so that no two sessions would show the same steps in a row.
    """
    return _MARKS.sub("", own_name(name)).lower() in _NOTES_TO_SELF


def own_name(name: str) -> str:
    """A tool's name without that of the server or the module it comes from."""
    return _LAST_PART.split(name)[-1]


def steps_of(names: Sequence[str]) -> list[str]:
    """The calls with these names as patterns are made of them: no notes to self, no repeats."""
    done = [_named(name) for name in names if not is_note_to_self(name)]
    return [done[place] for place in _kept(done)]


def without_repeats(calls: Sequence[_Call]) -> list[_Call]:
    """The calls, with a block of up to three that is at once repeated counted as its last time.

    A loop of retries is one attempt at the same thing: unrolled it would read as a long procedure,
    and the attempts before the last would make one that ended well look failed.
    """
    return [calls[place] for place in _kept([call.name for call in calls])]


def _kept(names: Sequence[str]) -> list[int]:
    """The places of the names that are left without repeats."""
    kept: list[int] = []
    for place in range(len(names)):
        kept.append(place)
        for length in range(1, _LONGEST_REPEAT + 1):
            last, previous = kept[-length:], kept[-2 * length : -length]
            if [names[i] for i in last] == [names[i] for i in previous]:
                del kept[-2 * length : -length]
                break
    return kept


def _named(name: str) -> str:
    return " ".join(name.split()) or "unnamed"


def _calls(episode: Record) -> list[_Call]:
    content = episode.content
    if not isinstance(content, Episode):
        return []
    return [
        _Call(
            name=_named(call.name),
            failed=call.ok is False,
            episode=episode.id,
            index=index,
        )
        for index, call in enumerate(content.calls)
        if not is_note_to_self(call.name)
    ]
