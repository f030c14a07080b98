from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.cli import backfilling
from symfonic.capabilities.memory.maintenance import system_clock
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

UNTIL = "2026-09-21"


def test_history_is_walked_and_the_walk_told_as_one_object(
    ask: Callable[..., Any], read: Path, policy: Path
) -> None:
    would = ask("backfill", "--until", UNTIL, "--policy", policy, "--dry-run")
    assert (would["dry_run"], would["runs"]) == (True, [])
    done = ask("backfill", "--until", UNTIL, "--policy", policy)
    nights = [(night["night"], night["episodes"]) for night in done["nights"]]
    assert nights == [(night["night"], night["episodes"]) for night in would["nights"]]
    assert nights[0][0] == "2026-09-15T02:00:00+00:00"
    assert done["totals"]["episodes"] == would["totals"]["episodes"] == 178
    assert done["totals"]["runs"] == len(done["runs"])
    assert {run["status"] for run in done["runs"]} == {"committed"}
    assert ask("backfill", "--until", UNTIL, "--policy", policy, code=13)["error"]["type"] == (
        "InputError"
    )


def test_a_walk_is_told_to_a_person_night_by_night(
    run: Callable[..., Result], read: Path, policy: Path
) -> None:
    shown = run("backfill", "--until", UNTIL, "--policy", policy, "--notes").stdout
    assert "Walked: demo/office, 2026-09-15 02:00 to 2026-09-21 02:00 UTC" in shown
    assert "2026-09-16 02:00" in shown
    assert "Take it back with: symfonic-memory undo demo/office#2" in shown
    assert "demo/office#2: " in shown


def test_a_dry_run_writes_nothing_and_says_so(run: Callable[..., Result], read: Path) -> None:
    shown = run("backfill", "--until", "2026-09-15T02:00Z", "--dry-run").stdout
    assert "Dry run, nothing is written: demo/office, 2026-09-15 02:00 UTC" in shown
    assert "1 night, " in shown
    assert "undo" not in shown
    assert json.loads(run("runs", "--json").stdout)["runs"][0]["kind"] == "ingest"


def test_many_nights_are_shown_by_month(
    run: Callable[..., Result], store: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    days = [f"2026-{month:02}-{day:02}" for month in (3, 4) for day in range(2, 22)]
    log.write_text("".join(
        json.dumps({"id": day, "session": day, "at": f"{day}T12:00Z", "text": "Hello."}) + "\n"
        for day in days
    ))  # fmt: skip
    assert run("ingest", log, "--now", "2026-05-01T00:00Z").exit_code == 0
    shown = run("backfill", "--until", "2026-04-22", "--at", "03:30", "--zone", "Europe/Vienna")
    assert [line.split()[:3] for line in shown.stdout.splitlines() if line[:4] == "2026"] == [
        ["2026-03", "20", "20"], ["2026-04", "20", "20"],
    ]  # fmt: skip
    assert "40 nights, 40 new episodes" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--since", "yesterday"), "--since is 'yesterday', which is no time"),
        (("--until", "2026-09-20T10:00"), "names no zone"),
        (("--at", "late"), "--at is 'late', which is no time of day"),
        (("--at", "02:00Z"), "which is no time of day"),
        (("--zone", "Mars"), "No time zone is called 'Mars'"),
        (("--since", "2026-09-20", "--until", "2026-09-19"), "No night begins from"),
        (("--until", "9999-12-31"), "--until is"),
        (("--until", "2026-09-01"), "has nothing to walk"),
    ],
)
def test_what_cannot_be_walked_is_refused(
    run: Callable[..., Result], slept: Path, arguments: tuple[str, ...], said: str
) -> None:
    refused = run("backfill", *arguments)
    assert refused.exit_code == 13
    assert said in refused.stderr


def test_a_scope_that_another_process_runs_is_left_alone(
    run: Callable[..., Result], read: Path
) -> None:
    with Memory.open(read) as memory:
        lease = memory.store.acquire(Scope("demo/office"), now=system_clock(), term_seconds=60)
        assert run("backfill", "--until", UNTIL).exit_code == 41
        memory.store.release(lease)


def test_progress_is_shown_beside_the_result(
    run: Callable[..., Result], read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfilling, "shows_progress", lambda: True)
    walked = run("backfill", "--until", UNTIL)
    assert walked.exit_code == 0
    assert walked.stdout.startswith("Walked: ")
