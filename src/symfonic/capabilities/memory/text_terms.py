"""What the text index is given for a record, and what a question asks of it.

The index cuts text at everything that is no letter or digit, lower-cases and stems. That alone
loses ``loadShipManifest`` for who asks for "ship manifest", Japanese for everybody, and half of
Turkish; and a question handed to it raw is a syntax error or means something else. Both sides
pass through this module, so that they agree on what a word is.
"""

from __future__ import annotations

import re
import unicodedata
from operator import add
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symfonic.capabilities.memory.records import Plain, ToolCall

LONG_TEXT: Final = 20_000
"""Characters from which a text is indexed by its distinct pieces only: a log repeats its words."""
MOST_INDEXED: Final = 1_000_000
"""Characters of distinct pieces that are indexed at most, half from head and tail each."""
CALL_RESULT: Final = 2_000
"""Characters of a tool call's result that are indexed: a result is data, mostly, and not talk."""
CALL_ARGUMENT: Final = 500
CALLS_TEXT: Final = 8_000
"""Characters that all calls of one turn put into the index at most."""

_ENCODED: Final = re.compile(
    r"[A-Za-z0-9+/_=-]{201,}|(?:[A-Za-z0-9+/]{60,80}\r?\n){3,}[A-Za-z0-9+/=]*"
)
_SEPARATOR: Final = re.compile(r"[-/_+=\s]+")
_LONGEST_PIECE: Final = 20
_BOUNDARY: Final = re.compile(r"[a-z][A-Z0-9]|[0-9][A-Za-z]|[A-Z](?:[0-9]|[A-Z][a-z])")
SPLIT: Final = re.compile(
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9]|[A-Z][a-z])|(?<=[0-9])(?=[A-Za-z])"
)
_PIECE: Final = re.compile(r"\S+")
_LONG_PIECE: Final = re.compile(r"[^\s,;\"'{}()\[\]<>、。，；！？]+")
_MARKS: Final = re.compile("[\u0300-\u036f]+")
_LETTERS: Final = str.maketrans(
    {"ß": "ss", "ẞ": "ss", "ı": "i", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d",
     "Đ": "D", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th", "ð": "d",
     "Ð": "D", "’": "'", "‘": "'", "\u00ad": "", "\u200b": "", "\ufeff": ""}
)  # fmt: skip
UNSPACED_RANGES: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3105-\u318f\u31f0-\u31ff"  # kana, bopomofo, jamo
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # ideographs, hangul
    "\U00020000-\U0003ffff"
)
UNSPACED: Final = re.compile(f"[{UNSPACED_RANGES}]+")
"""A run of a script that is written without spaces, or whose particles hang on to its words."""


def index_text(text: str) -> str:
    """What the full-text index is given for ``text``: folded, with other readings put beside.

    A word in camel case, or of letters and digits, is followed by its parts; a run of Chinese,
    Japanese, Korean, Thai, Lao, Burmese or Khmer by its single characters and pairs. Longer
    texts than ``LONG_TEXT`` are indexed by their distinct pieces, and encoded runs of more than
    200 characters (base64, hexadecimal) not at all.
    """
    if len(text) > LONG_TEXT:
        return _long_text(text)
    if len(text) > 200:
        text = _ENCODED.sub(_without_encoded, text)
    if not text.isascii():
        text = fold(text)
        text = UNSPACED.sub(_with_pairs, text)
    if _BOUNDARY.search(text) is None:
        return text
    return _PIECE.sub(_with_parts, text)


def fold(text: str) -> str:
    """``text`` without the differences that a reader does not mean: accents, ligatures, widths.

    Compatibility forms become ordinary ones, Latin, Greek and Cyrillic letters lose their marks,
    and letters without a decomposition (ß, ı, ø, ł, æ) their usual replacement. Case stays.
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text).translate(_LETTERS)
    return unicodedata.normalize("NFC", _MARKS.sub("", text))


def call_text(calls: Iterable[ToolCall]) -> str:
    """The words of tool calls for the index: names, argument values and the head of results.

    Bounded by ``CALL_ARGUMENT`` for each value, ``CALL_RESULT`` for each result and
    ``CALLS_TEXT`` for all: ten turns of file listings must not make the index larger than the talk.
    """
    words: list[str] = []
    for call in calls:
        words.append(call.name)
        words.extend(value[:CALL_ARGUMENT] for value in _values(call.arguments))
        if call.result:
            words.append(call.result[:CALL_RESULT])
    return "\n".join(words)[:CALLS_TEXT]


def searchable(text: str, calls: Sequence[ToolCall] = ()) -> str:
    """All that the index holds for a record: its text and, for a turn, the words of its calls."""
    return index_text(f"{text}\n{call_text(calls)}" if calls else text)


def parts(word: str) -> list[str]:
    """The parts of a word at changes of case and between letters and digits, in order."""
    return SPLIT.split(word)


def pairs(run: str) -> list[str]:
    """The overlapping pairs of characters of an unspaced run; the run itself if it is one."""
    letters = [letter for letter in run if letter.isalnum()]
    return letters if len(letters) < 2 else list(map(add, letters, letters[1:]))


def _values(value: Plain) -> Iterator[str]:
    """The leaves of a call's arguments as text, mappings in the order of their keys."""
    match value:
        case dict():
            for key in sorted(value):
                yield from _values(value[key])
        case list():
            for item in value:
                yield from _values(item)
        case None | bool():
            return
        case _:
            yield str(value)


def _without_encoded(match: re.Match[str]) -> str:
    """A space for an encoded run; a long path or slug, whose pieces are short, stays."""
    run = match.group()
    pieces = [piece for piece in _SEPARATOR.split(run) if piece]
    encoded = not pieces or sum(map(len, pieces)) / len(pieces) > _LONGEST_PIECE
    return " " if encoded else run


def _with_pairs(match: re.Match[str]) -> str:
    """The run, its characters and its pairs, each once; a sentence is no word and is left out."""
    run = match.group()
    if len(run) == 1:
        return f" {run} "
    found = dict.fromkeys([run] if len(run) <= _LONGEST_PIECE else [])
    found.update(dict.fromkeys(letter for letter in run if letter.isalnum()))
    found.update(dict.fromkeys(pairs(run)))
    return " " + " ".join(found) + " "


def _with_parts(match: re.Match[str]) -> str:
    piece = match.group()
    split = SPLIT.sub(" ", piece)
    return piece if split == piece else f"{piece} {split}"


def _long_text(text: str) -> str:
    """The distinct pieces of a long text in order of first appearance, expanded and bounded."""
    text = fold(_ENCODED.sub(_without_encoded, text))
    found: dict[str, None] = {}
    for piece in dict.fromkeys(_LONG_PIECE.findall(text)):
        expanded = UNSPACED.sub(_with_pairs, piece)
        if _BOUNDARY.search(piece) is not None:
            found[_with_parts_of(expanded)] = None
        elif expanded is not piece:
            found.update(dict.fromkeys(expanded.split()))
        else:
            found[piece] = None
    joined = " ".join(found)
    if len(joined) <= MOST_INDEXED:
        return joined
    half = MOST_INDEXED // 2
    return joined[:half] + " " + joined[-half:]


def _with_parts_of(piece: str) -> str:
    return _PIECE.sub(_with_parts, piece)
