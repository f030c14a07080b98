"""``export``, ``import`` and ``restore``: everything of a scope as JSON lines, and back."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    named_scope,
    open_memory,
    optional_scope_option,
    scope_option,
    store_file,
)
from symfonic.capabilities.memory.cli.output import (
    console,
    count,
    emit,
    json_line,
    shows_progress,
    wants_json,
)
from symfonic.capabilities.memory.errors import InputError, SymfonicError
from symfonic.capabilities.memory.export_file import checked, framed, parsed, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_STANDARD: Final = "-"


@click.command()
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write; standard output unless named. A file there is replaced at the end.",
)  # fmt: skip
@common(scope_option)
def export(*, store: str, scope: str, out: Path | None) -> None:
    """Write everything a scope holds as JSON lines.

    Every row, the history and the marks of what was forgotten included. The first line names the
    format and its version, the last one how many rows there are.
    """
    if wants_json() and out is None:
        raise click.UsageError("--json needs --out: without it the rows go to standard output.")
    with open_memory(store) as memory, _counting(f"exporting {scope}") as step:
        if out is not None:
            _keep_off_store(out, store)
        rows = memory.export(scope=scope)
        if out is None:
            number = 0
            for line in framed(scope, rows):
                click.echo(json_line(line))
            return
        with _written(out) as stream:
            for number, line in enumerate(framed(scope, rows)):
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                step(number)
    if wants_json():
        emit({"path": str(out), "scope": scope, "rows": number - 1})
    else:
        console().print(f"Exported {scope}: {count(number - 1, 'row')} in {out}.")


@click.command("import")
@click.argument("file", metavar="FILE")
@common(optional_scope_option)
def import_(*, store: str, scope: str | None, file: str) -> None:
    """Bring an export into a scope.

    FILE is what 'export' wrote, or - for standard input. Without --scope the rows go into the scope
    they came from. Either all of it lands or nothing. Approved procedures come in as drafts, for a
    person to approve here.
    """
    with _opened(file) as stream:
        lines = parsed(stream, file)
        source = checked(next(lines, {}), file)
        target = source if scope is None else scope
        with (
            _unmade_when_refused(store),
            open_memory(store, create=True) as memory,
            _counting(f"importing {target}") as step,
        ):
            added = memory.restore_rows(rows_of(lines, file, step), scope=target)
    if wants_json():
        emit({"path": file, "scope": target, "added": added})
    else:
        said = ", ".join(f"{name} {number:,}" for name, number in added.items() if number)
        console().print(f"Imported into {target}: {said or 'nothing that was not there'}.")


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--scope", metavar="PATH", callback=lambda _ctx, _param, value: value and named_scope(value),
    help="Where to; the scope that was exported unless named.",
)  # fmt: skip
@common()
def restore(*, store: str, scope: str | None, file: str) -> None:
    """Put an export back as it was, into an empty scope.

    FILE is what 'export' wrote, or - for standard input. Unlike 'import' it keeps everything:
    decisions on procedures with who and when, kept plans, the history and what can be undone. So
    the scope must hold nothing, and the file must be as it was written: its last line vouches for
    it. Either all of it lands or nothing.
    """
    with (
        _opened(file) as stream,
        _unmade_when_refused(store),
        open_memory(store, create=True) as memory,
        _counting(f"restoring {file}") as step,
    ):
        restored = memory.restore(parsed(stream, file), scope=scope, name=file, step=step)
    if wants_json():
        emit({"path": file, **asdict(restored)})
    else:
        found = ", ".join(f"{name} {number:,}" for name, number in restored.rows.items() if number)
        console().print(f"Restored {restored.scope} as it was exported: {found}.")


def _keep_off_store(path: Path, store: str) -> None:
    """Raise ``InputError`` where an export to ``path`` would take the place of the store."""
    file = store_file(store)
    parts = [
        Path(f"{place}{suffix}")
        for place in (file, os.path.realpath(file))
        for suffix in ("", "-wal", "-shm", "-journal")
    ]
    if any(_is_same(path, part) for part in parts):
        raise InputError(
            f"{path} is the store itself, or one of its files; the export would destroy it. "
            "Name another place with --out.",
            path=str(path),
        )


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links also, or would if there were one."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def _written(path: Path) -> Iterator[IO[str]]:
    """Where the export goes: a file that is replaced at the end, or a pipe or device as it is."""
    try:
        if _is_special(path):
            with path.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
        else:
            with _replacing(Path(os.path.realpath(path))) as stream:
                yield stream
    except OSError as cause:
        raise InputError(
            f"The export cannot be written to {path}: {cause.strerror or cause}. "
            "Name another place with --out.",
            path=str(path),
        ) from cause


def _is_special(path: Path) -> bool:
    """Whether there is something that no file may take the place of."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def _replacing(path: Path) -> Iterator[IO[str]]:
    """A file that takes the place of ``path`` when all is written, and is gone after an error."""
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=f".{path.name[:40]}.",
            delete=False,
        ) as stream:  # fmt: skip
            temporary = stream.name
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
        temporary = None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


@contextmanager
def _unmade_when_refused(store: str) -> Iterator[None]:
    """A store that was made for an import that is refused is removed again while it is empty."""
    path = store_file(store)
    existed = _may_exist(path)
    try:
        yield
    except SymfonicError:
        if not existed and path.is_file() and not _scopes(store):
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        raise


def _may_exist(path: Path) -> bool:
    """Whether there is a file, or no telling; opening it says what is wrong then."""
    try:
        return path.exists()
    except OSError:
        return True


def _scopes(store: str) -> list[str]:
    with open_memory(store) as memory:
        return memory.scopes()


def _opened(file: str) -> AbstractContextManager[IO[bytes]]:
    if file == _STANDARD:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as cause:
        raise InputError(
            f"The export {file} cannot be read: {cause.strerror or cause}.", path=file
        ) from cause


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """What is told the rows so far; a person who waits sees them."""
    if not shows_progress():
        yield lambda _number: None
        return
    with console(stderr=True).status(f"{what} …") as status:

        def step(number: int) -> None:
            if number % 1000 == 0:
                status.update(f"{what}: {count(number, 'row')} …")

        yield step
