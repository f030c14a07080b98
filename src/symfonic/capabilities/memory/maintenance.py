"""The maintenance run: plan a pass, commit it, repeat until nothing is left; preview, apply, undo.

A run lands whole or leaves no trace. Planning holds no write lock; the commit is one short
transaction that first re-checks every row the plan was made from.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from symfonic.capabilities.memory.cut_off import cut_off, taken_up, to_plain
from symfonic.capabilities.memory.errors import ClockRefused, InputError, StaleWrite
from symfonic.capabilities.memory.gathering import Sleep
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import PhaseReport, SleepReport
from symfonic.capabilities.memory.planning import Plan, describe, plan_pass
from symfonic.capabilities.memory.policy import window_start
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.roster import LIGHT
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.taking_back import plan_redo, plan_undo
from symfonic.capabilities.memory.uncollected import uncollected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.outcome import RunReport, RunStatus
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import Lease, MemoryStore, RunRow
    from symfonic.capabilities.memory.taking_back import TakenBack

_LOGGER = logging.getLogger(__name__)

LEASE_SECONDS = 600
"""A holder on another host that died is waited for this long; one on this host not at all."""

ATTEMPTS = 3
"""How often a pass is planned again because rows changed under it."""

LEAST_GUARDED = 20
"""A scope with fewer visible records is not guarded: a fifth of ten is two notes."""

SleepKind = Literal["deep", "light"]


def _nothing_held() -> None:
    """A plan that is not carried out holds no lease."""


class Maintenance:
    """Runs ``phases`` over one scope of a store at a time.

    ``clock`` tells the time of a run that is not given one; leases go by the machine's own.
    ``facts`` (policy fingerprint, settings and where each came from) go into every report as they
    are. ``watch`` is told the pass and the phase that comes next, for progress.
    """

    def __init__(
        self,
        store: MemoryStore,
        phases: Sequence[Phase],
        *,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        clock: Clock | None = None,
        facts: Mapping[str, Any] | None = None,
        watch: Callable[[int, str], None] | None = None,
    ) -> None:
        self.store = store
        self.phases = tuple(phases)
        self.retention = retention or RetentionPolicy()
        self.limits = limits or RunLimits()
        self.clock = clock or system_clock
        self.facts = dict(facts or {})
        self.watch = watch or _silent

    def run(
        self,
        scope: Scope,
        *,
        kind: SleepKind = "deep",
        now: datetime | None = None,
        backfilling: bool = False,
    ) -> SleepReport:
        """One sleep: passes until no phase has a backlog, or ``max_passes``; each its own commit.

        ``light`` runs the cheap phases alone, and writes no run where there was nothing to do. A
        sleep that is ``backfilling`` walks history: its time may lie before the last run's, and one
        of that time that was cut off between two passes goes on.

        Raises ``RunAlreadyActive``, ``ClockRefused``, and ``StaleWrite`` where rows kept changing.
        """
        passes: list[RunReport] = []
        with self._holding(scope) as held:
            moment, notes = self._moment(scope, now, backfilling=backfilling)
            sleep, begun = self._sleep(scope, moment, kind), 0
            if backfilling:
                sleep, begun = self._taken_up(scope, sleep)
            while True:
                number = begun + len(passes) + 1
                sleep, plan, report = self._pass(
                    scope, sleep, held, number, notes, backfilling=backfilling
                )
                passes.append(report)
                if not plan.backlog or number >= self.limits.max_passes:
                    break
                sleep = _after(sleep, plan)
            kept = self._hold(scope, sleep, held) if kind == "deep" else None
        return SleepReport(passes=tuple(passes), held=kept)

    def preview(
        self, scope: Scope, *, kind: SleepKind = "deep", now: datetime | None = None
    ) -> tuple[Plan, RunReport]:
        """What the next pass would do, written nowhere."""
        moment, notes = self._moment(scope, now)
        started = time.perf_counter()
        _, plan = self._guarded(scope, self._sleep(scope, moment, kind), 1, _nothing_held)
        return plan, self._describe(scope, plan, "planned", started, notes)

    def plan(self, scope: Scope, *, now: datetime | None = None) -> RunReport:
        """Plan the next pass and keep it, for a person to look at and apply.

        Nothing is held back from it: a person decides anyway.
        """
        moment, notes = self._moment(scope, now)
        started = time.perf_counter()
        plan = self._plan(scope, self._sleep(scope, moment, "deep"), 1)
        draft = self._describe(scope, plan, "planned", started, notes)
        number = self.store.save_plan(scope, self._with_report(plan.commit, draft))
        return replace(draft, run_id=run_id(scope, number))

    def apply(self, scope: Scope, number: int) -> None:
        """Commit a kept plan under its own number. Raises ``StaleWrite`` where it went stale."""
        with self._holding(scope) as held:
            self.store.commit_plan(scope, number, lease=held.lease)

    def undo(
        self,
        scope: Scope,
        number: int,
        *,
        groups: Sequence[str] = (),
        cascade: bool = False,
        now: datetime | None = None,
    ) -> RunReport:
        """Take back a run, or some of its groups, each whole; a run of its own, in the journal.

        Raises ``UndoRefused``, naming the later groups that build on what is to be undone; with
        ``cascade`` they are taken back as well.
        """
        with self._holding(scope) as held:
            with self.store.snapshot(scope) as reader:
                taken = plan_undo(reader, number, groups=groups, cascade=cascade)
            return self._take_back(scope, "undo", taken, _in_utc(now or self.clock()), held.lease)

    def redo(self, scope: Scope, number: int, *, now: datetime | None = None) -> RunReport:
        """Take back an undo, by its own number or that of the run it undid.

        Raises ``UndoRefused`` where nothing is undone, or later runs build on the undo.
        """
        with self._holding(scope) as held:
            with self.store.snapshot(scope) as reader:
                taken = plan_redo(reader, number)
            return self._take_back(scope, "redo", taken, _in_utc(now or self.clock()), held.lease)

    # -- private

    @contextmanager
    def _holding(self, scope: Scope) -> Iterator[_Held]:
        """Hold the scope's lease while something is done to it."""
        held = _Held(self.store, scope)
        try:
            yield held
        finally:
            self.store.release(held.lease)

    def _pass(
        self,
        scope: Scope,
        sleep: Sleep,
        held: _Held,
        number: int,
        notes: tuple[str, ...],
        *,
        backfilling: bool,
    ) -> tuple[Sleep, Plan, RunReport]:
        for attempt in range(1, ATTEMPTS + 1):
            started = time.perf_counter()
            sleep, plan = self._guarded(scope, sleep, number, held.beat)
            report = self._describe(scope, plan, "committed", started, notes)
            if plan.is_idle and sleep.kind == "light":
                return sleep, plan, report
            commit = self._with_report(plan.commit, report)
            if backfilling and plan.backlog:
                then = to_plain(_after(sleep, plan), number)
                commit = replace(commit, recording={**commit.recording, **then})
            try:
                with uncollected():
                    run = self.store.commit(scope, commit, lease=held.lease)
            except StaleWrite:
                if attempt == ATTEMPTS:
                    raise
                continue
            break
        else:  # pragma: no cover - the loop ends by break or raise
            raise AssertionError
        report = replace(report, run_id=run_id(scope, run))
        for phase in report.phases:
            _LOGGER.info(
                "maintenance.phase.%s run_id=%s phase=%s looked_at=%d changes=%d left=%d",
                phase.outcome, report.run_id, phase.name, phase.looked_at, phase.changes,
                phase.left,
            )  # fmt: skip
        _LOGGER.info(
            "maintenance.run.committed run_id=%s changes=%d duration_ms=%.0f",
            report.run_id, report.change_count, report.duration_ms,
        )  # fmt: skip
        return sleep, plan, report

    def _guarded(
        self, scope: Scope, sleep: Sleep, number: int, beat: Callable[[], None]
    ) -> tuple[Sleep, Plan]:
        """A plan that hides no more than the limits permit, and the sleep with what is held.

        The roster is planned again without a phase that would: what it hides is for a person to
        look at, and the rest need not wait.
        """
        while True:
            plan = self._plan(scope, sleep, number, beat)
            over = _over(plan, sleep)
            if not over:
                return sleep, _with_held(plan, self._names(sleep.kind), sleep)
            sleep = replace(sleep, held={**sleep.held, **over})

    def _hold(self, scope: Scope, sleep: Sleep, held: _Held) -> str | None:
        """Keep what is held as a plan, and say which; the one of an earlier night stays if equal.

        Where nothing is held any more, an earlier plan is dropped: it is out of date.
        """
        with self.store.snapshot(scope) as reader:
            there = reader.held()
        if not sleep.held:
            if there is not None:
                self.store.drop_plan(scope, there.number)
            return None
        started = time.perf_counter()
        chosen = [phase for phase in self.phases if phase.name in sleep.held]
        plan = plan_pass(
            self.store, scope, chosen, replace(sleep, held={}), beat=held.beat,
            watch=lambda phase: self.watch(0, phase),
            absent=[phase for phase in self.phases if phase.name not in sleep.held],
        )  # fmt: skip
        if there is not None and _is_same(there, plan.commit):
            return run_id(scope, there.number)
        report = self._describe(scope, plan, "held", started, ())
        number = self.store.save_plan(scope, self._with_report(plan.commit, report), held=True)
        _LOGGER.warning(
            "maintenance.run.held run_id=%s phases=%s", run_id(scope, number),
            ",".join(sorted(sleep.held)),
        )  # fmt: skip
        return run_id(scope, number)

    def _names(self, kind: SleepKind) -> list[str]:
        return [phase.name for phase in self.phases if kind == "deep" or phase.name in LIGHT]

    def _plan(
        self, scope: Scope, sleep: Sleep, number: int, beat: Callable[[], None] = _nothing_held
    ) -> Plan:
        names = set(self._names(sleep.kind)) - sleep.held.keys()
        return plan_pass(
            self.store, scope, [phase for phase in self.phases if phase.name in names], sleep,
            beat=beat, watch=lambda phase: self.watch(number, phase),
            absent=[phase for phase in self.phases if phase.name not in names],
        )  # fmt: skip

    def _moment(
        self, scope: Scope, now: datetime | None, *, backfilling: bool = False
    ) -> tuple[datetime, tuple[str, ...]]:
        """The run's clock: a stated one must not lie before the last run; ours is raised."""
        with self.store.snapshot(scope) as reader:
            last, fades = reader.state.last_clock, reader.state.half_life_hours / 24
        notes: tuple[str, ...] = ()
        if self.retention.half_life_days != fades:
            asked = self.retention.half_life_days
            note = (
                f"half_life_days is {asked:g}, and this scope fades with {fades:g}. "
                f"To change that: symfonic-memory half-life {asked:g} --scope {scope}"
            )
            notes = (note,)
        if now is None:
            clock = _in_utc(self.clock())
            if last is not None and clock < last:
                note = f"the clock said {clock.isoformat()}; raised to the last run's time"
                return last, (*notes, note)
            return clock, notes
        now = _in_utc(now)
        if last is not None and now < last and not backfilling:
            raise ClockRefused(
                f"The stated time {now.isoformat()} lies before the last run of scope {scope}, "
                f"{last.isoformat()}. State that time or a later one.",
                now=now.isoformat(),
                last=last.isoformat(),
            )
        return now, notes

    def _sleep(self, scope: Scope, now: datetime, kind: SleepKind) -> Sleep:
        """Fix what all passes share. Downtime widens the window in which uses still spread."""
        hours = max((phase.window_hours for phase in self.phases), default=0.0)
        since = window_start(now, hours)
        with self.store.snapshot(scope) as reader:
            deep, visible = reader.state.deep_clock, reader.state.visible
        return Sleep(
            now=now,
            kind=kind,
            visible=visible,
            spread_since=since if deep is None else min(since, deep),
            retention=self.retention,
            limits=self.limits,
        )

    def _taken_up(self, scope: Scope, sleep: Sleep) -> tuple[Sleep, int]:
        """The sleep of this time that was cut off, and its passes so far; or the one given."""
        with self.store.snapshot(scope) as reader:
            run = cut_off(reader, self.limits.max_passes)
        return (sleep, 0) if run is None or run.clock != sleep.now else taken_up(sleep, run)

    def _describe(
        self, scope: Scope, plan: Plan, status: RunStatus, started: float, notes: tuple[str, ...]
    ) -> RunReport:
        return describe(
            plan.commit, plan.phases, run_id="", scope=scope.path, status=status, notes=notes,
            duration_ms=round((time.perf_counter() - started) * 1000, 3), **self.facts,
        )  # fmt: skip

    def _with_report(self, commit: Commit, report: RunReport) -> Commit:
        return replace(commit, report=report.as_dict(), settings=dict(report.settings))

    def _take_back(
        self, scope: Scope, kind: Literal["undo", "redo"], taken: TakenBack, now: datetime,
        lease: Lease,
    ) -> RunReport:  # fmt: skip
        """Commit what takes something back, as a run of its own."""
        started = time.perf_counter()
        done = [run_id(scope, number) for number in taken.runs]
        note = f"undoes {', '.join(done)}" if kind == "undo" else f"takes back {done[0]}"
        commit = Commit(
            kind=kind, clock=now, changes=taken.changes, read=taken.read, undoes=taken.undoes,
            restores=taken.restores,
        )  # fmt: skip
        report = describe(
            commit, (), run_id="", scope=scope.path, status="committed",
            notes=(note, *taken.notes),
            **self.facts, duration_ms=round((time.perf_counter() - started) * 1000, 3),
        )  # fmt: skip
        run = self.store.commit(scope, self._with_report(commit, report), lease=lease)
        return replace(report, run_id=run_id(scope, run))


