"""The key that spellings of one name share, and the form in which a name is shown.

Folding is the same on every machine: the host's locale takes no part. Dotted and dotless i are
one letter here, because lower-casing "YILDIZ" and "İpek" any other way gives three keys for one
person.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_MARKS: Final = re.compile("[\u0300-\u036f]")
"""Accents of Latin, Greek and Cyrillic letters; vowel signs of other scripts count as letters."""

_FOLDED: Final = str.maketrans({
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe",
    "’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-", "–": "-", "—": "-",
})  # fmt: skip


def canonical_key(name: str) -> str:
    """The name as compared: compatibility forms, case, accents and spacing folded away.

    Digits and punctuation stay, so that part numbers, packages and files remain apart.
    """
    if name.isascii():
        return " ".join(name.lower().split())
    folded = unicodedata.normalize("NFKC", name).casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", folded))
    return " ".join(unicodedata.normalize("NFC", bare.translate(_FOLDED)).split())


def shown_form(name: str) -> str:
    """The name with composed letters and single spaces; a mark that joins no letter is dropped."""
    if name.isascii():
        return " ".join(name.split())
    return " ".join(_MARKS.sub("", unicodedata.normalize("NFC", name)).split())
