"""The reference page of the command line, generated from the commands and the error classes.

``python -m symfonic.capabilities.memory.cli.page --write`` refreshes the page, and a test compares
the two. Options are written from their definitions and not from click's help text, whose layout
changes with its version.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.app import COMMANDS, INTERRUPTED, NAME, application
from symfonic.capabilities.memory.errors import SymfonicError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE: Final = Path("docs/reference/cli.md")
BEGIN: Final = "<!-- commands: begin, written by symfonic.capabilities.memory.cli.page -->"
END: Final = "<!-- commands: end -->"


def reference() -> str:
    """Markdown: every command with its arguments and options, and the exit codes."""
    return "\n\n".join([*_commands(), "## Exit codes", "\n".join(_exit_codes())])


def with_reference(page: str) -> str:
    """The page with what stands between its two markers written anew.

    Raises ``ValueError`` for a page without the markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page has no lines {BEGIN} and {END} to write between.")
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{after}"


def error_classes(root: type[SymfonicError] = SymfonicError) -> Iterator[type[SymfonicError]]:
    """The public error classes, each before those that derive from it."""
    yield root
    for derived in root.__subclasses__():
        yield from error_classes(derived)


def _commands() -> Iterator[str]:
    context = click.Context(application, info_name=NAME)
    section = ""
    for name, entry in COMMANDS.items():
        if entry.section != section:
            section = entry.section
            yield f"## {section}"
        command = application.get_command(context, name)
        if command is not None:
            yield from _described(f"{NAME} {name}", command)


def _described(name: str, command: click.Command) -> Iterator[str]:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    shown = " ".join([name, *(str(argument.metavar or argument.name) for argument in arguments)])
    shown = shown if not isinstance(command, click.Group) else f"{shown} COMMAND"
    yield f"### `{shown}`"
    yield _sentences(command.help or "")
    options = [p for p in command.params if isinstance(p, click.Option)]
    if options:
        yield "\n".join(_options(options))
    if isinstance(command, click.Group):
        for inner, subcommand in command.commands.items():
            yield from _described(f"{name} {inner}", subcommand)


def _sentences(text: str) -> str:
    """Help text with each paragraph on one line."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _options(options: Sequence[click.Option]) -> Iterator[str]:
    yield "| option | environment | what it does |"
    yield "|---|---|---|"
    for option in options:
        yield (
            f"| `{_spelling(option)}` | {f'`{option.envvar}`' if option.envvar else ''} "
            f"| {option.help or ''}{_default(option)} |"
        )


def _spelling(option: click.Option) -> str:
    if option.is_flag:
        return option.opts[0]
    metavar = option.metavar or option.type.name.upper().partition(" ")[0]
    if isinstance(option.type, click.Choice):
        metavar = " / ".join(str(choice) for choice in option.type.choices)
    return f"{option.opts[0]} {metavar}"


def _default(option: click.Option) -> str:
    return f" Default: `{option.default}`." if option.show_default else ""


def _exit_codes() -> Iterator[str]:
    yield "| code | when |"
    yield "|---|---|"
    yield "| 0 | All went well. |"
    yield "| 1 | `doctor` found something wrong, a question was answered with no, or a bug. |"
    yield "| 2 | The command line itself is wrong. |"
    for error in sorted(error_classes(), key=lambda kind: kind.exit_code):
        summary = _sentences(error.__doc__ or "").partition("\n")[0]
        yield f"| {error.exit_code} | `{error.__name__}`: {summary.replace('``', '`')} |"
    yield f"| {INTERRUPTED} | It was interrupted. |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the page with the commands, or write it; 1 when they differ."""
    parser = argparse.ArgumentParser(description="The reference page of the command line.")
    parser.add_argument("--write", action="store_true", help="refresh the page")
    parser.add_argument("page", nargs="?", type=Path, default=PAGE, help="the Markdown file")
    options = parser.parse_args(arguments)
    page = options.page.read_text(encoding="utf-8")
    fresh = with_reference(page)
    if options.write:
        options.page.write_text(fresh, encoding="utf-8", newline="\n")
    elif page != fresh:
        sys.stderr.write(f"{options.page} does not agree with the commands; run it with --write.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
