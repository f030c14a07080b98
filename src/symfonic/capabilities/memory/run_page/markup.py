"""HTML from parts, in which text is text: only what ``tag`` made is taken as markup.

Escaping is not left to the places that show something: a plain ``str`` is escaped wherever it goes,
and the one way to markup is :class:`Html`. Stored text also loses the characters that a page must
not hold, or with which it could turn the direction of what stands beside it.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufeff"
    "\ufffe\uffff\ud800-\udfff]"
)
_VOID: Final = frozenset({"meta", "br", "hr"})


class Html(str):
    """Finished markup. Only this module makes it of text."""

    __slots__ = ()


def clean(text: str) -> str:
    """Text without control characters, halves of characters, and marks that turn its direction."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n"))


def escaped(text: str) -> Html:
    """Text as markup that shows it, for a place between tags or in a quoted attribute."""
    return text if isinstance(text, Html) else Html(html.escape(clean(text)))


def joined(parts: Iterable[str | None], between: str = "") -> Html:
    """Parts one after the other, each escaped unless it is markup; ``None`` is left out."""
    return Html(escaped(between).join(escaped(part) for part in parts if part is not None))


def tag(name: str, /, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """An element. ``class_`` spells ``class``, and an underline in a name stands for a hyphen.

    An attribute that is ``None`` or false is left out; one that is true stands without a value.
    """
    given = []
    for key, value in attributes.items():
        spelled = key.rstrip("_").replace("_", "-")
        if value is True:
            given.append(f" {spelled}")
        elif value is not None and value is not False:
            given.append(f' {spelled}="{escaped(str(value))}"')
    opened = f"<{name}{''.join(given)}>"
    if name in _VOID:
        return Html(opened)
    return Html(f"{opened}{joined(children)}</{name}>")


def excerpt(text: str, width: int, *, around: str = "") -> str:
    """A part of a text on one line, cut between words; the beginning, or where ``around`` stands.

    What is left out is marked with an ellipsis at either end.
    """
    line = " ".join(clean(text).split())
    if len(line) <= width:
        return line
    found = re.search(re.escape(around), line, re.IGNORECASE) if around else None
    begin = 0
    if found is not None and found.end() > width - 1:
        begin = max(0, min(found.start() - width // 3, len(line) - width + 1))
        begin = line.find(" ", begin, found.start() + 1) + 1 or begin
    end = begin + width - (1 if begin else 0)
    if end < len(line):
        end = begin + width - (2 if begin else 1)
        least = max(begin + width // 2, found.end() if begin and found else 0)
        space = line.rfind(" ", least, end + 1)
        end = space if space > 0 else end
    before, after = "…" if begin else "", "…" if end < len(line) else ""
    return f"{before}{line[begin:end].strip()}{after}"


def highlighted(text: str, word: str) -> Html:
    """Text in which the first occurrence of ``word`` is marked, whatever its case."""
    found = re.search(re.escape(word), text, re.IGNORECASE) if word else None
    if found is None:
        return escaped(text)
    begin, end = found.span()
    return joined([text[:begin], tag("mark", text[begin:end]), text[end:]])
