"""Embedders for tests: no model, no download, the same vectors everywhere."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np

from symfonic.capabilities.memory.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.embedding.protocol import Vectors

_WORD: Final = re.compile(r"[^\W_]+")


class HashedWords:
    """A text is the sum of its words' directions, each drawn from the hash of its stem.

    ``alike`` maps words to the one whose direction they share, so that a test can say that "cat"
    and "pet" mean the same.
    """

    def __init__(
        self, *, dimensions: int = 64, version: str = "1", alike: Mapping[str, str] | None = None
    ) -> None:
        self.name = "hashed-words"
        self.version = version
        self.dimensions = dimensions
        self._alike = dict(alike or {})

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The sums; a text without a word is a direction of its own."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            for word in _WORD.findall(text.lower()) or [""]:
                rows[number] += self._direction(stem(self._alike.get(word, word)))
        return rows

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same."""
        return self.embed_documents(texts)

    def _direction(self, word: str) -> Vectors:
        bits = b"".join(
            blake2b(f"{part}{word}".encode(), digest_size=64).digest()
            for part in range(-(-self.dimensions // 64))
        )
        found: Vectors = np.frombuffer(bits, dtype=np.uint8)[: self.dimensions].astype(np.float32)
        return found - np.float32(127.5)
