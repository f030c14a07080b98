"""What memory forgets, and when.

Beside the learning policy rather than in it, because other people tune it for other reasons: how
long things are kept is a question of law and of trust, how much is learned a question of quality.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.knobs import Number, Range, Whole, kept

if TYPE_CHECKING:
    from collections.abc import Mapping

RANGES: Mapping[str, Range] = {
    "half_life_days": Number(at_least=1, at_most=100_000),
    "archive_threshold": Number(at_least=0, at_most=1),
    "grace_days": Whole(at_least=1),
    "working_memory_hours": Whole(at_least=1),
    "undo_days": Whole(at_least=1),
    "episode_days": Whole(at_least=1, optional=True),
}
"""What each field may hold, in field order. Ranges are written here and nowhere else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionPolicy:
    """How fast strength fades, and what may be archived. Nothing here deletes.

    Raises ``PolicyError`` naming the field, the value and the range.
    """

    half_life_days: float = 30.0
    """The time in which a use loses half of its weight.
    Days: a number from 1 to 100000.
    A month: what was used weekly stays strong, and what was used once fades within a season.
    """

    archive_threshold: float = 0.05
    """The strength below which a derived record may be archived.
    Share: a number from 0 to 1. At the default half-life a single use falls below it after 113
    days.
    """

    grace_days: int = 30
    """How long a weak record, or a fact past its end, is still kept in recall after it was last
    used, recorded or changed. Days: a whole number, at least 1. A month, so that nothing goes
    before somebody had the time to miss it.
    """

    working_memory_hours: int = 24
    """How long a working note lives that states no expiry of its own.
    Hours: a whole number, at least 1. A day: notes belong to the work at hand.
    """

    undo_days: int = 30
    """How long before-images and recorded inputs are kept, so that a run can be undone or replayed.
    Days: a whole number, at least 1. A month is long enough to notice what a night did, and bounds
    what the history takes up.
    """

    episode_days: int | None = None
    """The age from which episodes are archived. Days: a whole number, at least 1, or none.
    None: what people said is never hidden by age alone unless a deployment asks for it.
    """

    def __post_init__(self) -> None:
        for name, allowed in RANGES.items():
            object.__setattr__(self, name, kept(name, getattr(self, name), allowed))
