"""Bytes in: open a file once, tell its encoding, and give its lines with their byte offsets.

Memory stays constant whatever the file's size: one line, or one value of a JSON document, is
held at a time, and both have a bound. Offsets are bytes from the start of the file, so that a
later reading can go on where an earlier one stopped.
"""

from __future__ import annotations

import codecs
import io
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest import archives

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_UNIT_BYTES: Final = 64 * 1024 * 1024
"""The longest line, or value of a JSON document, that is read; a longer one is a reject."""

HEAD_BYTES: Final = 64 * 1024
CONVERT: Final = "convert it, e.g. iconv -f latin1 -t utf-8"
_CHUNK: Final = 256 * 1024
_MARKS: Final = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"\x28\xb5\x2f\xfd", "zstandard-compressed"),
    (b"BZh", "bzip2-compressed"),
    (b"\xfd7zXZ", "xz-compressed"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF", "a PDF document"),
)


class Line(NamedTuple):
    """One line: its number from 1, where it begins and ends, and its text.

    Where ``problem`` says why it cannot be read, ``text`` is its readable beginning. ``ended``
    is false for a last line without a line feed, which may not be written to its end yet.
    """

    number: int
    offset: int
    end: int
    text: str
    problem: str | None
    ended: bool


class Source:
    """An open file or bytes: its size, its encoding and its beginning.

    Reads UTF-8 with or without a byte-order mark, and UTF-16 with one. A pipe is spooled to a
    temporary file first, because telling a format needs a second look, and so are the conversations
    of a zip archive.

    Raises ``InputError`` for what is missing, a directory, unreadable or in another encoding.
    """

    def __init__(self, data: str | Path | bytes) -> None:
        self.name = "the given bytes" if isinstance(data, bytes) else str(data)
        self.stem = None if isinstance(data, bytes) else Path(data).stem
        self._stream = io.BytesIO(data) if isinstance(data, bytes) else _opened(Path(data))
        try:
            if self._stream.read(len(archives.MARK)) == archives.MARK:
                self._stream = archives.unpacked(self._stream, self.name)
            self._stream.seek(0)
            self.head = self._stream.read(HEAD_BYTES)
            self.size = self._stream.seek(0, os.SEEK_END)
            self.encoding, self.begin = _encoding_of(self.head, self.name)
        except OSError as cause:
            self.close()
            raise self._unreadable(cause) from cause
        except InputError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        self._stream.close()

    def head_text(self) -> str:
        """The beginning as text; a character that the head cuts in two is left out."""
        return self.head[self.begin :].decode(self.encoding, "replace")

    def lines(self, *, offset: int, number: int) -> Iterator[Line]:
        """The lines from a byte offset on; ``number`` is how many lines came before it."""
        self._stream.seek(max(offset, self.begin))
        reader = _narrow_lines if self.encoding == "utf-8" else _wide_lines
        try:
            yield from reader(self._stream, max(offset, self.begin), number, self.encoding)
        except OSError as cause:
            raise self._unreadable(cause) from cause

    def chunks(self, *, offset: int) -> Iterator[str]:
        """The text from a byte offset on, in pieces. Raises ``InputError`` for other bytes."""
        self._stream.seek(max(offset, self.begin))
        decoder = codecs.getincrementaldecoder(self.encoding)("surrogatepass")
        try:
            while data := self._stream.read(_CHUNK):
                yield decoder.decode(data)
        except UnicodeDecodeError as cause:
            raise InputError(
                f"{self.name} is not {self.encoding.upper()}: {cause.reason} before byte "
                f"{self._stream.tell()}: {CONVERT}.",
                path=self.name,
            ) from cause
        except OSError as cause:
            raise self._unreadable(cause) from cause

    def _unreadable(self, cause: OSError) -> InputError:
        return InputError(f"{self.name} cannot be read: {cause.strerror}.", path=self.name)


def byte_length(text: str, encoding: str) -> int:
    """How many bytes ``text`` takes in a file of this encoding."""
    if encoding == "utf-8" and text.isascii():
        return len(text)
    return len(text.encode(encoding, "surrogatepass"))


def _opened(path: Path) -> BinaryIO:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"{path} is a directory. Name the files in it, for example {path}/*.jsonl.",
                path=str(path),
            )
        stream = path.open("rb")
        if stream.seekable():
            return stream
        with stream:
            spooled = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
            shutil.copyfileobj(stream, spooled)
            spooled.seek(0)
            return spooled
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.", path=str(path)) from None
    except (OSError, ValueError) as cause:
        if isinstance(cause, InputError):
            raise
        raise InputError(
            f"{path} cannot be opened: {getattr(cause, 'strerror', None) or cause}.",
            path=str(path),
        ) from cause


def _encoding_of(head: bytes, name: str) -> tuple[str, int]:
    """The encoding and the length of its byte-order mark."""
    for mark, what in _MARKS:
        if head.startswith(mark):
            raise InputError(
                f"{name} is {what}; what can be read is JSON or JSONL in UTF-8, or in UTF-16 with "
                "a byte-order mark. Unpack, export or convert it first.",
                path=name,
                found=what,
            )
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le", 2
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", 2
    if b"\x00" in head[:4096]:
        raise InputError(
            f"{name} holds NUL bytes: it is binary, or UTF-16 without a byte-order mark. "
            "Convert it to UTF-8, for example with iconv -f UTF-16LE -t UTF-8.",
            path=name,
        )
    return "utf-8", 0


def _narrow_lines(stream: BinaryIO, offset: int, number: int, _: str) -> Iterator[Line]:
    readline = stream.readline
    while raw := readline(MAX_UNIT_BYTES + 1):
        number += 1
        ended = raw.endswith(b"\n")
        end = offset + len(raw)
        problem = None
        if len(raw) > MAX_UNIT_BYTES and not ended:
            problem = f"the line is longer than {MAX_UNIT_BYTES // 1024 // 1024} MiB"
            raw = raw[:HEAD_BYTES]
            while not ended and (more := readline(_CHUNK)):
                end += len(more)
                ended = more.endswith(b"\n")
        try:
            text = raw.decode()
        except UnicodeDecodeError as cause:
            text, mended = _decoded(raw)
            if not mended and problem is None:
                problem = f"the line is not UTF-8: {CONVERT} (byte {cause.start + 1} of the line)"
        yield Line(number, offset, end, text, problem, ended)
        offset = end


def _decoded(raw: bytes) -> tuple[str, bool]:
    """Text of bytes that are not strict UTF-8, and whether only lone surrogates stood in them."""
    try:
        return raw.decode("utf-8", "surrogatepass"), True
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), False


def _wide_lines(stream: BinaryIO, offset: int, number: int, encoding: str) -> Iterator[Line]:
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    held, dropped = "", 0
    while True:
        data = stream.read(_CHUNK)
        *whole, rest = (held + decoder.decode(data)).split("\n")
        if not data and (rest or dropped):
            whole.append(rest)
        for index, text in enumerate(whole):
            number += 1
            ended = bool(data) or index < len(whole) - 1
            end = offset + dropped + byte_length(text, encoding) + 2 * ended
            problem = f"the line is longer than {MAX_UNIT_BYTES // 1024 // 1024} MiB"
            yield Line(number, offset, end, text, problem if dropped else None, ended)
            offset, dropped = end, 0
        if not data:
            return
        held = rest
        if 2 * len(held) > MAX_UNIT_BYTES:
            dropped += byte_length(held, encoding)
            held = ""
