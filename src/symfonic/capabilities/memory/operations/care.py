"""Care of what is kept: erase, look up, bring out and in, count, check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from symfonic.capabilities.memory.erasure import forgettable, whole_id
from symfonic.capabilities.memory.export_file import checked, rows_of
from symfonic.capabilities.memory.operations.core import Operations
from symfonic.capabilities.memory.records import LinkKind
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from symfonic.capabilities.memory.records import Link, Record, RecordId
    from symfonic.capabilities.memory.store import Receipt, ScopeState

_SHOWN = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A scope that was put back, and its rows by table."""

    scope: str
    rows: Mapping[str, int]


class CareOperations(Operations):
    """The part of ``Memory`` that erases, exports and checks."""

    def find_forgettable(
        self,
        *,
        scope: str,
        records: Sequence[str] = (),
        session: str | None = None,
        entity: str | None = None,
        everything: bool = False,
    ) -> list[RecordId]:
        """The ids that :meth:`forget` would erase, for a preview."""
        with self.store.snapshot(Scope(scope)) as reader:
            if everything:
                return reader.all_records()
            return forgettable(reader, records=records, session=session, entity=entity)

    def forget(self, ids: Sequence[str], *, scope: str) -> Receipt:
        """Erase records and all that only they support, from every table, index and plan.

        It cannot be undone. The receipt holds ids and counts, no text.
        """
        where = Scope(scope)
        self.flush_uses()
        return self.store.forget(where, ids, subscriptions=self._subscriptions)

    def preview_forget(self, ids: Sequence[str], *, scope: str) -> Receipt:
        """What :meth:`forget` would erase, in ids and counts; nothing is written."""
        where = Scope(scope)
        self.flush_uses()
        return self.store.forget(where, ids, subscriptions=self._subscriptions, preview=True)

    def record(self, i: str, *, scope: str) -> Record:
        """One of the scope's own records, by its id or a beginning of it of 8 characters."""
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.records([whole_id(reader, i)])[0]

    def links(self, record: Record) -> list[Link]:
        """The links from and to a record of its scope, the newest thousand of each kind."""
        found: list[Link] = []
        with self.store.snapshot(Scope(record.scope)) as reader:
            for kind in get_args(LinkKind):
                for direction in get_args(Direction):
                    found += reader.links(
                        [record.id], kinds=(kind,), direction=direction, per_record=_SHOWN
                    )
        return found

    def export(self, *, scope: str) -> Generator[dict[str, Any], None, None]:
        """Every row of the scope, tombstones and history included, as plain values.

        It holds a snapshot of the file until it ends or is closed. A store in memory has one
        connection, which a half-read export would keep from everybody else, so there all rows are
        taken at once.
        """
        self.flush_uses()
        rows = self.store.dump(Scope(scope))
        return _each(list(rows) if self._one_connection else rows)

    def restore_rows(self, rows: Iterable[Mapping[str, Any]], *, scope: str) -> dict[str, int]:
        """Bring exported rows into a scope; how many were added per table."""
        self.flush_uses()
        return self.store.load(Scope(scope), rows)

    def restore(
        self,
        lines: Iterable[dict[str, Any]],
        *,
        scope: str | None = None,
        name: str = "<lines>",
        step: Callable[[int], None] | None = None,
    ) -> Restored:
        """Put an export back as it was, into an empty scope: the same name, or ``scope``.

        ``lines`` are those of an export, the first and the last included; ``name`` says in errors
        where they stand. Everything is kept: decisions with who and when, states, histories, kept
        plans, what can be undone. The next night does what it would have done there. It is for an
        operator: what vouches for the rows is the digest in the last line, and all of them land in
        one transaction once it was found right, or none.

        ``step`` is told the rows so far. Raises ``InputError`` for an export that is not as it was
        written, naming the line, and for a scope that holds anything.
        """
        self.flush_uses()
        read = iter(lines)
        header = next(read, {})
        source = checked(header, name)
        where = Scope(source if scope is None else scope)
        rows = rows_of(read, name, step or _silent, vouched=header)
        return Restored(scope=where.path, rows=self.store.restore(where, rows))

    def stats(self, *, scope: str) -> dict[str, Any]:
        """Counts of the scope's records, links, unread rows and runs."""
        self.flush_uses()
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.stats()

    def state(self, *, scope: str) -> ScopeState:
        """The scope's own row: its counters, and the clocks of its last runs."""
        with self.store.snapshot(Scope(scope)) as reader:
            return reader.state

    def scopes(self) -> list[str]:
        """Every scope of the store, sorted."""
        return self.store.scopes()

    def check(self) -> list[str]:
        """What is wrong with the store, a sentence each; empty when it is sound."""
        return self.store.check()


def _silent(_number: int) -> None:
    """No progress is shown."""


def _each(rows: Iterable[dict[str, Any]]) -> Generator[dict[str, Any], None, None]:
    """The rows; closing it closes theirs."""
    yield from rows
