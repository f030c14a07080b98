from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.run_page.outcomes import outcomes
from symfonic.capabilities.memory.testing.builders import make_entity

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.run_page.conftest import Parsed, Tale

    from symfonic.capabilities.memory.run_page.story import RunStory

    Read = Callable[[RunStory], Parsed]


def phase(**given: Any) -> dict[str, Any]:
    return {"name": "summarise", "outcome": "ran", **given}


def test_passes_are_added_up_and_the_last_says_what_is_left(tale: Tale) -> None:
    first = phase(looked_at=5, changes=2, left=9, reread=1, notes=["a"], counts={"old": 1})
    last = phase(looked_at=3, changes=1, left=4, dropped=2, notes=["a", "b"], counts={"old": 2})
    story = tale.story(report={"phases": [first]})
    other = replace(story.runs[0], number=3, report={"phases": [last]})
    (told,) = outcomes(replace(story, runs=(*story.runs, other)))
    assert (told.looked_at, told.changes, told.left) == (8, 3, 4)
    assert (told.reread, told.dropped, told.notes, told.counts) == (1, 2, ("a", "b"), {"old": 2})


@pytest.mark.parametrize(("ended", "told"), [("ran", "failed"), ("unheard_of", "unheard_of")])
def test_the_worst_end_of_a_phase_counts(tale: Tale, ended: str, told: str) -> None:
    phases = [phase(outcome="failed", reason="boom"), phase(outcome=ended)]
    assert outcomes(tale.story(report={"phases": phases}))[0].outcome == told


def test_what_is_left_names_the_command_that_goes_on(tale: Tale, read: Read) -> None:
    found = read(tale.story(report={"phases": [phase(left=1_200)]}))
    assert "Summaries: 1,200" in found.text("li")
    assert "symfonic-memory sleep --scope acme/ana" in found.text("code")
    done = read(tale.story(report={"phases": [phase()]}))
    assert "Nothing: every phase that looked came to the end of its work." in done.text("p")


def test_a_failure_says_that_nothing_of_it_was_written(tale: Tale, read: Read) -> None:
    text = read(tale.story(report={"phases": [phase(outcome="failed", reason="boom")]})).text()
    assert "boom" in text
    assert "Nothing of it was written" in text


@pytest.mark.parametrize(
    ("knob", "said"), [("episode_days", "What decides it is episode_days."), ("", "did not look")]
)
def test_a_knob_that_is_no_switch_is_named(tale: Tale, read: Read, knob: str, said: str) -> None:
    text = read(tale.story(report={"phases": [phase(outcome="declined", knob=knob)]})).text()
    assert said in text
    assert "--set" not in text


def test_notes_tell_the_raised_clock_what_was_reread_and_what_was_dropped(
    tale: Tale, read: Read
) -> None:
    notes = [f"note {n}" for n in range(50)]
    report = {
        "phases": [phase(reread=1, dropped=2, notes=notes)],
        "notes": ["the clock was raised"],
    }
    text = read(tale.story(report=report)).text("li", "p")
    assert "the clock was raised" in text
    assert "1 record read again, because a knob changed." in text
    assert "2 changes held back, because a person undid or forgot it." in text
    assert "and 12 more" in text


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("held", "a person decides"), ("abandoned", "It was abandoned"),
        ("elsewhere", "It is elsewhere."),
    ],
)  # fmt: skip
def test_each_status_says_how_the_run_stands(
    tale: Tale, read: Read, status: str, said: str
) -> None:
    assert said in read(tale.story(status=status)).text("p")


def test_runs_that_stand_differently_are_counted(tale: Tale, read: Read) -> None:
    ana = make_entity()
    story = tale.edits(ana, replace(ana, state="archived")).story()
    other = replace(story.runs[0], number=3, status="undone")
    assert "1 committed, 1 undone." in read(replace(story, runs=(*story.runs, other))).text("p")


def test_knobs_at_their_defaults_are_said_to_be(tale: Tale, read: Read) -> None:
    report = {"fingerprint": "ab12", "sources": {}, "settings": {}}
    assert "Every knob was at its default." in read(tale.story(report=report)).text("p")
    report["sources"], report["settings"] = {"new_knob": "flag"}, {"new_knob": None}
    assert "none—flag" in read(tale.story(report=report)).text("td")


def test_a_scope_that_a_shell_would_split_is_quoted(tale: Tale, read: Read) -> None:
    ana = make_entity()
    story = tale.edits(ana, replace(ana, state="archived")).story(scope="acme/my team")
    assert "symfonic-memory undo 'acme/my team#2'" in read(story).text("code")
