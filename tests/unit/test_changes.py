from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    add_spread,
    edit_record,
    mark_spread,
    output_digest,
    remove_link,
    set_strength,
)
from symfonic.capabilities.memory.records import (
    COLUMNS,
    Episode,
    Link,
    Record,
    RecordId,
    Use,
    from_columns,
)

AT = datetime(2026, 4, 2, 10, 30, tzinfo=UTC)
GROUP = Group(phase="link_entities", kind="entity", id="e1")
RECORD = Record(
    id=RecordId("r1"), scope="acme", kind="episode", key=None, content=Episode(role="user"),
    text="The kiln is warm.", occurred_at=AT, recorded_at=AT,
)  # fmt: skip
USE = Use(record=RecordId("r1"), hour=12, kind="spread", weight=0.1 + 0.2, spread_weight=1 / 3)


def test_a_group_is_named_without_text() -> None:
    assert str(GROUP) == "link_entities/entity/e1"
    assert min([GROUP, Group(phase="a", kind="z", id="1")]).phase == "a"


def test_an_added_record_carries_every_content_column() -> None:
    change = add_record(GROUP, RECORD, "why")
    assert (change.operation, change.table, change.row) == ("add", "record", ("r1",))
    assert set(change.after) == set(COLUMNS)
    assert from_columns(change.after, id="r1", scope="acme") == RECORD
    assert not change.derived


def test_an_edit_carries_only_what_differs() -> None:
    change = edit_record(GROUP, RECORD, replace(RECORD, state="condensed"), "old")
    assert change is not None
    assert change.after == {"state": "condensed"}
    assert not change.derived


def test_an_edit_that_changes_nothing_is_no_change() -> None:
    assert edit_record(GROUP, RECORD, replace(RECORD, version=9, seq=9), "same") is None


def test_an_edit_of_strength_alone_is_derived() -> None:
    change = edit_record(GROUP, RECORD, replace(RECORD, strength=5), "used")
    both = edit_record(GROUP, RECORD, replace(RECORD, strength=5, text="x"), "used")
    assert change is not None
    assert both is not None
    assert change.derived
    assert not both.derived
    assert set_strength(GROUP, RECORD.id, 5, "used").derived


def test_uses_are_derived_and_links_are_not() -> None:
    link = Link(source=RecordId("r1"), kind="mentions", target=RecordId("e1"), count=2, at=AT)
    assert add_spread(GROUP, USE, "near").derived
    assert mark_spread(GROUP, USE, "done").derived
    assert not add_link(GROUP, link, "named").derived
    assert not remove_link(GROUP, "r1", "mentions", "e1", "gone").derived


def test_use_changes_carry_rounded_weights_under_the_hour() -> None:
    assert add_spread(GROUP, USE, "near").after == {"weight": 0.3}
    assert mark_spread(GROUP, USE, "done").after == {"spread_weight": 0.333333333}
    assert add_spread(GROUP, USE, "near").row == ("r1", 12, "spread")


def test_a_link_is_added_with_count_and_time_and_removed_by_its_key() -> None:
    link = Link(source=RecordId("r1"), kind="mentions", target=RecordId("e1"), count=2, at=AT)
    added = add_link(GROUP, link, "named")
    removed = remove_link(GROUP, "r1", "mentions", "e1", "gone")
    assert added.row == removed.row == ("r1", "mentions", "e1")
    assert added.after["count"] == 2
    assert removed.after == {}


def test_the_digest_does_not_depend_on_when_a_row_was_recorded() -> None:
    later = replace(RECORD, recorded_at=AT.replace(year=2027), version=7, seq=8)
    assert output_digest([add_record(GROUP, RECORD, "why")]) == output_digest(
        [add_record(GROUP, later, "why")]
    )


def test_the_digest_depends_on_everything_else() -> None:
    base = add_record(GROUP, RECORD, "why")
    others = [
        add_record(GROUP, RECORD, "another reason"),
        add_record(Group(phase="p", kind="entity", id="e1"), RECORD, "why"),
        add_record(GROUP, replace(RECORD, text="cold"), "why"),
        add_record(GROUP, replace(RECORD, id=RecordId("r2")), "why"),
        replace(base, operation="edit"),
        replace(base, table="link"),
    ]
    digests = {output_digest([change]) for change in [base, *others]}
    assert len(digests) == 1 + len(others)


def test_the_digest_depends_on_the_order_and_the_number_of_changes() -> None:
    one, two = add_record(GROUP, RECORD, "a"), set_strength(GROUP, RECORD.id, 3, "b")
    digests = {output_digest(c) for c in ([], [one], [two], [one, two], [two, one], [one, one])}
    assert len(digests) == 6


def test_the_digest_does_not_depend_on_the_order_of_columns() -> None:
    change = add_record(GROUP, RECORD, "why")
    turned = replace(change, after=dict(reversed(change.after.items())))
    assert list(turned.after) != list(change.after)
    assert output_digest([turned]) == output_digest([change])


def test_a_change_has_no_behaviour_of_its_own() -> None:
    change = Change(group=GROUP, operation="remove", table="record", row=("r1",))
    assert change.after == {}
    assert change.reason == ""
    assert not change.derived
