from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.worker.scaffolding import rendered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

APP = rendered("night-shift")


def test_init_writes_the_app_and_says_what_comes_next(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    place = tmp_path / "night shift"
    result = run("init", place)
    assert result.exit_code == 0
    for path, text in APP.items():
        assert (place / path).read_text(encoding="utf-8") == text
        assert f"  {path}\n" in result.stdout
    assert f"  cd '{place}'\n" in result.stdout
    assert "  .venv/bin/night-shift --once\n" in result.stdout
    assert "Replaced" not in result.stdout


def test_init_tells_programs_what_became_of_each_file(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    place = tmp_path / "app"
    shown = ask("init", place, "--name", "night-shift")
    assert shown.keys() == {
        "directory", "name", "package", "written", "replaced", "unchanged", "next",
    }  # fmt: skip
    assert (shown["name"], shown["package"]) == ("night-shift", "night_shift")
    assert shown["directory"] == str(place)
    assert (shown["written"], shown["replaced"], shown["unchanged"]) == ([*APP], [], [])
    assert shown["next"][0] == f"cd {place}"


def test_init_refuses_a_directory_that_is_not_empty(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    place = tmp_path / "night-shift"
    place.mkdir()
    (place / "README.md").write_text("mine\n", encoding="utf-8")
    error = ask("init", place, code=13)["error"]
    assert error["type"] == "InputError"
    assert error["facts"]["differing"] == ["README.md"]
    assert [path.name for path in place.iterdir()] == ["README.md"]


def test_forced_init_lists_what_it_replaced(run: Callable[..., Result], tmp_path: Path) -> None:
    place = tmp_path / "night-shift"
    place.mkdir()
    (place / "README.md").write_text("mine\n", encoding="utf-8")
    (place / "Dockerfile").write_text(APP["Dockerfile"], encoding="utf-8")
    result = run("init", place, "--force")
    assert result.exit_code == 0
    assert "Replaced, and held something else before: README.md\n" in result.stdout
    assert "Held the same already: Dockerfile\n" in result.stdout


def test_init_refuses_a_name_that_cannot_be_used(ask: Callable[..., Any], tmp_path: Path) -> None:
    assert ask("init", tmp_path / "x", "--name", "logging", code=13)["error"]["facts"] == {
        "name": "logging"
    }
    assert not (tmp_path / "x").exists()


def test_init_needs_neither_a_store_nor_the_workers_own_packages(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['cronsim'] = None\n"
        "from symfonic.capabilities.memory.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print('LOADED', sorted({'sqlite3', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "init", str(tmp_path / "app")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("LOADED []\n")
