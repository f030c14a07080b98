"""What the page on deploying the worker shows is accepted by the worker."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import pytest

from symfonic.capabilities.memory.cli.app import application
from symfonic.capabilities.memory.errors import SymfonicError
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.worker import Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = Path(__file__).parents[2] / "docs/howto/deploy-the-worker.md"
TEXT: Final = PAGE.read_text(encoding="utf-8")


def block(language: str) -> str:
    """The page's last block of a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return str(found[-1])


def command_lines() -> Iterator[list[str]]:
    """The arguments of every worker that the page starts."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(block("ini"))
    yield shlex.split(unit["Service"]["ExecStart"])[2:]
    (image,) = re.findall(r"^CMD (.+)$", block("dockerfile"), re.MULTILINE)
    yield json.loads(image)
    (job,) = re.findall(r"^ +args: (.+)$", block("yaml"), re.MULTILINE)
    yield json.loads(job)
    (line,) = block("text").splitlines()
    yield shlex.split(line.partition(" symfonic-memory worker ")[2].partition(" >>")[0])


def parsed(arguments: list[str]) -> dict[str, Any]:
    command = application.get_command(click.Context(application), "worker")
    assert command is not None
    return command.make_context("worker", list(arguments)).params


@pytest.mark.parametrize("arguments", list(command_lines()))
def test_worker_takes_the_options_that_the_page_gives_it(arguments: list[str]) -> None:
    given = parsed(arguments)
    Schedule(deep=given["deep"], light=given["light"], zone=given["zone"])


def test_cluster_and_worker_keep_the_same_time() -> None:
    job = block("yaml")
    (arguments,) = re.findall(r"^ +args: (.+)$", job, re.MULTILINE)
    given = parsed(json.loads(arguments))
    (schedule,) = re.findall(r'^  schedule: "(.+)"$', job, re.MULTILINE)
    (zone,) = re.findall(r"^  timeZone: (.+)$", job, re.MULTILINE)
    assert (given["deep"], given["zone"], given["once"]) == (schedule, zone, True)


def test_health_check_asks_the_port_that_the_image_opens() -> None:
    image = block("dockerfile")
    (arguments,) = re.findall(r"^CMD (.+)$", image, re.MULTILINE)
    assert f"127.0.0.1:{parsed(json.loads(arguments))['liveness_port']}/live" in image


def test_thread_of_the_page_runs_and_ends(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(block("python"), str(PAGE), "exec"), names)
    with Memory.open(tmp_path / "memory.db") as memory:
        memory.remember("The kiln is hot.", scope="acme/ana")
        worker, thread = names["start"](memory)
        assert isinstance(thread, threading.Thread)
        names["end"](worker, thread)
        assert not thread.is_alive()
        assert worker.report().stopped


def test_exit_codes_of_the_page_are_those_of_the_errors() -> None:
    codes = {0}
    below = [SymfonicError]
    while below:
        kind = below.pop()
        codes.add(kind.exit_code)
        below += kind.__subclasses__()
    rows = re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)
    assert {int(row) for row in rows} == {0, 21, 48}
    assert {int(row) for row in rows} <= codes
