"""The same input gives the same digests: in any process, order, store and hash seed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.limits import RunLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"

CHILD = """
import json, sys
from datetime import datetime, timedelta
from symfonic.capabilities.memory import LearningPolicy, Memory
from symfonic.capabilities.memory.limits import RunLimits
log, store, now, knobs = sys.argv[1], sys.argv[2], datetime.fromisoformat(sys.argv[3]), sys.argv[4]
with Memory.open(store, salt=b"integration") as memory:
    memory.ingest(log, scope="pottery/agent", now=now)
    memory.recall("glaze recipe", scope="pottery/agent", now=now)
    policy = LearningPolicy(**json.loads(knobs))
    passes = []
    for later in (0, 300):
        report = memory.sleep(
            scope="pottery/agent", policy=policy, limits=RunLimits(max_hidden_share=1.0),
            now=now + timedelta(days=later),
        )
        passes.extend(report.passes)
print(json.dumps([[run.digest, run.input_digest] for run in passes]))
"""


def digests(report: SleepReport) -> list[list[str]]:
    return [[run.digest, run.input_digest] for run in report.passes]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def in_process(log: Path, store: str, now: datetime, policy: LearningPolicy, seed: str) -> Any:
    command = [
        sys.executable, "-c", CHILD, str(log), store, now.isoformat(),
        json.dumps(policy.as_kwargs()),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


def learn(
    memory: Memory, log: Path | list[dict[str, Any]], now: datetime, policy: LearningPolicy
) -> list[list[str]]:
    memory.ingest(log, scope=SCOPE, now=now)
    memory.recall("glaze recipe", scope=SCOPE, now=now)
    return digests(memory.sleep(scope=SCOPE, policy=policy, now=now))


def test_three_hash_seeds_in_processes_of_their_own_give_one_digest(
    tmp_path: Path, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, opened: Callable[..., Memory],
) -> None:  # fmt: skip
    path = written(tmp_path / "log.jsonl", log(150))
    memory = opened()
    memory.ingest(path, scope=SCOPE, now=now)
    memory.recall("glaze recipe", scope=SCOPE, now=now)
    nights = [
        memory.sleep(
            scope=SCOPE, policy=learning, limits=RunLimits(max_hidden_share=1.0),
            now=now + timedelta(days=later),
        )
        for later in (0, 300)
    ]  # fmt: skip
    changed = [
        {p.name for run in night.passes for p in run.phases if p.changes} for night in nights
    ]
    assert "link_cooccurring" in changed[0]
    assert "expire" in changed[1]
    expected = [digest for night in nights for digest in digests(night)]
    for seed in ("0", "1", "4242"):
        assert in_process(path, str(tmp_path / f"{seed}.db"), now, learning, seed) == expected


def test_a_file_and_memory_give_one_digest_and_the_same_rows(
    tmp_path: Path, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, opened: Callable[..., Memory],
    contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    one, two = opened(), opened(tmp_path / "m.db")
    assert learn(one, log(90), now, learning) == learn(two, log(90), now, learning)
    assert contents(one, SCOPE, history=True) == contents(two, SCOPE, history=True)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shuffled_rows_that_state_id_time_and_position_give_one_digest(
    seed: int, tmp_path: Path, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, opened: Callable[..., Memory],
    learnt: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    rows = log(150)
    one, two = opened(), opened()
    expected = learn(one, written(tmp_path / "log.jsonl", rows), now, learning)
    random.Random(seed).shuffle(rows)
    assert learn(two, written(tmp_path / "shuffled.jsonl", rows), now, learning) == expected
    assert learnt(two, SCOPE) == learnt(one, SCOPE)


def test_turns_that_come_in_many_portions_give_one_digest(
    log: Callable[[int], list[dict[str, Any]]], now: datetime, learning: LearningPolicy,
    opened: Callable[..., Memory],
) -> None:  # fmt: skip
    rows = log(90)
    one, two = opened(), opened()
    expected = learn(one, rows, now, learning)
    for start in reversed(range(0, 90, 10)):
        two.ingest(rows[start : start + 10], scope=SCOPE, now=now)
    assert learn(two, [], now, learning) == expected


def test_another_salt_gives_other_ids_and_the_same_words(
    log: Callable[[int], list[dict[str, Any]]], now: datetime, learning: LearningPolicy,
    opened: Callable[..., Memory],
) -> None:  # fmt: skip
    one, two = opened(), opened(salt=b"another salt")
    assert learn(one, log(90), now, learning) != learn(two, log(90), now, learning)

    def words(memory: Memory) -> list[str]:
        rows = memory.export(scope=SCOPE)
        return sorted(row["text"] for row in rows if row["table"] == "record")

    assert words(one) == words(two)


def test_when_a_log_was_imported_changes_no_digest(
    log: Callable[[int], list[dict[str, Any]]], now: datetime, learning: LearningPolicy,
    opened: Callable[..., Memory],
) -> None:  # fmt: skip
    one, two = opened(), opened()
    one.ingest(log(90), scope=SCOPE, now=now - timedelta(days=1))
    two.ingest(log(90), scope=SCOPE, now=now)
    assert digests(one.sleep(scope=SCOPE, policy=learning, now=now)) == digests(
        two.sleep(scope=SCOPE, policy=learning, now=now)
    )


def test_the_input_digest_tells_inputs_apart_that_change_nothing(
    log: Callable[[int], list[dict[str, Any]]], now: datetime, learning: LearningPolicy,
    opened: Callable[..., Memory],
) -> None:  # fmt: skip
    rows = log(90)
    other = [{**row, "text": row["text"] + " Well."} if row["id"] == "t7" else row for row in rows]
    one, two = opened(), opened()
    assert learn(one, rows, now, learning)[0][1] != learn(two, other, now, learning)[0][1]


def test_a_preview_in_another_process_says_what_the_run_will_do(
    tmp_path: Path, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, opened: Callable[..., Memory],
) -> None:  # fmt: skip
    path = written(tmp_path / "log.jsonl", log(60))
    memory = opened(tmp_path / "m.db")
    memory.ingest(path, scope=SCOPE, now=now)
    planned = memory.plan(scope=SCOPE, policy=learning, now=now)
    row = memory.apply(planned.run_id)
    assert [row.digest, row.input_digest] == [planned.digest, planned.input_digest]
    other = opened()
    other.ingest(path, scope=SCOPE, now=now)
    assert digests(other.sleep(scope=SCOPE, policy=learning, now=now))[0] == [
        row.digest, row.input_digest,
    ]  # fmt: skip
