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
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import ClockRefused, InputError, StaleWrite, UndoRefused
from symfonic.capabilities.memory.gathering import Sleep
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import SleepReport
from symfonic.capabilities.memory.planning import Plan, describe, plan_pass
from symfonic.capabilities.memory.policy import window_start
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.undo import inverse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.outcome import RunReport, RunStatus
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import JournalRow, Lease, MemoryStore, RunRow

_LOGGER = logging.getLogger(__name__)

LEASE_SECONDS = 600
"""A holder on another host that died is waited for this long; one on this host not at all."""

ATTEMPTS = 3
"""How often a pass is planned again because rows changed under it."""

_SHOWN = 5


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

    def run(self, scope: Scope, *, now: datetime | None = None) -> SleepReport:
        """One sleep: passes until no phase has a backlog, or ``max_passes``; each its own commit.

        Raises ``RunAlreadyActive``, ``ClockRefused``, and ``StaleWrite`` where rows kept changing.
        """
        passes: list[RunReport] = []
        with self._holding(scope) as held:
            moment, notes = self._moment(scope, now)
            sleep = self._sleep(scope, moment)
            while True:
                plan, report = self._pass(scope, sleep, held, len(passes) + 1, notes)
                passes.append(report)
                if not plan.backlog or len(passes) >= self.limits.max_passes:
                    break
                sleep = replace(sleep, spent=_spent(sleep.spent, plan), kept=plan.kept)
        return SleepReport(passes=tuple(passes))

    def preview(self, scope: Scope, *, now: datetime | None = None) -> tuple[Plan, RunReport]:
        """What the next pass would do, written nowhere."""
        moment, notes = self._moment(scope, now)
        started = time.perf_counter()
        plan = self._plan(scope, self._sleep(scope, moment), 1)
        return plan, self._describe(scope, plan, "planned", started, notes)

    def plan(self, scope: Scope, *, now: datetime | None = None) -> RunReport:
        """Plan the next pass and keep it, for a person to look at and apply."""
        moment, notes = self._moment(scope, now)
        started = time.perf_counter()
        plan = self._plan(scope, self._sleep(scope, moment), 1)
        draft = self._describe(scope, plan, "planned", started, notes)
        number = self.store.save_plan(scope, self._with_report(plan.commit, draft))
        return replace(draft, run_id=run_id(scope, number))

    def apply(self, scope: Scope, number: int) -> None:
        """Commit a kept plan under its own number. Raises ``StaleWrite`` where it went stale."""
        with self._holding(scope) as held:
            self.store.commit_plan(scope, number, lease=held.lease)

    def undo(
        self, scope: Scope, number: int, *, groups: Sequence[str] = (), now: datetime | None = None
    ) -> RunReport:
        """Take back a run, or some of its groups, each whole; a run of its own, in the journal.

        Raises ``UndoRefused``, naming the later groups that build on what is to be undone.
        """
        with self._holding(scope) as held:
            return self._undo(scope, number, groups, _in_utc(now or self.clock()), held.lease)

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
        self, scope: Scope, sleep: Sleep, held: _Held, number: int, notes: tuple[str, ...]
    ) -> tuple[Plan, RunReport]:
        for attempt in range(1, ATTEMPTS + 1):
            started = time.perf_counter()
            plan = self._plan(scope, sleep, number, held.beat)
            report = self._describe(scope, plan, "committed", started, notes)
            try:
                run = self.store.commit(
                    scope, self._with_report(plan.commit, report), lease=held.lease
                )
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
        return plan, report

    def _plan(
        self, scope: Scope, sleep: Sleep, number: int, beat: Callable[[], None] = _nothing_held
    ) -> Plan:
        return plan_pass(
            self.store, scope, self.phases, sleep, beat=beat,
            watch=lambda phase: self.watch(number, phase),
        )  # fmt: skip

    def _moment(self, scope: Scope, now: datetime | None) -> tuple[datetime, tuple[str, ...]]:
        """The run's clock: a stated one must not lie before the last run; ours is raised."""
        with self.store.snapshot(scope) as reader:
            last, fades = reader.state.last_clock, reader.state.half_life_hours / 24
        notes: tuple[str, ...] = ()
        if self.retention.half_life_days != fades:
            asked = self.retention.half_life_days
            notes = (
                f"half_life_days is {asked:g}; this scope was made with {fades:g}, which stays",
            )
        if now is None:
            clock = _in_utc(self.clock())
            if last is not None and clock < last:
                note = f"the clock said {clock.isoformat()}; raised to the last run's time"
                return last, (*notes, note)
            return clock, notes
        now = _in_utc(now)
        if last is not None and now < last:
            raise ClockRefused(
                f"The stated time {now.isoformat()} lies before the last run of scope {scope}, "
                f"{last.isoformat()}. State that time or a later one.",
                now=now.isoformat(),
                last=last.isoformat(),
            )
        return now, notes

    def _sleep(self, scope: Scope, now: datetime) -> Sleep:
        """Fix what all passes share. Downtime widens the window in which uses still spread."""
        hours = max((phase.window_hours for phase in self.phases), default=0.0)
        since = window_start(now, hours)
        with self.store.snapshot(scope) as reader:
            deep = reader.state.deep_clock
        return Sleep(
            now=now,
            spread_since=since if deep is None else min(since, deep),
            retention=self.retention,
            limits=self.limits,
        )

    def _describe(
        self, scope: Scope, plan: Plan, status: RunStatus, started: float, notes: tuple[str, ...]
    ) -> RunReport:
        return describe(
            plan.commit, plan.phases, run_id="", scope=scope.path, status=status, notes=notes,
            duration_ms=round((time.perf_counter() - started) * 1000, 3), **self.facts,
        )  # fmt: skip

    def _with_report(self, commit: Commit, report: RunReport) -> Commit:
        return replace(commit, report=report.as_dict(), settings=dict(report.settings))

    def _undo(
        self, scope: Scope, number: int, groups: Sequence[str], now: datetime, lease: Lease
    ) -> RunReport:
        started = time.perf_counter()
        with self.store.snapshot(scope) as reader:
            rows = _chosen(
                reader.run(number), reader.journal(number), groups, run_id(scope, number)
            )
            names = sorted({str(row.change.group) for row in rows})
            dependents = reader.dependents(number, names)
            if dependents:
                raise _refused(scope, number, dependents)
            changes = tuple(inverse(reader, rows))
            there = {r.id: r for r in reader.records([str(c.row[0]) for c in changes])}
            read = tuple(
                (i, there[i].version) for i in sorted(there) if there[i].scope == scope.path
            )
        undone = tuple((number, name) for name in names)
        commit = Commit(kind="undo", clock=now, changes=changes, read=read, undoes=undone)
        report = describe(
            commit, (), run_id="", scope=scope.path, status="committed",
            notes=(f"undoes {run_id(scope, number)}",), **self.facts,
            duration_ms=round((time.perf_counter() - started) * 1000, 3),
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


def _spent(spent: Mapping[str, int], plan: Plan) -> dict[str, int]:
    """New drafts per phase so far: a cap that counts per sleep needs them."""
    total = dict(spent)
    for change in plan.commit.changes:
        if change.table == "record" and change.operation == "add":
            total[change.group.phase] = total.get(change.group.phase, 0) + 1
    return total


def _refused(scope: Scope, number: int, dependents: Sequence[tuple[int, str]]) -> UndoRefused:
    """That later groups build on what is to be undone, and how to take those back first."""
    groups = tuple(f"{run_id(scope, run)} {group}" for run, group in dependents)
    later = sorted({run for run, _ in dependents} - {number})
    if not later:
        first = "Undo the whole run, or name those groups too."
    elif len(later) == 1:
        name = run_id(scope, later[0])
        first = f"Undo {name} first: symfonic-memory undo {name}"
    else:
        name = f"{run_id(scope, later[0])}..{later[-1]}"
        last = run_id(scope, later[-1])
        first = f"Undo {last} down to #{later[0]} first: symfonic-memory undo {name}"
    build = "1 later group builds" if len(groups) == 1 else f"{len(groups)} later groups build"
    more = f" and {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""
    return UndoRefused(
        f"{build} on what is to be undone: {', '.join(groups[:_SHOWN])}{more}. {first}",
        groups=groups,
    )


def _chosen(
    run: RunRow, journal: Sequence[JournalRow], groups: Sequence[str], name: str
) -> list[JournalRow]:
    """The journal rows to undo. Raises ``UndoRefused`` where there is nothing to take back."""
    if run.status not in {"committed", "undone"}:
        raise UndoRefused(f"The run {name} is {run.status}; only a committed run can be undone.")
    if run.kind == "undo":
        raise UndoRefused(f"The run {name} is itself an undo, and there is no redo yet.", run=name)
    rows = [row for row in journal if row.undone_by is None]
    unknown = sorted(set(groups) - {str(row.change.group) for row in journal})
    if unknown:
        raise UndoRefused(
            f"The run {name} has no group {unknown[0]!r}. 'symfonic-memory diff {name}' lists.",
            groups=tuple(unknown),
        )
    if groups:
        rows = [row for row in rows if str(row.change.group) in set(groups)]
    if not rows:
        raise UndoRefused(
            f"There is nothing left to undo in run {name}. What an ingest brought in is taken out "
            "with 'symfonic-memory forget'.",
            run=name,
        )
    return rows
