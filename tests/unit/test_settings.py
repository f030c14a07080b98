from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError, PolicyError
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.settings import (
    TABLES,
    Resolved,
    environment_name,
    fingerprint,
    near_misses,
    older_names,
    read_knob,
    resolve,
)

if TYPE_CHECKING:
    from pathlib import Path

KNOBS = [name for ranges in TABLES.values() for name in ranges]


def from_environment(**variables: str) -> Resolved:
    return resolve(file=None, environ=variables, sets=())


def from_flags(*sets: str) -> Resolved:
    return resolve(file=None, environ={}, sets=sets)


def from_file(folder: Path, text: str | bytes) -> Resolved:
    file = folder / "knobs.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return resolve(file=file, environ={}, sets=())


def values(resolved: Resolved) -> dict[str, Any]:
    return {
        **resolved.policy.as_kwargs(),
        **asdict(resolved.retention),
        **asdict(resolved.limits),
    }


def test_knob_names_are_unique_across_the_three_values() -> None:
    assert len(KNOBS) == len(set(KNOBS)) == 19 + 6 + 11


def test_nothing_given_leaves_every_default() -> None:
    resolved = from_flags()
    assert resolved.policy == LearningPolicy()
    assert resolved.retention == RetentionPolicy()
    assert resolved.limits == RunLimits()
    assert resolved.sources == dict.fromkeys(KNOBS, "default")


def test_each_layer_wins_over_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "knobs.toml"
    file.write_text("lookback_hours = 2\ngrace_days = 2\nmax_passes = 2\n")
    resolved = resolve(
        file=file,
        environ={"SYMFONIC_LOOKBACK_HOURS": "3", "SYMFONIC_GRACE_DAYS": "3"},
        sets=["lookback_hours=4"],
    )
    assert resolved.policy == LearningPolicy(lookback_hours=4)
    assert resolved.retention == RetentionPolicy(grace_days=3)
    assert resolved.limits == RunLimits(max_passes=2)
    given = {name: source for name, source in resolved.sources.items() if source != "default"}
    assert given == {
        "lookback_hours": "flag",
        "grace_days": "environment SYMFONIC_GRACE_DAYS",
        "max_passes": f"file {file}",
    }


def test_every_knob_is_set_by_flag_environment_and_file(tmp_path: Path) -> None:
    texts = {name: str(_other(name)) for name in KNOBS}
    expected = {name: _other(name) for name in KNOBS}
    flagged = from_flags(*(f"{name}={text}" for name, text in texts.items()))
    assert values(flagged) == expected
    assert set(flagged.sources.values()) == {"flag"}
    named = from_environment(**{environment_name(name): text for name, text in texts.items()})
    assert values(named) == expected
    assert named.sources == {name: f"environment {environment_name(name)}" for name in KNOBS}
    lines = [f"{name} = {_toml(_other(name))}" for name in KNOBS]
    assert values(from_file(tmp_path, "\n".join(lines))) == expected


def test_default_stated_in_a_layer_has_that_layer_as_its_source() -> None:
    resolved = from_flags("lookback_hours=24")
    assert resolved.policy == LearningPolicy()
    assert resolved.sources["lookback_hours"] == "flag"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("TRUE", True),
        ("1", True),
        (" yes ", True),
        ("false", False),
        ("0", False),
        ("no", False),
        ("No", False),
    ],
)
def test_flag_is_read_from_its_words(text: str, value: bool) -> None:
    assert from_flags(f"enable_entity_linker={text}").policy.enable_entity_linker is value


@pytest.mark.parametrize(
    "text",
    [
        "enable_entity_linker=maybe",
        "enable_entity_linker=",
        "enable_entity_linker=2",
        "lookback_hours=none",
        "lookback_hours=24.0",
        "lookback_hours=",
        "lookback_hours=" + "9" * 5000,
        "lookback_hours=0",
        "half_life_days=nan",
        "half_life_days=inf",
        "half_life_days=a month",
        "phase_12_llm_model=  ",
        "entity_linker_extractor_kind=dask",
    ],
)
def test_text_that_stands_for_no_value_is_refused_with_its_source(text: str) -> None:
    name, _, value = text.partition("=")
    with pytest.raises(PolicyError, match=rf"^{name} is .* \(flag\); it must be ") as caught:
        from_flags(text)
    assert set(caught.value.facts) == {"field", "value", "range"}
    assert caught.value.facts["field"] == name
    variable = environment_name(name)
    with pytest.raises(PolicyError, match=rf"\(environment {variable}\)"):
        from_environment(**{variable: value})


