"""Of a forgotten record no vector is left, in no table and in no byte of the files."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.builders import NOW, SALT
from symfonic.capabilities.memory.testing.embedders import HashedWords

if TYPE_CHECKING:
    from pathlib import Path

MEANS = HashedWords(dimensions=384)


def stored(path: Path) -> bytes:
    """Everything in the database and what lies beside it."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def test_the_bytes_of_a_forgotten_vector_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, clock=lambda: NOW, salt=SALT, embedder=MEANS) as memory:
        texts = [f"Turn {n} about the kettle." for n in range(200)]
        rows = [{"session": "s", "role": "user", "text": text} for text in texts]
        memory.ingest(rows, scope="me")
        with sqlite3.connect(path) as raw:
            vectors = dict(raw.execute("SELECT r.id, v.value FROM vector AS v JOIN record AS r "
                                       "ON r.row = v.row"))  # fmt: skip
        raw.close()
        gone = sorted(vectors)[::7]
        middles = {i: vectors[i][400:464] for i in vectors}
        assert all(middle in stored(path) for middle in middles.values())
        memory.recall("kettle", scope="me")
        receipt = memory.forget(gone, scope="me")
        assert set(receipt.forgotten) == set(gone)
        left = stored(path)
        assert [i for i in gone if middles[i] in left] == []
        assert [i for i in middles if i not in gone and middles[i] not in left] == []
        assert memory.vectors("me") == {
            "embedder": "hashed-words@1 (384 dimensions)", "vectors": 200 - len(gone), "waiting": 0,
        }  # fmt: skip
        assert memory.store.check() == []
