"""What recall has used and nobody has written yet: recall must not wait for a writer."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.errors import StoreError
from symfonic.capabilities.memory.records import RecordId, Use, to_microseconds
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.recall import RecallItem
    from symfonic.capabilities.memory.store import MemoryStore, Subscription

_HOUR = 3_600_000_000


class WaitingUses:
    """Uses by the scope that holds the record, then by record and hour. Thread-safe.

    The use of an ancestor's record goes to the ancestor, whose runs alone may change the record.
    Who asked for it from below, and for what, is kept nowhere.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, dict[tuple[RecordId, int], Use]] = {}
        self._lock = threading.Lock()

    def add(self, items: Sequence[RecallItem], now: datetime) -> None:
        """Each item was used once in this hour."""
        hour = to_microseconds(now) // _HOUR
        for item in items:
            use = Use(record=item.id, hour=hour, kind="recalled", weight=1.0)
            self._keep(item.scope, [use])

    def write(self, store: MemoryStore, subscriptions: Sequence[Subscription]) -> None:
        """Write all that wait; what cannot be written goes on waiting.

        Raises the first ``StoreError``, once every scope was tried.
        """
        with self._lock:
            taken, self._waiting = self._waiting, {}
        refused: StoreError | None = None
        try:
            for path in sorted(taken):
                uses = [taken[path][key] for key in sorted(taken[path])]
                try:
                    store.add_uses(Scope(path), uses, subscriptions=subscriptions)
                except StoreError as error:
                    refused = refused or error
                    continue
                del taken[path]
        finally:
            for path, left in taken.items():
                self._keep(path, left.values())
        if refused is not None:
            raise refused

    def _keep(self, path: str, uses: Iterable[Use]) -> None:
        with self._lock:
            waiting = self._waiting.setdefault(path, {})
            for use in uses:
                key = (use.record, use.hour)
                known = waiting.get(key)
                weight = use.weight if known is None else known.weight + use.weight
                waiting[key] = replace(use, weight=weight)
