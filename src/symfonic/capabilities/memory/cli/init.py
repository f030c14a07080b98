"""``init``: a small app that maintains a store by a schedule, written to a directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from symfonic.capabilities.memory.cli.options import json_option
from symfonic.capabilities.memory.cli.output import clean, console, count, emit, wants_json


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--name", metavar="NAME",
    help="What the app is called, such as night-shift; the directory's name unless stated.",
)  # fmt: skip
@click.option(
    "--force", is_flag=True,
    help="Write into a directory that is not empty; files that differ are replaced, and listed.",
)  # fmt: skip
@json_option
def init(*, directory: Path, name: str | None, force: bool) -> None:
    """Write a small app that runs maintenance by a schedule.

    Settings read from the environment, a worker that contains wiring only, and what Docker, systemd
    and Kubernetes need to run it. The knobs come from the policy's fields, so that a newer release
    of this package brings its own.
    """
    from symfonic.capabilities.memory.worker.scaffolding import (
        app_name,
        package_name,
        write_app,
    )

    chosen = app_name(directory, name)
    done = write_app(directory, chosen, force=force)
    steps = [
        f"cd {_quoted(directory)}",
        "python -m venv .venv",
        ".venv/bin/pip install --editable '.[test]'",
        ".venv/bin/pytest",
        "cp .env.example .env",
        f".venv/bin/{chosen} --once",
    ]
    if wants_json():
        emit({
            "directory": str(directory), "name": chosen, "package": package_name(chosen),
            **asdict(done), "next": steps,
        })  # fmt: skip
        return
    out = console()
    out.print(f"{chosen}: {count(len(done.written), 'file')} written to {clean(str(directory))}")
    for path in done.written:
        out.print(f"  {path}")
    for path in done.replaced:
        out.print(f"Replaced, and held something else before: {path}", style="yellow")
    if done.unchanged:
        out.print(f"Held the same already: {', '.join(done.unchanged)}")
    out.print("Next; set SYMFONIC_STORE in .env before the last line:")
    for step in steps:
        out.print(f"  {step}", soft_wrap=True)


def _quoted(directory: Path) -> str:
    import shlex

    return shlex.quote(clean(str(directory)))
