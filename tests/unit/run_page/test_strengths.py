from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.changes import Group, add_spread, mark_spread
from symfonic.capabilities.memory.records import RecordId, Use
from symfonic.capabilities.memory.strength import strength_at
from symfonic.capabilities.memory.testing.builders import HALF_LIFE_HOURS, NOW, make_entity

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.run_page.conftest import Parsed, Tale

    from symfonic.capabilities.memory.run_page.story import RunStory

    Read = Callable[[RunStory], Parsed]


def test_strength_is_read_at_the_runs_clock_largest_moves_first(
    tale: Tale, read: Read, people: Callable[[int], Any]
) -> None:
    small, large, falling = people(3)
    tale.moves(small, 10).moves(large, 2_000).moves(falling, -600)
    found = read(tale.story())
    before, after = (
        strength_at(stored, NOW, HALF_LIFE_HOURS)
        for stored in (large.strength, large.strength + 2_000)
    )
    numbers = [text for tag, text in found.texts if tag == "span" and "→" in text]
    assert numbers[0] == f"{before:.2f} → {after:.2f}"
    names = [text for tag, text in found.texts if tag == "bdi"]
    assert names == ["Person 1", "Person 2", "Person 0"]
    assert len(found.found("span", **{"class": "bar up"})) == 2
    assert len(found.found("span", **{"class": "bar down"})) == 1
    assert "3 strengths moved" in found.text()


def test_shares_of_uses_are_counted(tale: Tale, read: Read) -> None:
    use = Use(record=RecordId("n1"), hour=1, kind="recalled", weight=1.0, spread_weight=1.0)
    group = Group(phase="strengthen", kind="strength", id="n1")
    tale.add(add_spread(group, use, ""), mark_spread(group, use, ""), mark_spread(group, use, ""))
    text = read(tale.story()).text()
    assert "1 share of a neighbour's use were counted and 2 uses were marked as spread" in text


def test_two_passes_are_one_row_from_first_to_last(tale: Tale, read: Read) -> None:
    ana = make_entity("n1", "Ana")
    tale.moves(ana, 1_000)
    again = tale.rows[0]
    tale.moves(ana, 2_000)
    assert again.before == tale.rows[1].before
    numbers = [text for tag, text in read(tale.story()).texts if "→" in text and tag == "span"]
    first, last = (
        strength_at(ana.strength + by, NOW, HALF_LIFE_HOURS) for by in (0, 2_000)
    )  # fmt: skip
    assert numbers == [f"{first:.2f} → {last:.2f}"]
