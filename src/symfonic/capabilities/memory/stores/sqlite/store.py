"""The SQLite store: one file, write-ahead log, one writer at a time, readers that never wait."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import RecordNotFound, StoreUnavailable
from symfonic.capabilities.memory.records import (
    RecordId,
    Seen,
    canonical,
    from_microseconds,
    identify,
    to_microseconds,
)
from symfonic.capabilities.memory.store import (
    Answer,
    Commit,
    Ingested,
    IngestMark,
    PendingRow,
    Receipt,
    ScopeState,
)
from symfonic.capabilities.memory.stores.sqlite import commit as writing
from symfonic.capabilities.memory.stores.sqlite import dump as dumping
from symfonic.capabilities.memory.stores.sqlite import lease as leasing
from symfonic.capabilities.memory.stores.sqlite.alignment import Alignment
from symfonic.capabilities.memory.stores.sqlite.compacting import Compaction
from symfonic.capabilities.memory.stores.sqlite.connection import (
    BUSY_TIMEOUT_MS,
    Connection,
    file_exists,
    migrate,
    translated,
)
from symfonic.capabilities.memory.stores.sqlite.forget import UNREACHABLE, Erasure, erase
from symfonic.capabilities.memory.stores.sqlite.ingest import insert_turns
from symfonic.capabilities.memory.stores.sqlite.load import load_rows
from symfonic.capabilities.memory.stores.sqlite.reader import SQLiteReader, to_state
from symfonic.capabilities.memory.stores.sqlite.rescaling import rescale
from symfonic.capabilities.memory.stores.sqlite.restoring import restore_rows
from symfonic.capabilities.memory.stores.sqlite.rows import HOUR, to_run
from symfonic.capabilities.memory.stores.sqlite.vector_search import VectorSearch
from symfonic.capabilities.memory.stores.sqlite.vectors import add_vectors, set_embedder
from symfonic.capabilities.memory.stores.sqlite.writer import add_uses
from symfonic.capabilities.memory.upkeep import StoreSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
    from symfonic.capabilities.memory.records import Use
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import Lease, Subscription, Turn
    from symfonic.capabilities.memory.upkeep import Compacted

SALT_BYTES = 16

CHECKPOINT_WAIT_MS = 1_000
"""How long moving the log into the file waits for readers; who held it is said, not waited out."""

_END = object()
"""What the steps of a work give when there are no more."""


class _PreviewOnly(Exception):
    """What was done is taken back: it was done to be counted."""


class SQLiteStore:
    """A ``MemoryStore`` in one SQLite file, or in memory for ``:memory:``.

    One connection writes, guarded by a lock; each snapshot has a connection of its own from a
    small pool, so that readers never wait for a writer. In memory there is only the one
    connection, and everything takes turns.
    """

    def __init__(self, path: str, *, create: bool = True) -> None:
        self.path = path
        self._check_path(create=create)
        self._lock = threading.RLock()
        self._pool: list[Connection] = []
        self._pool_lock = threading.Lock()
        self._closed = False
        self._vectors = VectorSearch()
        self._db = Connection(path)
        try:
            migrate(self._db)
        except BaseException:
            self._db.close()
            raise

    def _check_path(self, *, create: bool) -> None:
        if self.path == ":memory:":
            return
        file = Path(self.path)
        if file.is_dir():
            raise StoreUnavailable(
                f"{self.path} is a directory. Name a file in it, for example "
                f"--store {file / 'memory.db'}.",
                path=self.path,
            )
        if not create and not file_exists(self.path):
            raise StoreUnavailable(
                f"There is no store at {self.path}. Check --store (SYMFONIC_STORE), or create one: "
                f"symfonic-memory ingest FILE --store {self.path}",
                path=self.path,
            )

    # -- reading

    @contextmanager
    def snapshot(self, scope: Scope, *, may_be_new: bool = False) -> Iterator[SQLiteReader]:
        if self.path == ":memory:":
            with self._lock, self._db.reading():
                yield SQLiteReader(self._db, scope, may_be_new=may_be_new, vectors=self._vectors)
            return
        connection = self._borrow()
        try:
            with connection.reading():
                yield SQLiteReader(connection, scope, may_be_new=may_be_new, vectors=self._vectors)
        finally:
            self._give_back(connection)

    def scopes(self) -> list[str]:
        with self._lock, self._db.reading():
            return [str(row[0]) for row in self._db.rows("list_scopes")]

    def _borrow(self) -> Connection:
        with self._pool_lock:
            if self._pool:
                return self._pool.pop()
        self._db.check_place()
        return Connection(self.path, read_only=True, place=self._db.place)

    def _give_back(self, connection: Connection) -> None:
        with self._pool_lock:
            if not self._closed and len(self._pool) < 8:
                self._pool.append(connection)
                return
        connection.close()

    # -- scopes and ingest

    def ensure_scope(self, scope: Scope, *, half_life_hours: float, salt: bytes | None) -> None:
        bound: dict[str, Any] = {
            "scope": scope.path,
            "salt": salt or secrets.token_bytes(SALT_BYTES),
            "half_life_hours": half_life_hours,
        }
        with self._lock:
            if self._db.execute("get_scope", {"scope": scope.path}).fetchone() is None:
                with self._db.writing():
                    self._db.execute("insert_scope", bound)

    def add_turns(
        self,
        scope: Scope,
        turns: Sequence[Turn],
        *,
        now: datetime,
        subscriptions: Sequence[Subscription],
        alignment: Alignment | None = None,
        mark: Callable[[Ingested], IngestMark] | None = None,
    ) -> Ingested:
        with self._writing(scope) as state:
            added, counter = insert_turns(
                self._db, state, turns, now=now, subscriptions=subscriptions,
                alignment=alignment or Alignment(),
            )  # fmt: skip
            self._advance(state, counter=counter, visible=added.added)
            if mark is not None:
                self._write_mark(scope, mark(added), status="planned")
        return added

    def new_alignment(self) -> Alignment:
        return Alignment()

    def begin_ingest(self, scope: Scope, source: str, *, now: datetime) -> IngestMark:
        with self._writing(scope) as state:
            source = identify(state.salt, "ingest", source)
            bound = {"scope": scope.path, "source": source}
            row = self._db.execute("unfinished_ingest", bound).fetchone()
            if row is not None:
                return IngestMark(number=row[0], counts=json.loads(row[1])["counts"])
            number = state.run_count + 1
            report = {"run_id": f"{scope.path}#{number}", "kind": "ingest", "counts": {}}
            self._db.execute(
                "insert_run",
                {"scope": scope.path, "number": number, "kind": "ingest", "status": "planned",
                 "clock": to_microseconds(now), "settings": "{}", "input": None,
                 "input_digest": source, "output_digest": "", "report": json.dumps(report),
                 "counter": state.counter},
            )  # fmt: skip
            self._advance(state, run_count=number)
        return IngestMark(number=number)

    def end_ingest(self, scope: Scope, mark: IngestMark) -> None:
        with self._writing(scope):
            self._write_mark(scope, mark, status="committed")

    def _write_mark(self, scope: Scope, mark: IngestMark, *, status: str) -> None:
        report = {
            "run_id": f"{scope.path}#{mark.number}", "kind": "ingest", "status": status,
            "counts": dict(mark.counts),
        }  # fmt: skip
        self._db.execute(
            "update_report",
            {"scope": scope.path, "number": mark.number, "status": status,
             "report": json.dumps(report)},
        )  # fmt: skip

    def add_uses(
        self, scope: Scope, uses: Sequence[Use], *, subscriptions: Sequence[Subscription]
    ) -> None:
        with self._writing(scope) as state:
            counter = state.counter + 1
            add_uses(self._db, scope.path, uses)
            for subscription in subscriptions:
                if subscription.reads_touched:
                    self._db.executemany(
                        "touch_used",
                        (
                            {"scope": scope.path, "phase": subscription.phase, "id": use.record,
                             "at": use.hour * HOUR, "stamp": counter}
                            for use in sorted(uses, key=lambda u: (u.record, u.hour, u.kind))
                        ),
                    )  # fmt: skip
            self._advance(state, counter=counter)

    # -- leases

    def acquire(self, scope: Scope, *, now: datetime, term_seconds: int) -> Lease:
        with self._writing(scope):
            return leasing.acquire(self._db, scope.path, now=now, term_seconds=term_seconds)

    def renew(self, lease: Lease, *, now: datetime, term_seconds: int) -> Lease:
        with self._lock, self._db.writing():
            return leasing.renew(self._db, lease, now=now, term_seconds=term_seconds)

    def release(self, lease: Lease) -> None:
        with self._lock, self._db.writing():
            leasing.release(self._db, lease)

    # -- runs

    def commit(self, scope: Scope, commit: Commit, *, lease: Lease | None) -> int:
        with self._writing(scope) as state:
            if lease is not None:
                leasing.check_fence(self._db, lease)
            writing.check_versions(self._db, scope, commit)
            number = state.run_count + 1
            writing.write_run(self._db, state, commit, number=number)
        self._checkpoint("PASSIVE")
        return number

    def save_plan(self, scope: Scope, commit: Commit, *, held: bool = False) -> int:
        with self._writing(scope) as state:
            number = state.run_count + 1
            there = self._db.execute("held_run", {"scope": scope.path}).fetchone()
            if held and there is not None:
                writing.abandon(self._db, scope.path, there[0])
            writing.write_plan(self._db, state, commit, number=number, held=held)
        return number

    def drop_plan(self, scope: Scope, number: int) -> None:
        with self._writing(scope):
            row = self._db.execute("get_run", {"scope": scope.path, "number": number}).fetchone()
            status = None if row is None else to_run(row).status
            if status not in {"planned", "held"} or to_run(row).kind == "ingest":
                raise RecordNotFound(
                    f"The run {scope.path}#{number} is {status or 'not there'}; only a kept plan "
                    "can be dropped. 'symfonic-memory runs' lists them.",
                    run=f"{scope.path}#{number}",
                )
            writing.abandon(self._db, scope.path, number)

    def load_plan(self, scope: Scope, number: int) -> Commit:
        with self.snapshot(scope) as reader:
            row = reader.run(number)
            if row.status not in {"planned", "held"} or not row.plan:
                raise RecordNotFound(
                    f"The run {scope.path}#{number} is {row.status}, not planned, so it cannot be "
                    "applied. Make a plan with 'symfonic-memory plan'.",
                    run=f"{scope.path}#{number}",
                    status=row.status,
                )
            changes = tuple(j.change for j in reader.journal(number))
        return _decode_plan(row.plan, row, changes)

    def commit_plan(self, scope: Scope, number: int, *, lease: Lease) -> None:
        commit = self.load_plan(scope, number)
        with self._writing(scope) as state:
            leasing.check_fence(self._db, lease)
            row = self._db.execute("get_run", {"scope": scope.path, "number": number}).fetchone()
            status = to_run(row).status
            if status not in {"planned", "held"}:
                raise RecordNotFound(f"The run {scope.path}#{number} is no longer planned.")
            writing.check_plan(self._db, state, commit, number=number, held=status == "held")
            writing.check_versions(self._db, scope, commit)
            bound = {"scope": scope.path, "run": number, "number": number}
            self._db.execute("delete_changes", {"scope": scope.path, "run": number})
            self._db.execute("delete_run", bound)
            writing.write_run(self._db, state, commit, number=number)
        self._checkpoint("PASSIVE")

    # -- vectors

    def set_embedder(self, scope: Scope, identity: EmbedderIdentity | None) -> None:
        with self._writing(scope):
            set_embedder(self._db, scope.path, identity)

    def add_vectors(
        self,
        scope: Scope,
        identity: EmbedderIdentity,
        vectors: Sequence[tuple[RecordId, int, bytes]],
    ) -> int:
        with self._writing(scope):
            return add_vectors(self._db, scope.path, identity, vectors)

    # -- erasure

    def forget(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        subscriptions: Sequence[Subscription],
        preview: bool = False,
    ) -> Receipt:
        done = Erasure(salt=b"")
        unreachable: tuple[str, ...] = UNREACHABLE
        try:
            with self._writing(scope) as state:
                done = erase(self._db, state, ids, subscriptions)
                self._advance(state, counter=done.counter, visible=done.visible)
                if preview:
                    raise _PreviewOnly  # noqa: TRY301 - the way out of the transaction
        except _PreviewOnly:
            pass
        else:
            unreachable += self._scour()
        return Receipt(
            scope=scope.path,
            forgotten=tuple(RecordId(i) for i in done.forgotten),
            derived_removed=tuple(RecordId(i) for i in done.removed),
            rows=dict(sorted(done.rows.items())),
            unreachable=unreachable,
        )

    def _scour(self) -> tuple[str, ...]:
        """Drop erased words from the index's segments, the pages' free space and the log.

        ``secure_delete`` overwrites what is deleted, but not what a page that was split had held:
        only a rebuilt file has none of it.
        """
        with self._lock, translated(self.path):
            self._db.raw.execute("INSERT INTO record_text (record_text) VALUES ('optimize')")
        if self.path == ":memory:":
            return ()
        left = []
        if not self.rebuild():
            left.append(
                "free space inside the file, which could not be rebuilt now; run "
                "'symfonic-memory compact' when nobody uses it"
            )
        if not self._checkpoint("TRUNCATE"):
            left.append(
                "the write-ahead log, which a reader holds; close it and run "
                "'symfonic-memory doctor'"
            )
        return tuple(left)

    # -- upkeep

    def compact(
        self,
        scope: Scope,
        *,
        before: datetime,
        unspread: datetime,
        lease: Lease | None,
        watch: Callable[[Compacted], None],
    ) -> Compacted:
        with self._writing(scope) as state:
            work = Compaction(self._db, state, before=before, unspread=unspread)
        steps, more = work.steps(), True
        while more:
            with suppress(_PreviewOnly), self._writing(scope):
                if lease is not None:
                    leasing.check_fence(self._db, lease)
                more = next(steps, _END) is not _END
                if lease is None:
                    raise _PreviewOnly
            watch(work.done)
        return work.done

    def set_half_life(
        self,
        scope: Scope,
        half_life_hours: float,
        *,
        clock: datetime,
        uses_per_record: int,
        lease: Lease,
        report: Callable[[int, int], Mapping[str, Any]],
    ) -> int:
        with self._writing(scope) as state:
            leasing.check_fence(self._db, lease)
            return rescale(
                self._db, state, half_life_hours, clock=clock, uses_per_record=uses_per_record,
                report=report,
            )  # fmt: skip

    def size(self) -> StoreSize:
        with self._lock, translated(self.path):
            pages, page, free = (
                self._db.raw.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "page_size", "freelist_count")
            )
        return StoreSize(total=pages * page, free=free * page)

    def rebuild(self) -> bool:
        with self._lock:
            try:
                self._db.raw.execute("VACUUM")
            except sqlite3.OperationalError:
                return False
        self._checkpoint("TRUNCATE")
        return True

    # -- whole scopes and the file

    def dump(self, scope: Scope) -> Iterator[dict[str, Any]]:
        with self.snapshot(scope) as reader:
            yield from dumping.dump_scope(reader.connection, scope.path)

    def load(self, scope: Scope, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        with self._lock, self._db.writing():
            return load_rows(self._db, scope.path, rows)

    def restore(self, scope: Scope, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        with self._lock, self._db.writing():
            return restore_rows(self._db, scope.path, rows)

    def check(self) -> list[str]:
        problems = []
        with self._lock, translated(self.path):
            for (line,) in self._db.raw.execute("PRAGMA integrity_check"):
                if line != "ok":
                    problems.append(f"SQLite: {line}")
            try:
                self._db.raw.execute(
                    "INSERT INTO record_text (record_text) VALUES ('integrity-check')"
                )
            except sqlite3.DatabaseError as error:
                problems.append(f"The text index does not agree with itself: {error}")
        with self._lock:
            for name in (
                "check_unindexed",
                "check_dangling_links",
                "check_json",
                "check_visible",
                "check_vectors",
            ):
                problems.extend(str(row[0]) for row in self._db.rows(name))
        self._checkpoint("TRUNCATE")
        return problems

    def close(self) -> None:
        with self._lock, self._pool_lock:
            if self._closed:
                return
            self._closed = True
            for connection in self._pool:
                connection.close()
            self._pool.clear()
            self._checkpoint("TRUNCATE")
            self._db.close()

    # -- private

    @contextmanager
    def _writing(self, scope: Scope) -> Iterator[ScopeState]:
        with self._lock, self._db.writing():
            row = self._db.execute("get_scope", {"scope": scope.path}).fetchone()
            if row is None:
                raise RecordNotFound(f"There is no scope {scope.path!r} in {self.path}.")
            yield to_state(row)

    def _advance(
        self,
        state: ScopeState,
        *,
        counter: int | None = None,
        visible: int = 0,
        run_count: int | None = None,
    ) -> None:
        self._db.execute(
            "advance_scope",
            {
                "scope": state.path,
                "counter": state.counter if counter is None else counter,
                "visible": visible,
                "run_count": state.run_count if run_count is None else run_count,
                "last_clock": None,
                "deep_clock": None,
                "settings": canonical({k: dict(v) for k, v in state.settings.items()}),
            },
        )

    def _checkpoint(self, mode: str) -> bool:
        """Move the log into the file; whether all of it went."""
        if self.path == ":memory:":
            return True
        with self._lock:
            self._db.raw.execute(f"PRAGMA busy_timeout = {CHECKPOINT_WAIT_MS}")
            try:
                busy, _, _ = self._db.raw.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            except sqlite3.OperationalError:  # a reader or another process holds the log
                return False
            finally:
                self._db.raw.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        return not busy


def _decode_plan(plan: Mapping[str, Any], row: Any, changes: tuple[Change, ...]) -> Commit:  # noqa: ANN401
    return Commit(
        kind=row.kind,
        clock=row.clock,
        changes=changes,
        settings=row.settings,
        input_digest=row.input_digest,
        digest=row.digest,
        report=row.report,
        read=tuple(tuple(r) for r in plan["read"]),
        done=tuple(PendingRow(phase=p, record=RecordId(r), stamp=s) for p, r, s in plan["done"]),
        seen=tuple(
            Seen(
                episode=RecordId(e), reader=r, kind=k, key=key, session=s,
                at=from_microseconds(at), ok=ok, score=score, body=body, window=window,
            )
            for e, r, k, key, s, at, ok, score, body, window in plan["seen"]
        ),
        answers=tuple(
            Answer(question=q, collaborator=c, sources=tuple(s), body=b)
            for q, c, s, b in plan["answers"]
        ),
        queue={phase: tuple(ids) for phase, ids in plan["queue"].items()},
        reread={phase: tuple(kinds) for phase, kinds in plan["reread"].items()},
        reading=plan["reading"],
        recording=plan["recording"],
    )  # fmt: skip
