"""A process killed at any point leaves a sound store: the whole of a step, or none of it.

The child counts the steps of SQLite's own machine and kills itself at a seeded one, so a round can
be repeated. Other rounds let the kernel end it in the middle of a write, by a limit on file size.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCOPE = "pottery/agent"
SALT = b"kill"
KNOBS: dict[str, Any] = {
    "enable_entity_linker": True, "promotion_use_tool_calls_fallback": True,
    "entity_linker_max_episodics_per_run": 80, "episodic_summarization_max_entries": 60,
    "episodic_summarization_batch_size": 20, "promotion_max_drafts_per_run": 100,
}  # fmt: skip
POLICY = LearningPolicy(**KNOBS)

CHILD = """
import json, os, resource, signal, sys
from datetime import datetime, timedelta
from symfonic.capabilities.memory import LearningPolicy, Memory, importing
from symfonic.capabilities.memory.stores.sqlite import compacting
from symfonic.capabilities.memory.stores.sqlite.connection import Connection

action, store, log, now, knobs, at_step, file_size = sys.argv[1:]
now, at_step, steps = datetime.fromisoformat(now), int(at_step), 0
importing.BATCH = 40

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

if int(file_size):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(file_size), int(file_size)))

scope, policy = "pottery/agent", LearningPolicy(**json.loads(knobs))
with Memory.open(store, salt=b"kill") as memory:
    if action == "ingest":
        memory.ingest(log, scope=scope, now=now)
    elif action == "sleep":
        memory.sleep(scope=scope, policy=policy, now=now)
    elif action == "plan":
        memory.plan(scope=scope, policy=policy, now=now)
    elif action == "cascade":
        memory.undo(scope + "#2", cascade=True, now=now)
    elif action == "redo":
        memory.redo(scope + "#2", now=now)
    elif action == "compact":
        compacting.JOURNAL_ROWS, compacting.RECORDS = 100, 20
        memory.compact(scope=scope, now=now + timedelta(days=31), vacuum=True)
    else:
        memory.apply(scope + "#2")
print(json.dumps(steps))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
Rows = list[dict[str, Any]]
KILLED = {-signal.SIGKILL, -getattr(signal, "SIGXFSZ", 25)}


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A log, a store before each action, and what the action leaves when nothing kills it."""

    folder: Path
    now: datetime
    steps: dict[str, int]
    sizes: dict[str, int]
    states: dict[str, list[Rows]]

    def store(self, action: str) -> Path:
        return self.folder / f"before {action}.db"

    def act(self, action: str, store: Path, *, step: int = 0, size: int = 0) -> Any:
        command = [
            sys.executable, "-c", CHILD, action, str(store), str(self.folder / "log.jsonl"),
            self.now.isoformat(), json.dumps(KNOBS), str(step), str(size),
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def held(path: Path) -> Rows:
    """All rows but runs and the scope's own; nothing where there is no scope yet."""
    with Memory.open(path) as memory:
        assert memory.store.check() == []
        if not memory.store.scopes():
            return []
        left_out = {"run", "scope"}
        return [row for row in memory.export(scope=SCOPE) if row["table"] not in left_out]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, whole_log: Rows) -> Ground:
    folder, now = tmp_path_factory.mktemp("kill"), datetime.fromisoformat("2026-04-01T02:00Z")
    text = "".join(json.dumps(row) + "\n" for row in whole_log)
    (folder / "log.jsonl").write_text(text, encoding="utf-8")
    found = Ground(folder=folder, now=now, steps={}, sizes={}, states={})
    with Memory.open(found.store("ingest"), salt=SALT):
        pass
    with Memory.open(found.store("sleep"), salt=SALT) as memory:
        memory.ingest(folder / "log.jsonl", scope=SCOPE, now=now)
    shutil.copy(found.store("sleep"), found.store("plan"))
    shutil.copy(found.store("sleep"), found.store("apply"))
    with Memory.open(found.store("apply")) as memory:
        memory.plan(scope=SCOPE, policy=POLICY, now=now)
    shutil.copy(found.store("sleep"), found.store("cascade"))
    with Memory.open(found.store("cascade")) as memory:
        memory.sleep(scope=SCOPE, policy=POLICY, now=now)
    shutil.copy(found.store("cascade"), found.store("redo"))
    with Memory.open(found.store("redo")) as memory:
        memory.undo(f"{SCOPE}#2", cascade=True, now=now)
    with Memory.open(found.store("compact"), salt=SALT) as memory:
        memory.ingest(folder / "log.jsonl", scope=SCOPE, now=now)
        memory.recall("Marguerite Oakes", scope=SCOPE, now=now)
        memory.recall("Marguerite Oakes", scope=SCOPE, now=now - timedelta(hours=9))
        memory.sleep(scope=SCOPE, policy=POLICY, now=now)
        memory.sleep(scope=SCOPE, policy=POLICY, now=now + timedelta(days=1))
    for action in ("ingest", "sleep", "plan", "apply", "cascade", "redo", "compact"):
        clean = folder / f"clean {action}.db"
        shutil.copy(found.store(action), clean)
        done = found.act(action, clean)
        assert done.returncode == 0, done.stderr
        found.steps[action] = json.loads(done.stdout)
        found.sizes[action] = clean.stat().st_size
        found.states[action] = [held(found.store(action)), held(clean)]
    found.states["sleep"] = [*passes(found), found.states["sleep"][1]]
    return found


