"""``drafts export``: which procedures are written where, and what is said about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def first(ask: Callable[..., Any]) -> str:
    found: str = ask("drafts", "list")["drafts"][0]["id"]
    return found


def test_only_what_a_person_approved_is_exported(
    run: Callable[..., Result], ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    target = tmp_path / "skills"
    result = run("drafts", "export", str(target))
    assert result.exit_code == 0
    assert "no procedure of the status approved in demo/office" in result.stdout
    ask("drafts", "approve", first(ask), "--by", "Priya")
    (made,) = ask("drafts", "export", str(target))["skills"]
    assert [path.name for path in target.iterdir()] == [made["name"]]
    assert "Approved by Priya" in (Path(made["path"]) / "SKILL.md").read_text("utf-8")


def test_drafts_are_exported_when_asked_for_and_say_so(
    run: Callable[..., Result], ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    result = run("drafts", "export", str(tmp_path / "skills"), "--status", "draft")
    assert result.exit_code == 0
    assert result.stdout.count("Wrote ") == len(ask("drafts", "list")["drafts"])
    texts = [file.read_text("utf-8") for file in (tmp_path / "skills").rglob("SKILL.md")]
    assert all("approved by nobody" in text for text in texts)


def test_a_folder_of_a_procedure_that_was_retired_is_named(
    run: Callable[..., Result], ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    draft = first(ask)
    ask("drafts", "approve", draft, "--by", "Priya")
    (made,) = ask("drafts", "export", str(tmp_path / "skills"))["skills"]
    ask("drafts", "retire", draft, "--by", "Priya")
    result = run("drafts", "export", str(tmp_path / "skills"))
    assert "is of a procedure that is not exported any more: remove it" in result.stdout
    assert ask("drafts", "export", str(tmp_path / "skills"))["stale"] == [made["path"]]


def test_a_folder_of_somebody_else_is_refused(
    run: Callable[..., Result], ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    ask("drafts", "approve", first(ask), "--by", "Priya")
    (made,) = ask("drafts", "export", str(tmp_path / "skills"))["skills"]
    (Path(made["path"]) / "SKILL.md").write_text("mine")
    result = run("drafts", "export", str(tmp_path / "skills"))
    assert result.exit_code == 13
    assert "Nothing was written" in result.stderr
