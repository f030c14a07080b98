"""What a worker did: the last result of each scope, and counts of everything since it began."""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.outcome import SleepReport

ScopeOutcome = Literal["ran", "waits", "skipped", "abandoned", "failed"]
SleepKind = Literal["deep", "light"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeResult:
    """What became of one scope when the worker came to it.

    ``waits`` says that nothing was due, and ``next`` when something will be; ``skipped`` that
    another run has or had it; ``abandoned`` that the worker was stopped between two passes.
    ``left`` counts rows that the run has not read. ``trace`` names a failure in the log and here,
    equal ones alike, and ``frames`` say where it arose; ``reason`` and ``traceback`` may quote
    memory, and stand in no log.
    """

    scope: str
    outcome: ScopeOutcome
    at: str
    kind: SleepKind | None = None
    reason: str = ""
    next: str | None = None
    passes: int = 0
    changes: int = 0
    left: int = 0
    failed_phases: tuple[str, ...] = ()
    duration_ms: float = 0.0
    error: str = ""
    trace: str = ""
    frames: tuple[str, ...] = ()
    traceback: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the scope, or a phase of its run, failed."""
        return self.outcome == "failed" or bool(self.failed_phases)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """Counts since the worker began, and the last result of each scope, sorted by scope."""

    rounds: int = 0
    deep_runs: int = 0
    light_runs: int = 0
    changes: int = 0
    skipped: int = 0
    failures: int = 0
    stopped: bool = False
    scopes: tuple[ScopeResult, ...] = ()

    @property
    def failed(self) -> tuple[ScopeResult, ...]:
        """The scopes whose last visit failed, whole or in a phase."""
        return tuple(result for result in self.scopes if result.is_failure)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return asdict(self)


def ran(
    scope: str, kind: SleepKind, report: SleepReport, *, at: datetime, reason: str
) -> ScopeResult:
    """The result of a sleep that came to its end."""
    last = report.passes[-1].phases if report.passes else ()
    return ScopeResult(
        scope=scope,
        outcome="ran",
        at=at.isoformat(),
        kind=kind,
        reason=reason,
        passes=len(report.passes),
        changes=report.change_count,
        left=sum(phase.left for phase in last if phase.outcome != "declined"),
        failed_phases=tuple(sorted({phase.name for phase in report.failed})),
        duration_ms=round(sum(run.duration_ms for run in report.passes), 3),
    )


def ended(scope: str, at: datetime, outcome: ScopeOutcome, reason: str) -> ScopeResult:
    """The result of a visit that ran nothing to its end."""
    return ScopeResult(scope=scope, outcome=outcome, at=at.isoformat(), reason=reason)


def failed(scope: str, at: datetime, error: Exception) -> ScopeResult:
    """The result of a visit that raised."""
    found = traceback.extract_tb(error.__traceback__)
    frames = tuple(f"{PurePath(f.filename).name}:{f.lineno}:{f.name}" for f in found)
    name = type(error).__name__
    digest = blake2b("\n".join([name, *frames]).encode("utf-8", "replace"), digest_size=6)
    return replace(
        ended(scope, at, "failed", f"{name}: {error}"),
        error=name,
        trace=digest.hexdigest(),
        frames=frames,
        traceback="".join(traceback.format_exception(error)),
    )
