"""What a command prints: one JSON object, or text for a person.

Stored text comes from strangers. It is printed without the control characters with which it could
move a terminal's cursor or turn the direction of what a reviewer reads.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

JSON_KEY: Final = "symfonic.json"
SHORT: Final = 8
"""How much of an id a person is shown: enough for 'show' and 'forget', and nearly always unique."""
_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def wants_json(ctx: click.Context | None = None) -> bool:
    """Whether ``--json`` was given to the command that is running."""
    context = ctx or click.get_current_context()
    return bool(context.meta.get(JSON_KEY, False))


def emit(value: object) -> None:
    """Print a value as one JSON object on one line."""
    click.echo(json_line(value))


def json_line(value: object) -> str:
    """A value as JSON on one line, in characters that standard output can carry."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, default=str)
    return text


def installed(package: str) -> str:
    """The version of an installed distribution; a checkout on the import path has none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def console(*, stderr: bool = False) -> Console:
    """Where text for a person goes. Square brackets and numbers in it mean nothing special."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def shows_progress() -> bool:
    """Whether somebody is watching: a terminal on standard error, and no ``--json``."""
    return sys.stderr.isatty() and not wants_json()


def clean(text: str) -> str:
    """Stored text without characters that act on a terminal."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n"))


def shorten(text: str, width: int) -> str:
    """The beginning of a text on one line, at most ``width`` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def when(moment: datetime | str | None) -> str:
    """A time to the minute, in UTC; a dash where there is none."""
    if moment is None:
        return "—"
    aware = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return aware.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 change``, ``2,000 changes``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def duration(milliseconds: float) -> str:
    """A time span as a person reads it."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table in the one style of all commands; ``right`` names columns of numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def indented(text: str | Text, by: int, style: str = "") -> RenderableType:
    """Text whose every line begins ``by`` columns in, also where it is folded."""
    from rich.padding import Padding
    from rich.text import Text

    return Padding.indent(Text(text, style) if isinstance(text, str) else text, by)


def panel(title: str, *lines: RenderableType) -> RenderableType:
    """Lines in a frame with a title."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    return Panel(Group(*lines), title=Text(title, "bold"), title_align="left", padding=(0, 1))


def plain(value: object) -> str:
    """A knob's or a column's value as a file or a flag would write it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
