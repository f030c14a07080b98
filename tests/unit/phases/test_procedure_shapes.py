"""Which runs of calls are set aside, and why. The rules are those of decision 0014."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.phases.procedure_shapes import (
    parts_of,
    runs_around,
    set_aside,
)

AB, ABC, ABX, BC = ("a", "b"), ("a", "b", "c"), ("a", "b", "x"), ("b", "c")


def aside(runs: dict[tuple[str, ...], int], **alone: int) -> dict[tuple[str, ...], str]:
    parts = dict.fromkeys(parts_of(runs), 1)
    parts |= {run: count for run, count in runs.items() if len(run) == 2}
    return dict(set_aside(runs, {**parts, **{(name,): count for name, count in alone.items()}}))


def test_the_parts_of_runs_are_their_pairs_and_their_calls() -> None:
    assert parts_of([ABC, AB]) == [("a",), AB, ("b",), BC, ("c",)]
    assert parts_of([]) == []


def test_around_a_run_are_its_endings_and_what_may_be_before_and_after() -> None:
    found = runs_around([ABC], ["x"])
    assert found == sorted([ABC, (*ABC, "x"), ("x", *ABC), BC, (*BC, "x"), ("x", *BC)])
    assert runs_around([tuple("abcdef")], ["x"])[0] == tuple("abcdef")
    assert max(map(len, runs_around([tuple("abcdef")], ["x"]))) == 6


def test_a_run_that_mostly_goes_on_is_a_piece_of_what_it_goes_on_in() -> None:
    # Neither of the two is half of it; together they are.
    assert aside({AB: 10, ABC: 3, ABX: 3}) == {AB: "piece"}
    assert aside({AB: 13, ABC: 3, ABX: 3}) == {}


def test_a_run_that_mostly_follows_from_another_is_a_piece_too() -> None:
    assert aside({BC: 6, ABC: 3}) == {BC: "piece"}


def test_the_same_ending_with_more_before_it_is_a_variant_of_what_is_more_usual() -> None:
    assert aside({BC: 7, ABC: 3}) == {ABC: "variant"}


def test_looking_up_on_the_way_to_something_is_set_aside() -> None:
    on_the_way = ("get_user", "get_order")
    found = aside({on_the_way: 20, (*on_the_way, "cancel"): 5})
    assert found == {on_the_way: "look_up"}


@pytest.mark.parametrize(
    ("first", "second"), [("search_web", "fetchPage"), ("mcp__files__read_file", "grep")]
)
def test_looking_up_is_a_procedure_where_nothing_else_is_done(first: str, second: str) -> None:
    assert aside({(first, second): 4}) == {}
    assert aside({(first, second): 4, ("open", "send"): 3}) == {}


def test_a_tool_is_known_by_its_verb_wherever_it_comes_from() -> None:
    on_the_way = ("crm.getUser", "mcp__shop__list_orders")
    assert aside({on_the_way: 20, (*on_the_way, "7"): 3}) == {on_the_way: "look_up"}


def test_two_errands_that_met_are_no_procedure() -> None:
    # "b" follows "a" in 3 of 40 sessions with "a", and comes after it in 3 of 50 with "b".
    assert aside({AB: 3}, a=40, b=50) == {AB: "loose"}
    assert aside({AB: 4}, a=40, b=50) == {}
    assert aside({AB: 3}, a=40, b=9) == {}


def test_what_is_loose_stands_for_nothing() -> None:
    assert aside({AB: 6, ABC: 3, BC: 3}, b=90, c=90) == {ABC: "loose", BC: "loose"}


runs = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=2, max_size=4).map(tuple), st.integers(1, 9)
)


@given(runs)
def test_what_is_set_aside_does_not_depend_on_the_order_of_the_runs(
    found: dict[tuple[str, ...], int],
) -> None:
    assert aside(found) == aside(dict(reversed(found.items())))


@given(runs.filter(bool))
def test_something_is_always_left(found: dict[tuple[str, ...], int]) -> None:
    assert len(aside(found)) < len(found)
