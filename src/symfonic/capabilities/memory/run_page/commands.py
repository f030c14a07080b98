"""Commands as the page shows them: whole, and as a shell takes them."""

from __future__ import annotations

import re
import shlex
from typing import Final

from symfonic.capabilities.memory.run_page.markup import Html, tag

_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-][A-Za-z0-9_@%+=:,./#-]*")


def command(*words: str) -> Html:
    """A command of ours; a word is quoted only where it must be."""
    given = [word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words]
    return tag("code", " ".join(["symfonic-memory", *given]))


def more(number: int, *words: str) -> Html | None:
    """That there is more than is shown, and the command that shows it; ``None`` for nothing."""
    if not number:
        return None
    return tag("p", f"and {number:,} more; see ", command(*words), class_="more")
