"""What a phase may propose: one frozen shape for every row, a group, a change set, its digest.

A change names a table, a row and the columns it sets, as plain JSON values. Dry run, review
page, commit, undo and export read this one list, so none can show something another does not do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal

from symfonic.capabilities.memory.records import (
    Columns,
    Link,
    LinkKind,
    Record,
    RecordId,
    State,
    Use,
    canonical,
    rounded,
    to_columns,
    to_microseconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

Table = Literal["record", "link", "use"]
Operation = Literal["add", "edit", "remove"]

DERIVED_COLUMNS: Final = frozenset({"strength", "spread_weight", "weight"})
"""Columns that follow from other rows: undo never compares them and no suppression drops them."""

_OUTSIDE_DIGEST: Final = frozenset({"recorded_at"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Group:
    """Changes that make sense only together: an entity with its links, a summary with its sources.

    ``id`` is the id of the derived record the group is about, so a group's name holds no text.
    Undo takes or refuses a group whole.
    """

    phase: str
    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.phase}/{self.kind}/{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One row added, edited or removed.

    ``row`` is the row's key within the scope: ``(id,)`` of a record, ``(source, kind, target)``
    of a link, ``(record, hour, kind)`` of a use. ``after`` holds every content column of an
    added row, and only the changed ones of an edit. ``reason`` is a sentence for a reviewer.
    """

    group: Group
    operation: Operation
    table: Table
    row: tuple[str | int, ...]
    after: Columns = field(default_factory=dict)
    reason: str = ""

    @property
    def derived(self) -> bool:
        """Whether it only follows from other rows: strength, and spread uses."""
        return self.table == "use" or (
            self.operation == "edit" and DERIVED_COLUMNS.issuperset(self.after)
        )


def add_record(group: Group, record: Record, reason: str) -> Change:
    """A new record; its evidence is added as links in the same group."""
    return Change(
        group=group, operation="add", table="record", row=(record.id,),
        after=to_columns(record), reason=reason,
    )  # fmt: skip


def edit_record(group: Group, before: Record, after: Record, reason: str) -> Change | None:
    """The columns in which ``after`` differs from ``before``; ``None`` when there are none."""
    old = to_columns(before)
    changed: Columns = {
        name: value for name, value in to_columns(after).items() if old[name] != value
    }
    if not changed:
        return None
    return Change(
        group=group, operation="edit", table="record", row=(before.id,),
        after=changed, reason=reason,
    )  # fmt: skip


def set_state(group: Group, record: Record, state: State, reason: str) -> Change:
    """Another state of a record, and nothing else of it."""
    return Change(
        group=group, operation="edit", table="record", row=(record.id,),
        after={"state": state}, reason=reason,
    )  # fmt: skip


def add_link(group: Group, link: Link, reason: str) -> Change:
    """A new link, or the same link again with another count."""
    return Change(
        group=group, operation="add", table="link", row=(link.source, link.kind, link.target),
        after={"count": link.count, "at": to_microseconds(link.at)}, reason=reason,
    )  # fmt: skip


def remove_link(group: Group, source: str, kind: LinkKind, target: str, reason: str) -> Change:
    """A link that no longer holds."""
    return Change(
        group=group, operation="remove", table="link", row=(source, kind, target), reason=reason
    )


def set_strength(group: Group, record: RecordId, strength: int, reason: str) -> Change:
    """The recomputed strength of a record, in thousandths of a base-2 logarithm."""
    return Change(
        group=group, operation="edit", table="record", row=(record,),
        after={"strength": strength}, reason=reason,
    )  # fmt: skip


def add_spread(group: Group, use: Use, reason: str) -> Change:
    """A neighbour's share of a use: added to what already spread to it in that hour."""
    return Change(
        group=group, operation="add", table="use", row=(use.record, use.hour, use.kind),
        after={"weight": rounded(use.weight)}, reason=reason,
    )  # fmt: skip


def mark_spread(group: Group, use: Use, reason: str) -> Change:
    """How much of a use has spread, so that it spreads once."""
    return Change(
        group=group, operation="edit", table="use", row=(use.record, use.hour, use.kind),
        after={"spread_weight": rounded(use.spread_weight)}, reason=reason,
    )  # fmt: skip


def output_digest(changes: Iterable[Change]) -> str:
    """The digest of a change set: equal for equal plans, in any store, row order or process.

    ``recorded_at`` is left out: it says when this machine wrote the row, not what the row says.
    """
    digest = blake2b(digest_size=16)
    for change in changes:
        kept = {k: v for k, v in change.after.items() if k not in _OUTSIDE_DIGEST}
        line = [str(change.group), change.operation, change.table, list(change.row), kept]
        digest.update(canonical([*line, change.reason]).encode() + b"\n")
    return digest.hexdigest()
