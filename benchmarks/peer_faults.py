"""What users of ``symfonic-core`` 9.12.0 suffer from, each as a few lines that show it.

    .venv-peer/bin/python benchmarks/peer_faults.py [NAME ...]

Needs ``symfonic-core`` and nothing of ours (``make bench-peer`` installs it), takes some seconds,
and prints one line a case. Everything is run through the consolidator, with its in-memory store.
Where a case depends on the order in which episodes are listed, all texts have the same embedding,
so that they come in the order in which they were stored.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from peer_theirs import Embedder
from symfonic.core.learning.consolidation import ConsolidationReport, SleepConsolidator
from symfonic.memory.backends.in_memory import InMemoryGraphBackend, InMemoryVectorBackend
from symfonic.memory.graph.store import GraphMemoryStore
from symfonic.memory.layers.episodic import EpisodicLayer
from symfonic.memory.layers.procedural.layer import ProceduralLayer
from symfonic.memory.models.edge import MemoryEdge
from symfonic.memory.models.entry import MemoryEntry
from symfonic.memory.models.node import MemoryNode
from symfonic.memory.types import MemoryLayer, TenantScope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SCOPE = TenantScope.root("tenant", "acme")
LINKER = {"enable_entity_linker": True, "entity_linker_confidence_threshold": 0.4}


class World:
    """An empty memory of theirs, and short words for what the cases do with it."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)
        self.store = GraphMemoryStore(InMemoryGraphBackend())
        self.episodes = EpisodicLayer(InMemoryVectorBackend(), Embedder())

    async def say(self, text: str, count: int = 1, *, days_ago: float = 0, **metadata: Any) -> None:  # noqa: ANN401 - theirs is open too
        at = self.now - timedelta(days=days_ago)
        for _ in range(count):
            await self.episodes.store_event(
                SCOPE,
                MemoryEntry(
                    layer=MemoryLayer.EPISODIC, tenant_id="acme", content=text, created_at=at,
                    metadata={"speaker": "user", **metadata},
                ),
            )  # fmt: skip

    async def know(self, label: str, *, days_ago: float = 0, **facts: Any) -> MemoryNode:  # noqa: ANN401 - any field of a node
        node = MemoryNode(
            layer=MemoryLayer.SEMANTIC, tenant_id="acme", label=label,
            updated_at=self.now - timedelta(days=days_ago), **facts,
        )  # fmt: skip
        return await self.store.add_node(SCOPE, node)

    async def sleep(self, scope: TenantScope = SCOPE, **knobs: Any) -> ConsolidationReport:  # noqa: ANN401 - theirs by name
        consolidator = SleepConsolidator(
            self.store,
            episodic_layer=self.episodes,
            procedural_layer=ProceduralLayer(self.store),
            **knobs,
        )
        return await consolidator.run(scope)

    async def labels(self, **query: Any) -> list[str]:  # noqa: ANN401 - theirs by name
        return [node.label for node in await self.store.query_nodes(SCOPE, **query)]

    async def mentions(self) -> int:
        return len(await self.store.list_edges(SCOPE, limit=10**6, relationship="MENTIONS"))


async def linker_finds_nothing(world: World) -> str:
    """The only built-in extractor is sure to 0.4, and the default threshold is 0.5."""
    await world.say("met Anna Berg", 5)
    report = await world.sleep(enable_entity_linker=True)
    ran = "entity_links" in report.phases_run
    return f"entities of 5 mentions: {report.entity_nodes_created}; ran: {ran}; {report.errors=}"


async def missing_model_is_hidden(world: World) -> str:
    """A model that was asked for and is not there is replaced; a log line says so, no report."""
    await world.say("met Anna Berg", 5)
    report = await world.sleep(**LINKER, entity_linker_extractor_kind="llm")
    (node,) = await world.store.query_nodes(SCOPE, label_prefix="Entity")
    return f"asked for a model, made by: {node.properties['extractor']}; {report.errors=}"


async def linker_never_reaches_the_new(world: World) -> str:
    """The cap takes the same first episodes every night; the rest is never read."""
    await world.say("small talk", 300)
    await world.say("met Anna Berg", 40)
    keep = {"episodic_summarization_max_entries": 10**6}
    found = [(await world.sleep(**LINKER, **keep)).entity_nodes_created for _ in range(5)]
    return f"entities in five nights, a name in the 40 newest of 340 episodes: {found}"


async def linker_misses_accents(world: World) -> str:
    """Names are ASCII; what is a plural's ending is cut; a sentence's first word is a name."""
    for text in ("with José Müller", "from Paris with James", "Yesterday Anna came"):
        await world.say(text, 3)
    await world.sleep(**LINKER)
    return f"entities: {await world.labels(label_prefix='Entity')}"


async def calls_are_never_promoted(world: World) -> str:
    """The fallback skips what the assistant said, which is where their agent puts tool calls."""
    await world.say("done", 20, speaker="assistant", tool_calls=[{"name": "search_orders"}])
    report = await world.sleep(promotion_use_tool_calls_fallback=True)
    return f"drafts of 20 equal calls: {report.draft_skills_promoted}; {report.errors=}"


async def promotion_never_reaches_the_new(world: World) -> str:
    """It lists 200 episodes and only then drops the old ones."""
    await world.say("small talk", 200, days_ago=60)
    await world.say("I ran the nightly export", 50)
    report = await world.sleep(episodic_summarization_max_entries=10**6)
    return f"drafts of 50 repeats behind 200 old episodes: {report.draft_skills_promoted}"


