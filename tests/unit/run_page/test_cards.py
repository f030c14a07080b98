from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import Group, add_link, add_record, remove_link
from symfonic.capabilities.memory.records import (
    Episode,
    Fact,
    Link,
    Note,
    Procedure,
    Step,
    Summary,
    ToolCall,
    to_microseconds,
)
from symfonic.capabilities.memory.testing.builders import (
    NOW,
    make_entity,
    make_episode,
    make_link,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.run_page.conftest import Parsed, Tale

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.run_page.story import RunStory

    Read = Callable[[RunStory], Parsed]


def fact(i: str = "f1", **given: Any) -> Record:
    content = Fact(subject="Ana", attribute="city", value="Graz", valid_from=NOW.isoformat())
    return replace(
        make_entity(i), kind="fact", text="Ana lives in Graz.", content=replace(content, **given)
    )


def test_a_supersession_shows_validity_and_what_it_replaces(tale: Tale, read: Read) -> None:
    old, new = fact("f1"), fact("f2", value="Linz")
    ended = replace(fact("f1", valid_to=NOW.isoformat()), state="superseded")
    group = Group(phase="supersede", kind="supersession", id="f2")
    tale.add(add_record(group, replace(new, text="Ana lives in Linz."), "Newer evidence."))
    tale.add(add_link(group, make_link("f2", "f1", kind="supersedes"), "It is older."))
    tale.edits(old, ended, phase="supersede", kind="closing")
    found = read(tale.story())
    text = found.text()
    assert "replaced fact" in text
    assert "True untilopen2026-03-02 03:00 UTC" in text
    assert "Statein usereplaced by a newer one" in text
    assert "Replaces (1)" in text
    assert "cityLinz" in found.text("dt", "dd", "bdi")
    assert found.found("td", **{"data-label": "Before"})


def test_records_that_changed_alike_stand_in_one_row(
    tale: Tale, read: Read, turns: Callable[..., Any]
) -> None:
    group = Group(phase="summarise", kind="summary", id="s1")
    content = Summary(method="lexrank@1", episode_count=9, first_at="x", last_at="y")
    summary = replace(make_entity("s1"), kind="summary", content=content, text="First.\n\nSecond.")
    tale.add(add_record(group, summary, "Condenses 9 turns."))
    for turn in turns(9):
        tale.add(add_link(group, make_link("s1", turn.id, kind="summarises"), ""))
        tale.edits(turn, replace(turn, state="condensed"), phase="summarise", kind="summary")
    for row, changed in enumerate(tale.rows):
        tale.rows[row] = replace(changed, change=replace(changed.change, group=group))
    found = read(tale.story())
    assert "State of 9 turns" in "".join(t for tag, t in found.texts if tag in {"th", "span"})
    assert found.text("td").count("condensed: recall still finds it") == 1
    assert "Condenses (9)" in found.text("h5", "span")
    assert "and 4 more; see symfonic-memory diff acme/ana#2 --full" in found.text("p", "code")
    assert "First." in found.text("p")


def test_a_note_that_ended_shows_when(tale: Tale, read: Read) -> None:
    note = replace(make_entity("m1"), kind="note", content=Note(), text="Buy milk.", until=NOW)
    tale.edits(note, replace(note, state="archived", pinned=True, until=None), phase="expire")
    text = read(tale.story()).text()
    assert "archived note" in text
    assert "Until2026-03-02 03:00 UTCopen" in text
    assert "Pinnednoyes" in text
    group = Group(phase="user", kind="note", id="m1")
    tale.rows.clear()
    assert "Buy milk." in read(tale.add(add_record(group, note, "told")).story()).text("p")


def test_what_the_journal_keeps_no_more_is_said(tale: Tale, read: Read) -> None:
    entity = make_entity("n1")
    tale.edits(entity, replace(entity, state="archived", strength=5))
    bare = replace(tale.rows[0], before={})
    tale.rows[:] = [bare]
    cells = [text for tag, text in read(tale.story()).texts if tag == "td"]
    assert cells[0] == cells[2] == "not kept"


def test_a_draft_shows_its_steps_trigger_and_calls(tale: Tale, read: Read) -> None:
    step = Step(action="refund", arguments={"order": "{order}", "fast": True, "lines": ["a", 1]})
    bare = Step(action="say thanks")
    content = Procedure(
        title="Refund", trigger="When it broke", steps=(step, bare), origin="calls", support=3,
        successes=2, failures=1,
    )  # fmt: skip
    draft = replace(make_entity("p1"), kind="procedure", content=content, status="draft", text="x")
    calls = tuple(ToolCall(name=f"call{n}", arguments="raw", ok=n > 0 or None) for n in range(5))
    turn = make_episode("e1", "", content=Episode(role="assistant", calls=calls))
    group = Group(phase="promote_procedures", kind="procedure", id="p1")
    tale.add(add_record(group, draft, "seen in 3 sessions"))
    tale.add(add_link(group, make_link("p1", "e1", kind="evidence"), "shows the steps"))
    found = read(tale.knows(turn).story())
    text = found.text()
    assert "new draft" in text
    assert "refund fast: true, lines: a, 1, order: {order}" in text
    assert "When it broke" in text
    assert "Seen in 3 sessions: 2 went well, 1 failed." in text
    assert "call0(raw)" in text
    assert "call1(raw) → ok" in text
    assert "and 2 more calls" in text
    assert "drafts list --scope acme/ana" in text
    changed = replace(draft, content=replace(content, steps=(bare,)))
    tale.rows.clear()
    cells = read(tale.edits(draft, changed, kind="procedure").story()).text("td")
    assert "refund, then say thanks" in cells


def test_links_read_from_the_side_of_the_record(tale: Tale, read: Read) -> None:
    ana, bo = make_entity("n1", "Ana"), make_entity("n2", "Bo")
    group = Group(phase="link_cooccurring", kind="pair", id="n1")
    pair = make_link("n1", "n2", kind="co_occurred")
    gone = Link(source=bo.id, kind="part_of", target=ana.id, count=1, at=NOW)
    tale.knows(ana, bo).add(add_link(group, pair, "Seen together twice."))
    tale.add(remove_link(group, gone.source, gone.kind, gone.target, "no longer"))
    text = read(tale.story()).text()
    assert "more about a known entity" in text
    assert "Occurs with (1)" in text
    assert "No longer: has the part (1)" in text
    tale.rows[:] = tale.rows[1:]
    assert "less about a known entity" in read(tale.story()).text()


def test_a_record_that_is_nowhere_is_named_by_its_id(tale: Tale, read: Read) -> None:
    group = Group(phase="link_cooccurring", kind="pair", id="0123456789")
    tale.add(add_link(group, make_link("0123456789", "9876543210", kind="co_occurred"), ""))
    text = read(tale.story()).text()
    assert "record 01234567" in text
    assert "not there (98765432)" in text


@pytest.mark.parametrize("text", ["", "said"])
def test_a_turn_that_is_added_or_removed_is_told(tale: Tale, read: Read, text: str) -> None:
    group = Group(phase="redo", kind="turn", id="e1")
    tale.add(add_record(group, make_episode("e1", text), ""))
    assert f"user: {text or 'no text'}" in read(tale.story()).text("bdi")


def test_many_kinds_of_edits_are_cut_and_counted(
    tale: Tale, read: Read, people: Callable[..., Any]
) -> None:
    group = Group(phase="merge_duplicates", kind="merge", id="n00000")
    for n, person in enumerate(people(20)):
        tale.edits(person, replace(person, occurred_at=NOW.replace(minute=n)), phase="m")
    tale.rows[:] = [replace(r, change=replace(r.change, group=group)) for r in tale.rows]
    text = read(tale.story()).text()
    assert "Happened of Person 1" in text
    assert "and 8 more; see symfonic-memory diff acme/ana#2 --full" in text
    assert str(to_microseconds(NOW)) not in text


def test_several_records_of_different_kinds_are_counted_as_records(tale: Tale, read: Read) -> None:
    ana, turn = make_entity("n1"), make_episode("e1")
    group = Group(phase="expire", kind="hiding", id="zz")
    for record in (ana, turn):
        tale.edits(record, replace(record, state="archived"), phase="expire")
    tale.rows[:] = [replace(r, change=replace(r.change, group=group)) for r in tale.rows]
    assert "2 records" in read(tale.story()).text("span")


def test_a_pair_is_named_by_both_of_its_records(
    tale: Tale, read: Read, people: Callable[[int], Any]
) -> None:
    many = people(80)
    tale.knows(*many)
    for one, other in pairwise(many):
        group = Group(phase="link_cooccurring", kind="pair", id=f"{one.id}+{other.id}")
        pair = make_link(one.id, other.id, kind="co_occurred")
        tale.add(add_link(group, pair, "Seen together twice."))
    found = read(tale.story())
    assert "Person 0 and Person 1" in found.text("bdi")
    assert "new link" in found.text("span")
    assert "Occurs with (2)" in found.text("h5", "span")
    assert "--group link_cooccurring/pair/n00000+n00001" in found.text("code")
    assert "pair/n00078+n00079" in found.text("code")
