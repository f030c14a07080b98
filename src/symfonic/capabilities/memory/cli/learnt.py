"""What runs have learnt, read from their journals: names, procedures, summaries, what grew strong.

It is read from the changes and not from memory as it is now, so it is the same for a dry run, a
kept plan, and a run that has been undone since.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from symfonic.capabilities.memory.cli.output import clean, count, indented, shorten, table
from symfonic.capabilities.memory.records import (
    Entity,
    Procedure,
    Summary,
    from_columns,
    to_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rich.console import Console

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

READABLE: Final = 50_000
"""Changes up to which a journal is read for this; ``diff`` shows any run."""

_NAMES_PER_KIND: Final = 14
_SUMMARIES: Final = 5
_RISERS: Final = 5
_BAR: Final = 12


class Entry(Protocol):
    """A change and what stood there before, as a journal has them."""

    @property
    def change(self) -> Change: ...
    @property
    def before(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Riser:
    """A record whose strength rose; both are 0 to 1, to two decimals, at the clock of the run."""

    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What a list of changes adds up to. ``mentions`` counts the links that point at a record."""

    entities: tuple[Record, ...] = ()
    procedures: tuple[tuple[Record, str], ...] = ()
    summaries: tuple[Record, ...] = ()
    risers: tuple[Riser, ...] = ()
    mentions: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.entities or self.procedures or self.summaries or self.risers)


def learnt_from(entries: Iterable[Entry], memory: Memory, *, scope: str, now: datetime) -> Learnt:
    """What these changes of one scope add up to, greatest first."""
    added: dict[str, tuple[Record, str]] = {}
    mentions: Counter[str] = Counter()
    strengths: dict[str, tuple[int, int]] = {}
    for entry in entries:
        change = entry.change
        i = str(change.row[0])
        if change.operation == "add" and change.table == "record":
            added[i] = (from_columns(change.after, id=i, scope=scope), change.reason)
        elif "body" in change.after and i in added:
            columns = {**to_columns(added[i][0]), **change.after}
            added[i] = (from_columns(columns, id=i, scope=scope), change.reason)
        elif change.operation == "add" and change.table == "link" and change.row[1] == "mentions":
            mentions[str(change.row[2])] += 1
        elif change.after.keys() == {"strength"} and "strength" in entry.before:
            first = strengths.get(i, (int(entry.before["strength"]), 0))[0]
            strengths[i] = (first, int(str(change.after["strength"])))
    new = [record for record, _ in added.values()]
    return Learnt(
        entities=tuple(
            sorted(
                (r for r in new if isinstance(r.content, Entity)),
                key=lambda r: (-mentions[r.id], r.text, r.id),
            )
        ),
        procedures=tuple(row for row in added.values() if isinstance(row[0].content, Procedure)),
        summaries=tuple(r for r in new if isinstance(r.content, Summary)),
        risers=_risers(strengths, {r.id: r for r in new}, memory, scope=scope, now=now),
        mentions=mentions,
    )


def _risers(
    strengths: Mapping[str, tuple[int, int]],
    new: Mapping[str, Record],
    memory: Memory,
    *,
    scope: str,
    now: datetime,
) -> tuple[Riser, ...]:
    from symfonic.capabilities.memory.service import strength_at

    rising = [i for i, (before, after) in strengths.items() if after > before]
    rising = [i for i in rising if i not in new] or rising
    if not rising:
        return ()
    half_life = memory.stats(scope=scope)["half_life_hours"]
    shown: dict[str, tuple[float, float]] = {}
    for i in sorted(rising, key=lambda i: (strengths[i][0] - strengths[i][1], i)):
        before, after = (round(strength_at(of, now, half_life), 2) for of in strengths[i])
        if after > before and len(shown) < _RISERS:
            shown[i] = (before, after)
    known: dict[str, Record] = {**new}
    known |= {str(i): record for i, record in memory.records(list(shown), scope=scope).items()}
    return tuple(
        Riser(name=known[i].text if i in known else i, before=before, after=after)
        for i, (before, after) in shown.items()
    )


def print_learnt(console: Console, found: Learnt) -> None:
    """The sections of what was learnt; nothing where nothing was."""
    from rich.text import Text

    if found.entities:
        console.print(
            Text(f"\nNew names: {count(len(found.entities), 'entity', 'entities')}", "bold")
        )
        _print_entities(console, found)
    if found.procedures:
        console.print(Text(f"\nProcedures drafted: {len(found.procedures)}", "bold"))
        for record, reason in found.procedures:
            _print_draft(console, record, reason)
    if found.summaries:
        turns = sum(
            r.content.episode_count for r in found.summaries if isinstance(r.content, Summary)
        )
        number = count(len(found.summaries), "summary", "summaries")
        console.print(Text(f"\nCondensed: {count(turns, 'turn')} into {number}", "bold"))
        for record in found.summaries[:_SUMMARIES]:
            console.print(indented(shorten(record.text.partition("\n")[0], 150), 2))
        if len(found.summaries) > _SUMMARIES:
            console.print(Text(f"  … and {len(found.summaries) - _SUMMARIES} more", "dim"))
    if found.risers:
        console.print(Text("\nGrew strongest", "bold"))
        _print_risers(console, found.risers)


def _print_entities(console: Console, found: Learnt) -> None:
    from rich.text import Text

    kinds: dict[str, list[Record]] = {}
    for record in found.entities:
        if isinstance(record.content, Entity):
            kinds.setdefault(record.content.entity_kind, []).append(record)
    made = table("kind", "name, and in how many turns")
    for kind in sorted(kinds, key=lambda k: (k == "unknown", -len(kinds[k]), k)):
        names = Text()
        for record in kinds[kind][:_NAMES_PER_KIND]:
            names.append(f"{', ' if names else ''}{shorten(record.text, 60)} ")
            names.append(f"({found.mentions.get(record.id, 0):,})", "cyan")
        rest = len(kinds[kind]) - _NAMES_PER_KIND
        made.add_row(Text(kind), names.append(f", and {rest} more" if rest > 0 else ""))
    console.print(made)


def _print_draft(console: Console, record: Record, reason: str) -> None:

    title, *steps = clean(record.text).split("\n")
    console.print(indented(title, 2, "bold green"))
    for step in steps:
        console.print(indented(step, 4))
    console.print(indented(f"why: {shorten(reason, 200)}", 4, "dim"))
    console.print(indented(f"drafts show {record.id[:8]}", 4, "dim"))


def _print_risers(console: Console, risers: Sequence[Riser]) -> None:
    from rich.text import Text

    made = table("record", "before", "after", "", right=("before", "after"))
    for riser in risers:
        full = round(riser.after * _BAR)
        kept = min(full, round(riser.before * _BAR))
        bar = Text.assemble(
            "█" * kept, ("▓" * (full - kept), "green"), ("░" * (_BAR - full), "dim")
        )
        made.add_row(
            Text(shorten(riser.name, 36)), f"{riser.before:.2f}", f"{riser.after:.2f}", bar
        )
    console.print(made)
