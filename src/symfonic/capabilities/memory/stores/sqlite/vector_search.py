"""What recall asks of vectors: the nearest records, and how near given ones are.

numpy is needed only here and is loaded with the first such question.
"""

from __future__ import annotations

from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import to_microseconds
from symfonic.capabilities.memory.store import Hit
from symfonic.capabilities.memory.stores.sqlite.rows import LARGEST, array, to_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
    from symfonic.capabilities.memory.records import Kind, RecordId
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


class VectorSearch:
    """The vectors of one store, as far as they are kept in memory."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: tuple[Any, Any] | None = None

    def nearest(
        self,
        db: Connection,
        scopes: Sequence[str],
        vector: bytes,
        identity: EmbedderIdentity,
        *,
        kinds: Sequence[Kind],
        limit: int,
        since: datetime | None,
        until: datetime | None,
    ) -> list[Hit]:
        """The nearest of the visible scopes' records that are of the kinds and the time."""
        module, matrices = self._numbers()
        bound = {
            "scopes": array(scopes), "kinds": array(kinds),
            "since": -LARGEST if since is None else to_microseconds(since),
            "until": LARGEST if until is None else to_microseconds(until),
        }  # fmt: skip
        changed = _changed(db, scopes, identity)
        most = 2 * limit
        while True:
            best: list[tuple[float, int]] = []
            for path, count in changed.items():
                best += module.nearest_rows(
                    matrices, db, path, vector,
                    changed=count, dimensions=identity.dimensions, most=most,
                )  # fmt: skip
            best = sorted(best, key=lambda pair: (-pair[0], pair[1]))
            found = {
                row[0]: row[1:]
                for row in db.rows("found_rows", {**bound, "rows": array(r for _, r in best)})
            }
            hits = [
                Hit(record=to_record(found[row]), score=score)
                for score, row in best
                if row in found
            ]
            if len(hits) >= limit or len(best) < most:
                return hits[:limit]
            most *= 8

    def similarities(
        self,
        db: Connection,
        scopes: Sequence[str],
        vector: bytes,
        identity: EmbedderIdentity,
        ids: Sequence[str],
    ) -> dict[RecordId, float]:
        """How near these records are, by id."""
        module, _ = self._numbers()
        known = array(_changed(db, scopes, identity))
        rows = db.rows("record_vectors", {"scopes": known, "ids": array(sorted(set(ids)))})
        return {i: module.cosine(vector, value) for i, value in rows}

    def _numbers(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                module = import_module("symfonic.capabilities.memory.stores.sqlite.nearest")
                self._loaded = module, module.Matrices()
            return self._loaded


def _changed(db: Connection, scopes: Sequence[str], identity: EmbedderIdentity) -> dict[str, int]:
    """The visible scopes whose vectors come from this embedder, and how often they changed."""
    bound = {
        "scopes": array(scopes), "name": identity.name, "version": identity.version,
        "dimensions": identity.dimensions,
    }  # fmt: skip
    return dict(sorted(db.rows("visible_embedders", bound)))
