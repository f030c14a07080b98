"""What one maintenance run may cost.

The learning policy caps some phases itself. The other caps stand here, because who sets them
looks at time and memory and not at what is learned. What a cap leaves is counted, and a later pass
reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.knobs import Number, Range, Whole, kept

if TYPE_CHECKING:
    from collections.abc import Mapping

_COUNT = Whole(at_least=1)

RANGES: Mapping[str, Range] = {
    "max_passes": _COUNT,
    "promotion_max_episodics_per_run": _COUNT,
    "cooccurrence_max_episodics_per_run": _COUNT,
    "strengthen_max_records_per_run": _COUNT,
    "expire_max_records_per_run": _COUNT,
    "summarize_max_batches_per_run": _COUNT,
    "spread_hops": Whole(at_least=0),
    "hub_degree": _COUNT,
    "uses_per_record": _COUNT,
    "history_per_key": _COUNT,
    "max_hidden_share": Number(at_least=0, at_most=1),
}
"""What each field may hold, in field order. Ranges are written here and nowhere else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLimits:
    """Caps on passes, and on what a phase reads and walks over in one pass.

    Raises ``PolicyError`` naming the field, the value and the range.
    """

    max_passes: int = 60
    """How often one sleep repeats its pass while a backlog is left.
    Passes: a whole number, at least 1. At the default cap of the entity linker, ten thousand new
    turns take fifty.
    """

    promotion_max_episodics_per_run: int = 1000
    """How many unread episodes one pass reads for procedures.
    Episodes: a whole number, at least 1. Reading them for patterns is cheap: a busy day fits one
    pass.
    """

    cooccurrence_max_episodics_per_run: int = 2000
    """How many episodes with new mentions one pass of ``link_cooccurring`` takes up.

    Episodes: a whole number, at least 1. Ten times what the entity linker reads in one pass by
    default: one new name brings the windows of its earlier mentions along.
    """

    strengthen_max_records_per_run: int = 2000
    """How many touched records one pass strengthens. Records: a whole number, at least 1.
    Twice the episodes that a pass reads for procedures, since one turn touches several records.
    """

    expire_max_records_per_run: int = 2000
    """How many records one pass archives. Records: a whole number, at least 1.

    A pass stays small enough to look through; what is left is archived by the next.
    """

    summarize_max_batches_per_run: int = 20
    """How many summaries one pass writes. Summaries: a whole number, at least 1.
    At the default batch size these stand for a thousand episodes.
    """

    spread_hops: int = 2
    """How many links away from a used record its use still spreads; 0 keeps it where it is.
    Links: a whole number, at least 0. Two: from a name to an episode and on to who else was there;
    beyond that nearly everything is connected.
    """

    hub_degree: int = 50
    """To how many neighbours of one record a use spreads, the strongest links first, and of how
    many of a name's newest windows ``link_cooccurring`` counts who else stands there.
    Neighbours or windows: a whole number, at least 1. Fifty: a share split further moves nothing,
    and a hub would make a run's cost follow what is stored.
    """

    uses_per_record: int = 64
    """How many of the latest hours in which a record was used or mentioned count for its strength.
    Hours with use: a whole number, at least 1. Sixty-four recent ones already read as a strength
    of 1 to nine decimals, and older ones have faded.
    """

    history_per_key: int = 200
    """How many earlier sightings of a newly promoted name or pattern are brought along as evidence.
    Sightings: a whole number, at least 1. Far above every default threshold, and a hub name stays
    affordable.
    """

    max_hidden_share: float = 0.2
    """Which part of what recall can find one phase of a sleep may hide without being asked.

    Share: a number from 0 to 1. Above it the phase is held as a plan for a person to apply or
    drop, and the rest of the run lands. A fifth: no ordinary night hides so much, and a wrong knob
    does. Scopes of fewer than twenty visible records are not guarded.
    """

    def __post_init__(self) -> None:
        for name, allowed in RANGES.items():
            object.__setattr__(self, name, kept(name, getattr(self, name), allowed))
