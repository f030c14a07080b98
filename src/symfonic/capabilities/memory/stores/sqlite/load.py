"""Exported rows back into a scope: what is not there is added, and nothing is taken on trust.

An export may have been edited, cut or made from another history. Every row is read the way the
store reads its own before it goes in, and two histories are never mixed under one run number.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

from symfonic.capabilities.memory.errors import InputError, StoreUnavailable
from symfonic.capabilities.memory.records import (
    KINDS,
    TRUST_ORDER,
    VISIBLE_STATES,
    Procedure,
    State,
    Status,
    encode_content,
    from_columns,
)
from symfonic.capabilities.memory.stores.sqlite.dump import COLUMNS
from symfonic.capabilities.memory.stores.sqlite.indexing import index_record, row_number
from symfonic.capabilities.memory.stores.sqlite.reader import to_state
from symfonic.capabilities.memory.stores.sqlite.rows import (
    array,
    to_answer,
    to_journal,
    to_link,
    to_run,
    to_seen,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

_CHOICES: Final[dict[str, tuple[str | None, ...]]] = {
    "kind": KINDS, "state": get_args(State), "trust": TRUST_ORDER,
    "status": (None, *get_args(Status)),
}  # fmt: skip

_UNREADABLE: Final = (
    StoreUnavailable, ArithmeticError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What reading or inserting a damaged row raises."""

_NUMBERS: Final = ("version", "seq", "stamp")


