"""An embedder behind a server that speaks OpenAI's way: its own, or one of the many that do.

Source: https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

import json
import time
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np

from symfonic.capabilities.memory.errors import CollaboratorError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symfonic.capabilities.memory.embedding.protocol import Vectors

ADDRESS: Final = "https://api.openai.com/v1"
BATCH: Final = 64
"""Texts that are sent in one request."""
ATTEMPTS: Final = 4
MOST_CHARACTERS: Final = 20_000
"""Characters of a text that are sent: servers refuse more than some eight thousand tokens."""

_WAIT_S: Final = 1.0
_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class OpenAIEmbedder:
    """The ``model`` of the server at ``address``, asked with ``key`` where one is given.

    ``dimensions`` asks for shorter vectors where the model can give them; without it the first
    answer tells. A request that the server is too busy for is repeated after 1, 2 and 4 seconds.

    Raises ``InputError`` for an address that is none, and ``CollaboratorError`` where the server
    does not answer or refuses.
    """

    def __init__(
        self,
        model: str,
        *,
        key: str = "",
        address: str = "",
        dimensions: int | None = None,
        timeout_s: float = 60.0,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._key = key
        self._address = (address or ADDRESS).rstrip("/")
        if urlsplit(self._address).scheme not in {"http", "https"}:
            raise InputError(
                f"{self._address!r} is no address of a server; write one such as {ADDRESS}."
            )
        self._asked_dimensions = dimensions
        self._dimensions = dimensions
        self._timeout_s = timeout_s
        self._wait = wait

    @property
    def version(self) -> str:
        """The length asked for; servers say nothing of a model's version but its name."""
        return str(self._asked_dimensions or "full")

    @property
    def dimensions(self) -> int:
        """Asked of the server with one short text, where nothing was stated."""
        if self._dimensions is None:
            self._dimensions = len(self._asked(["dimensions"])[0])
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The server's vectors, asked for in requests of 64 texts."""
        rows: list[Any] = []
        for first in range(0, len(texts), BATCH):
            rows += self._asked(texts[first : first + BATCH])
        try:
            found: Vectors = np.asarray(rows, dtype=np.float32).reshape(len(texts), -1)
        except (TypeError, ValueError) as cause:
            raise self._failed("gave vectors of different lengths") from cause
        return found

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same: the interface tells questions and texts not apart."""
        return self.embed_documents(texts)

    def _asked(self, texts: Sequence[str]) -> list[Any]:
        """The vectors of one request, in the order of the texts."""
        # An empty text is refused by servers, and a blank one has a vector as any other.
        given = [text[:MOST_CHARACTERS].strip() or "-" for text in texts]
        asked: dict[str, Any] = {"model": self._model, "input": given, "encoding_format": "float"}
        if self._asked_dimensions is not None:
            asked["dimensions"] = self._asked_dimensions
        answer = self._sent(json.dumps(asked).encode())
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [row["embedding"] for row in rows]
        except (KeyError, TypeError) as cause:
            raise self._failed("gave an answer without vectors") from cause
        if len(vectors) != len(texts):
            raise self._failed(f"gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def _sent(self, body: bytes) -> Any:  # noqa: ANN401 - whatever the server says
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(f"{self._address}/embeddings", body, headers)  # noqa: S310 - http or https
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310
                    return json.loads(answer.read())
            except HTTPError as cause:
                said = cause.read()[:300].decode("utf-8", "replace")
                if cause.code not in _AGAIN or attempt == ATTEMPTS:
                    raise self._failed(f"refused with status {cause.code}: {said}") from None
            except (URLError, HTTPException, OSError) as cause:
                if attempt == ATTEMPTS:
                    reason = getattr(cause, "reason", cause)
                    raise self._failed(f"does not answer: {reason}") from None
            except ValueError:
                raise self._failed("gave an answer that is no JSON") from None
            self._wait(_WAIT_S * 2 ** (attempt - 1))
        raise AssertionError

    def _failed(self, what: str) -> CollaboratorError:
        hidden = what.replace(self._key, "…") if self._key else what
        return CollaboratorError(
            f"The server at {self._address} {hidden} (model {self._model}). Check the address, "
            "the key and the model's name.",
            collaborator=self.name,
        )
