"""What keeping a store small and its strengths on one scale has done, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What became of one scope's history and uses.

    ``runs`` lost their recorded input and before-images. Of their journal rows ``dropped`` are gone
    and ``kept`` say only what is asked of them later: that a person undid something, or why a
    record is hidden. ``uses`` rows of ``records`` were folded into one row each. ``old_runs`` is
    how many runs there were to compact, for progress.
    """

    scope: str
    runs: int = 0
    dropped: int = 0
    kept: int = 0
    uses: int = 0
    records: int = 0
    old_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSize:
    """How many bytes a store takes, and how many of them hold nothing."""

    total: int
    free: int

    @property
    def mostly_needed(self) -> bool:
        """Whether at most a quarter is free: rebuilding the store would gain little."""
        return 4 * self.free <= self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """One ``compact``: what it did to each scope, and to the store as a whole.

    ``before`` is the time from which on everything is kept whole. ``busy`` are scopes that another
    process was running: they are left for the next time. ``rebuilt`` says whether free space was
    given back, ``None`` where it could not be because somebody uses the store.
    """

    before: datetime
    scopes: tuple[Compacted, ...]
    size_before: StoreSize
    size_after: StoreSize
    busy: tuple[str, ...] = ()
    rebuilt: bool | None = False
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {**asdict(self), "before": self.before.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfLifeReport:
    """A scope's half-life before and after, in days, and how many of its strengths changed.

    ``run`` names the run that says so in the history; it is empty where the scope had that
    half-life already and nothing was written.
    """

    scope: str
    before: float
    after: float
    records: int = 0
    changed: int = 0
    run: str = ""
