"""Laws of taking turns in: again adds nothing, and neither order nor batches matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import SCOPE, add, content, filled, rows
from symfonic.capabilities.memory.testing.strategies import logs, plain, sessions

if TYPE_CHECKING:
    import random

    from symfonic.capabilities.memory.store import Turn


@given(logs(), st.integers(1, 5), st.integers(1, 5))
def test_the_same_turns_again_change_nothing(turns: list[Turn], first: int, second: int) -> None:
    with filled(turns, batches=first) as memory:
        before = rows(memory, tables=("record", "link", "use", "pending"))
        assert add(memory, turns, batches=second) == []
        assert rows(memory, tables=("record", "link", "use", "pending")) == before


@given(logs(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_ids_and_content_do_not_depend_on_order_or_batches(
    turns: list[Turn], chance: random.Random, batches: int
) -> None:
    shuffled = list(turns)
    chance.shuffle(shuffled)
    without = ("version", "seq", "stamp")
    tables = ("record", "pending")
    with filled(turns) as memory, filled(shuffled, batches=batches) as other:
        assert rows(memory, tables=tables, without=without) == rows(
            other, tables=tables, without=without
        )


@given(logs(), st.data())
def test_a_longer_log_adds_exactly_what_is_new(turns: list[Turn], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(turns)))
    with filled(turns[:cut]) as memory, filled(turns) as whole:
        added = add(memory, turns)
        assert len(added) == len(turns) - cut
        assert rows(memory, without=("version", "seq")) == rows(whole, without=("version", "seq"))


@given(sessions(most=8), st.data())
def test_a_conversation_sent_again_under_new_ids_adds_only_its_tail(
    turns: list[Turn], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(turns)))
    turns = [replace(turn, role="user") if turn.role == "system" else turn for turn in turns]
    renamed = [replace(turn, source_id=f"again-{turn.source_id}") for turn in turns]
    with filled(turns[:cut]) as memory:
        assert len(add(memory, renamed)) == len(turns) - cut
        assert len(add(memory, renamed)) == 0


@given(logs())
def test_a_file_and_its_turns_give_the_same_records(turns: list[Turn]) -> None:
    spoken = [turn for turn in turns if turn.text.strip() or turn.calls]
    with make_memory() as memory:
        memory.ingest([plain(turn) for turn in spoken], scope=SCOPE, format="jsonl", now=NOW)
        report = memory.ingest(
            [plain(turn) for turn in spoken], scope=SCOPE, format="jsonl", now=NOW
        )
        assert (report.added, report.known) == (0, len(spoken))
        before = content(memory)
        assert len(before) == len(spoken)
