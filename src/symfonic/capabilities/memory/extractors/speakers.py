"""The speaker of a turn as a mention: known from the source, whatever the text says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.collaborators import Mention
from symfonic.capabilities.memory.extractors.canonical import canonical_key, shown_form
from symfonic.capabilities.memory.extractors.name_scores import SPEAKER

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Episode

_NOT_A_SPEAKER: Final = frozenset(
    "user assistant system tool human ai bot me you unknown anonymous none null admin".split()
)

_LONGEST: Final = 100
"""Characters. What is longer is a text in the wrong field, and would be shown wherever it spoke."""


def speaker_of(content: Episode) -> Mention | None:
    """A person of the speaker's name; ``None`` where that is a role, a number, a text or absent."""
    shown = shown_form(content.name) if content.name and len(content.name) <= _LONGEST else ""
    if not shown[:1].isalpha() or shown.lower() in _NOT_A_SPEAKER:
        return None
    return Mention(key=canonical_key(shown), name=shown, entity_kind="person", score=SPEAKER)
