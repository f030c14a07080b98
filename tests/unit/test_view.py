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
from symfonic.capabilities.memory.collaborators import Question
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.records import (
    Entity,
    Link,
    Record,
    RecordId,
    Seen,
    Use,
    identify,
    to_microseconds,
)
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Turn
from symfonic.capabilities.memory.stores.sqlite.connection import Connection
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PARENT, OWN = Scope("acme"), Scope("acme/ana")
AT = datetime(2026, 5, 1, 10, 20, tzinfo=UTC)
NOW = datetime(2026, 5, 2, 2, tzinfo=UTC)
SALTS = {PARENT: b"salt of parent", OWN: b"salt of the child"}
HOUR = to_microseconds(AT) // 3_600_000_000
GROUP = Group(phase="link_entities", kind="entity", id="g")


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    found = SQLiteStore(":memory:")
    for scope, salt in SALTS.items():
        found.ensure_scope(scope, half_life_hours=720.0, salt=salt)
    yield found
    found.close()


@pytest.fixture
def see(store: SQLiteStore) -> Iterator[Callable[..., View]]:
    snapshots = []

    def open_view(**given: Any) -> View:
        snapshot = store.snapshot(OWN)
        reader = snapshot.__enter__()
        snapshots.append(snapshot)
        facts: dict[str, Any] = {
            "now": NOW, "retention": RetentionPolicy(), "limits": RunLimits(),
            "spread_since": AT, "unread": {}, "touching": {"strengthen"},
            "fresh": {}, "spent": {}, "answers": {},
        }  # fmt: skip
        return View(reader, **{**facts, **given})

    yield open_view
    for snapshot in reversed(snapshots):
        snapshot.__exit__(None, None, None)


def tell(
    store: SQLiteStore, texts: Sequence[str], *, scope: Scope = OWN, at: datetime = AT
) -> list[RecordId]:
    turns = [
        Turn(session="s", position=None, role="user", text=text, importer="t",
             source_id=text, occurred_at=at)
        for text in texts
    ]  # fmt: skip
    return list(store.add_turns(scope, turns, now=at, subscriptions=()).ids)


def entity(name: str, scope: Scope = OWN) -> Record:
    return Record(
        id=identify(SALTS[scope], "entity", name), scope=scope.path, kind="entity", key=name,
        content=Entity(name=name, entity_kind="person"), text=name, occurred_at=AT,
        recorded_at=AT,
    )  # fmt: skip


def keep(store: SQLiteStore, *changes: Change | None, scope: Scope = OWN, **commit: Any) -> int:
    found = tuple(change for change in changes if change is not None)
    return store.commit(scope, Commit(kind="deep", clock=AT, changes=found, **commit), lease=None)


def mention(source: RecordId, target: Record, *, count: int = 1, at: datetime = AT) -> Link:
    return Link(source=source, kind="mentions", target=target.id, count=count, at=at)


def sighting(episode: str, key: str = "ada", *, at: datetime = AT, **more: Any) -> Seen:
    return Seen(episode=RecordId(episode), reader="r", kind="mention", key=key,
                session=more.pop("session", "s"), at=at, **more)  # fmt: skip


# -- records


def test_a_view_knows_its_scope_and_makes_ids_with_its_salt(see: Callable[..., View]) -> None:
    view = see()
    assert view.scope == "acme/ana"
    assert view.half_life_hours == 720.0
    assert view.identify("entity", "ada") == entity("ada").id


