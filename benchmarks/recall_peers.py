"""The other side of ``recall_beside.py``, run in an environment that has the other packages.

    .venv-recall/bin/python benchmarks/recall_peers.py {chroma,mem0,langgraph} FILE

FILE holds texts, questions and their vectors, one JSON object a conversation. Every package stores
the texts as they are, with these vectors, in a space for each conversation, and is asked for the
ten nearest of each question. Printed is what each question found, and the CPU time it took.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ |= {
    "OPENAI_API_KEY": "none", "MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False",
}  # fmt: skip

FIRST = 10


class Chroma:
    """A persistent client, a collection for each conversation, cosine distance."""

    package = "chromadb"

    def __init__(self, folder: str) -> None:
        import chromadb

        self.client = chromadb.PersistentClient(path=folder)

    def store(self, name: str, turns: list[dict[str, Any]]) -> None:
        space: Any = {"hnsw:space": "cosine"}
        self.one = self.client.get_or_create_collection(name, metadata=space)
        for first in range(0, len(turns), 1000):
            part = turns[first : first + 1000]
            self.one.add(
                ids=[turn["id"] for turn in part], documents=[turn["text"] for turn in part],
                embeddings=[turn["vector"] for turn in part],
            )  # fmt: skip

    def ask(self, name: str, question: dict[str, Any]) -> list[str]:
        found = self.client.get_collection(name).query(
            query_embeddings=[question["vector"]], n_results=FIRST
        )
        return list(found["ids"][0])


class Known:
    """An embedder that has every vector already."""

    def __init__(self) -> None:
        self.config = SimpleNamespace(embedding_dims=384)
        self.vectors: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: object = None) -> list[float]:
        return self.vectors[text.strip()]

    def embed_batch(self, texts: list[str], memory_action: object = None) -> list[list[float]]:
        return [self.vectors[text.strip()] for text in texts]


class Mem0:
    """Raw adding (``infer=False``) into its local vector store; a user for each conversation."""

    package = "mem0ai"

    def __init__(self, folder: str) -> None:
        os.environ["MEM0_DIR"] = folder
        from mem0 import Memory

        self.known = Known()
        store = {
            "path": f"{folder}/vectors", "on_disk": True, "embedding_model_dims": 384,
            "collection_name": "bench",
        }  # fmt: skip
        self.memory = Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": store},
             "history_db_path": f"{folder}/history.db"}
        )  # fmt: skip
        self.memory.embedding_model = self.known

    def store(self, name: str, turns: list[dict[str, Any]]) -> None:
        for turn in turns:
            self.known.vectors[turn["text"].strip()] = turn["vector"]
            self.memory.add(
                [{"role": "user", "content": turn["text"]}], user_id=name, infer=False,
                metadata={"turn": turn["id"]},
            )  # fmt: skip

    def ask(self, name: str, question: dict[str, Any]) -> list[str]:
        self.known.vectors[question["text"].strip()] = question["vector"]
        found = self.memory.search(question["text"], filters={"user_id": name}, top_k=FIRST)
        return [row["metadata"]["turn"] for row in found["results"]]


class LangGraph:
    """Its store in memory with a vector index: the one in SQLite needs an extension of SQLite."""

    package = "langgraph"

    def __init__(self, folder: str) -> None:
        from langgraph.store.memory import InMemoryStore

        self.known = Known()
        index: Any = {"dims": 384, "embed": self.known.embed_batch, "fields": ["text"]}
        self.kept = InMemoryStore(index=index)

    def store(self, name: str, turns: list[dict[str, Any]]) -> None:
        for turn in turns:
            self.known.vectors[turn["text"].strip()] = turn["vector"]
            self.kept.put((name,), turn["id"], {"text": turn["text"]})

    def ask(self, name: str, question: dict[str, Any]) -> list[str]:
        self.known.vectors[question["text"].strip()] = question["vector"]
        return [row.key for row in self.kept.search((name,), query=question["text"], limit=FIRST)]


SIDES = {"chroma": Chroma, "mem0": Mem0, "langgraph": LangGraph}


def main() -> None:
    """Store, ask, and print one object."""
    kind: Any = SIDES[sys.argv[1]]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        side = kind(folder)
        stored = 0.0
        found: dict[str, list[list[str]]] = {}
        times: list[float] = []
        lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
        conversations = [json.loads(line) for line in lines]
        for one in conversations:
            began = time.process_time()
            side.store(one["name"], one["turns"])
            stored += time.process_time() - began
        for one in conversations:
            found[one["name"]] = []
            side.ask(one["name"], one["questions"][0])
            for question in one["questions"]:
                began = time.process_time()
                rows = side.ask(one["name"], question)
                times.append(time.process_time() - began)
                found[one["name"]].append(rows)
        print(json.dumps({
            "version": f"{kind.package} {version(kind.package)}", "stored_s": stored,
            "times": times, "found": found,
        }))  # fmt: skip
        sys.stdout.flush()
        os._exit(0)  # some of them raise while the interpreter ends


if __name__ == "__main__":
    main()
