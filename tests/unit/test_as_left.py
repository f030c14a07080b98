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
    edit_record,
    remove_link,
    set_strength,
)
from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.maintenance import Maintenance
from symfonic.capabilities.memory.records import (
    Entity,
    Link,
    Record,
    canonical,
    identify,
)
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Iterator


SCOPE = Scope("acme/ana")
AT = datetime(2026, 5, 1, 10, 20, tzinfo=UTC)
NOW = AT + timedelta(days=1)
HALF_LIFE = 720.0


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


def keep(store: SQLiteStore, *changes: Change) -> int:
    return store.commit(SCOPE, Commit(kind="deep", clock=AT, changes=changes), lease=None)


def undo(store: SQLiteStore, number: int) -> int:
    report = Maintenance(store, ()).undo(SCOPE, number, now=NOW)
    return int(report.run_id.rpartition("#")[2])


def redo(store: SQLiteStore, number: int) -> int:
    report = Maintenance(store, ()).redo(SCOPE, number, now=NOW)
    return int(report.run_id.rpartition("#")[2])


def refused(store: SQLiteStore, number: int) -> UndoRefused:
    before = contents(store)
    with pytest.raises(UndoRefused) as caught:
        redo(store, number)
    assert contents(store) == before
    return caught.value


def journal(store: SQLiteStore) -> str:
    return canonical([row for row in store.dump(SCOPE) if row["table"] == "change"]).replace(
        "\\", ""
    )


def contents(store: SQLiteStore) -> list[str]:
    """All that memory holds, but for what counts writes."""
    found = []
    for row in store.dump(SCOPE):
        if row["table"] in {"record", "link", "use", "seen"}:
            found.append(repr({k: v for k, v in row.items() if k not in {"version", "seq"}}))
    return sorted(found)


def test_an_undo_that_went_further_down_is_redone_first(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    first = keep(store, turned("g", one, state="condensed"))
    second = keep(store, turned("h", record(store, one.id), state="archived"))
    after = contents(store)
    upper = undo(store, second)
    lower = undo(store, first)
    error = refused(store, upper)
    assert f"symfonic-memory redo acme/ana#{lower}" in str(error)
    assert error.facts["run"] == f"acme/ana#{upper}"
    redo(store, lower)
    redo(store, upper)
    assert contents(store) == after


def test_a_link_does_not_come_back_to_what_is_not_there(store: SQLiteStore) -> None:
    one, two = tell(store, "a", "b")
    first = keep(store, *made("ada", one))
    second = keep(store, add_link(group("l"), mention(two, entity("ada")), "x"))
    after = contents(store)
    upper = undo(store, second)
    lower = undo(store, first)
    assert f"symfonic-memory redo acme/ana#{lower}" in str(refused(store, upper))
    redo(store, lower)
    redo(store, upper)
    assert contents(store) == after


def test_a_link_that_stands_otherwise_is_not_written_over(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    keep(store, *made("ada", one))
    first = keep(store, add_link(group("l"), mention(one, entity("ada"), 2), "x"))
    second = keep(store, add_link(group("m"), mention(one, entity("ada"), 3), "x"))
    after = contents(store)
    upper = undo(store, second)
    lower = undo(store, first)
    assert f"symfonic-memory redo acme/ana#{lower}" in str(refused(store, upper))
    redo(store, lower)
    redo(store, upper)
    assert contents(store) == after


def test_what_a_later_run_has_made_again_is_undone_first(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    first = keep(store, *made("ada", one))
    after = contents(store)
    undo(store, first)
    again = keep(store, add_record(group("ada"), entity("ada"), "newer evidence"))
    assert f"symfonic-memory undo acme/ana#{again}" in str(refused(store, first))
    lower = undo(store, again)
    redo(store, first)
    assert contents(store) == after
    assert f"symfonic-memory undo acme/ana#{first}" in str(refused(store, lower))


def test_a_later_strength_does_not_stand_in_the_way(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    number = keep(store, turned("g", one, state="condensed"))
    undo(store, number)
    keep(store, set_strength(group("s"), one.id, 77, "x"))
    redo(store, number)
    assert record(store, one.id).state == "condensed"
    assert record(store, one.id).strength == 77


def test_a_change_that_no_run_made_stands_in_the_way(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    number = keep(store, turned("g", one, pinned=True))
    undo(store, number)
    undo(store, keep(store, *made("cy")))
    store._db.raw.execute("UPDATE record SET pinned = 1 WHERE id = ?", (one.id,))
    assert "outside of any run" in str(refused(store, number))


def test_a_record_edited_twice_is_held_against_what_both_left(store: SQLiteStore) -> None:
    (one,) = tell(store, "a")
    pinned = replace(one, pinned=True)
    number = keep(
        store, turned("g", one, pinned=True), turned("h", pinned, state="condensed"),
        turned("i", replace(pinned, state="condensed"), pinned=False),
    )  # fmt: skip
    after = contents(store)
    undo(store, number)
    redo(store, number)
    assert contents(store) == after


@pytest.mark.parametrize("which", ["source of what was made", "what was edited"])
def test_a_redo_does_not_bring_back_what_was_forgotten(store: SQLiteStore, which: str) -> None:
    one, two = tell(store, "Ada called", "other")
    number = keep(
        store, *(made("ada", one) if which[0] == "s" else [turned("g", one, state="condensed")]),
        *made("bo", two),
    )  # fmt: skip
    undo(store, number)
    if which == "source of what was made":
        assert '"text":"ada"' in journal(store)
    store.forget(SCOPE, [one.id], subscriptions=())
    assert "was forgotten since" in str(refused(store, number))
    with store.snapshot(SCOPE) as reader:
        assert reader.run(number).status == "undone"
    assert '"text":"ada"' not in journal(store)
    assert "Ada called" not in journal(store)


def test_links_of_a_forgotten_episode_stay_away_and_the_rest_comes_back(store: SQLiteStore) -> None:
    one, two, three = tell(store, "a", "b", "c")
    keep(store, *made("ada", one, two, three))
    ada = entity("ada")
    number = keep(
        store, remove_link(group("l"), one.id, "mentions", ada.id, "x"),
        add_link(group("l"), mention(two, ada, 4), "x"),
        turned("g", three, state="condensed"),
    )  # fmt: skip
    undo(store, number)
    store.forget(SCOPE, [one.id, two.id], subscriptions=())
    redo(store, number)
    assert record(store, three.id).state == "condensed"
    with store.snapshot(SCOPE) as reader:
        links = reader.links([ada.id], kinds=["mentions"], direction="in", per_record=9)
    assert [link.source for link in links] == [three.id]
