from __future__ import annotations

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import (
    DraftAlreadyDecided,
    InputError,
    RecordNotFound,
    ScopeError,
    StaleWrite,
    StoreUnavailable,
)
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Note, Procedure
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory, moment_after, run_id, split_run_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.view import View

SCOPE = "acme/ana"
NOW = datetime(2026, 5, 2, 2, tzinfo=UTC)
SECRET = "ghp_" + "a1B2" * 9
RULE = "Before you ship the ceramics, run the glaze check and notify the potter."


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", salt=b"service", clock=lambda: NOW) as found:
        yield found


def turns(count: int, text: str = RULE, *, days: int = 3) -> list[dict[str, Any]]:
    return [
        {"id": f"t{n}", "session": f"s{n}", "text": text,
         "at": (NOW - timedelta(days=days, minutes=-n)).isoformat()}
        for n in range(count)
    ]  # fmt: skip


def drafted(memory: Memory) -> str:
    memory.ingest(turns(3), scope=SCOPE)
    memory.sleep(scope=SCOPE)
    (draft,) = memory.procedures(scope=SCOPE)
    return draft.id


def uses(memory: Memory, scope: str = SCOPE) -> list[dict[str, Any]]:
    return [row for row in memory.store.dump(Scope(scope)) if row["table"] == "use"]


# -- taking in


def test_a_turn_is_stored_in_either_shape(memory: Memory) -> None:
    first = memory.add_turn({"role": "user", "content": "hello kiln"}, scope=SCOPE, session="s")
    second = memory.add_turn([{"role": "user", "text": "warm kiln"}], scope=SCOPE, session="s")
    assert (first.added, second.added) == (1, 1)
    found = memory.recall("kiln", scope=SCOPE)
    assert sorted(item.text for item in found.items) == ["hello kiln", "warm kiln"]


def test_the_whole_history_may_be_sent_again_with_each_turn(memory: Memory) -> None:
    said = [{"role": "user", "content": f"turn {n}"} for n in range(4)]
    added = [memory.add_turn(said[: n + 1], scope=SCOPE, session="s").added for n in range(4)]
    assert added == [1, 1, 1, 1]


def test_a_message_that_cannot_be_read_is_an_input_error_and_stores_nothing(
    memory: Memory,
) -> None:
    with pytest.raises(InputError):
        memory.add_turn([{"role": "user", "content": 7}], scope=SCOPE, session="s")
    assert memory.stats(scope=SCOPE)["records"] == {}


def test_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(InputError, match="no zone"):
        memory.ingest(turns(1), scope=SCOPE, now=naive)
    with pytest.raises(InputError, match="no zone"):
        memory.remember("a note", scope=SCOPE, now=naive)


def test_a_scope_is_always_stated_and_valid(memory: Memory) -> None:
    for scope in ("", "a//b", "../a"):
        with pytest.raises(ScopeError):
            memory.ingest(turns(1), scope=scope)
    with pytest.raises(RecordNotFound):
        memory.sleep(scope="nobody")
    assert memory.recall("kiln", scope="nobody").items == ()


def test_a_new_turn_is_unread_for_every_phase_that_reads_turns(memory: Memory) -> None:
    memory.ingest(turns(2), scope=SCOPE)
    assert memory.stats(scope=SCOPE)["pending"] == {
        "link_entities": 2, "promote_procedures": 2,
    }  # fmt: skip


# -- notes


def test_a_note_is_kept_and_recalled(memory: Memory) -> None:
    i = memory.remember("  The kiln key hangs by the door. ", scope=SCOPE)
    (item,) = memory.recall("kiln key", scope=SCOPE).items
    assert (item.id, item.text) == (i, "The kiln key hangs by the door.")
    record = memory.records([i], scope=SCOPE)[i]
    assert record.pinned
    assert record.content == Note(note_kind="kept")


