"""The adapter for servers that speak OpenAI's way, against a server in this process."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.embedding.choose import embedder_named
from symfonic.capabilities.memory.embedding.openai import ATTEMPTS, OpenAIEmbedder
from symfonic.capabilities.memory.errors import CollaboratorError, InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-not-a-key"


class Server(HTTPServer):
    """Answers with the numbers of letters and of words; ``statuses`` go first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.statuses: list[int] = []
        self.answer: bytes | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **body})
        self.server.keys.append(self.headers["Authorization"])
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        rows = [
            {"index": n, "embedding": [float(len(text)), float(len(text.split()))]}
            for n, text in enumerate(body["input"])
        ]
        answer = self.server.answer or json.dumps({"data": rows[::-1]}).encode()
        if status != 200:
            answer = f"no, not with {self.server.keys[-1]}".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def embedder(server: Server, **given: Any) -> tuple[OpenAIEmbedder, list[float]]:
    """An embedder that asks the server, and how long it would have waited."""
    waits: list[float] = []
    return OpenAIEmbedder("m", key=KEY, address=server.address, wait=waits.append, **given), waits


def test_texts_are_asked_for_in_batches_and_come_back_in_order(server: Server) -> None:
    made, _ = embedder(server)
    texts = [f"{'word ' * (n % 5)}end" for n in range(150)]
    found = made.embed_documents(texts)
    assert found.tolist() == [[len(text), len(text.split())] for text in texts]
    assert [len(asked["input"]) for asked in server.asked] == [64, 64, 22]
    assert {asked["path"] for asked in server.asked} == {"/v1/embeddings"}
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert made.dimensions == 2


def test_a_stated_length_is_asked_for(server: Server) -> None:
    made, _ = embedder(server, dimensions=2)
    made.embed_queries(["one"])
    assert server.asked[0]["dimensions"] == 2
    assert (made.name, made.version) == ("openai:m", "2")


def test_a_blank_text_is_sent_as_something(server: Server) -> None:
    made, _ = embedder(server)
    assert made.embed_documents(["  "]).shape == (1, 2)
    assert server.asked[0]["input"] == ["-"]


def test_a_busy_server_is_asked_again(server: Server) -> None:
    made, waits = embedder(server)
    server.statuses = [429, 503]
    assert made.embed_documents(["one"]).tolist() == [[3.0, 1.0]]
    assert waits == [1.0, 2.0]


def test_a_server_that_stays_busy_or_refuses_is_an_error_without_the_key(server: Server) -> None:
    made, waits = embedder(server)
    for statuses, waited in (([401], []), ([500] * ATTEMPTS, [1.0, 2.0, 4.0])):
        server.statuses, waits[:] = list(statuses), []
        with pytest.raises(CollaboratorError, match=f"status {statuses[0]}") as caught:
            made.embed_documents(["one"])
        assert KEY not in str(caught.value)
        assert waits == waited


@pytest.mark.parametrize(
    "answer", [b"<html>", b"{}", b'{"data": [{"index": 0}]}', b'{"data": []}', b"[]"]
)
def test_an_answer_without_vectors_is_an_error(server: Server, answer: bytes) -> None:
    made, _ = embedder(server)
    server.answer = answer
    with pytest.raises(CollaboratorError, match=r"vectors|JSON"):
        made.embed_documents(["one"])


def test_a_server_that_is_not_there_is_an_error(server: Server) -> None:
    made = OpenAIEmbedder("m", address="http://127.0.0.1:9/v1", wait=lambda _: None)
    with pytest.raises(CollaboratorError, match="does not answer"):
        made.embed_documents(["one"])


def test_an_address_must_be_one() -> None:
    with pytest.raises(InputError, match="no address"):
        OpenAIEmbedder("m", address="file:///etc")


def test_an_embedder_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert embedder_named("minilm", environ={}).dimensions == 384
    made = embedder_named("openai:m", environ={"OPENAI_BASE_URL": "http://h/v1"})
    assert made.name == "openai:m"
    for name in ("", "openai:", "bert"):
        with pytest.raises(InputError, match="minilm"):
            embedder_named(name, environ={})
    module = "symfonic.capabilities.memory.embedding.minilm"
    monkeypatch.delitem(__import__("sys").modules, module)
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with pytest.raises(MissingExtra, match="embeddings"):
        embedder_named("minilm", environ={})
