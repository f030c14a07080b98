"""What of an embedder's answer is stored, and what is refused with the name of its text."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from symfonic.capabilities.memory.embedding.checked import packed
from symfonic.capabilities.memory.errors import CollaboratorError
from symfonic.capabilities.memory.testing.embedders import HashedWords

PAIR = HashedWords(dimensions=2)


def test_rows_become_unit_length_and_little_endian() -> None:
    one, two = packed([[3.0, 4.0], [0.0, -2.0]], PAIR, ["a", "b"])
    assert struct.unpack("<2f", one) == pytest.approx((0.6, 0.8))
    assert struct.unpack("<2f", two) == (0.0, -1.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_length_does_not_matter_however_large_or_small(scale: float) -> None:
    (row,) = packed([[3.0 * scale, 4.0 * scale]], PAIR, ["a"])
    assert struct.unpack("<2f", row) == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1.0, 0.0], [float("nan"), 1.0]], "not finite for b"),
        ([[1.0, 0.0], [float("inf"), 1.0]], "not finite for b"),
        ([[1.0, 0.0], [0.0, 0.0]], "zeros for b"),
        ([[1.0, 0.0]], "shape"),
        ([[1.0], [1.0]], "vectors of 1 numbers and states 2"),
        ([[1.0, 0.0], [1.0]], "different lengths"),
        ([1.0, 0.0], "shape"),
        ("no numbers", "no numbers"),
        (None, "shape"),
        (np.zeros((0, 2)), "shape"),
    ],
)
def test_what_must_not_be_stored_is_refused(rows: object, said: str) -> None:
    with pytest.raises(CollaboratorError, match=said) as caught:
        packed(rows, PAIR, ["a", "b"])
    assert caught.value.facts == {"collaborator": "hashed-words"}


def test_nothing_is_nothing() -> None:
    assert packed(np.zeros((0, 2), np.float32), PAIR, []) == []
