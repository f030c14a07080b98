"""``backfill``: imported history walked night by night."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    knobs,
    open_memory,
    read_moment,
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
from symfonic.capabilities.memory.cli.sleeping import (
    fail_for,
    knob_options,
    offer_held,
    offer_undo,
    run_options,
)
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.nights import AT, ZONE, Nights, beginning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.backfill import BackfillReport, Night, Walked

_SHOWN: Final = 31
"""So many nights are shown one by one; more by month."""


@click.command()
@click.option(
    "--since", metavar="DATE",
    help="The first night, with all that is older; a date, or a time with its zone. The first with "
    "new episodes unless stated.",
)  # fmt: skip
@click.option(
    "--until", metavar="DATE",
    help="The last night: the last that begins until then. Now unless stated; a date counts whole.",
)  # fmt: skip
@click.option(
    "--at", default=f"{AT:%H:%M}", show_default=True, metavar="HH:MM", help="When a night begins."
)
@click.option(
    "--zone", default=ZONE, show_default=True, metavar="ZONE",
    help="Where it does, such as Europe/Vienna; dates are read there too.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say how many nights there are; write nothing.")
@knob_options
@common(scope_option)
def backfill(
    *,
    store: str,
    scope: str,
    since: str | None,
    until: str | None,
    at: str,
    zone: str,
    dry_run: bool,
    policy_file: Path | None,
    sets: tuple[str, ...],
    notes: bool,
) -> None:
    """Walk imported history night by night.

    Each night with new episodes is a sleep with the clock set to it, as if the history had come in
    day by day. It may be stopped at any moment: the same command goes on where it was. The exit
    code is 42 when a phase failed on some night; the work of the others is kept.
    """
    nights = Nights(at=_time_of_day(at), zone=zone)
    first = None if since is None else _moment(since, zone, "--since")
    last = None if until is None else _moment(until, zone, "--until", days=1)
    resolved = knobs(policy_file, sets)
    with open_memory(store) as memory, _watching(scope) as walked:
        report = memory.backfill(
            scope=scope, since=first, until=last, nights=nights, dry_run=dry_run, walked=walked,
            **run_options(resolved),
        )  # fmt: skip
    if wants_json():
        emit(report.as_dict())
    else:
        _print(report, every_note=notes)
    fail_for(report.runs)


def _time_of_day(text: str) -> time:
    """The time of day. Raises ``InputError`` for another text."""
    try:
        found = time.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise InputError(
            f"--at is {text[:60]!r}, which is no time of day. Write one such as 02:00."
        )
    return found


def _moment(text: str, zone: str, option: str, *, days: int = 0) -> datetime:
    """The stated time, or where a date stands its beginning in the zone, or so many days later."""
    try:
        day = date.fromisoformat(text.strip())
        moment = beginning_of(day + timedelta(days=days), zone)
    except (ValueError, OverflowError):
        return read_moment(text, option)
    return moment - timedelta(microseconds=bool(days))


@contextmanager
def _watching(scope: str) -> Iterator[Callable[[Walked], None] | None]:
    """What is told how far the walk has come; ``None`` where nobody watches."""
    if not shows_progress():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        task = bars.add_task(f"{scope}: reading …", total=None)

        def show(far: Walked) -> None:
            done = "begins" if far.night is None else when(far.night.clock)
            bars.update(
                task, completed=far.nights, total=far.of_nights,
                description=f"{scope}: {done}, {far.episodes:,} of "
                f"{count(far.of_episodes, 'episode')}, {count(far.changes, 'change')}; nights",
            )  # fmt: skip

        yield show


def _print(report: BackfillReport, *, every_note: bool) -> None:
    out, nights = console(), report.nights
    title = "Dry run, nothing is written" if report.dry_run else "Walked"
    span = when(nights[0].clock)
    if len(nights) > 1:
        span = f"{span} to {when(nights[-1].clock)}"
    found = f"{count(len(nights), 'night')}, {count(report.episodes, 'new episode')}"
    if not report.dry_run:
        found += f", {count(report.change_count, 'change')}"
    out.print(f"{title}: {report.scope}, {span} UTC", style="bold")
    out.print(f"{found}.\n")
    _print_nights(report)
    if every_note:
        for run in report.runs:
            for line in (*run.notes, *(note for phase in run.phases for note in phase.notes)):
                out.print(f"{run.run_id}: {line}")
    if not report.dry_run:
        offer_undo([run.run_id for run in report.runs if run.change_count])
        offer_held(report.held)


def _print_nights(report: BackfillReport) -> None:
    by_month = len(report.nights) > _SHOWN
    months: dict[str, list[Night]] = {}
    for night in report.nights:
        months.setdefault(when(night.clock)[: 7 if by_month else None], []).append(night)
    numbers: tuple[str, ...] = ("nights", "episodes") if by_month else ("episodes",)
    if not report.dry_run:
        numbers += ("runs", "changes")
    made = table("month" if by_month else "night", *numbers, right=numbers)
    for name, some in months.items():
        sums = _sums(some)
        made.add_row(name, *(f"{sums[number]:,}" for number in numbers))
    console().print(made)


def _sums(nights: Sequence[Night]) -> dict[str, int]:
    return {
        "nights": len(nights),
        "episodes": sum(night.episodes for night in nights),
        "runs": sum(len(night.passes) for night in nights),
        "changes": sum(night.change_count for night in nights),
    }
