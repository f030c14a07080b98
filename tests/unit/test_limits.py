from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict

import pytest

from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.knobs import field_notes
from symfonic.capabilities.memory.limits import RANGES, RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy

DEFAULTS = {
    "max_passes": 60,
    "promotion_max_episodics_per_run": 1000,
    "cooccurrence_max_episodics_per_run": 2000,
    "strengthen_max_records_per_run": 2000,
    "expire_max_records_per_run": 2000,
    "summarize_max_batches_per_run": 20,
    "spread_hops": 2,
    "hub_degree": 50,
    "uses_per_record": 64,
    "history_per_key": 200,
    "max_hidden_share": 0.2,
}
WHOLE = [name for name, value in DEFAULTS.items() if isinstance(value, int)]


def test_fields_have_their_order_and_defaults() -> None:
    assert list(asdict(RunLimits()).items()) == list(DEFAULTS.items())
    assert list(RANGES) == list(DEFAULTS)


def test_limits_are_frozen_and_built_by_name() -> None:
    with pytest.raises(FrozenInstanceError):
        RunLimits().max_passes = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        RunLimits(60)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", WHOLE)
def test_limit_is_a_whole_number_from_its_lowest_value(name: str) -> None:
    lowest = 0 if name == "spread_hops" else 1
    for value in (lowest, 10**9):
        assert asdict(RunLimits(**{name: value}))[name] == value
    for other in (lowest - 1, True, 1.0, "5", None):
        with pytest.raises(PolicyError) as caught:
            RunLimits(**{name: other})  # type: ignore[arg-type]
        assert caught.value.facts == {"field": name, "value": other, "range": str(RANGES[name])}
        assert name in str(caught.value)
        assert str(RANGES[name]) in str(caught.value)


def test_share_that_may_be_hidden_is_a_share() -> None:
    assert RunLimits(max_hidden_share=1).max_hidden_share == 1.0
    for other in (-0.1, 1.1, "0.5", None, True):
        with pytest.raises(PolicyError, match="max_hidden_share"):
            RunLimits(max_hidden_share=other)  # type: ignore[arg-type]


def test_default_passes_drain_ten_thousand_new_turns() -> None:
    cap = LearningPolicy().entity_linker_max_episodics_per_run
    assert RunLimits().max_passes * cap >= 10_000


def test_history_reaches_every_default_threshold() -> None:
    policy = LearningPolicy()
    thresholds = (policy.promotion_min_pattern_count, policy.entity_linker_min_mention_count)
    assert RunLimits().history_per_key > max(thresholds)


def test_every_field_has_a_note_that_states_its_range() -> None:
    notes = field_notes(RunLimits)
    assert list(notes) == list(DEFAULTS)
    for name, note in notes.items():
        assert f": {RANGES[name]}. " in note, name
