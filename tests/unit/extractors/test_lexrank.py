"""LexRank: words, similarities, centrality."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.extractors.lexrank import (
    DAMPING,
    LEAST_SIMILARITY,
    centrality,
    similarities,
    terms,
)

SENTENCES = [
    "The deploy of the billing service failed on Friday.",
    "Billing failed because the deploy skipped the migration.",
    "We run the migration before each deploy of billing.",
    "Lunch was soup.",
]


def test_words_are_folded_counted_and_common_ones_left_out() -> None:
    assert terms("The Deploy and the deploy at 10:30") == {"deploy": 2, "10:30": 1}


def test_words_that_deny_are_kept() -> None:
    assert "not" in terms("It is not in Graz")


def test_text_without_spaces_counts_as_pairs_of_characters() -> None:
    assert set(terms("東京駅")) == {"東京", "京駅"}
    assert set(terms("駅")) == {"駅"}


def test_only_sentences_with_a_common_word_are_linked() -> None:
    near = similarities([terms(s) for s in SENTENCES])
    assert near[3] == {}
    assert set(near[0]) == {1, 2}
    assert near[0][1] == near[1][0]


def test_similarity_is_the_cosine_of_rarity_weighted_counts() -> None:
    # Worked by hand: "a" stands in two of three bags, "b", "c" and "d" in one each, so their
    # weights are ln(1 + 3/2) and ln(1 + 3), and cos = w² / (w² + v²).
    w, v = 0.9162907319, 1.3862943611
    near = similarities([{"a": 1, "b": 1}, {"a": 1, "c": 1}, {"d": 1}])
    expected = w * w / (w * w + v * v)
    assert expected > LEAST_SIMILARITY
    assert near[0][1] == pytest.approx(expected, abs=1e-6)


def test_bags_of_one_common_word_are_alike() -> None:
    assert similarities([{"a": 1}, {"a": 1}]) == [{1: 1.0}, {0: 1.0}]


def test_the_sentence_that_most_resemble_is_the_most_central() -> None:
    star = [{1: 0.5, 2: 0.5, 3: 0.5}, {0: 0.5}, {0: 0.5}, {0: 0.5}, {}]
    ranks = centrality(star)
    assert ranks[0] == 1.0
    assert ranks[1] == ranks[2] == ranks[3]
    assert ranks[4] < ranks[1]


def test_centrality_is_where_the_walk_of_the_paper_ends() -> None:
    # Erkan & Radev (2004): p = d/N + (1 - d) * Bᵀp, where B is the row-normalised similarities.
    pair = [{1: 0.4, 2: 0.2}, {0: 0.4}, {0: 0.2}]
    ranks = centrality(pair)
    share = (1 - DAMPING) / 3
    total = sum(ranks)
    p = [rank / total for rank in ranks]
    assert p[0] == pytest.approx(share + DAMPING * (p[1] + p[2]), abs=1e-3)
    assert p[1] == pytest.approx(share + DAMPING * p[0] * 2 / 3, abs=1e-3)


def test_unlinked_sentences_are_equally_central() -> None:
    assert centrality([{}, {}, {}]) == [1.0, 1.0, 1.0]


def test_no_sentences_have_no_ranks() -> None:
    assert centrality([]) == []
    assert similarities([]) == []


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 3), max_size=5), max_size=12
    )
)
def test_similarities_are_symmetric_and_ranks_lie_within_0_and_1(
    bags: list[dict[str, int]],
) -> None:
    near = similarities(bags)
    for left, row in enumerate(near):
        assert left not in row
        for right, value in row.items():
            assert LEAST_SIMILARITY <= value <= 1.0
            assert near[right][left] == value
    assert all(0 <= rank <= 1 for rank in centrality(near))


@given(st.permutations(range(len(SENTENCES))))
def test_a_sentence_keeps_its_rank_wherever_it_stands(order: list[int]) -> None:
    bags = [terms(s) for s in SENTENCES]
    straight = centrality(similarities(bags))
    shuffled = centrality(similarities([bags[n] for n in order]))
    for place, number in enumerate(order):
        assert shuffled[place] == pytest.approx(straight[number], abs=1e-3)
