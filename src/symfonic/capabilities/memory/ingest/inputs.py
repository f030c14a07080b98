"""The three ways in: a file, dicts that are in memory, and the messages of a live loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest import detect, jsonl, openai
from symfonic.capabilities.memory.ingest.document import (
    Piece,
    pieces_of_document,
    pieces_of_lines,
)
from symfonic.capabilities.memory.ingest.normalise import label
from symfonic.capabilities.memory.ingest.reading import WHOLE, Checkpoint, Reading
from symfonic.capabilities.memory.ingest.source import Source
from symfonic.capabilities.memory.ingest.times import zone_named
from symfonic.capabilities.memory.ingest.turns import Context, Unreadable, identifier

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.store import Turn

DEFAULT_SESSION: Final = "default"
LIVE: Final = "live"
"""The importer of turns that a live loop hands over."""

_SAMPLE_BYTES: Final = 4 * 1024 * 1024  # a sample ends here, however few its values are


def read_turns(
    data: str | Path | bytes,
    *,
    format: str | None = None,
    timezone: str | None = None,
    session: str | None = None,
    now: datetime | None = None,
    start: Checkpoint | None = None,
) -> Reading:
    """A reading of a file, or of its bytes.

    The format is detected unless named. Turns that name no session belong to ``session``, by
    default the file's name without its ending. Local times are read in ``timezone``; without
    one they are rejects, never guessed. Times after ``now`` are flagged ``future``.

    Raises ``InputError`` for what cannot be opened, is in another format, or names no zone.
    """
    zone = zone_named(timezone)
    chosen = None if format is None else detect.named(format)
    source = Source(data)
    begin = start or Checkpoint()
    try:
        _check_start(source, begin)
        if chosen is None:
            sample = _sample(_pieces(source, Checkpoint()))
            chosen = detect.detect(sample, head=source.head_text(), name=source.name)
        context = Context(
            session=label(session or source.stem or DEFAULT_SESSION),
            importer=chosen,
            zone=zone,
            now=now,
            again=lambda: _pieces(source, Checkpoint()),
        )
        first = Checkpoint() if chosen in WHOLE else begin
        return Reading(
            _pieces(source, first), format=chosen, context=context, start=begin, source=source
        )
    except InputError:
        source.close()
        raise


def turns_from_dicts(
    values: Iterable[Mapping[str, Any]],
    *,
    format: str | None = None,
    timezone: str | None = None,
    session: str | None = None,
    now: datetime | None = None,
) -> Reading:
    """A reading of objects that are in memory already, in any supported format.

    An offset is then the number of the object. Raises as :func:`read_turns`.
    """
    pieces = (Piece(n, n, n - 1, n, value) for n, value in enumerate(values, 1))
    sample = list(islice(pieces, detect.SAMPLE))
    if format is not None:
        chosen = detect.named(format)
    else:
        chosen = detect.detect(sample, head="", name="the given iterable")
    context = Context(
        session=label(session or DEFAULT_SESSION),
        importer=chosen,
        zone=zone_named(timezone),
        now=now,
    )
    return Reading(chain(sample, pieces), format=chosen, context=context, start=Checkpoint())


def turns_from_messages(
    messages: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    session: str | None = None,
    start_position: int | None = None,
    timezone: str | None = None,
    now: datetime | None = None,
) -> list[Turn]:
    """The turns of a live loop's messages, each in the OpenAI shape or in the plain one.

    Without ``start_position`` they stand after the last turn of their session. Empty messages
    give no turn.

    Raises ``InputError`` naming the message that cannot be read; a live loop has no reject file.
    """
    given = [messages] if isinstance(messages, Mapping) else list(messages)
    zone = zone_named(timezone)
    turns: list[Turn] = []
    begin = 0
    while begin < len(given):
        is_plain = _is_plain(given[begin])
        end = begin + 1
        while not is_plain and end < len(given) and not _is_plain(given[end]):
            end += 1
        try:
            name = identifier(session, "session") or DEFAULT_SESSION
            context = Context(session=name, importer=LIVE, zone=zone, now=now)
            positions = [
                None if start_position is None else start_position + index
                for index in range(begin, end)
            ]
            if is_plain:
                turns.append(jsonl.turn_of(given[begin], context, name, positions[0]))
            else:
                turns.extend(openai.turns_of(given[begin:end], context, positions))
        except Unreadable as cause:
            raise InputError(
                f"Message {begin + 1} of {len(given)} cannot be read: {cause}.",
                number=begin + 1,
            ) from cause
        begin = end
    return turns


def _check_start(source: Source, start: Checkpoint) -> None:
    if start.offset > source.size:
        raise InputError(
            f"{source.name} is shorter than where its reading stopped (byte {start.offset}). "
            "It was replaced: read it from the start.",
            path=source.name,
            offset=start.offset,
        )


def _is_plain(message: object) -> bool:
    if not isinstance(message, Mapping):
        raise InputError(
            f"A message is a dict such as {{'role': 'user', 'content': '…'}}, "
            f"not {type(message).__name__}."
        )
    return detect.shape_of(message) == "jsonl"


def _pieces(source: Source, start: Checkpoint) -> Iterator[Piece]:
    if detect.is_document(source.head_text()):
        return pieces_of_document(
            source, offset=start.offset, line=max(start.line, 1), number=start.number
        )
    return pieces_of_lines(source.lines(offset=start.offset, number=start.line))


def _sample(pieces: Iterator[Piece]) -> list[Piece]:
    sample: list[Piece] = []
    for piece in islice(pieces, detect.SAMPLE):
        sample.append(piece)
        if piece.end > _SAMPLE_BYTES:
            break
    return sample
