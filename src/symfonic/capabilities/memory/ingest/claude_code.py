"""Claude Code transcripts: JSONL, or a session that was fetched as one document.

A message of the assistant stands in several lines, one a block, with results and the lines of other
sessions between them; so it is held back until somebody else speaks in its session. The active
branch is known at the end of the file only: the file is read twice (`claude_code_tree.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.ingest.anthropic_blocks import Content, messages_from
from symfonic.capabilities.memory.ingest.claude_code_records import Line, line_of, session_named
from symfonic.capabilities.memory.ingest.claude_code_tree import (
    Place,
    Tree,
    records_of,
    tree_of,
)
from symfonic.capabilities.memory.ingest.openai import Group
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.ingest.turns import (
    Batch,
    Context,
    Unreadable,
    rejected,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.ingest.document import Piece
    from symfonic.capabilities.memory.ingest.openai_messages import Message
    from symfonic.capabilities.memory.store import Turn

_MAX_HELD: Final = 500  # turns held back while a call of some session is unanswered


def read(
    pieces: Iterator[Piece], context: Context, positions: Mapping[str, int]
) -> Iterator[Batch]:
    """A batch wherever no message is under way in any session."""
    if context.again is None:
        held = list(pieces)
        tree, pieces = tree_of(held), iter(held)
    else:
        tree = tree_of(context.again())
    transcript = _Transcript(context, positions, tree)
    for piece in pieces:
        if piece.torn:
            yield from transcript.finish(piece.text)
            return
        if piece.problem is not None:
            yield from transcript.problem(piece)
            continue
        for place, record in records_of(piece):
            yield from transcript.add(record, place, piece)
        yield from transcript.end_of(piece)
    yield from transcript.finish("")


@dataclass(slots=True)
class _Exchange:
    """One message of the assistant, as far as it was read, and the results of its calls."""

    first: Line
    content: Content
    results: list[Message] = field(default_factory=list)

    def goes_on_in(self, line: Line) -> bool:
        """Whether a line is the same message's."""
        return line.message is not None and line.message == self.first.message

    def called(self, call: str | None) -> bool:
        return any(call is not None and call == each.id for each in self.content.calls)

    def messages(self) -> list[Message]:
        return [*messages_from(self.content, self.first.turn), *self.results]


