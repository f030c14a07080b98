"""The loop: visit every scope, run what is due, wait for the next slot, until asked to stop."""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import RunAlreadyActive, StoreError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import system_clock
from symfonic.capabilities.memory.worker.due import (
    Waits,
    find_due,
    last_sleep_was_cut_off,
    state_of,
)
from symfonic.capabilities.memory.worker.events import log_result
from symfonic.capabilities.memory.worker.pulse import STUCK_MINUTES, Pulse
from symfonic.capabilities.memory.worker.results import (
    ScopeResult,
    WorkerReport,
    ended,
    failed,
    ran,
)
from symfonic.capabilities.memory.worker.schedule import Schedule
from symfonic.capabilities.memory.worker.stopping import Stop, stopped_by_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.store import ScopeState
    from symfonic.capabilities.memory.worker.due import Sleeper
    from symfonic.capabilities.memory.worker.liveness import Liveness

_LOGGER = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS: Final = 60.0
"""The clock is looked at this often: it may be set, and a machine may have slept."""

RETRY_SECONDS: Final = 60.0
"""How long a scope rests after another run was found there, and after a first failure."""

LONGEST_REST_SECONDS: Final = 3600.0
"""A scope that fails again and again rests twice as long each time, up to an hour."""


class _Abandoned(Exception):
    """The run was given up before its commit; nothing of this pass was written."""


@dataclass(slots=True)
class _Past:
    """What the worker knows of a scope beyond what the store does."""

    light_done: datetime | None = None
    ended_run: int = -1
    failures: int = 0
    rests_until: datetime | None = None


