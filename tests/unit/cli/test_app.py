from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest

from symfonic.capabilities.memory.cli import runs as runs_module
from symfonic.capabilities.memory.cli.app import COMMANDS, NAME, application
from symfonic.capabilities.memory.cli.page import error_classes
from symfonic.capabilities.memory.errors import InputError, SymfonicError
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

PROGRAM = "from symfonic.capabilities.memory.cli import main; main()"


def program(*arguments: str, code: str = PROGRAM) -> list[str]:
    return [sys.executable, "-W", "error", "-c", code, *arguments]


def test_help_lists_every_command_with_its_summary(run: Callable[..., Result]) -> None:
    shown = " ".join(run("--help").output.split())
    for name, entry in COMMANDS.items():
        assert f"{name} {entry.summary}" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_is_the_first_line_of_the_commands_help(name: str) -> None:
    command = application.get_command(click.Context(application), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").partition("\n")[0] == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_has_json(name: str, run: Callable[..., Result]) -> None:
    words = (name, *{"drafts": ["list"], "eval": ["procedures"]}.get(name, []))
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert "--json" in result.output


def test_unknown_command_is_a_usage_error(run: Callable[..., Result]) -> None:
    assert run("dream").exit_code == 2


def test_what_is_logged_stays_off_the_terminal(tmp_path: Path) -> None:
    code = (
        "import logging\n"
        "from symfonic.capabilities.memory.cli import main\n"
        "try:\n    main()\n"
        "finally:\n"
        "    logging.getLogger('symfonic.capabilities.memory.maintenance').warning('raw.event')\n"
    )
    there = ("--store", str(tmp_path / "none.db"), "--scope", "acme")
    command = program("stats", *there, code=code)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "none.db" in done.stderr
    assert "raw.event" not in done.stderr


def test_help_loads_neither_rich_nor_sqlite_nor_the_service() -> None:
    code = (
        "import sys\n"
        "from symfonic.capabilities.memory.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'rich', 'sqlite3', 'symfonic.capabilities.memory.service'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(program("--help", code=code), capture_output=True, text=True, check=True)
    assert "First steps" in done.stdout
    assert done.stdout.endswith("LOADED []\n")


def test_version_is_named(run: Callable[..., Result]) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.startswith(f"{NAME} ")


def test_missing_scope_says_how_to_name_one(run: Callable[..., Result], read: Path) -> None:
    result = run("stats", SYMFONIC_SCOPE=None)
    assert result.exit_code == 12
    assert "--scope acme/ana" in result.stderr
    assert "SYMFONIC_SCOPE" in result.stderr
    assert result.stdout == ""


def test_missing_store_is_refused_and_not_made(ask: Callable[..., Any], store: Path) -> None:
    shown = ask("stats", code=21)
    assert shown["error"]["type"] == "StoreUnavailable"
    assert str(store) in shown["error"]["message"]
    assert not store.exists()


def test_unknown_scope_is_refused(ask: Callable[..., Any], read: Path) -> None:
    assert ask("stats", "--scope", "acme/ben", code=23)["error"]["type"] == "RecordNotFound"


def test_option_wins_over_the_environment(ask: Callable[..., Any], read: Path) -> None:
    found = ask("stats", "--scope", "demo/office", "--store", read, SYMFONIC_SCOPE="acme/ben")
    assert found["scope"] == "demo/office"


def test_every_error_class_has_an_exit_code_of_its_own() -> None:
    codes = [error.exit_code for error in error_classes()]
    assert len(codes) == len(set(codes))
    assert not {0, 1, 2, 130} & set(codes)


@pytest.mark.parametrize("error", list(error_classes()))
def test_error_ends_the_command_with_its_code(
    error: type[SymfonicError],
    run: Callable[..., Result],
    ask: Callable[..., Any],
    read: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error("It did not work.", which=("this", 1))

    monkeypatch.setattr(Memory, "runs", refuse)
    shown = ask("runs", code=error.exit_code)["error"]
    assert shown["type"] == error.__name__
    assert shown["message"] == "It did not work."
    assert shown["facts"] == {"which": ["this", 1]}
    plain = run("runs")
    assert plain.exit_code == error.exit_code
    assert plain.stderr == "Error: It did not work.\n"


def test_error_message_cannot_act_on_the_terminal(run: Callable[..., Result], read: Path) -> None:
    result = run("stats", "--scope", "acme/\x1b[31mred")
    assert result.exit_code == 12
    assert "\x1b" not in result.stderr


def test_other_exceptions_are_bugs_and_not_caught(
    run: Callable[..., Result], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Memory, "runs", fail)
    assert isinstance(run("runs").exception, ZeroDivisionError)


def test_interrupt_ends_with_130(
    run: Callable[..., Result], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs_module, "open_memory", interrupt)
    result = run("runs")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_interrupted_process_shows_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "log.jsonl"
    os.mkfifo(pipe)
    arguments = ("ingest", str(pipe), "--store", str(tmp_path / "m.db"), "--scope", "acme")
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", heeding + PROGRAM, *arguments]  # even where tests ignore it
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        pipe.open("w"),  # waits until the command reads it
    ):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "Interrupted.\n"


def test_broken_pipe_is_quiet(slept: Path) -> None:
    arguments = program("export", "--store", str(slept), "--scope", "demo/office")
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(timeout=30)


def test_terminal_without_unicode_gets_replacements(slept: Path) -> None:
    arguments = program("drafts", "list", "--store", str(slept), "--scope", "demo/office")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(arguments, capture_output=True, check=True, env=env)
    assert b"lookup_order" in done.stdout
    assert done.stdout.isascii()


def test_error_class_of_usage_is_clicks_own(run: Callable[..., Result], read: Path) -> None:
    result = run("runs", "--limit", "none")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert InputError.exit_code != 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--json", "stats"),
        ("dream", "--json"),
        ("runs", "--limit", "none", "--json"),
        ("recall", "--json"),
        ("--no-such", "--json"),
        ("drafts", "dream", "--json"),
        ("stats", "--json", "--no-such"),
    ],
)
def test_usage_error_is_an_object_where_json_is_asked_for(
    arguments: tuple[str, ...], run: Callable[..., Result], read: Path
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert (error["type"], error["facts"]) == ("UsageError", {})
    assert error["message"]
    assert result.stderr == ""


def test_interrupt_is_an_object_where_json_is_asked_for(
    ask: Callable[..., Any], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs_module, "open_memory", interrupt)
    error = ask("runs", code=130)["error"]
    assert error == {"type": "Interrupted", "message": "Interrupted.", "facts": {}}


def test_store_whose_name_is_too_long_is_unavailable(ask: Callable[..., Any], week: Path) -> None:
    for words in (("stats",), ("ingest", week), ("remember", "x"), ("doctor",)):
        error = ask(*words, "--store", "x" * 300, code=21)["error"]
        assert error["type"] == "StoreUnavailable"