def test_a_note_that_ends_is_working_and_one_that_falls_due_is_an_intention(
    memory: Memory,
) -> None:
    later = NOW + timedelta(hours=2)
    one = memory.remember("hold the line", scope=SCOPE, expires=later)
    two = memory.remember("call the potter", scope=SCOPE, due=later)
    found = memory.records([one, two], scope=SCOPE)
    assert found[one].content == Note(note_kind="working")
    assert found[two].content == Note(note_kind="prospective")
    assert found[one].until == found[two].until == later
    assert not found[one].pinned
    with pytest.raises(InputError, match="one of the two"):
        memory.remember("both", scope=SCOPE, expires=later, due=later)
    for more in ({"expires": later}, {"due": later}):
        with pytest.raises(InputError, match="working"):
            memory.remember("both", scope=SCOPE, working=True, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("hours", "ends"), [(3, NOW + timedelta(hours=3)), (10**9, None)])
def test_a_working_note_that_states_no_time_lives_as_long_as_retention_says(
    hours: int, ends: datetime | None
) -> None:
    retention = RetentionPolicy(working_memory_hours=hours)
    with Memory.open(":memory:", clock=lambda: NOW, retention=retention) as memory:
        i = memory.remember("hold the line", scope=SCOPE, working=True)
        assert memory.remember("hold the line", scope=SCOPE, working=True) == i
        note = memory.records([i], scope=SCOPE)[i]
        assert (note.content, note.pinned) == (Note(note_kind="working"), False)
        assert note.until == (ends or datetime.max.replace(tzinfo=UTC))
        again = memory.remember(
            "hold the line", scope=SCOPE, working=True, now=NOW + timedelta(days=1)
        )
        assert (again == i) is (ends is None)


def test_the_same_note_again_changes_nothing(memory: Memory) -> None:
    first = memory.remember("buy clay", scope=SCOPE)
    before = list(memory.store.dump(Scope(SCOPE)))
    assert memory.remember("buy clay", scope=SCOPE, now=NOW + timedelta(days=1)) == first
    assert list(memory.store.dump(Scope(SCOPE))) == before


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_note_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(InputError, match="nothing to remember"):
        memory.remember(text, scope=SCOPE)


def test_a_note_is_in_the_journal_and_can_be_taken_back(memory: Memory) -> None:
    i = memory.remember("buy clay", scope=SCOPE, by="ana")
    run = memory.runs(scope=SCOPE)[0]
    name = run_id(Scope(SCOPE), run.number)
    assert run.kind == "user"
    assert [row.change.reason for row in memory.diff(name)] == ["remembered by ana"]
    memory.undo(name)
    assert memory.records([i], scope=SCOPE) == {}
    assert memory.remember("buy clay", scope=SCOPE) == i
    assert list(memory.records([i], scope=SCOPE)) == [i]


def test_a_note_that_was_forgotten_can_be_told_again(memory: Memory) -> None:
    i = memory.remember("buy clay", scope=SCOPE)
    memory.forget([i], scope=SCOPE)
    again = memory.remember("buy clay", scope=SCOPE)
    assert again != i
    assert memory.remember("buy clay", scope=SCOPE) == again
    memory.forget([again], scope=SCOPE)
    memory.remember("buy clay", scope=SCOPE)
    assert [item.text for item in memory.recall("clay", scope=SCOPE).items] == ["buy clay"]


def test_a_note_is_kept_without_the_secrets_in_it(memory: Memory) -> None:
    i = memory.remember(f"the key is {SECRET}", scope=SCOPE)
    assert memory.records([i], scope=SCOPE)[i].text == "the key is [redacted: github token]"
    assert not any(SECRET in str(row) for row in memory.export(scope=SCOPE))


