"""The conversations inside the zip archive that a chat export is delivered as.

Nobody should have to unpack an archive by hand to import it. What is read needs a second look
and byte offsets, so the member is unpacked to a temporary file, as a pipe is.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from symfonic.capabilities.memory.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK: Final = b"PK\x03\x04"
MAX_UNPACKED_BYTES: Final = 16 * 1024 * 1024 * 1024
"""The largest export that is unpacked: a hostile archive of a megabyte can hold more."""

_MEMBER: Final = re.compile(r"(?:.*/)?conversations(?:[-_ ]?\d{1,5})?\.json")
_CHUNK: Final = 1024 * 1024
_SPACE: Final = b" \t\r\n"


def unpacked(stream: BinaryIO, name: str) -> BinaryIO:
    """The ``conversations.json`` of an archive, from its beginning; ``stream`` is closed.

    A large export is cut into numbered files: they come as the one list that they are.

    Raises ``InputError`` for an archive that holds none, is broken or is locked.
    """
    spooled = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
    try:
        with stream, zipfile.ZipFile(stream) as archive:
            members = _members(archive, name)
            for number, member in enumerate(members):
                with archive.open(member) as held:
                    _append(held, spooled, joined=number > 0)
        spooled.seek(0)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as cause:
        spooled.close()
        raise InputError(
            f"{name} is a zip archive that cannot be unpacked ({cause}). "
            "Unpack it and ingest the conversations.json in it.",
            path=name,
        ) from cause
    except BaseException:
        spooled.close()
        raise
    return spooled


def _members(archive: zipfile.ZipFile, name: str) -> Sequence[zipfile.ZipInfo]:
    found = [
        info
        for info in archive.infolist()
        if _MEMBER.fullmatch(info.filename) and not info.filename.startswith("__MACOSX/")
    ]
    if not found:
        raise InputError(
            f"{name} is a zip archive without a conversations.json. "
            "Unpack it and ingest the files in it.",
            path=name,
            found="a zip archive",
        )
    size = sum(info.file_size for info in found)
    if size > MAX_UNPACKED_BYTES:
        raise InputError(
            f"{name} would unpack to {size:,} bytes, which is more than is unpacked here. "
            "Unpack it and ingest the conversations.json in it.",
            path=name,
        )
    folder = min((info.filename.rpartition("/")[0] for info in found), key=lambda f: (len(f), f))
    return sorted(
        (info for info in found if info.filename.rpartition("/")[0] == folder),
        key=lambda info: info.filename,
    )


def _append(held: IO[bytes], spooled: BinaryIO, *, joined: bool) -> None:
    """Copy a member; of a list that goes on, the brackets between its files become a comma."""
    data = held.read(_CHUNK)
    if joined:
        opened = data.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
        data = opened[1:].lstrip(_SPACE) if opened.startswith(b"[") else opened
        ended = _cut(spooled)
        if not data.startswith(b"]") and ended != b"[":
            spooled.write(b",")
    while data:
        spooled.write(data)
        data = held.read(_CHUNK)


def _cut(spooled: BinaryIO) -> bytes:
    """Take the closing bracket off what was written; the character that it then ends with."""
    end = spooled.seek(0, 2)
    begin = max(0, end - _CHUNK)
    spooled.seek(begin)
    kept = spooled.read().rstrip(_SPACE).removesuffix(b"]").rstrip(_SPACE)
    spooled.seek(begin + len(kept))
    spooled.truncate()
    return kept[-1:]