async def procedures_are_merged_falsely(world: World) -> str:
    """Two drafts whose sentences look alike are one, and the second is counted nowhere."""
    await world.say("I ran the import for Anna", 3)
    await world.say("I ran the export for Anna", 3)
    await world.sleep()
    return f"drafts of two habits: {await world.labels(layer=MemoryLayer.PROCEDURAL)}"


async def sources_and_summary_are_lost(world: World) -> str:
    """Summarised episodes are deleted; the joined text fades, and is deleted in turn.

    Times are set back by a month before each further run, as if a month had passed.
    """
    await world.say("my passport number is in the blue folder", 101, days_ago=1)
    deleted = (await world.sleep()).episodes_summarized
    nights = 0
    while await world.labels(label="META:episodic_summary"):
        for node in await world.store.query_nodes(SCOPE):
            node.updated_at = world.now - timedelta(days=31)
        await world.sleep()
        nights += 1
    return f"episodes deleted: {deleted}; monthly runs until their summary is deleted: {nights}"


async def summaries_are_blocked(world: World) -> str:
    """Fifty passing episodes at the front are skipped every night and never removed."""
    await world.say("still syncing", 50, days_ago=9, durability="transient")
    await world.say("hello", 300)
    found = [(await world.sleep()).episodes_summarized for _ in range(10)]
    return f"summarised in ten nights of 350 episodes: {found}"


async def strength_grows_unused(world: World) -> str:
    """A record that was read twice, once, is strengthened every night, and so stays recent."""
    node = await world.know("Anna likes tea", access_count=2)
    before = node.importance
    for _ in range(12):
        await world.sleep()
    return f"importance before and after twelve nights without use: {before} and {node.importance}"


async def runs_are_not_repeatable(world: World) -> str:
    """The same night again makes an accidental link stronger."""
    await world.know("Anna likes tea")
    await world.know("The port is 8080")
    weights = []
    for _ in range(4):
        await world.sleep()
        weights.append((await world.store.list_edges(SCOPE))[0].weight)
    return f"weight of a link between two facts written together, four runs: {weights}"


async def fading_makes_links(world: World) -> str:
    """Fading writes the time of change, and what changed together is linked the next night."""
    for label in ("Anna likes tea", "The port is 8080", "Rome is warm", "My bike is red"):
        await world.know(label, days_ago=40)
    await world.sleep()
    return f"links made among four old, untouched facts: {(await world.sleep()).edges_created}"


async def risks_are_substrings(world: World) -> str:
    """Any text with the letters of a bad word is tagged as a risk."""
    nodes = [await world.know(label) for label in ("Project glossary", "No risk at all")]
    await world.sleep()
    return f"tagged: {[node.label for node in nodes if node.properties.get('risk_node')]}"


async def clusters_are_first_words(world: World) -> str:
    """Three labels that begin alike are a cluster."""
    for label in ("The cat sleeps", "The invoice is due", "The sky is blue"):
        await world.know(label)
    await world.sleep()
    return f"clusters: {await world.labels(label_prefix='META')}"


async def child_deletes_its_parents(world: World) -> str:
    """Pruning deletes what a scope can see, not what it owns, and for good."""
    await world.know("Company policy", days_ago=8, importance=3.0)
    report = await world.sleep(SCOPE.child("brand", "shoes"))
    left = await world.labels(include_retracted=True)
    return f"deleted by a child's run: {report.nodes_pruned}; left: {left}"


async def links_are_doubled(world: World) -> str:
    """Only the newest 10,000 links are looked at to see whether one is there already."""
    await world.say("with Anna Berg and then about Linz Hall", 3)
    await world.sleep(**LINKER)
    counts = [await world.mentions()]
    for _ in range(2):
        for number in range(10_000):
            edge = MemoryEdge(
                source=f"{number}", target=f"{number + 1}", relationship="KNOWS", tenant_id="acme"
            )
            await world.store.add_edge(SCOPE, edge)
        await world.sleep(**LINKER)
        counts.append(await world.mentions())
    return f"links of one pair of names, each time after 10,000 others: {counts}"


async def knobs_are_unchecked(world: World) -> str:
    """Values that make no sense are taken."""
    report = await world.sleep(lookback_hours=-5, phase1_spreading_weight=-9.0)
    return f"a look-back of −5 hours and a weight of −9: {report.errors=}"


CASES: tuple[Callable[[World], Awaitable[str]], ...] = (
    linker_finds_nothing, missing_model_is_hidden, linker_never_reaches_the_new,
    linker_misses_accents, calls_are_never_promoted, promotion_never_reaches_the_new,
    procedures_are_merged_falsely, sources_and_summary_are_lost, summaries_are_blocked,
    strength_grows_unused, runs_are_not_repeatable, fading_makes_links, risks_are_substrings,
    clusters_are_first_words, child_deletes_its_parents, links_are_doubled, knobs_are_unchecked,
)  # fmt: skip


def main() -> None:
    """Show the cases that are named, or all."""
    logging.disable(logging.WARNING)
    wanted = sys.argv[1:]
    for case in CASES:
        if not wanted or case.__name__ in wanted:
            print(f"{case.__name__}: {asyncio.run(case(World()))}")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
