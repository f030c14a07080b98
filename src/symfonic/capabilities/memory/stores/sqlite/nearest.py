"""The nearest vectors of a scope, by an exact scan.

The rows are read once and kept as one matrix for as long as they stay as they are, up to a bound;
a scope that is larger is read through in pieces at every question. A product is one pass over the
numbers, so that its cost is that of reading them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from symfonic.capabilities.memory.records import rounded
from symfonic.capabilities.memory.stores.sqlite.rows import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

KEPT_BYTES: Final = 256 * 2**20
"""Of the matrices that are kept, all together; the ones that were asked longest ago go first."""
PIECE: Final = 4_096
"""Rows that are read at a time."""
_ROW_BYTES: Final = 8
_SLACK: Final = 1e-5
"""More than 32-bit sums differ from machine to machine: the choice must not."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A scope's vectors in order of row, as they were after ``changed`` changes."""

    changed: int
    rows: NDArray[np.int64]
    values: NDArray[np.float32]

    @property
    def bytes(self) -> int:
        """What it takes up."""
        return self.rows.nbytes + self.values.nbytes


class Matrices:
    """The matrices that are kept. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Matrix] = OrderedDict()
        self._lock = Lock()

    def of(self, db: Connection, path: str, *, changed: int, dimensions: int) -> Iterator[Matrix]:
        """A scope's vectors, whole where they are kept, else piece by piece."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is not None and kept.changed == changed:
                self._kept.move_to_end(path)
                return iter((kept,))
        count: int = db.execute("count_vectors", {"scope": path}).fetchone()[0]
        pieces = _pieces(db, path, changed=changed, dimensions=dimensions)
        if count * (_ROW_BYTES + 4 * dimensions) > KEPT_BYTES:
            return pieces
        return iter((self._keep(path, _joined(list(pieces), changed, dimensions)),))

    def _keep(self, path: str, whole: Matrix) -> Matrix:
        with self._lock:
            self._kept[path] = whole
            self._kept.move_to_end(path)
            while sum(matrix.bytes for matrix in self._kept.values()) > KEPT_BYTES:
                self._kept.popitem(last=False)
        return whole


def _joined(pieces: list[Matrix], changed: int, dimensions: int) -> Matrix:
    none = Matrix(changed, np.zeros(0, np.int64), np.zeros((0, dimensions), np.float32))
    return Matrix(
        changed,
        np.concatenate([piece.rows for piece in [none, *pieces]]),
        np.concatenate([piece.values for piece in [none, *pieces]]),
    )


def nearest_rows(
    matrices: Matrices,
    db: Connection,
    path: str,
    vector: bytes,
    *,
    changed: int,
    dimensions: int,
    most: int,
) -> list[tuple[float, int]]:
    """The cosine and the row of the ``most`` nearest vectors, best first, then in order of row."""
    asked = np.frombuffer(vector, dtype="<f4")
    best: list[tuple[float, int]] = []
    for matrix in matrices.of(db, path, changed=changed, dimensions=dimensions):
        scores = matrix.values @ asked
        if len(scores) > most:
            least = np.partition(scores, len(scores) - most)[len(scores) - most]
            chosen = np.flatnonzero(scores >= least - _SLACK)
        else:
            chosen = np.arange(len(scores))
        best += zip(
            map(rounded, _exact(matrix.values[chosen], asked)),
            matrix.rows[chosen].tolist(),
            strict=True,
        )
        best = sorted(best, key=lambda pair: (-pair[0], pair[1]))[:most]
    return best


def cosine(vector: bytes, other: bytes) -> float:
    """Of two stored vectors."""
    asked = np.frombuffer(vector, dtype="<f4")
    return rounded(_exact(np.frombuffer(other, dtype="<f4")[None, :], asked)[0])


def _exact(values: NDArray[np.float32], asked: NDArray[np.float32]) -> list[float]:
    """Products in 64 bits, summed in the order of the numbers, whatever the processor."""
    products = values.astype(np.float64) * asked.astype(np.float64)
    exact: list[float] = np.add.accumulate(products, axis=1)[:, -1].tolist()
    return exact


def _pieces(db: Connection, path: str, *, changed: int, dimensions: int) -> Iterator[Matrix]:
    after = -LARGEST
    while found := db.rows("scope_vectors", {"scope": path, "after": after, "count": PIECE}):
        after = found[-1][0]
        values = np.frombuffer(b"".join(row[1] for row in found), dtype="<f4")
        yield Matrix(
            changed,
            np.array([row[0] for row in found], dtype=np.int64),
            values.reshape(len(found), dimensions),
        )
