"""Bringing a source into the store: batches, each one transaction with its own mark.

A kill loses at most the batch under way, and an ingest of the same file goes on where the last
whole batch ended. Nothing is held in memory but one batch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.reading import Checkpoint, Reading
from symfonic.capabilities.memory.ingest.rejects import Reject, RejectFile, reject_path
from symfonic.capabilities.memory.store import IngestMark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import Ingested, MemoryStore, Subscription, Turn

BATCH: Final = 1000
"""Turns a transaction: large enough to be quick, small enough that a live loop hardly waits."""

_HEAD: Final = 4096
_TAIL: Final = 4096
"""Bytes at its beginning that name a source, and before a checkpoint that must be as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What became of one source.

    ``read`` counts messages, of which ``skipped`` said nothing. ``known`` were there already, also
    under other ids, and ``forgotten`` were erased before and stay so. ``zone_missing`` of the
    rejects would come in with a declared time zone. ``pending`` says that the source breaks off in
    the middle of a line, which is left for the next ingest. ``resumed`` is the byte at which an
    interrupted ingest went on.
    """

    path: str
    format: str
    read: int = 0
    added: int = 0
    known: int = 0
    forgotten: int = 0
    rejected: int = 0
    skipped: int = 0
    zone_missing: int = 0
    pending: bool = False
    resumed: int = 0
    reject_file: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values by field name, for ``--json``."""
        return asdict(self)


