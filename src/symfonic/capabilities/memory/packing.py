"""What of a ranking goes into a page of so many tokens.

A context window is paid for by the token. When the page is short, a summary may stand for turns
that it condensed, so that one text says what ten would; it never does so merely because it exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.records import Episode
from symfonic.capabilities.memory.text_terms import call_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.recall_scoring import Candidate
    from symfonic.capabilities.memory.records import Record, RecordId


def shown_text(record: Record) -> str:
    """What a reader of the answer sees: the text, or the calls of a turn that only made calls."""
    if record.text or not isinstance(record.content, Episode):
        return record.text
    return call_text(record.content.calls)


def tokens(text: str) -> int:
    """About how many tokens a text costs a model: a quarter of its characters, rounded up."""
    return max(1, -(-len(text) // 4))


def pack(ranked: Sequence[Candidate], token_budget: int) -> list[Candidate]:
    """The best rows that fit ``token_budget`` together, in their order.

    A row that is too long for what is left is passed over, and a shorter one further down may
    take its place. Where not everything fits, a summary takes the place of the condensed turns
    whose matched words it holds too, if it is shorter than they are together. What another row
    says in the same words, but for case and space, is not paid for twice.
    """
    if sum(_cost(candidate) for candidate in ranked) > token_budget:
        ranked = _collapsed(ranked, token_budget)
    kept: dict[str, Candidate] = {}
    left = token_budget
    for candidate in ranked:
        cost, said = _cost(candidate), " ".join(shown_text(candidate.record).casefold().split())
        if cost <= left and said not in kept:
            kept[said] = candidate
            left -= cost
    return list(kept.values())


def _cost(candidate: Candidate) -> int:
    return tokens(shown_text(candidate.record))


def _collapsed(ranked: Sequence[Candidate], token_budget: int) -> list[Candidate]:
    """The ranking with each summary in the place of the best turn it stands for."""
    by_id = {candidate.record.id: candidate for candidate in ranked}
    stands_for: dict[RecordId, Candidate] = {}
    for summary in ranked:
        if summary.record.kind != "summary" or _cost(summary) > token_budget:
            continue
        sources = [by_id[i] for i in summary.evidence if i in by_id and i not in stands_for]
        covered = [source for source in sources if _covers(summary, source)]
        if sum(map(_cost, covered)) > _cost(summary):
            stands_for |= {source.record.id: summary for source in covered}
    placed: dict[RecordId, Candidate] = {}
    for candidate in ranked:
        standing = stands_for.get(candidate.record.id, candidate)
        placed.setdefault(standing.record.id, standing)
    return list(placed.values())


def _covers(summary: Candidate, source: Candidate) -> bool:
    """Whether the source is condensed and every word of the question in it is in the summary."""
    if source.record.state != "condensed" or summary.match is None:
        return False
    if source.match is None:
        return True
    pairs = zip(source.match.counts, summary.match.counts, strict=True)
    return all(held or not asked for asked, held in pairs)
