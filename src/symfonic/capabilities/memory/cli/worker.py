"""``worker``: maintenance by itself, on a schedule, on every scope of a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    knobs,
    named_scope,
    open_memory,
)
from symfonic.capabilities.memory.cli.output import count, emit, wants_json, when
from symfonic.capabilities.memory.errors import ScopeFailed
from symfonic.capabilities.memory.worker.events import FORMATS
from symfonic.capabilities.memory.worker.liveness import HOST
from symfonic.capabilities.memory.worker.pulse import STUCK_MINUTES
from symfonic.capabilities.memory.worker.schedule import DEEP, LIGHT, ZONE

if TYPE_CHECKING:
    from symfonic.capabilities.memory.worker.liveness import Liveness
    from symfonic.capabilities.memory.worker.results import ScopeResult, WorkerReport

    _Text = click.ParamType[str]
else:
    _Text = click.ParamType


class _ScopePath(_Text):
    """A scope; a variable of the environment holds one, whatever characters are in it."""

    name = "path"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return named_scope(value)

    def split_envvar_value(self, rv: str) -> list[str]:
        return [rv]


@click.command()
@click.option("--once", is_flag=True, help="Run what is due now, and end.")
@click.option(
    "--deep",
    metavar="CRON",
    default=DEEP,
    show_default=True,
    help="When DEEP runs: minute, hour, day, month, weekday. 'off' for never.",
)
@click.option(
    "--light",
    metavar="CRON",
    default=LIGHT,
    show_default=True,
    help="When LIGHT runs. 'off' for never.",
)
@click.option(
    "--zone",
    metavar="ZONE",
    default=ZONE,
    show_default=True,
    help="The zone of both, such as Europe/Vienna.",
)
@click.option(
    "--scope",
    "scopes",
    metavar="PATH",
    multiple=True,
    type=_ScopePath(),
    envvar="SYMFONIC_SCOPE",
    show_envvar=True,
    help="A scope to run. May be repeated. Every scope of the store unless named.",
)
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A TOML file of knobs, in the tables [policy], [retention] and [limits].",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    help="One knob, over the file and the environment. May be repeated.",
)
@click.option(
    "--liveness-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a sign of life here every ten seconds, unless a run is stuck.",
)
@click.option(
    "--liveness-port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Answer /live, /ready and /metrics on this port.",
)
@click.option(
    "--liveness-host",
    metavar="ADDRESS",
    default=HOST,
    show_default=True,
    help="The address of that port. It asks nobody who they are.",
)
@click.option(
    "--stuck-minutes",
    metavar="MINUTES",
    type=click.FloatRange(min=0, min_open=True),
    default=STUCK_MINUTES,
    show_default=True,
    help="How long one step of a run may take before the worker counts as stuck.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="How events are written to standard error, one a line.",
)
@common()
def worker(
    *,
    store: str,
    once: bool,
    deep: str,
    light: str,
    zone: str,
    scopes: tuple[str, ...],
    policy_file: Path | None,
    sets: tuple[str, ...],
    liveness_file: Path | None,
    liveness_port: int | None,
    liveness_host: str,
    stuck_minutes: float,
    log_format: str,
) -> None:
    """Run maintenance on a schedule, until stopped.

    DEEP runs the whole roster, LIGHT the cheap phases between turns. A slot that was missed is made
    up for at once, by one run. A scope that fails stops no other one and is tried again. SIGTERM
    and SIGINT end the worker after the pass under way, with exit code 0; a second one at once. With
    --once the exit code is 48 when a scope failed.
    """
    from symfonic.capabilities.memory.worker.events import logged_to
    from symfonic.capabilities.memory.worker.liveness import Liveness
    from symfonic.capabilities.memory.worker.loop import Worker
    from symfonic.capabilities.memory.worker.schedule import Schedule

    resolved = knobs(policy_file, sets)
    schedule = Schedule(deep=deep, light=light, zone=zone)
    liveness: Liveness | None = None
    if liveness_file is not None or liveness_port is not None:
        liveness = Liveness(
            file=liveness_file, port=liveness_port, host=liveness_host, stuck_minutes=stuck_minutes
        )
    with logged_to(sys.stderr, format=log_format), open_memory(store) as memory:
        report = Worker(
            memory, resolved.policy, retention=resolved.retention, limits=resolved.limits,
            sources=resolved.sources, schedule=schedule, scopes=scopes or None, liveness=liveness,
        ).run(once=once)  # fmt: skip
    if wants_json():
        emit(report.as_dict())
    else:
        _show(report)
    if once and report.failed:
        click.get_current_context().exit(ScopeFailed.exit_code)


def _show(report: WorkerReport) -> None:
    """A line for each scope, and what it all came to."""
    for result in report.scopes:
        click.echo(f"{result.scope}: {_sentence(result)}")
    if not report.scopes:
        click.echo("The store has no scopes yet.")
    runs = count(report.deep_runs + report.light_runs, "run")
    click.echo(f"{runs}, {count(report.changes, 'change')}, {count(report.failures, 'failure')}.")


def _sentence(result: ScopeResult) -> str:
    match result.outcome:
        case "ran":
            passes = count(result.passes, "pass", "passes")
            done = f"{result.kind} run, {passes}, {count(result.changes, 'change')}"
            left = f", {count(result.left, 'row')} left" if result.left else ""
            failed = f"; failed: {', '.join(result.failed_phases)}" if result.failed_phases else ""
            return f"{done}{left}{failed}"
        case "waits":
            odd = f" ({result.reason})" if result.reason else ""
            return f"nothing is due until {when(result.next)} UTC{odd}"
        case "failed":
            return f"failed, {result.reason} (trace {result.trace})"
        case _:
            return f"{result.outcome}: {result.reason}"