def test_records_come_by_id_and_missing_ones_are_left_out(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    found = see().records([two, "missing", one, one])
    assert list(found) == sorted([one, two])


def test_a_record_after_the_clock_is_invisible(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    (early,) = tell(store, ["early"])
    (late,) = tell(store, ["late"], at=NOW + timedelta(seconds=1))
    view = see()
    assert list(view.records([early, late])) == [early]
    assert [row[0] for row in view.handed_out] == [early]


def test_what_the_scope_has_learnt_from_later_history_is_seen(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    late = NOW + timedelta(days=1)
    keep(store, add_record(GROUP, replace(entity("bo"), occurred_at=late, recorded_at=late), "x"))
    assert set(see().by_key("entity", ["bo"])) == {"bo"}


def test_an_ancestor_s_record_is_found_and_a_nearer_one_of_its_key_wins(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    keep(store, add_record(GROUP, entity("ada", PARENT), "x"), scope=PARENT)
    keep(store, add_record(GROUP, entity("bo", PARENT), "x"), scope=PARENT)
    keep(store, add_record(GROUP, entity("bo"), "x"))
    found = see().by_key("entity", ["bo", "ada", "cy"])
    assert {key: record.scope for key, record in found.items()} == {
        "ada": "acme", "bo": "acme/ana",
    }  # fmt: skip


def test_unread_records_come_in_order_with_what_the_run_touched(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    ada = entity("ada")
    view = see(unread={"strengthen": [two, one], "other": [two]})
    assert [r.id for r in view.unread("strengthen")] == [one, two]
    view.fold([add_record(GROUP, ada, "x"), add_link(GROUP, mention(one, ada), "x")])
    assert {r.id for r in view.unread("strengthen")} == {one, two, ada.id}
    assert [r.id for r in view.unread("other")] == [two]
    assert view.unread("nobody") == []
    assert view.touched == {ada.id}


# -- folding


def test_added_and_edited_records_are_seen_as_they_will_be(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    (one,) = tell(store, ["a"])
    view = see()
    (before,) = view.records([one]).values()
    ada = entity("ada")
    edit = edit_record(GROUP, before, replace(before, state="condensed"), "x")
    assert edit is not None
    view.fold([edit, add_record(GROUP, ada, "x")])
    view.fold([set_strength(GROUP, one, 9, "x"), set_strength(GROUP, ada.id, 4, "x")])
    found = view.records([one, ada.id])
    assert (found[one].state, found[one].strength) == ("condensed", 9)
    assert (found[one].version, found[one].seq) == (before.version, before.seq)
    assert found[ada.id].strength == 4
    assert view.by_key("entity", ["ada"])["ada"].strength == 4


def test_links_are_seen_from_both_ends_with_those_proposed_and_without_those_removed(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    ada = entity("ada")
    keep(store, add_record(GROUP, ada, "x"), add_link(GROUP, mention(one, ada), "x"))
    view = see()
    view.fold([
        add_link(GROUP, mention(two, ada, count=3), "x"),
        add_link(GROUP, Link(source=ada.id, kind="part_of", target=two, at=AT), "x"),
        remove_link(GROUP, one, "mentions", ada.id, "x"),
        remove_link(GROUP, two, "mentions", "never there", "x"),
    ])  # fmt: skip
    into = view.links([ada.id], kinds=("mentions",), direction="in", per_record=9)
    assert [(link.source, link.count) for link in into] == [(two, 3)]
    out = view.links([one, two], kinds=("mentions",), direction="out", per_record=9)
    assert [(link.source, link.target) for link in out] == [(two, ada.id)]


def test_degrees_count_stored_and_proposed_links_of_the_kind(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    ada = entity("ada")
    keep(store, add_record(GROUP, ada, "x"), add_link(GROUP, mention(one, ada, count=2), "x"))
    view = see()
    assert view.degrees([ada.id, two], kinds=("mentions",)) == {ada.id: 2, two: 0}
    view.fold([
        add_link(GROUP, mention(two, ada, count=4), "x"),
        add_link(GROUP, Link(source=two, kind="part_of", target=ada.id, at=AT), "x"),
        remove_link(GROUP, two, "mentions", "nobody", "x"),
    ])  # fmt: skip
    assert view.degrees([ada.id, two], kinds=("mentions",)) == {ada.id: 6, two: 4}


def test_a_mention_counts_as_a_use_of_its_hour_stored_or_proposed(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    ada = entity("ada")
    keep(store, add_record(GROUP, ada, "x"), add_link(GROUP, mention(one, ada), "x"))
    view = see()
    later = AT + timedelta(hours=2)
    elsewhere = add_link(GROUP, mention(two, entity("bo")), "x")
    view.fold([
        add_link(GROUP, mention(two, ada, at=later), "x"), elsewhere,
        add_link(GROUP, Link(source=two, kind="part_of", target=ada.id, at=AT), "x"),
        remove_link(GROUP, two, "mentions", "nobody", "x"),
    ])  # fmt: skip
    uses = view.uses([ada.id])[ada.id]
    assert [(u.hour, u.kind, u.weight) for u in uses] == [
        (HOUR, "mention", 1.0), (HOUR + 2, "mention", 1.0),
    ]  # fmt: skip


def test_proposed_uses_add_to_stored_ones_and_marks_replace_theirs(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    (one,) = tell(store, ["a"])
    stored = Use(record=one, hour=HOUR, kind="recalled", weight=2.0)
    store.add_uses(OWN, [stored], subscriptions=())
    view = see()
    spread = Use(record=one, hour=HOUR, kind="spread", weight=0.25)
    view.fold([
        add_spread(GROUP, spread, "x"), add_spread(GROUP, spread, "x"),
        mark_spread(GROUP, replace(stored, spread_weight=1.5), "x"),
    ])  # fmt: skip
    found = {u.kind: (u.weight, u.spread_weight) for u in view.uses([one, "other"])[one]}
    assert found == {"spread": (0.5, 0.0), "recalled": (2.0, 1.5)}
    view.fold([add_spread(GROUP, replace(spread, record=RecordId("far")), "x")])
    assert len(view.uses([one])[one]) == 2


def test_only_the_latest_hours_of_use_are_handed_out(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    (one,) = tell(store, ["a"])
    rows = [Use(record=one, hour=HOUR + n, kind="recalled", weight=1.0) for n in range(5)]
    store.add_uses(OWN, rows, subscriptions=())
    view = see(limits=RunLimits(uses_per_record=2))
    assert [u.hour for u in view.uses([one])[one]] == [HOUR + 3, HOUR + 4]


# -- what readers found


def test_fresh_readings_come_in_order_of_time_and_key(see: Callable[..., View]) -> None:
    late = sighting("a", "zed", at=AT + timedelta(hours=1))
    view = see(fresh={"r": [late, sighting("b", "b"), sighting("a", "b"), sighting("a", "a")]})
    assert [(s.episode, s.key) for s in view.fresh("r")] == [
        ("a", "a"), ("a", "b"), ("b", "b"), ("a", "zed"),
    ]  # fmt: skip
    assert view.fresh("other") == []


def test_a_tally_counts_stored_and_fresh_readings_once(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    keep(store, seen=(sighting(one), sighting(two, session="t")))
    again = [sighting(one), sighting("fresh", session="u", ok=False), sighting("x", "bo")]
    found = see(fresh={"r": again}).tally("r", ["ada", "none"], since=AT - timedelta(days=1))
    assert list(found) == ["ada"]
    tally = found["ada"]
    assert (tally.episodes, tally.sessions, tally.failures) == (3, 3, 1)


def test_sightings_are_the_newest_of_each_key_oldest_first(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    one, two = tell(store, ["a", "b"])
    keep(store, seen=(sighting(one), sighting(two, at=AT + timedelta(hours=1))))
    fresh = [
        sighting("c", at=AT + timedelta(hours=2)), sighting("d", "bo"),
        sighting("old", at=AT - timedelta(days=9)),
        sighting("future", at=NOW + timedelta(hours=1)),
    ]  # fmt: skip
    found = see(fresh={"r": fresh}).sightings("r", ["ada"], since=AT - timedelta(days=1), per_key=2)
    assert [s.episode for s in found["ada"]] == [two, "c"]


def test_a_fresh_reading_stands_for_the_stored_one_of_its_episode(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    (one,) = tell(store, ["a"])
    keep(store, seen=(sighting(one, score=0.2),))
    view = see(fresh={"r": [sighting(one, score=0.9)]})
    found = view.sightings("r", ["ada"], since=AT - timedelta(days=1), per_key=5)
    assert [s.score for s in found["ada"]] == [0.9]


# -- state, sessions, answers


def test_the_oldest_uncondensed_come_first_and_all_are_counted(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    ids = tell(store, ["a", "b", "c"])
    found, total = see().uncondensed("summarise", before=NOW, limit=2)
    assert ([r.id for r in found], total) == (ids[:2], 3)
    assert see().uncondensed("summarise", before=AT, limit=2) == ([], 0)


def condensing(store: SQLiteStore, ids: Sequence[RecordId]) -> Group:
    group = Group(phase="summarise", kind="summary", id="sum")
    with store.snapshot(OWN) as reader:
        before = reader.records(list(ids))
    edits = [edit_record(group, r, replace(r, state="condensed"), "x") for r in before]
    number = keep(store, *edits)
    back = [
        edit_record(group, replace(r, state="condensed"), r, "x") for r in before
    ]  # fmt: skip
    keep(store, *back, undoes=((number, str(group)),))
    return group


def test_sources_of_an_undone_summary_are_left_out_and_not_counted(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    ids = tell(store, ["a", "b", "c"])
    condensing(store, ids[:2])
    found, total = see().uncondensed("summarise", before=NOW, limit=5)
    assert ([r.id for r in found], total) == (ids[2:], 1)


def test_an_undone_source_that_is_not_old_enough_takes_nothing_from_the_count(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    old = tell(store, ["a", "b"])
    young = tell(store, ["c"], at=AT + timedelta(hours=5))
    condensing(store, young)
    found, total = see().uncondensed("summarise", before=AT + timedelta(hours=1), limit=5)
    assert ([r.id for r in found], total) == (old, 2)


def test_an_undone_source_that_was_forgotten_takes_nothing_from_the_count(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    ids = tell(store, ["a", "b", "c"])
    condensing(store, ids[:1])
    store.forget(OWN, [ids[0]], subscriptions=())
    found, total = see().uncondensed("summarise", before=NOW, limit=5)
    assert ([r.id for r in found], total) == (ids[1:], 2)


def test_an_episode_condensed_in_this_run_is_not_uncondensed(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    ids = tell(store, ["a", "b"])
    view = see()
    first = view.records(ids[:1])[ids[0]]
    edit = edit_record(GROUP, first, replace(first, state="condensed"), "x")
    assert edit is not None
    view.fold([edit])
    found, _ = view.uncondensed("summarise", before=NOW, limit=5)
    assert [r.id for r in found] == ids[1:]


def test_what_came_before_is_handed_out_with_its_version(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    ids = tell(store, ["a", "b", "c"])
    view = see()
    last = view.records(ids[2:])[ids[2]]
    assert [r.id for r in view.before([last], count=1)[ids[2]]] == [ids[1]]
    assert {row[0] for row in view.handed_out} == {ids[1], ids[2]}


def test_an_answer_is_handed_out_by_its_question(see: Callable[..., View]) -> None:
    view = see(answers={"q": ["said"]})
    assert view.answer(Question(key="q", collaborator="c", episodes=())) == ["said"]
    assert view.answer(Question(key="other", collaborator="c", episodes=())) is None


# -- the input


def test_the_digest_covers_what_was_asked_and_what_was_answered(
    store: SQLiteStore, see: Callable[..., View]
) -> None:
    ids = tell(store, ["a", "b"])
    asking: list[Callable[[View], object]] = [
        lambda view: view.records(ids[:1]),
        lambda view: view.records(ids),
        lambda view: view.records([*ids, "missing"]),
        lambda view: view.links(ids, kinds=("mentions",), direction="in", per_record=1),
        lambda view: view.links(ids, kinds=("mentions",), direction="out", per_record=1),
        lambda view: view.uses(ids),
        lambda view: view.fresh("r"),
        lambda view: view.uncondensed("summarise", before=NOW, limit=1),
        lambda view: view.before(list(view.records(ids).values()), count=2),
        lambda view: view.tally("r", ["k"], since=AT),
        lambda view: view.sightings("r", ["k"], since=AT, per_key=1),
        lambda view: view.degrees(ids, kinds=("mentions",)),
        lambda view: view.answer(Question(key="q", collaborator="c", episodes=())),
    ]
    digests = set()
    for ask in asking:
        view = see()
        ask(view)
        digests.add(view.input_digest("header"))
    assert len(digests) == len(asking)
    assert see().input_digest("header") != see().input_digest("another")
    assert see().input_digest("header") == see().input_digest("header")


def test_the_digest_does_not_depend_on_versions_and_order_of_arrival(
    see: Callable[..., View], store: SQLiteStore
) -> None:
    other = SQLiteStore(":memory:")
    other.ensure_scope(OWN, half_life_hours=720.0, salt=SALTS[OWN])
    stated = [
        Turn(session="s", position=n, role="user", text=f"t{n}", importer="t",
             source_id=str(n), occurred_at=AT + timedelta(minutes=n))
        for n in range(3)
    ]  # fmt: skip
    ids = store.add_turns(OWN, stated, now=NOW, subscriptions=()).ids
    for turn in reversed(stated):
        other.add_turns(OWN, [turn], now=NOW, subscriptions=())
    one = see()
    one.records(ids)
    with other.snapshot(OWN) as reader:
        two = View(
            reader, now=NOW, retention=RetentionPolicy(), limits=RunLimits(), spread_since=AT,
            unread={}, fresh={}, spent={}, answers={},
        )  # fmt: skip
        two.records(ids)
        assert two.handed_out != one.handed_out
        assert two.input_digest("h") == one.input_digest("h")
    other.close()


# -- cost


def test_each_lookup_costs_a_bounded_number_of_statements(
    store: SQLiteStore, see: Callable[..., View], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rows, execute = Connection.rows, Connection.execute

    def counted_rows(self: Connection, name: str, parameters: object = ()) -> Any:
        asked.append(name)
        return rows(self, name, parameters)

    def counted_execute(self: Connection, name: str, parameters: object = ()) -> Any:
        asked.append(name)
        return execute(self, name, parameters)

    few, many = tell(store, ["a", "b"]), tell(store, [f"m{n}" for n in range(200)])
    monkeypatch.setattr(Connection, "rows", counted_rows)
    monkeypatch.setattr(Connection, "execute", counted_execute)

    def costs(ids: Sequence[RecordId]) -> dict[str, int]:
        view = see(unread={"p": ids})
        episodes = view.unread("p")
        found = {}
        asking: dict[str, Callable[[], object]] = {
            "unread": lambda: view.unread("p"),
            "records": lambda: view.records(ids),
            "by_key": lambda: view.by_key("entity", ids),
            "links out": lambda: view.links(
                ids, kinds=("mentions", "evidence"), direction="out", per_record=9
            ),
            "links in": lambda: view.links(
                ids, kinds=("mentions", "evidence"), direction="in", per_record=9
            ),
            "degrees": lambda: view.degrees(ids, kinds=("mentions",)),
            "before": lambda: view.before(episodes, count=3),
            "tally": lambda: view.tally("r", ids, since=AT),
            "sightings": lambda: view.sightings("r", ids, since=AT, per_key=3),
            "uses": lambda: view.uses(ids),
            "uncondensed": lambda: view.uncondensed("summarise", before=NOW, limit=len(ids)),
            "fold": lambda: view.fold([set_strength(GROUP, i, 1, "x") for i in ids]),
        }
        for name, ask in asking.items():
            view = see(unread={"p": ids})  # one that has nothing in hand yet
            asked.clear()
            ask()
            found[name] = len(asked)
        view = see(unread={"p": ids})
        view.records(ids)
        asked.clear()
        view.unread("p")
        found["the same records again"] = len(asked)
        return found

    small = costs(few)
    assert small == costs(many)
    assert small["unread"] == small["records"] == small["before"] == small["tally"] == 1
    assert small["the same records again"] == 0
    assert max(small.values()) <= 3
