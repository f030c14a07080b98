"""What could not be read, kept beside the input with its line, offset and reason.

A bad line must neither stop an import nor vanish. The file is JSONL, so a mended line can be
imported by itself; it exists only while there is something in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Self, TextIO

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.normalise import prose
from symfonic.capabilities.memory.records import canonical

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

SUFFIX: Final = ".rejects.jsonl"
MAX_TEXT: Final = 2000
"""How many characters of a rejected line are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """One line or value that gave no turn. ``offset`` is in bytes, ``line`` counts from 1.

    ``text`` is its beginning, without secrets. ``zone_missing`` is true where a declared zone
    would have let it in.
    """

    line: int
    offset: int
    reason: str
    text: str = ""
    zone_missing: bool = False


def excerpt(text: str) -> str:
    """The beginning of a rejected text, cleaned and redacted as stored text is."""
    return prose(text[:MAX_TEXT], []).rstrip("\n")


def reject_path(source: Path, directory: Path | None = None) -> Path:
    """Where the rejects of ``source`` are kept: beside it, or in ``directory``.

    In a directory that several inputs share, the name also says which folder the input is in.
    """
    if directory is None:
        return source.with_name(source.name + SUFFIX)
    place = blake2b(str(source.resolve().parent).encode("utf-8", "surrogateescape"), digest_size=4)
    return directory / f"{source.name}.{place.hexdigest()}{SUFFIX}"


class RejectFile:
    """The rejects of one input, written as they come.

    A reading from the start replaces what an earlier one left, and removes it when nothing was
    rejected; a resumed reading adds what is not there. So a rerun after a kill leaves the same
    file. Use as a context manager; after an error the file stays as it is.

    Raises ``InputError`` where the file cannot be written.
    """

    def __init__(self, path: Path, *, resumed: bool = False) -> None:
        self.path = path
        self._resumed = resumed
        self._stream: TextIO | None = None
        self._known: set[tuple[int, str]] = set()

    @property
    def written(self) -> bool:
        """Whether this reading rejected anything."""
        return self._stream is not None

    def add(self, reject: Reject) -> None:
        """Write one reject, unless an interrupted reading wrote it before."""
        try:
            stream = self._stream or self._open()
            if (reject.offset, reject.reason) in self._known:
                return
            row = {
                "line": reject.line,
                "offset": reject.offset,
                "reason": reject.reason,
                "text": reject.text,
            }
            stream.write(canonical(row) + "\n")
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def flush(self) -> None:
        """Hand what was written to the system: call it before a checkpoint is kept."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._stream is not None:
                self._stream.close()
            elif kind is None and not self._resumed:
                self.path.unlink(missing_ok=True)
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _open(self) -> TextIO:
        if self._resumed and self.path.exists():
            self._known = _read_keys(self.path)
        self._stream = self.path.open("a" if self._resumed else "w", encoding="utf-8", newline="\n")
        if self._resumed and self._stream.tell() and not _ends_whole(self.path):
            self._stream.write("\n")
        return self._stream

    def _unwritable(self, cause: OSError) -> InputError:
        return InputError(
            f"The rejects cannot be written to {self.path}: {cause.strerror}. "
            "Name another folder for them.",
            path=str(self.path),
        )


def _read_keys(path: Path) -> set[tuple[int, str]]:
    keys: set[tuple[int, str]] = set()
    with path.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                row = json.loads(line)
                keys.add((row["offset"], row["reason"]))
            except (ValueError, TypeError, KeyError):
                continue  # a line that a kill cut off
    return keys


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read(1) == b"\n"
