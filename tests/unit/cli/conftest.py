from __future__ import annotations

import inspect
import json
import os
import shutil
from importlib.resources import as_file
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from symfonic.capabilities.memory.cli.app import application
from symfonic.capabilities.memory.demo import DATA, POLICY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"


def invoke(*arguments: str, env: dict[str, str | None], text: str | None = None) -> Result:
    parameters = inspect.signature(CliRunner).parameters
    apart = {"mix_stderr": False} if "mix_stderr" in parameters else {}
    runner = CliRunner(**apart)  # type: ignore[arg-type]
    return runner.invoke(application, list(arguments), env=env, input=text)


def environment(directory: Path) -> dict[str, str | None]:
    cleared: dict[str, str | None] = {n: None for n in os.environ if n.startswith("SYMFONIC_")}
    return {
        **cleared, "SYMFONIC_STORE": str(directory / "memory.db"), "SYMFONIC_SCOPE": "demo/office",
        "SYMFONIC_SALT": "0011223344556677", "COLUMNS": "80", "LOGNAME": "ana",
    }  # fmt: skip


@pytest.fixture(scope="session")
def week() -> Iterator[Path]:
    with as_file(DATA) as path:
        yield path


@pytest.fixture(scope="session")
def policy() -> Iterator[Path]:
    with as_file(POLICY) as path:
        yield path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Invoke the command in an environment that names a store and a scope."""

    def run(*arguments: object, text: str | None = None, **env: str | None) -> Result:
        texts = [str(argument) for argument in arguments]
        return invoke(*texts, env={**environment(tmp_path), **env}, text=text)

    return run


@pytest.fixture
def ask(run: Callable[..., Result]) -> Callable[..., Any]:
    """The one object that a command prints with ``--json``, and its exit code checked."""

    def ask(*arguments: object, code: int = 0, text: str | None = None, **env: str | None) -> Any:
        result = run(*arguments, "--json", text=text, **env)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    return ask


@pytest.fixture(scope="session")
def read_store(tmp_path_factory: pytest.TempPathFactory, week: Path) -> Path:
    """A store that has read the demo's week."""
    directory = tmp_path_factory.mktemp("read")
    result = invoke("ingest", str(week), "--now", NIGHT, env=environment(directory))
    assert result.exit_code == 0, result.output
    return directory / "memory.db"


@pytest.fixture(scope="session")
def slept_store(tmp_path_factory: pytest.TempPathFactory, read_store: Path, policy: Path) -> Path:
    """The same after one night with the demo's knobs: the run is number 2."""
    directory = tmp_path_factory.mktemp("slept")
    shutil.copyfile(read_store, directory / "memory.db")
    env = environment(directory)
    result = invoke("sleep", "--policy", str(policy), "--now", NIGHT, env=env)
    assert result.exit_code == 0, result.output
    return directory / "memory.db"


@pytest.fixture
def read(store: Path, read_store: Path) -> Path:
    shutil.copyfile(read_store, store)
    return store


@pytest.fixture
def slept(store: Path, slept_store: Path) -> Path:
    shutil.copyfile(slept_store, store)
    return store
