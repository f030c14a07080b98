"""Upkeep: keep the store small, and change the rate at which a scope fades."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.changes import output_digest
from symfonic.capabilities.memory.errors import RunAlreadyActive
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import LEASE_SECONDS, run_id, system_clock
from symfonic.capabilities.memory.operations.core import Operations
from symfonic.capabilities.memory.outcome import RunReport
from symfonic.capabilities.memory.policy import LearningPolicy, window_start
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.upkeep import CompactReport, HalfLifeReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from typing import Any

    from symfonic.capabilities.memory.store import Lease, MemoryStore
    from symfonic.capabilities.memory.upkeep import Compacted, StoreSize


class UpkeepOperations(Operations):
    """The part of ``Memory`` that looks after the store itself."""

    def compact(
        self,
        *,
        scope: str | None = None,
        retention: RetentionPolicy | None = None,
        policy: LearningPolicy | None = None,
        now: datetime | None = None,
        vacuum: bool | None = None,
        dry_run: bool = False,
        watch: Callable[[Compacted], None] | None = None,
    ) -> CompactReport:
        """Drop what undo and replay need of runs past the undo days, and fold old uses into one.

        What memory holds, recalls and learns stays the same. A run is past them when its clock is
        earlier than ``undo_days`` and ``grace_days`` ago, whichever is longer: until then the next
        night asks when a record was changed. Old runs can neither be undone nor replayed
        afterwards, and say so; their reports and digests stay.

        ``scope`` is one, or ``None`` for every scope of the store, of which those that another
        process runs are left out and named. ``policy`` says how far uses still spread.
        ``vacuum`` gives free space back to the disk: always, never, or for ``None`` when it is
        more than a quarter of the store. ``watch`` is told what is done so far. Raises
        ``RunAlreadyActive`` where the one scope is being run.
        """
        retention, moment = retention or self._retention, self._now(now)
        before = window_start(moment, 24 * max(retention.undo_days, retention.grace_days))
        unspread = window_start(moment, (policy or LearningPolicy()).lookback_hours)
        self.flush_uses()
        size = self.store.size()
        done: list[Compacted] = []
        busy: list[str] = []
        for path in self.store.scopes() if scope is None else [Scope(scope).path]:
            try:
                done.append(
                    self._compact(
                        Scope(path), before, unspread, dry_run=dry_run, watch=watch or _silent
                    )
                )
            except RunAlreadyActive:
                if scope is not None:
                    raise
                busy.append(path)
        rebuilt = False if dry_run else self._give_back(vacuum)
        return CompactReport(
            before=before, scopes=tuple(done), busy=tuple(busy), dry_run=dry_run, rebuilt=rebuilt,
            size_before=size, size_after=self.store.size(),
        )  # fmt: skip

    def set_half_life(
        self,
        days: float,
        *,
        scope: str,
        limits: RunLimits | None = None,
        now: datetime | None = None,
    ) -> HalfLifeReport:
        """Let a scope fade at another rate; every strength is computed anew, in one transaction.

        All records of a scope fade at one rate, so this is no knob of a run. The history keeps it
        as a run of kind ``user``, which is not undone but set again. Kept plans go stale.
        Raises ``PolicyError`` for a number of ``days`` out of range.
        """
        days = RetentionPolicy(half_life_days=days).half_life_days
        where, most = Scope(scope), (limits or RunLimits()).uses_per_record
        self.flush_uses()
        with _holding(self.store, where) as held:
            with self.store.snapshot(where) as reader:
                state = reader.state
            moment = max([self._now(now), *([state.last_clock] if state.last_clock else [])])
            before = state.half_life_hours / 24
            if days == before:
                return HalfLifeReport(scope=where.path, before=before, after=days)
            counts = [0, 0]

            def report(records: int, changed: int) -> dict[str, Any]:
                counts[:] = records, changed
                return _half_life_report(where, moment, (before, days), records, changed)

            number = self.store.set_half_life(
                where, days * 24, clock=moment, uses_per_record=most, lease=held.lease,
                report=report,
            )  # fmt: skip
        return HalfLifeReport(
            scope=where.path, before=before, after=days, records=counts[0], changed=counts[1],
            run=run_id(where, number),
        )  # fmt: skip

    def size(self) -> StoreSize:
        """How many bytes the store takes, and how many of them hold nothing."""
        return self.store.size()

    def _compact(
        self,
        scope: Scope,
        before: datetime,
        unspread: datetime,
        *,
        dry_run: bool,
        watch: Callable[[Compacted], None],
    ) -> Compacted:
        if dry_run:
            return self.store.compact(
                scope, before=before, unspread=unspread, lease=None, watch=watch
            )
        with _holding(self.store, scope) as held:

            def told(done: Compacted) -> None:
                held.beat()
                watch(done)

            return self.store.compact(
                scope, before=before, unspread=unspread, lease=held.lease, watch=told
            )

    def _give_back(self, vacuum: bool | None) -> bool | None:
        if vacuum is None:
            vacuum = not self.store.size().mostly_needed
        return (self.store.rebuild() or None) if vacuum else False


class _Held:
    """A scope's lease, lengthened while long work goes on."""

    def __init__(self, store: MemoryStore, scope: Scope) -> None:
        self._store = store
        self._since = time.monotonic()
        self.lease: Lease = store.acquire(scope, now=system_clock(), term_seconds=LEASE_SECONDS)

    def beat(self) -> None:
        """Lengthen the lease once a third of its term has passed."""
        if time.monotonic() - self._since > LEASE_SECONDS / 3:
            self.lease = self._store.renew(
                self.lease, now=system_clock(), term_seconds=LEASE_SECONDS
            )
            self._since = time.monotonic()


@contextmanager
def _holding(store: MemoryStore, scope: Scope) -> Iterator[_Held]:
    held = _Held(store, scope)
    try:
        yield held
    finally:
        store.release(held.lease)


def _silent(_done: Compacted) -> None:
    """No progress is shown."""


def _half_life_report(
    scope: Scope, now: datetime, days: tuple[float, float], records: int, changed: int
) -> dict[str, Any]:
    before, after = days
    note = (
        f"The half-life was {before:g} days and is {after:g}: {changed:,} of {records:,} strengths "
        "changed."
    )
    report = RunReport(
        run_id="", scope=scope.path, kind="user", status="committed", clock=now.isoformat(),
        digest=output_digest(()), settings={"half_life_days": after}, notes=(note,),
    )  # fmt: skip
    facts = {"before": before, "after": after, "records": records, "changed": changed}
    return {**report.as_dict(), "half_life": facts}
