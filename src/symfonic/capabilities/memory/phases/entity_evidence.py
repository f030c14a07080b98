"""What mentions say about an entity: its name, its kind, how sure it is.

Every answer depends on the evidence alone and not on the night that brought it: the same mentions
in another order, or in other portions, give the same entity. Where a name has more mentions than
the view hands out, the newest ones decide.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import Entity, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import Seen

SUREST: Final = 0.99
"""The highest confidence of an entity. At it, more mentions change nothing and are not counted."""
UNKNOWN: Final = "unknown"
"""The kind of a name that nothing around it has explained yet."""
_BY_SOURCE: Final = 0.95
"""From this score on the source itself says what it is, as with the speaker of a turn."""
_KIND_ORDER: Final = ("person", "organisation", "place", "thing")
_DOUBT_LEFT: Final = 0.5


def confidence(best_score: float, episodes: int) -> float:
    """How sure an entity is, 0 to 0.99: each further episode halves the doubt the best one left."""
    doubt = (1 - best_score) * _DOUBT_LEFT ** (max(episodes, 1) - 1)
    return rounded(min(1 - doubt, SUREST))


def entity_of(before: Entity | None, rows: Sequence[Seen], *, episodes: int) -> Entity:
    """The entity that ``rows`` and, where there is one, the entity so far describe.

    The name is the spelling used most, one with capitals before all others; every other one is an
    alias. ``episodes`` counts those with a
    mention that counts; confidence never falls, since a sighting out of reach was one as well.
    """
    used = Counter(str(row.body["name"]) for row in rows)
    name = min(
        used, key=lambda spelling: (spelling.islower(), -used[spelling], *_plainness(spelling))
    )
    spellings = set(used) if before is None else {*used, before.name, *before.aliases}
    sure = confidence(max(row.score for row in rows), episodes)
    return Entity(
        name=name,
        entity_kind=_kind_of(rows) if before is None else _kind_of(rows, before.entity_kind),
        aliases=tuple(sorted(spellings - {name})),
        confidence=sure if before is None else max(sure, before.confidence),
    )


def is_settled(entity: Entity, fresh: Sequence[Seen]) -> bool:
    """Whether new mentions cannot change the entity, so that its history need not be read.

    They say its one spelling and its kind again, and it is as sure as it can be.
    """
    return (
        entity.confidence >= SUREST
        and not entity.aliases
        and all(row.body["name"] == entity.name for row in fresh)
        and all(row.body["entity_kind"] in {entity.entity_kind, UNKNOWN} for row in fresh)
    )


def _plainness(spelling: str) -> tuple[bool, int, str]:
    """Between spellings used equally often: not all capitals, with its accents, by code point."""
    accents = sum(not letter.isascii() for letter in unicodedata.normalize("NFC", spelling))
    return spelling.isupper(), -accents, spelling


def _kind_of(rows: Sequence[Seen], otherwise: str = UNKNOWN) -> str:
    """The kind most mentions hint at; what a source says outright stands above every hint."""
    hints = Counter(str(row.body["entity_kind"]) for row in rows)
    said = {str(row.body["entity_kind"]) for row in rows if row.score >= _BY_SOURCE}
    del hints[UNKNOWN]
    return min(hints, key=lambda k: (k not in said, -hints[k], *_kind_rank(k)), default=otherwise)


def _kind_rank(kind: str) -> tuple[int, str]:
    return _KIND_ORDER.index(kind) if kind in _KIND_ORDER else len(_KIND_ORDER), kind