def passes(ground: Ground) -> list[Rows]:
    """What memory holds after each whole pass of the clean sleep, before all of them first."""
    states: list[Rows] = [held(ground.store("sleep"))]
    while True:
        path = ground.folder / f"passes {len(states)}.db"
        shutil.copy(ground.store("sleep"), path)
        with Memory.open(path) as memory:
            report = memory.sleep(
                scope=SCOPE, policy=POLICY, limits=RunLimits(max_passes=len(states)),
                now=ground.now,
            )  # fmt: skip
        if len(report.passes) < len(states):
            return states
        states.append(held(path))


@pytest.fixture(scope="module")
def whole_log() -> Rows:
    """Two hundred turns: names that recur, calls that fail and succeed, a rule said often."""
    people = ("Marguerite Oakes", "Tobias Fenn", "Ilse Brandt", "Rosalind Achterberg")
    rows = []
    for number in range(200):
        session, position = divmod(number, 5)
        text = (
            f"Today {people[session % 4]} asked {people[number % 3]} about kiln {number % 7}."
            if position != 3
            else "Before you open the kiln, check the pyrometer and warn the crew."
        )
        row = {
            "id": f"t{number}", "session": f"s{session}", "position": position, "text": text,
            "at": f"2026-03-{2 + session // 2:02}T{8 + session % 2 * 4:02}:{position:02}:00Z",
        }  # fmt: skip
        if position == 1:
            row["role"] = "assistant"
            row["tool_calls"] = [
                {"name": name, "arguments": {"kiln": number}, "ok": session % 4 != 3}
                for name in ("find_order", "check_stock")
            ]
        rows.append(row)
    return rows


def killed(ground: Ground, action: str, seed: int, tmp_path: Path) -> Path:
    """A store in which ``action`` was killed at a point that ``seed`` chooses."""
    chance = random.Random(f"{action} {seed}")
    store = tmp_path / f"{action} {seed}.db"
    shutil.copy(ground.store(action), store)
    if seed % 3 == 2:
        least = ground.store(action).stat().st_size
        size = chance.randrange(1, max(least, ground.sizes[action]))
        done = ground.act(action, store, size=size)
        assert done.returncode in {0, *KILLED}, done.stderr
    else:
        step = chance.randrange(1, ground.steps[action])
        done = ground.act(action, store, step=step)
        assert done.returncode == -signal.SIGKILL, (step, done.stdout, done.stderr)
    return store


def run_again(ground: Ground, action: str, store: Path) -> None:
    with Memory.open(store, salt=SALT) as memory:
        if action == "ingest":
            memory.ingest(ground.folder / "log.jsonl", scope=SCOPE, now=ground.now)
        elif action == "sleep":
            memory.sleep(scope=SCOPE, policy=POLICY, now=ground.now)
        elif action == "plan":
            memory.plan(scope=SCOPE, policy=POLICY, now=ground.now)
        elif action == "cascade":
            if memory.run(f"{SCOPE}#2").status == "committed":
                memory.undo(f"{SCOPE}#2", cascade=True, now=ground.now)
        elif action == "redo":
            if memory.run(f"{SCOPE}#2").status == "undone":
                memory.redo(f"{SCOPE}#2", now=ground.now)
        elif action == "compact":
            memory.compact(scope=SCOPE, now=ground.now + timedelta(days=31), vacuum=True)
        elif memory.run(f"{SCOPE}#2").status == "planned":
            memory.apply(f"{SCOPE}#2")


def check_ingest(ground: Ground, store: Path) -> None:
    """Whole batches, and the file's first turns."""
    rows = [row for row in held(store) if row["table"] == "record"]
    assert len(rows) % 40 == 0
    found = [json.loads(row["body"])["source_id"] for row in rows]
    assert found == [f"t{n}" for n in range(len(rows))]
    run_again(ground, "ingest", store)
    assert held(store) == ground.states["ingest"][1]


def check_sleep(ground: Ground, store: Path) -> None:
    """Whole passes, each with its run, and the same end."""
    place = ground.states["sleep"].index(held(store))
    with Memory.open(store) as memory:
        runs = [run for run in memory.runs(scope=SCOPE) if run.kind == "deep"]
    assert [run.status for run in runs] == ["committed"] * min(
        place, len(ground.states["sleep"]) - 2
    )
    run_again(ground, "sleep", store)
    assert held(store) == ground.states["sleep"][-1]
    with Memory.open(store) as memory:
        assert memory.sleep(scope=SCOPE, policy=POLICY, now=ground.now).change_count == 0


