"""A restore that is killed leaves an empty scope or a whole one, and what is restored lives on."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.export_file import framed

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
Rows = list[dict[str, Any]]

CHILD = """
import json, os, signal, sys
from symfonic.capabilities.memory import Memory
from symfonic.capabilities.memory.stores.sqlite.connection import Connection

store, file, at_step = sys.argv[1], sys.argv[2], int(sys.argv[3])
steps = 0

def step(*_):
    global steps
    steps += 1
    if steps == at_step:
        os.kill(os.getpid(), signal.SIGKILL)

opened = Connection.__init__
def watched(self, *args, **kwargs):
    opened(self, *args, **kwargs)
    self.raw.set_progress_handler(step, 100)
    self.raw.set_trace_callback(step)
Connection.__init__ = watched

with Memory.open(store) as memory, open(file) as lines:
    memory.restore(map(json.loads, lines))
print(steps)
"""


def write(memory: Memory, file: Path) -> list[str]:
    """The lines of an export, which are in the file too."""
    lines = [json.dumps(line) for line in framed(SCOPE, memory.export(scope=SCOPE))]
    file.write_text("\n".join(lines) + "\n")
    return lines


@pytest.fixture
def source(
    memory: Memory, log: Callable[[int], Rows], learning: LearningPolicy, now: datetime
) -> Memory:
    """A scope with some nights, a decision and a plan."""
    memory.ingest(log(90), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=learning, now=now)
    draft = memory.procedures(scope=SCOPE)[0]
    memory.decide(draft.id, "approved", scope=SCOPE, by="ana")
    memory.plan(scope=SCOPE, policy=learning)
    return memory


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_restore_killed_anywhere_leaves_the_scope_empty_or_whole(
    source: Memory, opened: Callable[..., Memory], tmp_path: Path
) -> None:
    lines = write(source, tmp_path / "backup.jsonl")

    def restore(store: Path, step: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CHILD, str(store), str(tmp_path / "backup.jsonl")]
        return subprocess.run(
            [*command, str(step)], check=False, capture_output=True, text=True, timeout=120
        )

    steps = int(restore(tmp_path / "whole.db", 0).stdout)
    chance = random.Random(7)
    places = [*(chance.randrange(1, steps) for _ in range(5)), steps - 3]
    for number, step in enumerate(places):
        store = tmp_path / f"{number}.db"
        assert restore(store, step).returncode == -signal.SIGKILL
        memory = opened(store)
        assert memory.check() == []
        if memory.scopes() == []:
            memory.restore(map(json.loads, lines))
        found = write(memory, tmp_path / "again.jsonl")
        assert found == lines


def test_what_is_restored_has_the_same_nights_and_can_be_undone(
    source: Memory,
    opened: Callable[..., Memory],
    log: Callable[[int], Rows],
    learning: LearningPolicy,
    now: datetime,
    tmp_path: Path,
) -> None:
    lines = write(source, tmp_path / "backup.jsonl")
    other = opened(salt=b"another")
    other.restore(map(json.loads, lines))
    night = now + timedelta(days=1)
    nights = []
    for memory in (source, other):
        memory.ingest(log(150)[90:], scope=SCOPE, now=night)
        report = memory.sleep(scope=SCOPE, policy=learning, now=night)
        nights.append([(run.run_id, run.input_digest, run.digest) for run in report.passes])
        assert report.change_count > 20
        memory.undo(report.passes[-1].run_id, now=night)
    assert nights[0] == nights[1]
    assert list(other.export(scope=SCOPE))[1:50] == list(source.export(scope=SCOPE))[1:50]
    assert other.replay(nights[1][0][0]).outcome == "equal"


def test_under_another_name_what_came_along_can_be_undone_but_not_replayed(
    source: Memory, opened: Callable[..., Memory], tmp_path: Path
) -> None:
    other, copy = opened(), "pottery/copy"
    other.restore(map(json.loads, write(source, tmp_path / "backup.jsonl")), scope=copy)
    night = next(run for run in other.runs(scope=copy) if run.status == "committed")
    assert night.report["run_id"].startswith("pottery/copy#")
    first = f"{copy}#1"
    assert other.replay(first).outcome == "input-gone"
    assert other.undo(first, cascade=True).change_count > 20
    assert other.check() == []
