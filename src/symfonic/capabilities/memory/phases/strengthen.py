"""Strengthen what is used, and a little of what it belongs to.

A record that recall returned, or a person confirmed, is worth more than one nobody asked for; and
who asks about a trip next asks about those who came along. So a use spreads a share to the
neighbours of the used record, once. The walk starts at the records touched since the last run and
stops where a share gets small: its cost follows what was used, never what is stored.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_spread,
    mark_spread,
    set_strength,
)
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.policy import check
from symfonic.capabilities.memory.records import (
    EPOCH,
    VISIBLE_STATES,
    LinkKind,
    Record,
    RecordId,
    Use,
    rounded,
)
from symfonic.capabilities.memory.strength import record_strength

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.records import UseKind
    from symfonic.capabilities.memory.view import View

NAME: Final = "strengthen"
_HOUR: Final = timedelta(hours=1)

LEAST_SHARE: Final = 0.01
"""A share below this part of the use it comes from is dropped, and not walked on from. It would not
show in a strength, and without a cut-off two hops reach most of a memory."""

SPREADING_KINDS: Final[tuple[UseKind, ...]] = ("recalled", "confirmed")
"""Uses that spread. A mention already is a link, and a spread share must not spread on."""

WALKED: Final[tuple[LinkKind, ...]] = ("mentions", "co_occurred")
"""Links that a use spreads along, in both directions. Evidence and summaries are left out: derived
text would be lifted by its sources and lift them in turn."""


def strengthen(*, spreading_weight: float, lookback_hours: float) -> Phase:
    """A phase setting the strength of touched records, and of the neighbours their uses spread to.

    Never declines. ``spreading_weight`` is the part of a use, 0 to 1, that is divided among the
    neighbours on each hop; at 0 nothing spreads and no use is marked as spread. Uses spread that
    lie inside ``lookback_hours``, or came since the last DEEP sleep: the engine turns the two into
    the view's ``spread_since``. Records a pass, hops and neighbours are limits of the run.

    Raises ``PolicyError`` for a knob out of its range.
    """
    weight: float = check("spreading_weight", spreading_weight)
    window: float = check("lookback_hours", lookback_hours)
    return Phase(
        name=NAME,
        reads_touched=True,
        cap=lambda limits: limits.strengthen_max_records_per_run,
        window_hours=window,
        settings={"spreading_weight": weight, "lookback_hours": window},
        reading={},
        propose=lambda view: _propose(view, weight),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spread:
    """What spreads: shares by receiver and hour, and the uses that they were taken from."""

    shares: Mapping[RecordId, Mapping[int, float]] = field(default_factory=dict)
    receivers: Mapping[RecordId, Record] = field(default_factory=dict)
    spent: Mapping[RecordId, list[Use]] = field(default_factory=dict)


def _propose(view: View, spreading_weight: float) -> Ran:
    """Changes to this scope's own records; an ancestor's strength is the ancestor's affair."""
    touched = {r.id: r for r in view.unread(NAME) if r.scope == view.scope}
    uses = view.uses(touched)
    spread = _spread(view, uses, spreading_weight)
    records = {**touched, **spread.receivers}
    uses = {**uses, **view.uses(spread.receivers.keys() - touched.keys())}
    changes: list[Change] = []
    changed = 0
    for record_id in sorted(records):
        record = records[record_id]
        group = Group(phase=NAME, kind="strength", id=record_id)
        shares = spread.shares.get(record_id, {})
        received = [
            Use(record=record_id, hour=hour, kind="spread", weight=weight)
            for hour, weight in shares.items()
        ]
        changes += [
            add_spread(group, use, "A record that it is linked to was used.") for use in received
        ]
        changes += [
            mark_spread(group, use, "Its use has spread to its neighbours.")
            for use in spread.spent.get(record_id, ())
        ]
        counted = _counted(uses[record_id], received, view.limits.uses_per_record)
        strength = record_strength(record, counted, view.half_life_hours)
        if strength != record.strength:
            changed += 1
            changes.append(set_strength(group, record_id, strength, "It was used or mentioned."))
    return Ran(
        changes=tuple(changes),
        looked_at=len(touched),
        counts={
            "touched": len(touched),
            "uses": sum(len(uses[record_id]) for record_id in touched),
            "spread_to": len(spread.receivers),
            "changed": changed,
        },
    )


