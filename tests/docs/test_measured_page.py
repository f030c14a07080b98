"""The page of measured results says what the pages say that it takes its numbers from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

PAGE: Final = Path(__file__).parents[2] / "docs/explanation/measured.md"
SECTIONS: Final = {
    section.partition("\n")[0]: section.partition("\n")[2]
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
}
_SOURCE: Final = re.compile(r"\]\(([^)]+\.md)\)")
_MEASURED: Final = re.compile(r"\d[\d,]*\.\d+|\b\d{2,3},\d{3}\b|\b\d+ (?:MB|ms|s)\b")
"""What no sentence says by chance: decimals, great numbers, and numbers with a unit."""


@pytest.mark.parametrize("title", SECTIONS)
def test_numbers_stand_in_the_page_that_they_are_taken_from(title: str) -> None:
    text = SECTIONS[title]
    numbers = _MEASURED.findall(text.replace("9.12.0", ""))
    if not numbers:
        return
    source = (PAGE.parent / _SOURCE.findall(text)[0]).read_text(encoding="utf-8")
    assert [number for number in numbers if number not in source] == []


def test_most_sections_have_numbers() -> None:
    with_numbers = [title for title, text in SECTIONS.items() if _MEASURED.search(text)]
    assert len(with_numbers) >= len(SECTIONS) / 2
