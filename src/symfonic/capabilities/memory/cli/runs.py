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
    run_range,
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
from symfonic.capabilities.memory.errors import InputLost, ReplayDiffers, UndoRefused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory
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
        found = memory.runs(scope=scope, limit=limit + 1)
    rows, more = found[:limit], len(found) > limit
    if wants_json():
        emit({"runs": [_plain(row) for row in rows], "more": more})
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
    if more:
        out.print(f"There are more: --limit {limit * 5}")


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
        return
    changes = count(int(row.report.get("change_count", 0)), "change")
    out = console()
    out.print(f"{name} is {row.status}: {changes}.")
    phases = row.report.get("phases", ())
    out.print(what_is_left({p["name"]: p["left"] for p in phases if p["outcome"] == "ran"}))


@click.command()
@_RUN
@common(optional_scope_option)
def drop(*, store: str, scope: str | None, run: str) -> None:
    """Drop a kept or held plan.

    Memory is not changed; what the plan was made from stays unread, and a later run takes it up.
    """
    name = run_name(run, scope)
    with open_memory(store) as memory:
        row = memory.drop(name)
    if wants_json():
        emit(_plain(row))
    else:
        console().print(f"{name} is {row.status}.")


@click.command()
@_RUN
@common(optional_scope_option, now_option)
def redo(*, store: str, scope: str | None, run: str, now: datetime | None) -> None:
    """Take back an undo.

    RUN is the undo's own name, or that of the run it had undone: what was undone stands again.
    Refused where later changes build on the undo. An approval is not redone; a person decides
    again.
    """
    name = run_name(run, scope)
    with open_memory(store) as memory:
        report = memory.redo(name, now=now)
    if wants_json():
        emit({**report.as_dict(), "redoes": name})
    else:
        brought = count(report.change_count, "change")
        console().print(f"Redone: {name}, by {report.run_id} ({brought} brought back).")
        for note in report.notes[1:]:
            console().print(f"note: {note}")


@click.command()
@_RUN
@common(optional_scope_option)
def replay(*, store: str, scope: str | None, run: str) -> None:
    """Plan a run again, and compare.

    The input is what the run was planned from then. Nothing is written and no model is asked. The
    answer is 'equal', 'different' with the first change that differs, or 'input-gone' where
    something was forgotten or compacted since. The exit code is 0 for equal, 45 for different and
    46 for input-gone.
    """
    name = run_name(run, scope)
    with open_memory(store) as memory:
        report = memory.replay(name)
    if wants_json():
        emit(report.as_dict())
    else:
        out = console()
        out.print(f"{name}: {report.outcome}.")
        for line in (report.reason, report.first_difference):
            if line:
                out.print(line)
    codes = {"equal": 0, "different": ReplayDiffers.exit_code, "input-gone": InputLost.exit_code}
    click.get_current_context().exit(codes[report.outcome])


@click.command()
@_RUN
@click.option("--cascade", is_flag=True, help="Also take back whatever later changes build on it.")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME",
    help="Only this group, as 'diff' names it, or a beginning that only it has. May be repeated.",
)  # fmt: skip
@common(optional_scope_option, now_option)
def undo(
    *,
    store: str,
    scope: str | None,
    run: str,
    groups: tuple[str, ...],
    cascade: bool,
    now: datetime | None,
) -> None:
    """Take back a run, or some of its groups.

    RUN is a name such as acme/ana#12, or its number alone with --scope; acme/ana#12..15 takes back
    every run from 15 down to 12, such as the passes of one sleep. What was there before is put
    back, and what was undone does not come back by itself. Refused where later changes build on
    it; the message says what to undo first, and --cascade takes all of it back at once.
    """
    first, last = run_range(run, scope)
    if first != last:
        if groups or cascade:
            raise click.UsageError("--group and --cascade are of one run; name that run alone.")
        _undo_all(store, first, last, now)
        return
    with open_memory(store) as memory:
        chosen = [_whole_group(memory, first, group) for group in groups]
        report = memory.undo(first, groups=chosen, cascade=cascade, now=now)
    if wants_json():
        emit({**report.as_dict(), "undoes": first, "groups": chosen})
    else:
        what = f"{count(len(chosen), 'group')} of {first}" if chosen else first
        taken = count(report.change_count, "change")
        console().print(f"Undone: {what}, by {report.run_id} ({taken} taken back).")
        click.echo(f"Bring it back with: symfonic-memory redo {report.run_id}")


def range_name(first: str, last: str) -> str:
    """What ``undo`` is given for all runs from ``first`` to ``last``: ``acme/ana#3..9``."""
    return first if first == last else f"{first}..{last.rpartition('#')[2]}"


def what_is_left(left: Mapping[str, int]) -> str:
    """What a plan leaves to later passes, by phase that ran, in a sentence."""
    waiting = ", ".join(f"{phase} {number:,}" for phase, number in left.items() if number)
    if not waiting:
        return "A plan is one pass, and nothing is left of what it was made from."
    return (
        f"A plan is one pass. Left for later: {waiting}. 'symfonic-memory sleep' goes on with it."
    )


def _undo_all(store: str, first: str, last: str, now: datetime | None) -> None:
    with open_memory(store) as memory:
        memory.run(first), memory.run(last)
        reports = memory.undo_all(first, last, now=now)
    name = range_name(first, last)
    if not reports:
        raise UndoRefused(f"There is nothing left to undo in {name}.", run=name)
    taken = sum(report.change_count for report in reports)
    if wants_json():
        runs = [report.as_dict() for report in reports]
        emit({"undoes": name, "change_count": taken, "runs": runs})
    else:
        console().print(
            f"Undone: {count(len(reports), 'run')} of {name}, by "
            f"{range_name(reports[0].run_id, reports[-1].run_id)} "
            f"({count(taken, 'change')} taken back)."
        )


def _whole_group(memory: Memory, run: str, group: str) -> str:
    """The name of the run's group that begins so; what begins none or several, as it is."""
    names = {str(row.change.group) for row in memory.diff(run)}
    found = [name for name in names if name.startswith(group)]
    return found[0] if len(found) == 1 and group not in names else group


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
