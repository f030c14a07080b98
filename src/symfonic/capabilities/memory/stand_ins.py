"""Collaborators that are named and never asked: what a replay composes for an absent model.

A phase runs because it was given its collaborator, and its settings name it. In a replay what the
collaborator found or answered is known already, so a name and a version are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import CollaboratorError
from symfonic.capabilities.memory.extractors.extractive import METHOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Has the name and version of a collaborator, and refuses to be one."""

    name: str
    version: str

    def extract(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise self._refusal()

    def propose(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise self._refusal()

    def summarize(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        raise self._refusal()

    def _refusal(self) -> CollaboratorError:
        return CollaboratorError(
            f"The replay would have to ask {self.name}@{self.version}, which it was not given."
        )


def stand_ins(phases: Iterable[Sequence[Any]]) -> dict[str, StandIn]:
    """A stand-in for each given collaborator that the recorded phase settings name."""
    settings = {str(name): dict(values) for name, values in phases}
    found: dict[str, StandIn] = {}
    extractor = _named(str(settings.get("link_entities", {}).get("extractor") or ""))
    if extractor is not None:
        found |= {"llm_extractor": extractor, "spacy_extractor": extractor}
    promoting = settings.get("promote_procedures", {})
    if "proposer" in promoting:
        found["proposer"] = StandIn(
            name=str(promoting["proposer"]), version=str(promoting.get("version"))
        )
    method = str(settings.get("summarise", {}).get("method") or METHOD)
    summarizer = _named(method)
    if summarizer is not None and method != METHOD:
        found["summarizer"] = summarizer
    return found


def _named(identity: str) -> StandIn | None:
    """What an identity such as ``entities/name@version`` names."""
    name, mark, version = identity.partition("/")[2].rpartition("@")
    if not mark:
        name, mark, version = identity.rpartition("@")
    return StandIn(name=name, version=version) if mark else None
