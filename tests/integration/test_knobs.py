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
from symfonic.capabilities.memory.retention import RetentionPolicy
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
TWO = f"{OAKES} Then I asked Tobias Fenn about the kiln."
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
    Case(knob="synthetic_link_min_co_count", changed=3, knobs=LINKER, log=said(TWO, TWO)),
]  # fmt: skip


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


def through_consolidator(
    memory: Memory, policy: LearningPolicy, limits: RunLimits, *,
    retention: RetentionPolicy | None = None, now: datetime = NOW,
) -> SleepReport:  # fmt: skip
    """Knobs by name; only those that differ from the defaults are stated."""
    defaults = LearningPolicy().as_kwargs()
    knobs = {name: v for name, v in policy.as_kwargs().items() if v != defaults[name]}
    consolidator = SleepConsolidator(
        memory.store, limits=limits, retention=retention, given=given(), **knobs
    )
    return consolidator.run(SCOPE, now=now)


def through_phases(
    memory: Memory, policy: LearningPolicy, limits: RunLimits, *,
    retention: RetentionPolicy | None = None, now: datetime = NOW,
) -> SleepReport:  # fmt: skip
    collaborators = compose_collaborators(policy, **given())
    phases = consolidation_phases(**policy.as_phase_kwargs(), collaborators=collaborators)
    engine = Maintenance(memory.store, phases, limits=limits, retention=retention)
    return engine.run(SCOPE, now=now)


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


def test_every_knob_is_proven() -> None:
    assert {case.knob for case in CASES} == set(RANGES)
    assert len(CASES) == 19


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


# -- what a run may hide and cost: the knobs beside the policy, on both routes


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """``knob`` of the retention or the limits goes from its default to ``changed``.

    The log is learnt from; what counts is the second sleep, so many days later.
    """

    knob: str
    changed: Any
    log: list[dict[str, Any]]
    later: int = 0
    beside: dict[str, Any] = field(default_factory=dict)


KINDS_OF = {"retention": set(RetentionPolicy.__dataclass_fields__), "limits": set(
    RunLimits.__dataclass_fields__)}  # fmt: skip
TUNED = [
    Tuned(knob="archive_threshold", changed=0.001, later=200, log=said(OAKES, OAKES)),
    Tuned(knob="grace_days", changed=300, later=200, log=said(OAKES, OAKES)),
    Tuned(knob="episode_days", changed=150, later=200, log=said(OAKES, OAKES)),
    Tuned(knob="expire_max_records_per_run", changed=1, later=200, log=said(TWO, TWO),
          beside={"max_passes": 1}),
    Tuned(knob="max_hidden_share", changed=0.01, later=200,
          log=said(*[TWO] * 2, *["It rained."] * 20)),
    Tuned(knob="cooccurrence_max_episodics_per_run", changed=1, log=said(TWO, TWO, TWO),
          later=1, beside={"max_passes": 1}),
]  # fmt: skip


def tuned(case: Tuned, route: Callable[..., SleepReport], *, changed: bool) -> list[str]:
    """What memory holds after two sleeps with the knob at its default or changed."""
    values = {**case.beside, **({case.knob: case.changed} if changed else {})}
    retention, limits = (
        {k: v for k, v in values.items() if k in KINDS_OF[kind]} for kind in KINDS_OF
    )
    with Memory.open(":memory:", salt=b"knobs") as memory:
        memory.ingest(case.log, scope=SCOPE.path, now=NOW)
        light = case.knob == "cooccurrence_max_episodics_per_run"
        memory.sleep(
            scope=SCOPE.path, policy=LearningPolicy(**LINKER), now=NOW,
            kind="light" if light else "deep",
        )  # fmt: skip
        route(
            memory, LearningPolicy(**LINKER), RunLimits(**limits),
            retention=RetentionPolicy(**retention), now=NOW + timedelta(days=case.later),
        )  # fmt: skip
        return [
            repr(sorted(row.items())) for row in memory.export(scope=SCOPE.path)
            if row["table"] in {"record", "link"}
        ]  # fmt: skip


@pytest.mark.parametrize("case", TUNED, ids=lambda case: case.knob)
def test_a_retention_or_limit_knob_changed_alone_changes_what_memory_holds(case: Tuned) -> None:
    found = []
    for route in ROUTES:
        found.append((tuned(case, route, changed=False), tuned(case, route, changed=True)))
        assert found[-1][0] != found[-1][1]
    assert found[0] == found[1]


def test_working_memory_hours_decide_when_a_working_note_goes() -> None:
    for hours, state in ((24, "archived"), (72, "active")):
        retention = RetentionPolicy(working_memory_hours=hours)
        for route in ROUTES:
            with Memory.open(":memory:", retention=retention) as memory:
                i = memory.remember("Fetch the tiles.", scope=SCOPE.path, working=True, now=NOW)
                later = NOW + timedelta(days=2)
                route(memory, LearningPolicy(), RunLimits(), retention=retention, now=later)
                assert memory.records([i], scope=SCOPE.path)[i].state == state
