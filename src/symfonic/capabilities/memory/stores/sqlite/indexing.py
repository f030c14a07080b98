"""What the text index holds for a record, in one place: every way in indexes the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.records import Episode
from symfonic.capabilities.memory.stores.sqlite.rows import array, scope_token
from symfonic.capabilities.memory.text_terms import searchable

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Content
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


def index_row(path: str, row: int, text: str, content: Content) -> tuple[int, str, str]:
    """The index's columns for a record: its row, its scope's word, its text and its calls."""
    calls = content.calls if isinstance(content, Episode) else ()
    return (row, scope_token(path), searchable(text, calls))


def index_record(db: Connection, path: str, row: int, text: str, content: Content) -> None:
    """Index a record that is not indexed yet."""
    db.execute("insert_text", index_row(path, row, text, content))


def reindex_record(db: Connection, path: str, i: str, text: str, content: Content) -> None:
    """Index a record anew after its words changed."""
    row = row_number(db, path, i)
    db.execute("delete_text", (row,))
    index_record(db, path, row, text, content)


def row_number(db: Connection, path: str, i: str) -> int:
    """The row number of a record that is there."""
    rows = db.rows("record_rows", {"scope": path, "ids": array([i])})
    return int(rows[0][1])