def load_rows(db: Connection, path: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Add rows that are not there, within an open write transaction; how many per table.

    The rows go into ``path`` whatever scope they were dumped from. An approved procedure comes in
    as a draft and a kept plan as an abandoned one: only a person approves and applies, and this
    person has not yet seen them here. Raises ``InputError`` for a row that cannot be read, and for
    a history that is not the one of the scope.
    """
    return load_into(Loading(db, path), rows)


def load_into(loading: Loading, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Add rows; an error names the row."""
    for number, row in enumerate(rows, start=1):
        try:
            loading.add(row)
        except InputError:
            raise
        except _UNREADABLE as error:
            if isinstance(error.__cause__, sqlite3.OperationalError):  # the disk or a lock
                raise
            raise InputError(
                f"Row {number} of the export, on its line {number + 1} ({_named(row)}), is "
                f"damaged: {error}. Nothing was written.",
                row=number,
                line=number + 1,
            ) from error
    return loading.finish()


class Loading:
    """One import under way."""

    def __init__(self, db: Connection, path: str) -> None:
        self.db = db
        self.path = path
        self.added = dict.fromkeys(COLUMNS, 0)
        self.scope: dict[str, Any] | None = None
        self.visible, self.counter, self.runs = 0, 0, 0
        self.abandoned: set[int] = set()
        self.standing = {
            row[0]: tuple(row[1:]) for row in db.rows("runs_there", {"scope": path})
        }  # fmt: skip
        self.brought: set[int] = set()
        self.compacted = {row[0] for row in db.rows("compacted_runs", {"scope": path})}
        self.spans: dict[str, tuple[int | None, int | None]] = {}
        self.taken_back: list[str] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """One row."""
        table = row.get("table") if isinstance(row, dict) else None
        if table not in COLUMNS:
            message = f"it names the table {table!r}, which there is not; is it a symfonic export?"
            raise ValueError(message)
        if (table == "scope") != (self.scope is None):
            message = "the row of the scope must come first, and once"
            raise ValueError(message)
        values = {name: row.get(name) for name in COLUMNS[table]} | {"scope": self.path}
        match table:
            case "scope":
                self._add_scope(values)
            case "record":
                self._add_record(values)
            case "run":
                self._add_run(values)
            case _:
                self._add_other(table, values)
        if table != "change":  # whose numbers are places in its run's journal
            self.counter = max(self.counter, *(int(values.get(name) or 0) for name in _NUMBERS))

    def finish(self) -> dict[str, int]:
        """Raise the scope's counters and clocks; how many rows were added per table."""
        if self.scope is None:
            raise InputError("The export holds no rows: its first is the scope's own.")
        missing = [
            n for n, run in self.standing.items() if n not in self.brought and _is_history(run)
        ]
        if missing:
            raise self._other_history(missing[0])
        for i in self.taken_back:  # no longer what stood there under the version it came with
            self.counter += 1
            bound = {"scope": self.path, "id": i, "version": self.counter}
            self.db.execute("renumber_record", bound)
        names = ("last_clock", "deep_clock", "settings")
        bound = {name: self.scope[name] for name in names} | {
            "scope": self.path, "visible": self.visible, "counter": self.counter,
            "run_count": self.runs,
        }  # fmt: skip
        self.db.execute("raise_scope", bound)
        return self.added

    def _add_scope(self, values: dict[str, Any]) -> None:
        values |= {"path": self.path, "salt": bytes.fromhex(values["salt"])}
        to_state(_state_columns(values))
        there = self.db.execute("get_scope", {"scope": self.path}).fetchone()
        if there is None:
            self.added["scope"] += self.db.execute("load_scope", values).rowcount
        elif bytes(there[1]) != values["salt"]:
            raise InputError(
                f"The scope {self.path} is already in use with other ids, so the export cannot be "
                "joined to it. Import it into a scope of its own with --scope, or into a new file.",
                scope=self.path,
            )
        elif there[2] != values["half_life_hours"]:
            days = values["half_life_hours"] / 24
            raise InputError(
                f"The scope {self.path} fades with {there[2] / 24:g} days and the export with "
                f"{days:g}, so their strengths cannot be compared. Let it fade as the export does: "
                f"symfonic-memory half-life {days:g} --scope {self.path}",
                scope=self.path,
            )
        self.scope = values
        self.counter, self.runs = int(values["counter"]), int(values["run_count"])

    def _add_record(self, values: dict[str, Any]) -> None:
        record = self._decoded(values)
        taken_back = record.status == "approved"
        if taken_back:
            record = _undecided(record)
            values |= {"status": record.status, "body": encode_content(record.content)}
        changed = self.db.execute("load_record", values).rowcount
        self.added["record"] += changed
        if changed and taken_back:
            self.taken_back.append(record.id)
        if changed and record.state != "forgotten":
            self.visible += record.state in VISIBLE_STATES
            row = row_number(self.db, self.path, record.id)
            index_record(self.db, self.path, row, record.text, record.content)
        if not changed and record.state != "forgotten":
            self._check_not_forgotten(record)

    def _decoded(self, values: Mapping[str, Any]) -> Record:
        for name, choices in _CHOICES.items():
            if values[name] not in choices:
                message = f"its {name} is {values[name]!r}"
                raise ValueError(message)
        if values["state"] != "forgotten" and values["body"] is None:
            message = "it has no body"
            raise ValueError(message)
        return from_columns(
            values, id=values["id"], scope=self.path, version=values["version"], seq=values["seq"]
        )

    def _check_not_forgotten(self, record: Record) -> None:
        """An export from before a forgetting would bring back what was said of the record."""
        bound = {"scope": self.path, "ids": array([record.id])}
        if self.db.rows("known_states", bound) == [(record.id, "forgotten")]:
            raise InputError(
                f"The record {record.id} was forgotten in scope {self.path} after the export was "
                "made, and importing it would bring back what was learnt from it. "
                "Export anew, or import into a scope of its own with --scope.",
                record=record.id,
            )

    def _add_run(self, values: dict[str, Any]) -> None:
        number = int(values["number"])
        values["compacted"] = int(values["compacted"] or 0)  # older exports have no such column
        run = tuple(
            values[name] for name in ("kind", "status", "clock", "input_digest", "output_digest")
        )
        report = report_of(values)
        self.runs = max(self.runs, number)
        self.brought.add(number)
        there = self.standing.get(number)
        differs = there is not None and _identity(there) != _identity(run)
        goes_on = there is None and _has_history(self.standing) and _is_history(run)
        if differs or goes_on:
            raise self._other_history(number)
        if values["status"] in {"planned", "held"} and values["kind"] != "ingest":
            self.abandoned.add(number)
            report["status"] = "abandoned"
            values |= {
                "status": "abandoned",
                "input": "",
                "report": json.dumps(report, ensure_ascii=False),
            }
        self.added["run"] += self.db.execute("load_run", values).rowcount

    def _add_other(self, table: str, values: dict[str, Any]) -> None:
        read_row(table, values)
        match table:
            case "change" if values["run"] in self.abandoned or values["run"] in self.compacted:
                return
            case "use" if self._is_counted(values):
                return
            case _:
                pass
        self.added[table] += self.db.execute(f"load_{table}", values).rowcount

    def _is_counted(self, values: Mapping[str, Any]) -> bool:
        """Whether a use is in what 'compact' has folded here, or folded is what stands here."""
        record, hour = values["record"], values["hour"]
        if record not in self.spans:
            bound = {"scope": self.path, "record": record}
            self.spans[record] = self.db.execute("use_span", bound).fetchone()
        first, folded = self.spans[record]
        if values["kind"] == "base":
            return first is not None and first <= hour
        return folded is not None and hour <= folded

    def _other_history(self, number: int) -> InputError:
        run = f"{self.path}#{number}"
        return InputError(
            f"The scope {self.path} has another history than the export: they differ in the run "
            f"{run}. Import it into a scope of its own with --scope, or into a new file.",
            run=run,
        )


def read_row(table: str, values: Mapping[str, Any]) -> None:
    """Read a row as the store reads its own. Raises what reading a damaged one raises."""
    columns = [values[name] for name in COLUMNS[table]]
    match table:
        case "link":
            to_link(columns[1:])
        case "seen":
            to_seen([v for name, v in values.items() if name not in {"scope", "window"}])
        case "answer":
            to_answer(columns[1:])
        case "change":
            to_journal(_journal_columns(values))
        case _:  # uses and unread rows are keys and numbers, which the table checks
            pass


def report_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a run's row, which is read as the store reads its own."""
    return dict(to_run(_run_columns(values)).report)


def _is_history(run: tuple[Any, ...]) -> bool:
    """Whether a run, by kind and status, has changed what is remembered; an ingest only adds."""
    return run[0] != "ingest" and run[1] in {"committed", "undone"}


def _has_history(runs: Mapping[int, tuple[Any, ...]]) -> bool:
    return any(_is_history(run) for run in runs.values())


def _identity(run: tuple[Any, ...]) -> tuple[Any, ...]:
    """What two copies of one run have in common, whatever became of a plan that was never used."""
    kind, status, *rest = run
    return (kind, status if _is_history(run) else None, *rest)


def _undecided(record: Record) -> Record:
    if not isinstance(record.content, Procedure):
        message = f"it is a {record.kind} and approved"
        raise TypeError(message)
    content = replace(record.content, decided_by=None, decided_at=None)
    return replace(record, status="draft", content=content)


def _state_columns(values: Mapping[str, Any]) -> tuple[Any, ...]:
    names = (
        "path", "salt", "half_life_hours", "visible", "counter", "run_count", "last_clock",
        "deep_clock", "settings",
    )  # fmt: skip
    return tuple(values[name] for name in names)


def _run_columns(values: Mapping[str, Any]) -> list[Any]:
    names = (
        "number", "scope", "kind", "status", "clock", "input_digest", "output_digest", "settings",
        "report", "input",
    )  # fmt: skip
    return [values[name] for name in names]


def _journal_columns(values: Mapping[str, Any]) -> list[Any]:
    names = (
        "run", "seq", "phase", "group_kind", "group_id", "operation", "relation", "row", "before",
        "after", "reason", "from_version", "undone_by",
    )  # fmt: skip
    return [values[name] for name in names]


def _named(row: Any) -> str:  # noqa: ANN401
    """What kind of row it is and which, without what it says."""
    if not isinstance(row, dict):
        return type(row).__name__
    keys = [row[name] for name in ("id", "source", "episode", "record", "number") if name in row]
    return " ".join(str(part) for part in (row.get("table"), *keys[:1]))
