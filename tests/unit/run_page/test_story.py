from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.demo import NOW as NIGHT
from symfonic.capabilities.memory.errors import InputError, RecordNotFound
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.run_page.page import run_page
from symfonic.capabilities.memory.run_page.story import run_story
from symfonic.capabilities.memory.stores.sqlite.reader import SQLiteReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.run_page.conftest import Parsed

    from symfonic.capabilities.memory.run_page.story import RunStory
    from symfonic.capabilities.memory.service import Memory

    Read = Callable[[RunStory], Parsed]

RUN = "demo/office#2"


def test_a_story_holds_a_run_with_its_changes_and_records(office: Memory) -> None:
    story = run_story(office, RUN)
    assert (story.name, story.scope, story.clock) == (RUN, "demo/office", NIGHT)
    assert list(story.journal) == office.diff(RUN)
    assert {str(row.change.row[0]) for row in story.journal} <= story.records.keys()
    assert not story.forgotten


def test_a_range_is_one_story_of_all_its_runs(office: Memory, read: Read) -> None:
    office.remember("The spare key is with Ana.", scope="demo/office", now=NIGHT)
    story = run_story(office, "demo/office#1", "demo/office#3")
    assert [run.number for run in story.runs] == [1, 2, 3]
    found = read(story)
    assert found.text("title") == "Runs demo/office#1..3"
    assert "The spare key is with Ana." in found.text("h4", "bdi")
    assert "symfonic-memory undo demo/office#1..3" in found.text("code")
    assert f"in {RUN}" in found.text("p")


def test_ends_that_make_no_range_are_refused(office: Memory) -> None:
    with pytest.raises(InputError, match="no range"):
        run_story(office, "demo/office#2", "demo/office#1")
    with pytest.raises(InputError, match="no range"):
        run_story(office, "demo/office#1", "demo#2")
    for first, last in ((9, 9), (1, 9)):
        with pytest.raises(RecordNotFound):
            run_story(office, f"demo/office#{first}", f"demo/office#{last}")


def test_a_number_that_no_run_has_is_passed_over(
    office: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.remember("One.", scope="demo/office", now=NIGHT)
    whole = run_story(office, "demo/office#1", "demo/office#3")
    plain = SQLiteReader.run

    def run(self: SQLiteReader, number: int) -> object:
        if number == 2:
            raise RecordNotFound("dropped")
        return plain(self, number)

    monkeypatch.setattr(SQLiteReader, "run", run)
    story = run_story(office, "demo/office#1", "demo/office#3")
    assert [run.number for run in story.runs] == [1, 3]
    assert len(story.journal) < len(whole.journal)


def test_what_was_forgotten_since_is_said_to_be_and_not_shown(office: Memory, read: Read) -> None:
    entity = next(r for r in run_story(office, RUN).records.values() if r.text == "Ilse Brandt")
    ids = office.find_forgettable(scope="demo/office", entity="Ilse Brandt")
    office.forget(ids, scope="demo/office")
    story = run_story(office, RUN)
    text = read(story).text()
    assert entity.id in story.forgotten
    assert "Ilse Brandt" not in text
    assert "forgotten: its text was erased" in text
    assert "erased since" in text
    summaries = [row for row in story.journal if row.change.group.kind == "summary"]
    assert any(not row.change.after for row in summaries if row.change.table == "record")
    assert "new summary" in text
    assert "new record" not in text


def test_a_forgotten_record_stays_out_even_where_the_journal_still_holds_it(
    night: RunStory, read: Read
) -> None:
    entity = next(r for r in night.records.values() if r.text == "Utrecht")
    rows = tuple(row for row in night.journal if row.change.group.id == entity.id)
    told = replace(night, journal=rows, forgotten=frozenset({entity.id}))
    found = read(told)
    assert "forgotten" in found.text("bdi")
    assert "Utrecht" not in found.text("bdi", "dd", "mark")


def test_undone_groups_are_marked_and_offer_no_undo(office: Memory, read: Read) -> None:
    group = next(
        str(r.change.group) for r in office.diff(RUN) if r.change.group.kind == "procedure"
    )
    office.undo(RUN, groups=[group], now=NIGHT)
    found = read(run_story(office, RUN))
    assert "undone by demo/office#3" in found.text("span")
    assert "Undone since: 1 of " in found.text("p")
    assert f"--group {group}" not in found.text("code")
    assert group in found.text("code")
    assert len(found.found("article", **{"class": "card undone"})) == 1


def test_an_undone_run_still_says_what_it_had_made(office: Memory, read: Read) -> None:
    office.undo(RUN, now=NIGHT)
    found = read(run_story(office, RUN))
    assert "Taken back." in found.text("p")
    assert "Utrecht" in found.text("bdi")
    assert "There is nothing left to take back." in found.text("p")
    assert "undo demo/office#2" not in found.text("code")


def test_an_undo_says_what_it_took_away(office: Memory, read: Read) -> None:
    office.undo(RUN, now=NIGHT)
    found = read(run_story(office, "demo/office#3"))
    assert "removed entity" in found.text("span")
    assert "removed entities" in found.text("span")
    assert "This run took back an earlier one." in found.text("p")


def test_an_import_says_what_came_in(office: Memory, read: Read) -> None:
    found = read(run_story(office, "demo/office#1"))
    assert ("Added", "178") in zip(
        [t for tag, t in found.texts if tag == "dt"],
        [t for tag, t in found.texts if tag == "dd"], strict=True,
    )  # fmt: skip
    assert "symfonic-memory forget" in found.text("code")


def test_a_plan_says_that_nothing_is_changed_yet(office: Memory, read: Read) -> None:
    policy = LearningPolicy(enable_entity_linker=True, entity_linker_min_mention_count=1)
    plan = office.plan(scope="demo/office", policy=policy, now=NIGHT)
    found = read(run_story(office, plan.run_id))
    assert "A plan. Nothing has been changed yet." in found.text("p")
    assert f"symfonic-memory apply {plan.run_id}" in found.text("code")
    assert f"undo {plan.run_id}" not in found.text("code")


def test_a_decision_shows_what_stood_there_before(office: Memory, read: Read) -> None:
    draft = office.procedures(scope="demo/office")[0]
    office.decide(draft.id, "approved", scope="demo/office", by="Priya", now=NIGHT)
    found = read(run_story(office, "demo/office#3"))
    cells = [t for tag, t in found.texts if tag == "td"]
    assert "draft" in cells
    assert "approved" in cells
    assert "Priya" in cells
    assert "Rests on " in found.text("h5")  # its evidence stood before, and is read of memory


def test_the_page_of_a_night_says_where_its_knobs_came_from(night: RunStory, read: Read) -> None:
    text = read(night).text("td", "code", "th")
    assert "enable_entity_linkertruefalsefile policy.toml" in text
    assert "lookback_hours" not in text
    assert "/policy.toml" not in run_page(night)
