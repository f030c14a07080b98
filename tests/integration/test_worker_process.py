"""The worker as a process: stopped, killed, and beside another one.

The child tells the parent where its run stands, and goes on when it is told to, so that a signal
arrives in the middle of a run whatever the machine does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

SCOPE = "pottery/agent"
SELDOM = ("--deep", "0 0 29 2 *", "--light", "off")
KNOBS = ("--set", "enable_entity_linker=true", "--set", "entity_linker_max_episodics_per_run=30")

COMMAND = "from symfonic.capabilities.memory.cli import main; main()"
READY = f"import sys; print('ready', flush=True); sys.stdin.readline(); {COMMAND}"
TELLING = f"""
import sys
from symfonic.capabilities.memory.worker.loop import Worker

real = Worker._watch

def telling(self, state):
    watch = real(self, state)
    def both(number, phase):
        if (number, phase) == (2, "strengthen"):
            print("in pass 2", flush=True)
            while sys.stdin.readline() != "go\\n":
                print("asked" if self._stop.is_asked else "not asked", flush=True)
        watch(number, phase)
    return both

Worker._watch = telling
{COMMAND}
"""


class Child:
    """A worker that is another process."""

    def __init__(self, code: str, store: Path, *arguments: str) -> None:
        environ = {name: v for name, v in os.environ.items() if not name.startswith("SYMFONIC_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "worker", "--store", str(store), "--json", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environ,
        )  # fmt: skip

    def hear(self, line: str) -> None:
        assert self.process.stdout is not None
        heard = self.process.stdout.readline()
        if heard != f"{line}\n":
            self.process.kill()
            raise AssertionError((heard, self.process.communicate()))

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def logs(self, event: str) -> None:
        """Read its log until there is such an event."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if event in line:
                return
        raise AssertionError(event)

    def ends(self) -> tuple[int, Any]:
        out, err = self.process.communicate(timeout=120)
        assert "Traceback" not in err, err
        return self.process.returncode, json.loads(out) if out else None


@pytest.fixture
def children() -> Iterator[Callable[..., Child]]:
    """Starts workers, and sees to it that none is left."""
    started: list[Child] = []

    def start(code: str, store: Path, *arguments: str) -> Child:
        started.append(Child(code, store, *arguments))
        return started[-1]

    yield start
    for child in started:
        if child.process.poll() is None:
            child.process.kill()
        child.process.communicate()


@pytest.fixture
def store(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]],
    now: datetime,
) -> Path:  # fmt: skip
    """A store that a sleep needs several passes for."""
    path = tmp_path / "memory.db"
    opened(path).ingest(log(120), scope=SCOPE, now=now)
    return path


def passes(store: Path) -> int:
    """How many DEEP passes stand in a store that is sound."""
    with Memory.open(store) as memory:
        assert memory.check() == []
        return sum(run.kind == "deep" for run in memory.runs(scope=SCOPE, limit=100))


def left(store: Path) -> int:
    with Memory.open(store) as memory:
        return sum(memory.stats(scope=SCOPE)["pending"].values())


def finish(children: Callable[..., Child], store: Path) -> dict[str, Any]:
    """Start the worker again, and see that its run comes to its end."""
    code, report = children(COMMAND, store, "--once", *SELDOM, *KNOBS).ends()
    assert code == 0
    assert left(store) == 0
    (result,) = report["scopes"]
    found: dict[str, Any] = result
    return found


def test_sigterm_in_a_run_lets_the_pass_end_and_leaves_a_sound_store(
    children: Callable[..., Child], store: Path
) -> None:
    child = children(TELLING, store, *SELDOM, *KNOBS)
    child.hear("in pass 2")
    child.process.send_signal(signal.SIGTERM)
    child.tell("go")
    code, report = child.ends()
    assert code == 0
    assert report["stopped"]
    assert [result["outcome"] for result in report["scopes"]] == ["abandoned"]
    assert passes(store) == 2
    assert left(store) > 0
    assert finish(children, store)["reason"] == "unfinished"


def test_second_signal_ends_the_process_at_once_and_the_store_is_sound(
    children: Callable[..., Child], store: Path
) -> None:
    child = children(TELLING, store, *SELDOM, *KNOBS)
    child.hear("in pass 2")
    child.process.send_signal(signal.SIGTERM)
    child.tell("who is there?")
    child.hear("asked")
    child.process.send_signal(signal.SIGTERM)
    assert child.ends()[0] == -signal.SIGTERM
    assert passes(store) == 1
    assert finish(children, store)["outcome"] == "ran"


def test_killed_worker_is_finished_by_the_next_one(
    children: Callable[..., Child], store: Path
) -> None:
    child = children(TELLING, store, *SELDOM, *KNOBS)
    child.hear("in pass 2")
    child.process.kill()
    assert child.ends()[0] == -signal.SIGKILL
    assert passes(store) == 1
    assert left(store) > 0
    result = finish(children, store)
    assert (result["outcome"], result["reason"]) == ("ran", "unfinished")
    assert finish(children, store)["outcome"] == "waits"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_waiting_worker_ends_when_it_is_asked_to(
    children: Callable[..., Child], store: Path, number: signal.Signals, tmp_path: Path
) -> None:
    file = tmp_path / "alive.json"
    child = children(COMMAND, store, *SELDOM, *KNOBS, "--liveness-file", str(file))
    child.logs("worker.scope.ran")
    child.process.send_signal(number)
    code, report = child.ends()
    assert code == 0
    assert (report["deep_runs"], report["failures"], report["stopped"]) == (1, 0, True)
    assert json.loads(file.read_text())["state"] == "stopped"
    assert left(store) == 0


def test_two_workers_on_one_store_do_nothing_twice(
    children: Callable[..., Child], store: Path, log: Callable[[int], list[dict[str, Any]]],
    now: datetime,
) -> None:  # fmt: skip
    names = [SCOPE, *(f"pottery/{n}" for n in range(6))]
    with Memory.open(store) as memory:
        for name in names[1:]:
            memory.ingest(log(60), scope=name, now=now)
    pair = [children(READY, store, "--once", *SELDOM, *KNOBS) for _ in range(2)]
    for child in pair:
        child.hear("ready")
    for child in pair:
        child.tell("go")
    ends = [child.ends() for child in pair]
    assert [code for code, _ in ends] == [0, 0]
    results = [result for _, report in ends for result in report["scopes"]]
    with Memory.open(store) as memory:
        assert memory.check() == []
        for name in names:
            done = [r for r in results if r["scope"] == name and r["outcome"] == "ran"]
            runs = [r for r in memory.runs(scope=name, limit=100) if r.kind == "deep"]
            assert [r["passes"] for r in done] == [len(runs)]