def _spread(view: View, uses: Mapping[RecordId, list[Use]], spreading_weight: float) -> _Spread:
    """The shares of all uses that have not spread yet, in full or in part.

    A use that reaches nobody stays unspent: what it belongs to may become known later.
    """
    unspent = {
        record_id: due
        for record_id, rows in uses.items()
        if (due := [use for use in rows if _is_due(use, view.spread_since)])
    }
    reached = _walk(view, unspent, spreading_weight)
    wanted = {near for shares in reached.values() for near in shares}
    receivers = {
        record_id: record
        for record_id, record in view.records(wanted).items()
        if record.scope == view.scope and record.state in VISIBLE_STATES
    }
    parts: dict[RecordId, defaultdict[int, list[float]]] = {
        record_id: defaultdict(list) for record_id in receivers
    }
    spent: dict[RecordId, list[Use]] = {}
    for origin in sorted(reached):
        kept = {near: share for near, share in reached[origin].items() if near in receivers}
        if not kept:
            continue
        spent[origin] = [replace(use, spread_weight=use.weight) for use in unspent[origin]]
        for use in unspent[origin]:
            for near, share in kept.items():
                parts[near][use.hour].append((use.weight - use.spread_weight) * share)
    return _Spread(
        shares={
            record_id: {
                hour: weight
                for hour in sorted(hours)
                if (weight := rounded(math.fsum(hours[hour])))
            }
            for record_id, hours in parts.items()
        },
        receivers=receivers,
        spent=spent,
    )


def _counted(uses: list[Use], received: list[Use], cap: int) -> list[Use]:
    """The use rows as they will stand: shares added to their hours, the latest ``cap`` of them."""
    if not received:
        return uses
    rows = {(use.hour, use.kind): use for use in uses}
    for use in received:
        row = (use.hour, use.kind)
        rows[row] = replace(use, weight=use.weight + rows[row].weight) if row in rows else use
    return [rows[row] for row in sorted(rows)[-cap:]]


def _is_due(use: Use, since: datetime) -> bool:
    """Whether some of a use is still to be spread; the window's first hour counts whole."""
    if use.kind not in SPREADING_KINDS or use.hour < (since - EPOCH) // _HOUR:
        return False
    return rounded(use.weight - use.spread_weight) > 0


def _walk(
    view: View, origins: Iterable[RecordId], spreading_weight: float
) -> dict[RecordId, dict[RecordId, float]]:
    """For each origin, what part of its use each record around it receives.

    One step outward is three lookups, however many origins walk. A record that was reached, and the
    origin itself, is not reached again: nothing comes back as an echo.
    """
    reached: dict[RecordId, dict[RecordId, float]] = {origin: {} for origin in sorted(origins)}
    front = {origin: {origin: 1.0} for origin in reached}
    for _ in range(view.limits.spread_hops):
        stands = {
            stand
            for shares in front.values()
            for stand, share in shares.items()
            if rounded(share * spreading_weight) >= LEAST_SHARE
        }
        if not stands:
            break
        near = _neighbours(view, stands)
        for origin, shares in front.items():
            parts: defaultdict[RecordId, list[float]] = defaultdict(list)
            for stand, share in shares.items():
                for other, part in near.get(stand, {}).items():
                    if other != origin and other not in reached[origin]:
                        parts[other].append(share * spreading_weight * part)
            totals = {other: rounded(math.fsum(parts[other])) for other in sorted(parts)}
            front[origin] = {i: total for i, total in totals.items() if total >= LEAST_SHARE}
            reached[origin] |= front[origin]
    return reached


def _neighbours(view: View, stands: set[RecordId]) -> dict[RecordId, dict[RecordId, float]]:
    """For each record, the parts that its strongest neighbours receive of what it passes on.

    Association is the count of a link over the geometric mean of both ends' summed counts, so a hub
    that is linked to everything is associated with little. The parts are divided among the
    neighbours, to 1 at most: one faint link alone does not receive everything.
    """
    most = view.limits.hub_degree
    links = [
        *view.links(stands, kinds=WALKED, direction="out", per_record=most),
        *view.links(stands, kinds=WALKED, direction="in", per_record=most),
    ]
    counts: defaultdict[RecordId, defaultdict[RecordId, int]] = defaultdict(
        lambda: defaultdict(int)
    )
    for link in {(link.source, link.kind, link.target): link for link in links}.values():
        for end, other in ((link.source, link.target), (link.target, link.source)):
            if end in stands:
                counts[end][other] += link.count
    others = {other for near in counts.values() for other in near}
    degrees = view.degrees(stands | others, kinds=WALKED)
    found: dict[RecordId, dict[RecordId, float]] = {}
    for end, near in counts.items():
        associations = [
            (
                rounded(count / math.sqrt(max(count, degrees[end]) * max(count, degrees[other]))),
                other,
            )
            for other, count in near.items()
        ]
        strongest = sorted(associations, key=lambda pair: (-pair[0], pair[1]))[:most]
        total = max(1.0, math.fsum(association for association, _ in strongest))
        found[end] = {other: association / total for association, other in strongest}
    return found
