"""The command itself: which subcommands there are, and how it ends when one of them fails.

The table holds the first line of every help text, so that the overview needs none of the modules
it lists; a test compares the two.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from symfonic.capabilities.memory.cli.output import clean, emit, installed
from symfonic.capabilities.memory.errors import SymfonicError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAME: Final = "symfonic-memory"
INTERRUPTED: Final = 130
"""128 and the number of the signal, as shells count it."""
_ASKED: Final = "symfonic.json.asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Where a subcommand is found, under which heading it is listed, and as what."""

    module: str
    section: str
    summary: str
    attribute: str = ""


COMMANDS: Final[Mapping[str, Entry]] = {
    "demo": Entry(
        module="demo",
        section="First steps",
        summary="Watch a week of an agent's work being learnt from, and undone.",
    ),
    "init": Entry(
        module="init",
        section="First steps",
        summary="Write a small app that runs maintenance by a schedule.",
    ),
    "ingest": Entry(module="ingesting", section="Memory", summary="Read log files into memory."),
    "remember": Entry(
        module="recalling", section="Memory", summary="Keep a note, for good or for a while."
    ),
    "recall": Entry(
        module="recalling",
        section="Memory",
        summary="Show what memory holds that answers a question.",
    ),
    "embed": Entry(
        module="embedding",
        section="Memory",
        summary="Give what has no vector one.",
    ),
    "show": Entry(module="showing", section="Memory", summary="Show one record whole."),
    "stats": Entry(module="care", section="Memory", summary="Count what a scope holds."),
    "sleep": Entry(
        module="sleeping",
        section="Maintenance",
        summary="Run maintenance until nothing is left to do.",
    ),
    "backfill": Entry(
        module="backfilling",
        section="Maintenance",
        summary="Walk imported history night by night.",
    ),
    "worker": Entry(
        module="worker",
        section="Maintenance",
        summary="Run maintenance on a schedule, until stopped.",
    ),
    "plan": Entry(
        module="sleeping", section="Maintenance", summary="Plan a run and keep it for review."
    ),
    "diff": Entry(
        module="runs", section="Maintenance", summary="Show what a run changes or has changed."
    ),
    "report": Entry(
        module="reporting",
        section="Maintenance",
        summary="Write what a run did as a page to read or to send.",
    ),
    "apply": Entry(module="runs", section="Maintenance", summary="Carry out a kept plan."),
    "drop": Entry(module="runs", section="Maintenance", summary="Drop a kept or held plan."),
    "undo": Entry(
        module="runs", section="Maintenance", summary="Take back a run, or some of its groups."
    ),
    "redo": Entry(module="runs", section="Maintenance", summary="Take back an undo."),
    "replay": Entry(module="runs", section="Maintenance", summary="Plan a run again, and compare."),
    "runs": Entry(module="runs", section="Maintenance", summary="List the latest runs of a scope."),
    "drafts": Entry(
        module="drafts",
        section="Maintenance",
        summary="Review the procedures that runs have drafted.",
    ),
    "eval": Entry(
        module="evaluating",
        section="Maintenance",
        summary="Measure what is learnt and what is found, on data of your own.",
        attribute="eval_",
    ),
    "forget": Entry(
        module="forgetting", section="Care", summary="Erase records and all that only they support."
    ),
    "export": Entry(
        module="transfer", section="Care", summary="Write everything a scope holds as JSON lines."
    ),
    "import": Entry(
        module="transfer",
        section="Care",
        summary="Bring an export into a scope.",
        attribute="import_",
    ),
    "restore": Entry(
        module="transfer",
        section="Care",
        summary="Put an export back as it was, into an empty scope.",
    ),
    "compact": Entry(
        module="upkeep", section="Care", summary="Drop old history and fold old uses."
    ),
    "half-life": Entry(
        module="upkeep",
        section="Care",
        summary="Let a scope's memory fade faster or slower.",
        attribute="half_life",
    ),
    "doctor": Entry(
        module="care", section="Care", summary="Check the store, and show the versions at work."
    ),
}
"""Every subcommand, in the order of the overview."""


class Application(click.Group):
    """The subcommands of :data:`COMMANDS`, each loaded when it is called for.

    An error of this package becomes a message and its class's exit code; any other exception is a
    bug and keeps its traceback. Where ``--json`` stands on the command line, also where it cannot
    be understood, what went wrong is one JSON object.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - passed on as they are
    ) -> click.Context:
        asked = _asks_for_json(args)
        with _ending(as_json=asked):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[_ASKED] = asked
        return context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"{__package__}.{entry.module}")
        command = getattr(module, entry.attribute or cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in COMMANDS.items():
            sections.setdefault(entry.section, []).append((name, entry.summary))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        with _ending(as_json=ctx.meta[_ASKED]):
            return super().invoke(ctx)


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether ``--json`` is among the arguments; after ``--`` it is text like any other."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--json" in arguments[:end]


@contextlib.contextmanager
def _ending(*, as_json: bool) -> Iterator[None]:
    """Show what ends the command, and end it with the exit code of that."""
    try:
        yield
    except SymfonicError as error:
        if as_json:
            _emit_error(type(error).__name__, str(error), error.facts)
        else:
            click.echo(f"Error: {clean(str(error))}", err=True)
        raise click.exceptions.Exit(error.exit_code) from error
    except click.UsageError as error:
        if not as_json:
            raise
        _emit_error("UsageError", error.format_message(), {})
        raise click.exceptions.Exit(error.exit_code) from error
    except (KeyboardInterrupt, click.Abort) as error:
        if as_json:
            _emit_error("Interrupted", "Interrupted.", {})
        else:
            click.echo("Interrupted.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from error


def _emit_error(kind: str, message: str, facts: Mapping[str, object]) -> None:
    emit({"error": {"type": kind, "message": message, "facts": facts}})


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"{NAME} {installed(NAME)}")
        ctx.exit()


@click.command(
    cls=Application,
    name=NAME,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Options come after the subcommand. 'symfonic-memory COMMAND --help' explains each one.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the version and exit.",
)  # fmt: skip
def application() -> None:
    """Agent memory that learns overnight and can show its work.

    Memory lives in one file (--store, or SYMFONIC_STORE), divided into scopes such as acme/ana
    (--scope, or SYMFONIC_SCOPE). Every subcommand prints one JSON object with --json.
    """


def run() -> None:
    """The entry point: text that a terminal cannot show is replaced there, and never an error.

    What is logged is for a host that listens: a command says the same in its own words.
    """
    logging.getLogger(__name__.partition(".cli")[0]).addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        application.main(prog_name=NAME)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
