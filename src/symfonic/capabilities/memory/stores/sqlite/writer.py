"""Applying changes row by row, with what stood there before each kept for the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import ReviewError, StaleWrite
from symfonic.capabilities.memory.records import (
    COLUMNS,
    VISIBLE_STATES,
    Procedure,
    canonical,
    decode_content,
    rounded,
)
from symfonic.capabilities.memory.stores.sqlite.indexing import (
    index_record,
    reindex_record,
    row_number,
)
from symfonic.capabilities.memory.stores.sqlite.rows import array, change_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.outcome import RunKind
    from symfonic.capabilities.memory.records import Columns, Content, Plain, Use
    from symfonic.capabilities.memory.store import ScopeState
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


_AT_ONCE = 500
"""How many rows go to SQLite in one call."""


class Writer:
    """Applies changes and remembers what stood there before each."""

    def __init__(self, db: Connection, state: ScopeState, kind: RunKind) -> None:
        self.db = db
        self.path = state.path
        self.kind = kind
        self.counter = state.counter
        self.visible = 0
        self._before: list[tuple[int | None, Columns]] = []
        self._rows: dict[str, tuple[int, int, Columns]] = {}
        self._links: dict[tuple[Any, ...], tuple[int, int, int]] = {}
        self._uses: dict[tuple[Any, ...], tuple[float, float]] = {}
        self._statement = ""
        self._waiting: list[dict[str, Any]] = []

    def apply(self, changes: Sequence[Change]) -> None:
        """Every change in order, the before-images loaded in three statements first."""
        self._load(changes)
        row: int = self.db.execute("last_row").fetchone()[0]
        for change in changes:
            self.counter += 1
            match change.table, change.operation:
                case "record", "add":
                    row += 1
                    self._add_record(change, row)
                case "record", "edit":
                    self._edit_record(change)
                case "record", "remove":
                    self._remove_record(change)
                case "link", _:
                    self._write_link(change)
                case _:
                    self._write_use(change)
            if len(self._waiting) >= _AT_ONCE:
                self._write_waiting()
        self._write_waiting()

    def _later(self, statement: str, bound: dict[str, Any]) -> None:
        """Run a statement together with those of its kind that follow it, in one call."""
        if self._waiting and self._statement != statement:
            self._write_waiting()
        self._statement = statement
        self._waiting.append(bound)

    def _write_waiting(self) -> None:
        if self._waiting:
            self.db.executemany(self._statement, self._waiting)
            self._waiting = []

    def journal(self, number: int, changes: Sequence[Change]) -> None:
        """A journal row for each change, with its before-image."""
        rows = []
        for n, change in enumerate(changes):
            columns = change_row(self.path, number, n, change)
            version, before = self._before[n]
            columns[11], columns[12] = version, canonical(before) if before else None
            rows.append(columns)
        self.db.executemany("insert_change", rows)

    def _load(self, changes: Sequence[Change]) -> None:
        ids = sorted({str(c.row[0]) for c in changes if c.table == "record"})
        scopes = array([self.path])
        for columns in self.db.rows("get_records", {"scopes": scopes, "ids": array(ids)}):
            content = dict(zip(COLUMNS, columns[4:18], strict=True))
            self._rows[columns[1]] = (columns[2], columns[3], content)
        keys = array(sorted({c.row for c in changes if c.table == "link"}, key=str))
        for s, k, t, count, at, version in self.db.rows(
            "link_rows", {"scope": self.path, "rows": keys}
        ):
            self._links[s, k, t] = (count, at, version)
        keys = array(sorted({c.row for c in changes if c.table == "use"}, key=str))
        for r, hour, kind, weight, spread in self.db.rows(
            "use_rows", {"scope": self.path, "rows": keys}
        ):
            self._uses[r, hour, kind] = (weight, spread)

    def _add_record(self, change: Change, row: int) -> None:
        i = str(change.row[0])
        if i in self._rows:
            raise StaleWrite(f"The record {i} is already there. Plan again.", rows=(i,))
        columns = {name: change.after[name] for name in COLUMNS}
        self._check_approval(i, None, columns)
        self._write_waiting()
        self.db.execute(
            "insert_record",
            {"row": row, "scope": self.path, "id": i, "version": self.counter,
             "seq": self.counter, **columns},
        )  # fmt: skip
        index_record(self.db, self.path, row, *_words(columns))
        self._rows[i] = (self.counter, self.counter, columns)
        self._before.append((None, {}))
        self.visible += columns["state"] in VISIBLE_STATES

    def _edit_record(self, change: Change) -> None:
        i = str(change.row[0])
        if i not in self._rows:
            raise StaleWrite(f"The record {i} is gone. Plan again.", rows=(i,))
        version, seq, columns = self._rows[i]
        before = {name: columns[name] for name in change.after}
        merged = columns | change.after
        self._check_approval(i, columns["status"], merged)
        bound = {"scope": self.path, "id": i, "version": self.counter}
        if set(change.after) == {"strength"}:
            self._later("update_strength", {**bound, "strength": merged["strength"]})
        elif set(change.after) == {"state"}:
            self._later("update_state", {**bound, "state": merged["state"]})
        else:
            self._write_waiting()
            self.db.execute("update_record", {**bound, **merged})
        if "text" in change.after or ("body" in change.after and merged["kind"] == "episode"):
            reindex_record(self.db, self.path, i, *_words(merged))
        self._rows[i] = (self.counter, seq, merged)
        self._before.append((version, before))
        self.visible += (merged["state"] in VISIBLE_STATES) - (columns["state"] in VISIBLE_STATES)

    def _remove_record(self, change: Change) -> None:
        i = str(change.row[0])
        if i not in self._rows:
            raise StaleWrite(f"The record {i} is gone already.", rows=(i,))
        version, _, columns = self._rows.pop(i)
        self._write_waiting()
        self.db.execute("delete_text", (row_number(self.db, self.path, i),))
        self.db.execute("delete_record", {"scope": self.path, "id": i})
        phases = array([r[0] for r in self.db.rows("pending_phases", {"scope": self.path})])
        self.db.execute("delete_pending_of", {"scope": self.path, "id": i, "phases": phases})
        self._before.append((version, columns))
        self.visible -= columns["state"] in VISIBLE_STATES

    def _write_link(self, change: Change) -> None:
        source, kind, target = (str(part) for part in change.row)
        bound: dict[str, Any] = {
            "scope": self.path, "source": source, "kind": kind, "target": target,
        }  # fmt: skip
        old = self._links.pop(change.row, None)
        if old is None:
            self._before.append((None, {}))
        else:
            self._before.append((old[2], {"count": old[0], "at": old[1]}))
        if change.operation == "remove":
            self._later("delete_link", bound)
            return
        count, at = change.after["count"], change.after["at"]
        self._later("upsert_link", {**bound, "count": count, "at": at, "version": self.counter})
        self._links[change.row] = (count, at, self.counter)  # type: ignore[assignment]

    def _write_use(self, change: Change) -> None:
        record, hour, kind = change.row
        bound = {"scope": self.path, "record": record, "hour": hour, "kind": kind}
        old = self._uses.get(change.row)
        self._before.append(
            (None, {} if old is None else {"weight": old[0], "spread_weight": old[1]})
        )
        weight, spread = old or (0.0, 0.0)
        if change.operation == "edit":
            spread = rounded(float(change.after["spread_weight"]))  # type: ignore[arg-type]
            self.db.execute("mark_use", {**bound, "spread_weight": spread})
        else:
            weight = rounded(weight + float(change.after["weight"]))  # type: ignore[arg-type]
            self.db.execute("upsert_use", {**bound, "weight": weight})
            if weight <= 0:
                self.db.execute("delete_use", bound)
                self._uses.pop(change.row, None)
                return
        self._uses[change.row] = (weight, spread)

    def _check_approval(self, i: str, before: Plain, columns: Columns) -> None:
        """Whether a person approves. Raises ``ReviewError`` for any other way to be approved."""
        if columns["status"] != "approved" or before == "approved":
            return
        content = decode_content("procedure", str(columns["body"]))
        by = content.decided_by if isinstance(content, Procedure) else None
        if self.kind != "user" or not (by or "").strip():
            raise ReviewError(
                f"Only a person approves: a run of kind {self.kind} would set the procedure {i} "
                "to approved. Decide with 'symfonic-memory drafts approve'.",
                id=i,
            )


def _words(columns: Columns) -> tuple[str, Content]:
    """What is indexed of a record with these columns."""
    content = decode_content(columns["kind"], columns["body"])  # type: ignore[arg-type]
    return str(columns["text"] or ""), content


def add_uses(db: Connection, path: str, uses: Sequence[Use]) -> None:
    """Add to the uses of their hours, summed and rounded as everywhere else."""
    keys = sorted({(use.record, use.hour, use.kind) for use in uses})
    rows = db.rows("use_rows", {"scope": path, "rows": array(keys)})
    weights = {(record, hour, kind): weight for record, hour, kind, weight, _ in rows}
    for use in uses:
        key = (use.record, use.hour, use.kind)
        weights[key] = rounded(weights.get(key, 0.0) + use.weight)
    for record, hour, kind in keys:
        db.execute(
            "upsert_use",
            {"scope": path, "record": record, "hour": hour, "kind": kind,
             "weight": weights[record, hour, kind]},
        )  # fmt: skip
