"""The default embedder: the model that the extra brings, loaded from its own package."""

from __future__ import annotations

from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
import pytest

from symfonic.capabilities.memory.embedding import minilm
from symfonic.capabilities.memory.embedding.minilm import VOCABULARY_SHA256, MiniLM
from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


def test_what_means_the_same_is_nearer(model: MiniLM) -> None:
    cat, feline, invoice = model.embed_documents(
        ["My cat is called Miso.", "The feline's name is Miso.", "The invoice is due in May."]
    )
    assert cat @ feline > 0.6
    assert cat @ invoice < 0.3


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(model: MiniLM) -> None:
    texts = ["a", "My cat is called Miso.", "word " * 400, "", "\ud800 half", "猫の名前"]
    together = model.embed_documents(texts)
    assert together.shape == (len(texts), model.dimensions)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    for text, row in zip(texts, together, strict=True):
        assert (model.embed_documents([text])[0] == row).all()
        assert (model.embed_queries([text])[0] == row).all()


def test_no_text_is_no_row(model: MiniLM) -> None:
    assert model.embed_documents([]).shape == (0, 384)


def test_other_weights_are_refused_before_they_are_loaded(tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"not these")
    with pytest.raises(CollaboratorError, match="not the ones"):
        MiniLM(weights=weights).embed_documents(["text"])


@pytest.mark.parametrize("missing", ["PACKAGE", "onnxruntime"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    if missing == "PACKAGE":
        monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    else:
        monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(MissingExtra, match=r"symfonic-memory\[embeddings\]"):
        MiniLM().embed_documents(["text"])


def test_the_vocabulary_is_the_published_one() -> None:
    words = resources.files(minilm.__package__).joinpath("data/bert_uncased_vocab.txt")
    assert sha256(words.read_bytes()).hexdigest() == VOCABULARY_SHA256
