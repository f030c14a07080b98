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
    mark_spread,
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
    RecordId,
    Status,
    Step,
    Use,
    identify,
    to_microseconds,
)
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.strength import record_strength

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.outcome import RunKind

SCOPE = Scope("acme/ana")
SALT = b"undo salt"
AT = datetime(2026, 5, 1, 10, 20, tzinfo=UTC)
NOW = AT + timedelta(days=1)
HOUR = to_microseconds(AT) // 3_600_000_000
HALF_LIFE = 720.0


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    found = SQLiteStore(":memory:")
    found.ensure_scope(SCOPE, half_life_hours=HALF_LIFE, salt=SALT)
    yield found
    assert found.check() == []
    found.close()


def tell(store: SQLiteStore, texts: Sequence[str]) -> list[RecordId]:
    turns = [
        Turn(session="s", position=None, role="user", text=text, importer="t",
             source_id=text, occurred_at=AT)
        for text in texts
    ]  # fmt: skip
    return list(store.add_turns(SCOPE, turns, now=AT, subscriptions=()).ids)


def entity(name: str) -> Record:
    return Record(
        id=identify(SALT, "entity", name), scope=SCOPE.path, kind="entity", key=name,
        content=Entity(name=name, entity_kind="person"), text=name, occurred_at=AT,
        recorded_at=AT,
    )  # fmt: skip


def group(i: str, kind: str = "entity") -> Group:
    return Group(phase="link_entities", kind=kind, id=i)


STRENGTH = group("s", "strength")


def mention(source: RecordId, target: Record, count: int = 1) -> Link:
    return Link(source=source, kind="mentions", target=target.id, count=count, at=AT)


def keep(store: SQLiteStore, *changes: Change | None, kind: RunKind = "deep", **commit: Any) -> int:
    found = tuple(change for change in changes if change is not None)
    return store.commit(SCOPE, Commit(kind=kind, clock=AT, changes=found, **commit), lease=None)


def undo(store: SQLiteStore, number: int, *groups: str) -> int:
    return Maintenance(store, ()).undo(SCOPE, number, groups=groups, now=NOW).change_count


def contents(store: SQLiteStore) -> list[dict[str, Any]]:
    """All that memory holds, without versions and history."""
    found = []
    for row in store.dump(SCOPE):
        if row["table"] in {"record", "link", "use"}:
            row.pop("version", None)
            found.append(row)
    return found


def records(store: SQLiteStore, *ids: str) -> list[Record]:
    with store.snapshot(SCOPE) as reader:
        return sorted(reader.records(list(ids)), key=lambda r: r.seq)


def strength_of(store: SQLiteStore, i: str) -> int:
    return records(store, i)[0].strength


def computed(store: SQLiteStore, i: str) -> int:
    """The strength that the stored uses give now."""
    with store.snapshot(SCOPE) as reader:
        (record,) = reader.records([i])
        return record_strength(record, reader.uses([i], until=NOW, per_record=999), HALF_LIFE)


def test_an_undo_takes_back_records_links_edits_and_removals(store: SQLiteStore) -> None:
    one, two = tell(store, ["a", "b"])
    ada, bo = entity("ada"), entity("bo")
    keep(
        store, add_record(group("bo"), bo, "x"), add_link(group("bo"), mention(one, bo), "x"),
        add_link(group("bo"), mention(two, bo, 3), "x"),
    )  # fmt: skip
    before = contents(store)
    (first, _) = records(store, one, two)
    number = keep(
        store,
        add_record(group("ada"), ada, "x"), add_link(group("ada"), mention(one, ada), "x"),
        edit_record(group("ada"), first, replace(first, state="condensed", text="other"), "x"),
        add_link(group("bo"), mention(one, bo, 7), "x"),
        remove_link(group("bo"), two, "mentions", bo.id, "x"),
    )  # fmt: skip
    assert contents(store) != before
    undo(store, number)
    assert contents(store) == before


def test_a_row_edited_twice_in_one_run_goes_back_to_what_it_was_before_both(
    store: SQLiteStore,
) -> None:
    (one,) = tell(store, ["a"])
    (first,) = records(store, one)
    middle, last = replace(first, text="middle"), replace(first, text="last", pinned=True)
    number = keep(
        store, edit_record(group("x"), first, middle, "x"),
        edit_record(group("x"), middle, last, "x"),
    )  # fmt: skip
    undo(store, number)
    assert records(store, one)[0].text == "a"
    assert not records(store, one)[0].pinned


