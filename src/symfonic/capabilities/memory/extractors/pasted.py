"""Blocks in which a client puts memory, context or instructions into a turn.

What memory said is no evidence for what memory holds: a fact would confirm itself each time it is
recalled. So nothing that counts, links, sums up or learns reads these blocks. They are stored.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

TAG: Final = re.compile(
    r"<(?P<closing>/?)(?P<name>[\w-]{0,40}"
    r"(?:memor|recall|context|system|remind|instruct|summar)[\w-]{0,40})"
    r"(?:\s[^<>]{0,500})?(?<!/)>",
    re.IGNORECASE,
)
"""A tag that names memory, context or instructions."""


def without_pasted(text: str) -> str:
    """The text without blocks such as ``<memory>…</memory>``; the same object where there is none.

    A block that is not closed goes to the end where its tag begins a line: it was cut off. Within a
    line such a tag is only spoken of.
    """
    tags = list(TAG.finditer(text)) if "<" in text else []
    closings: dict[str, list[re.Match[str]]] = {}
    for tag in tags:
        if tag["closing"]:
            closings.setdefault(tag["name"].lower(), []).append(tag)
    kept: list[str] = []
    begin = 0
    for tag in tags:
        if tag["closing"] or tag.start() < begin:
            continue
        same = closings.get(tag["name"].lower(), [])
        following = bisect_right(same, tag.start(), key=lambda one: one.start())
        if following < len(same):
            end = same[following].end()
        elif not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip():
            end = len(text)
        else:
            continue
        kept.append(text[begin : tag.start()])
        begin = end
    return "\n".join([*kept, text[begin:]]) if kept else text