def test_names_of_sessions_speakers_and_tools_hold_no_secrets(memory: Memory) -> None:
    memory.add_turn(
        {"role": "user", "name": SECRET, "text": "warm", "tool_calls": [{"name": SECRET}]},
        scope=SCOPE, session=SECRET,
    )  # fmt: skip
    memory.ingest([{"id": SECRET, "session": SECRET, "text": "cold"}], scope=SCOPE)
    memory.ingest([{"text": "mild"}], scope=SCOPE, session=SECRET)
    rows = list(memory.export(scope=SCOPE))
    assert sum(row["table"] == "record" for row in rows) == 3
    assert not any(SECRET in str(row) for row in rows)


@pytest.mark.parametrize("place", [":memory:", "m.db"])
def test_the_same_note_told_by_many_at_once_is_one(tmp_path: Path, place: str) -> None:
    path = place if place == ":memory:" else tmp_path / place
    with Memory.open(path, clock=lambda: NOW) as memory:
        ready, told = threading.Barrier(8), []
        failures: list[BaseException] = []

        def tell() -> None:
            try:
                for n in range(20):
                    ready.wait(timeout=30)
                    told.append((n, memory.remember(f"buy clay {n}", scope=SCOPE)))
            except BaseException as error:  # noqa: BLE001 - shown by the assertion below
                failures.append(error)

        threads = [threading.Thread(target=tell) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert (len(told), len(set(told))) == (160, 20)


# -- recall and uses


def test_recall_counts_as_use_at_the_next_write(memory: Memory) -> None:
    memory.ingest(turns(1, "the kiln is warm"), scope=SCOPE)
    for _ in range(3):
        memory.recall("kiln", scope=SCOPE)
    memory.recall("kiln", scope=SCOPE, now=NOW + timedelta(hours=1))
    memory.recall("kiln", scope=SCOPE, record_uses=False)
    assert uses(memory) == []
    memory.ingest(turns(2, "the kiln is warm"), scope=SCOPE)
    assert [row["weight"] for row in uses(memory)] == [3.0, 1.0]
    memory.flush_uses()
    assert [row["weight"] for row in uses(memory)] == [3.0, 1.0]


def test_a_use_of_an_ancestor_s_record_is_kept_in_the_ancestor_s_scope(memory: Memory) -> None:
    memory.ingest(turns(1, "the kiln is warm"), scope="acme")
    memory.ingest(turns(1, "the kiln is cold"), scope=SCOPE)
    own, theirs = memory.recall("kiln", scope=SCOPE).items
    memory.flush_uses()
    assert [row["record"] for row in uses(memory, "acme")] == [theirs.id]
    assert [row["record"] for row in uses(memory)] == [own.id]
    before = memory.records([theirs.id], scope="acme")[theirs.id].strength
    memory.sleep(scope="acme")
    assert memory.records([theirs.id], scope="acme")[theirs.id].strength > before


def test_recall_at_a_scope_that_is_not_there_does_not_make_it(memory: Memory) -> None:
    memory.ingest(turns(1, "the kiln is warm"), scope="acme")
    assert memory.recall("kiln", scope="acme/new").items
    memory.flush_uses()
    assert memory.scopes() == ["acme"]
    assert len(uses(memory, "acme")) == 1


def test_uses_that_cannot_be_written_wait_and_those_of_other_scopes_do_not(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scope in ("acme", SCOPE):
        memory.ingest(turns(1, "the kiln is warm"), scope=scope)
    memory.recall("kiln", scope=SCOPE)
    write = memory.store.add_uses

    def refuse(scope: Scope, *given: Any, **named: Any) -> None:
        if scope.path == "acme":
            raise StoreUnavailable("busy")
        write(scope, *given, **named)

    monkeypatch.setattr(memory.store, "add_uses", refuse)
    with pytest.raises(StoreUnavailable):
        memory.flush_uses()
    memory.recall("kiln", scope="acme", record_uses=True)
    monkeypatch.undo()
    memory.flush_uses()
    assert [row["weight"] for row in uses(memory, "acme")] == [2.0]
    assert [row["weight"] for row in uses(memory)] == [1.0]


def test_a_refusal_that_is_no_error_of_the_store_loses_no_use(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest(turns(1, "the kiln is warm"), scope=SCOPE)
    memory.recall("kiln", scope=SCOPE)

    def interrupt(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(memory.store, "add_uses", interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory.flush_uses()
    monkeypatch.undo()
    memory.flush_uses()
    assert [row["weight"] for row in uses(memory)] == [1.0]


def test_closing_writes_what_recall_has_used(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Memory.open(path, salt=b"s") as memory:
        memory.ingest(turns(1, "the kiln is warm"), scope=SCOPE, now=NOW)
        memory.recall("kiln", scope=SCOPE, now=NOW)
    with Memory.open(path) as memory:
        assert [row["weight"] for row in uses(memory)] == [1.0]


def test_an_unknown_kind_is_refused_by_name(memory: Memory) -> None:
    memory.ingest(turns(1), scope=SCOPE)
    kinds: Any = ("episode", "dream")
    with pytest.raises(InputError, match="dream"):
        memory.recall("kiln", scope=SCOPE, kinds=kinds)


def test_threads_share_one_memory(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", salt=b"s", clock=lambda: NOW) as memory:
        memory.ingest(turns(1, "the kiln is warm"), scope=SCOPE)
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for n in range(10):
                    turn = {"role": "user", "content": f"thread {number} turn {n}"}
                    memory.add_turn(turn, scope=SCOPE, session=f"thread {number}")
                    memory.recall("kiln", scope=SCOPE)
            except BaseException as error:  # noqa: BLE001 - shown by the assertion below
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory.flush_uses()
        assert failures == []
        assert memory.stats(scope=SCOPE)["records"] == {"episode": {"active": 41}}
        assert sum(row["weight"] for row in uses(memory)) == 40.0
        assert memory.store.check() == []


# -- runs


def test_a_run_s_report_states_each_setting_and_where_it_came_from(memory: Memory) -> None:
    memory.ingest(turns(1), scope=SCOPE)
    policy = LearningPolicy(promotion_min_pattern_count=9)
    report = memory.sleep(scope=SCOPE, policy=policy).passes[0]
    assert report.settings["promotion_min_pattern_count"] == 9
    assert report.settings["max_passes"] == 60
    assert report.settings["grace_days"] == 30
    assert set(report.sources) == set(report.settings)
    assert report.sources["promotion_min_pattern_count"] == "argument"
    assert report.sources["max_passes"] == "default"
    sources = {"promotion_min_pattern_count": "flag"}
    again = memory.sleep(scope=SCOPE, policy=policy, sources=sources).passes[0]
    assert again.sources["promotion_min_pattern_count"] == "flag"
    assert again.fingerprint == report.fingerprint
    other = memory.plan(scope=SCOPE, limits=RunLimits(max_passes=7))
    assert other.fingerprint != report.fingerprint
    assert (other.sources["max_passes"], other.settings["max_passes"]) == ("argument", 7)


def test_what_no_policy_decides_states_none(memory: Memory) -> None:
    i = drafted(memory)
    memory.decide(i, "rejected", scope=SCOPE, by="ana")
    name = next(row.report["run_id"] for row in memory.runs(scope=SCOPE) if row.kind == "user")
    undone = memory.undo(name)
    assert (undone.settings, undone.sources, undone.fingerprint) == ({}, {}, "")
    assert memory.run(name).settings == {}
    assert memory.run(undone.run_id).settings == {}


def test_a_dry_run_shows_what_a_sleep_would_do_and_keeps_nothing(memory: Memory) -> None:
    memory.ingest(turns(3), scope=SCOPE)
    before = memory.stats(scope=SCOPE)
    watched: list[str] = []
    changes, report = memory.preview(
        scope=SCOPE, sources={"max_passes": "flag"},
        watch=lambda _number, phase: watched.append(phase),
    )  # fmt: skip
    assert (report.status, report.change_count) == ("planned", len(changes))
    assert report.sources["max_passes"] == "flag"
    assert "promote_procedures" in watched
    assert memory.stats(scope=SCOPE) == before
    assert memory.sleep(scope=SCOPE).passes[0].digest == report.digest


def test_one_moment_in_two_zones_is_the_same_run(memory: Memory) -> None:
    memory.ingest(turns(3), scope=SCOPE)
    there = NOW.astimezone(timezone(timedelta(hours=2)))
    one, other = (memory.preview(scope=SCOPE, now=now)[1] for now in (NOW, there))
    assert (one.input_digest, one.clock) == (other.input_digest, other.clock)
    planned = memory.plan(scope=SCOPE, now=there)
    assert planned.input_digest == one.input_digest
    slept = memory.sleep(scope=SCOPE, now=there).passes[0]
    assert slept.input_digest == one.input_digest
    assert memory.undo(slept.run_id, now=there).clock == NOW.isoformat()
    assert memory.remember("buy clay", scope=SCOPE, due=NOW) == memory.remember(
        "buy clay", scope=SCOPE, due=there
    )


def test_a_time_without_a_zone_is_refused_wherever_it_is_given(memory: Memory) -> None:
    memory.ingest(turns(3), scope=SCOPE)
    naive = NOW.replace(tzinfo=None)
    run = memory.sleep(scope=SCOPE).passes[0].run_id
    for ask in (
        lambda: memory.sleep(scope=SCOPE, now=naive),
        lambda: memory.plan(scope=SCOPE, now=naive),
        lambda: memory.preview(scope=SCOPE, now=naive),
        lambda: memory.undo(run, now=naive),
        lambda: memory.undo_all(run, run, now=naive),
        lambda: memory.recall("kiln", scope=SCOPE, as_of=naive),
        lambda: memory.remember("buy clay", scope=SCOPE, due=naive),
    ):
        with pytest.raises(InputError, match="no zone"):
            ask()


def test_a_half_read_export_of_a_store_in_memory_keeps_nobody_waiting(memory: Memory) -> None:
    memory.ingest(turns(3), scope=SCOPE)
    rows = memory.export(scope=SCOPE)
    next(rows)
    other = threading.Thread(target=memory.scopes, daemon=True)
    other.start()
    other.join(timeout=10)
    assert not other.is_alive()


def test_a_closed_export_of_a_file_lets_go_of_its_snapshot(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.ingest(turns(3), scope=SCOPE)
        with closing(memory.export(scope=SCOPE)) as rows:
            next(rows)
            memory.ingest(turns(5), scope=SCOPE)
        assert memory.check() == []
    assert not (tmp_path / "m.db-wal").exists()


def test_a_plan_can_be_read_applied_and_undone(memory: Memory) -> None:
    memory.ingest(turns(3), scope=SCOPE)
    planned = memory.plan(scope=SCOPE)
    assert memory.procedures(scope=SCOPE) == []
    assert len(memory.diff(planned.run_id)) == planned.change_count
    row = memory.apply(planned.run_id)
    assert row.status == "committed"
    assert len(memory.procedures(scope=SCOPE)) == 1
    memory.undo(planned.run_id)
    assert memory.procedures(scope=SCOPE) == []
    assert memory.run(planned.run_id).status == "undone"


def test_a_plan_made_before_a_decision_is_refused_as_stale(memory: Memory) -> None:
    i = drafted(memory)
    memory.ingest(turns(4), scope=SCOPE)
    planned = memory.plan(scope=SCOPE)
    assert planned.change_count > 0
    memory.decide(i, "approved", scope=SCOPE, by="ana")
    with pytest.raises(StaleWrite):
        memory.apply(planned.run_id)


def test_runs_are_listed_newest_first(memory: Memory) -> None:
    memory.ingest(turns(1), scope=SCOPE)
    memory.sleep(scope=SCOPE)
    memory.remember("x", scope=SCOPE)
    assert [run.kind for run in memory.runs(scope=SCOPE)] == ["user", "deep"]
    assert [run.kind for run in memory.runs(scope=SCOPE, limit=1)] == ["user"]


def test_a_run_is_named_by_scope_and_number() -> None:
    assert split_run_id("acme/a#b#12") == (Scope("acme/a#b"), 12)
    for wrong in ("acme", "acme#", "acme#x", "acme#-1", "#3", "acme#²"):
        with pytest.raises((InputError, ScopeError)):
            split_run_id(wrong)


def test_a_run_that_is_not_there_is_named(memory: Memory) -> None:
    memory.ingest(turns(1), scope=SCOPE)
    for ask in (memory.run, memory.diff, memory.apply, memory.undo):
        with pytest.raises(RecordNotFound, match="#99"):
            ask(f"{SCOPE}#99")


# -- review


def test_a_decision_is_kept_with_who_and_when(memory: Memory) -> None:
    i = drafted(memory)
    record = memory.decide(i[:8], "approved", scope=SCOPE, by="ana", now=NOW)
    assert record.status == "approved"
    assert isinstance(record.content, Procedure)
    assert record.content.decided_by == "ana"
    assert record.content.decided_at == NOW.isoformat()
    assert memory.procedures(scope=SCOPE) == []
    assert [r.id for r in memory.procedures(scope=SCOPE, status="approved")] == [i]
    assert [r.id for r in memory.procedures(scope=SCOPE, status=None)] == [i]


def test_a_decision_is_not_taken_twice(memory: Memory) -> None:
    i = drafted(memory)
    memory.decide(i, "approved", scope=SCOPE, by="ana")
    decisions: tuple[Any, ...] = ("approved", "rejected", "draft")
    for decision in decisions:
        with pytest.raises(DraftAlreadyDecided):
            memory.decide(i, decision, scope=SCOPE, by="ana")
    assert memory.decide(i, "retired", scope=SCOPE, by="ana").status == "retired"
    with pytest.raises(DraftAlreadyDecided):
        memory.decide(i, "retired", scope=SCOPE, by="ana")


def test_a_decision_needs_a_name(memory: Memory) -> None:
    with pytest.raises(InputError, match="who decides"):
        memory.decide(drafted(memory), "approved", scope=SCOPE, by=" ")


def test_a_procedure_is_found_by_a_beginning_that_only_one_has(memory: Memory) -> None:
    i = drafted(memory)
    record, evidence = memory.procedure(i[:4], scope=SCOPE)
    assert record.id == i
    assert [e.session for e in evidence] == ["s0", "s1", "s2"]
    for wrong in (i[:3], "zzzz", ""):
        with pytest.raises(RecordNotFound):
            memory.procedure(wrong, scope=SCOPE)


# -- erasure and care


def test_what_would_be_forgotten_can_be_seen_before(memory: Memory) -> None:
    text = "I met Marguerite Oakes at the kiln."
    memory.ingest(turns(2, text), scope=SCOPE)
    memory.ingest([{"id": "x", "session": "other", "text": "the glaze is dry"}], scope=SCOPE)
    memory.sleep(scope=SCOPE, policy=LearningPolicy(enable_entity_linker=True))
    (one,) = memory.find_forgettable(scope=SCOPE, session="s0")
    about = memory.find_forgettable(scope=SCOPE, entity="marguerite OAKES")
    assert len(about) == 3
    assert one in about
    everything = memory.find_forgettable(scope=SCOPE, everything=True)
    assert set(about) < set(everything)
    assert memory.find_forgettable(scope=SCOPE, records=[one], session="other") == sorted(
        {one, *memory.find_forgettable(scope=SCOPE, session="other")}
    )
    assert len(memory.records(about, scope=SCOPE)) == 3


def test_what_is_not_there_cannot_be_forgotten(memory: Memory) -> None:
    memory.ingest(turns(1), scope=SCOPE)
    with pytest.raises(RecordNotFound, match="no record nobody"):
        memory.find_forgettable(scope=SCOPE, records=["nobody"])
    with pytest.raises(RecordNotFound, match="No entity"):
        memory.find_forgettable(scope=SCOPE, entity="Nobody")


def test_an_ancestor_s_record_is_not_forgotten_from_below(memory: Memory) -> None:
    memory.ingest(turns(1, "said above"), scope="acme")
    memory.ingest(turns(1), scope=SCOPE)
    (above,) = memory.find_forgettable(scope="acme", everything=True)
    with pytest.raises(RecordNotFound):
        memory.find_forgettable(scope=SCOPE, records=[above])


def test_forgetting_reports_ids_and_no_text(memory: Memory) -> None:
    memory.ingest(turns(3), scope=SCOPE)
    memory.sleep(scope=SCOPE)
    receipt = memory.forget(memory.find_forgettable(scope=SCOPE, everything=True), scope=SCOPE)
    assert len(receipt.forgotten) + len(receipt.derived_removed) == 4
    assert "glaze" not in str(receipt)
    assert memory.recall("glaze", scope=SCOPE).items == ()


def test_an_export_comes_back_into_an_empty_store(memory: Memory) -> None:
    drafted(memory)
    rows = list(memory.export(scope=SCOPE))
    with Memory.open(":memory:") as other:
        other.restore_rows(rows, scope=SCOPE)
        assert list(other.export(scope=SCOPE)) == rows
        assert sum(other.restore_rows(rows, scope=SCOPE).values()) == 0


def test_a_path_with_nothing_is_refused_where_nothing_is_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        Memory.open(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()


def test_a_store_names_its_scopes_and_what_is_wrong_with_it(memory: Memory) -> None:
    for scope in (SCOPE, "acme"):
        memory.ingest(turns(1), scope=scope)
    assert memory.scopes() == ["acme", SCOPE]
    assert memory.check() == []


def test_hours_from_a_time() -> None:
    assert moment_after(NOW, 1.5) == NOW + timedelta(minutes=90)


def counting(name: str = "count_turns", *, version: int = 1) -> Phase:
    def propose(view: View) -> Ran:
        return Ran(looked_at=len(view.unread(name)))

    settings = {"version": version}
    return Phase(
        name=name, reads=("episode",), cap=lambda _: 1000, settings=settings, reading=settings,
        propose=propose,
    )  # fmt: skip


def looked_at(memory: Memory, **options: Any) -> list[int]:
    """What the phase of :func:`counting` looked at, in each pass of a sleep."""
    report = memory.sleep(scope=SCOPE, **options)
    return [p.looked_at for run in report.passes for p in run.phases if p.name == "count_turns"]


def test_a_phase_of_ones_own_runs_last_and_only_in_a_deep_sleep() -> None:
    with Memory.open(":memory:", clock=lambda: NOW, phases=[counting()]) as memory:
        memory.ingest(turns(3), scope=SCOPE)
        assert looked_at(memory, kind="light") == []
        report = memory.sleep(scope=SCOPE)
        assert report.passes[0].phases[-1].name == "count_turns"
        assert report.passes[0].phases[-1].looked_at == 3
        assert looked_at(memory) == [0]
        assert memory.replay(report.passes[0].run_id).outcome == "equal"


def test_what_came_in_before_a_phase_was_given_is_read_once_its_reading_changes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.ingest(turns(3), scope=SCOPE)
    with Memory.open(path, clock=lambda: NOW, phases=[counting()]) as memory:
        assert looked_at(memory) == [0]
    with Memory.open(path, clock=lambda: NOW, phases=[counting(version=2)]) as memory:
        assert looked_at(memory) == [0, 3]


@pytest.mark.parametrize("names", [["expire"], ["count_turns", "count_turns"]])
def test_a_phase_whose_name_is_taken_is_refused(names: list[str]) -> None:
    with pytest.raises(InputError, match=f"two phases '{names[0]}'"):
        Memory.open(":memory:", phases=[counting(name) for name in names])
