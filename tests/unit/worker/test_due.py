from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.store import RunRow, ScopeState
from symfonic.capabilities.memory.worker.due import (
    Due,
    Waits,
    find_due,
    last_sleep_was_cut_off,
)
from symfonic.capabilities.memory.worker.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = datetime(2026, 3, 2, 10, 5, tzinfo=UTC)
NIGHTLY = Schedule(deep="0 3 * * *", light="off")
BOTH = Schedule()


def state(deep: datetime | None = None, last: datetime | None = None, visible: int = 3) -> Any:
    return ScopeState(
        path="acme/ana", salt=b"s", half_life_hours=720, visible=visible, counter=9, run_count=4,
        last_clock=last or deep, deep_clock=deep, settings={},
    )  # fmt: skip


def at(hour: int, minute: int = 0, day: int = 2) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def test_scope_that_never_slept_is_due_at_once() -> None:
    assert find_due(state(), BOTH, NOW) == Due(kind="deep", why="first")
    only_light = Schedule(deep="off")
    assert find_due(state(), only_light, NOW) == Due(kind="light", why="first")


def test_empty_scope_waits_and_says_why() -> None:
    found = find_due(state(visible=0), BOTH, NOW)
    assert found == Waits(next=at(10, 15), reason="the scope holds nothing yet")


def test_deep_is_due_once_a_slot_lies_between_the_last_run_and_now() -> None:
    assert find_due(state(at(2, 59)), NIGHTLY, at(3)) == Due(kind="deep", why="slot")
    assert find_due(state(at(2, 59)), NIGHTLY, at(2, 59)) == Waits(next=at(3))
    assert find_due(state(at(3)), NIGHTLY, NOW) == Waits(next=at(3, day=3))


def test_many_missed_slots_are_one_run() -> None:
    assert find_due(state(at(3) - timedelta(days=30)), NIGHTLY, NOW) == Due(kind="deep", why="slot")


def test_deep_goes_before_light() -> None:
    assert find_due(state(at(2)), BOTH, at(3)) == Due(kind="deep", why="slot")


@pytest.mark.parametrize(
    ("last", "done", "is_due"),
    [
        (at(10, 1), None, False), (at(9, 59), None, True), (at(9, 59), at(10, 0), False),
        (at(10, 1), at(9, 0), False), (at(9, 0), at(9, 59), True),
    ],
)  # fmt: skip
def test_light_is_due_by_the_later_of_its_own_and_the_scopes_last_run(
    last: datetime, done: datetime | None, is_due: bool
) -> None:
    found = find_due(state(at(3), last), BOTH, NOW, light_done=done)
    assert found == (Due(kind="light", why="slot") if is_due else Waits(next=at(10, 15)))


def test_cut_off_sleep_is_due_at_once_and_asked_for_last() -> None:
    assert find_due(state(at(3)), BOTH, NOW, is_unfinished=lambda: True) == Due(
        kind="deep", why="unfinished"
    )

    def never() -> bool:
        raise AssertionError("a slot is due already")

    assert find_due(state(at(2)), NIGHTLY, NOW, is_unfinished=never).kind == "deep"  # type: ignore[union-attr]


def test_last_run_ahead_of_the_clock_holds_its_slots_back_and_says_so() -> None:
    ahead = NOW + timedelta(days=400)
    found = find_due(state(ahead), BOTH, NOW)
    assert isinstance(found, Waits)
    assert "lies ahead" in found.reason
    assert found.next == BOTH.next_after(ahead)


def phase(left: int = 0, reread: int = 0, outcome: str = "ran") -> dict[str, Any]:
    return {"name": "link_entities", "outcome": outcome, "left": left, "reread": reread}


def run(clock: datetime, *phases: Any, kind: Any = "deep", status: Any = "committed") -> RunRow:
    return RunRow(
        number=1, scope="acme/ana", kind=kind, status=status, clock=clock, input_digest="",
        digest="", settings={}, report={"phases": phases},
    )  # fmt: skip


class Runs:
    def __init__(self, runs: Sequence[RunRow]) -> None:
        self.all = runs
        self.limits: list[int] = []

    def runs(self, *, scope: str, limit: int) -> Sequence[RunRow]:
        self.limits.append(limit)
        return self.all[:limit]


@pytest.mark.parametrize(
    ("rows", "is_cut_off"),
    [
        ([], False),
        ([run(at(3), phase())], False),
        ([run(at(3), phase(left=5))], True),
        ([run(at(3), phase(reread=5))], True),
        ([run(at(3), phase(left=5, outcome="declined"), phase(left=5, outcome="failed"))], False),
        ([run(at(3), phase(left=5), status="undone")], False),
        ([run(at(3), phase(left=5), kind="light")], False),
        ([run(at(4), phase(left=9), kind="user"), run(at(3), phase(left=5))], True),
        ([run(at(3), phase(left=5)), run(at(3), phase(left=9))], True),
        # As many passes as a sleep may make: what is left is for the next night.
        ([run(at(3), phase(left=n)) for n in (5, 7, 9)], False),
        # Those of the night before are another sleep's.
        ([*[run(at(3), phase(left=5))] * 2, run(at(3, day=1), phase(left=9))], True),
    ],
)
def test_sleep_was_cut_off_where_its_last_pass_left_work(
    rows: list[RunRow], is_cut_off: bool
) -> None:
    memory: Any = Runs(rows)
    assert last_sleep_was_cut_off(memory, "acme/ana", max_passes=3) is is_cut_off


def test_runs_of_a_long_sleep_are_read_only_where_it_left_something() -> None:
    memory: Any = Runs([run(at(3), phase())])
    last_sleep_was_cut_off(memory, "acme/ana", max_passes=60)
    assert memory.limits == [20]
    memory.all = [replace(memory.all[0], report={"phases": [phase(left=1)]})]
    last_sleep_was_cut_off(memory, "acme/ana", max_passes=60)
    assert memory.limits == [20, 20, 80]
