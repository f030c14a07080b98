"""What of an embedder's answer is stored, and what is refused with the name of its text."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from symfonic.capabilities.memory.embedding.checked import packed
from symfonic.capabilities.memory.errors import CollaboratorError
from symfonic.capabilities.memory.testing.embedders import HashedWords

PAIR = HashedWords(dimensions=2)


def test_rows_become_unit_length_and_little_endian() -> None:
    (one, two), refused = packed([[3.0, 4.0], [0.0, -2.0]], PAIR, ["a", "b"])
    assert one is not None
    assert two is not None
    assert struct.unpack("<2f", one) == pytest.approx((0.6, 0.8))
    assert struct.unpack("<2f", two) == (0.0, -1.0)
    assert refused == {}


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_length_does_not_matter_however_large_or_small(scale: float) -> None:
    (row,), _ = packed([[3.0 * scale, 4.0 * scale]], PAIR, ["a"])
    assert row is not None
    assert struct.unpack("<2f", row) == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([float("nan"), 1.0], "not finite"),
        ([float("inf"), 1.0], "not finite"),
        ([0.0, 0.0], "zeros"),
        ([1.0], r"shape \(1,\) and not 2"),
        ([[1.0, 0.0]], "shape"),
        (1.0, "shape"),
        ("no numbers", "numbers"),
        (None, "shape|numbers|finite"),
    ],
)
def test_what_must_not_be_stored_is_refused_by_name_and_the_rest_is_kept(
    row: object, said: str
) -> None:
    (one, two), refused = packed([[1.0, 0.0], row], PAIR, ["a", "b"])
    assert one == struct.pack("<2f", 1.0, 0.0)
    assert two is None
    assert list(refused) == ["b"]
    assert re.search(said, refused["b"])


@pytest.mark.parametrize("rows", [[[1.0, 0.0]], [], None, np.zeros((3, 2))])
def test_another_number_of_rows_is_an_error(rows: object) -> None:
    with pytest.raises(CollaboratorError, match="vectors for 2 texts") as caught:
        packed(rows, PAIR, ["a", "b"])
    assert caught.value.facts == {"collaborator": "hashed-words"}


def test_nothing_is_nothing() -> None:
    assert packed(np.zeros((0, 2), np.float32), PAIR, []) == ([], {})
