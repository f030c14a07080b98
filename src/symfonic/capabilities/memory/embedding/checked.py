"""From what an embedder gives to the bytes that are stored, with what must not pass refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symfonic.capabilities.memory.errors import CollaboratorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.embedding.protocol import Embedder


def packed(vectors: object, embedder: Embedder, names: Sequence[str]) -> list[bytes]:
    """Each row as the bytes that are stored: unit length, 32-bit floats, least byte first.

    ``names`` say what the rows belong to. Raises ``CollaboratorError`` for another number of rows,
    and for a row that is not finite, all zeros or of another length, with its name.
    """
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise _refused(embedder, "vectors of different lengths, or what are no numbers") from cause
    if rows.ndim != 2 or len(rows) != len(names):
        raise _refused(embedder, f"an array of shape {rows.shape} for {len(names)} texts")
    if rows.shape[1] != embedder.dimensions:
        raise _refused(
            embedder, f"vectors of {rows.shape[1]} numbers and states {embedder.dimensions}"
        )
    for name, row in zip(names, rows, strict=True):
        if not np.isfinite(row).all():
            raise _refused(embedder, f"a vector that is not finite for {name}")
        if not row.any():
            raise _refused(embedder, f"a vector of zeros for {name}")
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / largest  # squares of very large or small numbers would leave the range
    unit = scaled / np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return [row.tobytes() for row in unit.astype("<f4")]


def _refused(embedder: Embedder, what: str) -> CollaboratorError:
    return CollaboratorError(
        f"The embedder {embedder.name} gave {what}. Nothing of this batch was stored; mend it or "
        "take another one.",
        collaborator=embedder.name,
    )
