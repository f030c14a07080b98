"""What the store answered while a run was planned: written down small, and given back for a replay.

The recording is the run's input. It holds no text: rows are named by scope, id and version, keys by
their place among what was asked, and contents come from the store and the journal's before-images
when they are wanted. Recorded contents measured sixteen times the new text. So forgetting has
nothing to erase here, and a replay of what it touched finds that the input is gone.

The questions are not kept. The same phases ask the same ones in the same order, and where they do
not, the digest of the input says so.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import (
    Link,
    RecordId,
    Seen,
    Tally,
    Use,
    canonical,
    from_microseconds,
    to_microseconds,
)
from symfonic.capabilities.memory.store import PendingRow, Shared, Sighting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import LinkKind, Record
    from symfonic.capabilities.memory.store import (
        Direction,
        ExpiryRule,
        MemoryReader,
        ScopeState,
        Window,
    )

FORMAT: Final = 1
"""The shape of a recording; one of another shape cannot be replayed."""

_LEVEL: Final = 1
"""How hard the recording is compressed: harder saves a tenth and takes four times as long."""

RowName = tuple[str, str, int]
"""A record as it once was: its scope, id and version."""


class InputGone(Exception):
    """Something of what a run was planned from is no longer there, or was never recorded."""


class Diverged(Exception):
    """The phases ask something else than they did when the run was planned."""


def sealed(recording: Mapping[str, Any]) -> dict[str, Any]:
    """The recording with a digest of itself, so that a damaged one is told from another input."""
    return {**recording, "seal": _seal(recording)}


def recorded_phases(kept: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """The phases of a recording with their settings; none of one that cannot be replayed."""
    try:
        check_seal(kept)
    except InputGone:
        return ()
    phases: Sequence[Sequence[Any]] = kept.get("phases", ())
    return phases


def check_seal(kept: Mapping[str, Any]) -> None:
    """Raise ``InputGone`` where a recording is not as it was written."""
    if kept.get("format") != FORMAT or "seal" not in kept:
        message = "its input was recorded by another release"
        raise InputGone(message)
    if kept["seal"] != _seal({name: part for name, part in kept.items() if name != "seal"}):
        message = "the recording of its input is damaged"
        raise InputGone(message)


def _seal(recording: Mapping[str, Any]) -> str:
    return blake2b(canonical(dict(recording)).encode(), digest_size=8).hexdigest()


class Recorder:
    """Stands between a snapshot and what is planned from it; one for both snapshots of a pass."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._rows: dict[RowName, int] = {}
        self._calls: list[list[Any]] = []

    def over(self, reader: MemoryReader) -> Recording:
        """A reader that answers as ``reader`` does, and writes down what it answered."""
        return Recording(reader, self)

    def packed(self) -> dict[str, Any]:
        """The recording as plain values, compressed."""
        rows = [[self.name(scope), self.name(i), version] for scope, i, version in self._rows]
        names = list(self._names)
        plain = canonical({"names": names, "rows": rows, "calls": self._calls})
        return {
            "format": FORMAT,
            "calls": b64encode(zlib.compress(plain.encode(), _LEVEL)).decode(),
        }

    def name(self, text: str) -> int:
        """The number of an id."""
        return self._names.setdefault(text, len(self._names))

    def row(self, record: Record) -> int:
        """The number of a record as it is now."""
        key = (record.scope, record.id, record.version)
        return self._rows.setdefault(key, len(self._rows))

    def note(self, lookup: str, answer: Any) -> None:  # noqa: ANN401
        """Write down an answer."""
        self._calls.append([lookup, answer])


