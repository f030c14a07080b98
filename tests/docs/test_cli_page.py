from __future__ import annotations

from pathlib import Path

import pytest

from symfonic.capabilities.memory.cli.app import COMMANDS, INTERRUPTED
from symfonic.capabilities.memory.cli.page import (
    BEGIN,
    END,
    PAGE,
    error_classes,
    main,
    reference,
    with_reference,
)

ROOT = Path(__file__).parents[2]


def test_page_equals_the_commands() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert with_reference(page) == page, "python -m symfonic.capabilities.memory.cli.page --write"


def test_page_has_every_command_and_exit_code() -> None:
    text = reference()
    for name in COMMANDS:
        assert f"### `symfonic-memory {name}" in text
    for code in (0, 1, 2, INTERRUPTED, *(error.exit_code for error in error_classes())):
        assert f"\n| {code} | " in text


def test_table_rows_have_three_cells() -> None:
    rows = [line for line in reference().splitlines() if line.startswith("| `--")]
    assert rows
    assert all(line.count(" | ") == 2 or " |  | " in line for line in rows)


def test_command_tells_a_stale_cli_page_and_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{BEGIN}\nstale\n{END}\n\nAfter\n", encoding="utf-8")
    assert main([str(page)]) == 1
    assert "--write" in capsys.readouterr().err
    assert main(["--write", str(page)]) == 0
    assert main([str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Before\n\n")
    assert text.endswith("\n\nAfter\n")
    assert "stale" not in text


def test_cli_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="no lines"):
        with_reference(f"# Page\n{BEGIN}\n")
