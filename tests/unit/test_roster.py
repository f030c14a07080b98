from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.collaborators import Collaborators
from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.extractors.calls import CONTEXT
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.roster import LIGHT, consolidation_phases, subscriptions_of

if TYPE_CHECKING:
    from symfonic.capabilities.memory.phase import Phase

ORDER = [
    "link_entities", "strengthen", "link_cooccurring", "expire", "summarise", "promote_procedures",
]  # fmt: skip


def roster(policy: LearningPolicy, collaborators: Collaborators | None = None) -> list[Phase]:
    given = collaborators or compose_collaborators(policy)
    return list(consolidation_phases(**policy.as_phase_kwargs(), collaborators=given))


def test_the_roster_has_its_phases_in_one_order() -> None:
    assert [phase.name for phase in roster(LearningPolicy())] == ORDER


def test_a_phase_without_its_collaborator_stays_in_the_roster() -> None:
    assert [phase.name for phase in roster(LearningPolicy(), Collaborators())] == ORDER


def test_what_is_missing_reaches_the_phase_that_misses_it() -> None:
    policy = LearningPolicy(
        enable_entity_linker=True, entity_linker_extractor_kind="llm",
        phase_12_use_llm_extractor=True,
    )  # fmt: skip
    linker, *_, promoter = roster(policy)
    for phase, said in ((linker, "llm"), (promoter, "proposer")):
        outcome = phase.propose(None)  # type: ignore[arg-type]
        assert said in outcome.reason  # type: ignore[union-attr]


def test_a_knob_out_of_range_is_refused_by_its_factory_name() -> None:
    kwargs = {**LearningPolicy().as_phase_kwargs(), "entity_confidence_threshold": 1.5}
    with pytest.raises(PolicyError) as caught:
        consolidation_phases(**kwargs, collaborators=Collaborators())
    assert caught.value.facts["field"] == "entity_confidence_threshold"


def test_subscriptions_name_what_becomes_pending_for_whom() -> None:
    policy = LearningPolicy(enable_entity_linker=True, promotion_use_tool_calls_fallback=True)
    found = {s.phase: s for s in subscriptions_of(roster(policy))}
    assert set(found) == {
        "link_entities", "strengthen", "link_cooccurring", "promote_procedures",
    }  # fmt: skip
    assert found["link_cooccurring"].reads_mentions
    assert found["link_entities"].reads == ("episode",)
    assert found["link_entities"].context == 0
    assert found["strengthen"].reads == ()
    assert found["strengthen"].reads_touched
    assert found["promote_procedures"].context == CONTEXT


def test_a_phase_driven_by_state_subscribes_to_nothing() -> None:
    phases = roster(LearningPolicy())
    summarise = next(phase for phase in phases if phase.name == "summarise")
    assert subscriptions_of([summarise]) == ()
    assert summarise.cap(RunLimits()) == 0
    assert list(summarise.ask(None)) == []  # type: ignore[arg-type]
    assert {phase.name for phase in phases} > LIGHT
    touched = replace(summarise, reads_touched=True)
    assert [s.phase for s in subscriptions_of([touched])] == ["summarise"]
