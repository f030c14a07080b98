from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    edit_record,
)
from symfonic.capabilities.memory.errors import (
    ClockRefused,
    RecordNotFound,
    RunAlreadyActive,
    StaleWrite,
)
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.maintenance import Maintenance, run_id, system_clock
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.records import Entity, Link, Record, RecordId, identify
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Subscription, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from symfonic.capabilities.memory.view import View

SCOPE = Scope("acme/ana")
SALT = b"maintenance salt"
NOW = datetime(2026, 5, 2, 2, tzinfo=UTC)
READS = Subscription(phase="reading", reads=("episode",))


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    found = SQLiteStore(":memory:")
    found.ensure_scope(SCOPE, half_life_hours=720.0, salt=SALT)
    yield found
    found.close()


def tell(store: SQLiteStore, texts: Sequence[str], *, at: datetime = NOW) -> list[RecordId]:
    turns = [
        Turn(session="s", position=None, role="user", text=text, importer="t", source_id=text,
             occurred_at=at)
        for text in texts
    ]  # fmt: skip
    return list(store.add_turns(SCOPE, turns, now=at, subscriptions=(READS,)).ids)


def named(view: View) -> Ran:
    """An entity for each unread episode, named by its text."""
    changes: list[Change] = []
    for episode in view.unread("reading"):
        made = Record(
            id=view.identify("entity", episode.text), scope=view.scope, kind="entity",
            key=episode.text, content=Entity(name=episode.text, entity_kind="thing"),
            text=episode.text, occurred_at=episode.at, recorded_at=view.now,
        )  # fmt: skip
        group = Group(phase="reading", kind="entity", id=made.id)
        link = Link(source=episode.id, kind="mentions", target=made.id, at=episode.at)
        changes += [add_record(group, made, "said"), add_link(group, link, "said")]
    return Ran(changes=tuple(changes), looked_at=len(changes) // 2)


def phase(cap: int = 100, **changed: Any) -> Phase:
    base = Phase(
        name="reading", reads=("episode",), cap=lambda _: cap, settings={}, reading={},
        propose=named,
    )  # fmt: skip
    return replace(base, **changed)


def rename(store: SQLiteStore, i: str, text: str) -> None:
    """Somebody else's edit of a record, past every lease."""
    with store.snapshot(SCOPE) as reader:
        (before,) = reader.records([i])
    edit = edit_record(
        Group(phase="user", kind="note", id=i), before, replace(before, text=text), "edited"
    )
    assert edit is not None
    store.commit(SCOPE, Commit(kind="user", clock=NOW, changes=(edit,)), lease=None)


def entities(store: SQLiteStore) -> list[str]:
    with store.snapshot(SCOPE) as reader:
        return sorted(r.text for r in reader.list_records(kinds=("entity",), limit=10_000))


def other_entity(name: str) -> RecordId:
    return identify(SALT, "entity", name)


# -- a sleep


def test_a_sleep_repeats_its_pass_until_nothing_is_left(store: SQLiteStore) -> None:
    tell(store, [f"t{n}" for n in range(7)])
    report = Maintenance(store, [phase(cap=3)]).run(SCOPE, now=NOW)
    assert [run.phases[0].looked_at for run in report.passes] == [3, 3, 1]
    assert [run.phases[0].left for run in report.passes] == [4, 1, 0]
    assert [run.run_id for run in report.passes] == ["acme/ana#1", "acme/ana#2", "acme/ana#3"]
    assert len(entities(store)) == 7
    assert all(run.status == "committed" for run in report.passes)


def test_a_sleep_stops_at_the_most_passes_it_may_take(store: SQLiteStore) -> None:
    tell(store, [f"t{n}" for n in range(7)])
    engine = Maintenance(store, [phase(cap=1)], limits=RunLimits(max_passes=2))
    assert [run.phases[0].left for run in engine.run(SCOPE, now=NOW).passes] == [6, 5]
    assert [run.phases[0].left for run in engine.run(SCOPE, now=NOW).passes] == [4, 3]


def test_each_pass_is_stored_with_its_report_and_settings(store: SQLiteStore) -> None:
    tell(store, ["a"])
    facts = {"settings": {"knob": 1}, "sources": {"knob": "flag"}, "fingerprint": "f"}
    report = Maintenance(store, [phase()], facts=facts).run(SCOPE, now=NOW).passes[0]
    assert (report.settings, report.sources, report.fingerprint) == (
        {"knob": 1}, {"knob": "flag"}, "f",
    )  # fmt: skip
    with store.snapshot(SCOPE) as reader:
        row = reader.run(1)
    assert row.report["run_id"] == report.run_id == run_id(SCOPE, 1)
    assert row.report["phases"][0]["looked_at"] == 1
    assert (row.status, row.kind, row.clock, row.digest, row.input_digest) == (
        "committed", "deep", NOW, report.digest, report.input_digest,
    )  # fmt: skip
    assert row.settings == {"knob": 1}
    assert row.report["duration_ms"] > 0


def test_progress_is_told_the_pass_and_the_phase(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    told: list[tuple[int, str]] = []
    Maintenance(
        store, [phase(cap=1), phase(name="second", reads=(), propose=lambda _: Ran())],
        watch=lambda number, name: told.append((number, name)),
    ).run(SCOPE, now=NOW)  # fmt: skip
    assert told == [(1, "reading"), (1, "second"), (2, "reading"), (2, "second")]


def test_a_run_logs_names_and_counts_and_no_text(
    store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    tell(store, ["confidential"])
    with caplog.at_level(logging.INFO):
        Maintenance(store, [phase()]).run(SCOPE, now=NOW)
    assert (
        "maintenance.phase.ran run_id=acme/ana#1 phase=reading looked_at=1 changes=2" in caplog.text
    )
    assert "maintenance.run.committed run_id=acme/ana#1 changes=2" in caplog.text
    assert "confidential" not in caplog.text


def test_later_passes_know_how_many_records_a_phase_has_added(store: SQLiteStore) -> None:
    tell(store, ["a", "b", "c"])
    spent: list[int] = []

    def counting(view: View) -> Ran:
        spent.append(view.spent.get("reading", 0))
        return named(view)

    Maintenance(store, [phase(cap=1, propose=counting)]).run(SCOPE, now=NOW)
    assert spent == [0, 1, 2]


def test_all_passes_of_a_sleep_share_one_clock_and_one_window(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    windows: list[tuple[datetime, datetime]] = []

    def watching(view: View) -> Ran:
        windows.append((view.now, view.spread_since))
        return named(view)

    Maintenance(store, [phase(cap=1, propose=watching, window_hours=6.0)]).run(SCOPE, now=NOW)
    assert windows == [(NOW, NOW - timedelta(hours=6))] * 2


def test_downtime_widens_the_window_to_the_last_run(store: SQLiteStore) -> None:
    seen: list[datetime] = []

    def watching(view: View) -> Ran:
        seen.append(view.spread_since)
        return Ran()

    engine = Maintenance(store, [phase(propose=watching, window_hours=6.0)])
    for moment in (NOW, NOW + timedelta(days=3), NOW + timedelta(days=3, hours=1)):
        engine.run(SCOPE, now=moment)
    assert seen == [
        NOW - timedelta(hours=6), NOW, NOW + timedelta(days=3) - timedelta(hours=5),
    ]  # fmt: skip


# -- clocks


def test_a_stated_time_before_the_last_run_is_refused(store: SQLiteStore) -> None:
    engine = Maintenance(store, [phase()])
    engine.run(SCOPE, now=NOW)
    with pytest.raises(ClockRefused) as caught:
        engine.run(SCOPE, now=NOW - timedelta(microseconds=1))
    assert caught.value.facts["last"] == NOW.isoformat()
    for work in (engine.plan, engine.preview):
        with pytest.raises(ClockRefused):
            work(SCOPE, now=NOW - timedelta(days=1))
    assert engine.run(SCOPE, now=NOW).passes[0].clock == NOW.isoformat()


def test_a_refused_time_leaves_no_run_and_no_lease(store: SQLiteStore) -> None:
    engine = Maintenance(store, [phase()])
    engine.run(SCOPE, now=NOW)
    before = list(store.dump(SCOPE))
    with pytest.raises(ClockRefused):
        engine.run(SCOPE, now=NOW - timedelta(days=1))
    assert list(store.dump(SCOPE)) == before
    engine.run(SCOPE, now=NOW)


def test_a_clock_that_went_back_is_raised_with_a_note(store: SQLiteStore) -> None:
    Maintenance(store, [phase()]).run(SCOPE, now=NOW)
    behind = NOW - timedelta(hours=3)
    report = Maintenance(store, [phase()], clock=lambda: behind).run(SCOPE).passes[0]
    assert report.clock == NOW.isoformat()
    assert len(report.notes) == 1
    assert behind.isoformat() in report.notes[0]


def test_a_clock_that_goes_on_is_taken_as_it_is(store: SQLiteStore) -> None:
    Maintenance(store, [phase()]).run(SCOPE, now=NOW)
    ahead = NOW + timedelta(hours=3)
    report = Maintenance(store, [phase()], clock=lambda: ahead).run(SCOPE).passes[0]
    assert (report.clock, report.notes) == (ahead.isoformat(), ())


def test_a_half_life_that_a_scope_does_not_have_is_noted(store: SQLiteStore) -> None:
    retention = RetentionPolicy(half_life_days=5)
    report = Maintenance(store, [phase()], retention=retention).run(SCOPE, now=NOW).passes[0]
    assert len(report.notes) == 1
    assert "half_life_days is 5" in report.notes[0]
    assert "30" in report.notes[0]


def test_the_machine_s_clock_is_aware_utc() -> None:
    first, second = system_clock(), system_clock()
    assert first.utcoffset() == timedelta(0)
    assert first <= second


def test_a_scope_nobody_made_is_an_error(store: SQLiteStore) -> None:
    with pytest.raises(RecordNotFound):
        Maintenance(store, [phase()]).run(Scope("acme/nobody"), now=NOW)


# -- preview, plan, apply


def test_a_preview_writes_nothing_and_equals_the_run(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    before = list(store.dump(SCOPE))
    engine = Maintenance(store, [phase()])
    plan, report = engine.preview(SCOPE, now=NOW)
    assert list(store.dump(SCOPE)) == before
    assert (report.status, report.run_id, report.change_count) == ("planned", "", 4)
    done = engine.run(SCOPE, now=NOW).passes[0]
    assert (done.digest, done.input_digest) == (report.digest, report.input_digest)
    with store.snapshot(SCOPE) as reader:
        assert tuple(row.change for row in reader.journal(1)) == plan.commit.changes


def test_a_kept_plan_changes_nothing_until_it_is_applied(store: SQLiteStore) -> None:
    tell(store, ["a"])
    engine = Maintenance(store, [phase()])
    report = engine.plan(SCOPE, now=NOW)
    assert (report.status, report.run_id) == ("planned", "acme/ana#1")
    assert entities(store) == []
    with store.snapshot(SCOPE) as reader:
        assert reader.run(1).status == "planned"
        assert len(reader.journal(1)) == 2
        assert reader.stats()["pending"] == {"reading": 1}
        assert reader.state.last_clock is None
    engine.apply(SCOPE, 1)
    assert entities(store) == ["a"]
    with store.snapshot(SCOPE) as reader:
        row = reader.run(1)
        assert (row.status, row.digest, row.report["status"]) == (
            "committed", report.digest, "committed",
        )  # fmt: skip
        assert reader.stats()["pending"] == {}
        assert reader.state.last_clock == NOW


def test_an_applied_plan_leaves_what_a_run_leaves(store: SQLiteStore) -> None:
    other = SQLiteStore(":memory:")
    other.ensure_scope(SCOPE, half_life_hours=720.0, salt=SALT)
    for each in (store, other):
        tell(each, ["a", "b"])
    engine = Maintenance(store, [phase()])
    engine.plan(SCOPE, now=NOW)
    engine.apply(SCOPE, 1)
    Maintenance(other, [phase()]).run(SCOPE, now=NOW)

    def rows(each: SQLiteStore) -> list[dict[str, Any]]:
        found = list(each.dump(SCOPE))
        for row in found:
            row.get("report") and row.pop("report")  # durations differ
        return found

    assert rows(store) == rows(other)
    other.close()


def test_a_plan_is_refused_as_stale_when_memory_changed(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    engine = Maintenance(store, [phase()])
    engine.plan(SCOPE, now=NOW)
    rename(store, one, "b")
    before = list(store.dump(SCOPE))
    with pytest.raises(StaleWrite) as caught:
        engine.apply(SCOPE, 1)
    assert caught.value.facts["rows"] == (one,)
    assert list(store.dump(SCOPE)) == before


def test_a_plan_is_applied_once(store: SQLiteStore) -> None:
    tell(store, ["a"])
    engine = Maintenance(store, [phase()])
    engine.plan(SCOPE, now=NOW)
    engine.apply(SCOPE, 1)
    with pytest.raises(RecordNotFound, match="not planned"):
        engine.apply(SCOPE, 1)
    with pytest.raises(RecordNotFound):
        engine.apply(SCOPE, 9)


def test_new_turns_do_not_make_a_plan_stale_and_stay_unread(store: SQLiteStore) -> None:
    tell(store, ["a"])
    engine = Maintenance(store, [phase()])
    engine.plan(SCOPE, now=NOW)
    tell(store, ["b"])
    engine.apply(SCOPE, 1)
    assert entities(store) == ["a"]
    engine.run(SCOPE, now=NOW)
    assert entities(store) == ["a", "b"]


# -- conflicts and leases


@dataclass
class Meddling:
    """A phase during whose planning somebody edits a record that it has read."""

    edit: Callable[[int], object]
    times: int
    calls: int = field(default=0)

    def propose(self, view: View) -> Ran:
        found = named(view)
        self.calls += 1
        if self.calls <= self.times:
            self.edit(self.calls)
        return found


@pytest.fixture
def on_disk(tmp_path: Any) -> Iterator[tuple[SQLiteStore, SQLiteStore]]:
    """Two openings of one file, as two processes have them."""
    one, two = SQLiteStore(str(tmp_path / "m.db")), SQLiteStore(str(tmp_path / "m.db"))
    one.ensure_scope(SCOPE, half_life_hours=720.0, salt=SALT)
    yield one, two
    assert one.check() == []
    two.close()
    one.close()


def test_a_pass_is_planned_again_when_rows_change_under_it(
    on_disk: tuple[SQLiteStore, SQLiteStore],
) -> None:
    store, other = on_disk
    (one,) = tell(store, ["a"])
    meddling = Meddling(edit=lambda n: rename(other, one, f"edit {n}"), times=2)
    report = Maintenance(store, [phase(propose=meddling.propose)]).run(SCOPE, now=NOW)
    assert meddling.calls == 3
    assert len(report.passes) == 1
    assert entities(store) == ["edit 2"]


def test_a_pass_that_keeps_being_overtaken_is_given_up_naming_the_rows(
    on_disk: tuple[SQLiteStore, SQLiteStore],
) -> None:
    store, other = on_disk
    one, two = tell(store, ["a", "b"])
    meddling = Meddling(edit=lambda n: rename(other, one, f"edit {n}"), times=99)
    engine = Maintenance(store, [phase(propose=meddling.propose)])
    with pytest.raises(StaleWrite) as caught:
        engine.run(SCOPE, now=NOW)
    assert caught.value.facts["rows"] == (one,)
    assert two not in str(caught.value)
    assert meddling.calls == 3
    assert entities(store) == []
    Maintenance(store, [phase()]).run(SCOPE, now=NOW)
    assert entities(store) == ["b", "edit 3"]


def test_an_erased_record_makes_the_pass_plan_again(
    on_disk: tuple[SQLiteStore, SQLiteStore],
) -> None:
    store, other = on_disk
    one, _ = tell(store, ["a", "b"])
    other._db.raw.execute("PRAGMA busy_timeout = 1")  # its checkpoint waits for readers like ours
    meddling = Meddling(edit=lambda _: other.forget(SCOPE, [one], subscriptions=(READS,)), times=1)
    Maintenance(store, [phase(propose=meddling.propose)]).run(SCOPE, now=NOW)
    assert meddling.calls == 2
    assert entities(store) == ["b"]


def test_planning_holds_no_write_lock(on_disk: tuple[SQLiteStore, SQLiteStore]) -> None:
    store, other = on_disk
    tell(store, ["a"])
    meddling = Meddling(edit=lambda n: tell(other, [f"meanwhile {n}"]), times=1)
    report = Maintenance(store, [phase(propose=meddling.propose)]).run(SCOPE, now=NOW)
    assert meddling.calls == len(report.passes) == 1
    with store.snapshot(SCOPE) as reader:
        assert reader.stats()["pending"] == {"reading": 1}
    assert entities(store) == ["a"]


def test_a_scope_that_another_run_holds_is_refused(
    on_disk: tuple[SQLiteStore, SQLiteStore],
) -> None:
    store, other = on_disk
    tell(store, ["a"])
    planned = Maintenance(store, [phase()]).plan(SCOPE, now=NOW)
    lease = other.acquire(SCOPE, now=system_clock(), term_seconds=60)
    engine = Maintenance(store, [phase()])
    refused: list[Callable[[], object]] = [
        lambda: engine.run(SCOPE, now=NOW),
        lambda: engine.apply(SCOPE, int(planned.run_id.rpartition("#")[2])),
        lambda: engine.undo(SCOPE, 1, now=NOW),
    ]
    for work in refused:
        with pytest.raises(RunAlreadyActive):
            work()
    other.release(lease)
    engine.run(SCOPE, now=NOW)


def test_a_run_whose_lease_was_taken_over_writes_nothing(
    on_disk: tuple[SQLiteStore, SQLiteStore],
) -> None:
    store, other = on_disk
    tell(store, ["a"])

    def take_over(_: int) -> None:
        late = system_clock() + timedelta(days=1)
        other.acquire(SCOPE, now=late, term_seconds=60)

    meddling = Meddling(edit=take_over, times=1)
    with pytest.raises(RunAlreadyActive, match="took over"):
        Maintenance(store, [phase(propose=meddling.propose)]).run(SCOPE, now=NOW)
    assert entities(store) == []
    with pytest.raises(RunAlreadyActive, match="is active"):
        Maintenance(store, [phase()]).run(SCOPE, now=NOW)


def test_the_lease_is_given_back_also_where_a_run_is_refused(store: SQLiteStore) -> None:
    tell(store, ["a"])

    def broken(view: View) -> Ran:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Maintenance(store, [phase(propose=broken)]).run(SCOPE, now=NOW)
    assert len(Maintenance(store, [phase()]).run(SCOPE, now=NOW).passes) == 1


# -- undo


def test_an_undo_is_a_run_of_its_own_under_the_engine_s_clock(store: SQLiteStore) -> None:
    tell(store, ["a"])
    engine = Maintenance(store, [phase()], clock=lambda: NOW + timedelta(hours=1))
    engine.run(SCOPE, now=NOW)
    report = engine.undo(SCOPE, 1)
    assert (report.run_id, report.kind, report.clock) == (
        "acme/ana#2", "undo", (NOW + timedelta(hours=1)).isoformat(),
    )  # fmt: skip
    assert entities(store) == []
    with store.snapshot(SCOPE) as reader:
        assert reader.run(1).status == "undone"
        assert reader.run(1).report["status"] == "undone"
        assert reader.state.last_clock == NOW


def test_an_undo_leaves_pending_rows_alone(store: SQLiteStore) -> None:
    tell(store, ["a"])
    engine = Maintenance(store, [phase()])
    engine.run(SCOPE, now=NOW)
    tell(store, ["b"])
    engine.undo(SCOPE, 1, now=NOW)
    with store.snapshot(SCOPE) as reader:
        assert reader.stats()["pending"] == {"reading": 1}
    engine.run(SCOPE, now=NOW)
    assert entities(store) == ["b"]


def test_an_undo_of_a_run_that_is_not_there_is_an_error(store: SQLiteStore) -> None:
    with pytest.raises(RecordNotFound):
        Maintenance(store, []).undo(SCOPE, 3, now=NOW)


def test_the_values_stand_in_for_what_is_not_given(store: SQLiteStore) -> None:
    engine = Maintenance(store, [])
    assert (engine.retention, engine.limits, engine.facts) == (RetentionPolicy(), RunLimits(), {})
    assert engine.clock is system_clock
    given = RetentionPolicy(grace_days=3)
    assert Maintenance(store, [], retention=given).retention is given
