"""The values of one JSON document, one at a time, with their byte offsets.

A chat export is often a single JSON list of a gigabyte. Parsing it whole takes ten times its
size, so the list is walked: its brackets are read here and its values one by one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from symfonic.capabilities.memory.ingest import source as sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.ingest.source import Line, Source

DECODER: Final = json.JSONDecoder(strict=False)
"""Control characters inside strings are accepted: hand-written logs hold raw tabs."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_CUT: Final = 12  # a value cut off at the end of the file fails this near to it


class Piece(NamedTuple):
    """One value of a source: its line, its number from 1, where it begins and ends.

    ``problem`` says why there is no value, and ``text`` is then what stood there. ``torn`` is
    true for a value that the end of the file cuts off. ``last_line`` is 0 for a value that ends
    in the line where it begins.
    """

    line: int
    number: int
    offset: int
    end: int
    value: Any
    text: str = ""
    problem: str | None = None
    torn: bool = False
    last_line: int = 0


def pieces_of_lines(lines: Iterator[Line]) -> Iterator[Piece]:
    """A piece for each line that is not blank."""
    decode = DECODER.decode
    for number, offset, end, text, unreadable, ended in lines:
        problem = unreadable
        if problem is None:
            try:
                value = decode(text)
            except (ValueError, RecursionError) as cause:
                if not text.strip():
                    continue
                problem = why_not_json(cause)
            else:
                yield Piece(number, number, offset, end, value)
                continue
        yield Piece(number, number, offset, end, None, text, problem, torn=not ended)


def pieces_of_document(source: Source, *, offset: int, line: int, number: int) -> Iterator[Piece]:
    """A piece for each value of a JSON list, or of a document that is one value or several.

    ``offset`` is 0 or the end of an earlier piece, ``line`` and ``number`` those of that piece.
    """
    walk = _Walk(source, offset, line)
    fresh = offset <= source.begin
    if not source.head_text().lstrip().startswith("["):
        yield from _values(walk, number)
        return
    if fresh and walk.next_character():
        walk.skip(1)
    while True:
        number += 1
        character = walk.next_character()
        if character == "," and not fresh:
            walk.skip(1)
            character = walk.next_character()
        elif character != "]" and character and not fresh:
            yield walk.broken(number, "a comma or ] is missing; the rest cannot be read")
            return
        if character == "]":
            walk.skip(1)
            if walk.next_character():
                yield walk.broken(number, "the file goes on after the end of its JSON list")
            return
        if not character:
            yield walk.broken(number, "the file ends inside its JSON list", torn=True)
            return
        fresh = False
        piece = walk.piece(number)
        yield piece
        if piece.problem is not None:
            return


def _values(walk: _Walk, number: int) -> Iterator[Piece]:
    """Values that follow each other without a list around them, as jq writes them."""
    while walk.next_character():
        number += 1
        piece = walk.piece(number)
        yield piece
        if piece.problem is not None:
            return


def why_not_json(cause: Exception) -> str:
    """A reason in plain words, with the column where there is one."""
    if isinstance(cause, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(cause, json.JSONDecodeError):
        return f"not valid JSON: {cause.msg} (column {cause.colno})"
    return f"not readable as JSON: {cause}"


class _Walk:
    """A position in the text of a document, and as much of the text as the next value needs."""

    def __init__(self, source: Source, offset: int, line: int) -> None:
        self._chunks = source.chunks(offset=offset)
        self._encoding = source.encoding
        self._text = ""
        self._at = 0
        self._ended = False
        self.offset = max(offset, source.begin)
        self.line = line

    def next_character(self) -> str:
        """The next character that is no space, or nothing at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self.skip((match.end() if match else self._at) - self._at)
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self, count: int) -> None:
        passed = self._text[self._at : self._at + count]
        self.offset += sources.byte_length(passed, self._encoding)
        self.line += passed.count("\n")
        self._at += count

    def piece(self, number: int) -> Piece:
        """The value that begins here."""
        line, begin = self.line, self.offset
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as cause:
                if not isinstance(cause, RecursionError) and self._room() and self._more():
                    continue
                return self._failed(number, cause)
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self.skip(end - self._at)
            return Piece(line, number, begin, self.offset, value, last_line=self.line)

    def broken(self, number: int, problem: str, *, torn: bool = False) -> Piece:
        """A piece for what cannot be read from here on."""
        rest = self._text[self._at :]
        return Piece(self.line, number, self.offset, self.offset, None, rest, problem, torn=torn)

    def _failed(self, number: int, cause: Exception) -> Piece:
        if not self._room():
            limit = sources.MAX_UNIT_BYTES // 1024 // 1024
            return self.broken(number, f"a value is broken or longer than {limit} MiB")
        torn = isinstance(cause, json.JSONDecodeError) and (
            cause.msg.startswith("Unterminated string")
            or cause.pos >= len(self._text.rstrip()) - _CUT
        )
        return self.broken(number, f"{_reason(cause)}; the rest cannot be read", torn=torn)

    def _room(self) -> bool:
        return len(self._text) - self._at <= sources.MAX_UNIT_BYTES

    def _more(self) -> bool:
        """Read on, as much again as is held, so that a long value is tried only a few times."""
        if self._ended:
            return False
        held = [self._text[self._at :]]
        size, wanted = len(held[0]), 2 * len(held[0])
        self._at = 0
        for chunk in self._chunks:
            held.append(chunk)
            size += len(chunk)
            if size > wanted:
                break
        else:
            self._ended = True
        self._text = "".join(held)
        return len(held) > 1


def _reason(cause: Exception) -> str:
    """As :func:`why_not_json`; the column counts from the buffer, so it is left out."""
    if isinstance(cause, json.JSONDecodeError):
        return f"not valid JSON: {cause.msg}"
    return why_not_json(cause)
