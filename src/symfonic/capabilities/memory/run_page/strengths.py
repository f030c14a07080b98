"""Strength as one table: the largest movers with a bar each, and the rest counted.

A night touches hundreds of records, and what a person looks for is which of them moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.run_page.commands import more
from symfonic.capabilities.memory.run_page.edits import strength
from symfonic.capabilities.memory.run_page.markup import Html, joined, tag
from symfonic.capabilities.memory.run_page.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.run_page.groups import Telling, Told
    from symfonic.capabilities.memory.store import JournalRow

MOVERS: Final = 25
"""Rows of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mover:
    """A record's strength, 0 to 1, before the first of the runs that moved it and after the last.

    ``undone`` says that the last of them was taken back.
    """

    record: str
    group: str
    before: float
    after: float
    undone: bool

    @property
    def rank(self) -> tuple[float, str]:
        return (-abs(self.after - self.before), self.record)


def strengths_of(telling: Telling, groups: Sequence[Told]) -> Html:
    """The table over the groups of a phase that change nothing but strength."""
    rows = [row for group in groups for row in group.rows]
    movers = sorted(_movers(telling, rows), key=lambda mover: mover.rank)
    shown = movers[:MOVERS]
    head = tag(
        "tr", tag("th", "Record", scope="col"), tag("th", "Before → after", scope="col"),
    )  # fmt: skip
    table = tag(
        "table",
        tag("caption", "Strength, from 0 to 1, as read at the run's clock; largest moves first"),
        tag("thead", head), tag("tbody", *(_row(telling, mover) for mover in shown)),
        class_="strengths",
    )  # fmt: skip
    last = telling.story.run_name(groups[-1].run)
    return joined([
        table if shown else None,
        more(len(movers) - len(shown), "diff", last, "--full"),
        _uses(rows),
    ])  # fmt: skip


def _movers(telling: Telling, rows: Sequence[JournalRow]) -> list[_Mover]:
    found: dict[str, _Mover] = {}
    for row in rows:
        change, i = row.change, str(row.change.row[0])
        if change.table != "record" or "strength" not in row.before:
            continue
        known = found.get(i)
        before = strength(telling, row, row.before["strength"]) if known is None else known.before
        found[i] = _Mover(
            record=i, group=str(change.group), before=before,
            after=strength(telling, row, change.after["strength"]),
            undone=row.undone_by is not None,
        )  # fmt: skip
    return list(found.values())


def _row(telling: Telling, mover: _Mover) -> Html:
    record = telling.record(mover.record)
    kind = None if record is None else tag("span", f" {record.kind}", class_="quiet")
    undone = tag("span", "undone", class_="badge muted") if mover.undone else None
    low, high = sorted((mover.before, mover.after))
    bar = tag(
        "span",
        tag("i", style=f"left:{low * 100:.1f}%;width:{max(high - low, 0.005) * 100:.1f}%"),
        class_="bar up" if mover.after >= mover.before else "bar down", aria_hidden="true",
    )  # fmt: skip
    return tag(
        "tr",
        tag("th", tag("bdi", telling.label(mover.record)), kind, undone, scope="row"),
        tag("td", tag("span", f"{mover.before:.2f} → {mover.after:.2f}", class_="numbers"), bar),
    )  # fmt: skip


def _uses(rows: Sequence[JournalRow]) -> Html | None:
    shares = sum(r.change.table == "use" and r.change.operation == "add" for r in rows)
    spread = sum(r.change.table == "use" and r.change.operation != "add" for r in rows)
    said = []
    if shares:
        said.append(f"{counted(shares, 'share')} of a neighbour's use were counted")
    if spread:
        said.append(f"{counted(spread, 'use')} were marked as spread, so that each spreads once")
    return tag("p", f"Beside this, {' and '.join(said)}.", class_="quiet") if said else None
