from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import (
    CollaboratorError,
    InputError,
    RecordNotFound,
    RunAlreadyActive,
)
from symfonic.capabilities.memory.maintenance import system_clock
from symfonic.capabilities.memory.nights import Nights
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.testing.builders import NOW, make_memory, make_session
from symfonic.capabilities.memory.testing.memories import EAGER, SCOPE, WHERE, add
from symfonic.capabilities.memory.testing.scripted import ScriptedProposer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.backfill import BackfillReport, Walked
    from symfonic.capabilities.memory.service import Memory

DAY = timedelta(days=1)
LAST = datetime.fromisoformat("2026-03-02T02:00Z")


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Three days of talk, the last five days before the night of the tests."""
    with make_memory() as memory:
        for days in (9, 8, 5):
            talk = ["Ilse Brandt rang.", "Then Ilse Brandt wrote.", "I told Ilse Brandt."]
            add(memory, make_session(
                *talk, session=f"d{days}", prefix=f"d{days}-", start=NOW - days * DAY
            ))  # fmt: skip
        yield memory


def told(report: BackfillReport) -> list[tuple[str, int]]:
    return [(night.clock.isoformat()[:16], night.episodes) for night in report.nights]


def walk(memory: Memory, **options: Any) -> BackfillReport:
    return memory.backfill(scope=SCOPE, policy=EAGER, **options)


def test_only_nights_with_new_episodes_are_walked_and_the_last(memory: Memory) -> None:
    report = walk(memory)
    assert told(report) == [
        ("2026-02-22T02:00", 3), ("2026-02-23T02:00", 3), ("2026-02-26T02:00", 3),
        ("2026-03-02T02:00", 0),
    ]  # fmt: skip
    state = memory.state(scope=SCOPE)
    assert (state.last_clock, state.deep_clock) == (LAST, LAST)
    shown = report.as_dict()
    assert shown["totals"] == {
        "nights": 4, "episodes": 9, "runs": len(report.runs), "changes": report.change_count,
    }  # fmt: skip
    assert shown["nights"][0]["runs"] == [run.run_id for run in report.nights[0].passes]
    assert report.change_count > 9
    assert (report.failed, report.held) == ((), None)


def test_older_history_falls_to_the_stated_first_night(memory: Memory) -> None:
    report = walk(memory, since=NOW - 7 * DAY, dry_run=True)
    assert told(report) == [
        ("2026-02-24T02:00", 6), ("2026-02-26T02:00", 3), ("2026-03-02T02:00", 0),
    ]  # fmt: skip
    assert report.as_dict()["dry_run"] is True
    assert report.runs == ()
    assert memory.runs(scope=SCOPE) == []


def test_a_walk_ends_before_what_is_later(memory: Memory) -> None:
    assert told(walk(memory, until=NOW - 8 * DAY)) == [("2026-02-22T02:00", 3)]
    assert told(walk(memory, until=NOW - 7 * DAY)) == [("2026-02-23T02:00", 3)]
    assert told(walk(memory)) == [("2026-02-26T02:00", 3), ("2026-03-02T02:00", 0)]


def test_nights_begin_when_and_where_they_are_said_to(memory: Memory) -> None:
    nights = Nights(at=time(23, 30), zone="Europe/Vienna")
    report = walk(memory, nights=nights, dry_run=True)
    assert told(report)[0] == ("2026-02-21T22:30", 3)
    assert told(report)[-1] == ("2026-03-01T22:30", 0)


def test_progress_is_told_before_the_first_night_and_after_each(memory: Memory) -> None:
    far: list[Walked] = []
    phases: list[tuple[int, str]] = []
    report = walk(memory, walked=far.append, watch=lambda n, p: phases.append((n, p)))
    assert [(f.nights, f.of_nights, f.episodes, f.of_episodes) for f in far] == [
        (0, 4, 0, 9), (1, 4, 3, 9), (2, 4, 6, 9), (3, 4, 9, 9), (4, 4, 9, 9),
    ]  # fmt: skip
    assert far[0].night is None
    assert far[-1].night == report.nights[-1]
    assert far[-1].changes == report.change_count
    assert (1, "link_entities") in phases


def test_a_walked_scope_has_nothing_to_walk(memory: Memory) -> None:
    walk(memory)
    with pytest.raises(InputError, match=r"the last sleep was at 2026-03-02T02:00:00\+00:00"):
        walk(memory)
    with pytest.raises(InputError, match="nothing to walk"):
        walk(memory, dry_run=True)


def test_a_scope_that_holds_nothing_has_nothing_to_walk() -> None:
    with make_memory() as memory:
        with pytest.raises(RecordNotFound):
            walk(memory)
        add(memory, [])
        with pytest.raises(InputError, match="Ingest history first"):
            walk(memory)


def test_a_beginning_after_the_end_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="No night begins from 2026-03-02"):
        walk(memory, since=NOW, until=NOW)
    with pytest.raises(InputError, match="nights begin at 02:00 in UTC") as caught:
        walk(memory, since=NOW, until=NOW - DAY)
    assert caught.value.facts["since"] == NOW.isoformat()
    with pytest.raises(InputError, match="from the beginning to"):
        walk(memory, until=datetime.fromisoformat("0001-01-01T00:00Z"))


def test_a_scope_that_another_process_runs_is_refused(memory: Memory) -> None:
    lease = memory.store.acquire(WHERE, now=system_clock(), term_seconds=60)
    with pytest.raises(RunAlreadyActive):
        walk(memory)
    assert memory.runs(scope=SCOPE) == []
    memory.store.release(lease)
    assert walk(memory).episodes == 9


def test_new_history_is_walked_by_another_walk_and_slept_nights_are_not(memory: Memory) -> None:
    walk(memory)
    add(memory, make_session("Late news.", session="x", prefix="x", start=NOW - 20 * DAY))
    assert told(walk(memory)) == [("2026-02-11T02:00", 1)]
    memory.sleep(scope=SCOPE, policy=EAGER)
    add(memory, make_session("More news.", session="y", prefix="y", start=NOW - 30 * DAY))
    memory.sleep(scope=SCOPE, policy=EAGER)
    with pytest.raises(InputError, match="nothing to walk"):
        walk(memory)


def test_a_failed_phase_ends_no_walk_and_is_told(memory: Memory) -> None:
    policy = LearningPolicy(phase_12_use_llm_extractor=True)
    failing = ScriptedProposer(script=(), error=CollaboratorError("no model"))
    report = memory.backfill(scope=SCOPE, policy=policy, given={"proposer": failing})
    assert {phase.name for phase in report.failed} == {"promote_procedures"}
    assert len(report.nights) == 4
