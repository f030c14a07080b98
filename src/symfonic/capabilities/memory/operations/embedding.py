"""Embedding what a scope holds: once for all of it, and then what is new."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.embedding.protocol import identity_of
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.operations.core import Operations
from symfonic.capabilities.memory.packing import shown_text
from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symfonic.capabilities.memory.embedding.protocol import Embedder
    from symfonic.capabilities.memory.records import Record

BATCH = 64
"""Records whose vectors are kept in one transaction: what a kill costs at most."""


class EmbeddingOperations(Operations):
    """What goes with an embedder. Without one, text alone is recalled by."""

    def embed(
        self,
        scope: str,
        *,
        embedder: Embedder | None = None,
        again: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Give every record of the scope that has none its vector; how many got one.

        Each batch is a transaction of its own: what is done stays done, and the next call goes on.
        Nothing is locked while the embedder works. A scope that has the vectors of another embedder
        is left alone unless ``again`` says to drop them; until all are made anew, recall goes by
        text where a vector is missing. ``progress`` is told how many are done, and of how many.

        Raises ``InputError`` where there is no embedder or another one's vectors stand there, and
        ``CollaboratorError`` for vectors that must not be stored.
        """
        using = embedder or self.embedder
        if using is None:
            raise InputError(
                "No embedder is given. Name one: Memory.open(..., embedder=...), or --embedder."
            )
        where, identity = Scope(scope), identity_of(using)
        self._ensure(where)
        with self.store.snapshot(where) as reader:
            there = reader.embedder()
        if there is not None and there != identity and not again:
            raise InputError(
                f"The scope {where} has the vectors of {there}, and {identity} gives others. Take "
                "that embedder, or make all anew with --again (again=True).",
                there=str(there), given=str(identity),
            )  # fmt: skip
        if there == identity and again:
            self.store.set_embedder(where, None)
        self.store.set_embedder(where, identity)
        with self.store.snapshot(where) as reader:
            _, total = reader.vector_counts()
        done = 0
        while True:
            with self.store.snapshot(where) as reader:
                records = reader.unembedded(limit=BATCH)
            if not records:
                return done
            vectors = _packed(
                using.embed_documents([embedded_text(record) for record in records]),
                using,
                [record.id for record in records],
            )
            rows = [
                (record.id, record.version, vector)
                for record, vector in zip(records, vectors, strict=True)
            ]
            done += self.store.add_vectors(where, identity, rows)
            if progress is not None:
                progress(done, max(done, total))

    def vectors(self, scope: str) -> dict[str, Any]:
        """Whose vectors a scope has (``embedder``), how many, and how many are ``waiting``."""
        with self.store.snapshot(Scope(scope)) as reader:
            there, (done, waiting) = reader.embedder(), reader.vector_counts()
        return {"embedder": str(there) if there else None, "vectors": done, "waiting": waiting}

    def _embedded(self, query: str) -> EmbeddedQuery | None:
        """The question's vector, where there is an embedder and something is asked."""
        using = self.embedder
        if using is None or not query.strip():
            return None
        (vector,) = _packed(using.embed_queries([query]), using, ["the question"])
        return EmbeddedQuery(vector=vector, identity=identity_of(using))

    def _embed_new(self, scope: Scope) -> None:
        """What is new in a scope of this memory's embedder; nothing without one."""
        if self.embedder is not None:
            self.embed(scope.path, embedder=self.embedder)


def _packed(vectors: object, using: Embedder, names: Sequence[str]) -> list[bytes]:
    """Checked, as bytes; numpy is loaded with the first."""
    checked = import_module("symfonic.capabilities.memory.embedding.checked")
    found: list[bytes] = checked.packed(vectors, using, names)
    return found


def embedded_text(record: Record) -> str:
    """What of a record is embedded: who said it, and what a reader sees of it."""
    content = record.content
    said_by = getattr(content, "name", None) if record.kind == "episode" else None
    text = shown_text(record)
    return f"{said_by}: {text}" if said_by else text
