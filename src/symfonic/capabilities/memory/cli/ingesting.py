"""``ingest``: read log files into memory, each by itself, with its rejects beside it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    embedder_option,
    now_option,
    open_memory,
    salt_option,
    scope_option,
    timezone_option,
)
from symfonic.capabilities.memory.cli.output import (
    clean,
    console,
    count,
    emit,
    shows_progress,
    table,
    wants_json,
)
from symfonic.capabilities.memory.errors import InputError, SymfonicError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory

_COUNTS = ("read", "added", "known", "rejected")
_EMPTY = "there was nothing to read in it"


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format", "format_name", metavar="NAME",
    help="The format of the files, such as openai or claude_code; found out unless named.",
)  # fmt: skip
@click.option("--session", metavar="NAME", help="The session of turns that name none.")
@click.option(
    "--rejects", metavar="DIR", type=click.Path(path_type=Path),
    help="Where lines that cannot be read are kept; beside their file unless named.",
)  # fmt: skip
@common(scope_option, timezone_option, embedder_option, now_option, salt_option)
def ingest(
    *,
    store: str,
    scope: str,
    files: tuple[str, ...],
    format_name: str | None,
    session: str | None,
    rejects: Path | None,
    timezone: str | None,
    embedder_name: str | None,
    now: datetime | None,
    salt: bytes | None,
) -> None:
    """Read log files into memory.

    The same file again adds nothing, and a longer version of it what is new. With --embedder what
    was read gets vectors; 'symfonic-memory embed' does it later. A file that cannot be
    read is reported and the others go on; the exit code is then that of the first such error, and
    13 for a file of which every line was rejected.
    """
    rows: list[dict[str, Any]] = []
    codes: list[int] = []
    with open_memory(store, create=True, salt=salt, embedder_name=embedder_name) as memory:
        for file in files:
            try:
                rows.append(
                    _ingested(
                        memory, file, scope=scope, format=format_name, session=session,
                        rejects=rejects, timezone=timezone, now=now,
                    )
                )  # fmt: skip
            except SymfonicError as error:
                codes.append(error.exit_code)
                rows.append(_failed(file, error))
                if not isinstance(error, InputError):
                    break
            else:
                codes += [InputError.exit_code] * _all_rejected(rows[-1])
    if wants_json():
        emit({"files": rows})
    else:
        _print(rows)
    if codes:
        click.get_current_context().exit(codes[0])


def _ingested(memory: Memory, file: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - passed on as they are
    with progress_bar(Path(file).name) as progress:
        report = memory.ingest(file, progress=progress, **options)
    empty = not report.read and not report.pending
    return {**report.as_dict(), "note": _EMPTY if empty else None}


def _all_rejected(row: Mapping[str, Any]) -> bool:
    """Whether a file had lines, and not one of them is in memory."""
    return bool(row["read"] == row["rejected"] > 0 and not row["added"] and not row["known"])


def _failed(file: str, error: SymfonicError) -> dict[str, Any]:
    return {
        "path": file, "format": None, **dict.fromkeys(_COUNTS, 0), "reject_file": None,
        "note": None,
        "error": {"type": type(error).__name__, "message": str(error), "facts": error.facts},
    }  # fmt: skip


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """What is told how far a file has been read; ``None`` where nobody watches."""
    if not shows_progress():
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as bars:
        task = bars.add_task(clean(name), total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total or None)


def _print(rows: Sequence[Mapping[str, Any]]) -> None:
    from rich.text import Text

    made = table("file", "format", *_COUNTS, right=_COUNTS)
    for row in rows:
        if "error" not in row:
            numbers = [f"{row[name]:,}" for name in _COUNTS]
            made.add_row(Text(clean(Path(row["path"]).name)), row["format"], *numbers)
    if made.row_count:
        console().print(made)
    for row in rows:
        for line in _remarks(row):
            click.echo(line, err="error" in row)


def _remarks(row: Mapping[str, Any]) -> Iterator[str]:
    """What the numbers of one file do not say."""
    path = clean(row["path"])
    if "error" in row:
        yield f"Error: {clean(row['error']['message'])}"
        return
    if row["note"]:
        yield f"{path}: {row['note']}."
    if number := row["rejected"]:
        yield f"{path}: {count(number, 'line')} {_were(number)} not read; see {row['reject_file']}"
    if number := row["zone_missing"]:
        names = "names" if number == 1 else "name"
        yield f"{path}: {number:,} of these {names} no zone; add --timezone."
    if number := row["forgotten"]:
        stay = "stays" if number == 1 else "stay"
        yield f"{path}: {count(number, 'turn')} {_were(number)} forgotten before, and {stay} so."
    if number := row["skipped"]:
        yield f"{path}: {count(number, 'message')} said nothing and {_were(number)} left out."
    if row["pending"]:
        yield f"{path}: the last line is not ended yet; ingest again when it is."
    if row["resumed"]:
        yield f"{path}: went on where an earlier ingest was interrupted."


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
