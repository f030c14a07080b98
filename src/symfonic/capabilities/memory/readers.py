"""Queries over one snapshot, by who asks: the view of a run, the engine, recall, the journal.

What a snapshot answers does not change while it is open, and it never waits for a writer. Lookups
take sets of keys and are one statement each. Rows of other scopes are never returned, whatever
ids are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
    from symfonic.capabilities.memory.records import (
        Kind,
        Link,
        LinkKind,
        Plain,
        Record,
        RecordId,
        Seen,
        Tally,
        Use,
    )
    from symfonic.capabilities.memory.store import (
        Direction,
        ExpiryRule,
        Hit,
        JournalRow,
        PendingRow,
        RunRow,
        ScopeState,
        Shared,
        Sighting,
        Window,
    )


class ViewReader(Protocol):
    """What a run's view is loaded through: rows of this scope, and where said its ancestors."""

    @property
    def state(self) -> ScopeState:
        """The scope's row as of the snapshot."""
        ...

    def visible_salts(self) -> list[bytes]:
        """The salts of this scope and its ancestors, nearest first; those that exist."""
        ...

    def records(self, ids: Sequence[str]) -> list[Record]:
        """Records of this scope or an ancestor; ids that are not there are left out."""
        ...

    def before(
        self, episodes: Sequence[Record], *, count: int, with_calls: bool = False
    ) -> dict[RecordId, list[Record]]:
        """For each episode, the ``count`` ones before it in its session, oldest first.

        With ``with_calls`` only those that hold tool calls are counted and returned.
        """
        ...

    def links(
        self,
        ids: Sequence[str],
        *,
        kinds: Sequence[LinkKind],
        direction: Direction,
        per_record: int,
    ) -> list[Link]:
        """This scope's links from (or to) the records, the newest ``per_record`` of each."""
        ...  # fmt: skip

    def degrees(self, ids: Sequence[str], *, kinds: Sequence[LinkKind]) -> dict[RecordId, int]:
        """The summed counts of each record's links of these kinds, in both directions."""
        ...

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
        """Distinct episodes and sessions per key, with the unsaved rows ``also`` counted in."""
        ...  # fmt: skip

    def sightings(
        self, reader: str, keys: Sequence[str], *, since: datetime, until: datetime, per_key: int
    ) -> list[Seen]:
        """The newest ``per_key`` rows of each key."""
        ...

    def uses(self, ids: Sequence[str], *, until: datetime, per_record: int) -> list[Use]:
        """Uses by hour, mention links counted in as kind ``mention``; the latest of each record."""
        ...

    def windows(self, windows: Sequence[Window], *, length: int, until: datetime) -> list[Sighting]:
        """The mention links of the episodes in these stretches of ``length`` positions."""
        ...

    def kept_windows(self, reader: str, windows: Sequence[Window]) -> list[Seen]:
        """The rows that ``reader`` has kept about these windows."""
        ...

    def shared_windows(
        self,
        reader: str,
        pairs: Sequence[tuple[str, str]],
        *,
        without: Sequence[Window],
        most: int,
    ) -> dict[tuple[str, str], Shared]:
        """In how many kept windows both keys stand, of the rarer one's newest ``most``.

        The rarer key stands in fewer windows, counted up to ``most``; of two that stand in equally
        many it is the smaller one. A pair without a window is left out.
        """
        ...  # fmt: skip

    def window_counts(
        self, reader: str, keys: Sequence[str], *, without: Sequence[Window], most: int
    ) -> dict[str, int]:
        """In how many kept windows each key stands, up to ``most``."""
        ...

    def expiring(self, rule: ExpiryRule, *, limit: int) -> tuple[list[Record], int]:
        """This scope's visible records that are due by a rule, longest due first; how many in all.

        More than a hundred times ``limit`` are not counted.
        """
        ...

    def uncondensed(self, *, before: datetime, limit: int) -> tuple[list[Record], int]:
        """The oldest active episodes from before a time, and how many there are in all."""
        ...

    def undone_sources(self, phase: str) -> list[RecordId]:
        """The sources of every undone group of a phase, for one that is driven by state."""
        ...


class PassReader(ViewReader, Protocol):
    """What a pass is planned from: all that a replay has to give back."""

    def pending(
        self, phase: str, *, until: datetime, cap: int, without: Sequence[str] = ()
    ) -> tuple[list[PendingRow], int]:
        """At most ``cap`` unread rows, half newest and half oldest, and how many there are in all.

        Rows whose effective time lies after ``until``, and rows of the records ``without``, are
        neither returned nor counted.
        """
        ...

    def states(self, ids: Sequence[str]) -> dict[str, str]:
        """The state of this scope's rows with these ids, tombstones included."""
        ...

    def undone(self, phase: str, ids: Sequence[str]) -> dict[str, int]:
        """Per group id that was undone, the greatest ``seq`` of the evidence it had."""
        ...


