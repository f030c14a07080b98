from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result


def test_demo_learns_and_takes_it_back(ask: Callable[..., Any], tmp_path: Path) -> None:
    shown = ask("demo")
    (run,) = shown["passes"]
    assert shown["ingest"]["added"] == 178
    assert run["change_count"] == shown["undo"]["change_count"] > 0
    assert {phase["outcome"] for phase in run["phases"]} == {"ran"}
    assert len(shown["drafts"]) == 2
    assert {item["kind"] for item in shown["before"]["items"]} == {"episode"}
    assert {item["kind"] for item in shown["after"]["items"]} == {"episode"}
    assert shown["undo"]["after"]["records"] == {"episode": {"active": 178}}
    assert shown["undo"]["after"]["links"] == 0
    assert list(tmp_path.iterdir()) == []


def test_demo_repeats_whatever_the_environment_says(ask: Callable[..., Any]) -> None:
    first, second = ask("demo"), ask("demo", SYMFONIC_ENABLE_ENTITY_LINKER="false")
    for name in ("digest", "input_digest"):
        assert first["passes"][0][name] == second["passes"][0][name]
    assert first["before"] == second["before"]


def test_demo_tells_every_step_within_80_columns(run: Callable[..., Result]) -> None:
    result = run("demo")
    assert result.exit_code == 0
    for part in (
        "enable_entity_linker = true", "No phase declined", "Procedures drafted: 2",
        "1. lookup_order", "Taken back", "After: 178 episodes, 0 links", "demo --keep",
    ):  # fmt: skip
        assert part in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_kept_demo_can_be_looked_around_in(
    run: Callable[..., Result], ask: Callable[..., Any], tmp_path: Path
) -> None:
    directory = tmp_path / "kept"
    shown = run("demo", "--keep", directory)
    assert shown.exit_code == 0
    kept = directory / "demo.db"
    assert str(kept) in shown.stdout
    assert ask("stats", "--store", kept)["records"]["entity"]["active"] > 0
    assert len(ask("drafts", "list", "--store", kept)["drafts"]) == 2


def test_last_commands_are_named_as_this_one_was_started(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "symfonic-memory"
    started.write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [str(started), "demo"])
    assert f"  {started} demo --keep demo-memory\n" in run("demo").stdout
    started.chmod(0o755)
    assert "\n  symfonic-memory demo --keep" in run("demo", PATH=str(tmp_path)).stdout


def test_demo_leaves_a_used_directory_alone(ask: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert ask("demo", "--keep", tmp_path, code=13)["error"]["type"] == "InputError"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
