"""What a phase sees: set-based lookups with the run's earlier changes folded in.

The view answers from one snapshot and writes down what it hands out: rows named by id and
version are the run's *input*, re-checked at commit, and their content is digested on the way, so
that equal inputs are known to be equal. It gives no row whose effective time lies after ``now``.

Every lookup takes a set of keys and costs one statement. None returns all rows of a key: counts
are aggregated in the store and histories are capped, so a night costs what changed.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal

from symfonic.capabilities.memory.records import (
    DERIVED_KINDS,
    Link,
    Record,
    RecordId,
    Seen,
    Use,
    canonical,
    from_columns,
    from_microseconds,
    identify,
    to_columns,
    to_microseconds,
)
from symfonic.capabilities.memory.store import WINDOW_LENGTH, Sighting

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.collaborators import Question
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.readers import ViewReader
    from symfonic.capabilities.memory.records import Kind, LinkKind, Plain, Tally
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.store import ExpiryRule, Shared, Window

_BARE: Final = frozenset({"state", "strength"})
"""Columns that are the field itself, and that most edits change alone."""

RESTING: Final = frozenset({"evidence", "summarises", "part_of"})
"""Links by which one record rests on another: what a visible record rests on is not archived."""

_HOUR: Final = 3_600_000_000


class View:
    """One pass's window on memory. Lookups return values in a fixed order, never by row order.

    ``spread_since`` is the start of the window in which uses still spread to neighbours; it is
    fixed for a whole sleep. ``touching`` names the phases for which a mention link makes its target
    unread, and ``mentioning`` those for which it makes its source unread. ``spent`` counts per
    phase the drafts that earlier passes of the same sleep have added.
    """

    def __init__(
        self,
        reader: ViewReader,
        *,
        now: datetime,
        retention: RetentionPolicy,
        limits: RunLimits,
        spread_since: datetime,
        unread: Mapping[str, Sequence[RecordId]],
        touching: Container[str] = frozenset(),
        mentioning: Container[str] = frozenset(),
        fresh: Mapping[str, Sequence[Seen]],
        spent: Mapping[str, int],
        answers: Mapping[str, Plain],
    ) -> None:
        self.now = now
        self.retention = retention
        self.limits = limits
        self.spread_since = spread_since
        self.spent = spent
        self._reader = reader
        self._state = reader.state
        self._unread = unread
        self._touching = touching
        self._mentioning = mentioning
        self._fresh = fresh
        self._answers = answers
        self._records: dict[RecordId, Record] = {}
        self._loaded: dict[RecordId, Record] = {}
        self._digested: dict[RecordId, Record] = {}
        self._loaded_uses: dict[RecordId, dict[tuple[int, str], Use]] = {}
        self._links: dict[tuple[str | int, ...], Link | None] = {}
        self._uses: dict[tuple[str | int, ...], Use] = {}
        self._touched: set[RecordId] = set()
        self._sources: set[RecordId] = set()
        self._handed: dict[tuple[str, ...], int] = {}
        self._digest = blake2b(digest_size=16)

    # -- what stands ready without a lookup

    @property
    def scope(self) -> str:
        """The path of the scope this run owns."""
        return self._state.path

    @property
    def half_life_hours(self) -> float:
        """The scope's half-life; all its records fade at this one rate."""
        return self._state.half_life_hours

    def identify(self, kind: Kind, *parts: str) -> RecordId:
        """The id of the derived record of this kind and key in this scope."""
        return identify(self._state.salt, kind, *parts)

    # -- lookups

    def unread(self, phase: str) -> list[Record]:
        """The records this pass takes for ``phase``, oldest first, those touched in it included."""
        ids = list(self._unread.get(phase, ()))
        if phase in self._touching:
            ids = sorted({*ids, *self._touched})
        if phase in self._mentioning:
            ids = sorted({*ids, *self._sources})
        return sorted(self.records(ids).values(), key=lambda r: r.order)

    def fresh(self, reader: str) -> list[Seen]:
        """What ``reader`` found in this pass's unread episodes, in order of time and key."""
        found = sorted(self._fresh.get(reader, ()), key=_seen_order)
        self._note("fresh", [reader], [_seen_described(row) for row in found])
        return found

    def records(self, ids: Iterable[str]) -> dict[RecordId, Record]:
        """Visible records by id, of this scope or an ancestor; a missing one is left out.

        What lies after the clock is not seen, but for what the scope has learnt itself: a walk
        through older history would learn it a second time.
        """
        wanted = [RecordId(i) for i in sorted(set(ids))]
        known = self._records.keys() | self._loaded.keys()
        for record in self._reader.records([i for i in wanted if i not in known]):
            learnt = record.kind in DERIVED_KINDS and record.scope == self.scope
            if learnt or record.at <= self.now:
                self._loaded[record.id] = record
                self._handed[record.id,] = record.version
        both = ((i, self._records.get(i) or self._loaded.get(i)) for i in wanted)
        found = {i: record for i, record in both if record is not None}
        self._note("records", wanted, [self._told(r) for r in found.values()])
        return found

    def by_key(self, kind: Kind, keys: Iterable[str]) -> dict[str, Record]:
        """The derived records of these keys; where scopes differ, the nearest one's.

        An ancestor's entity is linked to and never copied, so it must be found here.
        """
        wanted = sorted(set(keys))
        found: dict[str, Record] = {}
        for salt in self._reader.visible_salts():
            ids = {identify(salt, kind, key): key for key in wanted if key not in found}
            for record in self.records(ids).values():
                found.setdefault(ids[record.id], record)
        return {key: found[key] for key in sorted(found)}

    def links(
        self,
        ids: Iterable[str],
        *,
        kinds: Sequence[LinkKind],
        direction: Literal["out", "in"],
        per_record: int,
    ) -> list[Link]:
        """Links from (``out``) or to (``in``) the records, the newest ``per_record`` of each."""
        wanted = sorted(set(ids))
        rows: dict[tuple[str | int, ...], Link] = {}
        for link in self._reader.links(
            wanted, kinds=kinds, direction=direction, per_record=per_record
        ):
            rows[link.source, link.kind, link.target] = link
            self._handed[link.source, link.kind, link.target] = link.version
        known = set(wanted)
        for row, folded in self._links.items():
            end = row[0] if direction == "out" else row[2]
            if end not in known or row[1] not in kinds:
                continue
            if folded is None:
                rows.pop(row, None)
            else:
                rows[folded.source, folded.kind, folded.target] = folded
        ordered = sorted(rows.values(), key=lambda k: (k.source, k.kind, k.target))
        asked = [*wanted, *kinds, direction, str(per_record)]
        self._note("links", asked, [_link_described(link) for link in ordered])
        return ordered

    def degrees(self, ids: Iterable[str], *, kinds: Sequence[LinkKind]) -> dict[RecordId, int]:
        """The summed counts of each record's links, both ways; association divides by them."""
        wanted = sorted(set(ids))
        found = dict.fromkeys((RecordId(i) for i in wanted), 0)
        found |= self._reader.degrees(wanted, kinds=kinds)
        for row, folded in self._links.items():
            if folded is not None and row[1] in kinds:
                for end in (folded.source, folded.target):
                    if end in found:
                        found[end] += folded.count
        self._note("degrees", [*wanted, *kinds], found)
        return found

    def before(
        self, episodes: Sequence[Record], *, count: int, with_calls: bool = False
    ) -> dict[RecordId, list[Record]]:
        """For each episode, the ``count`` ones before it in its session, oldest first."""
        found = self._reader.before(episodes, count=count, with_calls=with_calls)
        for rows in found.values():
            for record in rows:
                self._handed[record.id,] = record.version
        described = {i: [_described(r) for r in rows] for i, rows in sorted(found.items())}
        self._note("before", [str(count)], described)
        return found

    def tally(
        self, reader: str, keys: Iterable[str], *, since: datetime, least_score: float = 0.0
    ) -> dict[str, Tally]:
        """Distinct episodes and sessions per key since a time, this pass's readings counted in."""
        wanted = sorted(set(keys))
        rows = self._reader.tally(
            reader,
            wanted,
            since=since,
            until=self.now,
            least_score=least_score,
            also=list(self._fresh.get(reader, ())),
        )
        found = {row.key: row for row in sorted(rows, key=lambda r: r.key)}
        self._note(
            "tally",
            [reader, *wanted, str(to_microseconds(since)), str(least_score)],
            [_tally_described(row) for row in found.values()],
        )
        return found

    def sightings(
        self, reader: str, keys: Iterable[str], *, since: datetime, per_key: int
    ) -> dict[str, list[Seen]]:
        """The newest ``per_key`` sightings of each key, oldest first, this pass's counted in."""
        wanted = sorted(set(keys))
        rows = {
            (row.episode, row.key): row
            for row in self._reader.sightings(
                reader, wanted, since=since, until=self.now, per_key=per_key
            )
        }
        known = set(wanted)
        for row in self._fresh.get(reader, ()):
            if row.key in known and since <= row.at <= self.now:
                rows[row.episode, row.key] = row
        found: dict[str, list[Seen]] = {}
        for row in sorted(rows.values(), key=_seen_order):
            found.setdefault(row.key, []).append(row)
        found = {key: found[key][-per_key:] for key in sorted(found)}
        self._note(
            "sightings",
            [reader, *wanted, str(to_microseconds(since)), str(per_key)],
            [_seen_described(row) for rows_of in found.values() for row in rows_of],
        )
        return found

    def uses(self, ids: Iterable[str]) -> dict[RecordId, list[Use]]:
        """Each record's latest ``uses_per_record`` uses by hour, mention links counted in."""
        wanted = [RecordId(i) for i in sorted(set(ids))]
        cap = self.limits.uses_per_record
        self._load_uses(wanted)
        rows = {i: self._loaded_uses[i] for i in wanted}
        for i, folded in self._folded_uses(rows).items():
            both = rows[i] | folded
            rows[i] = {row: both[row] for row in sorted(both)}
        found = {i: list(of_one.values())[-cap:] for i, of_one in rows.items()}
        described = [
            [i, *(part for u in uses for part in (u.hour, u.kind, u.weight, u.spread_weight))]
            for i, uses in found.items()
        ]
        self._note("uses", [*wanted, str(cap)], described)
        return found

    def windows(self, windows: Iterable[Window]) -> dict[Window, list[Sighting]]:
        """The mentions in each window, this run's counted in; by position, then entity.

        A window without a mention is left out.
        """
        wanted = sorted(set(windows))
        found: dict[Window, list[Sighting]] = {}
        seen: set[tuple[str | int, ...]] = set()
        for row in self._reader.windows(wanted, length=WINDOW_LENGTH, until=self.now):
            link = row.link
            self._handed[link.source, link.kind, link.target] = link.version
            key: tuple[str | int, ...] = (link.source, link.kind, link.target)
            seen.add(key)
            folded = self._links.get(key, link)
            if folded is not None:
                window = (row.session, row.position // WINDOW_LENGTH)
                same = row if folded is link else replace(row, link=folded)
                found.setdefault(window, []).append(same)
        known = set(wanted)
        for key, folded in self._links.items():
            if folded is None or folded.kind != "mentions" or key in seen:
                continue
            episode = self._records.get(folded.source) or self._loaded.get(folded.source)
            place_of = None if episode is None else window_of(episode)
            if episode is not None and place_of is not None and place_of in known:
                row = Sighting(session=place_of[0], position=episode.position or 0, link=folded)
                found.setdefault(place_of, []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: (row.position, row.link.source, row.link.target))
        found = {window: found[window] for window in sorted(found)}
        described = [
            [
                *window,
                *(part for row in rows for part in (row.position, *_link_described(row.link))),
            ]
            for window, rows in found.items()
        ]
        self._note("windows", [str(part) for window in wanted for part in window], described)
        return found

    def kept_windows(self, reader: str, windows: Iterable[Window]) -> list[Seen]:
        """The rows that ``reader`` has kept about these windows."""
        wanted = sorted(set(windows))
        found = sorted(self._reader.kept_windows(reader, wanted), key=_window_order)
        self._note(
            "kept_windows",
            [reader, *(str(part) for window in wanted for part in window)],
            [_seen_described(row) for row in found],
        )
        return found

    def shared_windows(
        self, reader: str, pairs: Iterable[tuple[str, str]], *, without: Iterable[Window], most: int
    ) -> dict[tuple[str, str], Shared]:
        """In how many kept windows both keys of a pair stand, ``without`` these, and how late.

        Of the key with fewer windows the newest ``most`` are looked at: a hub costs no more. A pair
        without one is left out.
        """
        asked, left_out = sorted(set(pairs)), sorted(set(without))
        found = self._reader.shared_windows(reader, asked, without=left_out, most=most)
        self._note(
            "shared_windows",
            [reader, str(most)],  # the pairs follow from what was handed out before
            [
                [found[pair].count, to_microseconds(found[pair].at)] if pair in found else 0
                for pair in asked
            ],
        )
        return found

    def window_counts(
        self, reader: str, keys: Iterable[str], *, without: Iterable[Window], most: int
    ) -> dict[str, int]:
        """In how many kept windows each key stands, ``without`` these, up to ``most``."""
        asked, left_out = sorted(set(keys)), sorted(set(without))
        found = self._reader.window_counts(reader, asked, without=left_out, most=most)
        self._note("window_counts", [reader, str(most), *asked], found)
        return found

    def expiring(self, rule: ExpiryRule, *, limit: int) -> tuple[list[Record], int]:
        """What a rule says is due to be archived, longest due first, and how much there is in all.

        A record that this run has changed, mentioned or built on is left for a later pass, which
        the store can judge anew: it is counted, so that there is one.
        """
        busy = self._records.keys() | self._touched | self._supporting()
        found, total = self._reader.expiring(rule, limit=limit + len(busy))
        kept = [record for record in found if record.id not in busy][:limit]
        for record in kept:
            self._loaded.setdefault(record.id, record)
            self._handed[record.id,] = record.version
        self._note(
            "expiring",
            [rule.name, str(to_microseconds(rule.before)), str(rule.weaker_than), str(limit)],
            [total, [_described(record) for record in kept]],
        )
        return kept, total

    def uncondensed(self, phase: str, *, before: datetime, limit: int) -> tuple[list[Record], int]:
        """The oldest active episodes from before a time, and how many there are in all.

        Sources of a group of ``phase`` that a person undid are left out: a phase that is driven by
        state would otherwise propose it again the next night.
        """
        left_out = set(self._reader.undone_sources(phase))
        found, total = self._reader.uncondensed(before=before, limit=limit + len(left_out))
        folded = [self._records.get(record.id, record) for record in found]
        kept = [r for r in folded if r.id not in left_out and r.state == "active"]
        kept = sorted(kept, key=lambda r: r.order)[:limit]
        for record in kept:
            self._loaded.setdefault(record.id, record)
            self._handed[record.id,] = record.version
        undone = self._reader.records(sorted(left_out))
        total -= sum(r.kind == "episode" and r.state == "active" and r.at < before for r in undone)
        self._note(
            "uncondensed",
            [str(to_microseconds(before)), str(limit)],
            [total, [_described(r) for r in kept]],
        )
        return kept, total

    def answer(self, question: Question) -> Plain:
        """The answer to a question the phase asked, or ``None`` where there is none."""
        found = self._answers.get(question.key)
        self._note("answer", [question.key], found)
        return found

    # -- the engine's side

    def fold(self, changes: Iterable[Change]) -> None:
        """Let later lookups see these changes. What they build on is loaded in one statement."""
        edited = [
            str(c.row[0])
            for c in changes
            if c.table == "record" and c.operation == "edit" and c.row[0] not in self._records
        ]
        unseen = sorted(set(edited) - self._loaded.keys())
        stored = {**self._loaded, **{r.id: r for r in self._reader.records(unseen)}}
        self._load_uses(sorted({RecordId(str(c.row[0])) for c in changes if c.table == "use"}))
        for change in changes:
            match change.table:
                case "record":
                    self._fold_record(change, stored)
                case "link":
                    self._fold_link(change)
                case "use":
                    self._fold_use(change)

    def input_digest(self, header: object) -> str:
        """The digest of ``header`` and of everything handed out so far."""
        digest = self._digest.copy()
        digest.update(canonical(header).encode())
        return digest.hexdigest()

    @property
    def handed_out(self) -> tuple[tuple[str | int, ...], ...]:
        """The rows that the run was planned from, each with its version, in order."""
        return tuple((*row, self._handed[row]) for row in sorted(self._handed))

    @property
    def touched(self) -> frozenset[RecordId]:
        """The own records that changes folded so far point at."""
        return frozenset(self._touched)

    # -- private

    def _fold_record(self, change: Change, stored: Mapping[RecordId, Record]) -> None:
        row = RecordId(str(change.row[0]))
        if change.operation == "add":
            self._records[row] = from_columns(change.after, id=row, scope=self.scope)
            return
        known = self._records.get(row) or stored[row]
        if _BARE.issuperset(change.after):
            self._records[row] = replace(known, **change.after)  # type: ignore[arg-type]
            return
        if (
            "occurred_at" in change.after
        ):  # its first use moved: its strength is to be computed anew
            self._touched.add(row)
        columns = {**to_columns(known), **change.after}
        self._records[row] = from_columns(
            columns, id=row, scope=known.scope, version=known.version, seq=known.seq
        )

    def _fold_link(self, change: Change) -> None:
        source, kind, target = (str(part) for part in change.row)
        if change.operation == "remove":
            self._links[change.row] = None
            return
        self._links[change.row] = Link(
            source=RecordId(source),
            kind=kind,  # type: ignore[arg-type]
            target=RecordId(target),
            count=int(change.after["count"]),  # type: ignore[arg-type]
            at=from_microseconds(int(change.after["at"])),  # type: ignore[arg-type]
        )
        if kind == "mentions":
            self._touched.add(RecordId(target))
            self._sources.add(RecordId(source))

    def _fold_use(self, change: Change) -> None:
        record, hour, kind = RecordId(str(change.row[0])), int(change.row[1]), change.row[2]
        stored = self._loaded_uses[record].get((hour, str(kind)))
        known = self._uses.get(change.row) or stored or Use(
            record=record, hour=hour, kind=kind, weight=0.0  # type: ignore[arg-type]
        )  # fmt: skip
        if change.operation == "add":
            known = replace(known, weight=known.weight + float(change.after["weight"]))  # type: ignore[arg-type]
        else:
            known = replace(known, spread_weight=float(change.after["spread_weight"]))  # type: ignore[arg-type]
        self._uses[change.row] = known

    def _load_uses(self, ids: list[RecordId]) -> None:
        """Take the stored uses of these records, by hour and kind, in order."""
        missing = [i for i in ids if i not in self._loaded_uses]
        found: dict[RecordId, dict[tuple[int, str], Use]] = {i: {} for i in missing}
        cap = self.limits.uses_per_record
        for use in self._reader.uses(missing, until=self.now, per_record=cap):
            found[use.record][use.hour, use.kind] = use
        for i, uses in found.items():
            self._loaded_uses[i] = {row: uses[row] for row in sorted(uses)}

    def _folded_uses(self, ids: Container[RecordId]) -> dict[RecordId, dict[tuple[int, str], Use]]:
        """The uses that this run changes; a mention link that it adds counts as one."""
        found: dict[RecordId, dict[tuple[int, str], Use]] = {}
        for use in self._uses.values():
            if use.record in ids:
                found.setdefault(use.record, {})[use.hour, use.kind] = use
        for link in self._links.values():
            if link is None or link.kind != "mentions" or link.target not in ids:
                continue
            row = (to_microseconds(link.at) // _HOUR, "mention")
            uses = found.setdefault(link.target, {})
            old = uses.get(row) or self._loaded_uses[link.target].get(row)
            weight = link.count + (0.0 if old is None else old.weight)
            uses[row] = Use(record=link.target, hour=row[0], kind="mention", weight=weight)
        return found

    def _supporting(self) -> set[RecordId]:
        """What records that this run links rest on."""
        return {
            link.target
            for link in self._links.values()
            if link is not None and link.kind in RESTING
        }

    def _told(self, record: Record) -> Any:  # noqa: ANN401
        """A record for the input digest: its content once, then its id while it stays the same."""
        if self._digested.get(record.id) is record:
            return record.id
        self._digested[record.id] = record
        return _described(record)

    def _note(self, lookup: str, asked: Sequence[str], answer: Any) -> None:  # noqa: ANN401
        self._digest.update(canonical([lookup, list(asked), answer]).encode() + b"\n")


def _described(record: Record) -> list[Any]:
    """A record's content for the input digest: without version, ``seq`` and ``recorded_at``."""
    columns = to_columns(record)
    del columns["recorded_at"]
    return [record.id, record.scope, columns]


def _link_described(link: Link) -> list[Any]:
    return [link.source, link.kind, link.target, link.count, to_microseconds(link.at)]


def _tally_described(row: Tally) -> list[Any]:
    return [
        row.key, row.episodes, row.sessions, row.successes, row.failures,
        to_microseconds(row.first_at), to_microseconds(row.last_at),
    ]  # fmt: skip


def _seen_described(row: Seen) -> list[Any]:
    return [row.episode, row.kind, row.key, row.session, row.ok, row.score, row.body]


def _window_order(row: Seen) -> tuple[str, int, str, str]:
    return (row.session, row.window or 0, row.key, row.episode)


def window_of(episode: Record) -> Window | None:
    """The window an episode stands in: its session, and which stretch of it; none without one."""
    if episode.session is None or episode.position is None:
        return None
    return episode.session, episode.position // WINDOW_LENGTH


def _seen_order(row: Seen) -> tuple[datetime, str, str]:
    return (row.at, row.episode, row.key)
