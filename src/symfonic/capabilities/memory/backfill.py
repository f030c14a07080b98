"""History that is walked night by night: which nights there are, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from symfonic.capabilities.memory.nights import Nights
    from symfonic.capabilities.memory.outcome import PhaseReport, RunReport, SleepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night of a walk: its clock, how many episodes are new to it, and its runs once it was."""

    clock: datetime
    episodes: int
    passes: tuple[RunReport, ...] = ()
    held: str | None = None

    @property
    def change_count(self) -> int:
        """How many changes its runs made."""
        return sum(run.change_count for run in self.passes)

    def slept(self, report: SleepReport) -> Night:
        """The night with what became of it."""
        return replace(self, passes=report.passes, held=report.held)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``; the runs by name."""
        return {
            "night": self.clock.isoformat(),
            "episodes": self.episodes,
            "runs": [run.run_id for run in self.passes],
            "changes": self.change_count,
            "held": self.held,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """How far a walk has come: the night that ended last, which of how many, and the sums so far.

    ``episodes`` are those of the nights done, ``of_episodes`` those of all of them.
    """

    night: Night | None
    nights: int
    of_nights: int
    episodes: int
    of_episodes: int
    changes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillReport:
    """The nights of a walk, in order; of a dry run those that would be walked."""

    scope: str
    nights: tuple[Night, ...]
    dry_run: bool

    @property
    def episodes(self) -> int:
        """How many episodes the nights found new."""
        return sum(night.episodes for night in self.nights)

    @property
    def runs(self) -> tuple[RunReport, ...]:
        """The runs of all nights, in order."""
        return tuple(run for night in self.nights for run in night.passes)

    @property
    def change_count(self) -> int:
        return sum(night.change_count for night in self.nights)

    @property
    def held(self) -> str | None:
        """The plan that waits for a person: a later night's takes the place of an earlier one's."""
        return self.nights[-1].held

    @property
    def failed(self) -> tuple[PhaseReport, ...]:
        return tuple(p for run in self.runs for p in run.phases if p.outcome == "failed")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {
            "scope": self.scope,
            "dry_run": self.dry_run,
            "nights": [night.as_dict() for night in self.nights],
            "runs": [run.as_dict() for run in self.runs],
            "totals": {
                "nights": len(self.nights), "episodes": self.episodes, "runs": len(self.runs),
                "changes": self.change_count,
            },
            "held": self.held,
        }  # fmt: skip


def by_night(
    times: Iterable[datetime], nights: Nights, *, first: datetime, last: datetime
) -> dict[datetime, int]:
    """How many episodes fall to each night: the next that is not before it, but at least ``first``.

    ``times`` may come in any order, none after ``last``; in order they are counted quickest.
    """
    counts: dict[datetime, int] = {}
    begin, end = last, first
    for at in times:
        if not begin <= at <= end:
            begin, end = at, max(first, nights.first_from(at) or last)
        counts[end] = counts.get(end, 0) + 1
    return dict(sorted(counts.items()))
