"""``Memory``: the operations that the command line, servers and programs share.

It is thread-safe, and a context manager. Recall never waits for a writer: what it used is kept
aside and written by the next operation that writes, or at close.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from symfonic.capabilities.memory.changes import Group, add_record, edit_record, output_digest
from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.erasure import forgettable, whole_id
from symfonic.capabilities.memory.errors import InputError, StaleWrite
from symfonic.capabilities.memory.importing import IngestReport, import_source
from symfonic.capabilities.memory.ingest.inputs import turns_from_messages
from symfonic.capabilities.memory.ingest.times import in_utc
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import Maintenance, run_id, system_clock
from symfonic.capabilities.memory.notes import note_of
from symfonic.capabilities.memory.outcome import RunReport
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.recall import Recall, recall
from symfonic.capabilities.memory.records import (
    KINDS,
    Record,
    RecordId,
)
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.review import decided, find_procedure
from symfonic.capabilities.memory.roster import consolidation_phases, subscriptions_of
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.settings import report_facts
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.strength import strength_at
from symfonic.capabilities.memory.waiting_uses import WaitingUses

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.notes import NoteKind
    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.records import Kind, Status
    from symfonic.capabilities.memory.store import (
        Ingested,
        JournalRow,
        MemoryStore,
        Receipt,
        RunRow,
        Subscription,
    )

_MANY = 2**31

_DIGITS = 18
"""The longest run number: a store counts them in 64 bits."""

DEFAULT_LIMIT = 10
"""How many items recall gives when neither a limit nor a token budget is stated."""


class Memory:
    """An agent's memory in one store.

    Every method takes ``scope``, a path such as ``acme/ana``; there is no default, because a
    forgotten scope must not read or write somebody else's memory. ``now`` defaults to ``clock``.
    Times must be aware, else ``InputError`` is raised; in which zone they are makes no difference.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        clock: Clock | None = None,
        salt: bytes | None = None,
        retention: RetentionPolicy | None = None,
    ) -> None:
        self.store = store
        self._clock = clock or system_clock
        self._salt = salt
        self._retention = retention or RetentionPolicy()
        self._subscriptions = _subscriptions()
        self._uses = WaitingUses()
        self._one_connection = False

    @classmethod
    def open(
        cls,
        url: str | Path,
        *,
        create: bool = True,
        clock: Clock | None = None,
        salt: bytes | None = None,
        retention: RetentionPolicy | None = None,
    ) -> Self:
        """The memory at a path. ``salt`` (1 to 64 bytes) keys new scopes' ids; random if unset.

        Raises ``StoreUnavailable``, ``SchemaMismatch``.
        """
        found = cls(open_store(url, create=create), clock=clock, salt=salt, retention=retention)
        found._one_connection = str(url).endswith(":memory:")
        return found

    def close(self) -> None:
        """Write what recall has used, and close the store."""
        try:
            self.flush_uses()
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- taking in

    def add_turn(
        self,
        messages: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        scope: str,
        session: str,
        timezone: str | None = None,
        now: datetime | None = None,
    ) -> Ingested:
        """Store what was just said, in one transaction; safe to call with the whole history again.

        ``messages`` have the OpenAI shape (``role``, ``content``, ``tool_calls``) or the plain one
        (``role``, ``text``, ``at``, …). Raises ``InputError`` for a message that cannot be read.
        """
        where, moment = self._begin(scope), self._now(now)
        turns = turns_from_messages(messages, session=session, timezone=timezone, now=moment)
        return self.store.add_turns(where, turns, now=moment, subscriptions=self._subscriptions)

    def ingest(
        self,
        source: str | Path | Iterable[Mapping[str, Any]],
        *,
        scope: str,
        format: str | None = None,
        timezone: str | None = None,
        session: str | None = None,
        rejects: Path | None = None,
        now: datetime | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> IngestReport:
        """Read a log file, or dicts, into memory; see :func:`import_source`."""
        where = self._begin(scope)
        return import_source(
            self.store, where, source, now=self._now(now), subscriptions=self._subscriptions,
            format=format, timezone=timezone, session=session, rejects=rejects, progress=progress,
        )  # fmt: skip

    def remember(
        self,
        text: str,
        *,
        scope: str,
        expires: datetime | None = None,
        due: datetime | None = None,
        by: str = "user",
        now: datetime | None = None,
    ) -> RecordId:
        """Keep a note: for good, until ``expires`` (working memory), or ``due`` (an intention).

        The same note again changes nothing. Raises ``InputError`` for an empty one.
        """
        where, moment = self._begin(scope), self._now(now)
        until = _stated(expires or due)
        if expires is not None and due is not None:
            raise InputError("A note either expires or falls due; give one of the two times.")
        kind: NoteKind = "working" if expires else "prospective" if due else "kept"
        try:
            return self._keep(where, text, kind=kind, until=until, by=by, now=moment)
        except StaleWrite:  # the same was told at the same moment, and stands there now
            return self._keep(where, text, kind=kind, until=until, by=by, now=moment)

    def _keep(
        self,
        scope: Scope,
        text: str,
        *,
        kind: NoteKind,
        until: datetime | None,
        by: str,
        now: datetime,
    ) -> RecordId:
        with self.store.snapshot(scope) as reader:
            note, is_new = note_of(reader, text, kind=kind, until=until, now=now)
        if is_new:
            group = Group(phase="user", kind="note", id=note.id)
            self._user_commit(scope, [add_record(group, note, f"remembered by {by}")], now)
        return note.id

    # -- recall

    def recall(
        self,
        query: str,
        *,
        scope: str,
        limit: int | None = None,
        token_budget: int | None = None,
        kinds: Sequence[Kind] | None = None,
        offset: int = 0,
        as_of: datetime | None = None,
        explain: bool = False,
        record_uses: bool = True,
        now: datetime | None = None,
    ) -> Recall:
        """What answers ``query``, from this scope and its ancestors; see :func:`recall`.

        ``limit`` is 10 unless a ``token_budget`` bounds the answer. Each returned record counts as
        used in this hour, in the scope that holds it, unless ``record_uses`` is false.
        """
        if limit is None and token_budget is None:
            limit = DEFAULT_LIMIT
        where, moment = Scope(scope), self._now(now)
        unknown = sorted(set(kinds or ()) - set(KINDS))
        if unknown:
            raise InputError(f"{unknown[0]!r} is no kind of record; there are {', '.join(KINDS)}.")
        with self.store.snapshot(where, may_be_new=True) as reader:
            answer = recall(
                reader, query, now=moment, limit=limit, token_budget=token_budget, kinds=kinds,
                offset=offset, as_of=_stated(as_of), explain=explain,
            )  # fmt: skip
            if not reader.visible_salts():
                note = f"The scope {where} holds nothing yet."
                answer = replace(answer, notes=(*answer.notes, note))
        if record_uses and answer.items:
            self._uses.add(answer.items, moment)
        return answer

    def flush_uses(self) -> None:
        """Write the uses that recall has kept aside. Raises ``StoreError``; none is lost then."""
        self._uses.write(self.store, self._subscriptions)

    # -- the maintenance run

    def maintenance(
        self,
        policy: LearningPolicy | None = None,
        *,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        given: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
        watch: Callable[[int, str], None] | None = None,
    ) -> Maintenance:
        """The engine for a policy, with its settings and their sources ready for the report."""
        chosen, kept = policy or LearningPolicy(), retention or self._retention
        capped = limits or RunLimits()
        collaborators = compose_collaborators(chosen, **(given or {}))
        phases = consolidation_phases(**chosen.as_phase_kwargs(), collaborators=collaborators)
        return Maintenance(
            self.store, phases, retention=kept, limits=capped, clock=self._now, watch=watch,
            facts=report_facts(chosen, kept, capped, sources),
        )  # fmt: skip

    def sleep(
        self,
        *,
        scope: str,
        policy: LearningPolicy | None = None,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        given: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
        watch: Callable[[int, str], None] | None = None,
        now: datetime | None = None,
    ) -> SleepReport:
        """Run maintenance on a scope until nothing is left; see ``Maintenance.run``.

        ``given`` are collaborators by name, ``sources`` say for the report where a knob's value
        came from, and ``watch`` is told the pass and the phase that comes next.
        """
        engine = self.maintenance(
            policy, retention=retention, limits=limits, given=given, sources=sources, watch=watch
        )
        return self.run_maintenance(engine, scope=scope, now=now)

    def run_maintenance(
        self, engine: Maintenance, *, scope: str, now: datetime | None = None
    ) -> SleepReport:
        """Run an engine of :meth:`maintenance`, recorded uses first."""
        self.flush_uses()
        return engine.run(Scope(scope), now=_stated(now))

    def preview(
        self,
        *,
        scope: str,
        policy: LearningPolicy | None = None,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        given: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
        watch: Callable[[int, str], None] | None = None,
        now: datetime | None = None,
    ) -> tuple[tuple[Change, ...], RunReport]:
        """A dry run: the changes that the next pass would make, and its report; nothing is kept.

        Recorded uses are written first, so that it shows what :meth:`sleep` would do.
        """
        self.flush_uses()
        engine = self.maintenance(
            policy, retention=retention, limits=limits, given=given, sources=sources, watch=watch
        )
        plan, report = engine.preview(Scope(scope), now=_stated(now))
        return plan.commit.changes, report

    def plan(
        self,
        *,
        scope: str,
        policy: LearningPolicy | None = None,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        given: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
        watch: Callable[[int, str], None] | None = None,
        now: datetime | None = None,
    ) -> RunReport:
        """Plan a run and keep it for :meth:`diff` and :meth:`apply`; memory is not changed."""
        self.flush_uses()
        engine = self.maintenance(
            policy, retention=retention, limits=limits, given=given, sources=sources, watch=watch
        )
        return engine.plan(Scope(scope), now=_stated(now))

    def apply(self, run: str) -> RunRow:
        """Commit a kept plan. Raises ``StaleWrite`` where memory has changed since."""
        scope, number = split_run_id(run)
        self.flush_uses()
        Maintenance(self.store, ()).apply(scope, number)
        return self.run(run)

    def undo(
        self, run: str, *, groups: Sequence[str] = (), now: datetime | None = None
    ) -> RunReport:
        """Take back a run or some of its groups. Raises ``UndoRefused``."""
        scope, number = split_run_id(run)
        self.flush_uses()
        engine = Maintenance(self.store, (), clock=self._now)
        return engine.undo(scope, number, groups=groups, now=_stated(now))

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
            standing = row.status == "committed" and row.kind not in {"undo", "ingest"}
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

    # -- review

    def procedures(self, *, scope: str, status: Status | None = "draft") -> list[Record]:
        """The scope's procedures of one status, or all for ``None``, newest first."""
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.list_records(kinds=("procedure",), status=status, limit=_MANY)

    def procedure(self, i: str, *, scope: str) -> tuple[Record, list[Record]]:
        """A procedure by id or a beginning of it, with the episodes it rests on, oldest first."""
        with self.store.snapshot(Scope(scope)) as reader:
            record = find_procedure(reader, i)
            links = reader.links(
                [record.id], kinds=("evidence",), direction="out", per_record=_MANY
            )
            episodes = reader.records([link.target for link in links])
        return record, sorted(episodes, key=lambda r: r.order)

    def decide(
        self,
        i: str,
        decision: Status,
        *,
        scope: str,
        by: str,
        now: datetime | None = None,
    ) -> Record:
        """Approve, reject or retire a procedure, by a person who is named.

        Raises ``DraftAlreadyDecided``: a decision is changed only by retiring what was approved.
        """
        where, moment = self._begin(scope), self._now(now)
        with self.store.snapshot(where) as reader:
            before = find_procedure(reader, i)
        after = decided(before, decision, by=by, now=moment)
        group = Group(phase="user", kind="procedure", id=before.id)
        change = edit_record(group, before, after, f"{decision} by {by}")
        self._user_commit(where, [change], moment, read=((before.id, before.version),))
        return after

    # -- erasure, export, care

    def find_forgettable(
        self,
        *,
        scope: str,
        records: Sequence[str] = (),
        session: str | None = None,
        entity: str | None = None,
        everything: bool = False,
    ) -> list[RecordId]:
        """The ids that :meth:`forget` would erase, for a preview."""
        with self.store.snapshot(Scope(scope)) as reader:
            if everything:
                return reader.all_records()
            return forgettable(reader, records=records, session=session, entity=entity)

    def forget(self, ids: Sequence[str], *, scope: str) -> Receipt:
        """Erase records and all that only they support, from every table, index and plan.

        It cannot be undone. The receipt holds ids and counts, no text.
        """
        where = Scope(scope)
        self.flush_uses()
        return self.store.forget(where, ids, subscriptions=self._subscriptions)

    def preview_forget(self, ids: Sequence[str], *, scope: str) -> Receipt:
        """What :meth:`forget` would erase, in ids and counts; nothing is written."""
        where = Scope(scope)
        self.flush_uses()
        return self.store.forget(where, ids, subscriptions=self._subscriptions, preview=True)

    def record(self, i: str, *, scope: str) -> Record:
        """One of the scope's own records, by its id or a beginning of it of 8 characters."""
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.records([whole_id(reader, i)])[0]

    def export(self, *, scope: str) -> Generator[dict[str, Any], None, None]:
        """Every row of the scope, tombstones and history included, as plain values.

        It holds a snapshot of the file until it ends or is closed. A store in memory has one
        connection, which a half-read export would keep from everybody else, so there all rows are
        taken at once.
        """
        self.flush_uses()
        rows = self.store.dump(Scope(scope))
        return _each(list(rows) if self._one_connection else rows)

    def restore_rows(self, rows: Iterable[Mapping[str, Any]], *, scope: str) -> dict[str, int]:
        """Bring exported rows into a scope; how many were added per table."""
        self.flush_uses()
        return self.store.load(Scope(scope), rows)

    def stats(self, *, scope: str) -> dict[str, Any]:
        """Counts of the scope's records, links, unread rows and runs."""
        self.flush_uses()
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.stats()

    def scopes(self) -> list[str]:
        """Every scope of the store, sorted."""
        return self.store.scopes()

    def check(self) -> list[str]:
        """What is wrong with the store, a sentence each; empty when it is sound."""
        return self.store.check()

    # -- private

    def _begin(self, scope: str) -> Scope:
        """Make sure of the scope, and write the uses that wait."""
        where = Scope(scope)
        self._ensure(where)
        self.flush_uses()
        return where

    def _ensure(self, scope: Scope) -> None:
        """Make the scope where it is new; each scope's ids are keyed with a salt of its own."""
        salt = self._salt and blake2b(scope.path.encode(), key=self._salt, digest_size=16).digest()
        self.store.ensure_scope(
            scope, half_life_hours=self._retention.half_life_days * 24, salt=salt
        )

    def _now(self, now: datetime | None = None) -> datetime:
        return in_utc(self._clock() if now is None else now)

    def _user_commit(
        self,
        scope: Scope,
        changes: Sequence[Any],
        now: datetime,
        read: tuple[tuple[str | int, ...], ...] = (),
    ) -> None:
        digest = output_digest(changes)
        report = RunReport(
            run_id="", scope=scope.path, kind="user", status="committed", clock=now.isoformat(),
            digest=digest, change_count=len(changes),
        )  # fmt: skip
        commit = Commit(
            kind="user", clock=now, changes=tuple(changes), digest=digest, read=read,
            report=report.as_dict(), queue=_queue(self._subscriptions, changes),
        )  # fmt: skip
        self.store.commit(scope, commit, lease=None)


def split_run_id(run: str) -> tuple[Scope, int]:
    """The scope and number of a run's name. Raises ``InputError`` for another text."""
    path, mark, number = run.rpartition("#")
    if not mark or not number.isascii() or not number.isdigit() or len(number) > _DIGITS:
        raise InputError(
            f"{run!r} is no run. Runs are named like acme/ana#12; see 'symfonic-memory runs'."
        )
    return Scope(path), int(number)


def _stated(moment: datetime | None) -> datetime | None:
    """A time that may be left open, in UTC: a run without one goes by the clock."""
    return None if moment is None else in_utc(moment)


def _each(rows: Iterable[dict[str, Any]]) -> Generator[dict[str, Any], None, None]:
    """The rows; closing it closes theirs."""
    yield from rows


def _subscriptions() -> tuple[Subscription, ...]:
    """Of the whole roster, composed or not: a phase switched on later finds its backlog."""
    policy = LearningPolicy(enable_entity_linker=True, promotion_use_tool_calls_fallback=True)
    phases = consolidation_phases(
        **policy.as_phase_kwargs(), collaborators=compose_collaborators(policy)
    )
    return subscriptions_of(phases)


def _queue(subscriptions: Sequence[Subscription], changes: Sequence[Any]) -> dict[str, Any]:
    added = [
        (str(change.row[0]), change.after["kind"])
        for change in changes
        if change.operation == "add" and change.table == "record"
    ]
    found = {s.phase: tuple(i for i, kind in added if kind in s.reads) for s in subscriptions}
    return {phase: ids for phase, ids in found.items() if ids}


def moment_after(now: datetime, hours: float) -> datetime:
    """``hours`` after ``now``: when a working note expires."""
    return now + timedelta(hours=hours)


__all__ = ["Memory", "moment_after", "run_id", "split_run_id", "strength_at", "system_clock"]