def import_source(
    store: MemoryStore,
    scope: Scope,
    source: str | Path | Iterable[Mapping[str, Any]],
    *,
    now: datetime,
    subscriptions: Sequence[Subscription],
    format: str | None = None,
    timezone: str | None = None,
    session: str | None = None,
    rejects: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> IngestReport:
    """Read a file, or dicts that are in memory, into the store.

    ``progress`` is told the bytes read and their total. Rejects of a file go beside it, or into the
    directory ``rejects``. Raises ``InputError`` for a source that cannot be read at all.
    """
    if not isinstance(source, str | Path):
        reading = turns_from_dicts(
            source, format=format, timezone=timezone, session=session, now=now
        )
        importing = _Import(
            store, scope, reading, now=now, subscriptions=subscriptions, progress=progress
        )
        return importing.run("<iterable>", {})
    path = Path(source)
    mark = IngestMark(number=0)
    digest = _identity(path)
    if digest is not None:
        mark = store.begin_ingest(scope, digest, now=now)
        if not _goes_on(path, mark):
            store.end_ingest(scope, mark)
            mark = store.begin_ingest(scope, digest, now=now)
    begun = dict(mark.counts)
    start = Checkpoint.from_plain(begun["checkpoint"]) if "checkpoint" in begun else Checkpoint()
    try:
        reading = read_turns(
            path, format=format, timezone=timezone, session=session, now=now, start=start
        )
    except BaseException:
        if mark.number and not begun:
            store.end_ingest(scope, mark)
        raise
    resumed = start.offset > 0
    with reading, RejectFile(reject_path(path, rejects), resumed=resumed) as file:
        importing = _Import(
            store, scope, reading, now=now, subscriptions=subscriptions, progress=progress,
            mark=mark, file=file, path=path,
        )  # fmt: skip
        return importing.run(str(path), begun.get("counts", {}))


def _identity(path: Path) -> str | None:
    """What tells a source from another: its place and its beginning; ``None`` for a pipe."""
    if not path.is_file():
        return None
    digest = blake2b(str(path.resolve()).encode("utf-8", "surrogateescape"), digest_size=16)
    try:
        with path.open("rb") as stream:
            digest.update(stream.read(_HEAD))
    except OSError:
        return None  # opening it again to read will say what is wrong
    return digest.hexdigest()


def _goes_on(path: Path, mark: IngestMark) -> bool:
    """Whether a file still is what an interrupted ingest has read of it, up to its checkpoint.

    One that became shorter, or was written anew behind its beginning, is read from the start: what
    is known of it is recognised, and what is new must not be passed over.
    """
    if "checkpoint" not in mark.counts:
        return True
    offset = Checkpoint.from_plain(mark.counts["checkpoint"]).offset
    return path.stat().st_size >= offset and _tail(path, offset) == mark.counts.get("tail")


def _tail(path: Path, offset: int) -> str:
    """A digest of the bytes before ``offset``; empty where the file has gone by now."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, offset - _TAIL))
            return blake2b(stream.read(min(offset, _TAIL)), digest_size=16).hexdigest()
    except OSError:
        return ""


class _Import:
    """The loop over one reading; ``file`` takes the rejects and ``mark`` how far it came.

    ``path`` is where a marked source stands.
    """

    def __init__(
        self,
        store: MemoryStore,
        scope: Scope,
        reading: Reading,
        *,
        now: datetime,
        subscriptions: Sequence[Subscription],
        progress: Callable[[int, int], None] | None,
        mark: IngestMark | None = None,
        file: RejectFile | None = None,
        path: Path | None = None,
    ) -> None:
        self.store = store
        self.scope = scope
        self.reading = reading
        self.now = now
        self.subscriptions = subscriptions
        self.progress = progress
        self.mark = mark
        self.file = file
        self.path = path
        self.alignment = store.new_alignment()
        self.counts = dict.fromkeys(("added", "known", "forgotten"), 0)

    def run(self, name: str, before: Mapping[str, int]) -> IngestReport:
        batch: list[Turn] = []
        for item in self.reading:
            if isinstance(item, Reject):
                if self.file is not None:
                    self.file.add(item)
                continue
            batch.append(item)
            if len(batch) >= BATCH:
                self._store(batch, before)
                batch = []
        self._store(batch, before)
        if self.mark is not None and self.mark.number:
            counts = {"counts": self._total(before)}
            self.store.end_ingest(self.scope, IngestMark(number=self.mark.number, counts=counts))
        total = self._total(before)
        reading = self.reading
        return IngestReport(
            path=name,
            format=reading.format,
            pending=reading.pending is not None,
            resumed=before.get("offset", 0),
            reject_file=str(self.file.path)
            if self.file is not None and total["rejected"]
            else None,
            **total,
        )

    def _store(self, batch: Sequence[Turn], before: Mapping[str, int]) -> None:
        if self.file is not None:
            self.file.flush()
        if batch:
            marked = self.mark is not None and self.mark.number > 0
            added = self.store.add_turns(
                self.scope, batch, now=self.now, subscriptions=self.subscriptions,
                alignment=self.alignment, mark=partial(self._mark, before) if marked else None,
            )  # fmt: skip
            if not marked:
                self._count(added)
        if self.progress is not None:
            self.progress(self.reading.offset, self.reading.size)

    def _count(self, added: Ingested) -> None:
        self.counts["added"] += added.added
        self.counts["known"] += added.known
        self.counts["forgotten"] += added.forgotten

    def _mark(self, before: Mapping[str, int], added: Ingested) -> IngestMark:
        """How far the ingest has come with this batch; kept in the batch's own transaction."""
        assert self.mark is not None
        self._count(added)
        return IngestMark(number=self.mark.number, counts=self._plain(before))

    def _total(self, before: Mapping[str, int]) -> dict[str, int]:
        reading = self.reading
        counted = {
            **self.counts,
            "read": reading.read,
            "rejected": reading.rejected,
            "skipped": reading.skipped,
            "zone_missing": reading.zone_missing,
        }
        return {name: count + before.get(name, 0) for name, count in counted.items()}

    def _plain(self, before: Mapping[str, int]) -> dict[str, Any]:
        checkpoint = self.reading.checkpoint()
        assert self.path is not None
        return {
            "checkpoint": checkpoint.to_plain(),
            "tail": _tail(self.path, checkpoint.offset),
            "counts": {**self._total(before), "offset": checkpoint.offset},
        }
