"""The only storage protocol: a reader for queries, a store for writes.

A phase's view is loaded through the reader, and only the engine and the service get the store, so
the type checker keeps a dry run dry. A reader is one snapshot: what it answers does not change
while it is open, and it never waits for a writer. Its lookups take sets of keys and are one
statement each. Rows of other scopes are never returned, whatever ids are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from symfonic.capabilities.memory.readers import (
    JournalReader,
    PlanReader,
    RecallReader,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
    from symfonic.capabilities.memory.outcome import RunKind, RunStatus
    from symfonic.capabilities.memory.records import (
        Columns,
        Kind,
        Link,
        Plain,
        Record,
        RecordId,
        Seen,
        Use,
    )
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.upkeep import Compacted, StoreSize

Direction = Literal["out", "in"]
"""Which end of a link is asked about: its source, or its target."""


RESCALED: Final = "half_life"
"""Under what a scope's settings name the run that last changed its half-life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeState:
    """A scope's own row. ``settings`` maps a run kind to each phase's last reading settings.

    ``counter`` is the change counter, ``visible`` how many records recall may return,
    ``last_clock`` the clock of the last committed run and ``deep_clock`` of the last DEEP one.
    """

    path: str
    salt: bytes
    half_life_hours: float
    visible: int
    counter: int
    run_count: int
    last_clock: datetime | None
    deep_clock: datetime | None
    settings: Mapping[str, Mapping[str, str]]

    @property
    def rescaled_by(self) -> int:
        """The run that last changed the half-life, 0 where none did."""
        return int(self.settings.get(RESCALED, {}).get("run", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRow:
    """A record that ``phase`` has not read; deleted only at the ``stamp`` it was read."""

    phase: str
    record: RecordId
    stamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call that was made in an earlier turn of the session, by the call's id."""

    call: str
    result: str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn on its way in, before it has an id: what an importer yields.

    A ``position`` of ``None`` stands after the last turn of its session, as in a live loop.
    ``importer`` and ``source_id`` (or the position, where the source gives no id) with a digest
    of the content make the episode's id. ``stated_position`` is false where ``position`` is only
    the order of arrival. ``answers`` is set on a tool's turn whose call came in before: a live loop
    hands over a call and its result one after the other. ``anywhere`` says that the source's id
    and the stated time name the turn in any session: a copy of it in another one is the same.
    """

    session: str
    position: int | None
    role: str
    text: str
    importer: str
    name: str | None = None
    calls: tuple[Any, ...] = ()
    occurred_at: datetime | None = None
    source_id: str | None = None
    answers: CallResult | None = None
    stated_position: bool = False
    flags: tuple[str, ...] = ()
    anywhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a batch: added, already known (also re-sent), and forgotten before."""

    added: int = 0
    known: int = 0
    forgotten: int = 0
    ids: tuple[RecordId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestMark:
    """How far an ingest of one source has come; kept with each batch, so that it can go on.

    ``counts`` holds plain values: the reader's checkpoint and what was counted so far. It is empty
    for a source that is begun.
    """

    number: int
    counts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """Which new rows are pending for a phase; ``context`` later episodes are renewed with one."""

    phase: str
    reads: tuple[Kind, ...]
    reads_touched: bool = False
    reads_mentions: bool = False
    context: int = 0


Window: TypeAlias = tuple[str, int]
"""A session, and the number of a stretch of it."""

WINDOW_LENGTH: Final = 20
"""How many consecutive positions of a session make a window, in which names belong together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A mention link with where its episode stands."""

    session: str
    position: int
    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """In how many windows two names stand together, and when they were last mentioned in one."""

    count: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryRule:
    """Which records are due to be archived.

    - ``notes``: working notes whose ``until`` is not later than ``before``.
    - ``facts``: facts whose ``until`` is not later, but for those marked as identity.
    - ``weak``: derived records whose strength is less than ``weaker_than`` (a base-2 logarithm in
      thousandths) and that were neither used nor mentioned, recorded or changed after ``before``,
      but for decided procedures, and what a visible record rests on.
    - ``old``: episodes whose effective time is earlier than ``before``.

    Pinned records are never due, and those of groups of ``phase`` that were undone neither.
    """

    name: Literal["notes", "facts", "weak", "old"]
    phase: str
    before: datetime
    weaker_than: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A collaborator's memo: the body it gave to a question about ``sources``."""

    question: str
    collaborator: str
    sources: tuple[RecordId, ...]
    body: Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Everything one run writes, in one transaction.

    ``read`` are the (id, version) pairs of records and the (source, kind, target, version) of
    links that the run was planned from: where one differs, nothing is written and ``StaleWrite``
    names the rows. ``done`` are pending rows to clear and ``queue`` the records that become
    pending, per phase. ``reread`` maps phases to kinds of which all becomes pending for them
    again, but for what ``done`` names.
    """

    kind: RunKind
    clock: datetime
    changes: tuple[Change, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    input_digest: str = ""
    digest: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
    read: tuple[tuple[str | int, ...], ...] = ()
    done: tuple[PendingRow, ...] = ()
    seen: tuple[Seen, ...] = ()
    answers: tuple[Answer, ...] = ()
    queue: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reread: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    recording: Mapping[str, Any] = field(default_factory=dict)
    undoes: tuple[tuple[int, str], ...] = ()
    """(run number, group) pairs that this commit undoes, all groups of a run where group is ''."""
    restores: int | None = None
    """The undo that this commit takes back: what it had undone stands again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A stored run. ``plan`` is what a planned run needs to be applied, and of a committed one what
    it was planned from. A ``compacted`` run has neither, and no before-images.
    """

    number: int
    scope: str
    kind: RunKind
    status: RunStatus
    clock: datetime
    input_digest: str
    digest: str
    settings: Mapping[str, Any]
    report: Mapping[str, Any]
    plan: Mapping[str, Any] = field(default_factory=dict)
    compacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """A change as the journal keeps it, with what stood there before.

    ``before`` holds the old values of the changed columns (all of them for a removed row),
    ``from_version`` the row's version before, and ``undone_by`` the run that undid it.
    """

    run: int
    seq: int
    change: Change
    before: Columns
    from_version: int | None
    undone_by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recall candidate: the record and how well its text matches, higher is better."""

    record: Record
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to run a scope, until its term ends; ``fence`` grows with each holder."""

    scope: str
    holder: str
    fence: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a forgetting removed, in ids and counts; ``unreachable`` is what it cannot reach."""

    scope: str
    forgotten: tuple[RecordId, ...]
    derived_removed: tuple[RecordId, ...]
    rows: Mapping[str, int]
    unreachable: tuple[str, ...]


class MemoryReader(PlanReader, RecallReader, JournalReader, Protocol):
    """Every query over one snapshot of one scope and, where said, its ancestors."""


class MemoryStore(Protocol):
    """Everything that writes. Each method is one transaction and takes its own write lock, but for
    ``compact``, which is many.
    """

    def snapshot(
        self, scope: Scope, *, may_be_new: bool = False
    ) -> AbstractContextManager[MemoryReader]:
        """A reader of the scope as it is now.

        Raises ``RecordNotFound`` for an unknown scope; with ``may_be_new`` it is read as an empty
        one, whose ancestors may hold something.
        """
        ...

    def scopes(self) -> list[str]:
        """Every scope path, sorted."""
        ...

    def ensure_scope(self, scope: Scope, *, half_life_hours: float, salt: bytes | None) -> None:
        """Create the scope's row if there is none; ``salt`` is random when not given."""
        ...

    def add_turns(
        self,
        scope: Scope,
        turns: Sequence[Turn],
        *,
        now: datetime,
        subscriptions: Sequence[Subscription],
        alignment: Any = None,  # noqa: ANN401 - a store's own state
        mark: Callable[[Ingested], IngestMark] | None = None,
    ) -> Ingested:
        """Insert what is new; skip what is known, re-sent or was forgotten, and say how many.

        ``alignment`` is what :meth:`new_alignment` gave, for all batches of one ingest; ``mark`` is
        told what became of the batch, and what it gives is kept in the same transaction.
        """
        ...  # fmt: skip

    def new_alignment(self) -> Any:  # noqa: ANN401 - a store's own state
        """What a store remembers between the batches of one ingest."""
        ...

    def begin_ingest(self, scope: Scope, source: str, *, now: datetime) -> IngestMark:
        """Begin with a source, or go on where an interrupted ingest of it had come to.

        ``source`` is a digest that names the file and its beginning.
        """
        ...

    def end_ingest(self, scope: Scope, mark: IngestMark) -> None:
        """The source was read to its end; the next ingest of it begins anew."""
        ...

    def set_embedder(self, scope: Scope, identity: EmbedderIdentity | None) -> None:
        """Whose vectors the scope is to have from now on: every record is to get one.

        Drops the vectors of another one. The same one again changes nothing; ``None`` drops all.
        """
        ...

    def add_vectors(
        self,
        scope: Scope,
        identity: EmbedderIdentity,
        vectors: Sequence[tuple[RecordId, int, bytes]],
    ) -> int:
        """Keep the vectors of records as they were at a version; how many were kept.

        One whose record changed or went meanwhile is passed over. Raises ``StaleWrite`` where the
        scope's embedder is another one by now, and ``InputError`` for a vector of another length.
        """
        ...  # fmt: skip

    def add_uses(
        self, scope: Scope, uses: Sequence[Use], *, subscriptions: Sequence[Subscription]
    ) -> None:
        """Add recorded uses, and make the records they touch pending."""
        ...

    def acquire(self, scope: Scope, *, now: datetime, term_seconds: int) -> Lease:
        """Take the scope's lease. Raises ``RunAlreadyActive``; a dead holder here is replaced."""
        ...

    def renew(self, lease: Lease, *, now: datetime, term_seconds: int) -> Lease:
        """Lengthen a lease that is still held. Raises ``RunAlreadyActive`` where it was lost."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens where it was lost."""
        ...

    def commit(self, scope: Scope, commit: Commit, *, lease: Lease | None) -> int:
        """Write a whole run, or nothing; the run's number. Raises ``StaleWrite``."""
        ...

    def save_plan(self, scope: Scope, commit: Commit, *, held: bool = False) -> int:
        """Keep a run as ``planned``, or as the scope's one ``held`` plan; the run's number."""
        ...

    def drop_plan(self, scope: Scope, number: int) -> None:
        """Abandon a kept plan. Raises ``RecordNotFound`` where it is not planned or held."""
        ...

    def load_plan(self, scope: Scope, number: int) -> Commit:
        """A planned run, ready to commit. Raises ``RecordNotFound`` where it is not planned."""
        ...

    def commit_plan(self, scope: Scope, number: int, *, lease: Lease) -> None:
        """Commit a planned run under its own number. Raises ``StaleWrite`` where it went stale."""
        ...

    def forget(
        self,
        scope: Scope,
        ids: Sequence[str],
        *,
        subscriptions: Sequence[Subscription],
        preview: bool = False,
    ) -> Receipt:
        """Erase records and all that only they support, from every table, index and plan.

        With ``preview`` nothing is written; the receipt says what would have been.
        """
        ...

    def compact(
        self,
        scope: Scope,
        *,
        before: datetime,
        unspread: datetime,
        lease: Lease | None,
        watch: Callable[[Compacted], None],
    ) -> Compacted:
        """Drop inputs and before-images of runs whose clock is earlier than ``before``, with all
        their journal rows but those that say that a group was undone, what a person did, or why a
        record is hidden; and fold each record's uses from before then into one of kind ``base``.

        Kept plans stay whole, and so do runs after one that is not old, uses later than
        ``unspread`` or the last DEEP sleep, and uses that a run which stays whole has written.
        Nothing that recall or a night answers by changes. Many short transactions: where it
        breaks off, what was done stays done, and the next one goes on. ``watch`` is told what is
        done so far, between two of them. Without a lease nothing is written; the answer says what
        would have been.
        """
        ...

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
        """Let the scope fade at another rate: every strength anew, from the record's latest
        ``uses_per_record`` uses up to ``clock``, in one transaction.

        It is a run of kind ``user`` without changes, whose number it gives; ``report`` is told how
        many records there are and how many changed. Kept plans that read one of them are stale.
        """
        ...

    def size(self) -> StoreSize:
        """How many bytes the store takes, and how many of them hold nothing."""
        ...

    def rebuild(self) -> bool:
        """Give free space back; whether that was possible while others use the store."""
        ...

    def dump(self, scope: Scope) -> Iterator[dict[str, Any]]:
        """Every row of the scope as plain values, in an order that equal stores share."""
        ...

    def load(self, scope: Scope, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Add dumped rows that are not there; how many per table."""
        ...

    def restore(self, scope: Scope, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Put dumped rows back as they are, decisions and kept plans included; how many per table.

        One transaction: an error that ``rows`` raises at its end leaves nothing. Under another name
        the reports of runs are told with that name. Raises ``InputError`` for a scope that holds
        anything, also marks of what was forgotten, and for rows that are no whole dump in order.
        """
        ...

    def check(self) -> list[str]:
        """What is wrong with the store, a sentence each; empty when it is sound."""
        ...

    def close(self) -> None:
        """Checkpoint and close every connection."""
        ...
