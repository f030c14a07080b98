"""Link what is spoken of together: two entities seen in several windows of conversation.

Who asks about a customer next asks about the person there, the product and the open order, although
no single turn names them all. Counting needs many sessions side by side, which no turn has.

The unit is a *window*, twenty consecutive positions of one session: a turn is too short to hold two
names, and a session so long that everything meets everything. What a window holds is kept, so that
a later run counts a pair without reading history again; a window that changed is counted anew.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from symfonic.capabilities.memory.changes import Group, add_link, remove_link
from symfonic.capabilities.memory.outcome import Declined, Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.policy import check
from symfonic.capabilities.memory.records import EPOCH, Link, RecordId, Seen, rounded
from symfonic.capabilities.memory.store import Direction, Shared
from symfonic.capabilities.memory.view import window_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.collaborators import CooccurrenceRule
    from symfonic.capabilities.memory.store import Sighting, Window
    from symfonic.capabilities.memory.view import View

NAME: Final = "link_cooccurring"

STRONGEST: Final = 10
"""How many entities of a window count, those mentioned most often first: a pasted list of a hundred
names says nothing about any two of them, and would make five thousand pairs."""

CLOSEST: Final = 20
"""How many links an entity keeps at most, those of the closest association first; a smaller
``hub_degree`` counts. What a use passes on, divided among more, moves nothing."""

_ALL: Final = 1000

Pair: TypeAlias = tuple[RecordId, RecordId]


def link_cooccurring(rule: CooccurrenceRule | None) -> Phase:
    """A phase linking entities that were mentioned in the same windows.

    Declines where no source of mentions is composed. ``min_co_count`` is the number of distinct
    windows, at least 2: one conversation is a coincidence. An entity keeps its ``CLOSEST`` links by
    association: the count over the geometric mean of both ends' windows, so a name that is in
    everything is associated with little. Of a name's windows the newest ``hub_degree`` are counted,
    for the same reason.

    Raises ``PolicyError`` for a count out of its range.
    """
    least = 0 if rule is None else check("synthetic_link_min_co_count", rule.min_co_count)

    def propose(view: View) -> Ran | Declined:
        if rule is None:
            reason = "There is no source of mentions: the entity linker is off."
            return Declined(reason=reason, knob="enable_entity_linker")
        return _Counting(view=view, least=least).propose()

    settings = {"synthetic_link_min_co_count": least}
    return Phase(
        name=NAME,
        reads_mentions=True,
        cap=lambda limits: limits.cooccurrence_max_episodics_per_run,
        settings=settings,
        reading=settings,
        propose=propose,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """One pass of the rule."""

    view: View
    least: int

    def propose(self) -> Ran:
        view = self.view
        episodes = view.unread(NAME)
        touched = {w for episode in episodes if (w := window_of(episode)) is not None}
        sightings = view.windows(touched)
        now = {window: _strongest(sightings.get(window, [])) for window in sorted(touched)}
        before: defaultdict[Window, list[Seen]] = defaultdict(list)
        for row in view.kept_windows(NAME, touched):
            before[row.session, row.window or 0].append(row)
        counted = {window: _pairs(members) for window, members in now.items()}
        last = {window: _last(sightings.get(window, [])) for window in now}
        pairs = {pair for found in counted.values() for pair in found}
        pairs |= {
            pair for rows in before.values() for pair in _pairs(RecordId(r.key) for r in rows)
        }
        ends = {end for pair in pairs for end in pair}
        links = self._links(ends)
        known = view.records(ends).keys()  # an undo may have taken one away
        pairs = {pair for pair in pairs if known >= {*pair}}
        wanted = self._wanted(pairs, counted, last)
        there = {p: k for p, k in links.items() if p not in pairs and k.count >= self.least}
        kept = self._strongest_links({**there, **wanted}, now)
        changes = self._changes(kept, links)
        changed = {_ends(change) for change in changes}
        speaking = _speaking(changed, counted, sightings)
        return Ran(
            changes=tuple(changes),
            looked_at=len(episodes),
            counts={
                "windows": len(touched),
                "pairs": len(pairs),
                "below_threshold": len(pairs - wanted.keys()),
                "weaker_than_kept": len(wanted.keys() - kept.keys()),
                "linked": sum(change.operation == "add" for change in changes),
                "removed": sum(change.operation == "remove" for change in changes),
            },
            seen=tuple(row for w in sorted(touched) for row in _rows(w, now[w], last[w], before)),
            evidence={c.group.id: speaking.get(_ends(c), frozenset()) for c in changes},
        )

    @property
    def most(self) -> int:
        """How many windows of one name are counted; never fewer than the threshold asks for."""
        return max(self.view.limits.hub_degree, self.least)

    def _links(self, ends: set[RecordId]) -> dict[Pair, Link]:
        """The links that these entities have now."""
        found: dict[Pair, Link] = {}
        for direction in get_args(Direction):
            for link in self.view.links(
                ends, kinds=("co_occurred",), direction=direction, per_record=_ALL
            ):
                found[link.source, link.target] = link
        return found

    def _wanted(
        self,
        pairs: set[Pair],
        counted: Mapping[Window, list[Pair]],
        last: Mapping[Window, Mapping[RecordId, Sighting]],
    ) -> dict[Pair, Link]:
        """The links of the pairs that stand in enough windows: this pass's, and those kept.

        A link is dated by the latest mention of either in a window that they share.
        """
        most = self.most
        times: defaultdict[Pair, list[datetime]] = defaultdict(list)
        for window, found in counted.items():
            at = {entity: row.link.at for entity, row in last[window].items()}
            for pair in found:
                times[pair].append(max(at[pair[0]], at[pair[1]]))
        earlier = self.view.shared_windows(NAME, pairs, without=counted, most=most)
        none = Shared(count=0, at=EPOCH)
        wanted: dict[Pair, Link] = {}
        for pair in sorted(pairs):
            here, kept = times.get(pair, ()), earlier.get(pair, none)
            count = min(len(here) + kept.count, most)
            if count >= self.least:
                latest = max((*here, kept.at)) if kept.count else max(here)
                wanted[pair] = Link(
                    source=pair[0], kind="co_occurred", target=pair[1], count=count, at=latest
                )
        return wanted

    def _strongest_links(
        self, together: Mapping[Pair, Link], now: Mapping[Window, list[RecordId]]
    ) -> dict[Pair, Link]:
        """Those of the links that are among the strongest of both ends."""
        of_end: defaultdict[RecordId, list[Pair]] = defaultdict(list)
        for pair in together:
            for end in pair:
                of_end[end].append(pair)
        degree = min(self.view.limits.hub_degree, CLOSEST)
        crowded = sorted(end for end, found in of_end.items() if len(found) > degree)
        if not crowded:
            return dict(together)
        ends = {end for hub in crowded for pair in of_end[hub] for end in pair}
        here = Counter(end for members in now.values() for end in members)
        earlier = self.view.window_counts(NAME, ends, without=now, most=self.most)
        windows = {end: min(here[end] + earlier.get(end, 0), self.most) for end in ends}
        dropped: set[Pair] = set()
        for hub in crowded:
            ranked = sorted(
                (-_association(together[pair].count, windows[pair[0]], windows[pair[1]]), pair)
                for pair in of_end[hub]
            )
            dropped.update(pair for _, pair in ranked[degree:])
        return {pair: link for pair, link in together.items() if pair not in dropped}

    def _changes(self, kept: Mapping[Pair, Link], links: Mapping[Pair, Link]) -> list[Change]:
        changes: list[Change] = []
        for pair in sorted(kept.keys() | links.keys()):
            group = Group(phase=NAME, kind="pair", id="+".join(pair))
            old, new = links.get(pair), kept.get(pair)
            if new is None:
                why = "They stand together in too few windows, or others are closer."
                changes.append(remove_link(group, pair[0], "co_occurred", pair[1], why))
            elif old is None or (old.count, old.at) != (new.count, new.at):
                why = f"They were spoken of together in {new.count} windows of conversation."
                changes.append(add_link(group, new, why))
        return changes


def _strongest(sightings: Iterable[Sighting]) -> list[RecordId]:
    """The entities of a window, those in most of its episodes first; at most ``STRONGEST``."""
    count = Counter(row.link.target for row in sightings)
    ranked = sorted(count, key=lambda entity: (-count[entity], entity))
    return ranked[:STRONGEST]


def _pairs(members: Iterable[RecordId]) -> list[Pair]:
    """Each two of a window's few members, the smaller id first."""
    return list(combinations(sorted(members), 2))


