"""Laws of a backup: what is restored is what was exported, and its nights are the same nights."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.export_file import framed
from symfonic.capabilities.memory.testing.builders import NOW, make_memory, make_turn
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, add, filled
from symfonic.capabilities.memory.testing.strategies import logs

if TYPE_CHECKING:
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Turn

NIGHT = timedelta(days=1)


def exported(memory: Memory) -> list[str]:
    """The lines of the scope's export."""
    return [json.dumps(line) for line in framed(SCOPE, memory.export(scope=SCOPE))]


def restored(lines: list[str]) -> Memory:
    memory = make_memory(salt=b"another")
    try:
        memory.restore([json.loads(line) for line in lines])
    except BaseException:
        memory.close()
        raise
    return memory


def lived(turns: list[Turn], *, decide: bool, undo: bool) -> Memory:
    """A memory with nights, uses, a decision, an undo, a plan and a tombstone."""
    memory = filled(turns)
    memory.recall("refund Ilse", scope=SCOPE, now=NOW)
    memory.sleep(scope=SCOPE, policy=EAGER, now=NOW)
    drafts = memory.procedures(scope=SCOPE)
    if decide and drafts:
        memory.decide(drafts[0].id, "approved", scope=SCOPE, by="ana", now=NOW)
    if undo and memory.diff(f"{SCOPE}#1"):
        memory.undo(f"{SCOPE}#1", now=NOW)
    memory.remember("Buy a kettle.", scope=SCOPE, working=True, now=NOW)
    memory.plan(scope=SCOPE, policy=EAGER, now=NOW + NIGHT)
    ids = memory.find_forgettable(scope=SCOPE, session="s1")
    if ids:
        memory.forget(ids[:1], scope=SCOPE)
    return memory


@given(logs(), st.booleans(), st.booleans(), logs(most=2))
def test_an_export_of_what_was_restored_is_the_same_and_so_is_the_next_night(
    turns: list[Turn], decide: bool, undo: bool, more: list[Turn]
) -> None:
    with lived(turns, decide=decide, undo=undo and not decide) as memory:
        lines = exported(memory)
        with restored(lines) as other:
            assert exported(other) == lines
            assert other.check() == []
            for one in (memory, other):
                add(one, more, now=NOW + NIGHT)
            nights = [
                one.sleep(scope=SCOPE, policy=EAGER, now=NOW + 2 * NIGHT)
                for one in (memory, other)
            ]  # fmt: skip
            first, second = (
                [(run.input_digest, run.digest) for run in night.passes] for night in nights
            )
            assert first == second


def test_a_journal_longer_than_the_scope_has_had_changes_raises_no_counter() -> None:
    said = "I asked Marta Kowalczyk about the parcel today."
    turns = [
        make_turn(
            said if n == 0 else "", session="s0", position=n, source_id=f"s0-{n}",
            at=NOW - timedelta(minutes=1),
        )
        for n in range(5)
    ]  # fmt: skip
    with lived(turns, decide=False, undo=False) as memory:
        lines = exported(memory)
        assert (
            max(row["seq"] for row in map(json.loads, lines) if row.get("table") == "change")
            > (json.loads(lines[1])["counter"])
        )
        with restored(lines) as other:
            assert exported(other) == lines


@given(logs(most=2), st.data())
def test_an_export_that_was_edited_cut_doubled_or_reordered_leaves_nothing(
    turns: list[Turn], data: st.DataObject
) -> None:
    with lived(turns, decide=False, undo=False) as memory:
        lines = exported(memory)
    where = st.integers(1, len(lines) - 2)
    one, other = data.draw(where), data.draw(where)
    damage = data.draw(st.sampled_from(("cut", "left out", "doubled", "swapped", "edited")))
    broken = list(lines)
    if damage == "cut":
        broken = lines[:one]
    elif damage == "left out":
        del broken[one]
    elif damage == "doubled":
        broken.insert(one, broken[other])
    elif damage == "swapped":
        broken[one], broken[other] = broken[other], broken[one]
    else:
        row: dict[str, Any] = json.loads(broken[one])
        name = data.draw(st.sampled_from(sorted(row)))
        row[name] = "" if row[name] else 1
        broken[one] = json.dumps(row)
    if broken == lines:
        return
    with make_memory() as empty:
        with pytest.raises(InputError, match=r"(line|Line) \d+"):
            empty.restore([json.loads(line) for line in broken])
        assert empty.scopes() == []
