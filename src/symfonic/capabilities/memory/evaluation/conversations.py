"""A conversation and the questions about it, whatever file they come from.

Every id is a number made here. The names that a set gives its sessions and turns may say which of
them hold an answer, and a name that memory never sees cannot help it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.records import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn. ``id`` and ``session`` count from 1 in the conversation, ``position`` from 0.

    ``text`` is what memory is given and every way of asking looks through: ``speaker: text
    [photo: caption]``, without what the turn does not have. ``at`` is the time that the file
    states, which for many sets is that of the whole session.
    """

    id: str
    session: str
    position: int
    text: str
    speaker: str | None = None
    role: Role = "user"
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question. ``gold`` are the turns that hold its answer, ``gold_sessions`` the sessions.

    Where ``adversarial``, the conversation does not answer it, and it is measured apart.
    ``missing`` counts gold turns that the file names and does not hold. ``at`` is when it was
    asked, where the file says so.
    """

    text: str
    category: str
    gold: frozenset[str] = frozenset()
    gold_sessions: frozenset[str] = frozenset()
    adversarial: bool = False
    missing: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The ``number``-th conversation of a file, from 1, with its turns in the file's order."""

    number: int
    turns: tuple[Said, ...]
    questions: tuple[Asked, ...]

    @property
    def ended(self) -> datetime | None:
        """The latest time that a turn states; ``None`` where none does."""
        return max((turn.at for turn in self.turns if turn.at is not None), default=None)


def spoken(text: str, speaker: str | None = None, caption: str | None = None) -> str:
    """A turn as one text: who speaks, what is said, and what a picture shown with it shows."""
    said = text if caption is None else f"{text} [photo: {caption}]"
    return said if speaker is None else f"{speaker}: {said}"


def sessions_of(turns: Mapping[str, Said], gold: frozenset[str]) -> frozenset[str]:
    """The sessions in which some turns, named by id, were said."""
    return frozenset(turns[turn].session for turn in gold)