def test_none_is_read_for_the_age_of_episodes_in_every_layer(tmp_path: Path) -> None:
    file = tmp_path / "knobs.toml"
    file.write_text('episode_days = "none"\n')
    resolved = resolve(file=file, environ={}, sets=())
    assert resolved.retention.episode_days is None
    assert resolved.sources["episode_days"] == f"file {file}"
    environ = {"SYMFONIC_EPISODE_DAYS": "90"}
    assert resolve(file=file, environ=environ, sets=()).retention.episode_days == 90
    over = resolve(file=file, environ=environ, sets=["episode_days=None"])
    assert over.retention.episode_days is None


def test_wrong_value_is_refused_also_where_a_later_layer_overrides_it() -> None:
    with pytest.raises(PolicyError, match="SYMFONIC_LOOKBACK_HOURS"):
        resolve(file=None, environ={"SYMFONIC_LOOKBACK_HOURS": "0"}, sets=["lookback_hours=24"])


def test_last_flag_of_a_name_wins() -> None:
    assert from_flags("lookback_hours=2", "lookback_hours = 3").policy.lookback_hours == 3


def test_flag_without_a_value_says_how_to_write_it() -> None:
    with pytest.raises(PolicyError, match="name=value"):
        from_flags("lookback_hours")


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("lookback_hour", "lookback_hours"),
        ("lookback-hours", "lookback_hours"),
        ("entity_linker_extractor", "entity_linker_extractor_kind"),
        ("phase_12_action_type_from_tool_calls", "promotion_use_tool_calls_fallback"),
        ("halflife_days", "half_life_days"),
    ],
)
def test_unknown_name_is_refused_with_the_near_one(tmp_path: Path, wrong: str, near: str) -> None:
    with pytest.raises(PolicyError, match=rf"\(flag\)\. Did you mean {near}\?") as caught:
        from_flags(f"{wrong}=1")
    assert caught.value.facts["suggestion"] == near
    with pytest.raises(PolicyError, match=rf"knobs\.toml\)\. Did you mean {near}\?"):
        from_file(tmp_path, f"{wrong} = 1")
    with pytest.raises(PolicyError, match=f"Did you mean {near}"):
        from_file(tmp_path, f"[policy]\n{wrong} = 1")


def test_unknown_name_like_no_other_is_refused_without_a_guess() -> None:
    with pytest.raises(PolicyError, match="reference page") as caught:
        from_flags("colour=blue")
    assert caught.value.facts["suggestion"] is None


def test_environment_names_of_others_are_ignored_silently(
    caplog: pytest.LogCaptureFixture,
) -> None:
    resolved = from_environment(
        SYMFONIC_STORE="memory.db",
        SYMFONIC_SCOPE="acme",
        SYMFONIC_TIMEZONE="Europe/Vienna",
        SYMFONIC_SALT="abc",
        LOOKBACK_HOURS="1",
    )
    assert resolved == from_flags()
    assert not caplog.records


def test_environment_name_that_nearly_is_a_knob_sets_nothing_and_is_named() -> None:
    resolved = from_environment(SYMFONIC_LOOKBACK_HOUR="1")
    assert resolved.policy == from_flags().policy
    assert resolved.near_misses == (("SYMFONIC_LOOKBACK_HOUR", "SYMFONIC_LOOKBACK_HOURS"),)


@pytest.mark.parametrize(
    ("old", "field", "text", "value"),
    [
        ("ENTITY_LINKER_EXTRACTOR", "entity_linker_extractor_kind", "spacy", "spacy"),
        (
            "PHASE_12_ACTION_TYPE_FROM_TOOL_CALLS",
            "promotion_use_tool_calls_fallback",
            "yes",
            True,
        ),
        ("PHASE_12_PROMOTE_ASSISTANT_CONTENT", "promotion_promote_assistant_content", "1", True),
    ],
)
def test_old_environment_spelling_is_read_where_the_new_one_is_not_set(
    caplog: pytest.LogCaptureFixture, old: str, field: str, text: str, value: object
) -> None:
    resolved = from_environment(**{f"SYMFONIC_{old}": text})
    assert getattr(resolved.policy, field) == value
    assert resolved.sources[field] == f"environment SYMFONIC_{old}"
    default = str(getattr(LearningPolicy(), field))
    both = from_environment(**{f"SYMFONIC_{old}": text, environment_name(field): default})
    assert both.policy == LearningPolicy()
    assert both.sources[field] == f"environment {environment_name(field)}"
    assert not caplog.records


def test_older_names_are_those_three_and_no_knobs() -> None:
    older = {old: name for name in KNOBS for old in older_names(name)}
    assert older == {
        "entity_linker_extractor": "entity_linker_extractor_kind",
        "phase_12_action_type_from_tool_calls": "promotion_use_tool_calls_fallback",
        "phase_12_promote_assistant_content": "promotion_promote_assistant_content",
    }
    assert not older.keys() & set(KNOBS)


