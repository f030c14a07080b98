"""From what an embedder gives to the bytes that are stored, with what must not pass refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from symfonic.capabilities.memory.errors import CollaboratorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.embedding.protocol import Embedder


def packed(
    vectors: object, embedder: Embedder, names: Sequence[str]
) -> tuple[list[bytes | None], dict[str, str]]:
    """Each row as the bytes that are stored: unit length, 32-bit floats, least byte first.

    ``names`` say what the rows belong to. A row that is not finite, all zeros, of another length or
    not of numbers is ``None``, and the second value says why, by its name. Raises
    ``CollaboratorError`` for another number of rows than there are names.
    """
    rows = list(vectors) if isinstance(vectors, Iterable) else [vectors]
    if len(rows) != len(names):
        raise CollaboratorError(
            f"The embedder {embedder.name} gave {len(rows)} vectors for {len(names)} texts. "
            "Nothing of this batch was stored; mend it or take another one.",
            collaborator=embedder.name,
        )
    found: list[bytes | None] = []
    refused: dict[str, str] = {}
    for name, row in zip(names, rows, strict=True):
        made = _unit(row, embedder.dimensions)
        if isinstance(made, str):
            refused[name] = made
        found.append(None if isinstance(made, str) else made)
    return found, refused


def _unit(given: object, dimensions: int) -> bytes | str:
    """A vector of unit length as it is stored, or what is wrong with it."""
    try:
        row = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return "its vector is not made of numbers"
    if row.ndim != 1 or len(row) != dimensions:
        return f"its vector has the shape {row.shape} and not {dimensions} numbers"
    if not np.isfinite(row).all():
        return "its vector is not finite"
    if not row.any():
        return "its vector is all zeros"
    scaled = row / np.abs(row).max()  # squares of very large or small numbers leave the range
    stored: bytes = (scaled / np.sqrt((scaled * scaled).sum())).astype("<f4").tobytes()
    return stored
