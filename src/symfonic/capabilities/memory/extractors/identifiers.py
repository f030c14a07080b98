"""Identifiers in running text: part numbers, packages, files, code symbols.

They are names without capitals to go by, and they differ in one digit or one word, so they are
taken whole and never shortened. Versions, amounts, times and addresses are not identifiers.
"""

from __future__ import annotations

import re
from typing import Final

_FILE_ENDINGS: Final = (
    "bat|c|cfg|conf|cpp|cs|css|csv|docx|go|h|html|ini|ipynb|java|js|json|jsonl|jsx|kt|lock|log|md|"
    "parquet|pdf|php|png|pptx|proto|ps1|py|rb|rs|scss|sh|sql|sqlite|svg|swift|tf|toml|ts|tsx|txt|"
    "xlsx|xml|yaml|yml"
)
IDENTIFIER: Final = re.compile(
    rf"""
    (?<![\w@/.+-])
    (?: @[\w-]+(?:\.[\w-]+)*/[\w-]+(?:\.[\w-]+)*              # scoped package
      | (?:[\w-]++/)*+[\w-]++(?:\.[\w-]++)*?\.(?:{_FILE_ENDINGS})  # file, with its folders
      | (?:PR|MR|issue|Issue|ticket|Ticket)\ ?\#\d+            # numbered request
      | [A-Z]{{1,8}}-\d{{2,}}[A-Za-z]?(?:-\d+)?                # QLX-4471
      | [A-Z]{{2,8}}-?\d+[A-Za-z]?                             # RX4410, GPT-4
      | (?=[A-Z\d]{{5,12}}(?![A-Z\d]))(?!\d+X\d+\b)(?!(?:19|20)\d\d[A-Z]\d)
        (?:[A-Z]+\d+[A-Z]|\d+[A-Z]+\d)[A-Z\d]*               # M20IZO, 4OG6T3
      | [A-Z]{{2,6}}(?:-[A-Z0-9]{{2,8}})*-\d+                  # ACME-OPS-12
      | [a-z]+(?:[A-Z][a-z0-9]+){{1,6}}(?:\(\))?               # loadShipManifest
      | [A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?:\(\))?        # load_ship_manifest, MAX_SIZE
    )
    (?![\w@/])(?!\.\w)
    """,
    re.VERBOSE,
)
MAY_HOLD_IDENTIFIER: Final = re.compile(r"[\d_@#]|[a-z][A-Z]|\w\.[a-z]")
"""Whether a text is worth the slower search."""

_NOT_PROSE: Final = re.compile(
    r"""
    ^[ ]{0,3}(?P<fence>```+|~~~+).*?(?:^[ ]{0,3}(?P=fence)[`~]*[ ]*$|\Z)   # code fence
  | ^[ ]{0,3}\#{1,6}[ ].*?$                                                # heading
  | \b[a-zA-Z][a-zA-Z+.-]*://\S+ | \bwww\.\S+                              # address
  | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                           # mail address
  | </?[a-zA-Z][^<>\n]{0,200}>                                             # markup
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_HINTS_OF_MARKUP: Final = ("```", "~~~", "# ", "://", "www.", "@", "<")


def prose_of(text: str) -> str:
    """The text with code, headings, addresses and markup blanked out; offsets stay."""
    for hint in _HINTS_OF_MARKUP:
        if hint in text:
            return _NOT_PROSE.sub(blanked, text)
    return text


def blanked(match: re.Match[str]) -> str:
    """A lower-case filler as long as the match: what stands around it stays mid-sentence.

    Markup may touch a word on both sides; its filler does not, or the two would read as one symbol.
    """
    found = match[0]
    if found[0] == "<":
        return f" {'x' * (len(found) - 2)} "
    if "\n" in found or found.lstrip().startswith("#"):
        return "\n" * len(found)
    return "x" * len(found)
