"""An export as lines: what its first line says, the rows, and a last line that vouches for them.

The last line holds how many rows there are and a digest of all that stands before it. The digest is
of the values and not of the bytes: how a line is spaced or escaped makes no difference.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.records import canonical
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

FORMAT: Final = "symfonic-memory"
VERSION: Final = 1


def framed(scope: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The lines of an export of a scope's rows."""
    number, header = 0, {"format": FORMAT, "version": VERSION, "scope": scope}
    digest = _Digest(header)
    yield header
    for row in rows:
        number += 1
        digest.add(row)
        yield row
    yield {"end": True, "rows": number, "digest": digest.text}


def parsed(stream: IO[bytes], file: str) -> Iterator[dict[str, Any]]:
    """The lines of a file as objects. Raises ``InputError`` naming the line that is none."""
    try:
        for number, line in enumerate(stream, start=1):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as cause:
                raise damaged(file, f"line {number} is not JSON") from cause
            if not isinstance(value, dict):
                raise damaged(file, f"line {number} is not an object")
            yield value
    except OSError as cause:
        raise damaged(file, cause.strerror or str(cause)) from cause


def checked(header: Mapping[str, Any], file: str) -> str:
    """The scope that the first line names. Raises ``InputError`` where it is no export's."""
    if header.get("format") != FORMAT:
        raise InputError(
            f"{file} is no symfonic export: its first line does not say so. Log files are read "
            "with 'symfonic-memory ingest'.",
            path=file,
        )
    version = header.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{file} is an export of version {version!r:.40}, and this release reads version "
            f"{VERSION}. Import it with the release that wrote it, or a newer one.",
            path=file,
            version=version,
        )
    scope = header.get("scope")
    return Scope(scope if isinstance(scope, str) else "").path


def rows_of(
    lines: Iterator[dict[str, Any]],
    file: str,
    step: Callable[[int], None],
    *,
    vouched: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows between the first line and the last; an export without its last line is refused.

    With ``vouched``, the first line, they must be the rows that were exported, by the digest of the
    last line. ``step`` is told how many there were so far. Raises ``InputError``, where the digest
    differs after the last row: take nothing for good before it has ended.
    """
    number, digest = 0, None if vouched is None else _Digest(vouched)
    for line in lines:
        if "end" in line:
            if line.get("rows") != number:
                raise damaged(
                    file, f"line {number + 2} says {line.get('rows')} rows and it holds {number}"
                )
            if digest is not None:
                _compare(line, digest.text, file, number + 2)
            if next(lines, None) is not None:
                raise damaged(file, f"line {number + 3} goes on after its last line")
            return
        number += 1
        step(number)
        if digest is not None:
            digest.add(line)
        yield line
    rows = f"{number:,} row{'' if number == 1 else 's'}"
    raise damaged(file, f"line {number + 1} is its last; it breaks off after {rows}")


def _compare(line: Mapping[str, Any], found: str, file: str, number: int) -> None:
    if "digest" not in line:
        raise InputError(
            f"Line {number} of the export {file} holds no digest: an earlier release wrote it, so "
            "nobody can say whether it is as it was exported. Export anew, or bring it in with "
            "'symfonic-memory import', which takes no decision on trust. Nothing was written.",
            path=file,
            line=number,
        )
    if line["digest"] != found:
        raise damaged(
            file, f"the digest on line {number} is not that of the lines before it: one was edited"
        )


def damaged(file: str, problem: str) -> InputError:
    """The error for an export that is not whole."""
    return InputError(f"The export {file} is damaged: {problem}. Nothing was written.", path=file)


class _Digest:
    """A digest of lines by their values, in their order."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self._hash = blake2b(digest_size=32)
        self.add(header)

    def add(self, line: Mapping[str, Any]) -> None:
        self._hash.update(canonical(dict(line)).encode("utf-8", "surrogatepass") + b"\n")

    @property
    def text(self) -> str:
        return self._hash.hexdigest()
