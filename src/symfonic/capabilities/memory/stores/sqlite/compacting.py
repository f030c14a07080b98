"""Making a scope's old history and uses smaller, in steps that are short transactions.

A run that is marked as compacted is neither undone nor replayed, so it is marked before the first
of its rows goes: where the work breaks off, nothing stands there half, and the next one goes on.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import rounded, to_microseconds
from symfonic.capabilities.memory.stores.sqlite.rows import HOUR, LARGEST, array
from symfonic.capabilities.memory.upkeep import Compacted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.store import ScopeState
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

JOURNAL_ROWS: Final = 2000
"""Journal rows a step: some hundredths of a second, in which no turn can be written."""

RECORDS: Final = 500
"""Records a step whose uses are folded."""

_DONE: Final = 1
_UNDER_WAY: Final = 2
"""Marks of a run: both are compacted to every reader, and the second is taken up again."""

_ALSO_UNDONE: Final = frozenset({"undo", "redo"})
"""Runs whose rows are marked as undone when a redo cancels them out: nobody undid their groups."""


class Compaction:
    """One compaction of a scope, with what it has done so far.

    A run is old where its clock and those of all before it are earlier than ``before``: an undo
    looks for what was built on a run in every later one. Uses are folded that are older than that
    and than ``unspread``, and that no run which is kept whole has written or spread.
    """

    def __init__(
        self, db: Connection, state: ScopeState, *, before: datetime, unspread: datetime
    ) -> None:
        self.done = Compacted(scope=state.path)
        self._db = db
        self._scope = {"scope": state.path}
        self._half_life_hours = state.half_life_hours
        self._before = to_microseconds(before)
        ends = [before, unspread, *([state.deep_clock] if state.deep_clock else [])]
        self._hour = min(to_microseconds(end) // HOUR for end in ends)
        self._counts = dict.fromkeys(("runs", "dropped", "kept", "uses", "records", "old_runs"), 0)

    def steps(self) -> Iterator[None]:
        """Do the work; whoever takes the steps opens a transaction around each."""
        bound: dict[str, Any] = {**self._scope, "before": self._before, "far": LARGEST}
        first_kept: int = self._db.execute("first_kept_run", bound).fetchone()[0]
        old = self._db.rows("old_runs", {**self._scope, "end": first_kept})
        self._counts["old_runs"] = len(old)
        yield from self._shorten_runs(old)
        bound = {**self._scope, "run": first_kept}
        hour = self._db.execute("first_kept_use", bound).fetchone()[0]
        if hour is not None:
            self._hour = min(self._hour, hour)
        yield from self._fold_uses()

    def _shorten_runs(self, runs: Iterable[tuple[Any, ...]]) -> Iterator[None]:
        """Drop inputs and journals; several short runs make one step."""
        spent = 0
        for number, kind in runs:
            after, more = -1, True
            while more:
                if spent >= JOURNAL_ROWS:
                    yield from self._step()
                    spent = 0
                bound = {**self._scope, "run": number, "after": after, "count": JOURNAL_ROWS}
                until, rows = self._db.execute("journal_slice", bound).fetchone()
                more = rows == JOURNAL_ROWS
                self._mark(number, _UNDER_WAY if more else _DONE)
                if rows:
                    self._shorten(number, kind, after=after, until=until, rows=rows)
                    after = until
                spent += rows + 1
            self._counts["runs"] += 1
        yield from self._step()

    def _mark(self, number: int, mark: int) -> None:
        self._db.execute("mark_compacted", {**self._scope, "number": number, "compacted": mark})

    def _shorten(self, number: int, kind: str, *, after: int, until: int, rows: int) -> None:
        bound: dict[str, Any] = {
            **self._scope, "run": number, "after": after, "until": until,
            "told": kind == "user", "taken_back": kind in _ALSO_UNDONE,
        }  # fmt: skip
        dropped = self._db.execute("drop_changes", bound).rowcount
        self._db.execute("empty_changes", bound)
        self._counts["dropped"] += dropped
        self._counts["kept"] += rows - dropped

    def _fold_uses(self) -> Iterator[None]:
        after = ""
        while True:
            bound: dict[str, Any] = {**self._scope, "before": self._hour}
            found = self._db.rows("foldable_records", {**bound, "after": after, "count": RECORDS})
            if not found:
                return
            bound["ids"] = array(row[0] for row in found)
            rows = self._db.rows("foldable_uses", bound)
            bases = [
                self._base(record, list(uses)) for record, uses in groupby(rows, key=lambda r: r[0])
            ]
            self._db.execute("delete_folded", bound)
            self._db.executemany("insert_base", bases)
            self._counts["uses"] += len(rows)
            self._counts["records"] += len(bases)
            after = found[-1][0]
            yield from self._step()

    def _base(self, record: str, uses: list[tuple[Any, ...]]) -> dict[str, Any]:
        """The one use that weighs what these do together, whenever it is looked at."""
        latest = max(hour for _, hour, _ in uses)
        weight = rounded(
            math.fsum(
                weight * 2.0 ** ((hour - latest) / self._half_life_hours)
                for _, hour, weight in uses
            )
        )
        return {**self._scope, "record": record, "hour": latest, "weight": weight}

    def _step(self) -> Iterator[None]:
        self.done = Compacted(scope=self._scope["scope"], **self._counts)
        yield
