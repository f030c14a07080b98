"""An embedder by its name, as a command or a setting gives it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symfonic.capabilities.memory.embedding.protocol import Embedder

NAMES: Final = ("minilm", "openai:MODEL")


def embedder_named(name: str, *, environ: Mapping[str, str]) -> Embedder:
    """The embedder that ``name`` says: ``minilm``, or ``openai:MODEL`` for a server.

    A server's address and key come from ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``. Raises
    ``InputError`` for another name and ``MissingExtra`` where its packages are not installed.
    """
    kind, _, model = name.partition(":")
    found: Embedder
    if name == "minilm":
        found = _module("minilm").MiniLM()
    elif kind == "openai" and model:
        key, address = environ.get("OPENAI_API_KEY", ""), environ.get("OPENAI_BASE_URL", "")
        found = _module("openai").OpenAIEmbedder(model, key=key, address=address)
    else:
        raise InputError(f"{name!r} is no embedder; there are {' and '.join(NAMES)}.")
    return found


def _module(name: str) -> Any:  # noqa: ANN401 - a module
    """A module of this package. Raises ``MissingExtra`` without numpy, which they all need."""
    try:
        return import_module(f"{__package__}.{name}")
    except ModuleNotFoundError as cause:
        raise MissingExtra(
            f"Embedders need {cause.name}, which is not installed. "
            "Run: pip install 'symfonic-memory[embeddings]'",
            extra="embeddings",
        ) from cause
