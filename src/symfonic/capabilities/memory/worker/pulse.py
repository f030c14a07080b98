"""What a worker is doing, for those who watch it: written by the loop, read by other threads."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.worker.results import ScopeResult, SleepKind

State = Literal["starting", "waiting", "running", "stopping", "stopped"]

STUCK_MINUTES: Final = 30
"""How long one step may take before the worker counts as stuck: a slow model may take minutes."""


@dataclass(slots=True)
class Totals:
    """Counts since the worker began, in the order in which they are shown."""

    rounds: int = 0
    deep_runs: int = 0
    light_runs: int = 0
    changes: int = 0
    skipped: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One look at a worker. ``last_runs`` are the last sleeps by scope; all counts, no text."""

    state: State
    is_stuck: bool
    is_ready: bool
    totals: Mapping[str, int]
    last_runs: Mapping[str, ScopeResult]
    last_run_at: Mapping[SleepKind, datetime]

    @property
    def is_alive(self) -> bool:
        """Whether it works or waits as it should."""
        return not self.is_stuck and self.state != "stopped"


@dataclass(slots=True)
class _Beat:
    state: State = "starting"
    is_ready: bool = False
    due_by: float = 0.0
    totals: Totals = field(default_factory=Totals)
    last_runs: dict[str, ScopeResult] = field(default_factory=dict)
    last_run_at: dict[SleepKind, datetime] = field(default_factory=dict)


class Pulse:
    """The state of one worker. It is stuck when its next step is overdue by ``stuck_minutes``.

    ``monotonic`` counts seconds and never jumps: a wall clock that is set must not raise an alarm.
    """

    def __init__(
        self, *, monotonic: Callable[[], float], stuck_minutes: float = STUCK_MINUTES
    ) -> None:
        self._monotonic = monotonic
        self._patience = stuck_minutes * 60
        self._lock = threading.Lock()
        self._beat = _Beat(due_by=monotonic() + self._patience)

    def step(self, state: State, *, within_seconds: float = 0.0) -> None:
        """The worker lives and is in ``state``; its next step follows within so many seconds."""
        with self._writing() as beat:
            beat.state = state
            beat.due_by = self._monotonic() + within_seconds + self._patience

    def end_round(self) -> None:
        """Every scope was visited."""
        with self._writing() as beat:
            beat.is_ready = True
            beat.totals.rounds += 1

    def note(self, result: ScopeResult, moment: datetime) -> None:
        """Count what became of a scope."""
        with self._writing() as beat:
            totals = beat.totals
            totals.skipped += result.outcome == "skipped"
            totals.failures += result.is_failure
            totals.changes += result.changes
            if result.outcome == "ran" and result.kind is not None:
                totals.deep_runs += result.kind == "deep"
                totals.light_runs += result.kind == "light"
                beat.last_runs[result.scope] = result
                beat.last_run_at[result.kind] = moment

    def forget(self, keep: set[str]) -> None:
        """Drop the scopes that the store no longer has."""
        with self._writing() as beat:
            for scope in sorted(beat.last_runs.keys() - keep):
                del beat.last_runs[scope]

    def look(self) -> Sign:
        """The worker as it is now."""
        with self._lock:
            beat = self._beat
            return Sign(
                state=beat.state,
                is_stuck=self._monotonic() > beat.due_by,
                is_ready=beat.is_ready and beat.state in {"waiting", "running"},
                totals={name: getattr(beat.totals, name) for name in Totals.__slots__},
                last_runs=dict(beat.last_runs),
                last_run_at=dict(beat.last_run_at),
            )

    @contextmanager
    def _writing(self) -> Iterator[_Beat]:
        with self._lock:
            yield self._beat


def as_dict(sign: Sign, now: datetime) -> dict[str, Any]:
    """Plain values of a look: the time, the state and counts."""
    return {
        "time": now.isoformat(),
        "state": sign.state,
        "stuck": sign.is_stuck,
        "ready": sign.is_ready,
        **sign.totals,
        "scopes": {
            scope: {
                "kind": result.kind, "at": result.at, "passes": result.passes,
                "changes": result.changes, "left": result.left,
                "failed_phases": len(result.failed_phases),
            }
            for scope, result in sorted(sign.last_runs.items())
        },
    }  # fmt: skip
