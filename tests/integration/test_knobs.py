"""No knob is dead: each of the nineteen, changed alone, changes what a run does, on both routes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.consolidator import SleepConsolidator
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import Maintenance
from symfonic.capabilities.memory.policy import RANGES, LearningPolicy
from symfonic.capabilities.memory.records import Procedure
from symfonic.capabilities.memory.roster import consolidation_phases
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedEntityExtractor,
    ScriptedProcedure,
    ScriptedProposer,
    ScriptedStep,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from symfonic.capabilities.memory.outcome import SleepReport

SCOPE = Scope("pottery/agent")
NOW = datetime(2026, 6, 1, 2, tzinfo=UTC)
RULE = "Before you open the kiln, check the pyrometer and warn the crew."
OTHER_RULE = "When the clay arrives, weigh the bags and file the receipt."
OAKES = "Yesterday I met Marguerite Oakes at the fair."
SCRIPT = (
    ScriptedProcedure(
        title="Open the kiln", trigger="the kiln is due",
        steps=(ScriptedStep(action="check the pyrometer", cites="pyrometer"),),
    ),
    ScriptedProcedure(
        title="Take the clay in", trigger="clay arrives",
        steps=(ScriptedStep(action="weigh the bags", cites="bags"),),
    ),
    ScriptedProcedure(
        title="Only a larger model sees this", trigger="always", model_name="larger-model",
        steps=(ScriptedStep(action="look twice", cites="kiln"),),
    ),
)  # fmt: skip


def said(
    *texts: str, ago: timedelta = timedelta(days=3), role: str = "user", **more: Any
) -> list[dict[str, Any]]:
    """One turn a session, a minute apart."""
    return [
        {"id": f"{role}{n}{text[:9]}", "session": f"{role} {text[:9]} {n}", "position": 0,
         "role": role, "text": text,
         "at": (NOW - ago + timedelta(minutes=n)).isoformat(), **more}
        for n, text in enumerate(texts)
    ]  # fmt: skip


def calling(name: str) -> dict[str, Any]:
    return {"name": name, "arguments": {"shop": "main"}, "ok": True}


@dataclass(frozen=True, kw_only=True)
class Case:
    """``knob`` goes from its default to ``changed``, beside ``knobs``; ``asked`` makes uses."""

    knob: str
    changed: Any
    log: list[dict[str, Any]]
    knobs: dict[str, Any] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    limits: RunLimits = field(default_factory=RunLimits)


LINKER: dict[str, Any] = {"enable_entity_linker": True}
PROPOSER: dict[str, Any] = {"phase_12_use_llm_extractor": True}
CASES = [
    Case(
        knob="lookback_hours", changed=48, log=said(*["It rained."] * 5, ago=timedelta(hours=30)),
        knobs={"episodic_summarization_max_entries": 1, "episodic_summarization_batch_size": 3},
    ),
    Case(knob="promotion_min_pattern_count", changed=2, log=said(RULE, RULE)),
    Case(knob="promotion_recency_days", changed=60,
         log=said(RULE, RULE, RULE, ago=timedelta(days=40))),
    Case(knob="promotion_max_drafts_per_run", changed=1,
         log=said(*[RULE] * 3, *[OTHER_RULE] * 3)),
    Case(knob="promotion_use_tool_calls_fallback", changed=True,
         log=said(*["Done."] * 3, role="assistant",
                  tool_calls=[calling("weigh"), calling("post")])),
    Case(knob="promotion_promote_assistant_content", changed=True,
         log=said(*[RULE] * 3, role="assistant")),
    Case(knob="phase_12_use_llm_extractor", changed=True, log=said(RULE, RULE, RULE)),
    Case(knob="phase_12_llm_model", changed="larger-model", knobs=PROPOSER, log=said(RULE, RULE)),
    Case(knob="phase_12_llm_max_episodes_per_run", changed=1, knobs=PROPOSER,
         limits=RunLimits(max_passes=1), log=said(RULE, OTHER_RULE)),
    Case(knob="phase_12_llm_max_drafts_per_run", changed=1, knobs=PROPOSER,
         log=said(RULE, OTHER_RULE)),
    Case(knob="episodic_summarization_max_entries", changed=5, log=said(*["It rained."] * 9)),
    Case(knob="episodic_summarization_batch_size", changed=3,
         knobs={"episodic_summarization_max_entries": 2}, log=said(*["It rained."] * 9)),
    Case(knob="phase1_spreading_weight", changed=0.25, knobs=LINKER, log=said(OAKES, OAKES),
         asked=("fair",)),
    Case(knob="enable_entity_linker", changed=True, log=said(OAKES, OAKES)),
    Case(knob="entity_linker_extractor_kind", changed="spacy", knobs=LINKER,
         log=said(OAKES, OAKES)),
    Case(knob="entity_linker_min_mention_count", changed=3, knobs=LINKER, log=said(OAKES, OAKES)),
    Case(knob="entity_linker_max_episodics_per_run", changed=1, knobs=LINKER,
         limits=RunLimits(max_passes=1), log=said(OAKES, OAKES)),
    Case(knob="entity_linker_confidence_threshold", changed=0.7, log=said(OAKES, OAKES),
         knobs={**LINKER, "entity_linker_extractor_kind": "spacy"}),
]  # fmt: skip
NEXT = {"synthetic_link_min_co_count"}
"""The knob whose phase, the co-occurrence counter, is not in the roster yet."""


def given() -> dict[str, Any]:
    extractor = ScriptedEntityExtractor(script={"fair": ("thing", 0.6)})
    return {"proposer": ScriptedProposer(script=SCRIPT), "spacy_extractor": extractor}


def prepared(case: Case) -> Memory:
    memory = Memory.open(":memory:", salt=b"knobs")
    memory.ingest(case.log, scope=SCOPE.path, now=NOW)
    for question in case.asked:
        memory.recall(question, scope=SCOPE.path, now=NOW - timedelta(hours=1))
    memory.flush_uses()
    return memory


def through_consolidator(memory: Memory, policy: LearningPolicy, limits: RunLimits) -> SleepReport:
    """Knobs by name; only those that differ from the defaults are stated."""
    defaults = LearningPolicy().as_kwargs()
    knobs = {name: v for name, v in policy.as_kwargs().items() if v != defaults[name]}
    consolidator = SleepConsolidator(memory.store, limits=limits, given=given(), **knobs)
    return consolidator.run(SCOPE, now=NOW)


def through_phases(memory: Memory, policy: LearningPolicy, limits: RunLimits) -> SleepReport:
    collaborators = compose_collaborators(policy, **given())
    phases = consolidation_phases(**policy.as_phase_kwargs(), collaborators=collaborators)
    return Maintenance(memory.store, phases, limits=limits).run(SCOPE, now=NOW)


ROUTES = (through_consolidator, through_phases)


def done(
    case: Case, policy: LearningPolicy, route: Callable[..., SleepReport]
) -> tuple[list[str], list[tuple[str, str]]]:
    """What memory holds after a sleep, and the digests of its passes."""
    with prepared(case) as memory:
        report = route(memory, policy, case.limits)
        rows = [
            repr(sorted(row.items()))
            for row in memory.export(scope=SCOPE.path)
            if row["table"] in {"record", "link", "use"}
        ]
    return rows, [(run.digest, run.input_digest) for run in report.passes]


def base_of(case: Case) -> LearningPolicy:
    return LearningPolicy(**case.knobs)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.knob)
def test_a_knob_changed_alone_changes_what_memory_holds(
    case: Case, route: Callable[..., SleepReport]
) -> None:
    base = base_of(case)
    changed = replace(base, **{case.knob: case.changed})
    assert done(case, base, route)[0] != done(case, changed, route)[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.knob)
def test_both_routes_give_the_same_digests_and_rows(case: Case) -> None:
    base = base_of(case)
    for policy in (base, replace(base, **{case.knob: case.changed})):
        one, two = (done(case, policy, route) for route in ROUTES)
        assert one == two


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.knob)
def test_each_knob_takes_part_in_the_input_digest_or_in_what_was_read(case: Case) -> None:
    base = base_of(case)
    changed = replace(base, **{case.knob: case.changed})
    first, second = (done(case, policy, through_phases)[1][0][1] for policy in (base, changed))
    assert first != second


def test_every_knob_but_the_one_whose_phase_comes_next_is_proven() -> None:
    assert {case.knob for case in CASES} == set(RANGES) - NEXT
    assert len(CASES) == 18


def test_the_number_of_shared_windows_changes_what_is_linked() -> None:
    case = next(case for case in CASES if case.knob == "enable_entity_linker")
    base = LearningPolicy(enable_entity_linker=True)
    changed = replace(base, synthetic_link_min_co_count=9)
    for route in ROUTES:
        assert done(case, base, route) != done(case, changed, route)


# -- what the model knobs do, said in words


def proposed(policy: LearningPolicy, log: list[dict[str, Any]]) -> tuple[list[str], Any]:
    proposer = ScriptedProposer(script=SCRIPT)
    with Memory.open(":memory:", salt=b"knobs") as memory:
        memory.ingest(log, scope=SCOPE.path, now=NOW)
        memory.sleep(scope=SCOPE.path, policy=policy, given={"proposer": proposer}, now=NOW)
        found = memory.procedures(scope=SCOPE.path)
        titles = sorted(p.content.title for p in found if isinstance(p.content, Procedure))
    return titles, proposer.asked


def test_a_proposer_s_drafts_stand_instead_of_the_rule_s() -> None:
    titles, asked = proposed(LearningPolicy(**PROPOSER), said(RULE, RULE, RULE))
    assert titles == ["Open the kiln"]
    assert [(a.model_name, a.max_drafts, len(a.episodes)) for a in asked] == [
        ("claude-haiku-4-5", 5, 3)
    ]


def test_the_model_name_is_passed_on_unchanged() -> None:
    policy = LearningPolicy(**PROPOSER, phase_12_llm_model="larger-model")
    titles, asked = proposed(policy, said(RULE, RULE))
    assert titles == ["Only a larger model sees this", "Open the kiln"]
    assert {a.model_name for a in asked} == {"larger-model"}


def test_the_proposer_is_shown_so_many_episodes_a_pass_until_all_are_read() -> None:
    policy = LearningPolicy(**PROPOSER, phase_12_llm_max_episodes_per_run=2)
    _, asked = proposed(policy, said(*[RULE] * 5))
    assert [len(a.episodes) for a in asked] == [2, 2, 1]


def test_without_room_for_drafts_the_proposer_is_not_asked() -> None:
    policy = LearningPolicy(**PROPOSER, phase_12_llm_max_drafts_per_run=0)
    assert proposed(policy, said(RULE, RULE)) == ([], [])
