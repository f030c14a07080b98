from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory, system_clock
from symfonic.capabilities.memory.worker.loop import Worker
from symfonic.capabilities.memory.worker.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

SELDOM = ("--deep", "0 0 29 2 *", "--light", "off")
"""The next slot is years away, whenever the test runs: only a first run is due."""


def test_first_run_is_due_at_once_and_the_next_is_not(ask: Callable[..., Any], read: Path) -> None:
    shown = ask("worker", "--once", *SELDOM)
    assert [(r["scope"], r["outcome"], r["kind"]) for r in shown["scopes"]] == [
        ("demo/office", "ran", "deep")
    ]
    assert shown["deep_runs"] == 1
    again = ask("worker", "--once", *SELDOM)
    assert [(r["outcome"], r["next"][4:10]) for r in again["scopes"]] == [("waits", "-02-29")]


def test_nothing_due_leaves_the_file_as_it_is(run: Callable[..., Result], read: Path) -> None:
    assert run("worker", "--once", *SELDOM).exit_code == 0
    before = read.read_bytes()
    assert run("worker", "--once", *SELDOM).exit_code == 0
    assert read.read_bytes() == before
    assert [path.name for path in read.parent.iterdir()] == [read.name]


def test_person_is_told_what_was_done_and_what_is_next(
    run: Callable[..., Result], read: Path, policy: Path
) -> None:
    done = run("worker", "--once", *SELDOM, "--policy", policy)
    assert done.stdout.startswith("demo/office: deep run, 1 pass, ")
    assert done.stdout.endswith("0 failures.\n")
    waits = run("worker", "--once", *SELDOM)
    assert "demo/office: nothing is due until " in waits.stdout
    empty = run("worker", "--once", *SELDOM, "--scope", "demo/nobody")
    assert "failed, RecordNotFound" in empty.stdout
    assert "(trace " in empty.stdout


def test_store_without_scopes_is_no_failure(run: Callable[..., Result], store: Path) -> None:
    Memory.open(store).close()
    result = run("worker", "--once", SYMFONIC_SCOPE=None)
    assert (result.exit_code, result.stdout) == (
        0, "The store has no scopes yet.\n0 runs, 0 changes, 0 failures.\n"
    )  # fmt: skip


def test_every_scope_is_run_unless_some_are_named(
    ask: Callable[..., Any], read: Path, week: Path
) -> None:
    for scope in ("demo/a", "demo/b c"):
        ask("ingest", week, "--scope", scope)

    def scopes(*arguments: str, **env: str | None) -> list[str]:
        shown = ask("worker", "--once", *SELDOM, *arguments, **env)
        return [result["scope"] for result in shown["scopes"]]

    assert scopes(SYMFONIC_SCOPE=None) == ["demo/a", "demo/b c", "demo/office"]
    assert scopes(SYMFONIC_SCOPE="demo/b c") == ["demo/b c"]
    assert scopes("--scope", "demo/a", "--scope", "demo/office") == ["demo/a", "demo/office"]


def test_knobs_come_from_file_environment_and_flags_as_for_sleep(
    ask: Callable[..., Any], read: Path, policy: Path
) -> None:
    ask(
        "worker", "--once", *SELDOM, "--policy", policy, "--set", "lookback_hours=48",
        SYMFONIC_MAX_PASSES="7",
    )  # fmt: skip
    with Memory.open(read) as memory:
        report = memory.runs(scope="demo/office", limit=1)[0].report
    sources = report["sources"]
    assert sources["enable_entity_linker"] == f"file {policy}"
    assert sources["lookback_hours"] == "flag"
    assert sources["max_passes"] == "environment SYMFONIC_MAX_PASSES"
    assert report["settings"]["lookback_hours"] == 48


