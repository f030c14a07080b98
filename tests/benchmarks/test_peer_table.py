"""What the comparison with the predecessor compares, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.peer_table import (
    NOTES,
    PARTNERS,
    QUADRATIC,
    Phase,
    Side,
    by_phase,
    compared,
    ratios,
    side,
    sides,
    table,
    verdict,
)


def make_phase(name: str, seconds: float = 1.0, **given: Any) -> Phase:
    facts: dict[str, Any] = {"outcome": "ran", "examined": 1000, "produced": 3, **given}
    return Phase(name=name, seconds=seconds, **facts)


def make_side(*phases: Phase, cpu_s: float = 1.0) -> Side:
    return Side(
        cpu_s=cpu_s,
        peak_mb=50.0,
        phases=phases,
        held={"episodes": 10_000},
        versions={"Python": "3.11"},
    )


def make_result(cpu_s: float, **given: Any) -> dict[str, Any]:
    phase = {"outcome": "ran", "examined": 5, "produced": 2, "seconds": cpu_s / 2}
    return {
        "cpu_s": cpu_s, "peak_mb": 10.0 * cpu_s, "phases": {"strengthen": phase},
        "held": {"episodes": 7}, "errors": [], "versions": {"Python": "3.11"},
        "passes": 1, **given,
    }  # fmt: skip


def row_of(text: str, name: str) -> list[str]:
    """The cells of the one row that begins with a name."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {name} ")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_a_phase_is_compared_only_where_its_partner_ran() -> None:
    theirs = make_side(make_phase("strengthen"), make_phase("cooccurrence"), make_phase("tag_risk"))
    ours = make_side(make_phase("strengthen"))
    assert compared(theirs, ours) == ["strengthen"]
    linked = make_side(make_phase("strengthen"), make_phase("link_cooccurring"))
    assert compared(theirs, linked) == ["strengthen", "cooccurrence"]


@pytest.mark.parametrize("outcome", ["declined", "failed"])
def test_a_phase_that_did_not_look_is_not_compared(outcome: str) -> None:
    ran, not_ran = make_phase("strengthen"), make_phase("strengthen", outcome=outcome)
    assert compared(make_side(ran), make_side(not_ran)) == []
    assert compared(make_side(not_ran), make_side(ran)) == []


def test_ratios_leave_out_their_phases_and_nothing_of_ours() -> None:
    theirs = make_side(
        make_phase("strengthen", 0.5),
        make_phase("cooccurrence", 6.0),
        make_phase("prune_orphans", 2.5),
        make_phase("meta_nodes", 1.0),
        cpu_s=11.0,
    )
    ours = make_side(
        make_phase("strengthen", 0.1),
        make_phase("link_cooccurring", 0.1),
        make_phase("expire", 0.1),
        cpu_s=0.5,
    )
    whole, both, plain = ratios(theirs, ours)
    assert (whole.theirs_s, whole.times) == (11.0, 22.0)
    assert (both.theirs_s, both.times) == (9.0, 18.0)
    assert (plain.theirs_s, plain.times) == (0.5, 1.0)
    assert {ratio.ours_s for ratio in (whole, both, plain)} == {0.5}


def test_their_run_over_unimportant_records_is_one_more_line() -> None:
    theirs, ours = make_side(cpu_s=9.0), make_side(cpu_s=0.5)
    assert len(ratios(theirs, ours)) == 3
    last = ratios(theirs, ours, make_side(cpu_s=16.0))[-1]
    assert (last.theirs_s, last.times) == (16.0, 32.0)


def test_every_phase_of_theirs_has_a_note() -> None:
    assert PARTNERS.keys() <= NOTES.keys()
    assert PARTNERS.keys() >= QUADRATIC
    for name, note in NOTES.items():
        assert note.startswith("no partner: ") is (name not in PARTNERS)


def test_a_side_is_its_middle_run() -> None:
    found = side([make_result(3.0), make_result(1.0), make_result(2.0)])
    assert (found.cpu_s, found.peak_mb) == (2.0, 20.0)
    assert found.phases == (
        Phase(name="strengthen", outcome="ran", examined=5, produced=2, seconds=1.0),
    )


def test_of_an_even_number_of_runs_the_dearer_middle_one_counts() -> None:
    assert side([make_result(1.0), make_result(2.0)]).cpu_s == 2.0


def test_a_run_with_errors_is_not_compared() -> None:
    with pytest.raises(ValueError, match="phase 3"):
        side([make_result(1.0), make_result(1.0, errors=["phase 3 (prune_orphans): no"])])


@pytest.mark.parametrize(("theirs_s", "mark"), [(20.0, "met"), (19.9, "**missed**")])
def test_the_verdict_holds_the_whole_run_to_the_aim(theirs_s: float, mark: str) -> None:
    theirs = make_side(make_phase("strengthen", 0.2), cpu_s=theirs_s)
    text = verdict(ratios(theirs, make_side(make_phase("strengthen"))))
    assert row_of(text, "the whole run")[3:] == [f"{theirs_s:.1f} ×", f"aim ≥ 20 ×: {mark}"]
    assert row_of(text, "their phases that both ran")[3:] == ["0.2 ×", ""]


def test_phases_stand_beside_their_partners() -> None:
    theirs = make_side(
        make_phase("cooccurrence", new=999, walks=7000), make_phase("prune_orphans"),
        make_phase("tag_risk"), make_phase("brand_new"), make_phase("entity_links"),
    )  # fmt: skip
    ours = make_side(
        make_phase("link_cooccurring", 0.25, examined=40, produced=2000, left=4),
        make_phase("link_entities", outcome="declined", left=12),
        make_phase("supersede"),
    )
    text = by_phase(theirs, ours)
    assert row_of(text, "cooccurrence")[:12] == [
        "cooccurrence (quadratic)", "1,000", "999", "7,000", "3", "1.000",
        "`link_cooccurring`", "40", "2,000", "4", "0.250", "yes",
    ]  # fmt: skip
    assert row_of(text, "prune_orphans")[6] == "`expire` (not in this roster)"
    assert row_of(text, "tag_risk")[6:12] == ["–", "", "", "", "", "no"]
    assert row_of(text, "brand_new")[-1] == "no partner"
    assert row_of(text, "entity_links")[6:12] == [
        "`link_entities` (declined)", "", "", "12", "", "no",
    ]  # fmt: skip
    assert row_of(text, "–")[6] == "`supersede`"
    assert row_of(text, "–")[-1] == "no phase of theirs"


def test_what_both_sides_held_and_did_stands_side_by_side() -> None:
    text = sides(
        make_side(make_phase("a"), make_phase("b"), cpu_s=9.14), make_side(make_phase("strengthen"))
    )
    assert row_of(text, "episodes held")[1:] == ["10,000", "10,000"]
    assert row_of(text, "CPU of the run")[1:] == ["9.14 s", "1.00 s"]
    assert row_of(text, "items examined, all phases")[1:] == ["2,000", "1,000"]
    assert row_of(text, "items produced, all phases")[1:] == ["6", "3"]


def test_a_table_has_as_many_cells_in_every_row() -> None:
    assert table([["a", "b"], ["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"
    text = by_phase(make_side(make_phase("tag_risk")), make_side(make_phase("supersede")))
    assert {line.count("|") for line in text.splitlines()} == {14}
