"""``stats`` and ``doctor``: how much there is, and whether it is sound."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import click

from symfonic.capabilities.memory.cli.options import common, open_memory, scope_option
from symfonic.capabilities.memory.cli.output import (
    console,
    count,
    emit,
    installed,
    table,
    wants_json,
)

_PACKAGES = ("symfonic-memory", "click", "rich")


@click.command()
@common(scope_option)
def stats(*, store: str, scope: str) -> None:
    """Count what a scope holds.

    Records by kind and state, links, what no run has read yet, and runs.
    """
    with open_memory(store) as memory:
        found = memory.stats(scope=scope)
    if wants_json():
        emit(found)
        return
    made = table("kind", "state", "records", right=("records",))
    for kind, states in sorted(found["records"].items()):
        for state, number in sorted(states.items()):
            made.add_row(kind, state, f"{number:,}")
    out = console()
    out.print(f"{scope}: {found['visible']:,} records that recall may return", style="bold")
    out.print(made)
    out.print(f"{count(found['links'], 'link')}, {count(found['runs'], 'run')}")
    waiting = {phase: number for phase, number in found["pending"].items() if number}
    for phase, number in sorted(waiting.items()):
        out.print(f"not read yet by {phase}: {number:,}")
    if not waiting:
        out.print("No phase has anything left to read.")


@click.command()
@common()
def doctor(*, store: str) -> None:
    """Check the store, and show the versions at work.

    The exit code is 1 when something is wrong with what the file holds.
    """
    with open_memory(store) as memory:
        problems, scopes = memory.check(), memory.scopes()
    facts: dict[str, Any] = {
        "store": str(Path(store).absolute()), "scopes": scopes, "versions": _versions(),
        "problems": problems, "ok": not problems,
    }  # fmt: skip
    if wants_json():
        emit(facts)
    else:
        _print(facts)
    if problems:
        click.get_current_context().exit(1)


def _versions() -> dict[str, str]:
    import sqlite3

    return {
        **{name: installed(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def _print(facts: dict[str, Any]) -> None:
    out = console()
    out.print(f"{facts['store']}: {count(len(facts['scopes']), 'scope')}", style="bold")
    out.print(" · ".join(f"{name} {found}" for name, found in facts["versions"].items()))
    for problem in facts["problems"]:
        out.print(f"Wrong: {problem}", style="red")
    if facts["ok"]:
        out.print("The store is sound.", style="green")
