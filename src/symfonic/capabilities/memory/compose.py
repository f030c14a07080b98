"""The one function that builds collaborators from a policy.

Nine of the nineteen knobs configure collaborators and reach them here. What a policy asks for and
nobody gave is written down as missing, and its phase declines with that reason: a silent fallback
would be learned from for weeks before anyone noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.collaborators import (
    Collaborators,
    CooccurrenceRule,
    ProcedureRule,
    ProposerRule,
)
from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra
from symfonic.capabilities.memory.extractors.conduct import ProcedureReader
from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.extractors.entities_spacy import SpacyEntityExtractor

if TYPE_CHECKING:
    from symfonic.capabilities.memory.collaborators import (
        EntityExtractor,
        ProcedureProposer,
        Summarizer,
    )
    from symfonic.capabilities.memory.policy import LearningPolicy


def compose_collaborators(
    policy: LearningPolicy,
    *,
    spacy_extractor: EntityExtractor | None = None,
    llm_extractor: EntityExtractor | None = None,
    proposer: ProcedureProposer | None = None,
    summarizer: Summarizer | None = None,
) -> Collaborators:
    """The collaborators that ``policy`` asks for, from what this package has and what was given.

    ``entity_linker_extractor_kind`` chooses between the package's pattern extractor (``regex``),
    its spaCy extractor or the one given in its place (``spacy``), and a given one (``llm``). With
    ``phase_12_use_llm_extractor`` the given proposer replaces the pattern rule.
    """
    missing: dict[str, str] = {}
    extractor: EntityExtractor | None = None
    cooccurrence: CooccurrenceRule | None = None
    if policy.enable_entity_linker:
        cooccurrence = CooccurrenceRule(min_co_count=policy.synthetic_link_min_co_count)
        try:
            extractor = _entity_extractor(policy, spacy=spacy_extractor, llm=llm_extractor)
        except (MissingExtra, CollaboratorError) as reason:
            kind = policy.entity_linker_extractor_kind
            missing["link_entities"] = f"entity_linker_extractor_kind is {kind!r}. {reason}"
    rule: ProcedureRule | None = None
    proposing: ProposerRule | None = None
    if not policy.phase_12_use_llm_extractor:
        rule = ProcedureRule(
            reader=ProcedureReader(
                use_tool_calls=policy.promotion_use_tool_calls_fallback,
                promote_assistant_content=policy.promotion_promote_assistant_content,
            ),
            min_pattern_count=policy.promotion_min_pattern_count,
            recency_days=policy.promotion_recency_days,
            max_drafts_per_run=policy.promotion_max_drafts_per_run,
        )
    elif proposer is None:
        missing["promote_procedures"] = (
            "phase_12_use_llm_extractor is on and no procedure proposer was given. "
            "It is given from Python: Memory.sleep(given={'proposer': …})."
        )
    else:
        proposing = ProposerRule(
            proposer=proposer,
            max_episodes_per_run=policy.phase_12_llm_max_episodes_per_run,
            max_drafts_per_run=policy.phase_12_llm_max_drafts_per_run,
        )
    return Collaborators(
        entity_extractor=extractor,
        cooccurrence_rule=cooccurrence,
        procedure_rule=rule,
        proposer_rule=proposing,
        summarizer=summarizer,
        missing=missing,
    )


def _entity_extractor(
    policy: LearningPolicy, *, spacy: EntityExtractor | None, llm: EntityExtractor | None
) -> EntityExtractor:
    """The extractor of the kind that is asked for, and no other."""
    kind = policy.entity_linker_extractor_kind
    if kind == "regex":
        return PatternEntityExtractor()
    if kind == "spacy":
        return SpacyEntityExtractor() if spacy is None else spacy
    if llm is None:
        raise CollaboratorError(
            f"No such extractor was given. It is given from Python: "
            f"Memory.sleep(given={{'{kind}_extractor': …}}).",
            collaborator=kind,
        )
    return llm
