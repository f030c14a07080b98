"""The reference page of all knobs, generated from the fields that define them.

A table written by hand agrees with the code until the first change. ``python -m
symfonic.capabilities.memory.reference --write`` refreshes the page, and a test compares the two.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.knobs import Range, field_notes
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.settings import TABLES, environment_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PAGE = Path("docs/reference/policy.md")
BEGIN = "<!-- knobs: begin, written by symfonic.capabilities.memory.reference -->"
END = "<!-- knobs: end -->"

_CLASSES: Mapping[str, type[Any]] = {
    "policy": LearningPolicy,
    "retention": RetentionPolicy,
    "limits": RunLimits,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What there is to say of one knob, each part as one line.

    ``default`` is as a knob file, the environment and ``--set`` write it; ``range`` begins with the
    unit.
    """

    name: str
    default: str
    range: str
    environment: str
    meaning: str
    reason: str


def entries(table: str) -> Iterator[Entry]:
    """The knobs of one table of a knob file, in field order."""
    notes = field_notes(_CLASSES[table])
    for field in fields(_CLASSES[table]):
        allowed = TABLES[table][field.name]
        meaning, unit, reason = _parts(notes[field.name], allowed)
        yield Entry(
            name=field.name,
            default=_written(field.default),
            range=f"{unit}: {allowed}",
            environment=environment_name(field.name),
            meaning=meaning,
            reason=reason,
        )


def policy_table() -> str:
    """Markdown: one table each for the policy, retention and limits, a row for each field."""
    return "\n\n".join(
        f"## `{_CLASSES[table].__name__}`: `[{table}]`\n\n" + "\n".join(_rows(table))
        for table in TABLES
    )


def with_tables(page: str) -> str:
    """The page with what stands between its two markers written anew.

    Raises ``ValueError`` for a page without the markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page has no lines {BEGIN} and {END} to write between.")
    return f"{before}{BEGIN}\n\n{policy_table()}\n\n{END}{after}"


def _rows(table: str) -> Iterator[str]:
    yield "| knob | default | range | environment | what it sets, and why this default |"
    yield "|---|---|---|---|---|"
    for entry in entries(table):
        yield (
            f"| `{entry.name}` | `{entry.default}` | {entry.range} "
            f"| `{entry.environment}` | {entry.meaning}. {entry.reason} |"
        )


def _parts(note: str, allowed: Range) -> tuple[str, str, str]:
    """Meaning, unit and reason of a note written as "Meaning. Unit: range. Reason."."""
    head, found, reason = note.partition(f": {allowed}. ")
    meaning, dot, unit = head.rpartition(". ")
    if not (found and dot):
        raise ValueError(f"A field's note does not state its range as 'Unit: {allowed}.': {note}")
    return meaning, unit.lower(), reason


def _written(value: object) -> str:
    """A default as a knob file, the environment and ``--set`` write it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the page with the fields, or write it; 1 when they differ."""
    parser = argparse.ArgumentParser(description="The reference page of all knobs.")
    parser.add_argument("--write", action="store_true", help="refresh the page")
    parser.add_argument("page", nargs="?", type=Path, default=PAGE, help="the Markdown file")
    options = parser.parse_args(arguments)
    page = options.page.read_text(encoding="utf-8")
    fresh = with_tables(page)
    if options.write:
        options.page.write_text(fresh, encoding="utf-8", newline="\n")
    elif page != fresh:
        sys.stderr.write(f"{options.page} does not agree with the fields; run it with --write.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
