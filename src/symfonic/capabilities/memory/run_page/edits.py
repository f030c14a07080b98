"""Before and after, in people's words: one row for each column that a run changed.

A body is compared field by field, and records that changed alike stand in one row: a summary
condenses its twenty sources with one line and not with twenty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.run_page.commands import more
from symfonic.capabilities.memory.run_page.markup import Html, excerpt, joined, tag
from symfonic.capabilities.memory.run_page.wording import (
    column,
    kinds,
    steps_of,
    value,
)
from symfonic.capabilities.memory.strength import strength_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.run_page.groups import Telling, Told
    from symfonic.capabilities.memory.store import JournalRow

SHOWN: Final = 12
"""Rows of one group; the rest is counted."""

_CUT: Final = 220
_LOST: Final = "not kept"
_SKIPPED: Final = frozenset({"body", "key", "recorded_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """One column of one record, in words."""

    column: str
    before: str
    after: str


def edits_of(telling: Telling, group: Told) -> Html | None:
    """A table of what stood there before and what after; none where the group only adds."""
    alike: dict[_Edit, list[str]] = {}
    for row in group.rows:
        if row.change.operation == "edit" and row.change.table == "record":
            for edit in _edits(telling, row):
                alike.setdefault(edit, []).append(str(row.change.row[0]))
    if not alike:
        return None
    rows = [_row(telling, group, edit, ids) for edit, ids in list(alike.items())[:SHOWN]]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("What", "Before", "After")))
    table = tag(
        "table", tag("caption", "Before and after", class_="unseen"), tag("thead", head),
        tag("tbody", *rows), class_="edits",
    )  # fmt: skip
    name = telling.story.run_name(group.run)
    return joined([table, more(len(alike) - len(rows), "diff", name, "--full")])


def strength(telling: Telling, row: JournalRow, stored: Any) -> float:  # noqa: ANN401 - a column
    """A stored strength as 0 to 1, read at the clock of the run that changed it."""
    clock = next(run.clock for run in telling.story.runs if run.number == row.run)
    return strength_at(int(stored), clock, telling.story.half_life_hours)


def _edits(telling: Telling, row: JournalRow) -> Iterator[_Edit]:
    for name in sorted(row.change.after.keys() - _SKIPPED):
        before, after = row.before.get(name, _LOST), row.change.after[name]
        if name == "strength":
            shown = [
                _LOST if given == _LOST else f"{strength(telling, row, given):.2f}"
                for given in (before, after)
            ]
        else:
            shown = [given if given == _LOST else value(name, given) for given in (before, after)]
        yield _Edit(column=column(name), before=shown[0], after=shown[1])
    if "body" in row.change.after:
        yield from _fields(_body(row.before.get("body")), _body(row.change.after["body"]))


def _fields(before: dict[str, Any], after: dict[str, Any]) -> Iterator[_Edit]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        shown = [
            steps_of(given) if name == "steps" and given else value(name, given)
            for given in (old, new)
        ]
        yield _Edit(column=column(name), before=shown[0] if before else _LOST, after=shown[1])


def _body(text: object) -> dict[str, Any]:
    return dict(json.loads(str(text))) if text else {}


def _row(telling: Telling, group: Told, edit: _Edit, ids: list[str]) -> Html:
    if ids == [group.about]:
        of = None
    elif len(ids) == 1:
        of = tag("bdi", telling.label(ids[0], width=60))
    else:
        of = tag("span", _several(telling, ids))
    return tag(
        "tr",
        tag("th", edit.column, of and joined([tag("span", " of ", class_="quiet"), of]),
            scope="row"),
        tag("td", excerpt(edit.before, _CUT), dir="auto", data_label="Before"),
        tag("td", excerpt(edit.after, _CUT), dir="auto", data_label="After"),
    )  # fmt: skip


def _several(telling: Telling, ids: list[str]) -> str:
    found = {record.kind for i in ids if (record := telling.record(i)) is not None}
    return kinds(found.pop(), len(ids)) if len(found) == 1 else f"{len(ids):,} records"
