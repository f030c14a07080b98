"""What a person who waits at a terminal is shown beside the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.cli import ingesting, sleeping, transfer
from symfonic.capabilities.memory.cli.output import shows_progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ingesting, sleeping, transfer):
        monkeypatch.setattr(module, "shows_progress", lambda: True)


def test_progress_never_enters_the_result(
    watched: None, run: Callable[..., Result], week: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    ingested = run("ingest", week, "--now", NIGHT)
    assert ingested.exit_code == 0
    assert "178" in ingested.stdout
    slept = run("sleep", "--now", NIGHT)
    assert slept.exit_code == 0
    exported = run("export")
    assert exported.exit_code == 0
    assert all(line.startswith("{") for line in exported.stdout.splitlines())
    imported = run("import", "-", "--store", other, text=exported.stdout)
    assert imported.exit_code == 0
    for result in (ingested, slept, exported, imported):
        assert "…" not in result.stdout.splitlines()[0]


def test_nothing_moves_where_standard_error_is_no_terminal(
    run: Callable[..., Result], week: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(ingesting, "shows_progress", lambda: seen.append(shows_progress()))
    run("ingest", week, "--now", NIGHT)
    assert seen == [False]