def test_a_removed_record_comes_back_whole(store: SQLiteStore) -> None:
    keep(store, add_record(group("ada"), entity("ada"), "x"))
    before = contents(store)
    removal = Change(
        group=group("ada"), operation="remove", table="record", row=(entity("ada").id,)
    )
    number = keep(store, removal)
    undo(store, number)
    after = contents(store)
    for row in [*before, *after]:
        row.pop("seq", None)
    assert after == before


def test_versions_count_on(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    (before,) = records(store, one)
    number = keep(store, edit_record(group("x"), before, replace(before, text="y"), "x"))
    (between,) = records(store, one)
    undo(store, number)
    assert before.version < between.version < records(store, one)[0].version


def test_only_the_chosen_groups_are_taken_back_each_whole(store: SQLiteStore) -> None:
    one, _ = tell(store, ["a", "b"])
    ada, bo = entity("ada"), entity("bo")
    number = keep(
        store, add_record(group(ada.id), ada, "x"), add_link(group(ada.id), mention(one, ada), "x"),
        add_record(group(bo.id), bo, "x"), add_link(group(bo.id), mention(one, bo), "x"),
    )  # fmt: skip
    assert undo(store, number, str(group(ada.id))) == 2
    assert records(store, ada.id, bo.id)[0].id == bo.id
    with store.snapshot(SCOPE) as reader:
        assert reader.run(number).status == "committed"
        left = [row for row in reader.journal(number) if row.undone_by is None]
    assert {row.change.group for row in left} == {group(bo.id)}
    assert undo(store, number) == 2
    with store.snapshot(SCOPE) as reader:
        assert reader.run(number).status == "undone"


def test_a_group_that_is_undone_cannot_be_undone_again(store: SQLiteStore) -> None:
    number = keep(store, add_record(group("ada"), entity("ada"), "x"))
    undo(store, number)
    with pytest.raises(UndoRefused, match="nothing left"):
        undo(store, number)
    with pytest.raises(UndoRefused, match="nothing left"):
        undo(store, number, str(group("ada")))


def test_a_group_of_another_name_is_refused_by_name(store: SQLiteStore) -> None:
    number = keep(store, add_record(group("ada"), entity("ada"), "x"))
    with pytest.raises(UndoRefused) as caught:
        undo(store, number, "link_entities/entity/zed")
    assert caught.value.facts["groups"] == ("link_entities/entity/zed",)


def test_a_plan_cannot_be_undone(store: SQLiteStore) -> None:
    number = store.save_plan(SCOPE, Commit(kind="deep", clock=AT))
    with pytest.raises(UndoRefused, match="is planned"):
        undo(store, number)


def test_an_undo_is_refused_while_a_later_group_builds_on_it(store: SQLiteStore) -> None:
    one, two = tell(store, ["a", "b"])
    ada = entity("ada")
    first = keep(
        store, add_record(group(ada.id), ada, "x"), add_link(group(ada.id), mention(one, ada), "x")
    )
    before = contents(store)
    other = group("later")
    second = keep(store, add_link(other, mention(two, ada), "x"))
    with pytest.raises(UndoRefused) as caught:
        undo(store, first)
    assert caught.value.facts["groups"] == (f"acme/ana#{second} {other}",)
    undo(store, second)
    assert contents(store) == before
    undo(store, first)


def test_a_later_strength_does_not_stand_in_the_way(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    ada = entity("ada")
    first = keep(
        store, add_record(group(ada.id), ada, "x"), add_link(group(ada.id), mention(one, ada), "x")
    )
    keep(store, set_strength(STRENGTH, ada.id, 77, "x"))
    undo(store, first)
    assert records(store, ada.id) == []


def test_a_record_made_and_strengthened_in_one_run_can_be_undone_after_a_later_strength(
    store: SQLiteStore,
) -> None:
    ada = entity("ada")
    first = keep(
        store, add_record(group(ada.id), ada, "x"), set_strength(STRENGTH, ada.id, 50, "x")
    )
    keep(store, set_strength(STRENGTH, ada.id, 77, "x"))
    undo(store, first)
    assert records(store, ada.id) == []


def spread(record: str, weight: float) -> Use:
    return Use(record=RecordId(record), hour=HOUR, kind="spread", weight=weight)


def test_an_undo_takes_its_own_share_of_a_use_out_and_leaves_later_ones(
    store: SQLiteStore,
) -> None:
    (one,) = tell(store, ["a"])
    first = keep(store, add_spread(STRENGTH, spread(one, 0.5), "x"))
    keep(store, add_spread(STRENGTH, spread(one, 0.25), "x"))
    undo(store, first)
    (row,) = [row for row in contents(store) if row["table"] == "use"]
    assert row["weight"] == 0.25


def test_an_undo_of_all_shares_leaves_no_use_row(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    before = contents(store)
    numbers = [keep(store, add_spread(STRENGTH, spread(one, 0.1), "x")) for _ in range(3)]
    for number in numbers:
        undo(store, number)
    assert contents(store) == before


def test_an_undo_takes_back_how_much_of_a_use_had_spread(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    use = Use(record=one, hour=HOUR, kind="recalled", weight=2.0)
    store.add_uses(SCOPE, [use], subscriptions=())
    first = keep(store, mark_spread(STRENGTH, replace(use, spread_weight=1.0), "x"))
    second = keep(store, mark_spread(STRENGTH, replace(use, spread_weight=1.75), "x"))
    undo(store, first)
    (row,) = [row for row in contents(store) if row["table"] == "use"]
    assert row["spread_weight"] == 0.75
    undo(store, second)
    (row,) = [row for row in contents(store) if row["table"] == "use"]
    assert row["spread_weight"] == 0.0


def test_a_strength_no_later_run_has_set_goes_back_to_what_it_was(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    before = strength_of(store, one)
    number = keep(
        store, add_spread(STRENGTH, spread(one, 1.0), "x"),
        set_strength(STRENGTH, one, before + 500, "x"),
    )  # fmt: skip
    undo(store, number)
    assert strength_of(store, one) == before


def test_a_strength_a_later_run_has_set_is_computed_anew(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    numbers = []
    for weight in (3.0, 0.5):
        keep(store, add_spread(STRENGTH, spread(one, weight), "x"))
        numbers.append(keep(store, set_strength(STRENGTH, one, computed(store, one), "x")))
    both = strength_of(store, one)
    undo(store, numbers[0])
    assert strength_of(store, one) == both


def test_a_strength_computed_anew_counts_without_the_share_taken_out(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    numbers = []
    for weight in (3.0, 0.5):
        (record,) = records(store, one)
        with store.snapshot(SCOPE) as reader:
            uses = reader.uses([one], until=NOW, per_record=9)
        total = sum(use.weight for use in uses) + weight
        strength = record_strength(record, [spread(one, total)], HALF_LIFE)
        numbers.append(
            keep(
                store, add_spread(STRENGTH, spread(one, weight), "x"),
                set_strength(STRENGTH, one, strength, "x"),
            )
        )  # fmt: skip
    undo(store, numbers[0])
    assert strength_of(store, one) == computed(store, one)
    (row,) = [row for row in contents(store) if row["table"] == "use"]
    assert row["weight"] == 0.5
    undo(store, numbers[1])
    assert strength_of(store, one) == computed(store, one)
    assert [row for row in contents(store) if row["table"] == "use"] == []


def test_a_forgotten_record_stays_forgotten(store: SQLiteStore) -> None:
    one, two = tell(store, ["secret", "b"])
    first, second = records(store, one, two)
    number = keep(
        store, edit_record(group("x"), first, replace(first, state="condensed"), "x"),
        edit_record(group("y"), second, replace(second, state="condensed"), "x"),
        set_strength(STRENGTH, one, 5, "x"),
    )  # fmt: skip
    store.forget(SCOPE, [one], subscriptions=())
    undo(store, number)
    assert [r.id for r in records(store, one, two)] == [two]
    assert records(store, two)[0].state == "active"
    assert "secret" not in str(list(store.dump(SCOPE)))


def test_links_of_a_forgotten_record_do_not_come_back(store: SQLiteStore) -> None:
    one, two = tell(store, ["secret", "b"])
    ada = entity("ada")
    keep(
        store, add_record(group(ada.id), ada, "x"), add_link(group(ada.id), mention(one, ada), "x"),
        add_link(group(ada.id), mention(two, ada), "x"),
    )  # fmt: skip
    number = keep(store, remove_link(group(ada.id), one, "mentions", ada.id, "x"))
    store.forget(SCOPE, [one], subscriptions=())
    undo(store, number)
    links = [row for row in contents(store) if row["table"] == "link"]
    assert [row["source"] for row in links] == [two]


def test_uses_of_a_forgotten_record_do_not_come_back(store: SQLiteStore) -> None:
    (one,) = tell(store, ["secret"])
    use = Use(record=one, hour=HOUR, kind="recalled", weight=1.0)
    store.add_uses(SCOPE, [use], subscriptions=())
    number = keep(
        store, mark_spread(STRENGTH, replace(use, spread_weight=1.0), "x"),
        add_spread(STRENGTH, spread(one, 0.5), "x"),
    )  # fmt: skip
    store.forget(SCOPE, [one], subscriptions=())
    undo(store, number)
    assert [row for row in contents(store) if row["table"] == "use"] == []


def test_an_undo_is_in_the_journal_and_can_be_read_there(store: SQLiteStore) -> None:
    number = keep(store, add_record(group("ada"), entity("ada"), "made"))
    report = Maintenance(store, ()).undo(SCOPE, number, now=NOW)
    with store.snapshot(SCOPE) as reader:
        undone = reader.journal(number)
        (row,) = reader.journal(int(report.run_id.rpartition("#")[2]))
    assert [r.undone_by for r in undone] == [row.run]
    assert (row.change.operation, row.change.reason) == ("remove", "undo: made")
    assert report.notes == (f"undoes acme/ana#{number}",)
    assert report.kind == "undo"


def procedure(status: Status, by: str | None = "ana") -> Record:
    content = Procedure(
        title="Deploy", trigger="on Friday", steps=(Step(action="deploy"),), origin="stated",
        decided_by=by, decided_at=None if by is None else AT.isoformat(),
    )  # fmt: skip
    return replace(entity("p"), kind="procedure", content=content, status=status)


def test_taking_back_a_retirement_approves_nothing(store: SQLiteStore) -> None:
    before = procedure("approved")
    keep(store, add_record(group(before.id), before, "kept"), kind="user")
    retired = keep(store, edit_record(group(before.id), before, procedure("retired", "bo"), ""))
    undo(store, retired)
    (after,) = records(store, before.id)
    assert after == replace(procedure("draft", None), version=after.version, seq=after.seq)


def test_taking_back_a_change_of_status_alone_approves_nothing(store: SQLiteStore) -> None:
    before = procedure("approved")
    keep(store, add_record(group(before.id), before, "kept"), kind="user")
    retired = keep(store, edit_record(group(before.id), before, procedure("retired"), ""))
    undo(store, retired)
    (after,) = records(store, before.id)
    assert after == replace(procedure("draft", None), version=after.version, seq=after.seq)


def test_taking_back_a_removal_approves_nothing(store: SQLiteStore) -> None:
    before = procedure("approved")
    keep(store, add_record(group(before.id), before, "kept"), kind="user")
    removal = Change(group=group("x"), operation="remove", table="record", row=(before.id,))
    undo(store, keep(store, removal))
    (after,) = records(store, before.id)
    assert after.status == "draft"


def test_undoing_what_an_import_brought_approves_nothing(store: SQLiteStore) -> None:
    draft = procedure("draft", None)
    keep(store, add_record(group(draft.id), draft, "drafted"))
    keep(store, edit_record(group(draft.id), draft, procedure("approved"), ""), kind="user")
    approved = procedure("approved")
    keep(store, edit_record(group(draft.id), approved, procedure("retired"), ""), kind="user")
    other = SQLiteStore(":memory:")
    other.load(SCOPE, list(store.dump(SCOPE)))
    for number in (3, 2):
        undo(other, number)
        (after,) = records(other, draft.id)
        assert after.status == "draft"
        assert isinstance(after.content, Procedure)
        assert after.content.decided_by is None
    other.close()


@pytest.mark.parametrize("grouped", [False, True])
def test_an_undo_costs_in_proportion_to_its_run(grouped: bool) -> None:
    """Four times the changes take about four times the steps of the database, not sixteen."""
    small, large = (steps_of_an_undo(count, grouped=grouped) for count in (500, 2000))
    assert large < 5 * small


def steps_of_an_undo(count: int, *, grouped: bool) -> int:
    """How many steps of the database's machine it takes to take back twice ``count`` changes."""
    store = SQLiteStore(":memory:")
    store.ensure_scope(SCOPE, half_life_hours=HALF_LIFE, salt=SALT)
    (source,) = tell(store, ["hello"])
    made = [entity(f"n{n}") for n in range(count)]
    keep(store, *(add_record(STRENGTH, record, "there") for record in made[: count // 2]))
    changes: list[Change] = []
    for n, record in enumerate(made):
        own = group(record.id if grouped else "all")
        if n < count // 2:
            after = replace(record, pinned=True)
            changes += [c for c in (edit_record(own, record, after, "edit"),) if c is not None]
        else:
            changes.append(add_record(own, record, "new"))
        changes.append(add_link(own, mention(source, record), "named"))
    number = keep(store, *changes)
    keep(store, set_strength(STRENGTH, made[0].id, 7, "later"))
    ticks: list[int] = []
    store._db.raw.set_progress_handler(lambda: ticks.append(1), 100)
    undo(store, number)
    store._db.raw.set_progress_handler(None, 0)
    store.close()
    return len(ticks)