def check_compact(ground: Ground, store: Path) -> None:
    """No record, link or reading is touched, no half-dropped run can be undone, the same end."""
    before, after = ground.states["compact"]
    shortened = {"change", "use"}
    assert [row for row in held(store) if row["table"] not in shortened] == [
        row for row in before if row["table"] not in shortened
    ]
    with Memory.open(store) as memory:
        whole = Counter(row["run"] for row in before if row["table"] == "change")
        for run in memory.runs(scope=SCOPE):
            assert run.compacted or len(memory.diff(f"{SCOPE}#{run.number}")) == whole[run.number]
    run_again(ground, "compact", store)
    assert held(store) == after


def check_plan(ground: Ground, store: Path) -> None:
    """A kept plan or none, and in memory nothing either way."""
    before, after = ground.states["plan"]
    assert held(store) in (before, after)
    run_again(ground, "plan", store)
    with Memory.open(store) as memory:
        planned = [run for run in memory.runs(scope=SCOPE) if run.kind == "deep"]
        assert {run.status for run in planned} == {"planned"}
        assert len({run.digest for run in planned}) == 1
        memory.apply(f"{SCOPE}#{planned[0].number}")


def check_apply(ground: Ground, store: Path) -> None:
    """The plan is kept or committed, under its own number."""
    place = ground.states["apply"].index(held(store))
    with Memory.open(store) as memory:
        assert memory.run(f"{SCOPE}#2").status == ("planned", "committed")[place]
    run_again(ground, "apply", store)
    assert held(store) == ground.states["apply"][1]


def check_cascade(ground: Ground, store: Path) -> None:
    """All of it is taken back or nothing, and the journal says which."""
    place = ground.states["cascade"].index(held(store))
    with Memory.open(store) as memory:
        assert memory.run(f"{SCOPE}#2").status == ("committed", "undone")[place]
        kinds = [run.kind for run in memory.runs(scope=SCOPE)]
        assert kinds.count("undo") == place
    run_again(ground, "cascade", store)
    assert held(store) == ground.states["cascade"][1]


def check_redo(ground: Ground, store: Path) -> None:
    """All of it stands again or nothing, and it can be undone once more."""
    place = ground.states["redo"].index(held(store))
    with Memory.open(store) as memory:
        assert memory.run(f"{SCOPE}#2").status == ("undone", "committed")[place]
        kinds = [run.kind for run in memory.runs(scope=SCOPE)]
        assert kinds.count("redo") == place
    run_again(ground, "redo", store)
    assert held(store) == ground.states["redo"][1]
    with Memory.open(store) as memory:
        memory.undo(f"{SCOPE}#2", cascade=True, now=ground.now)
    assert held(store) != ground.states["redo"][1]


CHECKS: dict[str, Callable[[Ground, Path], None]] = {
    "ingest": check_ingest, "sleep": check_sleep, "plan": check_plan, "apply": check_apply,
    "cascade": check_cascade, "redo": check_redo, "compact": check_compact,
}  # fmt: skip


@pytest.mark.parametrize(
    ("action", "seed"),
    [
        *(("ingest", seed) for seed in range(3)), *(("sleep", seed) for seed in range(3)),
        *(("plan", seed) for seed in (1, 2)), *(("apply", seed) for seed in (1, 2)),
        *(("cascade", seed) for seed in (0, 1, 2)), *(("redo", seed) for seed in (0, 1, 2)),
        *(("compact", seed) for seed in (0, 1, 2)),
    ],
)  # fmt: skip
def test_a_killed_process_leaves_the_whole_of_a_step_or_none_of_it(
    action: str, seed: int, ground: Ground, tmp_path: Path
) -> None:
    CHECKS[action](ground, killed(ground, action, seed, tmp_path))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 125))
@pytest.mark.parametrize(
    "action", ["ingest", "sleep", "plan", "apply", "cascade", "redo", "compact"]
)
def test_many_killed_processes_leave_whole_steps(
    action: str, seed: int, ground: Ground, tmp_path: Path
) -> None:
    CHECKS[action](ground, killed(ground, action, seed, tmp_path))


def test_the_clean_cascade_takes_several_runs_back(ground: Ground, tmp_path: Path) -> None:
    store = tmp_path / "cascade.db"
    shutil.copy(ground.store("redo"), store)
    with Memory.open(store) as memory:
        (undo,) = [run for run in memory.runs(scope=SCOPE) if run.kind == "undo"]
        assert undo.report["notes"][0].count("#") >= 2


def test_the_clean_sleep_takes_several_passes(ground: Ground) -> None:
    assert len(ground.states["sleep"]) >= 4
    assert all(steps > 100 for steps in ground.steps.values())
