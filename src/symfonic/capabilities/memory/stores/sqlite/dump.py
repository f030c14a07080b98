"""Everything of a scope as plain rows, and back: the lossless export.

Rows come in an order that equal stores share, so that two exports of equal stores are equal to
the byte. The lease is left out: it belongs to a process, not to a memory.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError, StoreUnavailable
from symfonic.capabilities.memory.records import VISIBLE_STATES
from symfonic.capabilities.memory.stores.sqlite.rows import scope_token
from symfonic.capabilities.memory.text_terms import call_text, index_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "scope": ("path", "salt", "half_life_hours", "visible", "counter", "run_count", "last_clock",
              "deep_clock", "settings"),
    "record": ("scope", "id", "kind", "key", "state", "version", "seq", "pinned", "trust",
               "strength", "occurred_at", "recorded_at", "until", "session", "position", "status",
               "text", "body"),
    "link": ("scope", "source", "kind", "target", "count", "at", "version"),
    "seen": ("scope", "episode", "reader", "kind", "key", "session", "window", "at", "ok", "score",
             "body"),
    "answer": ("scope", "question", "collaborator", "sources", "body"),
    "use": ("scope", "record", "hour", "kind", "weight", "spread_weight"),
    "pending": ("scope", "phase", "at", "record", "stamp"),
    "run": ("scope", "number", "kind", "status", "clock", "settings", "input", "input_digest",
            "output_digest", "report"),
    "change": ("scope", "run", "seq", "phase", "group_kind", "group_id", "operation", "relation",
               "first", "second", "row", "from_version", "before", "after", "reason", "undone_by"),
}  # fmt: skip
"""The nine tables and their columns, in the order in which they are written."""


def dump_scope(db: Connection, path: str) -> Iterator[dict[str, Any]]:
    """Every row of the scope, as ``{"table": …, column: value, …}``."""
    for table, columns in COLUMNS.items():
        for row in db.execute(f"dump_{table}", {"scope": path}):
            values = dict(zip(columns, row, strict=True))
            if table == "scope":
                values["salt"] = bytes(values["salt"]).hex()
            yield {"table": table, **{k: v for k, v in values.items() if v is not None}}


def load_rows(db: Connection, path: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Add rows that are not there, within an open write transaction; how many per table.

    The rows go into ``path`` whatever scope they were dumped from. An approved procedure comes in
    as a draft: only a person approves, and this person has not yet seen it here.
    """
    added = dict.fromkeys(COLUMNS, 0)
    new_scope = False
    visible, counter, runs = 0, 0, 0
    for number, row in enumerate(rows, start=1):
        table = row.get("table")
        if table not in COLUMNS:
            raise InputError(
                f"Row {number} of the export names the table {table!r}, which there is not. "
                "Is the file a symfonic export?",
                row=number,
            )
        values = {name: row.get(name) for name in COLUMNS[table]}
        values["scope"] = path
        if table == "scope":
            new_scope = _load_scope(db, path, values)
            added["scope"] += new_scope
            counter = max(counter, _greatest(values, "counter"))
            runs = max(runs, _greatest(values, "run_count"))
            continue
        if table == "record" and values["kind"] == "procedure":
            _undecide(values)
        try:
            changed = db.execute(f"load_{table}", values).rowcount
        except StoreUnavailable as error:
            raise InputError(
                f"Row {number} of the export is damaged: {error}", row=number
            ) from error
        added[table] += changed
        if changed and table == "record":
            visible += values["state"] in VISIBLE_STATES
            _index(db, path, values)
        counter = max(counter, _greatest(values, "version", "seq", "stamp"))
        runs = max(runs, _greatest(values, "number"))
    if not new_scope:
        bound = {"scope": path, "visible": visible, "counter": counter, "run_count": runs}
        db.execute("raise_scope", bound)
    return added


def _greatest(values: Mapping[str, Any], *names: str) -> int:
    """The greatest number in these columns; a damaged one is left to the insert to refuse."""
    return max((n for name in names if isinstance(n := values.get(name), int)), default=0)


def _load_scope(db: Connection, path: str, values: dict[str, Any]) -> bool:
    there = db.execute("get_scope", {"scope": path}).fetchone()
    salt = bytes.fromhex(values["salt"])
    if there is not None and bytes(there[1]) != salt:
        raise InputError(
            f"The scope {path} is already in use with other ids, so the export cannot be joined to "
            "it. Import it into a scope of its own with --scope, or into a new file.",
            scope=path,
        )
    if there is not None:
        return False
    values |= {"path": path, "salt": salt}
    db.execute("load_scope", values)
    return True


def _undecide(values: dict[str, Any]) -> None:
    if values["status"] != "approved":
        return
    body = json.loads(values["body"])
    body |= {"decided_by": None, "decided_at": None}
    values |= {
        "status": "draft",
        "body": json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")),
    }


def _index(db: Connection, path: str, values: Mapping[str, Any]) -> None:
    if values["state"] == "forgotten":
        return
    row = db.execute("record_rows", {"scope": path, "ids": json.dumps([values["id"]])}).fetchone()
    words = values["text"] or ""
    calls = json.loads(values["body"]).get("calls") if values["kind"] == "episode" else None
    if calls:
        from symfonic.capabilities.memory.records import ToolCall  # noqa: PLC0415 - rare path

        words = f"{words}\n{call_text(tuple(ToolCall(**call) for call in calls))}"
    db.execute("insert_text", (row[1], scope_token(path), index_text(words)))
