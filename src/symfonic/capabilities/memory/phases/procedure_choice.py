"""Which patterns of a pass become drafts, and why the others do not. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.calls import names_of
from symfonic.capabilities.memory.phases.procedure_drafts import Support, counted

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from symfonic.capabilities.memory.collaborators import ProcedureRule
    from symfonic.capabilities.memory.phases.procedure_changes import Standing
    from symfonic.capabilities.memory.records import Seen

NAMED_MISSES: Final = 5
"""How many of the patterns that were not promoted a report names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The patterns of one pass, each in one place; ``chosen`` best supported first."""

    chosen: list[str] = field(default_factory=list)
    over_cap: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)
    open_drafts: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


def promotable(support: Mapping[str, Support], rule: ProcedureRule) -> list[str]:
    """The patterns with enough support: enough successes, and more of them than failures."""
    return [
        key
        for key, found in support.items()
        if found.successes >= rule.min_pattern_count and found.successes > found.failures
    ]


def choose(
    support: Mapping[str, Support],
    standing: Mapping[str, Standing],
    rule: ProcedureRule,
    *,
    aside: Container[tuple[str, ...]],
    room: int,
) -> Choice:
    """Sort the patterns by what becomes of them; at most ``room`` new ones are chosen.

    ``aside`` are the runs of calls that say nothing of their own.
    """
    choice = Choice()
    enough = promotable(support, rule)
    for key in sorted(enough, key=lambda key: (_rank(key, support[key]), key)):
        if standing[key].draft is not None:
            continue
        if names_of(key) in aside:
            choice.aside.append(key)
        elif not standing[key].admits(support[key]):
            choice.decided.append(key)
        elif len(choice.chosen) < room:
            choice.chosen.append(key)
        else:
            choice.over_cap.append(key)
    known = {key for key in support if standing[key].draft is not None}
    choice.open_drafts.extend(sorted(known))
    choice.missed.extend(sorted(support.keys() - known - set(enough)))
    return choice


def notes_on(
    choice: Choice,
    support: Mapping[str, Support],
    recent: Sequence[Seen],
    rule: ProcedureRule,
    *,
    too_old: int,
) -> list[str]:
    """Why patterns were not promoted, the nearest first; a stated one is named by its episode."""
    last = {row.key: row.episode for row in recent}
    covered = _inner_runs(choice.missed, support)
    near = [
        key
        for key in choice.missed
        if 2 * support[key].sessions >= rule.min_pattern_count
        and (names_of(key), support[key].sessions) not in covered
    ]
    near.sort(key=lambda key: (-support[key].sessions, _rank(key, support[key]), key))
    notes = []
    for key in near[:NAMED_MISSES]:
        found = support[key]
        named = " > ".join(names_of(key)) or f"stated in {last[key]}"
        if found.sessions < rule.min_pattern_count:
            why = (
                f"{counted(found.sessions, 'distinct session')}, "
                f"threshold {rule.min_pattern_count}: not promoted"
            )
        else:
            why = f"seen in {found}: not promoted"
        notes.append(f"{named}: {why}")
    if choice.over_cap:
        notes.append(
            f"{counted(len(choice.over_cap), 'more pattern')} would be drafted; "
            f"{counted(rule.max_drafts_per_run, 'draft')} a sleep is the cap, they stay pending"
        )
    if too_old:
        notes.append(
            f"{counted(too_old, 'sighting')} older than {rule.recency_days} days did not count"
        )
    return notes


def _rank(key: str, support: Support) -> tuple[int, int]:
    return (support.failures - support.successes, -len(names_of(key)))


def _inner_runs(
    keys: Sequence[str], support: Mapping[str, Support]
) -> set[tuple[tuple[str, ...], int]]:
    """Every run of calls inside a longer pattern, with that one's support."""
    found: set[tuple[tuple[str, ...], int]] = set()
    for key in keys:
        names = names_of(key)
        for length in range(2, len(names)):
            for start in range(len(names) - length + 1):
                found.add((names[start : start + length], support[key].sessions))
    return found
