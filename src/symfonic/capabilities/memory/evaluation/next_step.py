"""Which call comes next: what drafts say, what an n-gram says, and how often each is right.

Both are asked at the same places about the same calls, so that their figures can be compared: an
n-gram always answers, a draft only where the calls before are its beginning.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.calls import steps_of
from symfonic.capabilities.memory.phases.procedure_triggers import content_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ORDER: Final = 3
"""An n-gram's length: the call that it tells, and the two before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A draft as it is asked: its steps, the stems of the words that say when, its support."""

    steps: tuple[str, ...]
    words: frozenset[str]
    support: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A call that was made, the calls before it, and the stems of what users had said until then.

    ``before`` are those of the same sequence as ``taken``; ``steps`` is always what patterns see.
    """

    before: tuple[str, ...]
    steps: tuple[str, ...]
    said: frozenset[str]
    taken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """At how many places somebody was asked, had an opinion, and was right."""

    places: int
    opinions: int
    right: int


def trigger_words(trigger: str) -> frozenset[str]:
    """The stems of the words by which a trigger is known again in what a user says."""
    return frozenset(content_words(trigger.partition(":")[2] or trigger))


def next_by_draft(drafts: Sequence[Known], place: Place, *, by_trigger: bool) -> str | None:
    """The next step of the draft whose beginning the last calls are; ``None`` where there is none.

    Of several the longest beginning counts, then the support, then the steps. ``by_trigger``, the
    support is weighed by the share of the trigger's words that users have said, one half added to
    them and one to all, so that a draft whose words nobody said is not ruled out.
    """
    best: tuple[tuple[int, float], tuple[str, ...], str] | None = None
    for draft in drafts:
        met = _begun(draft.steps, place.steps)
        if not met:
            continue
        said = len(draft.words & place.said) + 0.5 if by_trigger else 1.0
        among = len(draft.words) + 1.0 if by_trigger else 1.0
        found = ((-met, -draft.support * said / among), draft.steps, draft.steps[met])
        best = found if best is None else min(best, found)
    return None if best is None else best[2]


def _begun(steps: Sequence[str], done: Sequence[str]) -> int:
    """How many of the first steps are the last that were done; all of them is no beginning."""
    for length in range(min(len(steps) - 1, len(done)), 0, -1):
        if tuple(done[-length:]) == tuple(steps[:length]):
            return length
    return 0


class NGram:
    """What most often followed the last calls; after calls never seen, the fewer last ones."""

    def __init__(self, sequences: Iterable[Sequence[str]]) -> None:
        self._after: dict[tuple[str, ...], Counter[str]] = {}
        for names in sequences:
            for end, name in enumerate(names):
                for length in range(min(ORDER - 1, end) + 1):
                    before = tuple(names[end - length : end])
                    self._after.setdefault(before, Counter())[name] += 1

    def next(self, before: Sequence[str]) -> str | None:
        """The most frequent follower, of equal ones the first by name."""
        for length in range(min(ORDER - 1, len(before)), -1, -1):
            found = self._after.get(tuple(before[len(before) - length :]))
            if found:
                return min(found, key=lambda name: (-found[name], name))
        return None


def score(places: Sequence[Place], opinion: Callable[[Place], str | None]) -> Score:
    """How a predictor does at these places."""
    said = [(opinion(place), place.taken) for place in places]
    return Score(
        places=len(places),
        opinions=sum(named is not None for named, _ in said),
        right=sum(named == taken for named, taken in said),
    )


def covered(drafts: Sequence[Known], names: Sequence[str]) -> tuple[int, int]:
    """How many steps stand inside a whole occurrence of a draft, and how many there are."""
    steps = steps_of(names)
    inside: set[int] = set()
    for draft in drafts:
        length = len(draft.steps)
        for start in range(len(steps) - length + 1):
            if tuple(steps[start : start + length]) == draft.steps:
                inside.update(range(start, start + length))
    return len(inside), len(steps)
