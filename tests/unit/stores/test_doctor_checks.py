from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.testing.builders import make_memory
from symfonic.capabilities.memory.testing.memories import EAGER

if TYPE_CHECKING:
    from pathlib import Path

NIGHT = datetime(2026, 9, 10, 2, tzinfo=UTC)
DAMAGE = {
    "run settings": "UPDATE run SET settings = '{' WHERE kind = 'deep'",
    "run report": "UPDATE run SET report = '[1' WHERE kind = 'deep'",
    "run input": "UPDATE run SET input = 'x' WHERE kind = 'deep'",
    "record": "UPDATE record SET body = '{' WHERE kind = 'episode'",
    "change": "UPDATE change SET after = '{' WHERE operation = 'add'",
    "before-image": "UPDATE change SET before = '{' WHERE operation = 'edit'",
    "reading": "UPDATE seen SET body = '{'",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_json_that_cannot_be_read_is_found(what: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    said = [
        {"id": f"{n}", "session": f"s{n % 3}", "position": n, "role": "user",
         "at": f"2026-09-0{n + 1}T10:00:00Z", "text": "Marta Kowalczyk sold the green boat."}
        for n in range(6)
    ]  # fmt: skip
    with make_memory(path) as memory:
        memory.ingest(said, scope="acme/ana", now=NIGHT)
        memory.recall("green boat", scope="acme/ana", now=NIGHT)
        memory.sleep(scope="acme/ana", policy=EAGER, now=NIGHT)
        assert memory.store.check() == []
    with sqlite3.connect(path) as db:
        assert db.execute(DAMAGE[what]).rowcount > 0
    db.close()
    with make_memory(path) as memory:
        assert any("JSON that cannot be read" in problem for problem in memory.store.check())
