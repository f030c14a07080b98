"""``SleepConsolidator``: the older spelling of the same run, taking the policy's knobs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.ingest.times import in_utc
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import Maintenance
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.roster import consolidation_phases
from symfonic.capabilities.memory.settings import report_facts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import MemoryStore


class SleepConsolidator:
    """The whole roster over a store, for a policy given as keyword arguments.

    An omitted knob takes the policy's default and an unknown one is a ``TypeError``. ``given`` is
    what :func:`compose_collaborators` receives: extractors, a proposer, a summarizer. Both this and
    the composed route give the same digests for the same policy.

    Raises ``PolicyError`` for a knob out of its range.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        clock: Clock | None = None,
        retention: RetentionPolicy | None = None,
        limits: RunLimits | None = None,
        given: Mapping[str, Any] | None = None,
        **knobs: Any,  # noqa: ANN401 - the policy checks each
    ) -> None:
        self.policy = LearningPolicy(**knobs)
        collaborators = compose_collaborators(self.policy, **(given or {}))
        phases = consolidation_phases(**self.policy.as_phase_kwargs(), collaborators=collaborators)
        kept, capped = retention or RetentionPolicy(), limits or RunLimits()
        self._maintenance = Maintenance(
            store, phases, retention=kept, limits=capped, clock=clock,
            facts=report_facts(self.policy, kept, capped),
        )  # fmt: skip

    def run(self, scope: Scope, *, now: datetime | None = None) -> SleepReport:
        """One sleep; see ``Maintenance.run``. Raises ``InputError`` for a time without a zone."""
        return self._maintenance.run(scope, now=None if now is None else in_utc(now))