def test_older_environment_name_is_no_near_miss() -> None:
    older = [environment_name(old) for name in KNOBS for old in older_names(name)]
    assert near_misses([*older, *map(environment_name, KNOBS), "LOOKBACK_HOUR"]) == ()
    assert near_misses(["SYMFONIC_MAX_PASS", "SYMFONIC_LOOKBACK_HOUR"]) == (
        ("SYMFONIC_LOOKBACK_HOUR", "SYMFONIC_LOOKBACK_HOURS"),
        ("SYMFONIC_MAX_PASS", "SYMFONIC_MAX_PASSES"),
    )


@pytest.mark.parametrize("name", KNOBS)
def test_knob_is_read_from_a_text_and_from_its_value_alike(name: str) -> None:
    value = _other(name)
    assert read_knob(name, str(value), source="here") == value
    assert read_knob(name, value, source="here") == value
    with pytest.raises(PolicyError, match=rf"^{name} is .* \(here\); it must be ") as caught:
        read_knob(name, object(), source="here")
    assert caught.value.facts["field"] == name


def test_file_takes_names_at_the_top_and_in_their_tables(tmp_path: Path) -> None:
    text = (
        "lookback_hours = 2\n[retention]\nhalf_life_days = 7\n[limits]\nmax_passes = 9\n[policy]\n"
    )
    resolved = from_file(tmp_path, text)
    assert resolved.policy.lookback_hours == 2
    assert resolved.retention.half_life_days == 7.0
    assert resolved.limits.max_passes == 9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[limits]\nhalf_life_days = 7", r"belongs to \[retention\]"),
        ("grace_days = 1\n[retention]\ngrace_days = 2", "set twice"),
        ("policy = 3", r"\[policy\]"),
        ("[polocy]\nlookback_hours = 3", "'polocy'"),
        ("[lookback_hours]", "whole number"),
        ('lookback_hours = "24"', "whole number"),
        ('lookback_hours = "none"', "whole number"),
        ("lookback_hours = true", "whole number"),
        ("enable_entity_linker = 1", "true or false"),
        ("half_life_days = nan", "a number from 1 to 100000"),
        ("lookback_hours = 2026-05-04", "whole number"),
    ],
)
def test_file_with_a_wrong_entry_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says) as caught:
        from_file(tmp_path, text)
    assert "knobs.toml" in str(caught.value)
    assert {"field", "value", "range"} <= set(caught.value.facts)


@pytest.mark.parametrize(
    "text",
    [
        b"lookback_hours = ",
        b"\xff\xfe",
        b"a = 1\na = 2",
        b"x = " + b"9" * 5000,
        b"x = " + b"[" * 9999,
    ],
)
def test_file_that_is_not_toml_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(InputError, match=r"knobs\.toml is not TOML") as caught:
        from_file(tmp_path, text)
    assert caught.value.facts == {"path": str(tmp_path / "knobs.toml")}


def test_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    resolved = from_file(tmp_path, b"\xef\xbb\xbflookback_hours = 2\r\n")
    assert resolved.policy.lookback_hours == 2


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            resolve(file=path, environ={}, sets=())
        assert caught.value.facts == {"path": str(path)}


def test_fingerprint_does_not_depend_on_where_a_value_came_from() -> None:
    flagged = from_flags("lookback_hours=48", "half_life_days=7")
    policy, retention = LearningPolicy(lookback_hours=48), RetentionPolicy(half_life_days=7)
    expected = fingerprint(policy, retention, RunLimits())
    assert fingerprint(flagged.policy, flagged.retention, flagged.limits) == expected
    assert len(expected) == 32


def test_fingerprint_is_the_same_in_every_process() -> None:
    program = (
        "from symfonic.capabilities.memory.settings import fingerprint, resolve\n"
        "found = resolve(file=None, environ={}, sets=['lookback_hours=48'])\n"
        "print(fingerprint(found.policy, found.retention, found.limits))\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "SYMFONIC_LOOKBACK_HOURS": "1"},
        ).stdout.strip()
        for seed in ("0", "1", "2")
    ]
    assert printed == [_fingerprint(from_flags("lookback_hours=48"))] * 3


def test_every_knob_changes_the_fingerprint() -> None:
    prints = {_fingerprint(from_flags())}
    for name in KNOBS:
        prints.add(_fingerprint(from_flags(f"{name}={_other(name)}")))
    assert len(prints) == len(KNOBS) + 1


def _fingerprint(resolved: Resolved) -> str:
    return fingerprint(resolved.policy, resolved.retention, resolved.limits)


def _other(name: str) -> Any:
    """A value in range that is not the knob's default."""
    default = values(from_flags())[name]
    if isinstance(default, bool):
        return not default
    if name == "entity_linker_extractor_kind":
        return "llm"
    if isinstance(default, str):
        return "another-model"
    if default is None:
        return 90
    return default + 0.25 if isinstance(default, float) else default + 1


def _toml(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower()