def run_id(scope: Scope, number: int) -> str:
    """A run's name: its scope and its number there."""
    return f"{scope.path}#{number}"


def system_clock() -> datetime:
    """The machine's clock, in UTC: the default where none is injected."""
    return datetime.now(UTC)


class _Held:
    """The lease of one run, lengthened while slow work goes on: nobody takes the scope over.

    A third of the term may pass unasked, so an ordinary night renews nothing.
    """

    def __init__(self, store: MemoryStore, scope: Scope) -> None:
        self._store = store
        self._since = time.monotonic()
        self.lease = store.acquire(scope, now=system_clock(), term_seconds=LEASE_SECONDS)

    def beat(self) -> None:
        """Lengthen the lease where it is time to."""
        if time.monotonic() - self._since > LEASE_SECONDS / 3:
            self.lease = self._store.renew(
                self.lease, now=system_clock(), term_seconds=LEASE_SECONDS
            )
            self._since = time.monotonic()


def _in_utc(moment: datetime) -> datetime:
    """One instant, one digest, whatever zone it was stated in."""
    if moment.tzinfo is None:
        raise InputError(f"The time {moment.isoformat()} has no zone; give an aware one.")
    return moment.astimezone(UTC)


def _silent(number: int, phase: str) -> None:
    """No progress is shown."""


