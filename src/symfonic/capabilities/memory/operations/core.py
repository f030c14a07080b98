"""What every operation of ``Memory`` stands on: the store, the clock, and how a scope is begun."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.changes import output_digest
from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.times import in_utc
from symfonic.capabilities.memory.maintenance import system_clock
from symfonic.capabilities.memory.outcome import RunReport
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.roster import consolidation_phases, subscriptions_of
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.waiting_uses import WaitingUses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.embedding.protocol import Embedder
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.store import MemoryStore, Subscription

MANY = 2**31

_DIGITS = 18
"""The longest run number: a store counts them in 64 bits."""


class Operations:
    """The store and what goes with it. ``now`` of an operation defaults to ``clock``.

    ``phases`` are a deployment's own; they run in a DEEP sleep after those of the roster. Without
    an ``embedder`` recall goes by text alone.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        clock: Clock | None = None,
        salt: bytes | None = None,
        retention: RetentionPolicy | None = None,
        phases: Sequence[Phase] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self.store = store
        self._clock = clock or system_clock
        self._salt = salt
        self._retention = retention or RetentionPolicy()
        self._further = tuple(phases)
        self.embedder = embedder
        self._subscriptions = _subscriptions(self._further)
        self._uses = WaitingUses()
        self._one_connection = False

    def flush_uses(self) -> None:
        """Write the uses that recall has kept aside. Raises ``StoreError``; none is lost then."""
        self._uses.write(self.store, self._subscriptions)

    def _begin(self, scope: str) -> Scope:
        """Make sure of the scope, and write the uses that wait."""
        where = Scope(scope)
        self._ensure(where)
        self.flush_uses()
        return where

    def _ensure(self, scope: Scope) -> None:
        """Make the scope where it is new; each scope's ids are keyed with a salt of its own."""
        salt = self._salt and blake2b(scope.path.encode(), key=self._salt, digest_size=16).digest()
        self.store.ensure_scope(
            scope, half_life_hours=self._retention.half_life_days * 24, salt=salt
        )

    def _now(self, now: datetime | None = None) -> datetime:
        return in_utc(self._clock() if now is None else now)

    def _user_commit(
        self,
        scope: Scope,
        changes: Sequence[Any],
        now: datetime,
        read: tuple[tuple[str | int, ...], ...] = (),
    ) -> None:
        digest = output_digest(changes)
        report = RunReport(
            run_id="", scope=scope.path, kind="user", status="committed", clock=now.isoformat(),
            digest=digest, change_count=len(changes),
        )  # fmt: skip
        commit = Commit(
            kind="user", clock=now, changes=tuple(changes), digest=digest, read=read,
            report=report.as_dict(), queue=_queue(self._subscriptions, changes),
        )  # fmt: skip
        self.store.commit(scope, commit, lease=None)


def split_run_id(run: str) -> tuple[Scope, int]:
    """The scope and number of a run's name. Raises ``InputError`` for another text."""
    path, mark, number = run.rpartition("#")
    if not mark or not number.isascii() or not number.isdigit() or len(number) > _DIGITS:
        raise InputError(
            f"{run!r} is no run. Runs are named like acme/ana#12; see 'symfonic-memory runs'."
        )
    return Scope(path), int(number)


def stated(moment: datetime | None) -> datetime | None:
    """A time that may be left open, in UTC: a run without one goes by the clock."""
    return None if moment is None else in_utc(moment)


def _subscriptions(further: Sequence[Phase]) -> tuple[Subscription, ...]:
    """Of the whole roster, composed or not, and of a deployment's own phases.

    A phase of the roster that is switched on later finds its backlog. Raises ``InputError`` where
    two phases have one name: they would read each other's rows.
    """
    policy = LearningPolicy(enable_entity_linker=True, promotion_use_tool_calls_fallback=True)
    phases = (
        *consolidation_phases(
            **policy.as_phase_kwargs(), collaborators=compose_collaborators(policy)
        ),
        *further,
    )
    names = [phase.name for phase in phases]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"There are two phases {twice[0]!r}; give yours another name.")
    return subscriptions_of(phases)


def _queue(subscriptions: Sequence[Subscription], changes: Sequence[Any]) -> dict[str, Any]:
    added = [
        (str(change.row[0]), change.after["kind"])
        for change in changes
        if change.operation == "add" and change.table == "record"
    ]
    found = {s.phase: tuple(i for i, kind in added if kind in s.reads) for s in subscriptions}
    return {phase: ids for phase, ids in found.items() if ids}
