"""One process takes turns in and two recall while a run commits: nothing is lost, nobody waits."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.policy import LearningPolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
TURNS, QUESTIONS = 120, 60

TALKER = """
import json, sys
from datetime import datetime
from symfonic.capabilities.memory import Memory
store, now, count = sys.argv[1], datetime.fromisoformat(sys.argv[2]), int(sys.argv[3])
with Memory.open(store) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    added = 0
    for number in range(count):
        turn = {"role": "user", "content": f"Live turn {number} for Marguerite Oakes."}
        added += memory.add_turn(turn, scope="pottery/agent", session="live", now=now).added
print(json.dumps(added))
"""

READER = """
import json, sys
from datetime import datetime
from symfonic.capabilities.memory import Memory
store, now, count = sys.argv[1], datetime.fromisoformat(sys.argv[2]), int(sys.argv[3])
answers = []
with Memory.open(store) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        found = memory.recall("beacon", scope="pottery/agent", limit=10, now=now)
        answers.append([[item.id, item.kind, item.source_id] for item in found.items])
print(json.dumps(answers))
"""


def started(script: str, store: Path, now: datetime, count: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(store), now.isoformat(), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finished(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def test_a_talker_and_two_readers_work_while_runs_commit(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]],
    now: datetime, learning: LearningPolicy,
) -> None:  # fmt: skip
    store = tmp_path / "m.db"
    memory = opened(store)
    beacons = [
        {**row, "id": f"beacon {n}", "session": f"beacon {n}", "text": f"The beacon {n} is lit."}
        for n, row in enumerate(log(5))
    ]
    memory.ingest([*log(240), *beacons], scope=SCOPE, now=now)
    talker = started(TALKER, store, now, TURNS)
    readers = [started(READER, store, now, QUESTIONS) for _ in range(2)]
    for process in (talker, *readers):
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    reports = [memory.sleep(scope=SCOPE, policy=learning, now=now)]
    while talker.poll() is None:
        reports.append(memory.sleep(scope=SCOPE, policy=learning, now=now))
    assert finished(talker) == TURNS
    answers = [finished(reader) for reader in readers]
    reports.append(memory.sleep(scope=SCOPE, policy=learning, now=now))
    assert all(report.failed == () for report in reports)

    wanted = {row["id"] for row in beacons}
    for answer in (one for found in answers for one in found):
        episodes = [source for _, kind, source in answer if kind == "episode"]
        assert set(episodes) >= wanted
        ids = [i for i, _, _ in answer]
        assert len(ids) == len(set(ids))

    assert memory.store.check() == []
    assert memory.stats(scope=SCOPE)["pending"] == {}
    rows = list(memory.export(scope=SCOPE))
    live = [row for row in rows if row.get("session") == "live" and row["table"] == "record"]
    assert sorted(row["position"] for row in live if row["kind"] == "episode") == list(range(TURNS))
    used = sum(row["weight"] for row in rows if row.get("kind") == "recalled")
    assert used == sum(len(answer) for found in answers for answer in found)


def test_the_end_is_the_same_as_without_anybody_else(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]],
    now: datetime,
) -> None:  # fmt: skip
    policy = LearningPolicy(enable_entity_linker=True, phase1_spreading_weight=0)
    busy, calm = opened(tmp_path / "busy.db"), opened(tmp_path / "calm.db")
    for each in (busy, calm):
        each.ingest(log(120), scope=SCOPE, now=now)
    talker = started(TALKER, tmp_path / "busy.db", now, 40)
    assert talker.stdin is not None
    talker.stdin.write("go\n")
    talker.stdin.flush()
    while talker.poll() is None:
        busy.sleep(scope=SCOPE, policy=policy, now=now)
    assert finished(talker) == 40
    for number in range(40):
        turn = {"role": "user", "content": f"Live turn {number} for Marguerite Oakes."}
        calm.add_turn(turn, scope=SCOPE, session="live", now=now)
    for each in (busy, calm):
        each.sleep(scope=SCOPE, policy=policy, now=now)

    def kept(memory: Memory) -> list[tuple[Any, ...]]:
        return sorted(
            (row["id"], row["state"], row["strength"])
            for row in memory.export(scope=SCOPE)
            if row["table"] == "record" and row["kind"] in {"episode", "entity"}
        )

    assert kept(busy) == kept(calm)
