"""``runs``, ``diff``, ``apply`` and ``undo``: what runs did, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    now_option,
    open_memory,
    optional_scope_option,
    run_name,
    scope_option,
)
from symfonic.capabilities.memory.cli.output import (
    console,
    count,
    emit,
    panel,
    table,
    wants_json,
    when,
)

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.store import RunRow

_RUN = click.argument("run", metavar="RUN")


@click.command()
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
@common(scope_option)
def runs(*, store: str, scope: str, limit: int) -> None:
    """List the latest runs of a scope.

    Sleeps, plans, undone runs, ingests and edits by people, the newest first.
    """
    from rich.text import Text

    with open_memory(store) as memory:
        rows = memory.runs(scope=scope, limit=limit)
    if wants_json():
        emit({"runs": [_plain(row) for row in rows]})
        return
    made = table("run", "kind", "status", "clock (UTC)", "changes", "output", right=("changes",))
    for row in rows:
        changes = row.report.get("change_count")
        made.add_row(
            Text(_name(row), "bold"), row.kind, row.status, when(row.clock),
            "" if changes is None else f"{changes:,}", Text(row.digest[:12], "dim"),
        )  # fmt: skip
    out = console()
    out.print(made if rows else f"There are no runs in {scope} yet.")


@click.command()
@_RUN
@click.option("--full", is_flag=True, help="Show every change with what stood there before.")
@common(optional_scope_option)
def diff(*, store: str, scope: str | None, run: str, full: bool) -> None:
    """Show what a run changes or has changed.

    RUN is a name such as acme/ana#12, or its number alone with --scope. The changes stand by phase
    and by group; 'undo --group' takes back one group.
    """
    from symfonic.capabilities.memory.cli.changes_view import as_plain, print_changes

    name = run_name(run, scope)
    with open_memory(store) as memory:
        row, rows = memory.run(name), memory.diff(name)
        if wants_json():
            emit({**_plain(row), "changes": [as_plain(entry) for entry in rows]})
            return
        out = console()
        out.print(panel(f"Run {name}", *_described(row)))
        print_changes(out, rows, memory, scope=row.scope, full=full)


@click.command()
@_RUN
@common(optional_scope_option)
def apply(*, store: str, scope: str | None, run: str) -> None:
    """Carry out a kept plan.

    Refused where memory has changed since the plan was made: plan again then.
    """
    name = run_name(run, scope)
    with open_memory(store) as memory:
        row = memory.apply(name)
    if wants_json():
        emit(_plain(row))
    else:
        changes = count(int(row.report.get("change_count", 0)), "change")
        console().print(f"{name} is {row.status}: {changes}.")


@click.command()
@_RUN
@click.option(
    "--group", "groups", multiple=True, metavar="NAME",
    help="Only this group, as 'diff' names it. May be repeated.",
)  # fmt: skip
@common(optional_scope_option, now_option)
def undo(
    *, store: str, scope: str | None, run: str, groups: tuple[str, ...], now: datetime | None
) -> None:
    """Take back a run, or some of its groups.

    What was there before is put back, and what was undone does not come back by itself. Refused
    where later changes build on it; the message names them.
    """
    name = run_name(run, scope)
    with open_memory(store) as memory:
        report = memory.undo(name, groups=groups, now=now)
    if wants_json():
        emit({**report.as_dict(), "undoes": name, "groups": list(groups)})
    else:
        what = f"{count(len(groups), 'group')} of {name}" if groups else name
        taken = count(report.change_count, "change")
        console().print(f"Undone: {what}, by {report.run_id} ({taken} taken back).")


def _name(row: RunRow) -> str:
    return f"{row.scope}#{row.number}"


def _plain(row: RunRow) -> dict[str, Any]:
    return {
        "run_id": _name(row), "scope": row.scope, "kind": row.kind, "status": row.status,
        "clock": row.clock.isoformat(), "digest": row.digest, "input_digest": row.input_digest,
        "change_count": row.report.get("change_count", 0),
    }  # fmt: skip


def _described(row: RunRow) -> list[str]:
    changes = count(int(row.report.get("change_count", 0)), "change")
    return [
        f"{row.kind}, {row.status}, at {when(row.clock)} UTC: {changes}",
        *([f"output {row.digest}"] if row.digest else []),
    ]
