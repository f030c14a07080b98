from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SETS: Final = Path(__file__).parent / "sets"


@pytest.fixture
def sets() -> Path:
    """Small sets that were written for these tests, one in each format."""
    return SETS


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """A set with one value in it set to another, or taken out: ``changed("x.json", 0, "qa")``."""

    def changed(name: str, *steps: int | str, **to: Any) -> Path:
        whole = json.loads((SETS / name).read_text(encoding="utf-8"))
        within = whole
        for step in steps[:-1]:
            within = within[step]
        if to:
            within[steps[-1]] = to["to"]
        else:
            del within[steps[-1]]
        path = tmp_path / name
        path.write_text(json.dumps(whole), encoding="utf-8")
        return path

    return changed
