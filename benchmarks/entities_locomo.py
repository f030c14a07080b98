"""How many names in real talk the pattern extractor finds, and how many of its finds are names.

``entities_labels.json`` holds names marked by hand in turns drawn at random from all ten LoCoMo
conversations: turn ids and names only, since the talk itself may not be passed on. ``tuning`` turns
were read while the rules were written; no rule was changed because of an ``unseen`` one. In each
set 45 turns have at least 45 words, the others are any turns, because short ones hold little
besides forms of address. The figures without the speakers' names show what that makes easy.

What was marked: people, pets, places, organisations, works, products and named events, as written
in the turn. Not marked: the speaker of the turn, days, months and holidays, languages and
nationalities, forms of address such as Mom, abbreviations of things in general. A leading article
does not count.

Usage: python benchmarks/entities_locomo.py path/to/locomo10.json
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from symfonic.capabilities.memory.extractors.canonical import canonical_key
from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Episode, Record, RecordId

LABELS = Path(__file__).with_name("entities_labels.json")
POLICY = LearningPolicy()
EXTRACTOR = PatternEntityExtractor()
TurnId = tuple[str, str]


class Figures(NamedTuple):
    right: int
    found: int
    marked: int

    def __str__(self) -> str:
        precision = self.right / self.found if self.found else 0.0
        recall = self.right / self.marked if self.marked else 0.0
        return (
            f"precision {precision:.3f} ({self.right}/{self.found}), "
            f"recall {recall:.3f} ({self.right}/{self.marked})"
        )


def load_turns(path: Path) -> dict[TurnId, Record]:
    """Every turn as an episode, in order, by conversation and turn id."""
    turns: dict[TurnId, Record] = {}
    for sample in json.loads(path.read_text(encoding="utf-8")):
        sessions = sample["conversation"]
        names = [name for name in sessions if isinstance(sessions[name], list)]
        for name in sorted(names, key=lambda n: int(n.rsplit("_", 1)[1])):
            for position, turn in enumerate(sessions[name]):
                turns[sample["sample_id"], turn["dia_id"]] = Record(
                    id=RecordId(f"{sample['sample_id']}/{turn['dia_id']}"),
                    scope=sample["sample_id"],
                    kind="episode",
                    key=None,
                    content=Episode(role="user", name=turn["speaker"]),
                    text=turn["text"],
                    session=name,
                    position=position,
                )
    return turns


def named(name: str) -> str:
    return canonical_key(name).removeprefix("the ")


def compare(
    turns: dict[TurnId, Record], marked: dict[str, Any], least_score: float, *, left_out: set[str]
) -> tuple[Figures, Counter[str], Counter[str]]:
    """The figures over one set of labels, what was missed, and what was no name."""
    wanted = {(c, t, named(name)) for c, t, name in marked["names"]}
    found: set[tuple[str, str, str]] = set()
    for conversation, turn_id in marked["turns"]:
        episode = turns[conversation, turn_id]
        speaker = canonical_key(speaker_of(episode))
        for mention in EXTRACTOR.extract(episode):
            is_speaker = mention.key == speaker and (conversation, turn_id, speaker) not in wanted
            if mention.score >= least_score and not is_speaker:
                found.add((conversation, turn_id, named(mention.key)))
    wanted = {row for row in wanted if row[2] not in left_out}
    found = {row for row in found if row[2] not in left_out}
    missed = Counter(name for _, _, name in wanted - found)
    wrong = Counter(name for _, _, name in found - wanted)
    return Figures(len(wanted & found), len(found), len(wanted)), missed, wrong


def speaker_of(episode: Record) -> str:
    content = episode.content
    return (content.name or "") if isinstance(content, Episode) else ""


def report_labels(turns: dict[TurnId, Record]) -> None:
    labels = json.loads(LABELS.read_text(encoding="utf-8"))
    threshold = POLICY.entity_linker_confidence_threshold
    speakers = {canonical_key(speaker_of(episode)) for episode in turns.values()}
    for name, marked in labels.items():
        print(f"\n{name}: {len(marked['turns'])} turns, {len(marked['names'])} names")
        for least in (threshold, 0.3):
            figures, missed, wrong = compare(turns, marked, least, left_out=set())
            others, _, _ = compare(turns, marked, least, left_out=speakers)
            print(f"  score >= {least}: {figures}")
            print(f"    without the speakers' full names: {others}")
            print(f"    missed: {', '.join(sorted(missed)) or '-'}")
            print(f"    no name: {', '.join(sorted(wrong)) or '-'}")


def report_conversations(turns: dict[TurnId, Record]) -> None:
    """Which names pass the policy's threshold in enough turns of each conversation."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    speakers: dict[str, set[str]] = defaultdict(set)
    for (conversation, _), episode in turns.items():
        speakers[conversation].add(speaker_of(episode))
        for mention in EXTRACTOR.extract(episode):
            if mention.score >= POLICY.entity_linker_confidence_threshold:
                counts[conversation][mention.key] += 1
    for conversation, keys in counts.items():
        kept = {k: n for k, n in keys.items() if n >= POLICY.entity_linker_min_mention_count}
        top = sorted(kept.items(), key=lambda item: (-item[1], item[0]))
        found = [s for s in sorted(speakers[conversation]) if canonical_key(s) in kept]
        print(f"\n{conversation}: speakers found {found} of {sorted(speakers[conversation])}")
        print(f"  {len(kept)} entities: " + ", ".join(f"{k} {n}" for k, n in top[:40]))


def report_cost(turns: dict[TurnId, Record]) -> None:
    episodes = list(turns.values())
    words = sum(len(episode.text.split()) for episode in episodes)
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for episode in episodes:
            EXTRACTOR.extract(episode)
        best = min(best, time.process_time() - began)
    each = best / len(episodes) * 1e6
    print(
        f"\ncost: {each:.1f} µs a turn of {words / len(episodes):.0f} words on average, "
        f"{best / words * 15e6:.1f} µs for 15 words (CPU time, best of 3)"
    )


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("Usage: python benchmarks/entities_locomo.py path/to/locomo10.json")
    turns = load_turns(Path(sys.argv[1]))
    report_labels(turns)
    report_conversations(turns)
    report_cost(turns)


if __name__ == "__main__":
    main()
