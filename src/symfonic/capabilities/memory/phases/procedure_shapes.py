"""Which runs of calls say something of their own, and which are a piece of another. Pure.

Whatever is done often has short pieces that are done more often still: by support alone a reviewer
reads "look up the customer, then the order" and never what for. So a run is set aside where it is
mostly seen inside longer ones, where it ends as a more usual one does, where it only looks things
up on the way to something, and where two errands merely met in one session.

Source: decision 0014.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from symfonic.capabilities.memory.extractors.calls import LONGEST, own_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Run = tuple[str, ...]
"""The names of two or more calls in a row."""

Aside = Literal["loose", "piece", "look_up", "variant"]
"""Why a run is no draft of its own."""

MOSTLY: Final = 0.5
"""The share of a run's sessions from which the longer runs around it stand for it."""

JOINED: Final = 0.1
"""The least share of the sessions with a call in which the next of its run follows it, or, seen
from that one, precedes it: rarer than that, two errands merely met."""

_LOOKS: Final = frozenset(
    """
    browse calculate check compute count describe explore fetch find get glob grep inspect list
    load lookup look ls open peek query read retrieve scan search show view
    """.split()
)
_FIRST_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def runs_around(runs: Iterable[Run], tools: Sequence[str]) -> list[Run]:
    """The runs, how they end, and each of these with one call more before or after it, sorted.

    A night in which a customer was only looked up has seen no longer run: which ones there may be
    is asked by name, for every tool that the agent is known to have.
    """
    found: set[Run] = set()
    for run in runs:
        for start in range(len(run) - 1):
            ending = run[start:]
            found.add(ending)
            if len(ending) < LONGEST:
                found.update((*ending, tool) for tool in tools)
                found.update((tool, *ending) for tool in tools)
    return sorted(found)


def parts_of(runs: Iterable[Run]) -> list[Run]:
    """The neighbouring pairs and single calls of the runs, sorted: what ``set_aside`` is told."""
    pairs = {pair for run in runs for pair in pairwise(run)}
    return sorted(pairs | {(name,) for pair in pairs for name in pair})


def set_aside(runs: Mapping[Run, int], parts: Mapping[Run, int]) -> dict[Run, Aside]:
    """The runs that are no drafts of their own, each with the reason.

    ``runs`` are those with enough support, in distinct sessions; ``parts`` the same for the pairs
    and single calls in them.
    """
    aside: dict[Run, Aside] = {run: "loose" for run in runs if not _holds(run, parts)}
    inside = _seen_inside({run: count for run, count in runs.items() if run not in aside})
    for run, sessions in runs.items():
        if run not in aside and inside[run] >= MOSTLY * sessions:
            aside[run] = "piece"
    left = [run for run in runs if run not in aside]
    ways = {pair for run in left if not _only_looks(run) for pair in pairwise(run)}
    for run in left:
        if _only_looks(run) and not ways.isdisjoint(pairwise(run)):
            aside[run] = "look_up"
    left = [run for run in left if run not in aside]
    endings = frozenset(left)
    for run in left:
        if any(run[start:] in endings for start in range(1, len(run) - 1)):
            aside[run] = "variant"
    return aside


def _holds(run: Run, parts: Mapping[Run, int]) -> bool:
    """Whether each call belongs to the one before it more than by chance."""
    return all(
        parts.get((one, other), 0) >= JOINED * min(parts.get((one,), 0), parts.get((other,), 0))
        for one, other in pairwise(run)
    )


def _seen_inside(runs: Mapping[Run, int]) -> Counter[Run]:
    """In how many sessions each run goes on in one of the others, or follows from one."""
    after: Counter[Run] = Counter()
    before: Counter[Run] = Counter()
    for run, sessions in runs.items():
        after[run[:-1]] += sessions
        before[run[1:]] += sessions
    return after | before


def _only_looks(run: Run) -> bool:
    """Whether every call only looks something up, by the verb its name begins with."""
    return all(_verb(name) in _LOOKS for name in run)


def _verb(name: str) -> str:
    word = _FIRST_WORD.search(own_name(name))
    return word[0].lower() if word else ""
