"""The one place that knows which phases a run has, and in what order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.phases.expire import expire
from symfonic.capabilities.memory.phases.link_cooccurring import link_cooccurring
from symfonic.capabilities.memory.phases.link_entities import link_entities
from symfonic.capabilities.memory.phases.promote_procedures import promote_procedures
from symfonic.capabilities.memory.phases.strengthen import strengthen
from symfonic.capabilities.memory.phases.summarise import summarise
from symfonic.capabilities.memory.store import Subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.collaborators import Collaborators
    from symfonic.capabilities.memory.phase import Phase

LIGHT: Final = frozenset({"link_entities", "strengthen", "expire"})
"""The phases of a LIGHT run: those that cost little enough to run between two turns."""


def consolidation_phases(
    *,
    lookback_hours: float,
    spreading_weight: float,
    episodic_max_entries: int,
    episodic_summarize_batch: int,
    entity_min_mention_count: int,
    entity_max_episodics_per_run: int,
    entity_confidence_threshold: float,
    procedural_model_name: str,
    collaborators: Collaborators,
) -> tuple[Phase, ...]:
    """The whole roster of a DEEP run, in order: each phase sees what the ones before it propose.

    Takes exactly what ``LearningPolicy.as_phase_kwargs`` gives. A phase whose collaborator was not
    composed is there all the same and declines, so that a report names it.

    Raises ``PolicyError`` for a value out of its range.
    """
    missing = collaborators.missing
    return (
        link_entities(
            collaborators.entity_extractor,
            entity_min_mention_count=entity_min_mention_count,
            entity_max_episodics_per_run=entity_max_episodics_per_run,
            entity_confidence_threshold=entity_confidence_threshold,
            missing=missing.get("link_entities", ""),
        ),
        strengthen(spreading_weight=spreading_weight, lookback_hours=lookback_hours),
        link_cooccurring(collaborators.cooccurrence_rule),
        expire(),
        summarise(
            collaborators.summarizer,
            lookback_hours=lookback_hours,
            episodic_max_entries=episodic_max_entries,
            episodic_summarize_batch=episodic_summarize_batch,
        ),
        promote_procedures(
            collaborators.procedure_rule,
            collaborators.proposer_rule,
            procedural_model_name=procedural_model_name,
            missing=missing.get("promote_procedures", ""),
        ),
    )


def subscriptions_of(phases: Sequence[Phase]) -> tuple[Subscription, ...]:
    """Which new rows are pending for which phase, for whoever writes rows."""
    return tuple(
        Subscription(
            phase=phase.name,
            reads=phase.reads,
            reads_touched=phase.reads_touched,
            reads_mentions=phase.reads_mentions,
            context=0 if phase.reader is None else phase.reader.context,
        )
        for phase in phases
        if phase.is_driven_by_pending
    )
