from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, asdict

import pytest

from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.knobs import field_notes
from symfonic.capabilities.memory.retention import RANGES, RetentionPolicy

DEFAULTS = {
    "half_life_days": 30.0,
    "archive_threshold": 0.05,
    "grace_days": 30,
    "working_memory_hours": 24,
    "undo_days": 30,
    "episode_days": None,
}
WHOLE = ["grace_days", "working_memory_hours", "undo_days", "episode_days"]


def refused(name: str, value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        RetentionPolicy(**{name: value})  # type: ignore[arg-type]
    assert caught.value.facts == {"field": name, "value": value, "range": str(RANGES[name])}
    assert name in str(caught.value)
    assert str(RANGES[name]) in str(caught.value)


def test_fields_have_their_order_and_defaults() -> None:
    assert list(asdict(RetentionPolicy()).items()) == list(DEFAULTS.items())
    assert list(RANGES) == list(DEFAULTS)


def test_retention_is_frozen_and_built_by_name() -> None:
    with pytest.raises(FrozenInstanceError):
        RetentionPolicy().grace_days = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        RetentionPolicy(30.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", WHOLE)
def test_days_and_hours_are_whole_numbers_from_one(name: str) -> None:
    for value in (1, 10**6):
        assert asdict(RetentionPolicy(**{name: value}))[name] == value
    for other in (0, -1, True, 1.0, "30"):
        refused(name, other)


def test_only_the_age_of_episodes_may_be_unset() -> None:
    assert RetentionPolicy(episode_days=None).episode_days is None
    for name in DEFAULTS:
        if name != "episode_days":
            refused(name, None)


def test_half_life_is_a_number_from_one_and_kept_as_float() -> None:
    assert RetentionPolicy(half_life_days=1).half_life_days == 1.0
    assert type(RetentionPolicy(half_life_days=7).half_life_days) is float
    for other in (math.nextafter(1.0, 0.0), 0, 1e308, math.inf, 10**400, True, "30"):
        refused("half_life_days", other)
    with pytest.raises(PolicyError):
        RetentionPolicy(half_life_days=math.nan)


def test_archive_threshold_is_a_share() -> None:
    for value in (0.0, 1.0):
        assert RetentionPolicy(archive_threshold=value).archive_threshold == value
    for other in (-5e-324, math.nextafter(1.0, 2.0), True, "0.05"):
        refused("archive_threshold", other)


def test_a_single_use_falls_below_the_threshold_when_the_note_says() -> None:
    retention = RetentionPolicy()

    def strength(days: float) -> float:
        return 1 - 2 ** -(2 ** (-days / retention.half_life_days))

    assert strength(112) > retention.archive_threshold > strength(113)
    assert "113 days" in field_notes(RetentionPolicy)["archive_threshold"]


def test_every_field_has_a_note_that_states_its_range() -> None:
    notes = field_notes(RetentionPolicy)
    assert list(notes) == list(DEFAULTS)
    for name, note in notes.items():
        assert f": {RANGES[name]}. " in note, name
