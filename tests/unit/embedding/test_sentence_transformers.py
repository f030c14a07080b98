"""The adapter for a loaded model of sentence-transformers, with a stand-in for the model."""

from __future__ import annotations

from typing import Any

from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity, identity_of
from symfonic.capabilities.memory.embedding.sentence_transformers import (
    SentenceTransformerEmbedder,
)


class Model:
    """Gives the length of each text, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], dict[str, Any]]] = []

    def encode(self, sentences: list[str], **options: Any) -> Any:
        self.asked.append((sentences, options))
        return [[len(sentence), 1.0, 0.0] for sentence in sentences]


def test_prompts_stand_before_the_texts_and_each_is_run_alone() -> None:
    model = Model()
    made = SentenceTransformerEmbedder(
        model, name="m", version="3", query_prompt="query: ", document_prompt="passage: "
    )
    assert made.embed_queries(["a"]).tolist() == [[8.0, 1.0, 0.0]]
    assert made.embed_documents(["a", "bb"]).tolist() == [[10.0, 1.0, 0.0], [11.0, 1.0, 0.0]]
    assert [texts for texts, _ in model.asked] == [["query: a"], ["passage: a", "passage: bb"]]
    assert {options["batch_size"] for _, options in model.asked} == {1}


def test_the_length_is_asked_of_the_model_once() -> None:
    model = Model()
    made = SentenceTransformerEmbedder(model, name="m", version="3")
    identity = EmbedderIdentity(name="sentence-transformers:m", version="3", dimensions=3)
    assert identity_of(made) == identity_of(made) == identity
    assert len(model.asked) == 1
    assert made.embed_documents([]).shape == (0, 3)
