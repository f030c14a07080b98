"""``sleep`` and ``plan``: maintenance with the knobs of a file, the environment and flags."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    knobs,
    now_option,
    open_memory,
    scope_option,
)
from symfonic.capabilities.memory.cli.output import console, emit, shows_progress, wants_json
from symfonic.capabilities.memory.errors import PhaseFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.cli.learnt import Entry
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.maintenance import SleepKind
    from symfonic.capabilities.memory.outcome import RunReport, SleepReport
    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.settings import Resolved

F = TypeVar("F", bound="Callable[..., Any]")


class Knobs(TypedDict):
    """What ``Memory`` takes with every run."""

    policy: LearningPolicy
    retention: RetentionPolicy
    limits: RunLimits
    sources: Mapping[str, str]


def knob_options(function: F) -> F:
    """The options that say what a run goes by."""
    file = click.option(
        "--policy", "policy_file", metavar="FILE", type=click.Path(path_type=Path),
        help="A TOML file of knobs, in the tables [policy], [retention] and [limits].",
    )  # fmt: skip
    sets = click.option(
        "--set", "sets", multiple=True, metavar="NAME=VALUE",
        help="One knob, over the file and the environment. May be repeated.",
    )  # fmt: skip
    notes = click.option("--notes", is_flag=True, help="Show every note of every phase.")
    return file(sets(notes(function)))


@click.command()
@click.option(
    "--light", is_flag=True,
    help="Only the cheap phases, as between two turns; writes no run where nothing is to do.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what the next pass would do; write nothing.")
@knob_options
@common(scope_option, now_option)
def sleep(
    *,
    store: str,
    scope: str,
    now: datetime | None,
    policy_file: Path | None,
    sets: tuple[str, ...],
    notes: bool,
    light: bool,
    dry_run: bool,
) -> None:
    """Run maintenance until nothing is left to do.

    Each pass is a run of its own, which 'undo' takes back. The exit code is 42 when a phase failed;
    the work of the others is kept.
    """
    resolved = knobs(policy_file, sets)
    kind: SleepKind = "light" if light else "deep"
    held = None
    with open_memory(store) as memory:
        if dry_run:
            passes, entries = preview(memory, resolved, scope=scope, kind=kind, now=now)
        else:
            done = carry_out(memory, resolved, scope=scope, kind=kind, now=now)
            passes, held = done.passes, done.held
            entries = journal(memory, passes)
        title = "Dry run" if dry_run else "Light sleep" if light else "Sleep"
        _show(memory, passes, entries, title=title, every_note=notes, dry_run=dry_run, held=held)
        if not dry_run and not wants_json():
            offer_undo([run.run_id for run in passes if run.change_count])
            offer_held(held)
    fail_for(passes)


@click.command()
@knob_options
@common(scope_option, now_option)
def plan(
    *,
    store: str,
    scope: str,
    now: datetime | None,
    policy_file: Path | None,
    sets: tuple[str, ...],
    notes: bool,
) -> None:
    """Plan a run and keep it for review.

    Memory is not changed. 'diff' shows the plan and 'apply' carries it out, unless memory has
    changed by then. A plan is one pass; 'sleep' makes as many as there is work for.
    """
    from symfonic.capabilities.memory.cli.runs import what_is_left

    resolved = knobs(policy_file, sets)
    with open_memory(store) as memory, _watching() as watch:
        passes = (memory.plan(scope=scope, now=now, watch=watch, **run_options(resolved)),)
        entries = journal(memory, passes)
        _show(memory, passes, entries, title="Plan", every_note=notes)
        if not wants_json():
            name = passes[0].run_id
            left = {p.name: p.left for p in passes[0].phases if p.outcome == "ran"}
            console().print(f"\n{what_is_left(left)}")
            click.echo(f"symfonic-memory diff {name}   shows it\nsymfonic-memory apply {name}")
    fail_for(passes)


def carry_out(
    memory: Memory,
    resolved: Resolved,
    *,
    scope: str,
    kind: SleepKind = "deep",
    now: datetime | None,
) -> SleepReport:
    """One sleep."""
    with _watching() as watch:
        return memory.sleep(scope=scope, kind=kind, now=now, watch=watch, **run_options(resolved))


def preview(
    memory: Memory,
    resolved: Resolved,
    *,
    scope: str,
    kind: SleepKind = "deep",
    now: datetime | None,
) -> tuple[Sequence[RunReport], Sequence[Entry]]:
    """What the next pass would do, and its changes beside what stands there now."""
    from symfonic.capabilities.memory.cli.changes_view import Proposed
    from symfonic.capabilities.memory.records import RecordId

    with _watching() as watch:
        changes, report = memory.preview(
            scope=scope, kind=kind, now=now, watch=watch, **run_options(resolved)
        )
    edited = sorted(
        {str(c.row[0]) for c in changes if c.table == "record" and c.operation == "edit"}
    )
    there = memory.records(edited, scope=scope)
    entries = []
    for change in changes:
        record = there.get(RecordId(str(change.row[0])))
        before = {} if record is None else {"strength": record.strength}
        entries.append(Proposed(change=change, before=before))
    return (report,), entries


def journal(memory: Memory, passes: Sequence[RunReport]) -> Sequence[Entry]:
    """The changes of passes, where there are not too many to read through."""
    from symfonic.capabilities.memory.cli.learnt import READABLE

    if wants_json() or sum(run.change_count for run in passes) > READABLE:
        return ()
    return [row for run in passes if run.change_count for row in memory.diff(run.run_id)]


def show_passes(
    memory: Memory,
    passes: Sequence[RunReport],
    entries: Sequence[Entry],
    *,
    title: str,
    every_note: bool = False,
) -> None:
    """The report of passes, and what was learnt in them."""
    from datetime import datetime

    from symfonic.capabilities.memory.cli.learnt import learnt_from, print_learnt
    from symfonic.capabilities.memory.cli.report import print_report

    out = console()
    print_report(out, passes, title=title, every_note=every_note)
    last = passes[-1]
    clock = datetime.fromisoformat(last.clock)
    print_learnt(out, learnt_from(entries, memory, scope=last.scope, now=clock))


def _show(
    memory: Memory,
    passes: Sequence[RunReport],
    entries: Sequence[Entry],
    *,
    title: str,
    every_note: bool,
    dry_run: bool = False,
    held: str | None = None,
) -> None:
    if wants_json():
        shown: dict[str, Any] = {"passes": [run.as_dict() for run in passes]}
        emit({**shown, "dry_run": True} if dry_run else {**shown, "held": held})
    else:
        show_passes(memory, passes, entries, title=title, every_note=every_note)


def offer_undo(names: Sequence[str]) -> None:
    """How to take back what a sleep did, all its passes at once."""
    from symfonic.capabilities.memory.cli.runs import range_name

    if names:
        name = range_name(names[0], names[-1])
        click.echo(f"\nTake it back with: symfonic-memory undo {name}")


def offer_held(held: str | None) -> None:
    """What a person is asked, where a phase would have hidden too much."""
    if held:
        click.echo(
            f"\nHeld for you to decide:\nsymfonic-memory diff {held}   shows what it would hide\n"
            f"symfonic-memory apply {held}\nsymfonic-memory drop {held}"
        )


def run_options(resolved: Resolved) -> Knobs:
    """The knobs and where they came from, as a run takes them."""
    return {
        "policy": resolved.policy, "retention": resolved.retention, "limits": resolved.limits,
        "sources": resolved.sources,
    }  # fmt: skip


@contextmanager
def _watching() -> Iterator[Callable[[int, str], None]]:
    """What is told the pass and phase under way, and shows them to a person who waits."""
    if not shows_progress():
        yield lambda _number, _phase: None
        return
    with console(stderr=True).status("reading …") as status:
        yield lambda number, phase: status.update(f"pass {number}: {phase} …")


def fail_for(passes: Sequence[RunReport]) -> None:
    """End with the exit code of a failed phase, where one has failed."""
    if any(phase.outcome == "failed" for run in passes for phase in run.phases):
        click.get_current_context().exit(PhaseFailed.exit_code)
