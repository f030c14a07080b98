"""Patterns of tool calls: windows, retries, failures, bounds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.extractors.calls import (
    LAST_CALLS,
    LONGEST,
    CallPattern,
    call_patterns,
    key_of,
    names_of,
)
from symfonic.capabilities.memory.records import Entity, Episode, Record, RecordId, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

AT = datetime(2026, 3, 1, tzinfo=UTC)


def episode(id: str, *names: str, failed: Sequence[int] = ()) -> Record:
    calls = tuple(ToolCall(name=n, ok=i not in failed) for i, n in enumerate(names))
    return Record(
        id=RecordId(id), scope="a", kind="episode", key=None, session="s", recorded_at=AT,
        content=Episode(role="assistant", calls=calls),
    )  # fmt: skip


def keys(patterns: Sequence[CallPattern]) -> list[str]:
    return [" > ".join(names_of(pattern.key)) for pattern in runs(patterns)]


def runs(patterns: Sequence[CallPattern]) -> list[CallPattern]:
    return [pattern for pattern in patterns if len(pattern.places) > 1]


def test_every_window_that_ends_in_the_episode_is_a_pattern() -> None:
    found = call_patterns(episode("2", "b", "c"), [episode("1", "x", "a")])
    assert sorted(keys(found)) == ["a > b", "a > b > c", "b > c", "x > a > b", "x > a > b > c"]


def test_a_pattern_says_where_its_calls_stand() -> None:
    (pattern,) = runs(call_patterns(episode("2", "b"), [episode("1", "a")]))
    assert pattern.places == (("1", 0), ("2", 0))


def test_one_call_alone_is_kept_to_be_counted() -> None:
    (pattern,) = call_patterns(episode("1", "a"), [])
    assert names_of(pattern.key) == ("a",)
    assert runs([pattern]) == []


@pytest.mark.parametrize("name", ["think", "mcp__sequential-thinking__sequentialthinking"])
def test_a_note_to_self_is_no_step(name: str) -> None:
    found = call_patterns(episode("2", name, "b"), [episode("1", "a", name)])
    assert keys(found) == ["a > b"]
    assert runs(found)[0].places == (("1", 0), ("2", 1))
    assert call_patterns(episode("1", name), []) == []


def test_a_tool_that_only_sounds_like_a_note_is_a_step() -> None:
    assert keys(call_patterns(episode("1", "rethink", "think_tank_search"), [])) == [
        "rethink > think_tank_search"
    ]


def test_a_window_holds_at_most_six_calls() -> None:
    found = call_patterns(episode("2", "h"), [episode("1", *"abcdefg")])
    assert [len(pattern.places) for pattern in runs(found)] == [6, 5, 4, 3, 2]


def test_a_loop_is_counted_as_its_last_turn() -> None:
    # A loop of retries must not be unrolled into a long procedure.
    found = call_patterns(episode("1", *["list", "requeue"] * 4), [])
    assert keys(found) == ["list > requeue"]
    assert found[0].places == (("1", 6), ("1", 7))


def test_a_loop_over_several_episodes_is_collapsed_too() -> None:
    before = [episode("1", "list"), episode("2", "requeue"), episode("3", "list")]
    assert keys(call_patterns(episode("4", "requeue"), before)) == ["list > requeue"]


def test_repeats_inside_a_repeat_collapse() -> None:
    assert keys(call_patterns(episode("1", *"aabaab"), [])) == ["a > b"]


def test_a_retry_that_ends_well_is_no_failure() -> None:
    (pattern,) = runs(call_patterns(episode("1", "find", "open", "open", failed=[1]), []))
    assert pattern.ok


def test_a_failed_call_makes_the_pattern_fail() -> None:
    (pattern,) = runs(call_patterns(episode("1", "find", "open", failed=[1]), []))
    assert not pattern.ok


def test_an_unknown_outcome_does_not_count_as_failed() -> None:
    calls = (ToolCall(name="a"), ToolCall(name="b"))
    one = Record(
        id=RecordId("1"), scope="a", kind="episode", key=None,
        content=Episode(role="user", calls=calls),
    )  # fmt: skip
    assert call_patterns(one, [])[0].ok


def test_of_two_occurrences_the_successful_one_is_kept_then_the_later() -> None:
    names = ["a", "b", "x", "a", "b", "y", "a", "b"]
    places = {p.key: p.places for p in call_patterns(episode("1", *names, failed=[7]), [])}
    assert places[key_of(["a", "b"])] == (("1", 3), ("1", 4))


def test_the_patterns_of_one_episode_are_bounded() -> None:
    names = [f"tool{n}" for n in range(500)]
    found = call_patterns(episode("1", *names), [])
    assert len(found) == LAST_CALLS * LONGEST
    assert key_of(["tool498", "tool499"]) in {pattern.key for pattern in found}


def test_a_nameless_call_and_odd_spaces_have_a_name() -> None:
    assert keys(call_patterns(episode("1", " ", "send\n mail"), [])) == ["unnamed > send mail"]


def test_a_record_that_is_no_episode_has_no_calls() -> None:
    entity = Record(
        id=RecordId("1"), scope="a", kind="entity", key="k",
        content=Entity(name="Ana", entity_kind="person"),
    )  # fmt: skip
    assert call_patterns(entity, []) == []


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_no_pattern_repeats_a_block_at_once(names: list[str]) -> None:
    for key in keys(call_patterns(episode("1", *names), [])):
        calls = key.split(" > ")
        for length in (1, 2, 3):
            for start in range(len(calls) - 2 * length + 1):
                block = calls[start : start + length]
                assert calls[start + length : start + 2 * length] != block


def test_a_name_with_a_joining_mark_in_it_is_one_name() -> None:
    names = ("a > b", "c"), ("a", "b > c"), ("a", "b", "c")
    assert len({key_of(each) for each in names}) == 3
    assert [names_of(key_of(each)) for each in names] == list(names)
    assert names_of("stated:before push => run test") == ()