def _association(count: int, windows: int, others: int) -> float:
    return rounded(count / math.sqrt(max(windows, count) * max(others, count)))


def _speaking(
    changed: set[Pair],
    counted: Mapping[Window, list[Pair]],
    sightings: Mapping[Window, list[Sighting]],
) -> dict[Pair, frozenset[RecordId]]:
    """Per changed pair, the episodes of this pass's windows that mention one of the two."""
    found: defaultdict[Pair, set[RecordId]] = defaultdict(set)
    for window, pairs in counted.items():
        here = changed.intersection(pairs)
        of_entity: defaultdict[RecordId, set[RecordId]] = defaultdict(set)
        for row in sightings.get(window, ()) if here else ():
            of_entity[row.link.target].add(row.link.source)
        for pair in here:
            found[pair] |= of_entity[pair[0]] | of_entity[pair[1]]
    return {pair: frozenset(episodes) for pair, episodes in found.items()}


def _ends(change: Change) -> Pair:
    return RecordId(str(change.row[0])), RecordId(str(change.row[2]))


def _last(sightings: Iterable[Sighting]) -> dict[RecordId, Sighting]:
    """Each entity's latest mention in a window."""
    return {
        row.link.target: row
        for row in sorted(sightings, key=lambda s: (s.link.at, s.position, s.link.source))
    }


def _rows(
    window: Window,
    members: list[RecordId],
    last: Mapping[RecordId, Sighting],
    before: Mapping[Window, list[Seen]],
) -> list[Seen]:
    """What is kept of a window: its entities, each with its last mention; nothing where that is
    what is kept already.
    """
    found = [
        Seen(
            episode=last[entity].link.source, reader=NAME, kind="window", key=entity,
            session=window[0], window=window[1], at=last[entity].link.at,
        )
        for entity in sorted(members)
    ]  # fmt: skip
    if found == before.get(window, []):
        return []
    return found or [
        Seen(
            episode=RecordId(""), reader=NAME, kind="nothing", key="", session=window[0],
            window=window[1], at=EPOCH, score=0.0,
        )
    ]  # fmt: skip
