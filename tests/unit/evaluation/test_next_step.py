"""What comes next: who says what, and how it is counted."""

from __future__ import annotations

import pytest

from symfonic.capabilities.memory.evaluation.next_step import (
    Known,
    NGram,
    Place,
    Score,
    covered,
    next_by_draft,
    score,
    trigger_words,
)


def draft(*steps: str, words: str = "", support: int = 3) -> Known:
    return Known(steps=steps, words=frozenset(words.split()), support=support)


def place(*before: str, said: str = "", taken: str = "x") -> Place:
    return Place(before=before, steps=before, said=frozenset(said.split()), taken=taken)


def test_a_draft_speaks_where_the_last_calls_are_its_beginning() -> None:
    drafts = [draft("a", "b", "c")]
    said = [
        next_by_draft(drafts, place(*before), by_trigger=False)
        for before in (["a"], ["z", "a", "b"], ["b"], ["a", "b", "c"], ["a", "z"], [])
    ]
    assert said == ["b", "c", None, None, None, None]


def test_the_longest_beginning_counts_then_the_support_then_the_steps() -> None:
    drafts = [draft("b", "c", support=9), draft("b", "y", support=9), draft("a", "b", "d")]
    assert next_by_draft(drafts, place("a", "b"), by_trigger=False) == "d"
    assert next_by_draft(drafts, place("z", "b"), by_trigger=False) == "c"


def test_a_trigger_weighs_the_support() -> None:
    # 9 x 0.5/2 = 2.25 for the one whose word nobody said, 3 x 1.5/2 = 2.25 for the other: equal,
    # and the support of 4 tips it.
    often, seldom = draft("a", "b", words="move", support=9), draft("a", "c", words="cancel")
    here = place("a", said="cancel")
    assert next_by_draft([often, seldom], here, by_trigger=True) == "b"
    assert (
        next_by_draft([often, draft("a", "c", words="cancel", support=4)], here, by_trigger=True)
        == "c"
    )
    assert next_by_draft([often, seldom], here, by_trigger=False) == "b"


def test_the_words_of_a_trigger_are_its_own_and_not_how_it_is_put() -> None:
    assert trigger_words("the user asks about: cancelling, refunds") == {"cancel", "refund"}
    assert trigger_words("") == frozenset()


def test_an_n_gram_says_what_followed_most_and_backs_off() -> None:
    ngram = NGram([["a", "b", "c"], ["a", "b", "c"], ["a", "b", "d"], ["z", "b", "e"]])
    assert ngram.next(["a", "b"]) == "c"
    assert ngram.next(["new", "b"]) == "c"
    assert ngram.next(["z", "b"]) == "e"
    assert ngram.next(["new"]) == "b"
    assert ngram.next(["q", "a", "b"]) == "c"


def test_of_equal_followers_the_first_by_name_is_said() -> None:
    assert NGram([["a", "y"], ["a", "x"]]).next(["a"]) == "x"


def test_an_n_gram_of_nothing_has_no_opinion() -> None:
    assert NGram([]).next(["a"]) is None


def test_a_score_counts_places_opinions_and_what_was_right() -> None:
    places = [place("a", taken="b"), place("a", taken="c"), place("z", taken="b")]
    found = score(places, lambda one: next_by_draft([draft("a", "b")], one, by_trigger=False))
    assert found == Score(places=3, opinions=2, right=1)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a b c", (2, 3)),
        ("a a think b", (2, 2)),
        ("a c b", (0, 3)),
        ("a b c a b", (4, 5)),
        ("", (0, 0)),
    ],
)
def test_steps_are_covered_that_stand_in_a_whole_draft(
    names: str, expected: tuple[int, int]
) -> None:
    assert covered([draft("a", "b"), draft("b", "a")], names.split()) == expected
