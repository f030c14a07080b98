from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result


def test_stats_count_what_is_there(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    found = ask("stats")
    assert found["records"] == {"episode": {"active": 178}}
    assert (found["visible"], found["runs"]) == (178, 1)
    shown = run("stats").stdout
    assert "178 records" in shown
    assert "not read yet by promote_procedures: 178" in shown


def test_doctor_finds_a_sound_store_sound(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    shown = ask("doctor")
    assert (shown["ok"], shown["problems"], shown["scopes"]) == (True, [], ["demo/office"])
    assert {"symfonic-memory", "python", "sqlite"} <= shown["versions"].keys()
    assert "The store is sound." in run("doctor").stdout


def test_doctor_ends_with_1_where_something_is_wrong(
    ask: Callable[..., Any],
    run: Callable[..., Result],
    slept: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Memory, "check", lambda _memory: ["The index leaks."])
    shown = ask("doctor", code=1)
    assert (shown["ok"], shown["problems"]) == (False, ["The index leaks."])
    text = run("doctor")
    assert text.exit_code == 1
    assert "Wrong: The index leaks." in text.stdout


def test_doctor_of_a_file_that_is_no_store_says_so(ask: Callable[..., Any], store: Path) -> None:
    store.write_bytes(b"not a database " * 100)
    assert ask("doctor", code=21)["error"]["type"] == "StoreUnavailable"
