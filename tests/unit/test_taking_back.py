from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    add_spread,
    edit_record,
    remove_link,
    set_strength,
)
from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.maintenance import Maintenance
from symfonic.capabilities.memory.records import (
    Entity,
    Link,
    Procedure,
    Record,
    Step,
    Use,
    identify,
    to_microseconds,
)
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.strength import record_strength
from symfonic.capabilities.memory.taking_back import plan_redo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.outcome import RunKind
    from symfonic.capabilities.memory.records import Status

SCOPE = Scope("acme/ana")
AT = datetime(2026, 5, 1, 10, 20, tzinfo=UTC)
NOW = AT + timedelta(days=1)
HOUR = to_microseconds(AT) // 3_600_000_000
HALF_LIFE = 720.0
STRENGTH = Group(phase="strengthen", kind="strength", id="s")


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    found = SQLiteStore(":memory:")
    found.ensure_scope(SCOPE, half_life_hours=HALF_LIFE, salt=b"back")
    yield found
    assert found.check() == []
    found.close()


def tell(store: SQLiteStore, *texts: str) -> list[Record]:
    turns = [
        Turn(session="s", position=None, role="user", text=text, importer="t",
             source_id=text, occurred_at=AT)
        for text in texts
    ]  # fmt: skip
    ids = store.add_turns(SCOPE, turns, now=AT, subscriptions=()).ids
    return [record(store, i) for i in ids]


def record(store: SQLiteStore, i: str) -> Record:
    with store.snapshot(SCOPE) as reader:
        return reader.records([i])[0]


def entity(name: str) -> Record:
    return Record(
        id=identify(b"back", "entity", name), scope=SCOPE.path, kind="entity", key=name,
        content=Entity(name=name, entity_kind="person"), text=name, occurred_at=AT,
        recorded_at=AT,
    )  # fmt: skip


def procedure(status: Status, by: str | None = "ana") -> Record:
    content = Procedure(
        title="Deploy", trigger="on Friday", steps=(Step(action="deploy"),), origin="stated",
        decided_by=by, decided_at=None if by is None else AT.isoformat(),
    )  # fmt: skip
    return replace(entity("p"), kind="procedure", content=content, status=status)


DRAFTED = Group(phase="promote_procedures", kind="procedure", id=procedure("draft").id)
DECIDED = Group(phase="user", kind="procedure", id=DRAFTED.id)


def group(i: str) -> Group:
    return Group(phase="link_entities", kind="entity", id=i)


def mention(source: Record, target: Record, count: int = 1) -> Link:
    return Link(source=source.id, kind="mentions", target=target.id, count=count, at=AT)


def made(name: str, *sources: Record) -> list[Change]:
    """An entity with its mentions."""
    links = [add_link(group(name), mention(source, entity(name)), "x") for source in sources]
    return [add_record(group(name), entity(name), "x"), *links]


def turned(name: str, before: Record, **columns: Any) -> Change:
    change = edit_record(group(name), before, replace(before, **columns), "x")
    assert change is not None
    return change


def keep(store: SQLiteStore, *changes: Change, kind: RunKind = "deep") -> int:
    return store.commit(SCOPE, Commit(kind=kind, clock=AT, changes=changes), lease=None)


def undo(store: SQLiteStore, number: int, *groups: Group, cascade: bool = False) -> int:
    names = [str(one) for one in groups]
    report = Maintenance(store, ()).undo(SCOPE, number, groups=names, cascade=cascade, now=NOW)
    return int(report.run_id.rpartition("#")[2])


def redo(store: SQLiteStore, number: int) -> int:
    report = Maintenance(store, ()).redo(SCOPE, number, now=NOW)
    return int(report.run_id.rpartition("#")[2])


def refused(act: Any, store: SQLiteStore, number: int, **how: Any) -> UndoRefused:
    before = contents(store)
    with pytest.raises(UndoRefused) as caught:
        act(store, number, **how)
    assert contents(store) == before
    return caught.value


