"""What already stands for a pattern, and the changes that add a draft or extend one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    edit_record,
)
from symfonic.capabilities.memory.phases.procedure_drafts import (
    Occurrence,
    Support,
    counted,
    evidence_of,
    extended,
)
from symfonic.capabilities.memory.records import Procedure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.view import View

PHASE: Final = "promote_procedures"

EVIDENCE: Final = 50
"""How many episodes a night links to a drafted routine at most, the newest; a smaller
``history_per_key`` counts. Its support is counted from all."""

_ALL: Final = 1000
"""What rests on one episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands for a pattern: ``draft`` is open, ``decided`` was the last decision on it.

    ``key`` is that of the draft, whether it is there or not: after a decision it names what was
    decided, so that the new draft is another record and the decided one is never edited.
    """

    key: str
    draft: Record | None = None
    decided: Record | None = None

    def admits(self, support: Support) -> bool:
        """Whether a new draft may be made: after a decision, only once support has doubled."""
        if self.decided is None or not isinstance(self.decided.content, Procedure):
            return True
        return support.sessions >= 2 * max(1, self.decided.content.support)


def standing_for(view: View, keys: Iterable[str]) -> dict[str, Standing]:
    """What stands for each pattern, decisions followed up to the last.

    An ancestor's decision counts; its open draft does not, since a run changes only its own rows.
    """
    found = {key: Standing(key=key) for key in keys}
    asked = {key: key for key in found}
    while asked:
        records = view.by_key("procedure", asked.values())
        asked, before = {}, asked
        for pattern, key in before.items():
            record = records.get(key)
            if record is None:
                continue
            if record.status != "draft":
                following = f"{pattern}#{record.id}"
                found[pattern] = Standing(key=following, decided=record)
                asked[pattern] = following
            elif record.scope == view.scope:
                decided = found[pattern].decided
                found[pattern] = Standing(key=key, draft=record, decided=decided)
    return found


def draft_added(
    draft: Record, episodes: Iterable[Record], reason: str, *, most: int
) -> list[Change]:
    """A new draft, with the newest ``most`` of its evidence."""
    group = Group(phase=PHASE, kind="procedure", id=draft.id)
    links = evidence_of(draft.id, episodes, most=most)
    return [
        add_record(group, draft, reason),
        *(add_link(group, link, "shows the steps, or what was asked for") for link in links),
    ]


def drafts_extended(
    view: View, found: Mapping[str, tuple[Record, Support, Sequence[Occurrence]]]
) -> list[Change]:
    """What this pass's occurrences change in open drafts; nothing where they were known.

    What a draft shows already is asked from the episodes' side: a draft that was seen a thousand
    times costs no more than a new one.
    """
    most = min(view.limits.history_per_key, EVIDENCE)
    changes: list[Change] = []
    found_links = {
        key: evidence_of(
            draft.id, [one for each in occurrences for one in each.episodes], most=most
        )
        for key, (draft, _, occurrences) in found.items()
    }
    cited = {link.target for links in found_links.values() for link in links}
    shown = {
        (link.source, link.target)
        for link in view.links(cited, kinds=("evidence",), direction="in", per_record=_ALL)
    }
    for key in sorted(found):
        draft, support, occurrences = found[key]
        group = Group(phase=PHASE, kind="procedure", id=draft.id)
        new = [link for link in found_links[key] if (link.source, link.target) not in shown]
        after = extended(draft, occurrences, support)
        edit = edit_record(group, draft, after, f"seen again: {support}")
        changes.extend([] if edit is None else [edit])
        reason = f"seen again, in all in {counted(support.sessions, 'session')}"
        changes.extend(add_link(group, link, reason) for link in new)
    return changes
