"""The measures of a ranking, each checked against numbers that were worked out by hand."""

from __future__ import annotations

from math import log2

import pytest

from symfonic.capabilities.memory.evaluation.measures import (
    all_at,
    any_at,
    in_order,
    interval,
    means,
    ndcg_at,
    recall_at,
    recall_within,
    reciprocal_rank,
    session_measures,
    turn_measures,
)

RANKED = ["a", None, "b", "c", "d"]


@pytest.mark.parametrize(
    ("gold", "k", "share"),
    [("b", 2, 0.0), ("b", 3, 1.0), ("bz", 3, 0.5), ("abcd", 4, 0.75), ("z", 50, 0.0)],
)
def test_recall_is_the_share_of_gold_among_the_first(gold: str, k: int, share: float) -> None:
    assert recall_at(RANKED, frozenset(gold), k) == share


def test_any_wants_one_and_all_wants_every_gold_id() -> None:
    gold = frozenset("bd")
    assert [any_at(RANKED, gold, k) for k in (2, 3, 5)] == [0.0, 1.0, 1.0]
    assert [all_at(RANKED, gold, k) for k in (2, 3, 5)] == [0.0, 0.0, 1.0]


def test_ndcg_is_the_gain_over_the_best_gain() -> None:
    gold = frozenset("bd")
    best = 1 + 1 / log2(3)
    assert ndcg_at(RANKED, gold, 10) == pytest.approx((1 / log2(4) + 1 / log2(6)) / best)
    assert ndcg_at(RANKED, gold, 3) == pytest.approx(0.5 / best)
    assert ndcg_at(["b", "d"], gold, 10) == 1.0
    assert ndcg_at(["b"], frozenset("bcdef"), 1) == 1.0


def test_an_id_that_comes_again_gains_once() -> None:
    assert ndcg_at(["b", "b"], frozenset("bd"), 10) == pytest.approx(1 / (1 + 1 / log2(3)))


def test_reciprocal_rank_is_of_the_first_gold_id() -> None:
    assert reciprocal_rank(RANKED, frozenset("bc"), 50) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKED, frozenset("bc"), 2) == 0.0
    assert reciprocal_rank([], frozenset("b"), 50) == 0.0


@pytest.mark.parametrize(("characters", "share"), [(9, 0.0), (10, 0.5), (19, 0.5), (60, 1.0)])
def test_what_fits_ends_with_the_first_row_that_does_not(characters: int, share: float) -> None:
    assert recall_within(["a", "b"], [10, 10], frozenset("ab"), characters) == share


def test_a_row_after_one_that_does_not_fit_is_not_taken() -> None:
    assert recall_within(["a", "b"], [90, 10], frozenset("b"), 50) == 0.0


def test_sessions_come_in_the_order_of_their_first_row() -> None:
    assert in_order(["s2", None, "s1", "s2", "s3"]) == ["s2", "s1", "s3"]


def test_the_first_sessions_are_different_ones_however_many_rows_each_has() -> None:
    ranked = [*["s1"] * 30, None, "s2", "s3", "s4", "s5", "s6"]
    found = session_measures(ranked, frozenset(["s5", "s6"]))
    assert (found["any@1"], found["any@5"], found["any@10"]) == (0.0, 1.0, 1.0)
    assert (found["all@1"], found["all@5"], found["all@10"]) == (0.0, 0.0, 1.0)
    assert (found["recall@1"], found["recall@5"], found["recall@10"]) == (0.0, 0.5, 1.0)


def test_turn_measures_have_the_names_and_depths_of_the_protocol() -> None:
    ranked = [f"x{n}" for n in range(1, 60)]
    found = turn_measures(ranked, [150] * 59, frozenset(["x5", "x30"]))
    assert found == {
        "recall@1": 0.0, "recall@5": 0.5, "recall@10": 0.5, "recall@20": 0.5, "recall@50": 1.0,
        "all_gold@10": 0.0, "ndcg@10": pytest.approx(1 / log2(6) / (1 + 1 / log2(3))),
        "mrr": pytest.approx(0.2), "recall@4000_characters": 0.5,
    }  # fmt: skip


def test_means_are_taken_measure_by_measure() -> None:
    assert means([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.0}]) == {"a": 0.5, "b": 0.0}
    assert means([]) == {}


@pytest.mark.parametrize(
    ("mean", "count", "low", "high"),
    [  # the same to five places as tables of the interval have it
        (0.5, 100, 0.40383, 0.59617),
        (0.9, 10, 0.59585, 0.98212),
        (1.0, 10, 0.72247, 1.0),
        (0.0, 10, 0.0, 0.27753),
    ],
)  # fmt: skip
def test_the_interval_is_wilsons(mean: float, count: int, low: float, high: float) -> None:
    assert interval(mean, count) == pytest.approx((low, high), abs=1e-5)