def test_scope_that_another_run_holds_is_no_failure(run: Callable[..., Result], read: Path) -> None:
    with Memory.open(read) as memory:
        memory.store.acquire(Scope("demo/office"), now=system_clock(), term_seconds=600)
        result = run("worker", "--once", *SELDOM)
    assert result.exit_code == 0
    assert "demo/office: skipped: another run of this scope is active" in result.stdout


def test_failed_scope_has_an_exit_code_of_its_own(
    run: Callable[..., Result], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(PatternEntityExtractor, "extract", fail)
    result = run("worker", "--once", *SELDOM, "--set", "enable_entity_linker=true")
    assert result.exit_code == 48
    assert "failed: link_entities" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--deep", "0 3 * *"), 13), (("--zone", "Mars/Olympus"), 13),
        (("--deep", "off", "--light", ""), 13), (("--scope", "a//b"), 12),
        (("--set", "lookback_hours=0"), 11), (("--stuck-minutes", "0"), 2),
        (("--liveness-port", "70000"), 2), (("--liveness-file", "/nowhere/at/all/f"), 13),
    ],
)  # fmt: skip
def test_wrong_option_is_refused_before_anything_runs(
    run: Callable[..., Result], read: Path, arguments: tuple[str, ...], code: int
) -> None:
    before = read.read_bytes()
    assert run("worker", "--once", *arguments).exit_code == code
    assert read.read_bytes() == before


def test_missing_store_is_refused_and_not_made(run: Callable[..., Result], store: Path) -> None:
    assert run("worker", "--once").exit_code == 21
    assert not store.exists()


def test_missing_cronsim_names_the_extra(
    run: Callable[..., Result], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    result = run("worker", "--once")
    assert result.exit_code == 60
    assert "symfonic-memory[worker]" in result.stderr


def test_events_are_json_lines_where_asked_and_logging_is_left_as_it_was(
    run: Callable[..., Result], read: Path
) -> None:
    logger = logging.getLogger("symfonic.capabilities.memory")
    before = list(logger.handlers), logger.level, logger.propagate
    result = run("worker", "--once", *SELDOM, "--log-format", "json")
    events = [json.loads(line)["event"] for line in result.stderr.splitlines()]
    assert events[0] == "worker.started"
    assert "maintenance.run.committed" in events
    assert events[-2:] == ["worker.scope.ran", "worker.stopped"]
    assert (logger.handlers, logger.level, logger.propagate) == before


def test_log_quotes_nothing_that_was_said(
    run: Callable[..., Result], read: Path, policy: Path
) -> None:
    shown = run("worker", "--once", *SELDOM, "--policy", policy).stderr
    assert "worker.scope.ran scope=demo/office" in shown
    assert "Henrike" not in shown


def test_options_reach_the_worker(
    run: Callable[..., Result], read: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Worker] = []
    real = Worker.run

    def note(self: Worker, *, once: bool = False) -> Any:
        made.append(self)
        self.stop()
        return real(self, once=once)

    monkeypatch.setattr(Worker, "run", note)
    file = tmp_path / "alive.json"
    result = run(
        "worker", "--deep", "1 2 * * *", "--light", "OFF", "--zone", "Europe/Vienna",
        "--liveness-file", file, "--liveness-port", 0, "--stuck-minutes", "2.5",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    (worker,) = made
    assert worker.schedule == Schedule(deep="1 2 * * *", light="", zone="Europe/Vienna")
    assert worker.liveness is not None
    assert (worker.liveness.file, worker.liveness.port) == (file, 0)
    assert (worker.liveness.host, worker.liveness.stuck_minutes) == ("127.0.0.1", 2.5)
    assert json.loads(file.read_text())["state"] == "stopped"


def test_help_loads_neither_the_service_nor_cronsim_nor_a_server() -> None:
    code = (
        "import sys\n"
        "from symfonic.capabilities.memory.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'rich', 'sqlite3', 'cronsim', 'http.server',"
        " 'symfonic.capabilities.memory.service'}\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "worker", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.endswith("LOADED []\n")
