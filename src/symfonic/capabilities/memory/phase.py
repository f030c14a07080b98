"""A phase as a value: what it is called, what it reads, and the function that proposes changes.

A phase touches no database, wall clock, environment or unseeded randomness. It is given a
:class:`~symfonic.capabilities.memory.view.View` and gives back an outcome, so a test of it needs
no store, and the dry run, the review page and the real run show the same list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symfonic.capabilities.memory.collaborators import Question, Reader
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.outcome import Declined, Ran
    from symfonic.capabilities.memory.records import Kind, Plain
    from symfonic.capabilities.memory.view import View


def ask_nothing(view: View) -> Sequence[Question]:
    """A phase that asks no collaborator about several episodes at once."""
    return ()


def takes_none(limits: RunLimits) -> int:
    """The cap of a phase that is driven by state and has no pending rows."""
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One step of the roster.

    ``reads`` names the record kinds whose new rows are pending for it; with ``reads_touched``
    a record becomes pending when a use or a mention link points at it, and with ``reads_mentions``
    an episode when a mention link of it is written. ``cap`` bounds the pending rows one pass takes,
    half newest and half oldest; 0 for a phase that is driven by state. ``window_hours`` is how far
    back it looks at uses that have not spread; the longest of a roster counts, widened by downtime.
    ``settings`` are the knobs and collaborators that take part in the input digest, and
    ``reading`` those of them that decide what a reading finds: when they change, everything the
    phase reads becomes pending again.

    ``propose`` is pure. What is slow or does not repeat exactly goes into ``reader``, which looks
    at one unread episode, or into ``ask`` and ``answer``: questions about several. The engine calls
    these while no transaction is open, and keeps what they say.
    """

    name: str
    reads: tuple[Kind, ...] = ()
    reads_touched: bool = False
    reads_mentions: bool = False
    cap: Callable[[RunLimits], int] = takes_none
    window_hours: float = 0.0
    settings: Mapping[str, Plain]
    reading: Mapping[str, Plain]
    propose: Callable[[View], Ran | Declined]
    reader: Reader | None = None
    ask: Callable[[View], Sequence[Question]] = ask_nothing
    answer: Callable[[Question], Plain] | None = None

    @property
    def is_driven_by_pending(self) -> bool:
        """Whether rows are pending for it at all."""
        return bool(self.reads) or self.reads_touched or self.reads_mentions

    @property
    def rereads(self) -> tuple[Kind, ...]:
        """The kinds of which all becomes pending again when its reading settings change."""
        return ("episode",) if self.reads_mentions else self.reads