def _after(sleep: Sleep, plan: Plan) -> Sleep:
    """What the pass after a planned one goes by."""
    return replace(
        sleep, spent=_spent(sleep.spent, plan), kept=plan.kept,
        hidden=_summed(sleep.hidden, plan.hides),
    )  # fmt: skip


def _spent(spent: Mapping[str, int], plan: Plan) -> dict[str, int]:
    """New drafts per phase so far: a cap that counts per sleep needs them."""
    total = dict(spent)
    for change in plan.commit.changes:
        if change.table == "record" and change.operation == "add":
            total[change.group.phase] = total.get(change.group.phase, 0) + 1
    return total


def _summed(hidden: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: hidden.get(name, 0) + more.get(name, 0) for name in hidden.keys() | more.keys()}


def _over(plan: Plan, sleep: Sleep) -> dict[str, int]:
    """The phases that would hide more than is permitted, with how many records."""
    if sleep.visible < LEAST_GUARDED:
        return {}
    permitted = sleep.limits.max_hidden_share * sleep.visible
    return {
        name: total
        for name, count in sorted(plan.would_hide.items())
        if (total := sleep.hidden.get(name, 0) + count) > permitted
    }


def _with_held(plan: Plan, order: Sequence[str], sleep: Sleep) -> Plan:
    """The plan with a line in its report for each phase that was held, where it stands."""
    if not sleep.held:
        return plan
    lines = {phase.name: phase for phase in plan.phases}
    for name, count in sleep.held.items():
        share = count / sleep.visible
        reason = (
            f"It would hide {count:,} of {sleep.visible:,} records ({share:.0%}); "
            f"max_hidden_share permits {sleep.limits.max_hidden_share:.0%}. It is kept as a plan "
            "for a person to apply or drop."
        )
        lines[name] = PhaseReport(
            name=name, outcome="held", reason=reason, knob="max_hidden_share", left=count
        )
    return replace(plan, phases=tuple(lines[name] for name in order if name in lines))


def _is_same(kept: RunRow, commit: Commit) -> bool:
    """Whether a plan of an earlier night does what this one would, from the same rows."""
    read = [list(row) for row in commit.read]
    return kept.digest == commit.digest and kept.plan.get("read") == read
