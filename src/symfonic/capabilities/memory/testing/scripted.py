"""Collaborators that answer from a script: what a model would say, known beforehand.

They follow the protocols of :mod:`symfonic.capabilities.memory.collaborators`, so the knobs that
reach a model can be proven without one, and another implementation can be held to the same tests.
Each notes what it was asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.collaborators import (
    Mention,
    ProposedProcedure,
    ProposedStep,
)
from symfonic.capabilities.memory.records import Episode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.errors import CollaboratorError
    from symfonic.capabilities.memory.records import Record, RecordId


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedStep:
    """A step, citing every episode shown whose text or called tools contain ``cites``.

    Ids are digests that a script cannot know. An empty ``cites`` cites nothing: an invented step.
    """

    action: str
    cites: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedProcedure:
    """A proposal made whenever one of its steps can cite something.

    With ``model_name``, only that model makes it.
    """

    title: str
    trigger: str
    steps: tuple[ScriptedStep, ...]
    model_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a scripted proposer was asked."""

    model_name: str
    max_drafts: int
    episodes: tuple[RecordId, ...]


@dataclass(slots=True, kw_only=True)
class ScriptedProposer:
    """A ``ProcedureProposer`` that proposes what ``script`` says, in its order.

    ``error`` is raised instead where one is given, as a model that fails would.
    """

    script: Sequence[ScriptedProcedure]
    error: CollaboratorError | None = None
    name: str = "scripted-proposer"
    version: str = "1"
    asked: list[Asked] = field(default_factory=list)

    def propose(
        self, episodes: Sequence[Record], *, model_name: str, max_drafts: int
    ) -> Sequence[ProposedProcedure]:
        shown = tuple(episode.id for episode in episodes)
        self.asked.append(Asked(model_name=model_name, max_drafts=max_drafts, episodes=shown))
        if self.error is not None:
            raise self.error
        proposed = [
            ProposedProcedure(
                title=one.title,
                trigger=one.trigger,
                steps=tuple(
                    ProposedStep(
                        action=step.action,
                        arguments=dict(step.arguments),
                        sources=tuple(e.id for e in episodes if _shows(e, step.cites)),
                    )
                    for step in one.steps
                ),
            )
            for one in self.script
            if one.model_name in {None, model_name}
        ]
        return [one for one in proposed if any(step.sources for step in one.steps)][:max_drafts]


@dataclass(slots=True, kw_only=True)
class ScriptedEntityExtractor:
    """An ``EntityExtractor`` that knows the names in ``script``: name to (kind, score).

    A name is found where the text holds it as written; its key is the name in lower case.
    """

    script: Mapping[str, tuple[str, float]]
    error: CollaboratorError | None = None
    name: str = "scripted-entities"
    version: str = "1"
    asked: list[RecordId] = field(default_factory=list)

    def extract(self, episode: Record) -> list[Mention]:
        self.asked.append(episode.id)
        if self.error is not None:
            raise self.error
        return [
            Mention(key=name.lower(), name=name, entity_kind=kind, score=score)
            for name, (kind, score) in sorted(self.script.items())
            if name in episode.text
        ]


@dataclass(slots=True, kw_only=True)
class ScriptedSummarizer:
    """A ``Summarizer`` that answers ``script``, with the number of turns for ``{count}``."""

    script: str = "A summary of {count} turns."
    error: CollaboratorError | None = None
    name: str = "scripted-summarizer"
    version: str = "1"
    asked: list[tuple[RecordId, ...]] = field(default_factory=list)

    def summarize(self, episodes: Sequence[Record], *, max_characters: int) -> str:
        self.asked.append(tuple(episode.id for episode in episodes))
        if self.error is not None:
            raise self.error
        return self.script.replace("{count}", str(len(episodes)))[:max_characters]


def _shows(episode: Record, part: str) -> bool:
    if not part or not isinstance(episode.content, Episode):
        return False
    return part in episode.text or any(part in call.name for call in episode.content.calls)
