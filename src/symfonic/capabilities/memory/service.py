"""``Memory``: the operations that the command line, servers and programs share.

It is thread-safe, and a context manager. Recall never waits for a writer: what it used is kept
aside and written by the next operation that writes, or at close.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from symfonic.capabilities.memory.changes import Group, add_record
from symfonic.capabilities.memory.errors import InputError, StaleWrite
from symfonic.capabilities.memory.importing import IngestReport, import_source
from symfonic.capabilities.memory.ingest.inputs import turns_from_messages
from symfonic.capabilities.memory.maintenance import run_id, system_clock
from symfonic.capabilities.memory.notes import note_of
from symfonic.capabilities.memory.operations.backfilling import BackfillOperations
from symfonic.capabilities.memory.operations.care import CareOperations
from symfonic.capabilities.memory.operations.core import split_run_id, stated
from symfonic.capabilities.memory.operations.embedding import EmbeddingOperations
from symfonic.capabilities.memory.operations.review import ReviewOperations
from symfonic.capabilities.memory.operations.upkeep import UpkeepOperations
from symfonic.capabilities.memory.recall import Recall, recall
from symfonic.capabilities.memory.records import KINDS, RecordId
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.strength import strength_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from symfonic.capabilities.memory.collaborators import Clock
    from symfonic.capabilities.memory.embedding.protocol import Embedder
    from symfonic.capabilities.memory.notes import NoteKind
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.records import Kind
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.store import Ingested

DEFAULT_LIMIT = 10
"""How many items recall gives when neither a limit nor a token budget is stated."""


class Memory(
    BackfillOperations, ReviewOperations, CareOperations, UpkeepOperations, EmbeddingOperations
):
    """An agent's memory in one store.

    Every method takes ``scope``, a path such as ``acme/ana``; there is no default, because a
    forgotten scope must not read or write somebody else's memory. ``now`` defaults to ``clock``.
    Times must be aware, else ``InputError`` is raised; in which zone they are makes no difference.
    """

    @classmethod
    def open(
        cls,
        url: str | Path,
        *,
        create: bool = True,
        clock: Clock | None = None,
        salt: bytes | None = None,
        retention: RetentionPolicy | None = None,
        phases: Sequence[Phase] = (),
        embedder: Embedder | None = None,
    ) -> Self:
        """The memory at a path. ``salt`` (1 to 64 bytes) keys new scopes' ids; random if unset.

        ``phases`` are a deployment's own: what is stored from now on is unread for them, and a
        DEEP sleep runs them after those of the roster. With an ``embedder``, ``ingest``
        embeds what it has read, and recall goes by vectors too. Raises
        ``StoreUnavailable``, ``SchemaMismatch``, and ``InputError`` for a phase whose name is
        taken.
        """
        with ExitStack() as opened:
            store = opened.enter_context(closing(open_store(url, create=create)))
            found = cls(
                store, clock=clock, salt=salt, retention=retention, phases=phases,
                embedder=embedder,
            )  # fmt: skip
            opened.pop_all()
        found._one_connection = str(url).endswith(":memory:")
        return found

    def close(self) -> None:
        """Write what recall has used, and close the store."""
        try:
            self.flush_uses()
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- taking in

    def add_turn(
        self,
        messages: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        scope: str,
        session: str,
        timezone: str | None = None,
        now: datetime | None = None,
    ) -> Ingested:
        """Store what was just said, in one transaction; safe to call with the whole history again.

        ``messages`` have the OpenAI shape (``role``, ``content``, ``tool_calls``) or the plain one
        (``role``, ``text``, ``at``, …). Raises ``InputError`` for a message that cannot be read.
        """
        where, moment = self._begin(scope), self._now(now)
        turns = turns_from_messages(messages, session=session, timezone=timezone, now=moment)
        return self.store.add_turns(where, turns, now=moment, subscriptions=self._subscriptions)

    def ingest(
        self,
        source: str | Path | Iterable[Mapping[str, Any]],
        *,
        scope: str,
        format: str | None = None,
        timezone: str | None = None,
        session: str | None = None,
        rejects: Path | None = None,
        now: datetime | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> IngestReport:
        """Read a log file, or dicts, into memory; see :func:`import_source`."""
        where = self._begin(scope)
        report = import_source(
            self.store, where, source, now=self._now(now), subscriptions=self._subscriptions,
            format=format, timezone=timezone, session=session, rejects=rejects, progress=progress,
        )  # fmt: skip
        self._embed_new(where)
        return report

    def remember(
        self,
        text: str,
        *,
        scope: str,
        expires: datetime | None = None,
        due: datetime | None = None,
        working: bool = False,
        by: str = "user",
        now: datetime | None = None,
    ) -> RecordId:
        """Keep a note: for good, until ``expires`` (working memory), or ``due`` (an intention).

        A ``working`` note states no time and expires after ``working_memory_hours``; told again
        later, it is kept anew from then on. Otherwise the same note again changes nothing. Raises
        ``InputError`` for an empty one.
        """
        if (expires is not None) + (due is not None) + working > 1:
            raise InputError(
                "A note expires, falls due or is a working note; give one of the two times or "
                "'working'."
            )
        where, moment = self._begin(scope), self._now(now)
        if working:
            expires = moment_after(moment, self._retention.working_memory_hours)
        until = stated(expires or due)
        kind: NoteKind = "working" if expires else "prospective" if due else "kept"
        try:
            return self._keep(where, text, kind=kind, until=until, by=by, now=moment)
        except StaleWrite:  # the same was told at the same moment, and stands there now
            return self._keep(where, text, kind=kind, until=until, by=by, now=moment)

    def _keep(
        self,
        scope: Scope,
        text: str,
        *,
        kind: NoteKind,
        until: datetime | None,
        by: str,
        now: datetime,
    ) -> RecordId:
        with self.store.snapshot(scope) as reader:
            note, is_new = note_of(reader, text, kind=kind, until=until, now=now)
        if is_new:
            group = Group(phase="user", kind="note", id=note.id)
            self._user_commit(scope, [add_record(group, note, f"remembered by {by}")], now)
        return note.id

    # -- recall

    def recall(
        self,
        query: str,
        *,
        scope: str,
        limit: int | None = None,
        token_budget: int | None = None,
        kinds: Sequence[Kind] | None = None,
        offset: int = 0,
        as_of: datetime | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        explain: bool = False,
        record_uses: bool = True,
        now: datetime | None = None,
    ) -> Recall:
        """What answers ``query``, from this scope and its ancestors; see :func:`recall`.

        ``limit`` is 10 unless a ``token_budget`` bounds the answer. Each returned record counts as
        used in this hour, in the scope that holds it, unless ``record_uses`` is false.
        """
        if limit is None and token_budget is None:
            limit = DEFAULT_LIMIT
        where, moment = Scope(scope), self._now(now)
        unknown = sorted(set(kinds or ()) - set(KINDS))
        if unknown:
            raise InputError(f"{unknown[0]!r} is no kind of record; there are {', '.join(KINDS)}.")
        embedded, note = self._embedded(query)
        with self.store.snapshot(where, may_be_new=True) as reader:
            answer = recall(
                reader, query, now=moment, limit=limit, token_budget=token_budget, kinds=kinds,
                offset=offset, as_of=stated(as_of), since=stated(since), until=stated(until),
                explain=explain, embedded=embedded,
            )  # fmt: skip
            if note is not None:
                answer = replace(answer, notes=(*answer.notes, note))
            if not reader.visible_salts():
                note = f"The scope {where} holds nothing yet."
                answer = replace(answer, notes=(*answer.notes, note))
        if record_uses and answer.items:
            self._uses.add(answer.items, moment)
        return answer


def moment_after(now: datetime, hours: float) -> datetime:
    """``hours`` after ``now``: when a working note expires; never after the year 9999."""
    try:
        return now + timedelta(hours=hours)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


__all__ = ["Memory", "moment_after", "run_id", "split_run_id", "strength_at", "system_clock"]
