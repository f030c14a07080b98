"""How many names in real talk each extractor finds, and how many of its finds are names.

``entities_labels.json`` holds names marked by hand in turns drawn at random from all ten LoCoMo
conversations: turn ids and names only, since the talk itself may not be passed on. ``tuning`` turns
were read while the rules were written; no rule was changed because of an ``unseen`` one. The spaCy
extractor is measured where its extra is installed, and a line says so where it is not. In each
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
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra
from symfonic.capabilities.memory.extractors.canonical import canonical_key
from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.extractors.entities_spacy import SpacyEntityExtractor
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Episode, Record, RecordId

if TYPE_CHECKING:
    from symfonic.capabilities.memory.collaborators import EntityExtractor

LABELS = Path(__file__).with_name("entities_labels.json")
POLICY = LearningPolicy()
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


def extractors() -> list[EntityExtractor]:
    """Those that are installed; what is not is said, and so is what a blank pipeline does."""
    found: list[EntityExtractor] = [PatternEntityExtractor()]
    try:
        found.append(SpacyEntityExtractor())
    except MissingExtra as reason:
        print(f"The spaCy extractor is not measured. {reason}")
        return found
    import spacy

    with tempfile.TemporaryDirectory() as directory:
        spacy.blank("en").to_disk(directory)
        try:
            SpacyEntityExtractor(model=directory)
        except CollaboratorError as reason:
            print(f"A blank pipeline is refused: {reason}")
    return found


def compare(
    extractor: EntityExtractor,
    turns: dict[TurnId, Record],
    marked: dict[str, Any],
    least_score: float,
    *,
    left_out: set[str],
) -> tuple[Figures, Counter[str], Counter[str]]:
    """The figures over one set of labels, what was missed, and what was no name."""
    wanted = {(c, t, named(name)) for c, t, name in marked["names"]}
    found: set[tuple[str, str, str]] = set()
    for conversation, turn_id in marked["turns"]:
        episode = turns[conversation, turn_id]
        speaker = canonical_key(speaker_of(episode))
        for mention in extractor.extract(episode):
            is_speaker = mention.key == speaker and (conversation, turn_id, speaker) not in wanted
            if mention.score >= least_score and not is_speaker:
                found.add((conversation, turn_id, named(mention.key)))
    wanted = {row for row in wanted if row[2] not in left_out}
    found = {row for row in found if row[2] not in left_out}
    missed = Counter(name for _, _, name in wanted - found)
    wrong = Counter(name for _, _, name in found - wanted)
    return Figures(len(wanted & found), len(found), len(wanted)), missed, wrong


def report_scores(extractor: EntityExtractor, turns: dict[TurnId, Record]) -> None:
    """What share of the finds of each score are names, over both sets of labels."""
    found: Counter[float] = Counter()
    right: Counter[float] = Counter()
    for marked in json.loads(LABELS.read_text(encoding="utf-8")).values():
        wanted = {(c, t, named(name)) for c, t, name in marked["names"]}
        for conversation, turn_id in marked["turns"]:
            episode = turns[conversation, turn_id]
            speaker = canonical_key(speaker_of(episode))
            for mention in extractor.extract(episode):
                is_name = (conversation, turn_id, named(mention.key)) in wanted
                if is_name or mention.key != speaker:
                    found[mention.score] += 1
                    right[mention.score] += is_name
    print("\nfinds that are names, by score:")
    for score in sorted(found, reverse=True):
        print(f"  {score:.3f}: {right[score]} of {found[score]}")


def speaker_of(episode: Record) -> str:
    content = episode.content
    return (content.name or "") if isinstance(content, Episode) else ""


def report_labels(extractor: EntityExtractor, turns: dict[TurnId, Record]) -> None:
    labels = json.loads(LABELS.read_text(encoding="utf-8"))
    threshold = POLICY.entity_linker_confidence_threshold
    speakers = {canonical_key(speaker_of(episode)) for episode in turns.values()}
    for name, marked in labels.items():
        print(f"\n{name}: {len(marked['turns'])} turns, {len(marked['names'])} names")
        for least in (threshold, 0.3):
            figures, missed, wrong = compare(extractor, turns, marked, least, left_out=set())
            others, _, _ = compare(extractor, turns, marked, least, left_out=speakers)
            print(f"  score >= {least}: {figures}")
            print(f"    without the speakers' full names: {others}")
            print(f"    missed: {', '.join(sorted(missed)) or '-'}")
            print(f"    no name: {', '.join(sorted(wrong)) or '-'}")


def report_conversations(extractor: EntityExtractor, turns: dict[TurnId, Record]) -> None:
    """Which names pass the policy's threshold in enough turns of each conversation."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    speakers: dict[str, set[str]] = defaultdict(set)
    for (conversation, _), episode in turns.items():
        speakers[conversation].add(speaker_of(episode))
        for mention in extractor.extract(episode):
            if mention.score >= POLICY.entity_linker_confidence_threshold:
                counts[conversation][mention.key] += 1
    for conversation, keys in counts.items():
        kept = {k: n for k, n in keys.items() if n >= POLICY.entity_linker_min_mention_count}
        top = sorted(kept.items(), key=lambda item: (-item[1], item[0]))
        found = [s for s in sorted(speakers[conversation]) if canonical_key(s) in kept]
        print(f"\n{conversation}: speakers found {found} of {sorted(speakers[conversation])}")
        print(f"  {len(kept)} entities: " + ", ".join(f"{k} {n}" for k, n in top[:40]))


def report_cost(extractor: EntityExtractor, turns: dict[TurnId, Record]) -> None:
    episodes = list(turns.values())
    words = sum(len(episode.text.split()) for episode in episodes)
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for episode in episodes:
            for _ in extractor.extract(episode):
                pass
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
    for extractor in extractors():
        print(f"\n# {extractor.name} {extractor.version}")
        report_labels(extractor, turns)
        report_scores(extractor, turns)
        report_conversations(extractor, turns)
        report_cost(extractor, turns)


if __name__ == "__main__":
    main()
