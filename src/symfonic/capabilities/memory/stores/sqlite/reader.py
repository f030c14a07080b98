"""Queries over one snapshot of one scope."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from symfonic.capabilities.memory.errors import RecordNotFound
from symfonic.capabilities.memory.records import (
    READABLE_STATES,
    Record,
    RecordId,
    Tally,
    Use,
    from_microseconds,
    to_microseconds,
)
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.store import Hit, PendingRow, ScopeState, Sighting
from symfonic.capabilities.memory.stores.sqlite.rows import (
    CONTEXT_SPAN,
    HOUR,
    LARGEST,
    array,
    to_journal,
    to_link,
    to_record,
    to_run,
    to_seen,
)
from symfonic.capabilities.memory.stores.sqlite.searching import search
from symfonic.capabilities.memory.stores.sqlite.vector_search import VectorSearch
from symfonic.capabilities.memory.stores.sqlite.vectors import embedder_of
from symfonic.capabilities.memory.stores.sqlite.versions import records_as_of
from symfonic.capabilities.memory.stores.sqlite.windows import count_shared, count_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
    from symfonic.capabilities.memory.records import Kind, Link, LinkKind, Plain, Seen
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import ExpiryRule, JournalRow, RunRow, Shared, Window
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

TALLY_CAP = 1000
"""The newest sightings of a key that are counted: beyond it a count no longer decides anything."""

DEGREE_CAP = 1000
"""The links of a record that its degree counts: a hub beyond it is damped as one of this size."""


EXPIRING_CAP = 1_000_000
"""How many records that are due to be archived are counted."""


class SQLiteReader:
    """One snapshot. Open it through ``SQLiteStore.snapshot``, which also closes it."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        *,
        may_be_new: bool = False,
        vectors: VectorSearch | None = None,
    ) -> None:
        self._db = connection
        self._vectors = vectors or VectorSearch()
        self._path = scope.path
        self._visible = array(scope.visible)
        self._order = scope.visible
        row = connection.execute("get_scope", {"scope": scope.path}).fetchone()
        if row is None and may_be_new:
            row = (
                scope.path,
                b"",
                RetentionPolicy().half_life_days * 24,
                0,
                0,
                0,
                None,
                None,
                "{}",
            )
        if row is None:
            raise RecordNotFound(
                f"There is no scope {scope.path!r} in {connection.path}. "
                f"Ingest something into it first: symfonic-memory ingest FILE --scope {scope.path}",
                scope=scope.path,
            )
        self._state = to_state(row)

    @property
    def state(self) -> ScopeState:
        return self._state

    def visible_salts(self) -> list[bytes]:
        found = dict(self._db.rows("get_salts", {"scopes": self._visible}))
        return [found[path] for path in self._order if path in found]

    def pending(
        self, phase: str, *, until: datetime, cap: int, without: Sequence[str] = ()
    ) -> tuple[list[PendingRow], int]:
        bound: dict[str, Any] = {
            "scope": self._path, "phase": phase, "until": to_microseconds(until),
            "without": array(without),
        }  # fmt: skip
        total: int = self._db.execute("count_pending", bound).fetchone()[0]
        if not total:
            return [], 0
        cap = min(cap, LARGEST)
        bound |= {"oldest": cap // 2, "newest": cap - cap // 2}
        rows = self._db.rows("get_pending", bound)
        return [PendingRow(phase=phase, record=r[0], stamp=r[1]) for r in sorted(rows)], total

    def records(self, ids: Sequence[str]) -> list[Record]:
        if not ids:
            return []
        rows = self._db.rows("get_records", {"scopes": self._visible, "ids": array(ids)})
        return [to_record(row) for row in rows]

    def before(
        self, episodes: Sequence[Record], *, count: int, with_calls: bool = False
    ) -> dict[RecordId, list[Record]]:
        found: dict[RecordId, list[Record]] = {episode.id: [] for episode in episodes}
        span = CONTEXT_SPAN if with_calls else count
        asked = [
            [e.id, e.session, e.position, e.position - span]
            for e in episodes
            if e.session is not None and e.position is not None
        ]
        if not asked or not count:
            return found
        bound = {"scope": self._path, "episodes": array(asked), "with_calls": int(with_calls)}
        for row in self._db.rows("get_before", bound):
            found[row[0]].append(to_record(row[1:]))
        for episode, records in found.items():
            records.sort(key=lambda r: (r.position or 0, r.id))
            found[episode] = records[-count:]
        return found

    def links(
        self,
        ids: Sequence[str],
        *,
        kinds: Sequence[LinkKind],
        direction: Literal["out", "in"],
        per_record: int,
    ) -> list[Link]:
        if not ids:
            return []
        bound: dict[str, Any] = {"scope": self._path, "ids": array(ids), "kinds": array(kinds)}
        if direction == "in":
            bound["per_record"] = min(per_record, LARGEST)
        links = [to_link(row) for row in self._db.rows(f"links_{direction}", bound)]
        links.sort(key=lambda k: (k.at, k.source, k.kind, k.target), reverse=True)
        taken: dict[str, int] = {}
        kept = []
        for link in links:
            end = link.source if direction == "out" else link.target
            taken[end] = taken.get(end, 0) + 1
            if taken[end] <= per_record:
                kept.append(link)
        kept.sort(key=lambda k: (-to_microseconds(k.at), k.source, k.kind, k.target))
        return kept

    def degrees(self, ids: Sequence[str], *, kinds: Sequence[LinkKind]) -> dict[RecordId, int]:
        found = dict.fromkeys((RecordId(i) for i in ids), 0)
        bound = {
            "scope": self._path, "ids": array(ids), "kinds": array(kinds), "cap": DEGREE_CAP,
        }  # fmt: skip
        for name in ("degrees_out", "degrees_in"):
            for record, count in self._db.rows(name, bound):
                found[record] += count or 0
        return found

    def seen(self, reader: str, episodes: Sequence[str]) -> list[Seen]:
        bound = {"scope": self._path, "reader": reader, "episodes": array(episodes)}
        return [to_seen(row) for row in self._db.rows("get_seen", bound)]

    def tally(
        self,
        reader: str,
        keys: Sequence[str],
        *,
        since: datetime,
        until: datetime,
        least_score: float,
        also: Sequence[Seen],
    ) -> list[Tally]:
        if not keys:
            return []
        known = set(keys)
        extra = [
            [s.key, s.episode, s.session, None if s.ok is None else int(s.ok),
             to_microseconds(s.at)]
            for s in also
            if s.key in known and s.score >= least_score and since <= s.at <= until
        ]  # fmt: skip
        bound = {
            "scope": self._path,
            "reader": reader,
            "keys": array(keys),
            "since": to_microseconds(since),
            "until": to_microseconds(until),
            "least_score": least_score,
            "replaced": array(sorted({s.episode for s in also})),
            "also": array(extra),
            "cap": TALLY_CAP,
        }
        return [
            Tally(
                key=key, episodes=episodes, sessions=sessions, successes=successes,
                failures=sessions - successes, first_at=from_microseconds(first),
                last_at=from_microseconds(last),
            )
            for key, episodes, sessions, successes, first, last in self._numbers(
                "tally_seen", bound
            )
        ]  # fmt: skip

    def sightings(
        self, reader: str, keys: Sequence[str], *, since: datetime, until: datetime, per_key: int
    ) -> list[Seen]:
        if not keys:
            return []
        bound = {
            "scope": self._path,
            "reader": reader,
            "keys": array(keys),
            "since": to_microseconds(since),
            "until": to_microseconds(until),
            "per_key": min(per_key, LARGEST),
        }
        return [to_seen(row) for row in self._db.rows("get_sightings", bound)]

    def uses(self, ids: Sequence[str], *, until: datetime, per_record: int) -> list[Use]:
        if not ids:
            return []
        moment = to_microseconds(until)
        bound = {
            "scope": self._path,
            "ids": array(ids),
            "until": moment // HOUR,
            "cap": min(per_record, LARGEST),
        }
        found = [
            Use(record=r[0], hour=r[1], kind=r[2], weight=r[3], spread_weight=r[4])
            for r in self._numbers("get_uses", bound)
        ]
        bound["until"] = moment
        for record, mentions in self._numbers("get_mention_uses", bound):
            hours: Counter[int] = Counter()
            for at, count in json.loads(mentions):
                hours[at // HOUR] += count
            found += [
                Use(record=record, hour=hour, kind="mention", weight=float(count))
                for hour, count in hours.items()
            ]
        return found

    def windows(self, windows: Sequence[Window], *, length: int, until: datetime) -> list[Sighting]:
        bound: dict[str, Any] = {
            "scope": self._path, "windows": array(windows), "length": length,
            "until": to_microseconds(until),
        }  # fmt: skip
        return [
            Sighting(session=row[0], position=row[1], link=to_link(row[2:]))
            for row in self._db.rows("get_windows", bound)
        ]

    def kept_windows(self, reader: str, windows: Sequence[Window]) -> list[Seen]:
        bound = {"scope": self._path, "reader": reader, "windows": array(windows)}
        return [to_seen(row) for row in self._db.rows("kept_windows", bound)]

    def shared_windows(
        self,
        reader: str,
        pairs: Sequence[tuple[str, str]],
        *,
        without: Sequence[Window],
        most: int,
    ) -> dict[tuple[str, str], Shared]:
        return count_shared(self._db, self._path, reader, pairs, without=without, most=most)

    def window_counts(
        self, reader: str, keys: Sequence[str], *, without: Sequence[Window], most: int
    ) -> dict[str, int]:
        return count_windows(self._db, self._path, reader, keys, without=without, most=most)

    def expiring(self, rule: ExpiryRule, *, limit: int) -> tuple[list[Record], int]:
        before = to_microseconds(rule.before)
        bound = {
            "scope": self._path, "phase": rule.phase, "before": before,
            "before_hour": before // HOUR, "weaker_than": rule.weaker_than,
            "count": min(max(limit, 1), LARGEST), "most": min(EXPIRING_CAP, LARGEST),
        }  # fmt: skip
        rows = self._db.rows(f"expiring_{rule.name}", bound)
        found = [to_record(row) for row in rows]
        return found[:limit], rows[0][18] if rows else 0

    def uncondensed(self, *, before: datetime, limit: int) -> tuple[list[Record], int]:
        bound = {"scope": self._path, "before": to_microseconds(before)}
        total: int = self._db.execute("count_uncondensed", bound).fetchone()[0]
        if not total:
            return [], 0
        rows = self._db.rows("get_uncondensed", {**bound, "count": min(limit, LARGEST)})
        return [to_record(row) for row in rows], total

    def answers(self, questions: Sequence[str]) -> dict[str, Plain]:
        rows = self._db.rows("get_answers", {"scope": self._path, "questions": array(questions)})
        return {str(key): json.loads(str(body)) for key, body in rows if body is not None}

    def undone(self, phase: str, ids: Sequence[str]) -> dict[str, int]:
        bound = {"scope": self._path, "phase": phase, "ids": array(ids)}
        return dict(self._numbers("undone_groups", bound))

    def undone_sources(self, phase: str) -> list[RecordId]:
        rows = self._db.rows("undone_sources", {"scope": self._path, "phase": phase})
        return sorted(RecordId(str(row[0])) for row in rows)

    def search(
        self,
        terms: Sequence[str],
        *,
        kinds: Sequence[Kind],
        limit: int,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Hit]:
        if not terms or not kinds:
            return []
        return search(
            self._db, self._order, terms,
            kinds=kinds, limit=min(limit, LARGEST), stored=self.told_count(), since=since,
            until=until,
        )  # fmt: skip

    def neighbours(self, episodes: Sequence[Record], *, distance: int) -> list[Record]:
        asked = [
            [e.scope, e.session, e.position - distance, e.position + distance]
            for e in episodes
            if e.scope in self._order and e.session is not None and e.position is not None
        ]
        given = {episode.id for episode in episodes}
        rows = self._db.rows("get_neighbours", {"episodes": array(asked)})
        found = {record.id: record for record in map(to_record, rows)}
        return [found[i] for i in sorted(found) if i not in given]

    def list_records(
        self, *, kinds: Sequence[Kind], status: str | None = None, limit: int
    ) -> list[Record]:
        bound = {
            "scope": self._path, "kinds": array(kinds), "status": status,
            "count": min(limit, LARGEST),
        }  # fmt: skip
        return [to_record(row) for row in self._db.rows("list_records", bound)]

    def records_within(
        self, *, kinds: Sequence[Kind], since: datetime | None, until: datetime | None, limit: int
    ) -> list[Record]:
        bound = {
            "scopes": self._visible, "kinds": array(kinds), "count": min(limit, LARGEST),
            "since": -LARGEST if since is None else to_microseconds(since),
            "until": LARGEST if until is None else to_microseconds(until),
        }  # fmt: skip
        return [to_record(row) for row in self._db.rows("records_within", bound)]

    def embedder(self) -> EmbedderIdentity | None:
        return embedder_of(self._db, self._path)

    def unembedded(self, *, limit: int) -> list[Record]:
        bound = {"scope": self._path, "count": min(limit, LARGEST)}
        return [to_record(row) for row in self._db.rows("list_unembedded", bound)]

    def vector_counts(self) -> tuple[int, int]:
        row = self._db.execute("count_vectors", {"scope": self._path}).fetchone()
        return int(row[0]), int(row[1])

    def nearest(
        self,
        vector: bytes,
        identity: EmbedderIdentity,
        *,
        kinds: Sequence[Kind],
        limit: int,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Hit]:
        return self._vectors.nearest(
            self._db, self._order, vector, identity,
            kinds=kinds, limit=limit, since=since, until=until,
        )  # fmt: skip

    def similarities(
        self, vector: bytes, identity: EmbedderIdentity, ids: Sequence[str]
    ) -> dict[RecordId, float]:
        return self._vectors.similarities(self._db, self._order, vector, identity, ids)

    @property
    def connection(self) -> Connection:
        """The snapshot's connection, for the store's own export."""
        return self._db

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        return dict(self._numbers("known_states", {"scope": self._path, "ids": array(ids)}))

    def all_records(self) -> list[RecordId]:
        rows = self._db.rows("all_records", {"scope": self._path})
        return [RecordId(str(row[0])) for row in rows]

    def told_count(self) -> int:
        found: int = self._db.execute("told_count", {"scopes": self._visible}).fetchone()[0]
        return found

    def ids_like(self, beginning: str) -> list[RecordId]:
        bound = {"scope": self._path, "from": beginning, "to": beginning + "g"}
        return [RecordId(str(row[0])) for row in self._db.rows("ids_like", bound)]

    def session_episodes(self, session: str) -> list[RecordId]:
        rows = self._db.rows("records_where", {"scope": self._path, "session": session})
        return [RecordId(str(row[0])) for row in rows]

    def run(self, number: int) -> RunRow:
        row = self._db.execute("get_run", {"scope": self._path, "number": number}).fetchone()
        if row is None:
            raise RecordNotFound(
                f"There is no run {self._path}#{number}. 'symfonic-memory runs' lists them.",
                run=f"{self._path}#{number}",
            )
        return to_run(row)

    def runs(self, *, limit: int) -> list[RunRow]:
        bound = {"scope": self._path, "count": min(limit, LARGEST)}
        return [to_run(row) for row in self._db.rows("list_runs", bound)]

    def as_of(self, rows: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], Record]:
        found: dict[tuple[str, str, int], Record] = {}
        for scope in self._order:
            wanted = [(i, version) for path, i, version in rows if path == scope]
            for record in records_as_of(self._db, scope, wanted):
                found[scope, record.id, record.version] = record
        return found

    def unslept(self, *, until: datetime) -> Iterator[datetime]:
        deep = {"scope": self._path, "kind": "deep"}
        slept: list[tuple[int, int]] = []
        for counter, clock in self._numbers("run_clocks", deep):
            if not slept or clock > slept[-1][1]:
                slept.append((counter, clock))
        bound = {
            "scope": self._path, "until": to_microseconds(until), "slept": array(slept),
            "states": array(READABLE_STATES),
        }  # fmt: skip
        for (at,) in self._db.execute("unslept_episodes", bound):
            yield from_microseconds(at)

    def held(self) -> RunRow | None:
        row = self._db.execute("held_run", {"scope": self._path}).fetchone()
        return None if row is None else to_run(row)

    def journal(self, run: int) -> list[JournalRow]:
        return [
            to_journal(r) for r in self._db.rows("get_changes", {"scope": self._path, "run": run})
        ]

    def dependents(self, run: int, groups: Sequence[str]) -> list[tuple[int, str]]:
        chosen = set(groups)
        mine = [
            row for row in self.journal(run)
            if row.undone_by is None and str(row.change.group) in chosen
        ]  # fmt: skip
        created = {
            str(row.change.row[0]) for row in mine
            if row.change.table == "record" and row.change.operation == "add"
        }  # fmt: skip
        edited: dict[str, set[str]] = {}
        links = set()
        for row in mine:
            if row.change.table == "record" and not row.change.derived:
                edited.setdefault(str(row.change.row[0]), set()).update(row.change.after)
            elif row.change.table == "link":
                links.add(row.change.row)
        firsts = sorted({str(row.change.row[0]) for row in mine})
        bound = {"scope": self._path, "ids": array(sorted({*firsts, *created})), "run": run}
        found: set[tuple[int, str]] = set()
        for later in self._numbers("later_changes", bound):
            group = f"{later[1]}/{later[2]}/{later[3]}"
            if later[0] == run and group in chosen:
                continue
            if later[0] == run and not _names(later, created):
                continue
            if _builds_on(later, created=created, edited=edited, links=links):
                found.add((later[0], group))
        return sorted(found)

    def stats(self) -> dict[str, Any]:
        counts: dict[str, dict[str, int]] = {}
        for kind, state, count in self._numbers("count_records", {"scope": self._path}):
            counts.setdefault(kind, {})[state] = count
        far = LARGEST
        pending = {
            phase: self._db.execute(
                "count_pending",
                {"scope": self._path, "phase": phase, "until": far, "without": "[]"},
            ).fetchone()[0]
            for (phase,) in self._numbers("pending_phases", {"scope": self._path})
        }
        return {
            "scope": self._path,
            "records": counts,
            "visible": self._state.visible,
            "links": self._db.execute("count_links", {"scope": self._path}).fetchone()[0],
            "pending": pending,
            "runs": self._state.run_count,
            "half_life_hours": self._state.half_life_hours,
        }

    def _numbers(self, name: str, bound: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._db.rows(name, bound)


def _names(later: tuple[Any, ...], created: set[str]) -> bool:
    return any(part in created for part in json.loads(later[6]))


def _builds_on(
    later: tuple[Any, ...],
    *,
    created: set[str],
    edited: dict[str, set[str]],
    links: set[tuple[str | int, ...]],
) -> bool:
    """Whether a later change needs an earlier one to stand. Derived changes never do."""
    _, _, _, _, operation, relation, row_text, after_text = later
    row = tuple(json.loads(row_text))
    if relation == "use":
        return False
    if relation == "link":
        return row in links or row[0] in created or row[2] in created
    columns = set(json.loads(after_text))
    if operation == "edit" and columns <= {"strength"}:
        return False
    return row[0] in created or bool(columns & edited.get(row[0], set()))


def to_state(row: tuple[Any, ...]) -> ScopeState:
    """A scope's state from its row."""
    return ScopeState(
        path=row[0], salt=row[1], half_life_hours=row[2], visible=row[3], counter=row[4],
        run_count=row[5], last_clock=None if row[6] is None else from_microseconds(row[6]),
        deep_clock=None if row[7] is None else from_microseconds(row[7]),
        settings=json.loads(row[8]),
    )  # fmt: skip
