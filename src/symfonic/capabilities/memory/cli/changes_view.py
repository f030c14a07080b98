"""A run's changes as text: by phase and group, each with what stood there before."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.cli.output import clean, count, indented, plain, shorten
from symfonic.capabilities.memory.records import from_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import JournalRow

_GROUPS: Final = 12
_MARK: Final = {"add": ("+", "green"), "edit": ("~", "yellow"), "remove": ("-", "red")}
_TIMES: Final = frozenset({"occurred_at", "recorded_at", "until", "at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A change that is written nowhere, and what stands there now."""

    change: Change
    before: Mapping[str, Any] = field(default_factory=dict)


def as_plain(row: JournalRow) -> dict[str, Any]:
    """A journal row by field name, for ``--json``."""
    change = row.change
    return {
        "seq": row.seq, "phase": change.group.phase, "group": str(change.group),
        "operation": change.operation, "table": change.table, "row": list(change.row),
        "before": dict(row.before), "after": dict(change.after), "reason": change.reason,
        "undone_by": row.undone_by,
    }  # fmt: skip


def print_changes(
    console: Console, rows: Sequence[JournalRow], memory: Memory, *, scope: str, full: bool
) -> None:
    """The changes by phase; without ``full`` a line for each of the first groups."""
    from rich.text import Text

    names = _names(rows, memory, scope=scope)
    ordered = sorted(rows, key=lambda row: (row.change.group.phase, str(row.change.group)))
    phases = list(dict.fromkeys(row.change.group.phase for row in rows))
    by_phase = {
        phase: [
            (name, list(group)) for name, group in groupby(found, key=lambda r: str(r.change.group))
        ]
        for phase, found in (
            (phase, list(found))
            for phase, found in groupby(ordered, key=lambda r: r.change.group.phase)
        )
    }
    for phase in phases:
        groups = by_phase[phase]
        number = sum(len(group) for _, group in groups)
        console.print(
            Text.assemble(
                (f"\n{phase}", "bold"),
                f": {count(number, 'change')} in {count(len(groups), 'group')}",
            )
        )
        for name, group in groups if full else groups[:_GROUPS]:
            console.print(_group_line(name, group, names))
            for row in group if full else ():
                for line in _change_lines(row, names):
                    console.print(line)
        if not full and len(groups) > _GROUPS:
            console.print(Text(f"  … and {len(groups) - _GROUPS} more groups: --full", "dim"))


def _group_line(name: str, group: Sequence[JournalRow], names: Mapping[str, str]) -> Any:  # noqa: ANN401 - rich
    from rich.text import Text

    change = group[0].change
    undone = "  (undone)" if all(row.undone_by is not None for row in group) else ""
    return Text.assemble(
        "  ", (shorten(names.get(change.group.id, change.group.id), 60), "cyan"), "  ",
        f"{_counted(group)}{undone}\n    ", (name, "dim"), "\n    ", shorten(change.reason, 160),
    )  # fmt: skip


def _counted(group: Sequence[JournalRow]) -> str:
    kinds: dict[tuple[str, str], int] = {}
    for row in group:
        kind = (row.change.operation, row.change.table)
        kinds[kind] = kinds.get(kind, 0) + 1
    return " ".join(f"{_MARK[what][0]}{number} {table}" for (what, table), number in kinds.items())


def _change_lines(row: JournalRow, names: Mapping[str, str]) -> Iterator[Any]:
    from rich.text import Text

    change = row.change
    mark, style = _MARK[change.operation]
    shown = " ".join(shorten(names.get(str(part), str(part)), 48) for part in change.row)
    yield indented(Text.assemble((mark, style), f" {change.table} {shown}"), 6)
    columns = sorted({*change.after, *(row.before if change.operation != "add" else ())})
    for column in columns:
        after = _value(column, change.after.get(column))
        if change.operation == "edit":
            text = f"{column}: {_value(column, row.before.get(column))} → {after}"
        elif change.operation == "remove":
            text = f"{column}: {_value(column, row.before.get(column))}"
        elif change.after[column] is None:
            continue
        else:
            text = f"{column}: {after}"
        yield indented(text, 10, "dim")


def _value(column: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    if column in _TIMES and isinstance(value, int):
        return from_microseconds(value).isoformat()
    return clean(plain(value))


def _names(rows: Sequence[JournalRow], memory: Memory, *, scope: str) -> dict[str, str]:
    """What the records that the changes touch are called: their text, of the run or of memory."""
    ids = {str(part) for row in rows for part in row.change.row}
    known = {i: record.text for i, record in memory.records(sorted(ids), scope=scope).items()}
    for row in rows:
        text = row.change.after.get("text") or row.before.get("text")
        if row.change.table == "record" and text:
            known[row.change.row[0]] = str(text)  # type: ignore[index]
    return {str(i): text for i, text in known.items() if text}