class Recording:
    """A snapshot's lookups, written down."""

    def __init__(self, reader: MemoryReader, recorder: Recorder) -> None:
        self._reader = reader
        self._to = recorder

    @property
    def state(self) -> ScopeState:
        return self._reader.state

    def visible_salts(self) -> list[bytes]:
        return self._reader.visible_salts()

    def pending(
        self, phase: str, *, until: datetime, cap: int, without: Sequence[str] = ()
    ) -> tuple[list[PendingRow], int]:
        rows, total = self._reader.pending(phase, until=until, cap=cap, without=without)
        self._to.note("pending", [total, [self._to.name(row.record) for row in rows]])
        return rows, total

    def records(self, ids: Sequence[str]) -> list[Record]:
        return self._records("records", self._reader.records(ids))

    def before(
        self, episodes: Sequence[Record], *, count: int, with_calls: bool = False
    ) -> dict[RecordId, list[Record]]:
        found = self._reader.before(episodes, count=count, with_calls=with_calls)
        self._to.note(
            "before", [[self._to.name(i), list(map(self._to.row, r))] for i, r in found.items()]
        )
        return found

    def links(
        self,
        ids: Sequence[str],
        *,
        kinds: Sequence[LinkKind],
        direction: Direction,
        per_record: int,
    ) -> list[Link]:
        found = self._reader.links(ids, kinds=kinds, direction=direction, per_record=per_record)
        self._to.note("links", [self._link(link) for link in found])
        return found

    def degrees(self, ids: Sequence[str], *, kinds: Sequence[LinkKind]) -> dict[RecordId, int]:
        return self._counts("degrees", self._reader.degrees(ids, kinds=kinds))

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
        found = self._reader.tally(
            reader, keys, since=since, until=until, least_score=least_score, also=also
        )
        place = _places(keys)
        rows = [
            [place[t.key], t.episodes, t.sessions, t.successes, t.failures,
             to_microseconds(t.first_at), to_microseconds(t.last_at)]
            for t in found
        ]  # fmt: skip
        self._to.note("tally", rows)
        return found

    def sightings(
        self, reader: str, keys: Sequence[str], *, since: datetime, until: datetime, per_key: int
    ) -> list[Seen]:
        found = self._reader.sightings(reader, keys, since=since, until=until, per_key=per_key)
        place = _places(keys)
        rows = [[self._to.name(s.episode), s.kind, place[s.key], _print(s)] for s in found]
        self._to.note("sightings", rows)
        return found

    def uses(self, ids: Sequence[str], *, until: datetime, per_record: int) -> list[Use]:
        found = self._reader.uses(ids, until=until, per_record=per_record)
        rows = [[self._to.name(u.record), u.hour, u.kind, u.weight, u.spread_weight] for u in found]
        self._to.note("uses", rows)
        return found

    def windows(self, windows: Sequence[Window], *, length: int, until: datetime) -> list[Sighting]:
        found = self._reader.windows(windows, length=length, until=until)
        place = _places(windows)
        rows = [
            [place[s.session, s.position // length], s.position, self._link(s.link)] for s in found
        ]
        self._to.note("windows", rows)
        return found

    def kept_windows(self, reader: str, windows: Sequence[Window]) -> list[Seen]:
        found = self._reader.kept_windows(reader, windows)
        place = _places(windows)
        rows = [
            [place[s.session, s.window or 0], self._to.name(s.episode), s.kind,
             self._to.name(s.key), to_microseconds(s.at), s.score]
            for s in found
        ]  # fmt: skip
        self._to.note("kept_windows", rows)
        return found

    def shared_windows(
        self,
        reader: str,
        pairs: Sequence[tuple[str, str]],
        *,
        without: Sequence[Window],
        most: int,
    ) -> dict[tuple[str, str], Shared]:
        found = self._reader.shared_windows(reader, pairs, without=without, most=most)
        answer = [
            [found[pair].count, to_microseconds(found[pair].at)] if pair in found else 0
            for pair in pairs
        ]
        self._to.note("shared_windows", answer)
        return found

    def window_counts(
        self, reader: str, keys: Sequence[str], *, without: Sequence[Window], most: int
    ) -> dict[str, int]:
        found = self._reader.window_counts(reader, keys, without=without, most=most)
        return self._counts("window_counts", found)

    def expiring(self, rule: ExpiryRule, *, limit: int) -> tuple[list[Record], int]:
        found, total = self._reader.expiring(rule, limit=limit)
        self._to.note("expiring", [total, [self._to.row(record) for record in found]])
        return found, total

    def uncondensed(self, *, before: datetime, limit: int) -> tuple[list[Record], int]:
        found, total = self._reader.uncondensed(before=before, limit=limit)
        self._to.note("uncondensed", [total, [self._to.row(record) for record in found]])
        return found, total

    def undone_sources(self, phase: str) -> list[RecordId]:
        found = self._reader.undone_sources(phase)
        self._to.note("undone_sources", [self._to.name(i) for i in found])
        return found

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        found = self._reader.states(ids)
        self._to.note("states", [[self._to.name(i), state] for i, state in found.items()])
        return found

    def undone(self, phase: str, ids: Sequence[str]) -> dict[str, int]:
        return self._counts("undone", self._reader.undone(phase, ids))

    # -- private

    def _records(self, lookup: str, found: list[Record]) -> list[Record]:
        self._to.note(lookup, [self._to.row(record) for record in found])
        return found

    def _link(self, link: Link) -> list[Any]:
        return [
            self._to.name(link.source), link.kind, self._to.name(link.target), link.count,
            to_microseconds(link.at), link.version,
        ]  # fmt: skip

    def _counts(self, lookup: str, found: dict[Any, int]) -> dict[Any, int]:
        self._to.note(lookup, [[self._to.name(i), count] for i, count in found.items()])
        return found


class Recorded:
    """A recording that answers again, for the same questions in the same order.

    ``reader`` is of the scope as it is now: salts and readings come from there, and so do records,
    as they were. Raises ``InputGone`` where one of them is not there any more.
    """

    def __init__(
        self, packed: Mapping[str, Any], reader: MemoryReader, *, half_life_hours: float
    ) -> None:
        plain = json.loads(zlib.decompress(b64decode(packed["calls"])))
        self._names: list[str] = plain["names"]
        self._calls: list[list[Any]] = plain["calls"]
        self._next = 0
        self._reader = reader
        self._half_life_hours = half_life_hours
        names = [(self._names[scope], self._names[i], v) for scope, i, v in plain["rows"]]
        there = reader.as_of(names)
        missing = [i for (scope, i, version) in names if (scope, i, version) not in there]
        if missing:
            message = f"{len(missing)} of its records are not there any more as they were"
            raise InputGone(message)
        self._rows = [there[name] for name in names]

    @property
    def is_used_up(self) -> bool:
        """Whether everything that was asked then was asked again."""
        return self._next == len(self._calls)

    @property
    def state(self) -> ScopeState:
        return replace(self._reader.state, half_life_hours=self._half_life_hours)

    def visible_salts(self) -> list[bytes]:
        return self._reader.visible_salts()

    def pending(
        self, phase: str, *, until: datetime, cap: int, without: Sequence[str] = ()
    ) -> tuple[list[PendingRow], int]:
        total, rows = self._answer("pending")
        return [PendingRow(phase=phase, record=self._id(r), stamp=0) for r in rows], total

    def records(self, ids: Sequence[str]) -> list[Record]:
        return self._records(self._answer("records"))

    def before(
        self, episodes: Sequence[Record], *, count: int, with_calls: bool = False
    ) -> dict[RecordId, list[Record]]:
        return {self._id(i): self._records(rows) for i, rows in self._answer("before")}

    def links(
        self,
        ids: Sequence[str],
        *,
        kinds: Sequence[LinkKind],
        direction: Direction,
        per_record: int,
    ) -> list[Link]:
        return [self._link(row) for row in self._answer("links")]

    def degrees(self, ids: Sequence[str], *, kinds: Sequence[LinkKind]) -> dict[RecordId, int]:
        return {self._id(i): count for i, count in self._answer("degrees")}

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
        return [
            Tally(
                key=_at(keys, row[0]), episodes=row[1], sessions=row[2], successes=row[3],
                failures=row[4], first_at=from_microseconds(row[5]),
                last_at=from_microseconds(row[6]),
            )
            for row in self._answer("tally")
        ]  # fmt: skip

    def sightings(
        self, reader: str, keys: Sequence[str], *, since: datetime, until: datetime, per_key: int
    ) -> list[Seen]:
        rows = [(self._id(e), k, _at(keys, key), p) for e, k, key, p in self._answer("sightings")]
        there = {
            (seen.episode, seen.kind, seen.key): seen
            for seen in self._reader.seen(reader, sorted({row[0] for row in rows}))
        }
        found = []
        for episode, kind, key, said in rows:
            seen = there.get((episode, kind, key))
            if seen is None or _print(seen) != said:
                message = f"what was read in {episode} has been read anew since"
                raise InputGone(message)
            found.append(seen)
        return found

    def uses(self, ids: Sequence[str], *, until: datetime, per_record: int) -> list[Use]:
        return [
            Use(record=self._id(r), hour=hour, kind=kind, weight=weight, spread_weight=spread)
            for r, hour, kind, weight, spread in self._answer("uses")
        ]

    def windows(self, windows: Sequence[Window], *, length: int, until: datetime) -> list[Sighting]:
        return [
            Sighting(session=_at(windows, w)[0], position=position, link=self._link(link))
            for w, position, link in self._answer("windows")
        ]

    def kept_windows(self, reader: str, windows: Sequence[Window]) -> list[Seen]:
        return [
            Seen(
                episode=self._id(episode), reader=reader, kind=kind, key=self._names[key],
                session=_at(windows, w)[0], window=_at(windows, w)[1],
                at=from_microseconds(at), score=score,
            )
            for w, episode, kind, key, at, score in self._answer("kept_windows")
        ]  # fmt: skip

    def shared_windows(
        self,
        reader: str,
        pairs: Sequence[tuple[str, str]],
        *,
        without: Sequence[Window],
        most: int,
    ) -> dict[tuple[str, str], Shared]:
        counts = self._answer("shared_windows")
        if len(counts) != len(pairs):
            raise Diverged
        return {
            pair: Shared(count=found[0], at=from_microseconds(found[1]))
            for pair, found in zip(pairs, counts, strict=True)
            if found
        }

    def window_counts(
        self, reader: str, keys: Sequence[str], *, without: Sequence[Window], most: int
    ) -> dict[str, int]:
        return {self._names[i]: count for i, count in self._answer("window_counts")}

    def expiring(self, rule: ExpiryRule, *, limit: int) -> tuple[list[Record], int]:
        total, rows = self._answer("expiring")
        return self._records(rows), total

    def uncondensed(self, *, before: datetime, limit: int) -> tuple[list[Record], int]:
        total, rows = self._answer("uncondensed")
        return self._records(rows), total

    def undone_sources(self, phase: str) -> list[RecordId]:
        return [self._id(i) for i in self._answer("undone_sources")]

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        return {self._names[i]: state for i, state in self._answer("states")}

    def undone(self, phase: str, ids: Sequence[str]) -> dict[str, int]:
        return {self._names[i]: count for i, count in self._answer("undone")}

    # -- private

    def _answer(self, lookup: str) -> Any:  # noqa: ANN401
        if self.is_used_up or self._calls[self._next][0] != lookup:
            raise Diverged
        self._next += 1
        return self._calls[self._next - 1][1]

    def _id(self, number: int) -> RecordId:
        return RecordId(self._names[number])

    def _records(self, rows: Iterable[int]) -> list[Record]:
        return [self._rows[row] for row in rows]

    def _link(self, row: list[Any]) -> Link:
        source, kind, target, count, at, version = row
        return Link(
            source=self._id(source), kind=kind, target=self._id(target), count=count,
            at=from_microseconds(at), version=version,
        )  # fmt: skip


def _places(keys: Sequence[Any]) -> dict[Any, int]:
    return {key: place for place, key in enumerate(keys)}


def _at(keys: Sequence[Any], place: int) -> Any:  # noqa: ANN401
    """What was asked there. Raises ``Diverged`` where less is asked now."""
    if place >= len(keys):
        raise Diverged
    return keys[place]


def _print(seen: Seen) -> str:
    """What tells a reading from another of the same episode and key."""
    said = [to_microseconds(seen.at), seen.ok, seen.score, seen.session, seen.body]
    return blake2b(canonical(said).encode(), digest_size=4).hexdigest()
