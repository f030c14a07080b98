"""Which records are considered for an answer, each weighed by what it matches.

The text index proposes those of the question's rarest words, as many as are weighed. Three kinds
would be lost among many rows: approved procedures, whose few words match little, what is of a time
that the question names, and everything, where it names a time and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.recall_context import add_context
from symfonic.capabilities.memory.recall_matching import Matcher
from symfonic.capabilities.memory.recall_placing import hold_below_sources, set_apart
from symfonic.capabilities.memory.recall_query import expressions
from symfonic.capabilities.memory.recall_scoring import Candidate, RecallWeights, score_text
from symfonic.capabilities.memory.recall_spelling import near_spellings
from symfonic.capabilities.memory.recall_time import add_time, times_meant
from symfonic.capabilities.memory.recall_vectors import add_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.recall_query import Query
    from symfonic.capabilities.memory.recall_vectors import EmbeddedQuery
    from symfonic.capabilities.memory.records import Kind, Record
    from symfonic.capabilities.memory.spoken_times import SpokenTime
    from symfonic.capabilities.memory.store import Hit, MemoryReader

_SUMMARY_ROOM: Final = 50
"""Hits asked for beyond the candidates, so that summaries among them take no other row's place."""
_OF_A_TIME: Final = 50
"""Hits that are asked for within each time that the question names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time that an answer is bounded to: from ``since`` on and before ``until``."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, record: Record) -> bool:
        """Whether the record is of this time."""
        return (self.since is None or record.at >= self.since) and (
            self.until is None or record.at < self.until
        )

    def within(self, time: SpokenTime) -> Span:
        """What of it lies within a time that the question names."""
        since = [moment for moment in (self.since, time.start) if moment is not None]
        until = [moment for moment in (self.until, time.end) if moment is not None]
        return Span(since=max(since, default=None), until=min(until, default=None))


def gather(
    reader: MemoryReader,
    asked: Query,
    kinds: Sequence[Kind],
    *,
    span: Span,
    embedded: EmbeddedQuery | None,
    weights: RecallWeights,
) -> tuple[list[Candidate], bool]:
    """Everything that is considered, weighed; and whether the index held more than was taken."""
    if asked.only_times:
        return _everything_of(reader, asked, kinds, span=span, weights=weights)
    hits, cut = _hits(reader, asked, kinds, span=span, weights=weights)
    near: list[Hit] = []
    if embedded is not None:
        near = reader.nearest(
            embedded.vector, embedded.identity,
            kinds=kinds, limit=weights.nearest, since=span.since, until=span.until,
        )  # fmt: skip
    matcher = Matcher(asked.terms)
    by_id = {hit.record.id: hit.record for hit in [*hits, *near]}
    proposed = [Candidate(record=record, match=matcher.match(record)) for record in by_id.values()]
    if embedded is not None:
        add_vectors(reader, proposed, embedded, weights=weights)
    matched = [c for c in proposed if (c.match is not None and c.match.found) or c.parts]
    found = [c for c in matched if c.record.kind != "summary"]
    summaries = [c for c in matched if c.record.kind == "summary"]
    told = reader.told_count()
    named = score_text(found, asked, stored=told, weights=weights)
    score_text(summaries, asked, stored=told, weights=weights)
    times = times_meant(asked, found)
    if "episode" in kinds:
        found = add_context(reader, found, named=named, of_agent=asked.of_agent, weights=weights)
    add_time([*found, *summaries], times, weights=weights)
    _scale(found)
    _scale(summaries)
    found += summaries
    set_apart(found, asked)
    hold_below_sources(reader, found)
    return [*found, *near_spellings(reader, asked, found, kinds)], cut


def _hits(
    reader: MemoryReader,
    asked: Query,
    kinds: Sequence[Kind],
    *,
    span: Span,
    weights: RecallWeights,
) -> tuple[list[Hit], bool]:
    """What the index proposes, each record once; and whether it held more."""
    search = partial(reader.search, expressions(asked))
    bounds = {"since": span.since, "until": span.until}
    hits = search(kinds=kinds, limit=weights.candidates + _SUMMARY_ROOM, **bounds)
    summaries = [hit for hit in hits if hit.record.kind == "summary"]
    hits = [hit for hit in hits if hit.record.kind != "summary"][: weights.candidates]
    cut = len(hits) == weights.candidates
    if cut and "procedure" in kinds:
        hits += search(kinds=("procedure",), limit=weights.comparable, **bounds)
    for inside in (span.within(time) for time in asked.times) if cut else ():
        hits += search(kinds=kinds, limit=_OF_A_TIME, since=inside.since, until=inside.until)
    found = {hit.record.id: hit for hit in reversed([*hits, *summaries])}
    return list(reversed(found.values())), cut


def _everything_of(
    reader: MemoryReader,
    asked: Query,
    kinds: Sequence[Kind],
    *,
    span: Span,
    weights: RecallWeights,
) -> tuple[list[Candidate], bool]:
    """What there is of the times that are asked for, the newest of each."""
    found: dict[str, Candidate] = {}
    cut = False
    for time in asked.times:
        inside = span.within(time)
        rows = reader.records_within(
            kinds=kinds, since=inside.since, until=inside.until, limit=weights.candidates
        )
        cut = cut or len(rows) == weights.candidates
        found |= {row.id: Candidate(record=row, parts={"time": 1.0}) for row in rows}
    candidates = list(found.values())
    hold_below_sources(reader, candidates)
    return candidates, cut


def _scale(candidates: Sequence[Candidate]) -> None:
    """Bring scores to 0 to 1: a lone full match is 1, and so is the best of those above it."""
    best = max((candidate.total for candidate in candidates), default=0.0)
    for candidate in candidates:
        candidate.parts = {
            name: part / max(1.0, best) for name, part in candidate.parts.items() if part
        }
