"""Our side of the comparison: build the store, write the same data for theirs, run a night.

    python benchmarks/peer_ours.py build STORE --size 10000 --data FILE
    python benchmarks/peer_ours.py night STORE --size 10000

``peer.py`` starts each as a process of its own and reads the JSON it prints. What theirs gets is
read back from the store that our night then runs over, so both hold the same records.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import sqlite3
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import combinations, islice
from os import times
from pathlib import Path
from typing import TYPE_CHECKING, Any

import generate
import measure

from symfonic.capabilities.memory.changes import Group, add_record
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.records import Note, Record, identify
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DAYS = 10
"""The log is stretched over so many days, so that its last day is a tenth of it."""

ENDING_EVERY = 20
"""One in so many of the older notes ended in the hour before the night."""

USED_EVERY = 5
"""One in so many of the new records counts as used twice, on their side."""

NOTES_PER_COMMIT = 1000
_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")


def build(path: Path, size: int, data: Path) -> dict[str, Any]:
    """Nine tenths stored, maintained and filled up with notes; then the last tenth arrives."""
    old = size - size // 10
    with Memory.open(path, salt=measure.SALT) as memory:
        memory.ingest(_rows(size, 0, old), scope=measure.SCOPE, now=_moment(size, old))
        memory.sleep(
            scope=measure.SCOPE, policy=measure.DRAIN, limits=measure.DRAIN_LIMITS,
            now=_moment(size, old),
        )  # fmt: skip
        derived = _counts(memory)["other records"]
        _add_notes(memory, size, range(derived, old), now=_moment(size, old))
        memory.ingest(_rows(size, old, size), scope=measure.SCOPE, now=_evening())
        _add_notes(memory, size, range(old, size), now=_evening())
        rows = list(memory.store.dump(Scope(measure.SCOPE)))
        with data.open("w", encoding="utf-8") as file:
            for row in _for_theirs(rows, size):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        for question in generate.questions(measure.RECALLS, seed=measure.SEED):
            memory.recall(question, scope=measure.SCOPE, now=_evening())
        return _counts(memory)


def night(path: Path) -> dict[str, Any]:
    """The run, and what its own report says of every phase, summed over its passes."""
    _warm_up()
    with Memory.open(path) as memory:
        before = _counts(memory)
        began = times()
        report = memory.sleep(
            scope=measure.SCOPE, policy=measure.NIGHT, limits=RunLimits(), now=_evening()
        )
        ended = times()
    phases: dict[str, dict[str, Any]] = {}
    for run in report.passes:
        for phase in run.phases:
            total = phases.setdefault(
                phase.name,
                {"outcome": phase.outcome, "examined": 0, "produced": 0, "seconds": 0.0, "left": 0},
            )
            total["examined"] += phase.looked_at
            total["produced"] += phase.changes
            total["seconds"] += phase.duration_ms / 1000
            total["left"] = phase.left
    return {
        "cpu_s": ended.user + ended.system - began.user - began.system,
        "peak_mb": _peak(),
        "phases": phases,
        "passes": len(report.passes),
        "changes": report.change_count,
        "held": before,
        "errors": [phase.reason for phase in report.failed],
        "versions": {
            "symfonic-memory": version("symfonic-memory"),
            "Python": sys.version.split()[0],
            "SQLite": sqlite3.sqlite_version,
        },
    }


def _warm_up() -> None:
    """Load what a night loads when it is first wanted; theirs has loaded its own by then."""
    with Memory.open(":memory:", salt=measure.SALT) as memory:
        memory.ingest(_rows(100, 0, 100), scope=measure.SCOPE, now=_evening())
        memory.sleep(scope=measure.SCOPE, policy=measure.NIGHT, now=_evening())


def _evening() -> datetime:
    return generate.START + timedelta(days=DAYS)


def _moment(size: int, number: int) -> datetime:
    """When the item of this number came, of so many in all."""
    return generate.START + number * timedelta(days=DAYS) / size


def _rows(size: int, first: int, end: int) -> Iterator[dict[str, Any]]:
    """These episodes of the log, spread evenly over the days."""
    rows = islice(generate.episodes(end, seed=measure.SEED), first, None)
    for number, row in enumerate(rows, start=first):
        yield {**row, "at": _moment(size, number).isoformat()}


def _counts(memory: Memory) -> dict[str, int]:
    with memory.store.snapshot(Scope(measure.SCOPE)) as reader:
        stats = reader.stats()
    kinds = {kind: sum(states.values()) for kind, states in stats["records"].items()}
    episodes = kinds.pop("episode")
    return {"episodes": episodes, "other records": sum(kinds.values()), "links": stats["links"]}


def _add_notes(memory: Memory, size: int, numbers: range, *, now: datetime) -> None:
    scope = Scope(measure.SCOPE)
    with memory.store.snapshot(scope) as reader:
        half_life = reader.state.half_life_hours
    texts = islice(generate.episodes(size, seed=measure.SEED + 1), numbers.start, numbers.stop)
    old = size - size // 10
    notes = []
    for number, row in zip(numbers, texts, strict=True):
        ends = number < old and number % ENDING_EVERY == 0
        at = _moment(size, number)
        note = Record(
            id=identify(measure.SALT, "note", str(number)), scope=measure.SCOPE, kind="note",
            key=str(number), content=Note(note_kind="working" if ends else "kept"),
            text=row["text"], occurred_at=at, recorded_at=at,
            strength=base_strength(at, half_life), pinned=not ends,
        )  # fmt: skip
        notes.append(replace(note, until=_evening() - timedelta(hours=1)) if ends else note)
    for first in range(0, len(notes), NOTES_PER_COMMIT):
        changes = tuple(
            add_record(Group(phase="user", kind="note", id=note.id), note, "kept")
            for note in notes[first : first + NOTES_PER_COMMIT]
        )
        memory.store.commit(scope, Commit(kind="user", clock=now, changes=changes), lease=None)


def _for_theirs(rows: list[dict[str, Any]], size: int) -> Iterator[dict[str, Any]]:
    """The evening, the episodes, every other record, and as many links between those."""
    yield {"kind": "about", "now": _evening().isoformat(), "size": size}
    yield from ({"kind": "episode", **row} for row in _rows(size, 0, size))
    rng = random.Random(measure.SEED)
    records = [row for row in rows if row["table"] == "record" and row["kind"] != "episode"]
    for record in records:
        at = _time(record["occurred_at"])
        new = at >= _evening() - timedelta(days=1)
        row = {
            "kind": "node", "id": record["id"], "type": record["kind"],
            "text": record["text"], "at": at.isoformat(), "importance": rng.randint(1, 10),
            "uses": 2 if new and rng.randrange(USED_EVERY) == 0 else 0,
        }  # fmt: skip
        if record.get("until"):
            row["until"] = _time(record["until"]).isoformat()
        yield row
    times_of = {record["id"]: record["occurred_at"] for record in records}
    for source, target in islice(_pairs(rows, records, rng), size):
        at = _time(max(times_of[source], times_of[target]))
        yield {"kind": "link", "source": source, "target": target, "at": at.isoformat()}


def _pairs(
    rows: list[dict[str, Any]], records: list[dict[str, Any]], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Names said together; notes with the names they hold; then any two, without end."""
    entities = {row["text"]: row["id"] for row in records if row["kind"] == "entity"}
    ids = [row["id"] for row in records]
    found: dict[tuple[str, str], None] = {}
    said: dict[str, list[str]] = {}
    for row in rows:
        if row["table"] == "link" and row["kind"] == "mentions":
            said.setdefault(row["source"], []).append(row["target"])
    for names in said.values():
        found.update(dict.fromkeys(combinations(sorted(names), 2)))
    for record in records:
        if record["kind"] == "note":
            names = [entities[name] for name in _names(record["text"]) if name in entities]
            found.update(dict.fromkeys((record["id"], name) for name in names))
    yield from found
    while True:
        source, target = rng.sample(ids, 2)
        if (source, target) not in found:
            found[source, target] = None
            yield source, target


def _names(text: str) -> Iterable[str]:
    return dict.fromkeys(_NAME.findall(text))


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Do what is named and print its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["build", "night"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.name == "build":
        print(json.dumps(build(given.path, given.size, given.data)))
    else:
        print(json.dumps(night(given.path)))


if __name__ == "__main__":
    main()
