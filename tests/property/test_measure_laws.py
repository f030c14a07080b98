"""What holds of every measure, whatever the ranking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.evaluation.measures import (
    all_at,
    any_at,
    in_order,
    interval,
    ndcg_at,
    recall_at,
    recall_within,
    session_measures,
    turn_measures,
)

IDS = st.sampled_from([None, *"abcdefghij"])
RANKINGS = st.lists(IDS, max_size=30)
GOLD = st.frozensets(st.sampled_from("abcdefghijkl"), min_size=1)
DEPTHS = st.integers(min_value=1, max_value=35)


@given(ranked=RANKINGS, gold=GOLD, length=st.integers(0, 500))
def test_every_measure_is_a_share(
    ranked: list[str | None], gold: frozenset[str], length: int
) -> None:
    turns = turn_measures(ranked, [length] * len(ranked), gold)
    for value in (*turns.values(), *session_measures(ranked, gold).values()):
        assert 0 <= value <= 1


@given(ranked=RANKINGS, gold=GOLD, k=DEPTHS)
def test_more_rows_find_no_less(ranked: list[str | None], gold: frozenset[str], k: int) -> None:
    for measure in (recall_at, any_at, all_at):
        assert measure(ranked, gold, k) <= measure(ranked, gold, k + 1)
    assert recall_within(ranked, [k] * len(ranked), gold, 100) <= recall_within(
        ranked, [k] * len(ranked), gold, 101
    )


@given(ranked=RANKINGS, gold=GOLD, k=DEPTHS)
def test_all_is_no_more_than_the_share_and_that_no_more_than_any(
    ranked: list[str | None], gold: frozenset[str], k: int
) -> None:
    share = recall_at(ranked, gold, k)
    assert all_at(ranked, gold, k) <= share <= any_at(ranked, gold, k)


@given(ranked=RANKINGS, gold=GOLD, k=DEPTHS, data=st.data())
def test_the_order_of_the_first_rows_does_not_change_what_is_among_them(
    ranked: list[str | None], gold: frozenset[str], k: int, data: st.DataObject
) -> None:
    mixed = data.draw(st.permutations(ranked[:k]))
    assert recall_at(mixed, gold, k) == recall_at(ranked, gold, k)


@given(ranked=st.permutations("abcdefghij"), gold=GOLD, k=DEPTHS)
def test_gold_first_is_the_best_order(ranked: list[str], gold: frozenset[str], k: int) -> None:
    best = sorted(ranked, key=lambda i: i not in gold)
    assert ndcg_at(ranked, gold, k) <= ndcg_at(best, gold, k) + 1e-12
    if gold.issubset(ranked):
        assert abs(ndcg_at(best, gold, k) - 1) < 1e-12


@given(ranked=RANKINGS, gold=GOLD, names=st.permutations("abcdefghijkl"))
def test_names_mean_nothing(
    ranked: list[str | None], gold: frozenset[str], names: list[str]
) -> None:
    to = dict(zip("abcdefghijkl", names, strict=True))
    renamed = [None if i is None else to[i] for i in ranked]
    lengths = [7] * len(ranked)
    assert turn_measures(ranked, lengths, gold) == turn_measures(
        renamed, lengths, frozenset(to[i] for i in gold)
    )


@given(ranked=RANKINGS)
def test_sessions_are_each_counted_once(ranked: list[str | None]) -> None:
    found = in_order(ranked)
    assert len(found) == len(set(found))
    assert set(found) == set(ranked) - {None}


@given(mean=st.floats(0, 1), count=st.integers(1, 10_000))
def test_the_interval_holds_the_mean_and_narrows(mean: float, count: int) -> None:
    low, high = interval(mean, count)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    more_low, more_high = interval(mean, 4 * count)
    assert more_high - more_low <= high - low
