"""History that came in at once and is walked, beside history that came in day by day."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.limits import RunLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
FIRST = datetime(2026, 3, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)
Turns = list[dict[str, Any]]


def day_by_day(memory: Memory, turns: Turns, policy: LearningPolicy, *, last: datetime) -> None:
    """Bring each day's turns in before its night, and sleep where there were some."""
    night = FIRST
    while night <= last:
        new = [t for t in turns if night - DAY < datetime.fromisoformat(t["at"]) <= night]
        if new or night == last:
            memory.ingest(new, scope=SCOPE, now=night)
            memory.sleep(scope=SCOPE, policy=policy, now=night)
        night += DAY


def digests(memory: Memory) -> list[tuple[datetime, str, str]]:
    """The clock and both digests of every pass, in order."""
    runs = [run for run in memory.runs(scope=SCOPE, limit=1000) if run.kind == "deep"]
    return [(run.clock, run.input_digest, run.digest) for run in reversed(runs)]


def gappy(log: Callable[[int], Turns]) -> Turns:
    """A month of talk with days on which nobody said anything."""
    return [t for t in log(900) if datetime.fromisoformat(t["at"]).day % 5 not in {2, 3}]


def test_walked_history_is_learnt_as_if_it_had_come_in_day_by_day(
    log: Callable[[int], Turns],
    learning: LearningPolicy,
    opened: Callable[..., Memory],
    learnt: Callable[..., Turns],
) -> None:
    turns, last = gappy(log), FIRST + 28 * DAY
    lived, walked = opened(), opened()
    day_by_day(lived, turns, learning, last=last)
    walked.ingest(turns, scope=SCOPE, now=last)
    report = walked.backfill(scope=SCOPE, policy=learning, until=last)
    assert len(report.nights) > 12
    assert report.episodes == sum(datetime.fromisoformat(t["at"]) <= last for t in turns)
    assert learnt(walked, SCOPE) == learnt(lived, SCOPE)
    assert digests(walked) == digests(lived)
    assert walked.check() == []


def test_a_walk_learns_every_kind_of_thing(
    log: Callable[[int], Turns], learning: LearningPolicy, opened: Callable[..., Memory]
) -> None:
    walked = opened()
    walked.ingest(gappy(log), scope=SCOPE, now=FIRST + 28 * DAY)
    walked.backfill(scope=SCOPE, policy=learning, until=FIRST + 28 * DAY)
    assert {"entity", "summary", "procedure"} <= walked.stats(scope=SCOPE)["records"].keys()


def test_older_history_is_walked_in_a_scope_that_has_slept_later(
    log: Callable[[int], Turns], learning: LearningPolicy, opened: Callable[..., Memory]
) -> None:
    memory, turns = opened(), gappy(log)
    old, new = turns[:300], turns[300:]
    last = FIRST + 28 * DAY
    memory.ingest(new, scope=SCOPE, now=last)
    memory.sleep(scope=SCOPE, policy=learning, now=last)
    memory.ingest(old, scope=SCOPE, now=last + DAY)
    report = memory.backfill(scope=SCOPE, policy=learning, until=last)
    assert report.episodes == len(old)
    assert [night.clock for night in report.nights][-1] < last
    assert memory.state(scope=SCOPE).deep_clock == last
    assert not any(phase.left for phase in report.runs[-1].phases if phase.outcome == "ran")
    memory.sleep(scope=SCOPE, policy=learning, now=last + DAY)


def test_what_few_passes_leave_of_a_night_is_left_to_the_next(
    log: Callable[[int], Turns], learning: LearningPolicy, opened: Callable[..., Memory]
) -> None:
    memory, last = opened(), FIRST + 28 * DAY
    memory.ingest(gappy(log), scope=SCOPE, now=last)
    report = memory.backfill(
        scope=SCOPE, policy=learning, until=last, limits=RunLimits(max_passes=1)
    )
    assert all(len(night.passes) == 1 for night in report.nights)


CHILD = """
import os, signal, sys
from datetime import datetime
from symfonic.capabilities.memory import LearningPolicy, Memory

store, until, nights, phases = sys.argv[1:]
begun = 0

def end():
    os.kill(os.getpid(), signal.SIGKILL)

def walked(far):
    if far.nights == int(nights):
        end()

def watch(number, phase):
    global begun
    begun += 1
    if begun == int(phases):
        end()

policy = LearningPolicy(
    enable_entity_linker=True, promotion_use_tool_calls_fallback=True,
    episodic_summarization_max_entries=20, episodic_summarization_batch_size=12,
    entity_linker_max_episodics_per_run=15,
)
with Memory.open(store) as memory:
    memory.backfill(
        scope="pottery/agent", policy=policy, until=datetime.fromisoformat(until),
        walked=walked, watch=watch,
    )
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_process_killed_between_nights_and_in_them_walks_on(
    log: Callable[[int], Turns],
    opened: Callable[..., Memory],
    tmp_path: Path,
    contents: Callable[..., Turns],
) -> None:
    last = FIRST + 6 * DAY
    stores = tmp_path / "whole.db", tmp_path / "killed.db"
    for store in stores:
        memory = opened(store)
        memory.ingest(log(200), scope=SCOPE, now=last)
        memory.close()

    def walk(store: Path, *, nights: int = -1, phases: int = -1) -> int:
        command = [sys.executable, "-c", CHILD, str(store), last.isoformat()]
        return subprocess.run(
            [*command, str(nights), str(phases)], check=False, timeout=120
        ).returncode

    assert walk(stores[0]) == 0
    for phases in (3, 11):
        assert walk(stores[1], phases=phases) == -signal.SIGKILL
        assert walk(stores[1], nights=1) == -signal.SIGKILL
    assert walk(stores[1]) == 0
    whole, killed = (opened(store) for store in stores)
    assert killed.check() == []
    assert len(digests(whole)) > 8
    assert digests(killed) == digests(whole)
    assert contents(killed, SCOPE, history=True) == contents(whole, SCOPE, history=True)
