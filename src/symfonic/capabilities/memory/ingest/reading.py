"""A source on its way to turns.

A reading is an iterator: constant in memory, resumable at any moment by its checkpoint, and
honest about what it left out. It writes nothing; storing turns and rejects is its caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from symfonic.capabilities.memory.ingest import (
    anthropic,
    chatgpt,
    claude_code,
    codex,
    jsonl,
    openai,
)
from symfonic.capabilities.memory.ingest.rejects import Reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from symfonic.capabilities.memory.ingest.detect import Format
    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.ingest.source import Source
    from symfonic.capabilities.memory.ingest.turns import Batch, Context
    from symfonic.capabilities.memory.store import Turn

_READERS: Final[
    dict[Format, Callable[[Iterator[Piece], Context, Mapping[str, int]], Iterator[Batch]]]
] = {
    "anthropic": anthropic.read,
    "chatgpt": chatgpt.read,
    "claude_code": claude_code.read,
    "codex": codex.read,
    "jsonl": jsonl.read,
    "openai": openai.read,
}


WHOLE: Final[frozenset[Format]] = frozenset({"codex"})
"""Formats in which a record means what those before it make of it.

One that is resumed is read from its beginning, and only what follows the checkpoint is given.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where a reading stood: everything before ``offset`` was given, nothing after it.

    ``offset`` is in bytes, ``line`` and ``number`` count what came before, and ``positions``
    is how many messages each session had.
    """

    offset: int = 0
    line: int = 0
    number: int = 0
    positions: Mapping[str, int] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "offset": self.offset,
            "line": self.line,
            "number": self.number,
            "positions": dict(self.positions),
        }

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> Checkpoint:
        """The inverse of :meth:`to_plain`."""
        return cls(
            offset=int(value["offset"]),
            line=int(value["line"]),
            number=int(value["number"]),
            positions={str(key): int(count) for key, count in value["positions"].items()},
        )


class Reading:
    """Turns and rejects in the order of the source, once.

    ``format`` names what it is read as and ``size`` its bytes (0 where it has none). ``pending``
    is set at the end where the source breaks off inside a value: it is left for the next
    reading, because its writer may not have finished. Use as a context manager, or ``close``.
    """

    def __init__(
        self,
        pieces: Iterator[Piece],
        *,
        format: Format,
        context: Context,
        start: Checkpoint,
        source: Source | None = None,
    ) -> None:
        self.format = format
        self.size = 0 if source is None else source.size
        self.turns = 0
        self.rejected = 0
        self.zone_missing = 0
        self.skipped = 0
        self.pending: Reject | None = None
        self._source = source
        self._offset, self._line, self._number = start.offset, start.line, start.number
        self._positions = dict(start.positions)
        self._batches = _READERS[format](self._watched(pieces), context, self._positions)
        self._items = self._read()

    @property
    def read(self) -> int:
        """How many messages were read: given, rejected and, because empty, skipped."""
        return self.turns + self.rejected + self.skipped

    @property
    def offset(self) -> int:
        """How far into the source everything was given, in bytes: for progress."""
        return self._offset

    def checkpoint(self) -> Checkpoint:
        """Where to go on after what was given so far, at most a few turns earlier.

        Turns that belong together, as calls and their results, are read again together.
        """
        return Checkpoint(
            offset=self._offset,
            line=self._line,
            number=self._number,
            positions=dict(self._positions),
        )

    def close(self) -> None:
        """Close the source. Closing twice does nothing."""
        if self._source is not None:
            self._source.close()

    def __iter__(self) -> Iterator[Turn | Reject]:
        return self._items

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _watched(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """The pieces, noting a last one that the end of the source cuts off."""
        for piece in pieces:
            if piece.torn:
                reason = piece.problem or ""
                self.pending = Reject(line=piece.line, offset=piece.offset, reason=reason)
            yield piece

    def _read(self) -> Iterator[Turn | Reject]:
        begin = self._offset if self.format in WHOLE else 0
        for batch in self._batches:
            items, end, session, next_position, skipped, places = batch
            if end.offset < begin:
                continue
            last = len(items) - 1
            for index, item in enumerate(items):
                if isinstance(item, Reject):
                    self.rejected += 1
                    self.zone_missing += item.zone_missing
                else:
                    self.turns += 1
                if index < last:
                    yield item
            self.skipped += skipped
            self._offset, self._line = end.end, end.last_line or end.line
            self._number = end.number
            if session is not None:
                self._positions[session] = next_position
            self._positions.update(places)
            if items:
                yield items[last]
        self.close()
