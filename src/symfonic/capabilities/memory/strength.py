"""How strong a record is: a decayed sum over its uses, kept as a logarithm, read as 0 to 1.

Each use of weight ``w`` at time ``t`` is worth ``w * 2 ** ((t - t0) / half-life)``, and a record
holds the base-2 logarithm of the sum. Seen from any later time all records have lost the same
number of half-lives, so the order of their logarithms never changes with time alone: an index on
the stored number answers "what is weak now", and a night in which nothing happened writes nothing.

The number is always recomputed from the use rows. Adding to a stored logarithm would gather
rounding errors and could not be undone.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import EPOCH, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symfonic.capabilities.memory.records import Record, Use

START: Final = EPOCH
"""The time ``t0`` that the sums are measured from. Use hours count from it too. It only shifts
every logarithm by the same amount, but stored strengths depend on it: it does not change."""

_HOUR: Final = timedelta(hours=1)
_SATURATED: Final = 6.0
"""From a decayed sum of ``2 ** 6`` on, a strength is 1 to nine decimals."""


def log_strength(uses: Iterable[tuple[datetime | float, float]], half_life_hours: float) -> int:
    """The base-2 logarithm of the decayed sum, in thousandths.

    A use is its time (aware, or in hours since 1970 UTC) and its weight; one without weight
    counts nothing. The largest term is taken out before summing, so no time from year 1 to 9999
    overflows, and the sum is exact, so the order of the uses does not matter.

    Raises ``ValueError`` where no use has weight: nothing has no logarithm.
    """
    exponents = [
        math.log2(weight) + _hours(at) / half_life_hours for at, weight in uses if weight > 0
    ]
    if not exponents:
        message = "a strength needs at least one use of positive weight"
        raise ValueError(message)
    largest = max(exponents)
    total = math.fsum(2.0 ** (exponent - largest) for exponent in exponents)
    return round(rounded(1000 * (largest + math.log2(total))))


def base_strength(at: datetime | float, half_life_hours: float) -> int:
    """The strength of a record that was only noticed, at ``at``: one use of weight 1."""
    return round(rounded(1000 * _hours(at) / half_life_hours))


def record_strength(record: Record, uses: Iterable[Use], half_life_hours: float) -> int:
    """A record's strength: one use at its effective time, and its uses by hour.

    A use counts from the beginning of its hour, whatever its kind.
    """
    counted: list[tuple[datetime | float, float]] = [(record.at, 1.0)]
    counted += [(use.hour, use.weight) for use in uses]
    return log_strength(counted, half_life_hours)


def strength_at(log_strength: int, now: datetime, half_life_hours: float) -> float:
    """The strength as read at ``now``: ``1 - 2 ** -(decayed sum)``, 0 to 1.

    One use reads 0.5 when it is fresh and 0.293 a half-life later.
    """
    exponent = log_strength / 1000 - _hours(now) / half_life_hours
    if exponent > _SATURATED:
        return 1.0
    return rounded(-math.expm1(-math.log(2) * 2.0**exponent))


def log_strength_at(strength: float, now: datetime, half_life_hours: float) -> int:
    """The logarithm, in thousandths, that reads as ``strength`` (0 to 1) at ``now``, rounded up.

    The inverse of :func:`strength_at`, for asking an index what is weaker now.
    """
    if strength <= 0:
        return -(2**62)
    if strength >= 1:
        return 2**62
    exponent = math.log2(-math.log2(1 - strength)) + _hours(now) / half_life_hours
    return math.ceil(rounded(1000 * exponent))


def _hours(at: datetime | float) -> float:
    return (at - START) / _HOUR if isinstance(at, datetime) else float(at)
