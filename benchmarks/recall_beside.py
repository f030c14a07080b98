"""Recall beside other stores of memory: the same turns, questions and vectors, in the same series.

    python benchmarks/recall_beside.py locomo10.json [--json] [--write]

The file is LoCoMo's and no part of this project. ``make bench-recall FILE=locomo10.json`` makes the
environment that the others need. Asked are the questions that the conversations answer; counted is
the share of each one's evidence turns among the first ten, and the CPU time of a question without
that of embedding it, which is the same for all.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.embedding.checked import packed
from symfonic.capabilities.memory.embedding.minilm import MiniLM
from symfonic.capabilities.memory.embedding.protocol import identity_of
from symfonic.capabilities.memory.evaluation.locomo import read_locomo
from symfonic.capabilities.memory.evaluation.measures import interval, turn_measures
from symfonic.capabilities.memory.evaluation.nights_slept import end_of
from symfonic.capabilities.memory.recall import recall
from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
RESULTS = HERE / "RECALL.md"
PYTHON = HERE.parent / ".venv-recall/bin/python"
PEERS = ("chroma", "mem0", "langgraph")
TITLES = {
    "text": "ours, text alone", "vectors": "ours, with the embedder",
    "chroma": "chroma", "mem0": "mem0, raw adding", "langgraph": "LangGraph's store, in memory",
}  # fmt: skip
FIRST = 10


def prepared(file: Path) -> list[dict[str, Any]]:
    """Every conversation with its turns, the questions that it answers, and all their vectors."""
    model = MiniLM()
    conversations = []
    for one in read_locomo(file):
        turns = [turn for turn in one.turns if turn.text.strip()]
        texts = [f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in turns]
        asked = [
            question for question in one.questions if question.gold and not question.adversarial
        ]
        vectors = _vectors(model, [*texts, *(question.text for question in asked)])
        conversations.append({
            "name": f"talk-{one.number}", "at": end_of(one),
            "rows": [
                {"id": turn.id, "session": turn.session, "position": turn.position,
                 "role": turn.role, "name": turn.speaker, "text": turn.text, "at": turn.at}
                for turn in turns
            ],
            "turns": [
                {"id": turn.id, "text": text, "vector": vector}
                for turn, text, vector in zip(turns, texts, vectors, strict=False)
            ],
            "questions": [
                {"text": question.text, "gold": sorted(question.gold), "vector": vector}
                for question, vector in zip(asked, vectors[len(turns) :], strict=True)
            ],
        })  # fmt: skip
    return conversations


def _vectors(model: MiniLM, texts: list[str]) -> list[list[float]]:
    rows, refused = packed(model.embed_documents(texts), model, texts)
    assert not refused
    return [list(struct.unpack(f"<{model.dimensions}f", row or b"")) for row in rows]


class Given:
    """The default embedder's vectors, as they were prepared."""

    def __init__(self, conversations: list[dict[str, Any]]) -> None:
        known = MiniLM()
        self.name, self.version, self.dimensions = known.name, known.version, known.dimensions
        self._vectors = {t["text"]: t["vector"] for one in conversations for t in one["turns"]}

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]

    embed_queries = embed_documents


def ours(conversations: list[dict[str, Any]], *, vectors: bool) -> dict[str, Any]:
    """What recall finds, as the others report it."""
    found: dict[str, list[list[str]]] = {}
    times: list[float] = []
    given = Given(conversations)
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "m.db") as memory:
        began = time.process_time()
        for one in conversations:
            memory.ingest(one["rows"], scope=one["name"], now=one["at"])
            if vectors:
                memory.embed(one["name"], embedder=given)
        stored = time.process_time() - began
        for one in conversations:
            found[one["name"]] = []
            for number, question in enumerate([one["questions"][0], *one["questions"]]):
                began = time.process_time()
                embedded = None
                if vectors:
                    vector = struct.pack(f"<{given.dimensions}f", *question["vector"])
                    embedded = EmbeddedQuery(vector=vector, identity=identity_of(given))
                with memory.store.snapshot(Scope(one["name"])) as reader:
                    answer = recall(
                        reader, question["text"], now=one["at"], limit=FIRST, embedded=embedded
                    )
                if number:  # the first one reads what the others find in memory
                    times.append(time.process_time() - began)
                    found[one["name"]].append([item.source_id or "" for item in answer.items])
    return {"version": "symfonic-memory", "stored_s": stored, "times": times, "found": found}


def scored(conversations: list[dict[str, Any]], result: dict[str, Any]) -> dict[str, Any]:
    """The mean recall@10 with its interval, and the time of a question."""
    shares = [
        turn_measures(rows, [0] * len(rows), frozenset(question["gold"]))[f"recall@{FIRST}"]
        for one in conversations
        for question, rows in zip(one["questions"], result["found"][one["name"]], strict=True)
    ]
    mean = sum(shares) / len(shares)
    ranked = sorted(result["times"])
    return {
        "version": result["version"], "questions": len(shares), "recall@10": mean,
        "interval": interval(mean, len(shares)), "stored_s": result["stored_s"],
        "median_ms": 1000 * ranked[len(ranked) // 2],
        "p95_ms": 1000 * ranked[int(0.95 * len(ranked))],
    }  # fmt: skip


def page(results: dict[str, dict[str, Any]]) -> str:
    """The table as Markdown."""
    lines = [
        "| | recall@10, % | 95 % interval | a question, median | 95th percentile | storing all |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in results.items():
        low, high = row["interval"]
        lines.append(
            f"| {TITLES[name]} | {100 * row['recall@10']:.1f} | {100 * low:.1f} to {100 * high:.1f}"
            f" | {row['median_ms']:.1f} ms | {row['p95_ms']:.1f} ms | {row['stored_s']:.1f} s |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure every side, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--write", action="store_true", help="write RECALL.md")
    given = parser.parse_args()
    conversations = prepared(given.file)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        with data.open("w", encoding="utf-8") as file:
            for one in conversations:
                kept = {name: one[name] for name in ("name", "turns", "questions")}
                file.write(json.dumps(kept) + "\n")
        raw = {
            "text": ours(conversations, vectors=False),
            "vectors": ours(conversations, vectors=True),
        }
        for name in PEERS:
            command = [str(PYTHON), str(HERE / "recall_peers.py"), name, str(data)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            raw[name] = json.loads(done.stdout)
    results = {name: scored(conversations, result) for name, result in raw.items()}
    print(json.dumps(results) if given.json else page(results))
    if given.write:
        versions = ", ".join(results[name]["version"] for name in PEERS)
        RESULTS.write_text(
            "# Recall beside others\n\nWritten by `make bench-recall FILE=locomo10.json`; how it "
            "is measured stands in [README.md](README.md#recall-beside-others).\n"
            f"{results['text']['questions']:,} questions of LoCoMo; {versions}.\n\n"
            f"{page(results)}\n"
        )


if __name__ == "__main__":
    main()