def contents(store: SQLiteStore) -> list[str]:
    """All that memory holds, but for what counts writes."""
    found = []
    for row in store.dump(SCOPE):
        if row["table"] in {"record", "link", "use", "seen"}:
            found.append(repr({k: v for k, v in row.items() if k not in {"version", "seq"}}))
    return sorted(found)


def status(store: SQLiteStore, *numbers: int) -> list[str]:
    with store.snapshot(SCOPE) as reader:
        return [reader.run(number).status for number in numbers]


def standing(store: SQLiteStore, number: int) -> list[int | None]:
    with store.snapshot(SCOPE) as reader:
        return sorted({row.undone_by for row in reader.journal(number)}, key=str)


def compact(store: SQLiteStore, number: int) -> None:
    """Mark a run as one whose before-images are gone."""
    store._db.raw.execute("UPDATE run SET compacted = 1 WHERE number = ?", (number,))


# What comes back


def test_an_undo_and_its_redo_cancel_out_however_often(store: SQLiteStore) -> None:
    one, two = tell(store, "a", "b")
    keep(store, *made("bo", one, two))
    before = contents(store)
    spread = Use(record=one.id, hour=HOUR, kind="spread", weight=0.3)
    number = keep(
        store, *made("ada", one), turned("one", one, state="condensed"),
        remove_link(group("bo"), one.id, "mentions", entity("bo").id, "x"),
        add_link(group("bo2"), mention(two, entity("bo"), 5), "x"),
        add_spread(STRENGTH, spread, "x"), set_strength(STRENGTH, one.id, 5, "x"),
        set_strength(STRENGTH, entity("ada").id, 555, "x"),
    )  # fmt: skip
    after = contents(store)
    last = 0
    for round_ in range(10):
        last = undo(store, number)
        assert contents(store) == before
        assert status(store, number, last) == ["undone", "committed"]
        again = redo(store, number if round_ % 2 else last)
        assert contents(store) == after
        assert status(store, number, last, again) == ["committed", "undone", "committed"]
    assert standing(store, number) == [None]
    assert standing(store, last) == [last + 1]
    assert standing(store, last + 1) == [last + 1]


def test_a_record_made_and_edited_in_one_run_comes_back_as_edited(store: SQLiteStore) -> None:
    ada = entity("ada")
    number = keep(
        store, *made("ada"), turned("later", ada, pinned=True),
        set_strength(STRENGTH, ada.id, 555, "x"),
    )  # fmt: skip
    after = contents(store)
    undo(store, number)
    redo(store, number)
    assert contents(store) == after


def test_a_strength_a_later_run_has_set_is_computed_with_the_mention_that_came_back(
    store: SQLiteStore,
) -> None:
    one, two = tell(store, "a", "b")
    ada = entity("ada")
    keep(store, *made("ada", one))
    number = keep(
        store, add_link(group("later"), mention(two, ada, 3), "x"),
        set_strength(STRENGTH, ada.id, 7, "x"),
    )  # fmt: skip
    undo(store, number)
    keep(store, set_strength(STRENGTH, ada.id, 9999, "x"))
    redo(store, number)
    with store.snapshot(SCOPE) as reader:
        uses = reader.uses([ada.id], until=NOW, per_record=99)
    assert [use.weight for use in uses] == [4.0]
    assert record(store, ada.id).strength == record_strength(ada, uses, HALF_LIFE)


def test_a_redo_of_one_group_brings_back_that_group_only(store: SQLiteStore) -> None:
    number = keep(store, *made("ada"), *made("bo"))
    whole = contents(store)
    undo(store, number, group("ada"))
    half = contents(store)
    undo(store, number, group("bo"))
    assert status(store, number) == ["undone"]
    redo(store, number)
    assert contents(store) == half
    assert status(store, number) == ["committed"]
    redo(store, number)
    assert contents(store) == whole
    assert standing(store, number) == [None]


