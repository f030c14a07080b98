"""Recall: what memory holds that answers a question, best first, with its evidence.

No model, embedder or network is needed. The text index proposes candidates; each is weighed by
what it matches and by what stands around it; strength decides only between equals. The same
question on the same rows gives the same answer in the same order, so it can be paged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.packing import pack, shown_text
from symfonic.capabilities.memory.recall_block import context_block
from symfonic.capabilities.memory.recall_candidates import Span, gather
from symfonic.capabilities.memory.recall_placing import (
    stands_apart,
    with_procedure,
)
from symfonic.capabilities.memory.recall_query import has_words, query_terms
from symfonic.capabilities.memory.recall_scoring import (
    DEFAULT_WEIGHTS,
    Candidate,
    RecallWeights,
)
from symfonic.capabilities.memory.recall_time import is_of_the_time, timed
from symfonic.capabilities.memory.records import (
    EPOCH,
    Episode,
    Fact,
    Kind,
    Note,
    Record,
    RecordId,
    Role,
    to_microseconds,
)
from symfonic.capabilities.memory.strength import strength_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.recall_query import Query
    from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
    from symfonic.capabilities.memory.store import MemoryReader

RECALLED_KINDS: Final[tuple[Kind, ...]] = ("episode", "fact", "summary", "note", "procedure")
"""What recall returns unless asked otherwise. An entity is a way to its mentions, not an answer."""

_DECIMALS: Final = 3
"""Scores closer than a thousandth are equal to a reader: strength, then time, decides."""
_FAST_CLOCK: Final = timedelta(hours=24)
"""A turn stated to be later than it was recorded by more than this has no known time."""
_MOST_EVIDENCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallItem:
    """One row of an answer. ``score`` is 0 to 1 within this answer, greatest first.

    ``evidence`` are the ids of the records a derived one rests on, ``source_id`` the id that the
    source gave. ``approximate`` rows matched a near spelling only. Times are ISO 8601, UTC;
    ``occurred_at`` is ``None`` where the source states none. ``parts`` are the score's, where the
    answer was to be explained, with the strength (0 to 1) that decides between equals.
    """

    id: RecordId
    kind: Kind
    text: str
    score: float
    scope: str
    source_id: str | None = None
    session: str | None = None
    occurred_at: str | None = None
    recorded_at: str | None = None
    role: Role | None = None
    speaker: str | None = None
    state: str = "active"
    trust: str = "user"
    valid_from: str | None = None
    valid_to: str | None = None
    evidence: tuple[RecordId, ...] = ()
    approximate: bool = False
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """An answer. ``more`` says that there are further rows: ask again with a greater ``offset``.

    ``notes`` say in sentences what the rows cannot: that nothing was asked, or that more matched
    than was weighed.
    """

    items: tuple[RecallItem, ...] = ()
    more: bool = False
    notes: tuple[str, ...] = ()

    def as_context(self, token_budget: int | None = None) -> str:
        """The rows as one block of text for a prompt; see :func:`context_block`."""
        return context_block(self.items, token_budget=token_budget)


def recall(
    reader: MemoryReader,
    query: str,
    *,
    now: datetime,
    limit: int | None = 10,
    token_budget: int | None = None,
    kinds: Sequence[Kind] | None = None,
    offset: int = 0,
    as_of: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    explain: bool = False,
    embedded: EmbeddedQuery | None = None,
    weights: RecallWeights = DEFAULT_WEIGHTS,
) -> Recall:
    """The records that answer ``query``, at most ``limit`` and ``token_budget`` of them.

    A question without a word to look for gets an empty answer, never everything. With ``as_of``
    only what had happened by then is returned, and facts that were valid then. ``since`` and
    ``until`` bound the time of what is returned: from the first on, and before the second. With the
    question ``embedded``, what is near by its vector is found too.

    Raises ``InputError`` for a negative limit, budget or offset, and for times in the wrong order.
    """  # fmt: skip
    for name, number in (("limit", limit), ("token_budget", token_budget), ("offset", offset)):
        if number is not None and number < 0:
            raise InputError(f"{name} is {number}; give 0 or more.")
    if since is not None and until is not None and since >= until:
        raise InputError(f"since {since.isoformat()} is not before until {until.isoformat()}.")
    asked = timed(query_terms(query), now=as_of or now)
    if not asked.terms and not asked.times and (embedded is None or not has_words(query)):
        return Recall(notes=("The question has no word to look for.",))
    wanted = RECALLED_KINDS if kinds is None else tuple(dict.fromkeys(kinds))
    span = Span(since=since, until=until)
    candidates, cut = gather(reader, asked, wanted, span=span, embedded=embedded, weights=weights)
    moment = as_of or now
    candidates = [
        c for c in candidates
        if span.holds(c.record) and is_of_the_time(c.record, asked)
        and _is_current(c.record, moment, as_of=as_of)
    ]  # fmt: skip
    ranked = _ranked(candidates, asked, now, weights)[offset:]
    page = ranked if token_budget is None else pack(ranked, token_budget)
    page = page[:limit]
    return Recall(
        items=tuple(_item(c, reader, now, explain=explain) for c in page),
        more=len(page) < len(ranked),
        notes=tuple(_notes(asked, weights, cut=cut)),
    )


def _is_current(record: Record, moment: datetime, *, as_of: datetime | None) -> bool:
    """Whether a record may answer at ``moment``: reviewed, not over, and then already known."""
    if as_of is not None and record.at > as_of:
        return False
    content = record.content
    if record.kind == "procedure":
        return record.status == "approved"
    if isinstance(content, Note):
        return content.note_kind != "working" or record.until is None or record.until > moment
    if isinstance(content, Fact):
        started = content.valid_from is None or _moment(content.valid_from) <= moment
        ended = content.valid_to is not None and _moment(content.valid_to) <= moment
        return started and not ended
    return True


def _moment(stated: str) -> datetime:
    found = datetime.fromisoformat(stated)
    return found if found.tzinfo else found.replace(tzinfo=EPOCH.tzinfo)


def _ranked(
    candidates: Sequence[Candidate], asked: Query, now: datetime, weights: RecallWeights
) -> list[Candidate]:
    """Best first, in a total order. Where the question asks for an end of time, it decides."""
    ranked = with_procedure(sorted(candidates, key=_order), asked)
    if asked.order is None:
        return ranked
    matched = [c for c in ranked if c.match is not None and not stands_apart(c.record)]
    fullest = max((c.match.found for c in matched if c.match is not None), default=0)
    comparable = [c for c in matched if c.match is not None and 2 * c.match.found >= fullest]
    comparable = comparable[: weights.comparable]
    by_time = sorted(comparable, key=lambda c: _time_key(c.record, now, asked.order == "latest"))
    for candidate, score in zip(by_time, [c.total for c in comparable], strict=True):
        candidate.parts["time_order"] = score - candidate.total
    chosen = {c.record.id for c in comparable}
    exact = [c for c in ranked if c.record.id not in chosen]
    return [*by_time, *exact]


def _order(candidate: Candidate) -> tuple[bool, bool, float, int, bool, int, int, str]:
    """Exact before near, what stands apart last; then score, nearest scope, source before derived,
    strength, time, id.
    """
    record = candidate.record
    return (
        candidate.approximate, stands_apart(record), -round(candidate.total, _DECIMALS),
        -record.scope.count("/"), record.kind != "episode", -record.strength,
        -to_microseconds(record.at), record.id,
    )  # fmt: skip


def _time_key(record: Record, now: datetime, latest: bool) -> tuple[bool, int, int, str]:
    """The order by time; rows whose stated time cannot be true come after all others."""
    stated = record.occurred_at
    untrue = stated is not None and stated > min(record.recorded_at, now) + _FAST_CLOCK
    sign = -1 if latest else 1
    return untrue, sign * to_microseconds(record.at), sign * (record.position or 0), record.id


def _notes(asked: Query, weights: RecallWeights, *, cut: bool) -> list[str]:
    notes: list[str] = []
    if asked.unclear:
        notes.append(
            f"{asked.unclear!r} was not understood as a time and was not applied; name dates, or "
            "give since and until."
        )
    if asked.truncated:
        notes.append("The question is long; only its beginning was looked for.")
    if cut:
        notes.append(
            f"Many rows match; the best {weights.candidates} by words were weighed. "
            "Name what you look for more closely to reach others."
        )
    return notes


def _item(
    candidate: Candidate, reader: MemoryReader, now: datetime, *, explain: bool
) -> RecallItem:
    record, content = candidate.record, candidate.record.content
    parts: dict[str, float] = {}
    if explain:
        parts = {name: round(part, 6) for name, part in sorted(candidate.parts.items())}
        parts["strength"] = strength_at(record.strength, now, reader.state.half_life_hours)
    fact = content if isinstance(content, Fact) else None
    episode = content if isinstance(content, Episode) else None
    return RecallItem(
        id=record.id,
        kind=record.kind,
        text=shown_text(record),
        score=round(candidate.total, _DECIMALS) + 0.0,
        scope=record.scope,
        source_id=episode.source_id if episode else None,
        session=record.session,
        occurred_at=record.occurred_at.isoformat() if record.occurred_at else None,
        recorded_at=record.recorded_at.isoformat(),
        role=episode.role if episode else None,
        speaker=episode.name if episode else None,
        state=record.state,
        trust=record.trust,
        valid_from=fact.valid_from if fact else None,
        valid_to=fact.valid_to if fact else None,
        evidence=candidate.evidence,
        approximate=candidate.approximate,
        parts=parts,
    )
