"""Reads what people say to do and what an agent did: the sightings that procedures come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.extractors.actions_pattern import stated_actions
from symfonic.capabilities.memory.extractors.calls import (
    CONTEXT,
    TOOLS_KEY,
    call_patterns,
    tools_of,
)
from symfonic.capabilities.memory.records import Episode, Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symfonic.capabilities.memory.records import Record

VERSION: Final = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureReader:
    """Finds actions stated in prose and, with ``use_tool_calls``, patterns of tool calls.

    Prose counts where a user wrote it, and an assistant's only with ``promote_assistant_content``:
    what an assistant says it will do is often what memory told it. That filter is about prose;
    calls count in any role's episode, since they are what was done. What a screen marked is not
    read at all. A stated action's body holds its wording; a pattern of calls holds where the
    calls stand.
    """

    use_tool_calls: bool
    promote_assistant_content: bool

    @property
    def identity(self) -> str:
        calls, assistant = int(self.use_tool_calls), int(self.promote_assistant_content)
        return f"procedure-pattern {VERSION} calls={calls} assistant={assistant}"

    @property
    def context(self) -> int:
        """Earlier episodes with calls, none where calls are not read."""
        return CONTEXT if self.use_tool_calls else 0

    def read(self, episode: Record, before: Sequence[Record]) -> Iterable[Seen]:
        """One sighting a pattern, stated actions first, and one that names the tools."""
        content = episode.content
        if not isinstance(content, Episode) or episode.trust == "marked":
            return
        if content.role == "user" or (
            content.role == "assistant" and self.promote_assistant_content
        ):
            for stated in stated_actions(episode.text):
                body = {"trigger": stated.trigger, "steps": list(stated.steps)}
                yield self._seen(episode, stated.key, ok=None, body=body)
        if self.use_tool_calls and content.calls:
            patterns = call_patterns(episode, before)
            for pattern in patterns:
                places = [[place, index] for place, index in pattern.places]
                yield self._seen(episode, pattern.key, ok=pattern.ok, body={"calls": places})
            if patterns:
                body = {"names": tools_of(patterns)}
                yield self._seen(episode, TOOLS_KEY, ok=None, body=body)

    def _seen(self, episode: Record, key: str, *, ok: bool | None, body: dict[str, Any]) -> Seen:
        return Seen(
            episode=episode.id,
            reader=self.identity,
            kind="pattern",
            key=key,
            session=episode.session or "",
            at=episode.at,
            ok=ok,
            body=body,
        )
