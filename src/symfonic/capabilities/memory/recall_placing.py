"""Where a row stands that is not simply the best match: what repeats others, and what was reviewed.

A summary says again what its sources say, a system prompt is before the agent anyway, and an
earlier asking of the same question is no answer to it. An approved procedure was approved so that
it is found, though its few words match less than talk about the same thing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import Episode
from symfonic.capabilities.memory.text_terms import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.recall_query import Query
    from symfonic.capabilities.memory.recall_scoring import Candidate
    from symfonic.capabilities.memory.records import Record, RecordId
    from symfonic.capabilities.memory.store import MemoryReader

ECHO: Final = 0.7
"""The part of its score that a turn loses which only asks the question again."""

PROCEDURE_PLACE: Final = 4
"""The index at which the best matching approved procedure stands at the latest."""

_MOST_EVIDENCE: Final = 500
_WORD: Final = re.compile(r"\w+")


def stands_apart(record: Record) -> bool:
    """Whether a record comes after everything that is not like it: summaries, system prompts."""
    content = record.content
    return record.kind == "summary" or (isinstance(content, Episode) and content.role == "system")


def set_apart(candidates: Sequence[Candidate], asked: Query) -> None:
    """Lower what asks the question again."""
    words = _WORD.findall(fold(asked.text))
    for candidate in candidates:
        text = candidate.record.text
        if len(text) > 2 * len(asked.text) or candidate.record.kind != "episode":
            continue
        if _WORD.findall(fold(text)) == words:
            candidate.parts["echo"] = -ECHO * candidate.total


def hold_below_sources(reader: MemoryReader, candidates: Sequence[Candidate]) -> None:
    """Give derived records their evidence, and no more than the best score among it.

    What stands apart scores no more than the least of the others, so that scores fall down the
    page. A summary must not push a source off it; where room is short it stands for its sources.
    """
    scores = {c.record.id: c.total for c in candidates}
    least = min((c.total for c in candidates if not stands_apart(c.record)), default=None)
    derived = {c.record.id: c for c in candidates if c.record.kind != "episode"}
    evidence: dict[str, list[RecordId]] = {}
    for link in reader.links(
        sorted(derived), kinds=("evidence", "summarises"), direction="out",
        per_record=_MOST_EVIDENCE,
    ):  # fmt: skip
        evidence.setdefault(link.source, []).append(link.target)
    for candidate in candidates:
        candidate.evidence = tuple(sorted(set(evidence.get(candidate.record.id, ()))))
        if stands_apart(candidate.record):
            most = least
        else:
            known = [scores[source] for source in candidate.evidence if source in scores]
            most = max(known, default=None)
        if most is not None and candidate.total > most:
            candidate.parts["source_cap"] = most - candidate.total


def with_procedure(ranked: list[Candidate], asked: Query) -> list[Candidate]:
    """The ranking with the best procedure no later than fifth, if it holds half of the words.

    It never comes before a source of its own that is in the ranking.
    """
    for index, candidate in enumerate(ranked):
        if candidate.record.kind != "procedure" or candidate.match is None:
            continue
        if 2 * candidate.match.found < len(asked.terms):
            continue
        sources = set(candidate.evidence)
        above = [n for n, c in enumerate(ranked[:index]) if c.record.id in sources]
        place = max(PROCEDURE_PLACE, above[0] + 1 if above else 0)
        if place < index:
            raised = ranked[place - 1].total
            candidate.parts["reviewed"] = raised - candidate.total
            ranked = [*ranked[:place], candidate, *ranked[place:index], *ranked[index + 1 :]]
        break
    return ranked
