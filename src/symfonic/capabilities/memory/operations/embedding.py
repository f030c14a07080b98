"""Embedding what a scope holds: once for all of it, and then what is new."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.embedding.protocol import identity_of
from symfonic.capabilities.memory.errors import CollaboratorError, InputError
from symfonic.capabilities.memory.operations.core import Operations
from symfonic.capabilities.memory.packing import shown_text
from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symfonic.capabilities.memory.embedding.protocol import Embedder
    from symfonic.capabilities.memory.records import Record

_MOST_NAMED = 5
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

        A vector that must not be stored (not finite, all zeros, of another length) is left out; its
        record is found by text. Raises ``CollaboratorError`` for these at the end, once all others
        are stored, and ``InputError`` where there is no embedder or another one's vectors are.
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
        refused: dict[str, str] = {}
        while records := self._next_unembedded(where, refused):
            ids = [record.id for record in records]
            texts = [embedded_text(record) for record in records]
            vectors, wrong = _packed(using.embed_documents(texts), using, ids)
            refused |= wrong
            rows = [
                (record.id, record.version, vector)
                for record, vector in zip(records, vectors, strict=True)
                if vector is not None
            ]
            done += self.store.add_vectors(where, identity, rows)
            if progress is not None:
                progress(done, max(done, total))
        if refused:
            raise _without_vectors(where, using, refused)
        return done

    def _next_unembedded(self, scope: Scope, refused: Mapping[str, str]) -> list[Record]:
        with self.store.snapshot(scope) as reader:
            records = reader.unembedded(limit=BATCH + len(refused))
        return [record for record in records if record.id not in refused][:BATCH]

    def vectors(self, scope: str) -> dict[str, Any]:
        """Whose vectors a scope has (``embedder``), how many, and how many are ``waiting``."""
        with self.store.snapshot(Scope(scope)) as reader:
            there, (done, waiting) = reader.embedder(), reader.vector_counts()
        return {"embedder": str(there) if there else None, "vectors": done, "waiting": waiting}

    def _embedded(self, query: str) -> tuple[EmbeddedQuery | None, str | None]:
        """The question's vector, where there is an embedder and something is asked.

        Where the embedder fails, a note that says so: text is recalled by all the same.
        """
        using = self.embedder
        if using is None or not query.strip():
            return None, None
        try:
            (vector,), refused = _packed(using.embed_queries([query]), using, ["the question"])
        except CollaboratorError as error:
            return None, f"Recalled by text alone: {error}"
        if vector is None:
            why = refused["the question"]
            return None, f"Recalled by text alone: the question was not embedded, {why}."
        return EmbeddedQuery(vector=vector, identity=identity_of(using)), None

    def _embed_new(self, scope: Scope) -> None:
        """What is new in a scope of this memory's embedder; nothing without one."""
        if self.embedder is not None:
            self.embed(scope.path, embedder=self.embedder)


def _packed(
    vectors: object, using: Embedder, names: Sequence[str]
) -> tuple[list[bytes | None], dict[str, str]]:
    """Checked, as bytes, and what was refused; numpy is loaded with the first."""
    checked = import_module("symfonic.capabilities.memory.embedding.checked")
    found: tuple[list[bytes | None], dict[str, str]] = checked.packed(vectors, using, names)
    return found


def _without_vectors(
    scope: Scope, using: Embedder, refused: Mapping[str, str]
) -> CollaboratorError:
    named = "; ".join(f"{i}: {why}" for i, why in sorted(refused.items())[:_MOST_NAMED])
    rest = len(refused) - _MOST_NAMED
    more = f"; and {rest} more" if rest > 0 else ""
    return CollaboratorError(
        f"The embedder {using.name} gave no vector that can be stored for {len(refused)} of the "
        f"records of {scope} ({named}{more}). All others have theirs, and these are found by text.",
        collaborator=using.name,
        records=sorted(refused),
    )


def embedded_text(record: Record) -> str:
    """What of a record is embedded: who said it, and what a reader sees of it."""
    content = record.content
    said_by = getattr(content, "name", None) if record.kind == "episode" else None
    text = shown_text(record)
    return f"{said_by}: {text}" if said_by else text
