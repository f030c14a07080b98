"""Candidates from the text index, ranked by what the reader's own rows say a word is worth.

The index knows how rare a word is in the whole table. Ranked by that, a tenant's answer would
change when another tenant writes. So the index is only asked which rows hold a term, of the scopes
that are visible, and the rows that hold the rarest terms come first.
"""

from __future__ import annotations

import math
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import to_microseconds
from symfonic.capabilities.memory.store import Hit
from symfonic.capabilities.memory.stores.sqlite.rows import LARGEST, array, scope_token, to_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.records import Kind
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

MOST_ROWS: Final = 20_000
"""The newest rows of a term that are looked at: so common a word tells hardly anything apart, and a
question of common words costs no more in a large memory than in a middling one."""


def search(
    db: Connection,
    scopes: Sequence[str],
    terms: Sequence[str],
    *,
    kinds: Sequence[Kind],
    limit: int,
    stored: int,
    since: datetime | None,
    until: datetime | None,
) -> list[Hit]:
    """The visible records that hold any term, those of the rarest terms first, then the newest.

    A term is a full-text expression; ``stored`` is how many records there are to tell apart. Rows
    before ``since`` or not before ``until`` are passed over, however many match.
    """
    scores = _scores(db, scopes, terms, stored=stored)
    found: list[Hit] = []
    bound = {
        "scopes": array(scopes), "kinds": array(kinds),
        "since": -LARGEST if since is None else to_microseconds(since),
        "until": LARGEST if until is None else to_microseconds(until),
    }  # fmt: skip
    for rows in _in_order(scores, limit):
        by_row = {row[0]: row[1:] for row in db.rows("found_rows", {**bound, "rows": array(rows)})}
        found += [
            Hit(record=to_record(by_row[row]), score=scores[row]) for row in rows if row in by_row
        ]
        if len(found) >= limit:
            break
    return found[:limit]


def _scores(
    db: Connection, scopes: Sequence[str], terms: Sequence[str], *, stored: int
) -> dict[int, float]:
    """What each row's terms weigh together, in natural units of information."""
    where = " OR ".join(f'"{scope_token(path)}"' for path in scopes)
    scores: dict[int, float] = {}
    for term in terms:
        bound: dict[str, Any] = {
            "expression": f"{{scope}} : ({where}) AND {{text}} : ({term})", "most": MOST_ROWS,
        }  # fmt: skip
        rows = [row for (row,) in db.rows("matching_rows", bound)]
        weight = math.log1p((max(stored, len(rows)) - len(rows) + 0.5) / (len(rows) + 0.5))
        for row in rows:
            scores[row] = scores.get(row, 0.0) + weight
    return scores


def _in_order(scores: dict[int, float], limit: int) -> Iterator[list[int]]:
    """The rows, best first and newest first: as many as are likely to do, then all others."""
    pairs = zip(scores.values(), scores, strict=True)
    first = [row for _, row in nlargest(2 * limit, pairs)]
    yield first
    if len(first) < len(scores):
        known = set(first)
        left = ((score, row) for row, score in scores.items() if row not in known)
        yield [row for _, row in sorted(left, reverse=True)]
