"""The other side of the comparison: one run of ``symfonic-core``'s consolidator, in memory.

    .venv-peer/bin/python benchmarks/peer_theirs.py FILE

Needs ``symfonic-core`` and nothing of ours: both packages live under ``symfonic``, so each has an
environment of its own. FILE is what ``peer_ours.py build`` wrote. Their code reads the wall clock,
so every time in FILE is moved by one amount that makes its evening the present.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import resource
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.metadata import version
from os import times
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic.core.learning.consolidation import SleepConsolidator
from symfonic.core.learning.entity_extractor import canonicalise_surface
from symfonic.memory.backends.in_memory import InMemoryGraphBackend, InMemoryVectorBackend
from symfonic.memory.graph.store import GraphMemoryStore
from symfonic.memory.layers.episodic import EpisodicLayer
from symfonic.memory.layers.procedural.layer import ProceduralLayer
from symfonic.memory.models.edge import MemoryEdge
from symfonic.memory.models.entry import MemoryEntry
from symfonic.memory.models.node import MemoryNode
from symfonic.memory.types import MemoryLayer, TenantScope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

TENANT = "bench"
_LEARNING = "symfonic.core.learning."
PHASES = {
    "strengthen": ("phases", "strengthen"),
    "cooccurrence": ("phases", "create_cooccurrence_edges"),
    "tag_risk": ("phases", "tag_risk_nodes"),
    "prune_orphans": ("phases", "prune_orphans"),
    "meta_nodes": ("phases", "generate_meta_nodes"),
    "working_ttl": ("consolidation", "cleanup_working_ttl"),
    "decay_importance": ("consolidation", "decay_importance"),
    "expire_semantic_durability": ("consolidation", "expire_semantic_durability"),
    "prune_retracted": ("consolidation", "prune_retracted"),
    "episodic_summary": ("consolidation", "summarize_episodic"),
    "synthetic_links": ("phases_synthetic", "build_synthetic_links"),
    "entity_links": ("phases_entity", "build_entity_links"),
    "procedural_promotion": ("phases_procedural_promotion", "promote_episodic_to_procedural"),
}
"""Where the consolidator looks each phase up, by the name in its report's ``phases_run``."""


class Embedder:
    """One number for every text: vectors are no part of this comparison and cost it nothing.

    Every similarity is then equal, and their store lists episodes in the order they came in.
    """

    async def embed(self, text: str) -> list[float]:
        return [0.0]

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]


