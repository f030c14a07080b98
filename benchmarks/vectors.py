"""What vectors cost: the default embedder, and the nearest of many beside the least it can take.

    python benchmarks/vectors.py [--stored 10000 100000] [--json]

The vectors of the search are drawn at random: what it costs does not depend on what they mean. The
floor is one pass of numpy over the same numbers, which nothing that looks at each of them can beat.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import generate
import numpy as np

from symfonic.capabilities.memory.embedding.minilm import MiniLM
from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
from symfonic.capabilities.memory.recall import RECALLED_KINDS, recall
from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory

SCOPE, SEED, ASKED, TEXTS = "bench/agent", 7, 50, 300
RANDOM = EmbedderIdentity(name="random", version="1", dimensions=384)


def embedder() -> dict[str, Any]:
    """Loading, and CPU time a text: one process, one thread."""
    before = _peak()
    texts = [str(row["text"]) for row in islice(generate.episodes(TEXTS, seed=SEED), TEXTS)]
    began = time.process_time()
    model = MiniLM()
    model.embed_documents(["load"])
    loaded = time.process_time()
    model.embed_documents(texts)
    return {
        "load_s": loaded - began,
        "texts_per_s": TEXTS / (time.process_time() - loaded),
        "words_a_text": sum(len(text.split()) for text in texts) / TEXTS,
        "memory_mb": _peak() - before,
    }


def search(stored: int) -> dict[str, Any]:
    """CPU milliseconds: the nearest hundred, recall with them and without, and the floor."""
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "m.db") as memory:
        memory.ingest(generate.episodes(stored, seed=SEED), scope=SCOPE)
        scope = Scope(SCOPE)
        memory.store.set_embedder(scope, RANDOM)
        began = time.process_time()
        while True:
            with memory.store.snapshot(scope) as reader:
                waiting = reader.unembedded(limit=2000)
            if not waiting:
                break
            made = _unit(rng.normal(size=(len(waiting), RANDOM.dimensions)))
            rows = [(r.id, r.version, row.tobytes()) for r, row in zip(waiting, made, strict=True)]
            memory.store.add_vectors(scope, RANDOM, rows)
        kept = time.process_time() - began
        questions = list(generate.questions(ASKED, seed=SEED))
        asked = _unit(rng.normal(size=(ASKED, RANDOM.dimensions)))
        matrix = _unit(rng.normal(size=(stored, RANDOM.dimensions)))
        now = datetime.now(UTC)
        found: dict[str, list[float]] = {"nearest": [], "recall": [], "text": [], "floor": []}
        for number in range(-1, ASKED):
            question, vector = questions[number], asked[number].tobytes()
            embedded = EmbeddedQuery(vector=vector, identity=RANDOM)
            times = [time.process_time()]
            with memory.store.snapshot(scope) as reader:
                reader.nearest(vector, RANDOM, kinds=RECALLED_KINDS, limit=100)
                times.append(time.process_time())
                recall(reader, question, now=now, embedded=embedded)
                times.append(time.process_time())
                recall(reader, question, now=now)
                times.append(time.process_time())
            (matrix @ asked[number]).argmax()
            times.append(time.process_time())
            if number >= 0:  # the first one reads what the others find in memory
                for name, first, last in zip(found, times, times[1:], strict=False):
                    found[name].append(1000 * (last - first))
    return {
        "kept_per_s": stored / kept,
        **{f"{name}_ms": _middle_and_p95(times) for name, times in found.items()},
    }


def _unit(rows: Any) -> Any:  # noqa: ANN401
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")


def _middle_and_p95(times: list[float]) -> list[float]:
    ranked = sorted(times)
    return [round(ranked[len(ranked) // 2], 2), round(ranked[int(0.95 * len(ranked))], 2)]


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure each in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        found = embedder() if given.only == "embedder" else search(int(given.only))
        print(json.dumps(found))
        return
    results = {
        name: json.loads(subprocess.run(
            [sys.executable, __file__, "--only", name], check=True, stdout=subprocess.PIPE,
            text=True, env=_one_thread(),
        ).stdout)
        for name in ["embedder", *map(str, given.stored)]
    }  # fmt: skip
    if given.json:
        print(json.dumps(results))
        return
    for name, row in results.items():
        print(name if name == "embedder" else f"{int(name):,} stored, median and 95th percentile")
        for what, value in row.items():
            print(f"  {what}: {value}")


def _one_thread() -> dict[str, str]:
    """CPU time is that of one thread: products are not spread over the machine."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    main()
