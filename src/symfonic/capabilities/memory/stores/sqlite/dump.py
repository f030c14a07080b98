"""Everything of a scope as plain rows: the lossless export. `load.py` brings them back.

Rows come in an order that equal stores share, so that two exports of equal stores are equal to
the byte. The lease is left out: it belongs to a process, not to a memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "scope": ("path", "salt", "half_life_hours", "visible", "counter", "run_count", "last_clock",
              "deep_clock", "settings"),
    "record": ("scope", "id", "kind", "key", "state", "version", "seq", "pinned", "trust",
               "strength", "occurred_at", "recorded_at", "until", "session", "position", "status",
               "text", "body", "trace"),
    "link": ("scope", "source", "kind", "target", "count", "at", "version"),
    "seen": ("scope", "episode", "reader", "kind", "key", "session", "window", "at", "ok", "score",
             "body"),
    "answer": ("scope", "question", "collaborator", "sources", "body"),
    "use": ("scope", "record", "hour", "kind", "weight", "spread_weight"),
    "pending": ("scope", "phase", "at", "record", "stamp"),
    "run": ("scope", "number", "kind", "status", "clock", "settings", "input", "input_digest",
            "output_digest", "report", "counter", "compacted"),
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
