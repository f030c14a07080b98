"""What a maintenance run learns, and from how much evidence: nineteen knobs.

A frozen value rather than settings read here and there, because a run must be repeatable: the same
policy, clock and input give the same changes. It needs the standard library only, so that a
maintenance job is configured without loading a database, a model or an agent.

``symfonic.capabilities.memory.policy`` is a public import path. Field names, their order and their
defaults do not move; the numbers in older names are spelling and say nothing about order.
What to forget is in ``retention``, what one run may cost in ``limits``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.knobs import Flag, Number, Range, Text, Whole, kept

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOURS = Whole(at_least=1)
_COUNT = Whole(at_least=1)
_DRAFTS = Whole(at_least=0)
_SHARE = Number(at_least=0, at_most=1)

RANGES: Mapping[str, Range] = {
    "lookback_hours": _HOURS,
    "promotion_min_pattern_count": _COUNT,
    "promotion_recency_days": _COUNT,
    "promotion_max_drafts_per_run": _DRAFTS,
    "promotion_use_tool_calls_fallback": Flag(),
    "promotion_promote_assistant_content": Flag(),
    "phase_12_use_llm_extractor": Flag(),
    "phase_12_llm_model": Text(),
    "phase_12_llm_max_episodes_per_run": _COUNT,
    "phase_12_llm_max_drafts_per_run": _DRAFTS,
    "episodic_summarization_max_entries": _COUNT,
    "episodic_summarization_batch_size": _COUNT,
    "phase1_spreading_weight": _SHARE,
    "synthetic_link_min_co_count": Whole(at_least=2),
    "enable_entity_linker": Flag(),
    "entity_linker_extractor_kind": Text(choices=("regex", "spacy", "llm")),
    "entity_linker_min_mention_count": _COUNT,
    "entity_linker_max_episodics_per_run": _COUNT,
    "entity_linker_confidence_threshold": _SHARE,
}
"""What each field may hold, in field order. Ranges are written here and nowhere else."""

PHASE_NAMES: Mapping[str, str] = {
    "lookback_hours": "lookback_hours",
    "phase1_spreading_weight": "spreading_weight",
    "episodic_summarization_max_entries": "episodic_max_entries",
    "episodic_summarization_batch_size": "episodic_summarize_batch",
    "entity_linker_min_mention_count": "entity_min_mention_count",
    "entity_linker_max_episodics_per_run": "entity_max_episodics_per_run",
    "entity_linker_confidence_threshold": "entity_confidence_threshold",
    "phase_12_llm_model": "procedural_model_name",
}
"""The fields that phase factories take, and the names they take them by.

