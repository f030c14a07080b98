"""What an embedder is.

An embedder is named, because vectors of two of them cannot be compared: a scope's vectors all come
from one, whose identity is stored with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    """One row a text, of ``dimensions`` numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderIdentity:
    """Which embedder vectors come from. Vectors of different identities are never compared."""

    name: str
    version: str
    dimensions: int

    def __str__(self) -> str:
        return f"{self.name}@{self.version} ({self.dimensions} dimensions)"


class Embedder(Protocol):
    """Turns texts into vectors of ``dimensions`` numbers.

    Equal texts must get equal vectors, whatever else is embedded beside them, in every process:
    what recall returns depends on it. ``version`` changes whenever the vectors would. The vectors
    need not be of unit length. Documents and questions are told apart for models that do so.
    """

    @property
    def name(self) -> str:
        """What the embedder is called, such as ``minilm``."""
        ...

    @property
    def version(self) -> str:
        """Another one for every change of what it gives."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """A row for each text that is to be found."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """A row for each question."""
        ...


def identity_of(embedder: Embedder) -> EmbedderIdentity:
    """The identity to store with its vectors."""
    return EmbedderIdentity(
        name=embedder.name, version=embedder.version, dimensions=embedder.dimensions
    )
