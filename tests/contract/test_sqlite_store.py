"""The SQLite store keeps the contract, in memory and in a file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.testing.store_contract import StoreContract

if TYPE_CHECKING:
    from pathlib import Path

    from symfonic.capabilities.memory.store import MemoryStore


class TestInMemory(StoreContract):
    def open_store(self) -> MemoryStore:
        return open_store(":memory:")


class TestInAFile(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.numbers = count()
        self.path = tmp_path

    def open_store(self) -> MemoryStore:
        self.path = self.folder / f"{next(self.numbers)}.db"
        return open_store(self.path)

    def shared_url(self) -> str | None:
        return str(self.path)
