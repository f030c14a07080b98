"""Keeping vectors beside their records, and whose they are.

Which records are to get a vector is kept by triggers of the schema; here is what asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
from symfonic.capabilities.memory.errors import InputError, StaleWrite
from symfonic.capabilities.memory.stores.sqlite.rows import array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import RecordId
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

BYTES = 4
"""Of one number of a vector."""


def embedder_of(db: Connection, path: str) -> EmbedderIdentity | None:
    """Whose vectors a scope has."""
    row = db.execute("get_embedder", {"scope": path}).fetchone()
    if row is None or not row[0]:
        return None
    return EmbedderIdentity(name=row[0], version=row[1], dimensions=row[2])


def set_embedder(db: Connection, path: str, identity: EmbedderIdentity | None) -> None:
    """Within a write transaction: drop another embedder's vectors, and ask for this one's."""
    if embedder_of(db, path) == identity:
        return
    db.execute("delete_vectors", {"scope": path})
    db.execute("delete_unembedded", {"scope": path})
    db.execute(
        "put_embedder",
        {"scope": path, "name": identity.name if identity else "",
         "version": identity.version if identity else "",
         "dimensions": identity.dimensions if identity else 0},
    )  # fmt: skip
    if identity is not None:
        db.execute("queue_unembedded", {"scope": path})


def add_vectors(
    db: Connection,
    path: str,
    identity: EmbedderIdentity,
    vectors: Sequence[tuple[RecordId, int, bytes]],
) -> int:
    """Within a write transaction: keep what still belongs to its record; how many."""
    found = embedder_of(db, path)
    if found != identity:
        raise StaleWrite(
            f"The scope {path} has the vectors of {found or 'no embedder'} by now, and not those "
            f"of {identity}. Embed it again.",
            rows=(),
        )
    for i, _, value in vectors:
        if len(value) != BYTES * identity.dimensions:
            raise InputError(
                f"The vector of {i} has {len(value)} bytes; {identity} gives "
                f"{BYTES * identity.dimensions}.",
                id=i,
            )
    asked = array([i, version] for i, version, _ in vectors)
    rows = dict(db.rows("unembedded_rows", {"scope": path, "records": asked}))
    kept = {rows[i]: value for i, _, value in vectors if i in rows}
    bound = [{"scope": path, "row": row, "value": value} for row, value in sorted(kept.items())]
    db.executemany("insert_vector", bound)
    db.executemany("delete_embedded", bound)
    if kept:
        db.execute("put_embedder", {"scope": path, "name": identity.name,
                   "version": identity.version, "dimensions": identity.dimensions})  # fmt: skip
    return len(kept)
