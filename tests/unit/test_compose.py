from __future__ import annotations

import sys
from typing import Any

import pytest

from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedEntityExtractor,
    ScriptedProposer,
    ScriptedSummarizer,
)


def test_the_default_policy_composes_the_pattern_rule_and_no_linker() -> None:
    found = compose_collaborators(LearningPolicy())
    assert found.entity_extractor is None
    assert found.procedure_rule is not None
    assert found.proposer_rule is None
    assert found.summarizer is None
    assert found.missing == {}


def test_the_rule_is_built_from_its_five_knobs() -> None:
    policy = LearningPolicy(
        promotion_min_pattern_count=4, promotion_recency_days=7, promotion_max_drafts_per_run=2,
        promotion_use_tool_calls_fallback=True, promotion_promote_assistant_content=True,
    )  # fmt: skip
    rule = compose_collaborators(policy).procedure_rule
    assert rule is not None
    assert (rule.min_pattern_count, rule.recency_days, rule.max_drafts_per_run) == (4, 7, 2)
    plain = compose_collaborators(LearningPolicy()).procedure_rule
    assert plain is not None
    assert rule.reader.identity != plain.reader.identity
    assert rule.reader.context > plain.reader.context == 0


@pytest.mark.parametrize(
    ("kind", "given"), [("spacy", "spacy_extractor"), ("llm", "llm_extractor")]
)
def test_a_kind_takes_the_extractor_given_for_it_and_no_other(kind: str, given: str) -> None:
    mine, other = ScriptedEntityExtractor(script={}), ScriptedEntityExtractor(script={})
    names: dict[str, Any] = {"spacy_extractor": other, "llm_extractor": other} | {given: mine}
    policy = LearningPolicy(enable_entity_linker=True, entity_linker_extractor_kind=kind)
    assert compose_collaborators(policy, **names).entity_extractor is mine


def test_the_pattern_extractor_is_the_package_s_own() -> None:
    found = compose_collaborators(LearningPolicy(enable_entity_linker=True)).entity_extractor
    assert isinstance(found, PatternEntityExtractor)


@pytest.mark.parametrize("kind", ["spacy", "llm"])
def test_a_kind_nobody_gave_is_missing_and_not_replaced(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    policy = LearningPolicy(enable_entity_linker=True, entity_linker_extractor_kind=kind)
    found = compose_collaborators(policy)
    assert found.entity_extractor is None
    assert kind in found.missing["link_entities"]


def test_a_linker_that_is_off_misses_nothing() -> None:
    found = compose_collaborators(LearningPolicy(entity_linker_extractor_kind="spacy"))
    assert found.entity_extractor is None
    assert found.missing == {}


def test_a_proposer_replaces_the_rule_and_takes_its_own_caps() -> None:
    proposer = ScriptedProposer(script=())
    policy = LearningPolicy(
        phase_12_use_llm_extractor=True, phase_12_llm_max_episodes_per_run=7,
        phase_12_llm_max_drafts_per_run=3,
    )  # fmt: skip
    found = compose_collaborators(policy, proposer=proposer)
    assert found.procedure_rule is None
    assert found.proposer_rule is not None
    assert found.proposer_rule.proposer is proposer
    assert found.proposer_rule.max_episodes_per_run == 7
    assert found.proposer_rule.max_drafts_per_run == 3
    assert found.missing == {}


def test_a_missing_proposer_leaves_neither_rule_nor_proposer() -> None:
    found = compose_collaborators(LearningPolicy(phase_12_use_llm_extractor=True))
    assert found.procedure_rule is None
    assert found.proposer_rule is None
    assert "proposer" in found.missing["promote_procedures"]


def test_a_given_proposer_is_not_used_unless_the_policy_asks() -> None:
    found = compose_collaborators(LearningPolicy(), proposer=ScriptedProposer(script=()))
    assert found.proposer_rule is None


def test_a_given_summarizer_is_passed_on() -> None:
    summarizer = ScriptedSummarizer()
    assert compose_collaborators(LearningPolicy(), summarizer=summarizer).summarizer is summarizer


def test_a_collaborator_of_another_name_is_a_type_error() -> None:
    unknown: dict[str, Any] = {"embedder": object()}
    with pytest.raises(TypeError):
        compose_collaborators(LearningPolicy(), **unknown)