class PlanReader(PassReader, Protocol):
    """What the engine asks besides."""

    def answers(self, questions: Sequence[str]) -> dict[str, Plain]:
        """The stored answers among these questions."""
        ...

    def seen(self, reader: str, episodes: Sequence[str]) -> list[Seen]:
        """What ``reader`` found in these episodes."""
        ...


class RecallReader(Protocol):
    """What recall and the interfaces look things up by."""

    def search(
        self,
        terms: Sequence[str],
        *,
        kinds: Sequence[Kind],
        limit: int,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Hit]:
        """Visible records of this scope and its ancestors that hold any of the terms, best first.

        A term is a full-text expression. What it weighs is its rarity among the rows of these
        scopes, and nothing that another scope holds; of equals the newest come first. Only records
        of ``since`` or later and from before ``until`` are returned, as many as ``limit``.
        """
        ...

    def neighbours(self, episodes: Sequence[Record], *, distance: int) -> list[Record]:
        """The episodes within ``distance`` positions in the same sessions, themselves left out."""
        ...

    def list_records(
        self, *, kinds: Sequence[Kind], status: str | None = None, limit: int
    ) -> list[Record]:
        """This scope's visible records of these kinds, newest first."""
        ...

    def records_within(
        self,
        *,
        kinds: Sequence[Kind],
        since: datetime | None,
        until: datetime | None,
        limit: int,
    ) -> list[Record]:
        """Visible records of this scope and its ancestors from a stretch of time, newest first."""
        ...  # fmt: skip

    def embedder(self) -> EmbedderIdentity | None:
        """Whose vectors this scope has; ``None`` where it has none."""
        ...

    def unembedded(self, *, limit: int) -> list[Record]:
        """This scope's visible records that are to get a vector, oldest first."""
        ...

    def vector_counts(self) -> tuple[int, int]:
        """How many records of this scope have a vector, and how many are to get one."""
        ...

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
        """Visible records of this scope and its ancestors by their vector's cosine, best first.

        Only those whose vectors come from the same embedder; of equals the older one first. A
        vector is of unit length, in 32-bit floats, least byte first.
        """
        ...

    def similarities(
        self, vector: bytes, identity: EmbedderIdentity, ids: Sequence[str]
    ) -> dict[RecordId, float]:
        """The cosine of each of these records that has such a vector."""
        ...

    def told_count(self) -> int:
        """How many visible records of this scope and its ancestors were told, not derived."""
        ...

    def ids_like(self, beginning: str) -> list[RecordId]:
        """The scope's ids, not forgotten, with this beginning; two at most."""
        ...

    def session_episodes(self, session: str) -> list[RecordId]:
        """The ids of a session's episodes."""
        ...

    def all_records(self) -> list[RecordId]:
        """The ids of everything in the scope that is not forgotten."""
        ...


class JournalReader(Protocol):
    """What runs did, and what stands on it."""

    def run(self, number: int) -> RunRow:
        """One run. Raises ``RecordNotFound``."""
        ...

    def runs(self, *, limit: int) -> list[RunRow]:
        """The latest runs, newest first, without their plans."""
        ...

    def as_of(self, rows: Sequence[tuple[str, str, int]]) -> dict[tuple[str, str, int], Record]:
        """Records as they were at these (scope, id, version), as far as the journal still knows.

        Scopes that are not this one or an ancestor of it are left out.
        """
        ...

    def unslept(self, *, until: datetime) -> Iterator[datetime]:
        """The effective times of this scope's readable episodes that no DEEP run has come to.

        One has come to an episode that was there before it, and is not later than its clock. Not
        later than ``until``, in no order.
        """
        ...

    def held(self) -> RunRow | None:
        """The plan that waits for a person, if there is one."""
        ...

    def journal(self, run: int) -> list[JournalRow]:
        """A run's changes in order."""
        ...

    def dependents(self, run: int, groups: Sequence[str]) -> list[tuple[int, str]]:
        """(run, group) pairs, not undone, that build on these groups of ``run``.

        One change builds on another when it came later and changed the same content column, or
        names a row that the other created.
        """
        ...

    def stats(self) -> dict[str, Any]:
        """Counts by kind and state, pending by phase, runs, and the size of the store."""
        ...
