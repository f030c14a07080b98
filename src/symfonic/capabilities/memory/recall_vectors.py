"""What vectors add: candidates that share no word with the question, and how near each one is.

Words and vectors are right about different questions. A question of rare words is answered by the
rows that hold them; one of common words, or of other words than the answer's, by what is near.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
    from symfonic.capabilities.memory.recall_scoring import Candidate, RecallWeights
    from symfonic.capabilities.memory.store import MemoryReader


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedQuery:
    """A question's vector, of unit length as it is stored, and whose it is."""

    vector: bytes
    identity: EmbedderIdentity


def add_vectors(
    reader: MemoryReader,
    candidates: Sequence[Candidate],
    embedded: EmbeddedQuery,
    *,
    weights: RecallWeights,
) -> None:
    """Set the ``vector`` part of the candidates that are nearer than usual."""
    near = reader.similarities(
        embedded.vector, embedded.identity, [c.record.id for c in candidates]
    )
    if not near:
        return
    ranked = sorted(near.values(), reverse=True)
    best, usual = ranked[0], ranked[min(len(ranked) - 1, weights.usual_rank)]
    room = max(best - usual, LEAST_ROOM)
    for candidate in candidates:
        similarity = near.get(candidate.record.id)
        if similarity is not None and similarity > usual:
            candidate.parts["vector"] = rounded(weights.vector * (similarity - usual) / room)


LEAST_ROOM: Final = 0.05
"""Between the best and the usual: where all are equally near, none is near."""