def test_what_is_brought_back_is_no_longer_undone_for_a_night(store: SQLiteStore) -> None:
    number = keep(store, *made("ada"))
    for suppressed in (True, False, True):
        if suppressed:
            undo(store, number)
        else:
            redo(store, number)
        with store.snapshot(SCOPE) as reader:
            assert ("ada" in reader.undone("link_entities", ["ada"])) is suppressed


def test_a_histories_redos_survive_an_export(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    number = keep(store, *made("ada", one))
    after = contents(store)
    undo(store, number)
    redo(store, number)
    undo(store, number)
    dumped = list(store.dump(SCOPE))
    other = SQLiteStore(":memory:")
    other.load(SCOPE, dumped)
    assert list(other.dump(SCOPE)) == dumped
    redo(other, number)
    assert contents(other) == after
    assert "undo acme/ana#1" in str(refused(undo, other, number + 2))
    other.close()


# Cascade


def test_a_cascade_takes_the_whole_chain_in_one_run_and_nothing_else(store: SQLiteStore) -> None:
    one, two = tell(store, "a", "b")
    before = contents(store)
    first = keep(store, *made("ada", one))
    near = Link(source=entity("bo").id, kind="co_occurred", target=entity("ada").id, at=AT)
    second = keep(store, *made("bo"), add_link(group("l"), near, "x"))
    third = keep(store, turned("bo-later", entity("bo"), pinned=True))
    apart = keep(store, *made("cy", two))
    everything = contents(store)
    error = refused(undo, store, first)
    assert error.facts["groups"] == (f"acme/ana#{second} {group('l')}",)
    assert "--cascade" in str(error)
    taken = undo(store, first, cascade=True)
    with store.snapshot(SCOPE) as reader:
        assert {str(row.change.group) for row in reader.journal(taken)} == {
            str(group("ada")), str(group("l")),
        }  # fmt: skip
        assert reader.run(taken).report["notes"] == [f"undoes acme/ana#{second}, acme/ana#{first}"]
    assert status(store, first, second, third, apart) == ["undone", *["committed"] * 3]
    redo(store, taken)
    assert contents(store) == everything
    taken = undo(store, second, cascade=True)
    redo(store, second)
    undo(store, first, cascade=True)
    undo(store, second, cascade=True)
    undo(store, apart)
    assert contents(store) == before
    assert status(store, first, second, third, apart) == ["undone"] * 4


def test_a_cascade_takes_back_what_builds_on_it_in_the_same_run(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    before = contents(store)
    number = keep(store, *made("ada"), add_link(group("other"), mention(one, entity("ada")), "x"))
    after = contents(store)
    with pytest.raises(UndoRefused, match="Undo the whole run, or name those groups too"):
        undo(store, number, group("ada"))
    undo(store, number, group("ada"), cascade=True)
    assert contents(store) == before
    redo(store, number)
    assert contents(store) == after


def test_a_group_is_not_undone_under_one_of_its_run_that_wrote_over_it(store: SQLiteStore) -> None:
    one, two = tell(store, "a", "b")
    keep(store, *made("ada", one))
    before = contents(store)
    ada = entity("ada")
    number = keep(
        store, turned("low", one, state="condensed"),
        add_link(group("low"), mention(two, ada), "x"),
        turned("high", replace(one, state="condensed"), state="archived"),
        add_link(group("link"), mention(two, ada, 2), "x"),
        turned("apart", one, pinned=True),
    )  # fmt: skip
    after = contents(store)
    with pytest.raises(UndoRefused) as caught:
        undo(store, number, group("low"))
    names = tuple(f"acme/ana#{number} {group(name)}" for name in ("high", "link"))
    assert caught.value.facts["groups"] == names
    undo(store, number, group("high"))
    undo(store, number, group("low"), cascade=True)
    undo(store, number, group("apart"))
    assert contents(store) == before
    for _ in range(3):
        redo(store, number)
    assert contents(store) == after


def test_a_cascade_over_strengths_puts_back_the_first_one(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    keep(store, set_strength(STRENGTH, one.id, 123, "x"))
    before = contents(store)
    first = keep(store, *made("ada"), set_strength(group("ada"), one.id, 10, "x"))
    keep(
        store, add_link(group("l"), mention(one, entity("ada")), "x"),
        set_strength(group("l"), one.id, 20, "x"),
    )  # fmt: skip
    after = contents(store)
    undo(store, first, cascade=True)
    assert contents(store) == before
    redo(store, first)
    assert contents(store) == after


def test_a_cascade_through_a_compacted_run_is_refused(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    first = keep(store, *made("ada"))
    second = keep(store, add_link(group("l"), mention(one, entity("ada")), "x"))
    compact(store, second)
    assert f"#{second} is too old" in str(refused(undo, store, first, cascade=True))


# A person's decisions


def test_a_cascade_over_a_rejection_comes_back_whole(store: SQLiteStore) -> None:
    draft = procedure("draft", None)
    number = keep(store, add_record(DRAFTED, draft, "x"))
    change = edit_record(DECIDED, draft, procedure("rejected"), "x")
    assert change is not None
    keep(store, change, kind="user")
    after = contents(store)
    undo(store, number, cascade=True)
    redo(store, number)
    assert contents(store) == after


def test_a_cascade_over_an_approval_comes_back_as_a_draft_that_a_person_decides(
    store: SQLiteStore,
) -> None:
    draft = procedure("draft", None)
    number = keep(store, add_record(DRAFTED, draft, "x"))
    drafted = contents(store)
    change = edit_record(DECIDED, draft, procedure("approved"), "x")
    assert change is not None
    decision = keep(store, change, kind="user")
    taken = undo(store, number, cascade=True)
    with store.snapshot(SCOPE) as reader:
        (note,) = plan_redo(reader, number).notes
    assert note == f"the approval of {draft.id} is not redone: decide on its draft again"
    redo(store, number)
    assert contents(store) == drafted
    assert status(store, number, decision, taken) == ["committed", "undone", "committed"]
    assert standing(store, decision) == [taken]
    error = refused(redo, store, taken)
    assert f"drafts approve {draft.id} --scope acme/ana" in str(error)
    undo(store, number)
    redo(store, number)
    assert contents(store) == drafted


def test_an_approval_alone_is_not_redone(store: SQLiteStore) -> None:
    draft = procedure("draft", None)
    keep(store, add_record(DRAFTED, draft, "x"))
    change = edit_record(DECIDED, draft, procedure("approved"), "x")
    assert change is not None
    decision = keep(store, change, kind="user")
    undo(store, decision)
    assert "only a person approves" in str(refused(redo, store, decision))


# What was forgotten


def test_an_edit_whose_before_was_forgotten_is_not_called_undone(store: SQLiteStore) -> None:
    one, two = tell(store, "a", "b")
    keep(store, *made("ada", one, two))
    number = keep(store, turned("edit", entity("ada"), pinned=True), *made("bo", two))
    store.forget(SCOPE, [one.id], subscriptions=())
    error = refused(undo, store, number)
    assert error.facts["groups"] == (f"acme/ana#{number} {group('edit')}",)
    assert "--group" in str(error)
    undo(store, number, group("bo"))
    assert status(store, number) == ["committed"]
    redo(store, number)
    assert record(store, entity("bo").id).text == "bo"


def test_what_was_made_and_edited_goes_though_its_evidence_was_forgotten(
    store: SQLiteStore,
) -> None:
    one, two = tell(store, "a", "b")
    ada = entity("ada")
    number = keep(store, *made("ada", one, two), turned("edit", ada, pinned=True))
    store.forget(SCOPE, [one.id], subscriptions=())
    after = contents(store)
    undo(store, number)
    with store.snapshot(SCOPE) as reader:
        assert reader.records([ada.id]) == []
    redo(store, number)
    assert contents(store) == after


def test_a_removal_whose_record_was_forgotten_is_left_out(store: SQLiteStore) -> None:
    one, two = tell(store, "a", "b")
    keep(store, *made("ada", one))
    removal = Change(
        group=group("gone"), operation="remove", table="record", row=(entity("ada").id,)
    )
    unlinked = remove_link(group("gone"), one.id, "mentions", entity("ada").id, "x")
    number = keep(store, unlinked, removal, turned("two", two, state="condensed"))
    store.forget(SCOPE, [one.id], subscriptions=())
    undo(store, number)
    assert record(store, two.id).state == "active"
    with store.snapshot(SCOPE) as reader:
        assert reader.records([entity("ada").id]) == []


# What stands in the way of a redo


def test_a_redo_that_a_later_run_builds_on_is_refused_and_names_it(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    number = keep(store, turned("g", one, state="condensed"))
    taken = undo(store, number)
    later = keep(store, turned("h", record(store, one.id), state="archived"))
    error = refused(redo, store, taken)
    assert error.facts["groups"] == (f"acme/ana#{later} {group('h')}",)
    assert f"Undo acme/ana#{later} first" in str(error)
    assert "--cascade" not in str(error)
    undo(store, later)
    redo(store, taken)
    assert record(store, one.id).state == "condensed"


def test_the_message_names_five_groups_and_the_range_of_their_runs(store: SQLiteStore) -> None:
    sources = tell(store, *"abcdefg")
    number = keep(store, *made("ada"))
    for n, source in enumerate(sources):
        keep(store, add_link(group(f"l{n}"), mention(source, entity("ada")), "x"))
    error = refused(undo, store, number)
    assert error.facts["groups"] == tuple(
        f"acme/ana#{number + 1 + n} {group(f'l{n}')}" for n in range(7)
    )
    assert "and 2 more" in str(error)
    assert f"symfonic-memory undo acme/ana#{number + 1}..{number + 7}" in str(error)


# What is no undo


def test_a_redo_and_an_undo_say_how_they_are_taken_back(store: SQLiteStore) -> None:
    number = keep(store, *made("ada"))
    taken = undo(store, number)
    again = redo(store, taken)
    back = f"symfonic-memory undo acme/ana#{number}"
    for act in (undo, redo):
        error = refused(act, store, again)
        assert str(error).endswith(back)
        assert error.facts["run"] == f"acme/ana#{again}"
    assert f"symfonic-memory redo acme/ana#{taken}" in str(refused(undo, store, taken))
    assert "nothing left to redo" in str(refused(redo, store, taken))
    assert "so there is no redo" in str(refused(redo, store, number))


def test_a_redo_of_a_cascade_is_taken_back_with_a_cascade(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    number = keep(store, *made("ada"))
    keep(store, add_link(group("l"), mention(one, entity("ada")), "x"))
    undo(store, number, cascade=True)
    again = redo(store, number)
    error = refused(undo, store, again)
    assert str(error).endswith(f"symfonic-memory undo acme/ana#{number} --cascade")


def test_a_compacted_run_or_undo_is_not_taken_back(store: SQLiteStore) -> None:
    number = keep(store, *made("ada"))
    taken = undo(store, number)
    compact(store, taken)
    for which in (number, taken):
        assert f"#{taken} is too old" in str(refused(redo, store, which))
    compact(store, number)
    for act in (undo, redo):
        assert f"#{number} is too old" in str(refused(act, store, number))


def test_a_run_without_changes_left_is_not_undone(store: SQLiteStore) -> None:
    number = keep(store, *made("ada"))
    undo(store, number)
    assert "nothing left to undo" in str(refused(undo, store, number))
    plan = store.save_plan(SCOPE, Commit(kind="deep", clock=AT, changes=tuple(made("bo"))))
    assert "only a committed run" in str(refused(undo, store, plan))
    with pytest.raises(UndoRefused, match="has no group 'link_entities/entity/no'"):
        undo(store, keep(store, *made("cy")), group("no"))
