"""What a run may be given: protocols only. A phase without its collaborator declines.

*Readers* look at one unread episode (with a little of what came before it) and say what they
found. *Answerers* are asked about several episodes at once. Both run outside any transaction.
A collaborator's ``name`` and ``version`` take part in the input digest and in what counts as
already read, so a better version reads again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Record, RecordId, Seen


class Clock(Protocol):
    """Tells the time, in aware UTC. Injected, so that a run can be repeated."""

    def __call__(self) -> datetime: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An occurrence of a name in one episode; ``score`` is the extractor's confidence, 0 to 1.

    ``key`` is the canonical form that equal names share; ``name`` is as written.
    """

    key: str
    name: str
    entity_kind: str
    score: float


@runtime_checkable
class EntityExtractor(Protocol):
    """Finds names in one episode. Pure: the same episode gives the same mentions."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def extract(self, episode: Record) -> Iterable[Mention]:
        """The mentions in ``episode``, at most one a key."""
        ...


@runtime_checkable
class Reader(Protocol):
    """Turns one unread episode into ``seen`` rows; the engine calls it and keeps the rows.

    ``identity`` names the collaborator, its version and the knobs that change what it finds.
    ``context`` is how many earlier episodes of the session it wants to see.
    """

    @property
    def identity(self) -> str: ...
    @property
    def context(self) -> int: ...
    def read(self, episode: Record, before: Sequence[Record]) -> Iterable[Seen]:
        """What ``episode`` holds; ``before`` are the session's earlier episodes, oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedStep:
    """A step a model proposes, with the ids of the episodes in which it saw it done."""

    action: str
    arguments: dict[str, Any] = field(default_factory=dict)
    sources: tuple[RecordId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedProcedure:
    """A procedure a model proposes; every step must cite an episode it was shown."""

    title: str
    trigger: str
    steps: tuple[ProposedStep, ...]


@runtime_checkable
class ProcedureProposer(Protocol):
    """Reads a batch of episodes and proposes procedures; usually a language model."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def propose(
        self, episodes: Sequence[Record], *, model_name: str, max_drafts: int
    ) -> Sequence[ProposedProcedure]:
        """At most ``max_drafts`` procedures, best first. Raises ``CollaboratorError``."""
        ...


@runtime_checkable
class Summarizer(Protocol):
    """Condenses a batch of episodes into a text of at most ``max_characters``."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def summarize(self, episodes: Sequence[Record], *, max_characters: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a phase asks an answerer, about ``episodes``, in their order.

    ``key`` identifies the question for the memo: the collaborator, its knobs and the sorted ids.
    """

    key: str
    collaborator: str
    episodes: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureRule:
    """The pattern rule with its reader: when repeated conduct becomes a draft.

    ``min_pattern_count`` counts distinct sessions, ``recency_days`` bounds how old a sighting may
    be, ``max_drafts_per_run`` is per sleep.
    """

    reader: Reader
    min_pattern_count: int
    recency_days: int
    max_drafts_per_run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerRule:
    """A proposer with its own caps; where one is composed, it replaces the pattern rule."""

    proposer: ProcedureProposer
    max_episodes_per_run: int
    max_drafts_per_run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CooccurrenceRule:
    """When two entities belong together: seen in so many distinct windows, at least 2."""

    min_co_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborators:
    """What a policy asked for and was given; built by ``compose_collaborators`` alone.

    A field is ``None`` where the policy does not ask for it. ``missing`` says, per phase name,
    what was asked for and not given, so that the phase declines with the reason instead of
    falling back in silence.
    """

    entity_extractor: EntityExtractor | None = None
    cooccurrence_rule: CooccurrenceRule | None = None
    procedure_rule: ProcedureRule | None = None
    proposer_rule: ProposerRule | None = None
    summarizer: Summarizer | None = None
    missing: dict[str, str] = field(default_factory=dict)