The two switches are absent on purpose: a phase runs when it is given the collaborator it needs. The
other nine configure collaborators and reach them where those are composed.
"""

OLD_SPELLINGS: Mapping[str, str] = {"entity_linker_extractor_kind": "entity_linker_extractor"}
"""Field to the older name that settings objects may still carry."""

_FACTORY_RANGES: Mapping[str, Range] = {
    **{factory: RANGES[field] for field, factory in PHASE_NAMES.items()},
    "lookback_hours": Number(at_least=_HOURS.at_least),  # factories take parts of hours too
}
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class LearningPolicy:
    """What to learn, from how much evidence, and what to ask a model for.

    Ranges are checked when it is built, because a knob out of range that is noticed at night has
    already cost a run.

    Raises ``PolicyError`` naming the field, the value and the range.
    """

    lookback_hours: int = 24
    """The age up to which a use still spreads to its neighbours, and from which an episode may be
    summarised. Hours: a whole number, at least 1. One day, the usual time between two nightly runs.
    """

    promotion_min_pattern_count: int = 3
    """In how many distinct sessions a pattern must be seen before it becomes a draft.
    Sessions: a whole number, at least 1. Three, because two may be one person trying twice.
    """

    promotion_recency_days: int = 30
    """How old an episode may be and still support a draft. Days: a whole number, at least 1.
    A month holds several rounds of weekly work and leaves out a workflow that was given up.
    """

    promotion_max_drafts_per_run: int = 5
    """How many drafts one sleep may add by the pattern rule; best supported first, the rest wait.
    Drafts: a whole number, at least 0. Five are read in one sitting; unread drafts help nobody.
    """

    promotion_use_tool_calls_fallback: bool = False
    """Whether procedures are also learned from the tool calls an agent made, not only from what
    users state. Switch: true or false. Off, because a habit of the agent is not yet a wish of its
    user.
    """

    promotion_promote_assistant_content: bool = False
    """Whether what the assistant wrote may support a draft; tool calls are not prose and are
    unaffected. Switch: true or false. Off, so that an agent does not learn from its own phrases.
    """

    phase_12_use_llm_extractor: bool = False
    """Whether a model proposes procedures instead of the pattern rule; without a composed proposer
    the phase declines. Switch: true or false. Off, because a run needs no model.
    """

    phase_12_llm_model: str = "claude-haiku-4-5"
    """The model that a proposer is asked to use, passed on unchanged.
    Model name: a text that is not empty. A small model: proposals are checked against their
    evidence, so a cheap one does.
    """

    phase_12_llm_max_episodes_per_run: int = 100
    """How many episodes one run shows to the proposer. Episodes: a whole number, at least 1.
    A hundred turns fit one request of ordinary size, so the cost of a night is known beforehand.
    """

    phase_12_llm_max_drafts_per_run: int = 5
    """How many drafts one run accepts from the proposer.
    Drafts: a whole number, at least 0. As many as the pattern rule may add, for the same reader.
    """

    episodic_summarization_max_entries: int = 100
    """How many uncondensed episodes older than the look-back are left alone; only above it are the
    oldest summarised. Episodes: a whole number, at least 1. A hundred turns are still read whole,
    so a small memory never holds summaries.
    """

    episodic_summarization_batch_size: int = 50
    """How many episodes one summary stands for, before it is cut at a session's end.
    Episodes: a whole number, at least 1. Half of the default threshold: long enough to have a
    subject, short enough for a summary that names who and when.
    """

    phase1_spreading_weight: float = 0.5
    """The part of a use that its record passes on to linked records, divided among them.
    Share: a number from 0 to 1. One half: a neighbour gains, and never as much as what was used.
    """

    synthetic_link_min_co_count: int = 2
    """In how many distinct windows of conversation two entities must be seen together before they
    are linked; a window is twenty consecutive positions of one session. Windows: a whole number, at
    least 2. Two is the least that is not a single coincidence.
    """

    enable_entity_linker: bool = False
    """Whether an entity extractor is composed; without one the linker declines.
    Switch: true or false. Off, because entities change what recall walks over: a deployment
    decides on it.
    """

    entity_linker_extractor_kind: str = "regex"
    """Which entity extractor is composed: patterns, a spaCy pipeline or a model.
    Extractor kind: regex, spacy or llm. Patterns need nothing installed and repeat exactly.
    """

    entity_linker_min_mention_count: int = 2
    """In how many distinct episodes a name must be mentioned before it becomes an entity.
    Episodes: a whole number, at least 1. Two: a name said once is often a slip or a passer-by.
    """

    entity_linker_max_episodics_per_run: int = 200
    """How many unread episodes one pass reads for entities, half of them the newest and half the
    oldest; the rest are read by the next pass. Episodes: a whole number, at least 1. Two hundred
    keep a pass short with a slow extractor, and passes repeat until nothing is left.
    """

    entity_linker_confidence_threshold: float = 0.5
    """The confidence from which an extractor's mention counts, itself included.
    Share: a number from 0 to 1. One half: more likely a name than not.
    """

    def __post_init__(self) -> None:
        for name, allowed in RANGES.items():
            object.__setattr__(self, name, kept(name, getattr(self, name), allowed))

    def as_kwargs(self) -> dict[str, Any]:
        """All nineteen by field name: what ``SleepConsolidator`` takes."""
        return {name: getattr(self, name) for name in RANGES}

    def as_phase_kwargs(self) -> dict[str, Any]:
        """The eight that phase factories take, by the factories' names.

        The look-back is a float there. One beyond every float is the greatest float, which reaches
        before year 1 as well.
        """
        hours = float(min(self.lookback_hours, int(sys.float_info.max)))
        given = {**self.as_kwargs(), "lookback_hours": hours}
        return {factory: given[field] for field, factory in PHASE_NAMES.items()}

    @classmethod
    def from_settings(cls, settings: object) -> Self:
        """A policy from any object's attributes of the fields' names.

        An attribute that is absent or ``None`` leaves the default; any other value is a choice,
        ``0`` and ``False`` too. The older spelling counts only where the newer name says nothing.

        Raises ``PolicyError`` for a value out of range.
        """
        chosen: dict[str, Any] = {}
        for name in RANGES:
            value = getattr(settings, name, None)
            if value is None and name in OLD_SPELLINGS:
                value = getattr(settings, OLD_SPELLINGS[name], None)
            if value is not None:
                chosen[name] = value
        return cls(**chosen)


def check(name: str, value: object) -> Any:  # noqa: ANN401
    """The value as the knob stores it, for a field or for one of the eight factory names.

    ``lookback_hours`` is both; here it may have a fraction, as factories take it, while the field
    is a whole number.

    Raises ``PolicyError`` for a value out of range, and for a name that no knob has.
    """
    allowed = _FACTORY_RANGES.get(name) or RANGES.get(name)
    if allowed is None:
        raise PolicyError(
            f"No knob is named {name!r}. The names are the fields of LearningPolicy and those its "
            "as_phase_kwargs() gives.",
            field=name,
            value=value,
            range="a knob's name",
        )
    return kept(name, value, allowed)


def window_start(now: datetime, hours: float) -> datetime:
    """The time that many hours before ``now``, an aware UTC time; never before year 1.

    Look-backs have no upper bound, and "everything" is written as a very large number.
    """
    try:
        return now - timedelta(hours=hours)
    except OverflowError:
        return _EARLIEST
