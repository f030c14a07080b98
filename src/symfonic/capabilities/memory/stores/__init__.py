"""The one place that picks a store implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.errors import StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from symfonic.capabilities.memory.store import MemoryStore


def open_store(url: str | Path, *, create: bool = True) -> MemoryStore:
    """The store at a path, ``sqlite:///PATH``, or ``:memory:``.

    With ``create=False`` a missing file is an error, so that a misspelt path does not become a new
    and empty memory. Raises ``StoreUnavailable``, ``SchemaMismatch``.
    """
    text = str(url)
    scheme, found, rest = text.partition("://")
    if found and scheme != "sqlite":
        raise StoreUnavailable(
            f"There is no store for {scheme}:// in this release. Give the path of a SQLite file.",
            url=scheme,
        )
    from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore  # noqa: PLC0415

    path = rest.removeprefix("/") if found else text
    return SQLiteStore(path, create=create)


__all__ = ["open_store"]
