"""What is due for a scope: a pure question about its row, the schedule and the time.

A slot is due when it lies after the last run and not after now, however many have passed: after a
week of downtime one DEEP run catches up, and the engine widens its look-back to the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.store import RunRow, ScopeState
    from symfonic.capabilities.memory.worker.results import SleepKind
    from symfonic.capabilities.memory.worker.schedule import Schedule

Why = Literal["first", "slot", "unfinished"]

_LOOK_BACK: Final = 20
"""How many of a scope's latest runs are looked through for its last DEEP pass."""


class Sleeper(Protocol):
    """What a worker calls of ``Memory``."""

    @property
    def sleep(self) -> Callable[..., SleepReport]: ...
    def scopes(self) -> list[str]: ...
    def state(self, *, scope: str) -> ScopeState: ...
    def runs(self, *, scope: str, limit: int) -> list[RunRow]: ...
    def flush_uses(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A run that is due, and why: a slot has passed, it is the first, or the last was cut off."""

    kind: SleepKind
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Nothing is due; ``next`` is when a slot comes, and ``reason`` what is odd about it."""

    next: datetime | None
    reason: str = ""


def state_of(memory: Sleeper, scope: str) -> ScopeState:
    """The scope's row. Raises ``RecordNotFound``."""
    return memory.state(scope=scope)


def find_due(
    state: ScopeState,
    schedule: Schedule,
    now: datetime,
    *,
    light_done: datetime | None = None,
    is_unfinished: Callable[[], bool] = lambda: False,
) -> Due | Waits:
    """What a scope needs now; DEEP before LIGHT, because it does all that LIGHT does.

    ``light_done`` is when the worker last ran LIGHT here, which an idle one writes nowhere.
    ``is_unfinished`` is asked only where no DEEP slot is due.
    """
    if state.deep_clock is None and state.last_clock is None and not state.visible:
        return Waits(next=schedule.next_after(now), reason="the scope holds nothing yet")
    if schedule.deep:
        if state.deep_clock is None:
            return Due(kind="deep", why="first")
        if _passed(schedule.deep_after(state.deep_clock), now):
            return Due(kind="deep", why="slot")
        if is_unfinished():
            return Due(kind="deep", why="unfinished")
    if schedule.light:
        done = max(filter(None, (light_done, state.last_clock)), default=None)
        if done is None:
            return Due(kind="light", why="first")
        if _passed(schedule.light_after(done), now):
            return Due(kind="light", why="slot")
    return _waits(state, schedule, now)


def last_sleep_was_cut_off(memory: Sleeper, scope: str, max_passes: int) -> bool:
    """Whether the last DEEP sleep ended before its work did: killed, stopped, or refused.

    The passes of one sleep share its clock. One that ended by itself has left nothing, or has made
    as many passes as it may; what that left is for the next night.
    """
    last = next(iter(_deep(memory.runs(scope=scope, limit=_LOOK_BACK))), None)
    if last is None or not any(map(_has_work, last.report.get("phases", ()))):
        return False
    runs = _deep(memory.runs(scope=scope, limit=_LOOK_BACK + max_passes))
    return sum(run.clock == last.clock for run in runs) < max_passes


def _deep(runs: Sequence[RunRow]) -> list[RunRow]:
    return [run for run in runs if run.kind == "deep" and run.status == "committed"]


def _has_work(phase: Any) -> bool:  # noqa: ANN401 - a phase's report as stored
    return phase["outcome"] == "ran" and bool(phase["left"] or phase["reread"])


def _passed(slot: datetime | None, now: datetime) -> bool:
    return slot is not None and slot <= now


def _waits(state: ScopeState, schedule: Schedule, now: datetime) -> Waits:
    """Why nothing is due; a last run that lies ahead of the clock holds its slots back."""
    ahead = max(filter(None, (state.deep_clock, state.last_clock)), default=None)
    if ahead is None or ahead <= now:
        return Waits(next=schedule.next_after(now))
    reason = f"the last run's clock, {ahead.isoformat()}, lies ahead of this one"
    return Waits(next=schedule.next_after(ahead), reason=reason)
