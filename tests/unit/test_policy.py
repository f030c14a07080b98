"""The published contract of ``LearningPolicy``, written out once and not derived from the code."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum, StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory import policy as policy_module
from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.knobs import field_notes
from symfonic.capabilities.memory.policy import (
    OLD_SPELLINGS,
    PHASE_NAMES,
    RANGES,
    LearningPolicy,
    check,
    window_start,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULTS: list[tuple[str, type, object]] = [
    ("lookback_hours", int, 24),
    ("promotion_min_pattern_count", int, 3),
    ("promotion_recency_days", int, 30),
    ("promotion_max_drafts_per_run", int, 5),
    ("promotion_use_tool_calls_fallback", bool, False),
    ("promotion_promote_assistant_content", bool, False),
    ("phase_12_use_llm_extractor", bool, False),
    ("phase_12_llm_model", str, "claude-haiku-4-5"),
    ("phase_12_llm_max_episodes_per_run", int, 100),
    ("phase_12_llm_max_drafts_per_run", int, 5),
    ("episodic_summarization_max_entries", int, 100),
    ("episodic_summarization_batch_size", int, 50),
    ("phase1_spreading_weight", float, 0.5),
    ("synthetic_link_min_co_count", int, 2),
    ("enable_entity_linker", bool, False),
    ("entity_linker_extractor_kind", str, "regex"),
    ("entity_linker_min_mention_count", int, 2),
    ("entity_linker_max_episodics_per_run", int, 200),
    ("entity_linker_confidence_threshold", float, 0.5),
]

LOWEST = {
    "lookback_hours": 1,
    "promotion_min_pattern_count": 1,
    "promotion_recency_days": 1,
    "promotion_max_drafts_per_run": 0,
    "phase_12_llm_max_episodes_per_run": 1,
    "phase_12_llm_max_drafts_per_run": 0,
    "episodic_summarization_max_entries": 1,
    "episodic_summarization_batch_size": 1,
    "synthetic_link_min_co_count": 2,
    "entity_linker_min_mention_count": 1,
    "entity_linker_max_episodics_per_run": 1,
}
SHARES = ["phase1_spreading_weight", "entity_linker_confidence_threshold"]
FLAGS = [name for name, kind, _ in DEFAULTS if kind is bool]
TEXTS = ["phase_12_llm_model", "entity_linker_extractor_kind"]

NOT_FOR_PHASES = {
    "promotion_min_pattern_count": "configures the procedure extractor",
    "promotion_recency_days": "configures the procedure extractor",
    "promotion_max_drafts_per_run": "configures the procedure extractor",
    "promotion_use_tool_calls_fallback": "configures the procedure extractor",
    "promotion_promote_assistant_content": "configures the procedure extractor",
    "phase_12_llm_max_episodes_per_run": "configures the model's proposer",
    "phase_12_llm_max_drafts_per_run": "configures the model's proposer",
    "synthetic_link_min_co_count": "configures the co-occurrence counter",
    "entity_linker_extractor_kind": "chooses the entity extractor",
    "phase_12_use_llm_extractor": "a phase runs when it is given its proposer",
    "enable_entity_linker": "a phase runs when it is given its extractor",
}


def policy_with(name: str, value: Any) -> LearningPolicy:
    """The default policy but for one field."""
    knobs: dict[str, Any] = {name: value}
    return LearningPolicy(**knobs)


def refused(name: str, value: object) -> PolicyError:
    """The error that the policy raises for this value, after checking what it says."""
    with pytest.raises(PolicyError) as caught:
        policy_with(name, value)
    error = caught.value
    assert error.facts["field"] == name
    assert error.facts["value"] is value
    assert error.facts["range"] == str(RANGES[name])
    assert name in str(error)
    assert str(RANGES[name]) in str(error)
    return error


def test_fields_have_the_published_order_and_defaults() -> None:
    published = [(field.name, field.default) for field in fields(LearningPolicy)]
    assert published == [(name, default) for name, _, default in DEFAULTS]
    for name, kind, default in DEFAULTS:
        value = getattr(LearningPolicy(), name)
        assert type(value) is kind
        assert value == default


def test_policy_is_built_by_position_as_well_as_by_name() -> None:
    assert LearningPolicy(48, 4) == LearningPolicy(lookback_hours=48, promotion_min_pattern_count=4)
    with pytest.raises(TypeError):
        LearningPolicy(lookback=48)  # type: ignore[call-arg]


def test_policy_is_frozen_and_hashable() -> None:
    policy = LearningPolicy()
    with pytest.raises(FrozenInstanceError):
        policy.lookback_hours = 1  # type: ignore[misc]
    assert hash(policy) == hash(LearningPolicy())
    assert replace(policy, lookback_hours=48).lookback_hours == 48


@pytest.mark.parametrize(("name", "lowest"), LOWEST.items())
def test_whole_number_is_taken_from_its_lowest_value_upwards(name: str, lowest: int) -> None:
    for value in (lowest, lowest + 1, 10**30):
        assert getattr(policy_with(name, value), name) == value
    assert f"{name} is {lowest - 1}; it must be a whole number, at least {lowest}." == str(
        refused(name, lowest - 1)
    )
    refused(name, -(10**30))


@pytest.mark.parametrize("name", LOWEST)
@pytest.mark.parametrize("value", [True, False, "24", 24.0, 24.5, math.nan, math.inf, None, [24]])
def test_whole_number_refuses_other_types(name: str, value: object) -> None:
    refused(name, value)


@pytest.mark.parametrize("name", SHARES)
def test_share_is_taken_from_nought_to_one(name: str) -> None:
    for value in (0.0, 5e-324, 0.25, 1.0):
        assert getattr(policy_with(name, value), name) == value
    for outside in (-5e-324, math.nextafter(1.0, 2.0), -1, 2, 10**400, math.nan, math.inf):
        refused(name, outside)


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("value", [True, False, "0.5", None, 0.5 + 0j])
def test_share_refuses_other_types(name: str, value: object) -> None:
    refused(name, value)


@pytest.mark.parametrize("name", SHARES)
def test_share_given_as_int_or_minus_nought_is_kept_as_plain_float(name: str) -> None:
    kept = getattr(policy_with(name, 1), name)
    assert type(kept) is float
    assert math.copysign(1.0, getattr(policy_with(name, -0.0), name)) == 1.0


@pytest.mark.parametrize("name", FLAGS)
def test_flag_takes_true_and_false_only(name: str) -> None:
    for value in (True, False):
        assert getattr(policy_with(name, value), name) is value
    for other in (0, 1, "true", "", None, 1.0):
        refused(name, other)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", ["", " \n", None, 4, True, b"regex"])
def test_text_must_say_something(name: str, value: object) -> None:
    refused(name, value)


def test_model_name_is_kept_as_given() -> None:
    assert LearningPolicy(phase_12_llm_model="a/b:c 1").phase_12_llm_model == "a/b:c 1"


def test_extractor_kind_is_one_of_three_words() -> None:
    for kind in ("regex", "spacy", "llm"):
        assert (
            LearningPolicy(entity_linker_extractor_kind=kind).entity_linker_extractor_kind == kind
        )
    for other in ("Regex", " regex", "dask", "regex|spacy"):
        refused("entity_linker_extractor_kind", other)


def test_enum_members_are_kept_as_plain_values() -> None:
    class Hours(IntEnum):
        DAY = 24

    class Kind(StrEnum):
        SPACY = "spacy"

    policy = LearningPolicy(lookback_hours=Hours.DAY, entity_linker_extractor_kind=Kind.SPACY)
    assert type(policy.lookback_hours) is int
    assert type(policy.entity_linker_extractor_kind) is str
    assert policy.entity_linker_extractor_kind == "spacy"


def test_long_value_is_shortened_in_the_message_only() -> None:
    value = "x" * 5000
    error = refused("entity_linker_extractor_kind", value)
    assert len(str(error)) < 200
    assert error.facts["value"] == value


def test_as_kwargs_gives_all_nineteen_in_field_order() -> None:
    assert list(LearningPolicy().as_kwargs().items()) == [(n, value) for n, _, value in DEFAULTS]


def test_as_phase_kwargs_gives_exactly_the_eight_factory_names() -> None:
    policy = LearningPolicy(
        lookback_hours=48,
        phase1_spreading_weight=0.25,
        episodic_summarization_max_entries=7,
        episodic_summarization_batch_size=8,
        entity_linker_min_mention_count=9,
        entity_linker_max_episodics_per_run=10,
        entity_linker_confidence_threshold=0.75,
        phase_12_llm_model="some-model",
    )
    given = policy.as_phase_kwargs()
    assert given == {
        "lookback_hours": 48.0,
        "spreading_weight": 0.25,
        "episodic_max_entries": 7,
        "episodic_summarize_batch": 8,
        "entity_min_mention_count": 9,
        "entity_max_episodics_per_run": 10,
        "entity_confidence_threshold": 0.75,
        "procedural_model_name": "some-model",
    }
    assert type(given["lookback_hours"]) is float


def test_every_field_reaches_a_phase_or_is_left_out_for_a_reason() -> None:
    names = {name for name, _, _ in DEFAULTS}
    assert set(PHASE_NAMES) | set(NOT_FOR_PHASES) == names
    assert not set(PHASE_NAMES) & set(NOT_FOR_PHASES)
    assert len(PHASE_NAMES) == 8
    assert all(NOT_FOR_PHASES.values())
    for name in NOT_FOR_PHASES:
        changed = policy_with(name, _other(name))
        assert changed.as_phase_kwargs() == LearningPolicy().as_phase_kwargs()


def test_every_phase_name_follows_its_own_field_only() -> None:
    for name, factory in PHASE_NAMES.items():
        changed = policy_with(name, _other(name)).as_phase_kwargs()
        plain = LearningPolicy().as_phase_kwargs()
        assert {key for key in plain if plain[key] != changed[key]} == {factory}


def test_lookback_beyond_every_float_still_reaches_the_phases() -> None:
    given = LearningPolicy(lookback_hours=10**400).as_phase_kwargs()["lookback_hours"]
    assert check("lookback_hours", given) == given
    assert math.isfinite(given)


@pytest.mark.parametrize("name", [*(name for name, _, _ in DEFAULTS), *PHASE_NAMES.values()])
def test_check_agrees_with_the_policy_for_fields_and_factory_names(name: str) -> None:
    field = next((f for f, factory in PHASE_NAMES.items() if factory == name), name)
    allowed = LearningPolicy().as_kwargs()[field]
    assert check(name, allowed) == allowed
    with pytest.raises(PolicyError) as caught:
        check(name, object())
    assert caught.value.facts["field"] == name


def test_check_takes_part_of_an_hour_that_the_field_refuses() -> None:
    assert check("lookback_hours", 24.5) == 24.5
    assert type(check("lookback_hours", 24)) is float
    refused("lookback_hours", 24.5)
    for value in (0.999, 0, math.inf, math.nan, True, "24", None):
        with pytest.raises(PolicyError, match=r"lookback_hours is .* a number, at least 1"):
            check("lookback_hours", value)


def test_check_keeps_an_int_of_a_float_knob_as_float() -> None:
    assert type(check("spreading_weight", 1)) is float


def test_check_refuses_a_name_that_no_knob_has() -> None:
    with pytest.raises(PolicyError, match="'lookback_days'") as caught:
        check("lookback_days", 3)
    assert caught.value.facts == {"field": "lookback_days", "value": 3, "range": "a knob's name"}


def test_from_settings_falls_back_for_absent_and_none() -> None:
    settings = SimpleNamespace(lookback_hours=None, promotion_recency_days=7, unrelated=object())
    assert LearningPolicy.from_settings(settings) == LearningPolicy(promotion_recency_days=7)
    assert LearningPolicy.from_settings(object()) == LearningPolicy()
    assert LearningPolicy.from_settings(None) == LearningPolicy()


def test_from_settings_reads_every_field() -> None:
    settings = SimpleNamespace(**{name: _other(name) for name, _, _ in DEFAULTS})
    assert LearningPolicy.from_settings(settings).as_kwargs() == vars(settings)


def test_from_settings_keeps_falsy_choices() -> None:
    settings = SimpleNamespace(
        promotion_max_drafts_per_run=0, phase1_spreading_weight=0.0, enable_entity_linker=False
    )
    policy = LearningPolicy.from_settings(settings)
    assert policy.promotion_max_drafts_per_run == 0
    assert policy.phase1_spreading_weight == 0.0
    with pytest.raises(PolicyError):
        LearningPolicy.from_settings(SimpleNamespace(phase_12_llm_model=""))


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"entity_linker_extractor": "spacy"}, "spacy"),
        ({"entity_linker_extractor": "spacy", "entity_linker_extractor_kind": None}, "spacy"),
        ({"entity_linker_extractor": "spacy", "entity_linker_extractor_kind": "llm"}, "llm"),
        ({"entity_linker_extractor": None}, "regex"),
    ],
)
def test_from_settings_reads_the_old_spelling_where_the_new_says_nothing(
    attributes: dict[str, Any], kind: str
) -> None:
    policy = LearningPolicy.from_settings(SimpleNamespace(**attributes))
    assert policy.entity_linker_extractor_kind == kind


def test_from_settings_does_not_read_an_old_spelling_it_does_not_need() -> None:
    settings = SimpleNamespace(entity_linker_extractor="", entity_linker_extractor_kind="llm")
    assert LearningPolicy.from_settings(settings).entity_linker_extractor_kind == "llm"


def test_from_settings_knows_no_other_spelling_and_no_mapping() -> None:
    settings = SimpleNamespace(
        phase_12_action_type_from_tool_calls=True, phase_12_promote_assistant_content=True
    )
    assert LearningPolicy.from_settings(settings) == LearningPolicy()
    assert LearningPolicy.from_settings({"lookback_hours": 48}) == LearningPolicy()


@pytest.mark.parametrize("name", [name for name, _, _ in DEFAULTS])
def test_from_settings_falls_back_field_by_field(name: str) -> None:
    chosen = {field: _other(field) for field, _, _ in DEFAULTS}
    expected = {**chosen, name: LearningPolicy().as_kwargs()[name]}
    absent = {field: value for field, value in chosen.items() if field != name}
    for given_ in (absent, {**absent, name: None}):
        found = LearningPolicy.from_settings(SimpleNamespace(**given_))
        assert found.as_kwargs() == expected


@pytest.mark.parametrize("name", [name for name, _, _ in DEFAULTS])
@pytest.mark.parametrize("value", [0, 0.0, False, "", (), b""])
def test_from_settings_never_takes_a_falsy_choice_for_nothing(name: str, value: object) -> None:
    settings = SimpleNamespace(**{name: value})
    told = _outcome(lambda: LearningPolicy.from_settings(settings), name)
    assert told == _outcome(lambda: policy_with(name, value), name)
    assert told in (value, {"field": name, "value": value, "range": str(RANGES[name])})


def test_from_settings_reads_attributes_however_they_are_made() -> None:
    class Settings:
        __slots__ = ("promotion_recency_days",)
        lookback_hours = 48

        def __init__(self) -> None:
            self.promotion_recency_days = 7

        @property
        def enable_entity_linker(self) -> bool:
            return True

        def __getattr__(self, name: str) -> object:
            if name == "entity_linker_extractor":
                return "llm"
            raise AttributeError(name)

    assert LearningPolicy.from_settings(Settings()) == LearningPolicy(
        lookback_hours=48, promotion_recency_days=7, enable_entity_linker=True,
        entity_linker_extractor_kind="llm",
    )  # fmt: skip


def test_from_settings_does_not_hide_an_attribute_that_fails() -> None:
    class Settings:
        @property
        def lookback_hours(self) -> int:
            raise RuntimeError("the vault is closed")

    with pytest.raises(RuntimeError, match="vault"):
        LearningPolicy.from_settings(Settings())


def test_from_settings_is_its_own_inverse() -> None:
    policy = LearningPolicy(**{name: _other(name) for name, _, _ in DEFAULTS})  # type: ignore[arg-type]
    assert LearningPolicy.from_settings(policy) == policy
    assert LearningPolicy(**policy.as_kwargs()) == policy
    assert LearningPolicy.from_settings(SimpleNamespace(**policy.as_kwargs())) == policy


@pytest.mark.parametrize("value", ["", "dask", 1, False])
def test_old_spelling_out_of_range_is_refused_by_the_fields_name(value: object) -> None:
    with pytest.raises(PolicyError) as caught:
        LearningPolicy.from_settings(SimpleNamespace(entity_linker_extractor=value))
    assert caught.value.facts["field"] == "entity_linker_extractor_kind"
    assert caught.value.facts["value"] is value


def test_policy_knows_one_old_spelling_and_it_is_no_argument() -> None:
    assert OLD_SPELLINGS == {"entity_linker_extractor_kind": "entity_linker_extractor"}
    knobs: dict[str, Any] = {"entity_linker_extractor": "spacy"}
    with pytest.raises(TypeError):
        LearningPolicy(**knobs)


def test_the_models_name_is_written_in_the_policy_only() -> None:
    package = Path(policy_module.__file__).parent
    default = LearningPolicy().phase_12_llm_model
    holders = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*"))
        if path.suffix in {".py", ".tmpl", ".toml"} and default in path.read_text(encoding="utf-8")
    ]
    assert holders == ["policy.py"]


def test_from_settings_keeps_the_class_and_its_own_defaults() -> None:
    @dataclass(frozen=True)
    class Weekly(LearningPolicy):
        lookback_hours: int = 168

    policy = Weekly.from_settings(SimpleNamespace(promotion_recency_days=90))
    assert type(policy) is Weekly
    assert (policy.lookback_hours, policy.promotion_recency_days) == (168, 90)
    with pytest.raises(PolicyError):
        Weekly(lookback_hours=0)


def test_every_field_has_a_note_that_states_its_range() -> None:
    notes = field_notes(LearningPolicy)
    assert list(notes) == list(RANGES) == [name for name, _, _ in DEFAULTS]
    for name, note in notes.items():
        assert f": {RANGES[name]}. " in note, name


def test_window_reaches_back_by_hours() -> None:
    now = datetime(2026, 5, 4, 3, 0, tzinfo=UTC)
    assert window_start(now, 24) == now - timedelta(days=1)
    assert window_start(now, 1.5) == now - timedelta(minutes=90)


@pytest.mark.parametrize("hours", [10**12, 1e12, 1.7e308, 10**400, 2026 * 366 * 24])
def test_window_before_year_one_begins_there(hours: float) -> None:
    now = datetime(2026, 5, 4, 3, 0, tzinfo=UTC)
    assert window_start(now, hours) == datetime(1, 1, 1, tzinfo=UTC)


def test_window_of_a_policy_without_end_begins_in_year_one() -> None:
    hours = LearningPolicy(lookback_hours=10**12).as_phase_kwargs()["lookback_hours"]
    assert window_start(datetime(2026, 1, 1, tzinfo=UTC), hours).year == 1


@given(hours=st.floats(min_value=1, allow_infinity=False, allow_nan=False))
def test_a_longer_window_never_begins_later(hours: float) -> None:
    now = datetime(2026, 5, 4, tzinfo=UTC)
    begin = window_start(now, hours)
    assert begin.tzinfo is UTC
    assert window_start(now, min(hours * 2, 1.7e308)) <= begin <= now


def test_importing_the_policy_loads_the_standard_library_only() -> None:
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import symfonic.capabilities.memory.policy\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "symfonic.capabilities.memory.policy" in loaded
    tops = {name.partition(".")[0] for name in loaded}
    assert tops - sys.stdlib_module_names == {"symfonic"}
    assert not tops & {"sqlite3", "asyncio", "logging", "tomllib", "json"}


def _other(name: str) -> object:
    """A value in range that is not the field's default."""
    default = LearningPolicy().as_kwargs()[name]
    if isinstance(default, bool):
        return not default
    if name == "entity_linker_extractor_kind":
        return "llm"
    if isinstance(default, str):
        return "another-model"
    return default / 2 if isinstance(default, float) else default + 1


def _outcome(make: Callable[[], LearningPolicy], name: str) -> object:
    """The field's value, or the facts of the error that refused it."""
    try:
        return getattr(make(), name)
    except PolicyError as error:
        return error.facts
