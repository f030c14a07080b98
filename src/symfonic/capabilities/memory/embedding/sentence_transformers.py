"""A model of sentence-transformers as an embedder. It is loaded by who uses it, and torch with it.

Source: https://www.sbert.net
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.embedding.protocol import Vectors


class SentenceModel(Protocol):
    """What is used of a ``SentenceTransformer``."""

    def encode(self, sentences: list[str], **options: Any) -> Any:  # noqa: ANN401 - an array
        """A row for each sentence."""
        ...


class SentenceTransformerEmbedder:
    """``model`` under a ``name`` and a ``version`` that its user states: the object knows neither.

    ``query_prompt`` and ``document_prompt`` stand before the texts, for models that were trained
    so, such as ``"query: "`` and ``"passage: "``. Texts are run one at a time unless ``batch`` says
    otherwise: in some models a text's vector depends, in its last digits, on those beside it.
    """

    def __init__(
        self,
        model: SentenceModel,
        *,
        name: str,
        version: str,
        query_prompt: str = "",
        document_prompt: str = "",
        batch: int = 1,
    ) -> None:
        self.name = f"sentence-transformers:{name}"
        self.version = version
        self._model = model
        self._prompts = (query_prompt, document_prompt)
        self._batch = batch
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """Asked of the model with one short text."""
        if self._dimensions is None:
            self._dimensions = int(self._encoded(["dimensions"]).shape[1])
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The model's vectors of texts that are to be found."""
        return self._encoded([self._prompts[1] + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The model's vectors of questions."""
        return self._encoded([self._prompts[0] + text for text in texts])

    def _encoded(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        found = self._model.encode(texts, batch_size=self._batch, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)
