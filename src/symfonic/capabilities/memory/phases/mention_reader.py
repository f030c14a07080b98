"""Keeps what an entity extractor finds, one row a name and episode.

Counting names over episodes is the linker's rule and needs the store; finding them needs one
episode, and happens once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.records import Seen, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.collaborators import EntityExtractor
    from symfonic.capabilities.memory.records import Record

MENTIONS_PER_EPISODE: Final = 100
"""The strongest mentions of one episode that are kept: a pasted log is not a thousand mentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionReader:
    """Keeps what an extractor finds in an episode as ``seen`` rows.

    No extractor sees memory that a turn repeats: it would be counted as said once more.
    Thresholds take no part in ``identity``: another threshold counts the same rows differently.
    """

    extractor: EntityExtractor

    @property
    def identity(self) -> str:
        return f"entities/{self.extractor.name}@{self.extractor.version}"

    @property
    def context(self) -> int:
        """None: a name stands in its own episode."""
        return 0

    def read(self, episode: Record, before: Sequence[Record]) -> list[Seen]:
        """One row a mention, or one that says that there is none."""
        text = without_pasted(episode.text)
        said = episode if text is episode.text else replace(episode, text=text)
        found = sorted(self.extractor.extract(said), key=lambda m: (-m.score, m.key))
        rows = [
            Seen(
                episode=episode.id,
                reader=self.identity,
                kind="mention",
                key=mention.key,
                session=episode.session or "",
                at=episode.at,
                score=rounded(mention.score),
                body={"name": mention.name, "entity_kind": mention.entity_kind},
            )
            for mention in found[:MENTIONS_PER_EPISODE]
        ]
        nothing = Seen(
            episode=episode.id,
            reader=self.identity,
            kind="nothing",
            key="",
            session=episode.session or "",
            at=episode.at,
        )
        return rows or [nothing]
