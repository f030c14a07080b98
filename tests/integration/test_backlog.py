"""Sleeps end: what a cap leaves on purpose, or a collaborator cannot answer, spins nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import Maintenance
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.testing.builders import make_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import Record

NOW = datetime(2026, 8, 1, tzinfo=UTC)


def calls(session: int, names: Sequence[str]) -> dict[str, Any]:
    return {
        "id": f"c{session}",
        "session": f"s{session}",
        "at": (NOW - timedelta(days=2, minutes=session)).isoformat(),
        "role": "assistant",
        "tool_calls": [{"name": name, "arguments": {}, "ok": True} for name in names],
    }


@pytest.mark.parametrize("cap", [0, 5])
def test_what_the_draft_cap_leaves_neither_spins_nor_starves_the_rest(cap: int) -> None:
    """Forty habits, each in four sessions: each turn is read once a sleep, five drafts come out."""
    memory = make_memory(":memory:")
    rows = [calls(n, (f"open_{n % 40}", f"close_{n % 40}")) for n in range(160)]
    memory.ingest(rows, scope="a", now=NOW)
    policy = LearningPolicy(
        promotion_use_tool_calls_fallback=True, promotion_max_drafts_per_run=cap
    )
    limits = RunLimits(promotion_max_episodics_per_run=20)
    report = memory.sleep(scope="a", policy=policy, limits=limits, now=NOW)
    assert len(report.passes) == 160 // 20
    assert report.passes[-1].phases[-1].left == 0
    assert len(memory.procedures(scope="a")) == cap
    drafted = len(memory.procedures(scope="a"))
    again = memory.sleep(scope="a", policy=policy, limits=limits, now=NOW)
    assert len(again.passes) <= 160 // 20
    assert len(memory.procedures(scope="a")) == min(40, drafted + cap)


class Silent:
    """A summarizer that says nothing until it recovers."""

    name, version = "silent", "1"

    def __init__(self) -> None:
        self.asked = 0
        self.says = ""

    def summarize(self, episodes: Sequence[Record], *, max_characters: int) -> str:
        self.asked += 1
        return self.says


def test_a_summarizer_that_says_nothing_is_asked_again_another_night() -> None:
    memory = make_memory(":memory:")
    rows = [
        {"id": str(n), "session": "s", "text": f"The kiln was lit, day {n}.",
         "at": (NOW - timedelta(days=9, minutes=n)).isoformat()}
        for n in range(12)
    ]  # fmt: skip
    memory.ingest(rows, scope="a", now=NOW)
    policy = LearningPolicy(
        episodic_summarization_max_entries=1, episodic_summarization_batch_size=4
    )
    summarizer = Silent()
    given = {"summarizer": summarizer}
    first = memory.sleep(scope="a", policy=policy, given=given, now=NOW)
    assert len(first.passes) <= 2
    assert summarizer.asked == 3
    summarizer.says = "The kiln was lit daily."
    later = memory.sleep(scope="a", policy=policy, given=given, now=NOW + timedelta(days=1))
    assert summarizer.asked == 6
    assert later.change_count > 0


def test_an_undo_is_taken_back_by_a_redo_alone() -> None:
    from symfonic.capabilities.memory.errors import UndoRefused

    memory = make_memory(":memory:")
    memory.remember("the spare key", scope="a", now=NOW)
    undone = Maintenance(memory.store, ()).undo(Scope("a"), 1, now=NOW)
    with pytest.raises(UndoRefused, match="symfonic-memory redo a#2"):
        memory.undo(undone.run_id, now=NOW)
    assert memory.redo(undone.run_id, now=NOW).change_count == 1
    assert memory.stats(scope="a")["visible"] == 1
