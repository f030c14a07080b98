from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.cli import upkeep
from symfonic.capabilities.memory.maintenance import system_clock
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

LATER = "2026-12-01T02:00Z"


def test_compact_shortens_the_history_of_every_scope(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    would = ask("compact", "--now", LATER, "--dry-run", SYMFONIC_SCOPE=None)
    (one,) = would["scopes"]
    assert (one["scope"], one["runs"], would["dry_run"]) == ("demo/office", 1, True)
    assert one["dropped"] > 700
    assert would["before"] == "2026-11-01T02:00:00+00:00"
    done = ask("compact", "--now", LATER, SYMFONIC_SCOPE=None)
    assert (done["scopes"], done["busy"], done["dry_run"]) == (would["scopes"], [], False)
    assert done["rebuilt"] is True
    assert done["size_after"]["total"] < done["size_before"]["total"]
    assert ask("compact", "--now", LATER)["scopes"][0]["runs"] == 0
    refused = run("undo", "demo/office#2")
    assert "too old to be taken back" in refused.stderr


def test_compact_says_what_it_did_and_what_the_file_has(
    run: Callable[..., Result], slept: Path
) -> None:
    shown = run("compact", "--now", LATER, "--undo-days", "7", "--no-vacuum").stdout
    assert "older than 2026-11-01 02:00 UTC" in shown
    assert "Kept for grace_days (30) rather than undo_days (7)" in shown
    assert "free for new memory" in shown
    again = run("compact", "--now", LATER, "--dry-run").stdout
    assert "nothing is written" in again
    rebuilt = run("compact", "--now", LATER, "--vacuum").stdout
    assert "The file had" in rebuilt


def test_compact_keeps_as_long_as_the_knob_file_says(
    ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    knobs = tmp_path / "knobs.toml"
    knobs.write_text("[retention]\nundo_days = 100\n")
    shown = ask("compact", "--now", LATER, "--policy", knobs)
    assert (shown["before"], shown["scopes"][0]["runs"]) == ("2026-08-23T02:00:00+00:00", 0)
    longer = ask("compact", "--now", LATER, SYMFONIC_UNDO_DAYS="50")
    assert longer["before"] == "2026-10-12T02:00:00+00:00"


def test_compact_refuses_undo_days_out_of_range(ask: Callable[..., Any], slept: Path) -> None:
    assert ask("compact", "--undo-days", "0", code=11)["error"]["type"] == "PolicyError"


def test_compact_leaves_out_a_scope_that_is_being_run(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    with Memory.open(slept) as memory:
        memory.store.acquire(Scope("demo/office"), now=system_clock(), term_seconds=60)
        shown = ask("compact", "--now", LATER, SYMFONIC_SCOPE=None, code=41)
        assert (shown["scopes"], shown["busy"]) == ([], ["demo/office"])
        text = run("compact", "--now", LATER, SYMFONIC_SCOPE=None)
        assert "Left out, as another process runs it: demo/office" in text.stdout
        assert ask("compact", "--now", LATER, code=41)["error"]["type"] == "RunAlreadyActive"


def test_compact_says_where_the_file_could_not_be_rebuilt(
    run: Callable[..., Result], slept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "_give_back", lambda _memory, _vacuum: None)
    shown = " ".join(run("compact", "--now", LATER).stdout.split())
    assert "could not be rebuilt" in shown


def test_compact_shows_how_far_it_has_come(
    run: Callable[..., Result], slept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "shows_progress", lambda: True)
    assert run("compact", "--now", LATER).exit_code == 0


@pytest.mark.parametrize(
    ("number", "text"),
    [(512, "512 bytes"), (99_500, "99.5 kB"), (2_500_000, "2.5 MB"), (5_000_000_000, "5.0 GB")],
)
def test_sizes_are_said_as_a_person_reads_them(number: int, text: str) -> None:
    assert upkeep._bytes(number) == text


def test_half_life_says_what_it_changed_and_how_to_take_it_back(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    shown = ask("half-life", "60", "--now", LATER)
    assert (shown["before"], shown["after"], shown["run"]) == (30, 60, "demo/office#3")
    assert shown["changed"] == shown["records"] > 178
    assert "already fades with a half-life of 60 days" in run("half-life", "60").stdout
    text = run("half-life", "30", "--now", LATER).stdout
    assert "half-life of 30 days, until now 60" in text
    assert "symfonic-memory half-life 60 --scope demo/office" in text
    assert ask("runs")["runs"][0]["kind"] == "user"
    assert run("diff", "demo/office#3").exit_code == 0
    assert run("report", "demo/office#3", "--out", slept.with_suffix(".html")).exit_code == 0


def test_half_life_that_is_not_round_is_taken_back_by_the_command_that_it_shows(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    ask("half-life", "12.3456789", "--now", LATER)
    text = run("half-life", "30", "--now", LATER).stdout
    assert "symfonic-memory half-life 12.3456789 --scope demo/office" in text


def test_half_life_out_of_range_is_refused(ask: Callable[..., Any], slept: Path) -> None:
    assert ask("half-life", "0.5", code=11)["error"]["type"] == "PolicyError"
    assert ask("half-life", "1e308", code=11)["error"]["type"] == "PolicyError"
