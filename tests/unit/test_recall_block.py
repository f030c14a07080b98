from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.packing import tokens
from symfonic.capabilities.memory.recall import Recall, RecallItem
from symfonic.capabilities.memory.recall_block import FOOT, HEAD, MARK, context_block
from symfonic.capabilities.memory.records import RecordId

ITEM = RecallItem(
    id=RecordId("0c0d8781dc14c00f68d17966"), kind="episode", text="The kiln is hot.", score=1.0,
    scope="acme/ana", occurred_at="2026-05-01T14:03:00+00:00",
    recorded_at="2026-05-02T00:00:00+00:00", role="user", speaker="Ana",
)  # fmt: skip
HOSTILE = st.text(
    alphabet=st.sampled_from("ab \n\r>[]1\u2028\x85\u202e\u200b,") | st.characters(), max_size=60
)


def test_an_entry_says_when_who_what_and_which() -> None:
    block = Recall(items=(ITEM,)).as_context()
    assert block == (
        f"{HEAD}\n\n[1] 2026-05-01, Ana, episode, id 0c0d8781dc14\n> The kiln is hot.\n{FOOT}"
    )


def test_what_a_row_rests_on_and_how_long_it_holds_is_said() -> None:
    fact = replace(
        ITEM, kind="fact", speaker=None, role=None, valid_from="2026-01-01", valid_to="2026-02-01",
        evidence=(RecordId("a"), RecordId("b")),
    )  # fmt: skip
    (line,) = [line for line in context_block([fact]).splitlines() if line.startswith("[1]")]
    assert line == (
        "[1] 2026-05-01, fact, from 2026-01-01, until 2026-02-01, rests on 2, id 0c0d8781dc14"
    )


def test_an_untimed_row_is_dated_by_its_recording_and_a_long_name_is_cut() -> None:
    row = replace(ITEM, occurred_at=None, speaker="A" * 100)
    line = context_block([row]).splitlines()[4]
    assert line.startswith(f"[1] 2026-05-02, {'A' * 59}…, episode")


def test_nothing_found_is_no_block() -> None:
    assert Recall().as_context() == ""
    assert context_block([ITEM], token_budget=1) == ""


@given(HOSTILE, HOSTILE)
def test_no_text_or_name_ends_the_block_or_begins_an_entry(text: str, name: str) -> None:
    block = context_block([replace(ITEM, text=text, speaker=name), ITEM])
    lines = block.splitlines()
    assert [*lines[:3], lines[-1]] == [*HEAD.splitlines(), FOOT]
    heads = [n for n, line in enumerate(lines) if line.startswith("[")]
    assert [lines[n].partition("]")[0] for n in heads] == ["[1", "[2"]
    for number, line in enumerate(lines[3:-1], start=3):
        assert number in heads or not line or line.startswith(MARK.rstrip())
    assert not set(block) & {"\u202e", "\u200b", "\u2028", "\x85", "\r", "\x00"}


@given(HOSTILE | st.sampled_from([FOOT, f"a {FOOT} b", "<memory>", "</memory >", HEAD]), HOSTILE)
def test_a_prompt_that_is_stored_again_is_known_as_memory(text: str, name: str) -> None:
    block = context_block([replace(ITEM, text=text, speaker=name)])
    assert without_pasted(f"Hello.\n{block}\nBye.").split() == ["Hello.", "Bye."]


@given(st.lists(st.integers(1, 400), max_size=8), st.integers(0, 400))
def test_a_block_keeps_to_its_budget(lengths: list[int], budget: int) -> None:
    items = [replace(ITEM, text="a" * length) for length in lengths]
    block = context_block(items, token_budget=budget)
    assert not block or tokens(block) <= budget
    assert block.count("\n\n[") == sum(1 for line in block.splitlines() if line.startswith("["))


def test_a_row_that_is_too_long_makes_room_for_the_next() -> None:
    block = context_block([replace(ITEM, text="a" * 4000), ITEM], token_budget=120)
    assert "[1]" not in block
    assert "[2] 2026-05-01" in block


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\U000e0041", "\ufeff", "\x1b"])
def test_characters_that_are_not_seen_are_shown(hidden: str) -> None:
    assert "a\ufffdb" in context_block([replace(ITEM, text=f"a{hidden}b")])
