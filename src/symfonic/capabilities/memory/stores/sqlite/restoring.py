"""A dump put back as it was, into a scope that holds nothing.

Nothing is joined, so nothing has to be held against what is there: each row goes in as it is, and
a row that is out of order or stands there twice is the mark of a dump that somebody has handled.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.records import VISIBLE_STATES
from symfonic.capabilities.memory.stores.sqlite.dump import COLUMNS
from symfonic.capabilities.memory.stores.sqlite.indexing import index_record, row_number
from symfonic.capabilities.memory.stores.sqlite.load import Loading, load_into, read_row, report_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

_ORDER: Final[dict[str, tuple[str, ...]]] = {
    "scope": (), "record": ("seq",), "link": ("source", "kind", "target"),
    "seen": ("episode", "reader", "kind", "key"), "answer": ("question",),
    "use": ("record", "hour", "kind"), "pending": ("phase", "record"), "run": ("number",),
    "change": ("run", "seq"),
}  # fmt: skip
"""By what the rows of a table are ordered in a dump."""

_TABLES: Final = tuple(COLUMNS)


def restore_rows(db: Connection, path: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Put a whole dump into ``path``, within an open write transaction; how many rows per table.

    Raises ``InputError`` for a scope that is not empty, and for a row that is not as it was dumped.
    """
    db.execute("drop_empty_scope", {"scope": path})
    if db.execute("get_scope", {"scope": path}).fetchone() is not None:
        raise InputError(
            f"The scope {path} is not empty, and restore puts an export back as it was or not at "
            "all. Restore into another scope with --scope, or into a new file with --store; or "
            "join the export to what is here with 'symfonic-memory import'.",
            scope=path,
        )
    return load_into(_Restoring(db, path), rows)


class _Restoring(Loading):
    """One restore under way."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db, path)
        self.place: tuple[Any, ...] = (-1,)
        self.is_renamed = False

    def add(self, row: Mapping[str, Any]) -> None:
        """One row, which stands where it belongs."""
        super().add(row)
        table = row["table"]
        place = (_TABLES.index(table), *(row[name] for name in _ORDER[table]))
        if place < self.place:
            message = "it is out of order"
            raise ValueError(message)
        self.place = place

    def _add_scope(self, values: dict[str, Any]) -> None:
        self.is_renamed = values["path"] != self.path
        super()._add_scope(values)

    def _add_record(self, values: dict[str, Any]) -> None:
        record = self._decoded(values)
        self._insert("record", values)
        if record.state != "forgotten":
            self.visible += record.state in VISIBLE_STATES
            row = row_number(self.db, self.path, record.id)
            index_record(self.db, self.path, row, record.text, record.content)

    def _add_run(self, values: dict[str, Any]) -> None:
        values["compacted"] = int(values["compacted"] or 0)
        report, number = report_of(values), int(values["number"])
        self.runs = max(self.runs, number)
        if self.is_renamed:
            names = {"run_id": f"{self.path}#{number}", "scope": self.path}
            report |= {name: value for name, value in names.items() if name in report}
            values["report"] = json.dumps(report, ensure_ascii=False)
        self._insert("run", values)

    def _add_other(self, table: str, values: dict[str, Any]) -> None:
        read_row(table, values)
        self._insert(table, values)

    def _insert(self, table: str, values: Mapping[str, Any]) -> None:
        if not self.db.execute(f"load_{table}", values).rowcount:
            message = "it stands there twice"
            raise ValueError(message)
        self.added[table] += 1
