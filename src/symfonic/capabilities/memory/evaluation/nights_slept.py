"""A conversation slept over: maintenance as if it had come in day by day."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Unpack

from symfonic.capabilities.memory.errors import PhaseFailed
from symfonic.capabilities.memory.evaluation.ways_of_asking import scope_of
from symfonic.capabilities.memory.nights import Nights

if TYPE_CHECKING:
    from symfonic.capabilities.memory.evaluation.conversations import Conversation
    from symfonic.capabilities.memory.operations.runs import RunOptions
    from symfonic.capabilities.memory.service import Memory

UNDATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When a conversation ended whose turns state no time."""


def end_of(conversation: Conversation) -> datetime:
    """When a conversation ended: the latest time that a turn states."""
    return conversation.ended or UNDATED


def nights_of(conversation: Conversation, count: int) -> list[datetime]:
    """The last ``count`` nights before which something new was said; none where nothing was.

    Of the others nothing could be learnt but what time itself makes due. What is older than the
    first falls to it.
    """
    end, calendar = end_of(conversation), Nights()
    times = {turn.at or end for turn in conversation.turns if turn.text.strip()}
    found = {night for at in times if (night := calendar.first_from(at)) is not None}
    return sorted(found)[-count:]


def sleep_through(
    memory: Memory, conversation: Conversation, count: int, **options: Unpack[RunOptions]
) -> list[datetime]:
    """Sleep in each of the last ``count`` nights, in order; when that was.

    Raises ``PhaseFailed`` where a phase failed: what was measured after it would mean nothing.
    """
    nights = nights_of(conversation, count)
    if not nights:
        return []
    report = memory.backfill(
        scope=scope_of(conversation), since=nights[0], until=nights[-1], **options
    )
    if report.failed:
        failed = report.failed[0]
        raise PhaseFailed(
            f"{failed.name} failed on conversation {conversation.number}: {failed.reason}",
            phase=failed.name,
        )
    return [night.clock for night in report.nights]