class Watch:
    """CPU seconds, items examined and produced, by phase; it stands in for their functions.

    What a phase is handed as a list counts as examined, else the episodes or the nodes that it
    fetches. A walk is a call that their in-memory store answers by going through all links.
    """

    def __init__(self, since: datetime) -> None:
        self.since = since
        self.phases: dict[str, dict[str, Any]] = {}
        self.fetched: dict[str, list[Any]] = {}
        self.walks = 0

    def attach(self, store: GraphMemoryStore, episodic: EpisodicLayer) -> None:
        """Put a stopwatch around each phase, and a counter on what it fetches."""
        for name, (module, function) in PHASES.items():
            home = import_module(_LEARNING + module)
            setattr(home, function, self._timed(name, getattr(home, function)))
        store.query_nodes = self._counted("nodes", store.query_nodes)  # type: ignore[method-assign]
        episodic.list_events = self._counted("episodes", episodic.list_events)  # type: ignore[method-assign]
        store.get_neighbors = self._walking(store.get_neighbors)  # type: ignore[method-assign]
        store.upsert_edge = self._walking(store.upsert_edge)  # type: ignore[method-assign]

    def _timed(
        self, name: str, work: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(work)
        async def timed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - passed on as they are
            self.fetched, self.walks = {}, 0
            began = time.process_time()
            result = await work(*arguments, **named)
            spent = time.process_time() - began
            handed = [argument for argument in arguments if isinstance(argument, list)]
            fetched = self.fetched.get("episodes", self.fetched.get("nodes", []))
            examined = handed[0] if handed else fetched
            self.phases[name] = {
                "outcome": "ran",
                "examined": len(examined),
                "new": sum(_time(item) >= self.since for item in examined),
                "walks": self.walks,
                "produced": _number(result),
                "seconds": spent,
                "left": 0,
            }
            return result

        return timed

    def _counted(
        self, what: str, work: Callable[..., Awaitable[list[Any]]]
    ) -> Callable[..., Awaitable[list[Any]]]:
        @functools.wraps(work)
        async def counted(*arguments: Any, **named: Any) -> list[Any]:  # noqa: ANN401 - passed on
            found = await work(*arguments, **named)
            self.fetched[what] = max(self.fetched.get(what, []), found, key=len)
            return found

        return counted

    def _walking(self, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(work)
        async def walking(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - passed on
            self.walks += 1
            return await work(*arguments, **named)

        return walking


def _time(item: Any) -> datetime:  # noqa: ANN401 - a node, or an episode as their store lists it
    """When it came: an episode's own time is in its metadata."""
    if stated := getattr(item, "metadata", {}).get("created_at"):
        return datetime.fromisoformat(stated)
    return item.created_at  # type: ignore[no-any-return]


def _number(result: Any) -> int:  # noqa: ANN401 - a count, or a tuple with counts among it
    parts = result if isinstance(result, tuple) else (result,)
    return sum(part for part in parts if isinstance(part, int))


def _read(path: str, importance: int | None) -> Iterator[dict[str, Any]]:
    with Path(path).open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if importance is not None and "importance" in row:
                row["importance"] = importance
            yield row


async def load(
    rows: Iterable[dict[str, Any]], store: GraphMemoryStore, episodic: EpisodicLayer
) -> dict[str, int]:
    """Put the data into their store, its evening moved to now."""
    scope = TenantScope.root("tenant", TENANT)
    held = {"episode": 0, "node": 0, "link": 0}
    shift = timedelta()
    for row in rows:
        if row["kind"] == "about":
            shift = datetime.now(UTC) - datetime.fromisoformat(row["now"])
            continue
        held[row["kind"]] += 1
        at = datetime.fromisoformat(row["at"]) + shift
        if row["kind"] == "episode":
            await episodic.store_event(scope, _episode(row, at))
        elif row["kind"] == "node":
            await store.add_node(scope, _node(row, at, shift))
        else:
            edge = MemoryEdge(
                source=row["source"], target=row["target"], relationship="MENTIONS",
                tenant_id=TENANT, created_at=at,
            )  # fmt: skip
            await store.add_edge(scope, edge)
    return {"episodes": held["episode"], "other records": held["node"], "links": held["link"]}


def _episode(row: dict[str, Any], at: datetime) -> MemoryEntry:
    """An episode with the metadata that their agent gives one: speaker, turn, tool calls."""
    metadata: dict[str, Any] = {"speaker": row["role"], "turn_id": row["session"]}
    if "tool_calls" in row:
        metadata["tool_calls"] = row["tool_calls"]
    return MemoryEntry(
        id=row["id"], layer=MemoryLayer.EPISODIC, tenant_id=TENANT, content=row["text"],
        metadata=metadata, created_at=at,
    )  # fmt: skip


def _node(row: dict[str, Any], at: datetime, shift: timedelta) -> MemoryNode:
    """A semantic node; an entity's is what their own linker would have made of its name."""
    label, importance = row["text"][:100], float(row["importance"])
    properties: dict[str, object] = {"content": row["text"]}
    if row["type"] == "entity":
        canonical = canonicalise_surface(row["text"], "other", lemmatise=True)
        label, importance = f"Entity: other:{canonical}", 5.0
        properties = {"content": canonical, "kind": "other", "mention_count": 2}
    if "until" in row:
        ends = datetime.fromisoformat(row["until"]) + shift
        properties["valid_until"] = ends.isoformat()
    return MemoryNode(
        id=row["id"], layer=MemoryLayer.SEMANTIC, tenant_id=TENANT, label=label,
        properties=properties, created_at=at, updated_at=at, importance=importance,
        access_count=row["uses"],
    )  # fmt: skip


async def night(path: str, importance: int | None = None) -> dict[str, Any]:
    """Load, then one run: only the run is timed. ``importance`` replaces that of the notes."""
    store = GraphMemoryStore(InMemoryGraphBackend())
    episodic = EpisodicLayer(InMemoryVectorBackend(), Embedder())
    held = await load(_read(path, importance), store, episodic)
    watch = Watch(since=datetime.now(UTC) - timedelta(days=1))
    watch.attach(store, episodic)
    consolidator = SleepConsolidator(
        store,
        episodic_layer=episodic,
        procedural_layer=ProceduralLayer(store),
        enable_entity_linker=True,
        entity_linker_confidence_threshold=0.4,
        entity_linker_max_episodics_per_run=1000,
        promotion_use_tool_calls_fallback=True,
    )
    began = times()
    report = await consolidator.run(TenantScope.root("tenant", TENANT))
    ended = times()
    if unknown := sorted(set(report.phases_run) ^ set(watch.phases)):
        raise SystemExit(f"These phases were reported or timed, but not both: {unknown}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "cpu_s": ended.user + ended.system - began.user - began.system,
        "peak_mb": peak / (1024**2 if sys.platform == "darwin" else 1024),
        "phases": watch.phases,
        "held": held,
        "errors": [str(error) for error in report.errors],
        "versions": {"symfonic-core": version("symfonic-core"), "Python": sys.version.split()[0]},
    }


def main() -> None:
    """Run over the file that is named and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--importance", type=int, help="of every record that is not a name")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(night(given.path, given.importance))))


if __name__ == "__main__":
    main()