class Worker:
    """Runs maintenance on the scopes of a memory when a schedule says so.

    ``scopes`` of ``None`` are all that the store has, looked up again each round. ``clock`` also
    times the runs; without one they go by the memory's own. ``wait`` is given seconds and says
    whether a stop was asked for meanwhile. ``given`` and ``sources`` are as in ``Memory.sleep``.
    """

    def __init__(
        self,
        memory: Sleeper,
        policy: LearningPolicy | None = None,
        *,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        schedule: Schedule | None = None,
        scopes: Sequence[str] | None = None,
        liveness: Liveness | None = None,
        clock: Clock | None = None,
        wait: Callable[[float], bool] | None = None,
        given: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self.memory = memory
        self.schedule = schedule or Schedule()
        self.liveness = liveness
        self._scopes = None if scopes is None else sorted({Scope(path).path for path in scopes})
        self._limits = limits or RunLimits()
        self._with: dict[str, Any] = {
            "policy": policy or LearningPolicy(), "retention": retention, "limits": self._limits,
            "given": given, "sources": sources,
        }  # fmt: skip
        self._stated_clock = clock
        self._clock = clock or system_clock
        self._stop = Stop()
        self._wait = wait or self._stop.wait
        self._past: dict[str, _Past] = {}
        self._results: dict[str, ScopeResult] = {}
        stuck = STUCK_MINUTES if liveness is None else liveness.stuck_minutes
        self.pulse = Pulse(monotonic=time.monotonic, stuck_minutes=stuck)

    def stop(self) -> None:
        """End after the pass under way; from any thread, any number of times."""
        self._stop.ask()

    def run(self, *, once: bool = False) -> WorkerReport:
        """Work until asked to stop; with ``once``, run what is due now and end.

        A scope that fails is reported and never stops the others. Raises ``StoreError`` where the
        scopes of the store cannot be listed and ``once`` is set, or its file was removed or
        replaced, ``InputError`` where the signs of life have nowhere to go.
        """
        shown = nullcontext() if self.liveness is None else self.liveness.shown(
            self.pulse.look, self._now
        )  # fmt: skip
        with stopped_by_signals(self._stop), shown:
            _LOGGER.info(
                "worker.started deep=%s light=%s zone=%s once=%s",
                self.schedule.deep or "off", self.schedule.light or "off", self.schedule.zone, once,
            )  # fmt: skip
            try:
                self._work(once=once)
            finally:
                self.pulse.step("stopping")
                self.memory.flush_uses()
                self.pulse.step("stopped")
        report = self.report()
        _LOGGER.info(
            "worker.stopped rounds=%d deep_runs=%d light_runs=%d failures=%d",
            report.rounds, report.deep_runs, report.light_runs, report.failures,
        )  # fmt: skip
        return report

    def report(self) -> WorkerReport:
        """What was done until now; from any thread."""
        results = tuple(result for _, result in sorted(self._results.copy().items()))
        totals = self.pulse.look().totals
        return WorkerReport(**totals, stopped=self._stop.is_asked, scopes=results)

    # -- private

    def _work(self, *, once: bool) -> None:
        failures = 0
        while not self._stop.is_asked:
            began = self._now()
            try:
                self._round()
            except StoreError as error:
                if once or error.facts.get("replaced"):
                    raise
                failures += 1
                _LOGGER.error("worker.store.failed cause=%s", type(error).__name__)  # noqa: TRY400 - one event a line
                self._wait_until(began, began + _rest(failures))
                continue
            failures = 0
            if once:
                return
            self._wait_until(began, self._next(began))

    def _round(self) -> None:
        """Visit every scope once. Raises ``StoreError`` where they cannot be listed."""
        self.pulse.step("running")
        there = self.memory.scopes()
        paths = there if self._scopes is None else self._scopes
        for path in sorted(self._past.keys() - set(paths)):
            self._past.pop(path)
            self._results.pop(path, None)
        self.pulse.forget(set(paths))
        for path in paths:
            if self._stop.is_asked:
                return
            self._visit(path, self._past.setdefault(path, _Past()))
        self.pulse.end_round()

    def _visit(self, scope: str, past: _Past) -> None:
        """Run what is due for a scope; the boundary at which its error becomes a result."""
        now = self._now()
        if past.rests_until is not None and now < past.rests_until:
            return
        try:
            result = self._run_what_is_due(scope, past, now)
        except _Abandoned as end:
            result = ended(scope, now, "abandoned", str(end))
        except RunAlreadyActive:
            past.rests_until = now + timedelta(seconds=RETRY_SECONDS)
            result = ended(scope, now, "skipped", "another run of this scope is active")
        except Exception as error:  # noqa: BLE001 - recorded with its traceback, never swallowed
            past.failures += 1
            past.rests_until = now + _rest(past.failures)
            result = failed(scope, now, error)
        else:
            past.failures, past.rests_until = 0, None
        self._results[scope] = result
        self.pulse.note(result, now)
        log_result(result)

    def _run_what_is_due(self, scope: str, past: _Past, now: datetime) -> ScopeResult:
        state = state_of(self.memory, scope)
        due = find_due(
            state, self.schedule, now, light_done=past.light_done,
            is_unfinished=lambda: self._is_unfinished(state, past),
        )  # fmt: skip
        if isinstance(due, Waits):
            moment = None if due.next is None else due.next.isoformat()
            return replace(ended(scope, now, "waits", due.reason), next=moment)
        extra: dict[str, Any] = {"kind": due.kind} if due.kind == "light" else {}
        if self._stated_clock is not None:
            extra["now"] = now
        report = self.memory.sleep(scope=scope, watch=self._watch(state), **self._with, **extra)
        past.light_done = now
        return ran(scope, due.kind, report, at=now, reason=due.why)

    def _is_unfinished(self, state: ScopeState, past: _Past) -> bool:
        """Whether the last DEEP sleep was cut off; asked again only after another run."""
        if past.ended_run == state.run_count:
            return False
        if last_sleep_was_cut_off(self.memory, state.path, self._limits.max_passes):
            return True
        past.ended_run = state.run_count
        return False

    def _watch(self, seen: ScopeState) -> Callable[[int, str], None]:
        """What the engine tells each pass and phase: it may be the moment to give up.

        The first call comes while the lease is held. A run that another worker has committed since
        this one looked would otherwise be done twice. Later on a stop ends the sleep where a new
        pass begins: what was committed stands, and the next start goes on from there.
        """
        last = 0

        def watch(number: int, phase: str) -> None:
            nonlocal last
            self.pulse.step("stopping" if self._stop.is_asked else "running")
            if last == 0:
                found = state_of(self.memory, seen.path)
                if (found.deep_clock, found.run_count) != (seen.deep_clock, seen.run_count):
                    raise RunAlreadyActive(
                        f"Another run of scope {seen.path} has just ended.", scope=seen.path
                    )
            if number != last and self._stop.is_asked:
                raise _Abandoned(f"stopped after {last} passes; the next start goes on")
            last = number

        return watch

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)

    def _next(self, began: datetime) -> datetime | None:
        """When the next round is due: the first slot after the last, or the end of a rest."""
        rests = (past.rests_until for past in self._past.values())
        ends = (self.schedule.next_after(began), *rests)
        return min((end for end in ends if end is not None), default=None)

    def _wait_until(self, began: datetime, moment: datetime | None) -> None:
        """Wait, a minute at most at a time, until the clock has come there or was set back."""
        while not self._stop.is_asked:
            now = self._now()
            if now < began or (moment is not None and now >= moment):
                return
            left = LONGEST_WAIT_SECONDS if moment is None else (moment - now).total_seconds()
            seconds = min(left, LONGEST_WAIT_SECONDS)
            self.pulse.step("waiting", within_seconds=seconds)
            if self._wait(seconds):
                self._stop.ask()


def _rest(failures: int) -> timedelta:
    """How long to leave alone what has failed so often in a row."""
    return timedelta(seconds=min(RETRY_SECONDS * 2 ** min(failures - 1, 10), LONGEST_REST_SECONDS))
