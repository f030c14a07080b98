"""The one door through which foreign text enters: encodable, NFC, without bytes or secrets.

A lone surrogate stops SQLite and every encoder behind it, a NUL cuts text short, and one word in
two compositions is two words to an index. Each source passes here, so no reader has to remember.
Every function gives the same result when it is applied to its own result.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.redact import names_secret, redact

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Plain

MAX_DEPTH: Final = 64
"""How deep arguments may nest; deeper ones are a reject, because encoding them recurses."""

_MAX_BITS: Final = 10_000  # Python refuses to write longer integers in decimal
_REPLACEMENT: Final = "\ufffd"
_TERMINAL: Final = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]{0,4}[@-~]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_TO_LINES: Final = {ord("\x0b"): "\n", ord("\x0c"): "\n", ord("\r"): "\n", 0: _REPLACEMENT}
_MENDED: Final = {**dict.fromkeys([*range(1, 9), *range(14, 32), 127]), **_TO_LINES}
_DATA_URI: Final = re.compile(
    r"data:(?P<kind>[A-Za-z0-9.+-]{1,80}/[A-Za-z0-9.+-]{1,80})?(?:;[A-Za-z0-9.+-]{1,80}=[^;,\s\"']{0,200}){0,8}"
    r";base64,(?P<payload>[A-Za-z0-9+/=_%-]+)"
)


def clean(text: str) -> str:
    """``text`` as storable text: encodable UTF-8, NFC, lines ended by a line feed.

    NUL and lone surrogates become U+FFFD, a surrogate pair becomes its character, and other
    control characters, with terminal colour codes, are dropped.
    """
    if text.isascii():
        if text.isprintable() or _CONTROL.search(text) is None:
            return text
        return _without_controls(text)
    if _CONTROL.search(text) is not None:
        text = _without_controls(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass")
        text = paired.decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", text)


def label(text: str) -> str:
    """A name as storable text: of a session, a speaker, a tool; cleaned, and without secrets."""
    return redact(clean(text))


def prose(text: str, flags: list[str]) -> str:
    """Cleaned text of a message, without inline bytes and secrets.

    What was mended is added to ``flags``: ``replaced_characters``, ``attachment``, ``redacted``.
    """
    cleaned = clean(text)
    if cleaned is not text and cleaned.count(_REPLACEMENT) > text.count(_REPLACEMENT):
        flags.append("replaced_characters")
    if "base64," in cleaned:
        cleaned, found = _DATA_URI.subn(_mark_of, cleaned)
        if found:
            flags.append("attachment")
    redacted = redact(cleaned)
    if redacted is not cleaned and redacted != cleaned:
        flags.append("redacted")
    return redacted


def plain(value: object, flags: list[str], depth: int = 0) -> Plain:
    """``value`` as JSON can hold it, with all its text cleaned as :func:`prose` does.

    Numbers that JSON has no form for become text. A secret under a telling name is redacted
    whatever it looks like.

    Raises ``ValueError`` where it nests deeper than ``MAX_DEPTH``.
    """
    if isinstance(value, str):
        return prose(value, flags)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _MAX_BITS else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return _plain_object(value, flags, depth)
    if isinstance(value, (list, tuple)):
        return [plain(each, flags, depth + 1) for each in value]
    return prose(str(value), flags)


def _plain_object(value: dict[Any, Any], flags: list[str], depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, held in value.items():
        name = prose(str(key), flags)
        kept = plain(held, flags, depth + 1)
        if isinstance(kept, str) and names_secret(name, kept):
            kept = "[redacted: secret]"
            flags.append("redacted")
        result[name] = kept
    return result


def _without_controls(text: str) -> str:
    text = _TERMINAL.sub("", text) if "\x1b" in text else text
    return text.replace("\r\n", "\n").translate(_MENDED)


def _mark_of(match: re.Match[str]) -> str:
    payload = match["payload"].rstrip("=")
    return f"[data:{match['kind'] or 'text/plain'}, {len(payload) * 3 // 4} bytes]"