class _Transcript:
    """Turns on their way from records, in order, with the messages under way in each session."""

    def __init__(self, context: Context, positions: Mapping[str, int], tree: Tree) -> None:
        self._context = context
        self._positions = positions
        self._tree = tree
        self._open: dict[str, _Exchange] = {}
        self._held: list[_Exchange | Message | Reject] = []
        self._size = 0
        self._next: dict[str, int] = {}
        self._skipped = 0
        self._end: Piece | None = None

    def problem(self, piece: Piece) -> Iterator[Batch]:
        """A piece that is no JSON: rejected, with nothing else moved."""
        self._held.append(rejected(piece, piece.problem or "", piece.text))
        yield from self.end_of(piece)

    def add(self, record: object, place: Place, piece: Piece) -> Iterator[Batch]:
        """Take one record in; the batch before it, where it ends the last message under way."""
        if not isinstance(record, Mapping):
            reason = f"the record is a JSON {type(record).__name__}, not an object"
            self._held.append(rejected(piece, reason, shown(record)))
            return
        if place in self._tree.repeated:
            self._skipped += 1
            return
        session: str | None = None
        try:
            session = session_named(record, self._context, self._tree)
            line = line_of(record, self._context, session)
        except Unreadable as cause:
            if session is not None:
                self._placed(session, 1)
            self._held.append(
                rejected(piece, str(cause), shown(record), zone_missing=cause.zone_missing)
            )
            return
        if line is None:
            self._skipped += 1
            return
        yield from self._take(line, session, place)

    def end_of(self, piece: Piece) -> Iterator[Batch]:
        """All of a piece was taken in."""
        self._end = piece
        if len(self._held) + self._size > _MAX_HELD:
            self._open.clear()
        if not self._open:
            yield from self._cut()

    def finish(self, torn: str) -> Iterator[Batch]:
        """The end of the source; ``torn`` is the beginning of a line that is not written yet.

        A message that goes on in that line waits for it: it would be another turn then.
        """
        for exchange in self._open.values():
            name = exchange.first.message
            if name is not None and f'"{name}"' in torn:
                return
        self._open.clear()
        yield from self._cut()

    def _take(self, line: Line, session: str, place: Place) -> Iterator[Batch]:
        exchange = self._open.get(session)
        abandoned = place in self._tree.abandoned
        if line.turn.role == "assistant":
            if exchange is not None and exchange.goes_on_in(line):
                exchange.content.extend(line.content)
                self._placed(session, len(line.content.results))
                return
        else:
            line, rest = self._answering(line, exchange, abandoned=abandoned)
            if not rest:
                return
        if abandoned:
            self._skipped += 1
            self._placed(session, 1)
            return
        yield from self._closed(session, place)
        if line.turn.role == "assistant":
            turn = replace(line.turn, position=self._placed(session, 1 + len(line.content.results)))
            begun = _Exchange(replace(line, turn=turn), line.content)
            self._open[session] = begun
            self._held.append(begun)
            return
        self._hold(line, session)

    def _answering(
        self, line: Line, exchange: _Exchange | None, *, abandoned: bool
    ) -> tuple[Line, bool]:
        """Put results where their calls are; what is left of the line, and whether there is any.

        The branch of a result ends where several calls ran at once, so what answers a call of the
        message under way is on the active branch whatever its parent says.
        """
        results = line.content.results
        mine = [r for r in results if exchange is not None and exchange.called(r.call)]
        if exchange is None or not results or (abandoned and not mine):
            return line, True
        own = replace(line, content=Content(results=mine if abandoned else list(results)))
        turn = replace(own.turn, position=self._placed(line.turn.session, len(own.content.results)))
        answers = messages_from(own.content, turn)
        exchange.results.extend(answers)
        self._size += len(answers)
        if not line.content.speaks:
            return line, False
        source_id = turn.source_id and f"{turn.source_id}#{len(answers) + 1}"
        line.content.results = []
        return replace(line, turn=replace(line.turn, source_id=source_id)), True

    def _hold(self, line: Line, session: str) -> None:
        """Hold what a user or the client said, and results whose call is not under way."""
        width = len(line.content.results) + line.content.speaks
        turn = replace(line.turn, position=self._placed(session, width))
        self._held.extend(messages_from(line.content, turn))

    def _closed(self, session: str, place: Place) -> Iterator[Batch]:
        """End the session's message; what is held ends before this record, if it can."""
        self._open.pop(session, None)
        if not self._open and place[1] == 0 and self._end is not None:
            yield from self._cut()

    def _placed(self, session: str, width: int) -> int:
        """The session's next position, with ``width`` positions taken from there."""
        position = self._next.get(session, self._positions.get(session, 0))
        self._next[session] = position + width
        return position

    def _cut(self) -> Iterator[Batch]:
        """All that is held, as one batch."""
        if self._end is None:
            return
        items: list[Turn | Reject] = []
        for held in self._held:
            if isinstance(held, Reject):
                items.append(held)
            else:
                self._close(held.messages() if isinstance(held, _Exchange) else [held], items)
        batch = Batch(items, self._end, skipped=self._skipped, places=tuple(self._next.items()))
        self._held, self._next, self._size, self._skipped, self._end = [], {}, 0, 0, None
        yield batch

    def _close(self, messages: list[Message], items: list[Turn | Reject]) -> None:
        group = Group()
        for message in messages:
            self._skipped += message.empty
            if not group.takes(message):
                items.extend(group.turns())
                group = Group()
            group.add(message)
        items.extend(group.turns())
