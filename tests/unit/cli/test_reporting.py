from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from symfonic.capabilities.memory.cli import reporting
from symfonic.capabilities.memory.errors import InputError, RecordNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slept: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_is_named_for_the_run(here: Path, run: Callable[..., Result]) -> None:
    result = run("report", "demo/office#2")
    assert result.exit_code == 0, result.output
    assert "demo-office-2.html" in result.stdout
    page = (here / "demo-office-2.html").read_text(encoding="utf-8")
    assert "<title>Run demo/office#2</title>" in page


@pytest.mark.parametrize("name", ["1..2", "demo/office#1..2", "demo/office#1..#2"])
def test_a_range_is_one_page(here: Path, ask: Callable[..., Any], name: str) -> None:
    told = ask("report", name)
    assert told["run_id"] == "demo/office#1..2"
    assert told["path"] == "demo-office-1-to-2.html"
    assert told["changes"] == ask("diff", 2)["change_count"]
    assert told["bytes"] == (here / told["path"]).stat().st_size


def test_the_same_run_is_written_again_as_the_same_bytes(
    here: Path, ask: Callable[..., Any]
) -> None:
    out = here / "page.html"
    ask("report", 2, "--out", out)
    first = out.read_bytes()
    ask("report", 2, "--out", out)
    assert out.read_bytes() == first
    assert {path.name for path in here.iterdir()} == {"memory.db", "page.html"}


def test_no_other_file_is_written_over(here: Path, ask: Callable[..., Any]) -> None:
    before = (here / "memory.db").read_bytes()
    told = ask("report", 2, "--out", here / "memory.db", code=InputError.exit_code)
    assert "no page of a run" in told["error"]["message"]
    assert (here / "memory.db").read_bytes() == before
    ask("report", 2, "--out", "/dev/null", code=InputError.exit_code)
    (here / "empty.html").touch()
    assert ask("report", 2, "--out", here / "empty.html")["bytes"] > 0


def test_a_place_that_cannot_be_written_is_named(here: Path, ask: Callable[..., Any]) -> None:
    told = ask("report", 2, "--out", here / "no" / "page.html", code=InputError.exit_code)
    assert "Name another place with --out." in told["error"]["message"]


def test_a_disk_that_fails_leaves_the_earlier_page(
    here: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = here / "page.html"
    ask("report", 2, "--out", out)
    before = out.read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    told = ask("report", 1, "--out", out, code=InputError.exit_code)
    assert "No space left" in told["error"]["message"]
    assert out.read_bytes() == before
    assert {path.name for path in here.iterdir()} == {"memory.db", "page.html"}


def test_a_run_that_is_not_there_writes_nothing(here: Path, ask: Callable[..., Any]) -> None:
    ask("report", 9, code=RecordNotFound.exit_code)
    assert [path.name for path in here.iterdir()] == ["memory.db"]


@pytest.mark.parametrize(("code", "said"), [(0, False), (1, True)])
def test_open_shows_it_or_says_that_it_cannot(
    here: Path, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, code: int, said: bool
) -> None:
    asked: list[str] = []

    def launch(path: str) -> int:
        asked.append(path)
        return code

    monkeypatch.setattr(click, "launch", launch)
    result = run("report", 2, "--open")
    assert asked == [str(here / "demo-office-2.html")]
    assert ("open the file yourself" in result.stdout) == said


def test_a_long_or_foreign_scope_still_names_a_file() -> None:
    class Story:
        name = f"{'a' * 150}/Ž#3"

    class Foreign:
        name = "Ž#3"

    assert str(reporting._named_for(Story())) == f"{'a' * 100}-3.html"  # type: ignore[arg-type]
    assert str(reporting._named_for(Foreign())) == "run-3.html"  # type: ignore[arg-type]
