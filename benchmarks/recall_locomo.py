"""Recall of evidence turns on LoCoMo: the plain index against recall, the same rows and questions.

    python benchmarks/recall_locomo.py FILE [--one-scope] [--after-sleep]

For each question of categories 1 to 4 (multi-hop, temporal, open-domain, single-hop): the share
of its evidence turns among the first ten. A conversation is a store of its own, so that the
index's statistics are its own too, or with ``--one-scope`` all ten share one scope. The plain
index is asked with every word of the question, and with its stop words left out. With
``--after-sleep`` every question is asked again after a maintenance run, entity linker on, and the
evidence turns that were lost and won are counted. LoCoMo (Maharana et al., 2024) is not part of
this project.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.maintenance import Maintenance
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.recall import recall
from symfonic.capabilities.memory.recall_query import expressions, query_terms
from symfonic.capabilities.memory.roster import consolidation_phases
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Subscription, Turn
from symfonic.capabilities.memory.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.store import MemoryReader, MemoryStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
LIMIT = 10
EVERYTHING = (
    Subscription(phase="link_entities", reads=("episode",)),
    Subscription(phase="strengthen", reads=(), reads_touched=True),
    Subscription(phase="promote_procedures", reads=("episode",)),
)


def turns_of(conversation: dict[str, Any], sample: str) -> Iterator[Turn]:
    """The conversation's turns; a shared picture's caption stands in brackets after the text."""
    number = 1
    while f"session_{number}_date_time" in conversation:
        stated = conversation[f"session_{number}_date_time"]
        begun = datetime.strptime(stated, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for position, turn in enumerate(conversation.get(f"session_{number}", [])):
            caption = turn.get("blip_caption")
            yield Turn(
                session=f"{sample}/{number}",
                position=position,
                role="user",
                name=turn["speaker"],
                text=turn["text"] + (f" [{caption}]" if caption else ""),
                importer="locomo",
                source_id=f"{sample}/{turn['dia_id']}",
                occurred_at=begun + timedelta(seconds=30 * position),
                stated_position=True,
            )
        number += 1


def questions_of(entry: dict[str, Any], known: set[str]) -> Iterator[tuple[int, str, set[str]]]:
    """Category, question and the ids of its evidence turns, where it names any that exist."""
    for row in entry["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(row["evidence"]))
        evidence = {f"{entry['sample_id']}/{turn}" for turn in named} & known
        if row["category"] in CATEGORIES and evidence:
            yield row["category"], row["question"], evidence


def by_index(reader: MemoryReader, words: list[str]) -> set[str | None]:
    """What the index alone puts first."""
    hits = reader.search(words, kinds=("episode",), limit=LIMIT) if words else []
    return {getattr(hit.record.content, "source_id", None) for hit in hits}


def sleep(store: MemoryStore, scope: Scope) -> None:
    """One maintenance run at the time of the questions; the store has a clock of its own."""
    policy = LearningPolicy(enable_entity_linker=True)
    phases = consolidation_phases(
        **policy.as_phase_kwargs(), collaborators=compose_collaborators(policy)
    )
    report = Maintenance(store, phases).run(scope, now=NOW)
    assert not report.failed


def measure(path: Path, *, one_scope: bool, after_sleep: bool) -> dict[str, dict[int, list[float]]]:
    """Per way of asking and category, each question's share of evidence found."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    asked: list[tuple[MemoryStore, int, str, set[str]]] = []
    scope, store = Scope("locomo"), open_store(":memory:")
    for entry in json.loads(path.read_text()):
        if not one_scope:
            store = open_store(":memory:")
        store.ensure_scope(scope, half_life_hours=720.0, salt=b"locomo-benchmark")
        turns = list(turns_of(entry["conversation"], entry["sample_id"]))
        store.add_turns(scope, turns, now=NOW, subscriptions=EVERYTHING)
        known = {turn.source_id for turn in turns if turn.source_id}
        asked += [(store, *question) for question in questions_of(entry, known)]
    times: list[float] = []
    before: list[set[str | None]] = []
    for store, category, question, evidence in asked:
        with store.snapshot(scope) as reader:
            raw = [f'"{w}"' for w in dict.fromkeys(re.findall(r"\w+", question.lower()))]
            began = time.process_time()
            answer = recall(reader, question, now=NOW, limit=LIMIT)
            times.append(time.process_time() - began)
            before.append({item.source_id for item in answer.items})
            ways = {
                "index, every word": by_index(reader, raw),
                "index, without stop words": by_index(reader, expressions(query_terms(question))),
                "recall": {item.source_id for item in answer.items},
            }
        for way, ids in ways.items():
            found[way][category].append(len(evidence & ids) / len(evidence))
    if after_sleep:
        for store in {id(row[0]): row[0] for row in asked}.values():
            sleep(store, scope)
        lost = won = total = 0
        for (store, category, question, evidence), earlier in zip(asked, before, strict=True):
            with store.snapshot(scope) as reader:
                answer = recall(reader, question, now=NOW, limit=LIMIT)
            ids = {item.source_id for item in answer.items}
            found["recall, after a night"][category].append(len(evidence & ids) / len(evidence))
            total += len(evidence & earlier)
            lost += len(evidence & earlier - ids)
            won += len(evidence & ids - earlier)
        print(f"of {total} evidence turns found before the night, {lost} lost after it; {won} won")
    times.sort()
    middle, slow = (1000 * times[int(len(times) * share)] for share in (0.5, 0.95))
    print(
        f"{len(asked)} questions; CPU time of recall {middle:.1f} ms (median), {slow:.1f} ms (95 %)"
    )
    return found


def main() -> None:
    """Print a table: a line per way of asking, a column per category."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--one-scope", action="store_true")
    parser.add_argument("--after-sleep", action="store_true")
    arguments = parser.parse_args()
    found = measure(
        arguments.file, one_scope=arguments.one_scope, after_sleep=arguments.after_sleep
    )
    print(f"{'evidence recall@10, %':<28}{'all':>7}", *(f"{n:>12}" for n in CATEGORIES.values()))
    for way, by_category in found.items():
        every = [share for shares in by_category.values() for share in shares]
        columns = [100 * sum(by_category[c]) / len(by_category[c]) for c in CATEGORIES]
        print(f"{way:<28}{100 * sum(every) / len(every):>7.1f}", *(f"{n:>12.1f}" for n in columns))


if __name__ == "__main__":
    main()
