"""Another half-life for a scope: strengths are logarithms on its scale, so all change at once."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import canonical, to_microseconds
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import RESCALED
from symfonic.capabilities.memory.stores.sqlite.reader import SQLiteReader
from symfonic.capabilities.memory.stores.sqlite.rows import HOUR
from symfonic.capabilities.memory.strength import log_strength

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.store import ScopeState
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

RECORDS: Final = 1000
"""Records whose uses are in memory at a time."""


def rescale(
    db: Connection,
    state: ScopeState,
    half_life_hours: float,
    *,
    clock: datetime,
    uses_per_record: int,
    report: Callable[[int, int], Mapping[str, Any]],
) -> int:
    """Set the half-life and every strength, within an open write transaction; the run's number.

    The number is kept with the scope: what an older run says of strengths is on another scale.
    """
    records = changed = 0
    counter = state.counter
    for batch in _batches(db, state.path):
        strengths = _strengths(
            db, state.path, batch, half_life_hours, clock=clock, uses_per_record=uses_per_record
        )
        edits = []
        for i, _, before in batch:
            if strengths[i] != before:
                counter += 1
                edits.append(
                    {"scope": state.path, "id": i, "strength": strengths[i], "version": counter}
                )
        db.executemany("update_strength", edits)
        records += len(batch)
        changed += len(edits)
    number = state.run_count + 1
    db.execute("set_half_life", {"scope": state.path, "half_life_hours": half_life_hours})
    _write_run(db, state, number, counter, clock, dict(report(records, changed)))
    return number


def _batches(db: Connection, path: str) -> Iterator[list[tuple[str, int, int]]]:
    """Id, time and strength of every record that is not forgotten."""
    after = ""
    while True:
        bound = {"scope": path, "after": after, "count": RECORDS}
        found = db.rows("strengths_after", bound)
        if not found:
            return
        yield [(str(i), at, strength) for i, at, strength in found]
        after = str(found[-1][0])


def _strengths(
    db: Connection,
    path: str,
    batch: list[tuple[str, int, int]],
    half_life_hours: float,
    *,
    clock: datetime,
    uses_per_record: int,
) -> dict[str, int]:
    """As the next night would compute them: from the latest uses, mentions counted in."""
    reader = SQLiteReader(db, Scope(path))
    uses: defaultdict[str, list[tuple[int, str, float]]] = defaultdict(list)
    ids = [i for i, _, _ in batch]
    for use in reader.uses(ids, until=clock, per_record=uses_per_record):
        uses[use.record].append((use.hour, use.kind, use.weight))
    found = {}
    for i, at, _ in batch:
        latest = sorted(uses[i])[-uses_per_record:]
        terms = [(at / HOUR, 1.0), *((float(hour), weight) for hour, _, weight in latest)]
        found[i] = log_strength(terms, half_life_hours)
    return found


def _write_run(
    db: Connection,
    state: ScopeState,
    number: int,
    counter: int,
    clock: datetime,
    report: dict[str, Any],
) -> None:
    report |= {"run_id": f"{state.path}#{number}", "status": "committed"}
    db.execute(
        "insert_run",
        {"scope": state.path, "number": number, "kind": "user", "status": "committed",
         "clock": to_microseconds(clock), "settings": canonical(report["settings"]), "input": "{}",
         "input_digest": "", "output_digest": report["digest"],
         "report": json.dumps(report, ensure_ascii=False), "counter": counter},
    )  # fmt: skip
    settings = {kind: dict(values) for kind, values in state.settings.items()}
    settings[RESCALED] = {"run": str(number)}
    db.execute(
        "advance_scope",
        {"scope": state.path, "counter": counter, "visible": 0, "run_count": number,
         "last_clock": None, "deep_clock": None, "settings": canonical(settings)},
    )  # fmt: skip
