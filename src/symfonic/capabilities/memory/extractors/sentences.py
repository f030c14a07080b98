"""Sentences of a chat message: prose is split, code is never.

Messages are not articles. A line break often ends a sentence that has no full stop, a list item
is a thought of its own, and a block of code torn in the middle would turn the rest of a page into
code. So a code block stays whole where it is short, and is replaced by a mark where it is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE_LEFT_OUT: Final = "[code left out]"
SHORT_CODE_CHARACTERS: Final = 200
SHORT_CODE_LINES: Final = 8
"""A code block up to this size, its fence lines included, is kept as it was written."""

MESSAGE_CHARACTERS: Final = 20_000
"""What is read of one message: a pasted log of a megabyte costs no more than a long mail."""

_FENCE: Final = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_BULLET: Final = re.compile(r"[-*+•]\s+(?=\S)")
_NUMBER: Final = re.compile(r"\d{1,3}[.)]\s+(?=\S)")
_EMPHASIS: Final = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]{0,200}?[^\s*])\1(?![\w*])")
_FIELD: Final = re.compile(r"[^:.!?]{1,60}:(?:\s+(?:\S+\s+){0,9}\S*[^\s.!?])?")
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+")
_RULE: Final = re.compile(r"[\s|:=_*-]+$")
_END: Final = re.compile("[.!?…]+[\"'”’»)\\]]*(?=\\s)|[。！？]+[」』”’）]*")
_WRAPPED_FROM: Final = 60
"""A line at least this long that ends in mid-sentence was wrapped, not ended."""

_ABBREVIATIONS: Final = frozenset(
    """
    mr mrs ms dr prof st sr jr vs etc e.g i.e eg ie cf approx inc ltd co corp no nr fig dept est
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun z.b bzw ca
    """.split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence, list item or line, on one line of text, and the code that followed it.

    ``code`` is a whole fenced block, the mark for one left out, or empty. ``text`` is empty where
    a message opens with code.
    """

    text: str
    code: str = ""


def sentences(message: str) -> list[Sentence]:
    """The sentences of a message in order; headings without their marks, list items with theirs."""
    found: list[Sentence] = []
    for block, is_code in _blocks(message[:MESSAGE_CHARACTERS].splitlines()):
        if not is_code:
            found += [
                Sentence(text=text) for line in _logical_lines(block) for text in _split(line)
            ]
        elif found and not found[-1].code:
            found[-1] = replace(found[-1], code=_kept_code(block))
        else:
            found.append(Sentence(text="", code=_kept_code(block)))
    return found


def bare(text: str) -> str:
    """Without bullets and marks of emphasis; a number stays, since it says in which order."""
    bullet = _BULLET.match(text)
    return _EMPHASIS.sub(r"\2", text[bullet.end() :] if bullet else text)


def is_fragment(text: str) -> bool:
    """Whether it is a field of a form, a row of a table, or what leads over to a list.

    Outside of a list or a bold label "Decision: we stay with the kiln" is a sentence.
    """
    number = _NUMBER.match(text)
    said = bare(text[number.end() :] if number else text)
    if said.endswith(":") or said.startswith("|"):
        return True
    return said != text and _FIELD.fullmatch(said) is not None


def cut(text: str, limit: int) -> str:
    """``text``, or as many whole words of it as fit into ``limit`` characters, and an ellipsis.

    Text without spaces is cut between characters.
    """
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if not text[limit - 1].isspace():
        space = max(head.rfind(" "), head.rfind("\n"))
        if space >= limit // 2:
            head = head[:space]
    return head.rstrip(" \n,;:-–") + "…"


def bounded(text: str, limit: int) -> str:
    """``text`` within ``limit`` characters, with no code block left open.

    For text that somebody else wrote: a fence that the cut, or its author, left open is replaced
    by the mark, from its first line on.
    """
    if len(text) <= limit and _fence_lines(text) % 2 == 0:
        return text
    room = limit - len(CODE_LEFT_OUT) - 1
    shorter = cut(text, room)
    if _fence_lines(shorter) % 2 == 0:
        return shorter
    lines = shorter.split("\n")
    opening = max(n for n, line in enumerate(lines) if line.lstrip().startswith("```"))
    return "\n".join([*lines[:opening], CODE_LEFT_OUT])


def _fence_lines(text: str) -> int:
    return sum(line.lstrip().startswith("```") for line in text.split("\n"))


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Runs of prose lines, and code blocks with their fence lines; one left open ends the text."""
    block: list[str] = []
    fence = ""
    for line in lines:
        opening = None if fence else _FENCE.match(line)
        if opening:
            yield block, False
            block, fence = [line], opening[2]
            continue
        block.append(line)
        bare = line.strip()
        if fence and len(bare) >= len(fence) and not bare.strip(fence[0]):
            yield block, True
            block, fence = [], ""
    yield block, bool(fence)


def _kept_code(block: list[str]) -> str:
    """The block as written where it is short and closed; its only fence lines are its own two."""
    code = "\n".join(block)
    short = len(code) <= SHORT_CODE_CHARACTERS and len(block) <= SHORT_CODE_LINES
    closed = block[-1].startswith("```") and not block[-1].strip("` \t")
    whole = closed and block[0].startswith("```") and _fence_lines(code) == 2
    return code if short and whole else CODE_LEFT_OUT


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Lines with soft wraps joined; blank lines and rules end a line and are left out."""
    held = ""
    for line in lines:
        bare = " ".join(_HEADING.sub("", line).split())
        wrapped = (
            len(held) >= _WRAPPED_FROM
            and held[-1] not in ".!?…:;。！？"
            and bare[:1].islower()
            and not _ITEM.match(line)
        )
        if wrapped:
            held = f"{held} {bare}"
            continue
        if held:
            yield held
        held = "" if _RULE.match(bare) else bare
    if held:
        yield held


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        before = line[start : end.start()]
        if end[0].startswith(".") and _is_abbreviation(before):
            continue
        yield line[start : end.end()].strip()
        start = end.end()
    rest = line[start:].strip()
    if rest:
        yield rest


def _is_abbreviation(before: str) -> bool:
    """Whether a full stop after it belongs to the last word: Dr., J., e.g., or 3. of a list."""
    words = before.split()
    if not words:
        return True
    last = words[-1].lstrip("(\"'“‘[").casefold()
    initial = len(last) == 1 and last.isalpha()
    return initial or last in _ABBREVIATIONS or (len(words) == 1 and last.isdigit())
