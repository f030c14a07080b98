"""Review: a person decides on what was drafted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.changes import Group, edit_record
from symfonic.capabilities.memory.operations.core import MANY, Operations
from symfonic.capabilities.memory.review import decided, find_procedure
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.records import Record, Status


class ReviewOperations(Operations):
    """The part of ``Memory`` that lists procedures and keeps decisions on them."""

    def procedures(self, *, scope: str, status: Status | None = "draft") -> list[Record]:
        """The scope's procedures of one status, or all for ``None``, newest first."""
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.list_records(kinds=("procedure",), status=status, limit=MANY)

    def procedure(self, i: str, *, scope: str) -> tuple[Record, list[Record]]:
        """A procedure by id or a beginning of it, with the episodes it rests on, oldest first."""
        with self.store.snapshot(Scope(scope)) as reader:
            record = find_procedure(reader, i)
            links = reader.links([record.id], kinds=("evidence",), direction="out", per_record=MANY)
            episodes = reader.records([link.target for link in links])
        return record, sorted(episodes, key=lambda r: r.order)

    def decide(
        self,
        i: str,
        decision: Status,
        *,
        scope: str,
        by: str,
        now: datetime | None = None,
    ) -> Record:
        """Approve, reject or retire a procedure, by a person who is named.

        Raises ``DraftAlreadyDecided``: a decision is changed only by retiring what was approved.
        """
        where, moment = self._begin(scope), self._now(now)
        with self.store.snapshot(where) as reader:
            before = find_procedure(reader, i)
        after = decided(before, decision, by=by, now=moment)
        group = Group(phase="user", kind="procedure", id=before.id)
        change = edit_record(group, before, after, f"{decision} by {by}")
        self._user_commit(where, [change], moment, read=((before.id, before.version),))
        return after
