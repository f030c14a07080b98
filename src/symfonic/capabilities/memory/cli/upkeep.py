"""``compact`` and ``half-life``: keep the store small, and change how fast memory fades."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    knobs,
    now_option,
    open_memory,
    optional_scope_option,
    scope_option,
)
from symfonic.capabilities.memory.cli.output import (
    console,
    count,
    emit,
    shows_progress,
    table,
    wants_json,
    when,
)
from symfonic.capabilities.memory.errors import RunAlreadyActive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.upkeep import Compacted, CompactReport, StoreSize

_KILOBYTE = 1000


@click.command()
@click.option(
    "--undo-days", type=int, metavar="DAYS",
    help="For how long runs can be undone, over the knob undo_days; grace_days still holds.",
)  # fmt: skip
@click.option(
    "--vacuum/--no-vacuum", default=None,
    help="Give free space back to the disk, or leave it in the file for new memory; by itself when "
    "more than a quarter of the file is free.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be dropped; write nothing.")
@click.option(
    "--policy", "policy_file", metavar="FILE", type=click.Path(path_type=Path),
    help="The TOML file of knobs that the nights run with.",
)  # fmt: skip
@common(optional_scope_option, now_option)
def compact(
    *,
    store: str,
    scope: str | None,
    now: datetime | None,
    undo_days: int | None,
    vacuum: bool | None,
    dry_run: bool,
    policy_file: Path | None,
) -> None:
    """Drop old history and fold old uses.

    Of one scope, or of every scope of the store where none is named. What memory holds, recalls and
    learns stays the same, and so do the reports and digests of all runs. Runs whose history is
    dropped can no longer be undone. It may be stopped at any moment and run again. The exit code is
    41 where some scope was being run by another process and was left out.
    """
    resolved = knobs(policy_file, ())
    retention = resolved.retention
    if undo_days is not None:
        retention = replace(retention, undo_days=undo_days)
    with open_memory(store) as memory, _watching() as watch:
        report = memory.compact(
            scope=scope, retention=retention, policy=resolved.policy, now=now, vacuum=vacuum,
            dry_run=dry_run, watch=watch,
        )  # fmt: skip
    if wants_json():
        emit(report.as_dict())
    else:
        _print(report, retention)
    if report.busy:
        click.get_current_context().exit(RunAlreadyActive.exit_code)


@click.command("half-life")
@click.argument("days", type=float, metavar="DAYS")
@common(scope_option, now_option)
def half_life(*, store: str, scope: str, now: datetime | None, days: float) -> None:
    """Let a scope's memory fade faster or slower.

    DAYS is the time in which a use loses half of its weight. Every strength is computed anew from
    what is known of its uses, in one transaction. To take it back, set the old number again.
    """
    limits = knobs(None, ()).limits
    with open_memory(store) as memory:
        report = memory.set_half_life(days, scope=scope, limits=limits, now=now)
    if wants_json():
        emit(asdict(report))
        return
    out = console()
    if not report.run:
        out.print(f"{scope} already fades with a half-life of {report.after:.15g} days.")
        return
    out.print(
        f"{scope} fades with a half-life of {report.after:.15g} days, until now "
        f"{report.before:.15g}: {count(report.changed, 'strength')} of "
        f"{report.records:,} changed. In the history it is {report.run}."
    )
    out.print(f"Take it back with: symfonic-memory half-life {report.before:.15g} --scope {scope}")


@contextmanager
def _watching() -> Iterator[Callable[[Compacted], None] | None]:
    """What is told how far a scope has come; ``None`` where nobody watches."""
    if not shows_progress():
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as bars:
        task = bars.add_task("compacting …", total=None)

        def show(done: Compacted) -> None:
            folded = f", {count(done.uses, 'use')} folded" if done.uses else ""
            bars.update(
                task, completed=done.runs, total=done.old_runs or None,
                description=f"{done.scope}: {count(done.dropped, 'change')} dropped{folded}",
            )  # fmt: skip

        yield show


def _print(report: CompactReport, retention: RetentionPolicy) -> None:
    out = console()
    title = "Dry run, nothing is written" if report.dry_run else "Compacted"
    out.print(f"{title}: what is older than {when(report.before)} UTC", style="bold")
    if retention.grace_days > retention.undo_days:
        out.print(
            f"Kept for grace_days ({retention.grace_days}) rather than undo_days "
            f"({retention.undo_days}): until then a night asks when a record was changed."
        )
    numbers = ("runs", "changes dropped", "kept short", "uses", "into")
    made = table("scope", *numbers, right=numbers)
    for one in report.scopes:
        cells = (one.runs, one.dropped, one.kept, one.uses, one.records)
        made.add_row(one.scope, *(f"{number:,}" for number in cells))
    if made.row_count:
        out.print(made)
    for path in report.busy:
        out.print(f"Left out, as another process runs it: {path}")
    out.print(_sizes(report))


def _sizes(report: CompactReport) -> str:
    before, after = report.size_before, report.size_after
    if report.rebuilt is None:
        return (
            f"The file stays at {_described(after)}: it could not be rebuilt, as somebody uses it "
            "or the disk has no room. Try again with --vacuum."
        )
    if report.rebuilt:
        return f"The file had {_bytes(before.total)} and has {_bytes(after.total)}."
    return f"The file has {_described(after)}."


def _described(size: StoreSize) -> str:
    return f"{_bytes(size.total)}, {_bytes(size.free)} of it free for new memory"


def _bytes(number: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < _KILOBYTE:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= _KILOBYTE  # type: ignore[assignment]
    return f"{number:,.1f} GB"
