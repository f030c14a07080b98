"""What stood before calls were made: what users asked for, and what was told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.calls import names_of
from symfonic.capabilities.memory.records import Episode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.phases.procedure_drafts import Occurrence
    from symfonic.capabilities.memory.records import Record, RecordId
    from symfonic.capabilities.memory.view import View

_REQUESTS_PER_PATTERN: Final = 25
_TURNS_BEFORE: Final = 16
"""How far back it is looked for what was asked for, and whether a value was told: an agent asks who
it is and what else before it acts."""


def turns_before(
    view: View, occurrences: Mapping[str, Sequence[Occurrence]]
) -> dict[RecordId, list[Record]]:
    """What stood before the first and the last call of the newest occurrences of each pattern."""
    ends = {
        end.id: end
        for key, found in occurrences.items()
        if names_of(key)
        for each in found[-_REQUESTS_PER_PATTERN:]
        for end in (each.episodes[0], each.episodes[-1])
    }
    return view.before(list(ends.values()), count=_TURNS_BEFORE) if ends else {}


def requests_in(
    found: Sequence[Occurrence], before: Mapping[RecordId, Sequence[Record]]
) -> list[Record]:
    """What users said before the first call of each occurrence."""
    turns = [turn for each in found for turn in before.get(each.episodes[0].id, ())]
    return list({turn.id: turn for turn in turns if _is_request(turn)}.values())


def with_said(each: Occurrence, before: Mapping[RecordId, Sequence[Record]]) -> Occurrence:
    """The occurrence with what stood in the turns before its calls."""
    turns = [turn for end in each.episodes for turn in before.get(end.id, ())]
    return replace(each, said="\n".join(turn.text for turn in turns).casefold())


def _is_request(turn: Record) -> bool:
    content = turn.content
    return isinstance(content, Episode) and content.role == "user" and bool(turn.text.strip())
