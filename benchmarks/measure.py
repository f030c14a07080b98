"""One measurement, in a process of its own: ``run.py`` starts it and reads the JSON it prints.

Times are CPU seconds of the process, so other work on the machine matters little; memory is the
greatest resident size that the system has seen. Nothing is kept between measurements but the
store that is named on the command line.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import generate

from symfonic.capabilities.memory.changes import Group, add_record
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Note, Record, identify
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.maintenance import Maintenance
    from symfonic.capabilities.memory.outcome import SleepReport

SEED = 7
SCOPE = "bench/agent"
SALT = b"benchmark"
DAY = timedelta(days=1)
NIGHT = LearningPolicy(
    enable_entity_linker=True,
    promotion_use_tool_calls_fallback=True,
    entity_linker_max_episodics_per_run=1000,
)
DRAIN = replace(NIGHT, entity_linker_max_episodics_per_run=5000, promotion_max_drafts_per_run=1000)
DRAIN_LIMITS = RunLimits(
    max_passes=1000,
    promotion_max_episodics_per_run=5000,
    strengthen_max_records_per_run=10_000,
    summarize_max_batches_per_run=100,
    cooccurrence_max_episodics_per_run=10_000,
    expire_max_records_per_run=10_000,
)
NAMES = ("build", "arrive", "night", "settle", "idle", "ask", "light", "in")
RECALLS = 20
LIGHT_TURNS = 40
NOTES_PER_COMMIT = 1000


class Stopwatch:
    """CPU seconds by what the engine was doing; it stands in for the engine's store and phases."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._doing = ""
        self._since = time.process_time()

    def attach(self, engine: Maintenance) -> None:
        """Time each phase's proposing and the commit; the rest is reading and folding."""
        engine.phases = tuple(
            replace(phase, propose=self._timed(phase.name, "fold and digest", phase.propose))
            for phase in engine.phases
        )
        store: Any = engine.store
        store.commit = self._timed("commit", "read", store.commit)

    def measure(self, work: Callable[[], SleepReport]) -> SleepReport:
        self._turn("read")
        report = work()
        self._turn("")
        del self.spent[""]
        return report

    def _timed(self, doing: str, then: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - passed on as they are
            self._turn(doing)
            try:
                return work(*arguments, **named)
            finally:
                self._turn(then)

        return timed

    def _turn(self, doing: str) -> None:
        now = time.process_time()
        self.spent[self._doing] += now - self._since
        self._doing, self._since = doing, now


def build(path: Path, stored: int) -> dict[str, Any]:
    """A store of ``stored`` episodes, fully maintained, and notes until as many other records."""
    began = time.process_time()
    with Memory.open(path, salt=SALT) as memory:
        rows = generate.episodes(stored, seed=SEED)
        memory.ingest(rows, scope=SCOPE, now=_evening(stored))
        memory.sleep(scope=SCOPE, policy=DRAIN, limits=DRAIN_LIMITS, now=_evening(stored))
        found = _counts(memory)
        _fill_with_notes(memory, stored - found["derived"], now=_evening(stored))
        return {**_counts(memory), "cpu_s": time.process_time() - began}


def arrive(path: Path, stored: int, new: int) -> dict[str, Any]:
    """A day: new episodes, and recalls whose uses are still to be spread."""
    now = _evening(stored + new)
    with Memory.open(path) as memory:
        rows = islice(generate.episodes(stored + new, seed=SEED), stored, None)
        report = memory.ingest(rows, scope=SCOPE, now=now)
        for question in generate.questions(RECALLS, seed=SEED):
            memory.recall(question, scope=SCOPE, now=now)
    return {"added": report.added}


def night(path: Path, stored: int, new: int) -> dict[str, Any]:
    """The run over what is unread, and where its time goes."""
    return _run(path, _evening(stored + new), NIGHT, RunLimits())


def settle(path: Path, stored: int, new: int) -> dict[str, Any]:
    """Two days on, everything that time makes due is done."""
    return _run(path, _evening(stored + new) + 2 * DAY, DRAIN, DRAIN_LIMITS)


def idle(path: Path, stored: int, new: int) -> dict[str, Any]:
    """A night on which there is nothing to do."""
    return _run(path, _evening(stored + new) + 3 * DAY, NIGHT, RunLimits())


def ask(path: Path, stored: int, new: int) -> dict[str, Any]:
    """The time of fifty recalls: the one in the middle, and the one that 5 % exceed."""
    times = []
    with Memory.open(path) as memory:
        memory.recall("warm up", scope=SCOPE, now=_evening(stored + new))
        for question in generate.questions(50, seed=SEED):
            began = time.process_time()
            memory.recall(question, scope=SCOPE, now=_evening(stored + new))
            times.append(time.process_time() - began)
    times.sort()
    return {"median_ms": 1000 * times[25], "p95_ms": 1000 * times[47], "cpu_s": sum(times)}


def between_turns(path: Path, stored: int, new: int) -> dict[str, Any]:
    """A LIGHT sleep after each of some turns of a live conversation, and one with nothing to do."""
    now = _evening(stored + new) + 4 * DAY
    turns = list(islice(generate.episodes(LIGHT_TURNS, seed=SEED + 2), LIGHT_TURNS))
    times = []
    with Memory.open(path) as memory:
        for number, row in enumerate(turns):
            moment = now + number * timedelta(minutes=1)
            turn = {"role": row.get("role", "user"), "content": row["text"]}
            memory.add_turn(turn, scope=SCOPE, session="live", now=moment)
            began = time.process_time()
            memory.sleep(scope=SCOPE, kind="light", policy=NIGHT, limits=RunLimits(), now=moment)
            times.append(time.process_time() - began)
        began = time.process_time()
        idle = memory.sleep(scope=SCOPE, kind="light", policy=NIGHT, limits=RunLimits(), now=moment)
        spent = time.process_time() - began
    times = sorted(times[1:])  # the first loads what the others use
    return {
        "median_ms": 1000 * times[len(times) // 2], "worst_ms": 1000 * times[-1],
        "idle_ms": 1000 * spent, "idle_changes": idle.change_count, "cpu_s": sum(times),
    }  # fmt: skip


def take_in(path: Path, log: Path) -> dict[str, Any]:
    """Reading a plain JSONL file into an empty store with its text index."""
    with Memory.open(path, salt=SALT) as memory:
        began = time.process_time()
        report = memory.ingest(log, scope=SCOPE, now=_evening(1_000_000))
        spent = time.process_time() - began
    return {"added": report.added, "per_s": report.added / spent}


def _run(path: Path, now: datetime, policy: LearningPolicy, limits: RunLimits) -> dict[str, Any]:
    watch = Stopwatch()
    with Memory.open(path) as memory:
        engine = memory.engine(policy=policy, limits=limits)
        watch.attach(engine)
        began = time.process_time()
        report = watch.measure(lambda: engine.run(Scope(SCOPE), now=now))
        spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "cpu_s": spent,
        "phases": dict(watch.spent),
        "passes": len(report.passes),
        "changes": report.change_count,
        "looked_at": {p.name: p.looked_at for p in report.passes[0].phases},
        "failed": [p.reason for p in report.failed],
        "peak_mb": peak / (1024**2 if sys.platform == "darwin" else 1024),
    }


def _evening(episodes: int) -> datetime:
    """A moment after the last of so many episodes."""
    return generate.START + episodes * DAY / generate.EPISODES_PER_DAY


def _counts(memory: Memory) -> dict[str, int]:
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        stats = reader.stats()
    kinds = {kind: sum(states.values()) for kind, states in stats["records"].items()}
    episodes = kinds.pop("episode")
    return {"episodes": episodes, "derived": sum(kinds.values()), "links": stats["links"], **kinds}


def _fill_with_notes(memory: Memory, count: int, *, now: datetime) -> None:
    scope = Scope(SCOPE)
    with memory.store.snapshot(scope) as reader:
        half_life = reader.state.half_life_hours
    texts = (row["text"] for row in generate.episodes(max(count, 0), seed=SEED + 1))
    notes = [
        Record(
            id=identify(SALT, "note", str(number)), scope=SCOPE, kind="note", key=str(number),
            content=Note(note_kind="kept"), text=text, occurred_at=now, recorded_at=now,
            strength=base_strength(now, half_life),
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip
    for first in range(0, len(notes), NOTES_PER_COMMIT):
        changes = tuple(
            add_record(Group(phase="user", kind="note", id=note.id), note, "kept")
            for note in notes[first : first + NOTES_PER_COMMIT]
        )
        memory.store.commit(scope, Commit(kind="user", clock=now, changes=changes), lease=None)


def main() -> None:
    """Do the measurement that is named and print its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("path", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--stored", type=int, default=0)
    parser.add_argument("--new", type=int, default=0)
    given = parser.parse_args()
    if given.name == "build":
        result = build(given.path, given.stored)
    elif given.name == "in":
        result = take_in(given.path, given.log)
    else:
        measurements = {
            "arrive": arrive, "night": night, "settle": settle, "idle": idle, "ask": ask,
            "light": between_turns,
        }  # fmt: skip
        result = measurements[given.name](given.path, given.stored, given.new)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
