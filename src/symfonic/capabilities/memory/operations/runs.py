"""Maintenance runs: carry out, preview, keep, apply, undo, and look at them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import Maintenance, SleepKind, run_id
from symfonic.capabilities.memory.operations.core import Operations, split_run_id, stated
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.recording import recorded_phases
from symfonic.capabilities.memory.replay import replay
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.roster import consolidation_phases
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.settings import report_facts
from symfonic.capabilities.memory.stand_ins import stand_ins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.outcome import ReplayReport, RunReport, SleepReport
    from symfonic.capabilities.memory.records import Record, RecordId
    from symfonic.capabilities.memory.store import JournalRow, RunRow


def _fields(value: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that are fields of a value."""
    return {one.name: settings[one.name] for one in fields(value) if one.name in settings}


class RunOptions(TypedDict, total=False):
    """What a run goes by; each may be left out.

    ``given`` are collaborators by name, ``sources`` say for the report where a knob's value came
    from, and ``watch`` is told the pass and the phase that comes next.
    """

    policy: LearningPolicy | None
    retention: RetentionPolicy | None
    limits: RunLimits | None
    given: Mapping[str, Any] | None
    sources: Mapping[str, str] | None
    watch: Callable[[int, str], None] | None


class RunOperations(Operations):
    """The part of ``Memory`` that runs maintenance and takes it back."""

    def sleep(
        self,
        *,
        scope: str,
        kind: SleepKind = "deep",
        now: datetime | None = None,
        **options: Unpack[RunOptions],
    ) -> SleepReport:
        """Run maintenance on a scope until nothing is left; see ``Maintenance.run``.

        A ``light`` sleep runs the cheap phases alone, as between two turns of a conversation.
        """
        return self._ready(options).run(Scope(scope), kind=kind, now=stated(now))

    def preview(
        self,
        *,
        scope: str,
        kind: SleepKind = "deep",
        now: datetime | None = None,
        **options: Unpack[RunOptions],
    ) -> tuple[tuple[Change, ...], RunReport]:
        """A dry run: the changes that the next pass would make, and its report; nothing is kept.

        Recorded uses are written first, so that it shows what :meth:`sleep` would do.
        """
        plan, report = self._ready(options).preview(Scope(scope), kind=kind, now=stated(now))
        return plan.commit.changes, report

    def plan(
        self, *, scope: str, now: datetime | None = None, **options: Unpack[RunOptions]
    ) -> RunReport:
        """Plan a run and keep it for :meth:`diff` and :meth:`apply`; memory is not changed."""
        return self._ready(options).plan(Scope(scope), now=stated(now))

    def engine(self, **options: Unpack[RunOptions]) -> Maintenance:
        """The engine for a policy, with its settings and their sources ready for the report."""
        policy = options.get("policy") or LearningPolicy()
        retention = options.get("retention") or self._retention
        limits = options.get("limits") or RunLimits()
        collaborators = compose_collaborators(policy, **(options.get("given") or {}))
        phases = consolidation_phases(**policy.as_phase_kwargs(), collaborators=collaborators)
        return Maintenance(
            self.store, (*phases, *self._further), retention=retention, limits=limits,
            clock=self._now, watch=options.get("watch"),
            facts=report_facts(policy, retention, limits, options.get("sources")),
        )  # fmt: skip

    def apply(self, run: str) -> RunRow:
        """Commit a kept plan. Raises ``StaleWrite`` where memory has changed since."""
        scope, number = split_run_id(run)
        self.flush_uses()
        Maintenance(self.store, ()).apply(scope, number)
        return self.run(run)

    def drop(self, run: str) -> RunRow:
        """Abandon a kept or held plan. Raises ``RecordNotFound`` where it is neither."""
        scope, number = split_run_id(run)
        self.store.drop_plan(scope, number)
        return self.run(run)

    def undo(
        self,
        run: str,
        *,
        groups: Sequence[str] = (),
        cascade: bool = False,
        now: datetime | None = None,
    ) -> RunReport:
        """Take back a run or some of its groups, with ``cascade`` also what builds on them.

        Raises ``UndoRefused``.
        """
        scope, number = split_run_id(run)
        self.flush_uses()
        engine = Maintenance(self.store, (), clock=self._now)
        return engine.undo(scope, number, groups=groups, cascade=cascade, now=stated(now))

    def redo(self, run: str, *, now: datetime | None = None) -> RunReport:
        """Take back an undo, named by its run or that which it undid. Raises ``UndoRefused``."""
        scope, number = split_run_id(run)
        self.flush_uses()
        return Maintenance(self.store, (), clock=self._now).redo(scope, number, now=stated(now))

    def replay(self, run: str, *, given: Mapping[str, Any] | None = None) -> ReplayReport:
        """Plan a committed run again from its recorded input, and hold it against what it did.

        It writes nothing. The run's own settings are used. A model that the run had been given need
        not be: what it found and answered is kept. Raises ``InputError``.
        """
        scope, number = split_run_id(run)
        with self.store.snapshot(scope) as reader:
            row = reader.run(number)
            values = row.report.get("settings") or {}
            policy = LearningPolicy(**_fields(LearningPolicy, values))
            stood_in = stand_ins(recorded_phases(row.plan))
            collaborators = compose_collaborators(policy, **{**stood_in, **(given or {})})
            phases = consolidation_phases(**policy.as_phase_kwargs(), collaborators=collaborators)
            own = {"promote_procedures"}
            if policy.entity_linker_extractor_kind == "regex":
                own.add("link_entities")
            return replay(
                reader, number, (*phases, *self._further),
                retention=RetentionPolicy(**_fields(RetentionPolicy, values)),
                limits=RunLimits(**_fields(RunLimits, values)), pure=frozenset(own),
            )  # fmt: skip

    def undo_all(self, first: str, last: str, *, now: datetime | None = None) -> list[RunReport]:
        """Take back every run from ``last`` down to ``first``: a whole sleep, say.

        Also what a person decided or noted between them; imports and undos are passed over. Raises
        ``UndoRefused`` where later runs build on them; what was taken back until then stays so.
        """
        scope, begin = split_run_id(first)
        other, end = split_run_id(last)
        if other != scope or end < begin:
            raise InputError(f"{first} to {last} is no range of runs of one scope.")
        done = []
        for number in range(end, begin - 1, -1):
            row = self.run(run_id(scope, number))
            standing = row.status == "committed" and row.kind not in {"undo", "redo", "ingest"}
            if standing and any(j.undone_by is None for j in self.diff(run_id(scope, number))):
                done.append(self.undo(run_id(scope, number), now=now))
        return done

    def run(self, run: str) -> RunRow:
        """One run. Raises ``RecordNotFound``."""
        scope, number = split_run_id(run)
        with self.store.snapshot(scope) as reader:
            return reader.run(number)

    def runs(self, *, scope: str, limit: int = 50) -> list[RunRow]:
        """The latest runs, newest first."""
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.runs(limit=limit)

    def diff(self, run: str) -> list[JournalRow]:
        """A planned or committed run's changes, in order, with what stood there before."""
        scope, number = split_run_id(run)
        with self.store.snapshot(scope) as reader:
            reader.run(number)
            return reader.journal(number)

    def records(self, ids: Sequence[str], *, scope: str) -> dict[RecordId, Record]:
        """Records by id, of this scope and its ancestors; missing ones are left out."""
        with self.store.snapshot(Scope(scope)) as reader:
            return {record.id: record for record in reader.records(ids)}

    def _ready(self, options: RunOptions) -> Maintenance:
        """The engine, once the uses that recall has kept aside are written."""
        self.flush_uses()
        return self.engine(**options)
