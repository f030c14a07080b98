from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory import reference
from symfonic.capabilities.memory.knobs import Whole
from symfonic.capabilities.memory.reference import (
    BEGIN,
    END,
    PAGE,
    main,
    policy_table,
    with_tables,
)
from symfonic.capabilities.memory.settings import TABLES, environment_name

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]


def rows(text: str) -> Sequence[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_page_equals_the_fields() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert with_tables(page) == page, "python -m symfonic.capabilities.memory.reference --write"


def test_table_has_one_row_of_five_cells_for_each_knob() -> None:
    knobs = [(name, str(allowed)) for ranges in TABLES.values() for name, allowed in ranges.items()]
    found = rows(policy_table())
    assert [cells[0] for cells in found] == [f"`{name}`" for name, _ in knobs]
    for (name, allowed), cells in zip(knobs, found, strict=True):
        assert len(cells) == 5
        assert cells[2].endswith(f": {allowed}")
        assert cells[3] == f"`{environment_name(name)}`"
        assert cells[4].endswith(".")


def test_table_writes_defaults_as_a_file_would() -> None:
    found = {cells[0]: cells[1] for cells in rows(policy_table())}
    assert found["`lookback_hours`"] == "`24`"
    assert found["`enable_entity_linker`"] == "`false`"
    assert found["`phase_12_llm_model`"] == "`claude-haiku-4-5`"
    assert found["`episode_days`"] == "`none`"


def test_command_tells_a_stale_page_and_writes_it(
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
    assert policy_table() in text
    assert "stale" not in text


def test_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="no lines"):
        with_tables(f"# Page\n{BEGIN}\n")


def test_field_whose_note_states_another_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = {**TABLES["policy"], "lookback_hours": Whole(at_least=2)}
    monkeypatch.setattr(reference, "TABLES", {"policy": ranges})
    with pytest.raises(ValueError, match="at least 2"):
        policy_table()
