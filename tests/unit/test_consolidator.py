from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.consolidator import SleepConsolidator
from symfonic.capabilities.memory.errors import InputError, PolicyError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.scripted import ScriptedSummarizer

if TYPE_CHECKING:
    from collections.abc import Iterator

SCOPE = "acme/ana"
NOW = datetime(2026, 5, 2, 2, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", salt=b"consolidator") as found:
        turns = [
            {"id": f"t{n}", "session": f"s{n}", "at": (NOW - timedelta(days=9 - n)).isoformat(),
             "text": f"Turn {n} with Marguerite Oakes about the weekly kiln report."}
            for n in range(4)
        ]  # fmt: skip
        found.ingest(turns, scope=SCOPE, now=NOW)
        yield found


def test_it_takes_all_that_a_policy_gives_as_keyword_arguments(memory: Memory) -> None:
    policy = LearningPolicy(enable_entity_linker=True, promotion_min_pattern_count=7)
    assert SleepConsolidator(memory.store, **policy.as_kwargs()).policy == policy


def test_an_omitted_knob_takes_the_policy_s_default(memory: Memory) -> None:
    assert SleepConsolidator(memory.store).policy == LearningPolicy()


def test_an_unknown_knob_is_a_type_error(memory: Memory) -> None:
    knobs: dict[str, Any] = {"phase_99_speed": 3}
    with pytest.raises(TypeError):
        SleepConsolidator(memory.store, **knobs)


def test_a_knob_out_of_its_range_is_refused(memory: Memory) -> None:
    with pytest.raises(PolicyError):
        SleepConsolidator(memory.store, lookback_hours=0)


def test_no_knob_is_spelled_a_second_time() -> None:
    named = set(inspect.signature(SleepConsolidator).parameters)
    assert named == {"store", "clock", "retention", "limits", "given", "knobs"}


def test_a_run_is_the_composed_run_of_the_same_policy(memory: Memory) -> None:
    knobs: dict[str, Any] = {"enable_entity_linker": True, "episodic_summarization_max_entries": 1}
    policy = LearningPolicy(**knobs)
    planned = memory.plan(scope=SCOPE, policy=policy, now=NOW)
    done = SleepConsolidator(memory.store, **knobs).run(Scope(SCOPE), now=NOW).passes[0]
    assert planned.change_count > 0
    assert (done.digest, done.input_digest) == (planned.digest, planned.input_digest)


def test_what_is_given_reaches_the_phases(memory: Memory) -> None:
    summarizer = ScriptedSummarizer(script="{count} turns about a kiln.")
    consolidator = SleepConsolidator(
        memory.store, given={"summarizer": summarizer}, episodic_summarization_max_entries=1,
        episodic_summarization_batch_size=3,
    )  # fmt: skip
    consolidator.run(Scope(SCOPE), now=NOW)
    assert summarizer.asked
    found = memory.recall("kiln", scope=SCOPE, kinds=("summary",), now=NOW)
    assert [item.text for item in found.items] == ["3 turns about a kiln."]


def test_clock_retention_and_limits_reach_the_run(memory: Memory) -> None:
    clock = NOW + timedelta(hours=5)
    report = SleepConsolidator(memory.store, clock=lambda: clock).run(Scope(SCOPE)).passes[0]
    assert report.clock == clock.isoformat()
    digests = {report.input_digest}
    others: list[dict[str, Any]] = [
        {"retention": RetentionPolicy(grace_days=3)},
        {"limits": RunLimits(hub_degree=3)},
    ]
    for other in others:
        run = SleepConsolidator(memory.store, clock=lambda: clock, **other).run(Scope(SCOPE))
        digests.add(run.passes[0].input_digest)
    assert len(digests) == 3


def test_its_runs_state_their_settings_as_the_other_route_s_do(memory: Memory) -> None:
    policy = LearningPolicy(promotion_min_pattern_count=7)
    engine = SleepConsolidator(memory.store, promotion_min_pattern_count=7)
    report = engine.run(Scope(SCOPE), now=NOW).passes[0]
    same = memory.preview(scope=SCOPE, policy=policy, now=NOW)[1]
    assert report.sources["promotion_min_pattern_count"] == "argument"
    assert (report.settings, report.sources) == (same.settings, same.sources)
    assert report.fingerprint == same.fingerprint
    assert memory.run(report.run_id).settings == report.settings


def test_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="no zone"):
        SleepConsolidator(memory.store).run(Scope(SCOPE), now=NOW.replace(tzinfo=None))
