"""Join the mentions of one person, place or thing into one entity.

People are stored as they are spoken of, so one customer lives under four spellings and recall
through any of them misses the other three. Joining needs many episodes side by side, which no
single turn has.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.changes import Group, add_link, add_record, edit_record
from symfonic.capabilities.memory.outcome import Declined, Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.phases.entity_evidence import SUREST, entity_of, is_settled
from symfonic.capabilities.memory.phases.mention_reader import MENTIONS_PER_EPISODE, MentionReader
from symfonic.capabilities.memory.policy import check
from symfonic.capabilities.memory.records import (
    Entity,
    Link,
    Record,
    least_trust,
)
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.collaborators import EntityExtractor
    from symfonic.capabilities.memory.records import Plain, RecordId, Seen, Tally
    from symfonic.capabilities.memory.view import View

NAME: Final = "link_entities"
WEAK_FLOOR: Final = 0.3
"""From this score on a mention of what is an entity already is linked; it never makes one.

A name that opens a sentence proves little by itself, and is meant all the same once it is known.
"""
_LINKS_PER_EPISODE: Final = 4 * MENTIONS_PER_EPISODE
_ALWAYS: Final = datetime.min.replace(tzinfo=UTC)
_NOTES: Final = 5


def link_entities(
    extractor: EntityExtractor | None,
    *,
    entity_min_mention_count: int,
    entity_max_episodics_per_run: int,
    entity_confidence_threshold: float,
    missing: str = "",
) -> Phase:
    """A phase proposing entities and the links from the episodes that mention them.

    Declines when no extractor was composed: a report of zero would read as "nothing to link".
    ``missing`` says what was asked for and not given.

    A mention counts once per episode, so one long conversation cannot vote twice. The threshold is
    the extractor's own confidence, 0 to 1 inclusive; it decides what makes an entity. What is one,
    here or in an ancestor's scope, is linked from every mention of at least ``WEAK_FLOOR``, the
    earlier ones too, so that neither the order of import nor the split into nights matters. The
    per-run limit is spent half on the newest unread episodes and half on the oldest, so a backlog
    drains without hiding today.

    Raises ``PolicyError`` for a knob out of range.
    """
    least_episodes: int = check("entity_min_mention_count", entity_min_mention_count)
    cap: int = check("entity_max_episodics_per_run", entity_max_episodics_per_run)
    threshold: float = check("entity_confidence_threshold", entity_confidence_threshold)
    reader = None if extractor is None else MentionReader(extractor=extractor)
    reading: dict[str, Plain] = {
        "extractor": None if reader is None else reader.identity,
        "entity_min_mention_count": least_episodes,
        "entity_confidence_threshold": threshold,
    }

    def propose(view: View) -> Ran | Declined:
        if reader is None:
            if missing:
                return Declined(reason=missing, knob="entity_linker_extractor_kind")
            reason = "The entity linker is off: no entity extractor was composed."
            return Declined(reason=reason, knob="enable_entity_linker")
        return _Linking(
            view=view,
            reader=reader.identity,
            threshold=threshold,
            least_episodes=least_episodes,
        ).propose()

    return Phase(
        name=NAME,
        reads=("episode",),
        cap=lambda limits: cap,
        settings={**reading, "entity_max_episodics_per_run": cap},
        reading=reading,
        propose=propose,
        reader=reader,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """One name of this pass: its new mentions, the entity it has, the counts that were needed.

    ``rows`` are the mentions to judge by, oldest first. ``arriving`` says that the scope links this
    entity for the first time, so that earlier mentions are linked too.
    """

    key: str
    fresh: list[Seen]
    entity: Record | None = None
    tally: Tally | None = None
    arriving: bool = False
    rows: list[Seen] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linking:
    """One pass of the rule."""

    view: View
    reader: str
    threshold: float
    least_episodes: int

    def propose(self) -> Ran:
        unread = {episode.id: episode for episode in self.view.unread(NAME)}
        mentions = [row for row in self.view.fresh(self.reader) if row.kind == "mention"]
        names = self._names([row for row in mentions if row.episode in unread])
        waiting = [n for n in names if n.entity is None and not n.arriving and n.tally is not None]
        changes = self._changes([n for n in names if n.entity is not None or n.arriving], unread)
        counts = {
            "unread": len(unread),
            "mentions": len(mentions),
            "below_threshold": sum(row.score < self.threshold for row in mentions),
            "waiting": len(waiting),
            "promoted": sum(n.entity is None and n.arriving for n in names),
            "linked": sum(change.table == "link" for change in changes),
        }
        return Ran(
            changes=tuple(changes),
            looked_at=len(unread),
            counts=counts,
            notes=self._near_misses(waiting),
        )

    def _names(self, mentions: list[Seen]) -> list[_Key]:
        """The names of this pass in order, with what the rule has to know about each."""
        view, floor = self.view, min(WEAK_FLOOR, self.threshold)
        fresh: dict[str, list[Seen]] = {}
        for row in mentions:
            if row.score >= floor:
                fresh.setdefault(row.key, []).append(row)
        if not fresh:
            return []
        known = view.by_key("entity", fresh)
        names = [_Key(key=k, fresh=fresh[k], entity=known.get(k)) for k in sorted(fresh)]
        counted = [n.key for n in names if self._is_counted(n)]
        tallies = view.tally(self.reader, counted, since=_ALWAYS, least_score=self.threshold)
        linked = {
            link.target
            for link in view.links(
                [n.entity.id for n in names if n.entity is not None and self._is_inherited(n)],
                kinds=("mentions",),
                direction="in",
                per_record=1,
            )
        }
        names = [
            replace(n, tally=tallies.get(n.key), arriving=self._arrives(n, tallies, linked))
            for n in names
        ]
        return self._with_history(names)

    def _is_inherited(self, name: _Key) -> bool:
        return name.entity is not None and name.entity.scope != self.view.scope

    def _is_counted(self, name: _Key) -> bool:
        """Whether its episodes are counted: it may be promoted, or become surer."""
        if name.entity is None:
            return True
        return not self._is_inherited(name) and _content(name.entity).confidence < SUREST

    def _arrives(self, name: _Key, tallies: Mapping[str, Tally], linked: set[RecordId]) -> bool:
        if name.entity is not None:
            return self._is_inherited(name) and name.entity.id not in linked
        return name.key in tallies and tallies[name.key].episodes >= self.least_episodes

    def _with_history(self, names: list[_Key]) -> list[_Key]:
        """The names with their earlier sightings, where these can change something."""
        wanted = [n.key for n in names if n.arriving or self._may_change(n)]
        found = self.view.sightings(
            self.reader, wanted, since=_ALWAYS, per_key=self.view.limits.history_per_key
        )
        floor = min(WEAK_FLOOR, self.threshold)
        together = []
        for name in names:
            rows = {row.episode: row for row in name.fresh}
            rows |= {row.episode: row for row in found.get(name.key, ()) if row.score >= floor}
            ordered = sorted(rows.values(), key=lambda row: (row.at, row.session, row.episode))
            together.append(replace(name, rows=ordered))
        return together

    def _may_change(self, name: _Key) -> bool:
        if name.entity is None or self._is_inherited(name):
            return False
        return not is_settled(_content(name.entity), name.fresh)

    def _changes(self, names: list[_Key], unread: Mapping[RecordId, Record]) -> list[Change]:
        earlier = {row.episode for n in names if n.arriving for row in n.rows} - unread.keys()
        episodes = {**self.view.records(earlier), **unread}
        linked = {
            (link.source, link.target): link
            for link in self.view.links(
                episodes, kinds=("mentions",), direction="out", per_record=_LINKS_PER_EPISODE
            )
        }
        changes: list[Change] = []
        for name in names:
            rows = [
                r for r in (name.rows if name.arriving else name.fresh) if r.episode in episodes
            ]
            entity, change = self._entity(name, rows, episodes)
            if change is not None:
                changes.append(change)
            for row in rows:
                link = Link(source=row.episode, kind="mentions", target=entity.id, at=row.at)
                old = linked.get((link.source, link.target))
                if old is None or (old.count, old.at) != (link.count, link.at):
                    reason = f"The episode mentions it, with score {row.score:g}."
                    changes.append(add_link(_group(entity.id), link, reason))
        return changes

    def _entity(
        self, name: _Key, evidence: list[Seen], episodes: Mapping[RecordId, Record]
    ) -> tuple[Record, Change | None]:
        """The entity as it is after this pass, and the change that makes it so."""
        before = name.entity
        if before is not None and self._is_inherited(name):
            return before, None
        count = name.tally.episodes if name.tally is not None else 0
        content = entity_of(_content(before) if before else None, name.rows, episodes=count)
        trust = [episodes[row.episode].trust for row in evidence]
        times = [row.at for row in evidence]
        if before is None:
            entity = Record(
                id=self.view.identify("entity", name.key),
                scope=self.view.scope,
                kind="entity",
                key=name.key,
                content=content,
                text=_text(content),
                trust=least_trust(trust),
                occurred_at=min(times),
                strength=base_strength(min(times), self.view.half_life_hours),
                recorded_at=self.view.now,
            )
            best = max(row.score for row in name.rows)
            reason = f"{_episodes(count)} mention it; the best score is {best:g}."
            return entity, add_record(_group(entity.id), entity, reason)
        if is_settled(_content(before), name.fresh):
            content = _content(before)
        entity = replace(
            before,
            content=content,
            text=_text(content),
            trust=least_trust([before.trust, *trust]),
            occurred_at=min([before.at, *times]),
            state="active" if before.state == "archived" else before.state,
        )
        if entity == before:
            return entity, None
        reason = f"{_episodes(len(evidence))} more mention it."
        return entity, edit_record(_group(entity.id), before, entity, reason)

    def _near_misses(self, waiting: list[_Key]) -> tuple[str, ...]:
        counted = [(n.tally.episodes, n.key) for n in waiting if n.tally is not None]
        counted.sort(key=lambda pair: (-pair[0], pair[1]))
        return tuple(
            f"{key!r} is mentioned in {_episodes(episodes)}; an entity needs {self.least_episodes}."
            for episodes, key in counted[:_NOTES]
        )


def _content(entity: Record) -> Entity:
    assert isinstance(entity.content, Entity)
    return entity.content


def _text(entity: Entity) -> str:
    """What recall finds an entity by."""
    return ", ".join([entity.name, *entity.aliases])


def _group(entity: RecordId) -> Group:
    return Group(phase=NAME, kind="entity", id=entity)


def _episodes(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"
