from __future__ import annotations

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
    output_digest,
    set_strength,
)
from symfonic.capabilities.memory.collaborators import Question
from symfonic.capabilities.memory.gathering import Sleep
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Declined, PhaseReport, Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.planning import Plan, describe, plan_pass
from symfonic.capabilities.memory.records import Entity, Link, Record, RecordId, Seen, identify
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Subscription, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symfonic.capabilities.memory.view import View

SCOPE = Scope("acme/ana")
NOW = datetime(2026, 5, 2, 2, tzinfo=UTC)
SALT = b"planning-salt---"
READS = Subscription(phase="reading", reads=("episode",))
TOUCHED = Subscription(phase="strengthen", reads=(), reads_touched=True)


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    found = SQLiteStore(":memory:")
    found.ensure_scope(SCOPE, half_life_hours=720.0, salt=SALT)
    yield found
    found.close()


def tell(
    store: SQLiteStore,
    texts: Sequence[str],
    *,
    at: datetime = NOW - timedelta(hours=1),
    **turn: Any,
) -> tuple[RecordId, ...]:
    turns = [
        Turn(
            session=turn.get("session", "s1"), position=None, role="user", text=text,
            importer="test", source_id=f"{turn.get('session', 's1')}:{text}", occurred_at=at,
        )
        for text in texts
    ]  # fmt: skip
    return store.add_turns(SCOPE, turns, now=NOW, subscriptions=(READS, TOUCHED)).ids


@dataclass
class Letters:
    """Reads each word of an episode as a mention."""

    identity: str = "letters@1"
    context: int = 0
    error: Exception | None = None
    shown: list[tuple[str, int]] = field(default_factory=list)

    def read(self, episode: Record, before: Sequence[Record]) -> Iterator[Seen]:
        self.shown.append((episode.text, len(before)))
        if self.error is not None:
            raise self.error
        for word in sorted(set(episode.text.split()) - {"nothing"}):
            yield Seen(
                episode=episode.id, reader=self.identity, kind="mention", key=word,
                session=episode.session or "", at=episode.at,
            )  # fmt: skip


def looks(view: View) -> Ran:
    return Ran(looked_at=len(view.unread("reading")))


def phase(name: str = "reading", **changed: Any) -> Phase:
    base = Phase(
        name=name, reads=("episode",), cap=lambda _: 100, settings={"knob": 1},
        reading={"knob": 1}, propose=looks,
    )  # fmt: skip
    return replace(base, **changed)


def plan(
    store: SQLiteStore,
    *phases: Phase,
    now: datetime = NOW,
    watch: list[str] | None = None,
    spent: Mapping[str, int] | None = None,
) -> Plan:
    sleep = Sleep(
        now=now, spread_since=now, retention=RetentionPolicy(), limits=RunLimits(),
        spent=spent or {},
    )  # fmt: skip
    watched = [] if watch is None else watch
    return plan_pass(store, SCOPE, phases, sleep, watch=watched.append)


def entity(name: str, key: str = "") -> Record:
    return Record(
        id=identify(SALT, "entity", key or name), scope=SCOPE.path, kind="entity",
        key=key or name, content=Entity(name=name, entity_kind="person"), text=name,
        occurred_at=NOW, recorded_at=NOW,
    )  # fmt: skip


def group(record: Record, name: str = "reading") -> Group:
    return Group(phase=name, kind="entity", id=record.id)


def with_evidence(record: Record, sources: Sequence[str], name: str = "reading") -> list[Change]:
    of = group(record, name)
    links = [Link(source=RecordId(i), kind="mentions", target=record.id, at=NOW) for i in sources]
    return [add_record(of, record, "made"), *(add_link(of, link, "says") for link in links)]


def proposing(changes: Sequence[Change], **ran: Any) -> Any:
    return lambda _: Ran(changes=tuple(changes), **ran)


# -- what a plan holds


def test_an_empty_roster_plans_nothing(store: SQLiteStore) -> None:
    found = plan(store)
    assert found.commit.changes == ()
    assert found.commit.digest == output_digest([])
    assert found.phases == ()
    assert not found.backlog


def test_a_plan_writes_nothing(store: SQLiteStore) -> None:
    tell(store, ["Ada Bo"])
    before = list(store.dump(SCOPE))
    plan(store, phase(reader=Letters()))
    assert list(store.dump(SCOPE)) == before


def test_the_watcher_is_told_each_phase_in_order(store: SQLiteStore) -> None:
    told: list[str] = []
    plan(store, phase("one"), phase("two"), watch=told)
    assert told == ["one", "two"]


def test_what_was_read_is_cleared_and_what_was_found_is_kept(store: SQLiteStore) -> None:
    first, second = tell(store, ["Ada Bo", "nothing"])
    found = plan(store, phase(reader=Letters())).commit
    assert {row.record for row in found.done} == {first, second}
    assert [(s.episode, s.kind, s.key) for s in found.seen] == [
        (first, "mention", "Ada"), (first, "mention", "Bo"), (second, "nothing", ""),
    ]  # fmt: skip


def test_kept_records_stay_pending_and_call_for_no_further_pass(store: SQLiteStore) -> None:
    first, second = tell(store, ["Ada", "Bo"])
    found = plan(store, phase(propose=lambda _: Ran(kept=frozenset([first]))))
    assert [row.record for row in found.commit.done] == [second]
    assert not found.backlog


def test_a_cap_leaves_a_backlog_and_counts_it(store: SQLiteStore) -> None:
    tell(store, ["a", "b", "c", "d", "e"])
    found = plan(store, phase(cap=lambda _: 2))
    assert found.phases[0].left == 3
    assert found.backlog


def test_what_a_phase_itself_leaves_is_a_backlog(store: SQLiteStore) -> None:
    tell(store, ["early"])
    found = plan(store, phase(propose=proposing((), left=4)))
    assert found.phases[0].left == 4
    assert found.backlog


def test_a_pass_that_moved_nothing_calls_for_no_other(store: SQLiteStore) -> None:
    found = plan(store, phase(propose=proposing((), left=4)))
    assert found.phases[0].left == 4
    assert not found.backlog


def test_rows_after_the_clock_are_neither_read_nor_counted(store: SQLiteStore) -> None:
    tell(store, ["early"])
    found = plan(store, phase(), now=NOW - timedelta(hours=2))
    assert (found.phases[0].looked_at, found.phases[0].left) == (0, 0)
    assert not found.backlog


def test_a_reader_is_shown_earlier_turns_with_calls_only_where_it_asks(
    store: SQLiteStore,
) -> None:
    call = {"name": "look", "arguments": {}, "ok": True}
    turns = [
        Turn(session="s", position=n, role="assistant", text=f"t{n}", importer="test",
             calls=() if n == 1 else (_call(call),), occurred_at=NOW)
        for n in range(4)
    ]  # fmt: skip
    store.add_turns(SCOPE, turns, now=NOW, subscriptions=(READS,))
    with_context, without = Letters(context=5), Letters(identity="other@1")
    plan(store, phase(reader=with_context))
    plan(store, phase(reader=without))
    assert with_context.shown == [("t0", 0), ("t1", 1), ("t2", 1), ("t3", 2)]
    assert without.shown == [("t0", 0), ("t1", 0), ("t2", 0), ("t3", 0)]


def _call(fields: Mapping[str, Any]) -> Any:
    from symfonic.capabilities.memory.records import ToolCall

    return ToolCall(**fields)


def test_a_phase_without_pending_rows_and_reader_is_driven_by_state(store: SQLiteStore) -> None:
    tell(store, ["a"])
    found = plan(store, phase(reads=(), propose=lambda _: Ran(looked_at=7)))
    assert found.commit.done == ()
    assert found.phases[0].looked_at == 7


# -- outcomes


def test_a_declined_phase_keeps_its_input_and_says_why(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    declined = Declined(reason="nobody composed it", knob="enable_it")
    found = plan(store, phase(reader=Letters(), propose=lambda _: declined))
    report = found.phases[0]
    assert (report.outcome, report.reason, report.knob) == (
        "declined", "nobody composed it", "enable_it",
    )  # fmt: skip
    assert report.left == 2
    assert found.commit.done == ()
    assert found.commit.seen == ()
    assert not found.backlog


def broken(view: View) -> Ran:
    message = "the rule broke"
    raise RuntimeError(message)


def test_a_phase_that_raises_fails_alone(
    store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    tell(store, ["a"])
    made = entity("Ada")
    found = plan(
        store, phase("bad", propose=broken),
        phase("good", reads=(), propose=proposing(with_evidence(made, (), "good"))),
    )  # fmt: skip
    bad, good = found.phases
    assert (bad.outcome, bad.reason) == ("failed", "RuntimeError: the rule broke")
    assert "in broken" in bad.notes[0]
    assert good.outcome == "ran"
    assert [c.group.phase for c in found.commit.changes] == ["good"]
    assert "the rule broke" not in caplog.text
    assert "cause=RuntimeError" in caplog.text


def test_a_reader_that_raises_fails_its_phase_and_keeps_its_input(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    found = plan(store, phase(reader=Letters(error=ValueError("no model"))))
    assert found.phases[0].outcome == "failed"
    assert found.phases[0].reason == "ValueError: no model"
    assert found.phases[0].left == 2
    assert found.commit.done == ()
    assert found.commit.seen == ()
    assert not found.backlog


# -- questions


@dataclass
class Asking:
    """A phase that asks one question for each unread episode."""

    error: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def ask(self, view: View) -> list[Question]:
        return [
            Question(key=f"q-{one.text}", collaborator="oracle", episodes=(one,))
            for one in view.unread("reading")
        ]

    def answer(self, question: Question) -> str:
        self.asked.append(question.key)
        if self.error is not None:
            raise self.error
        return f"said {question.key}"

    def propose(self, view: View) -> Ran:
        notes = tuple(str(view.answer(q)) for q in self.ask(view))
        return Ran(notes=notes)

    @property
    def phase(self) -> Phase:
        return phase(ask=self.ask, answer=self.answer, propose=self.propose)


def test_a_question_is_asked_and_its_answer_kept(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    found = plan(store, Asking().phase)
    assert found.phases[0].notes == ("said q-a",)
    assert [(a.question, a.collaborator, a.sources, a.body) for a in found.commit.answers] == [
        ("q-a", "oracle", (one,), "said q-a")
    ]


def test_an_answer_that_is_stored_is_not_asked_for_again(store: SQLiteStore) -> None:
    tell(store, ["a"])
    first = Asking()
    planned = plan(store, first.phase)
    store.commit(SCOPE, replace(planned.commit, done=()), lease=None)
    second = Asking()
    again = plan(store, second.phase)
    assert second.asked == []
    assert again.phases[0].notes == ("said q-a",)
    assert again.commit.answers == ()


def test_an_answerer_that_raises_fails_its_phase_and_is_not_asked_on(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    asking = Asking(error=TimeoutError("too slow"))
    found = plan(store, asking.phase)
    assert found.phases[0].reason == "TimeoutError: too slow"
    assert asking.asked == ["q-a"]
    assert found.phases[0].left == 2


def test_a_phase_that_fails_to_ask_fails(store: SQLiteStore) -> None:
    def ask(view: View) -> list[Question]:
        message = "no questions"
        raise LookupError(message)

    found = plan(store, phase(ask=ask, answer=lambda _: "x"))
    assert found.phases[0].reason == "LookupError: no questions"


def test_a_phase_whose_reader_failed_asks_nothing(store: SQLiteStore) -> None:
    tell(store, ["a"])
    asking = Asking()
    found = plan(store, replace(asking.phase, reader=Letters(error=ValueError("no"))))
    assert found.phases[0].reason == "ValueError: no"
    assert asking.asked == []


# -- between the snapshots


def test_an_episode_erased_while_readers_work_leaves_no_reading(store: SQLiteStore) -> None:
    kept, erased = tell(store, ["Ada", "Bo"])

    @dataclass
    class Erasing(Letters):
        def read(self, episode: Record, before: Sequence[Record]) -> Iterator[Seen]:
            found = list(super().read(episode, before))
            if episode.id == erased:
                store.forget(SCOPE, [erased], subscriptions=(READS,))
            yield from found

    found = plan(store, phase(reader=Erasing())).commit
    assert {seen.episode for seen in found.seen} == {kept}


# -- folding, queues and reading again


def test_a_later_phase_sees_what_an_earlier_one_proposes(store: SQLiteStore) -> None:
    made = entity("Ada")

    def second(view: View) -> Ran:
        return Ran(notes=tuple(view.by_key("entity", ["Ada"])))

    found = plan(
        store, phase("one", reads=(), propose=proposing(with_evidence(made, (), "one"))),
        phase("two", reads=(), propose=second),
    )  # fmt: skip
    assert found.phases[1].notes == ("Ada",)


def test_what_a_run_writes_is_queued_for_a_phase_that_came_before(store: SQLiteStore) -> None:
    made = entity("Ada")
    found = plan(
        store, phase("one", reads=("entity",)),
        phase("two", reads=(), propose=proposing(with_evidence(made, (), "two"))),
        phase("three", reads=("entity",)),
    )  # fmt: skip
    assert found.commit.queue == {"one": (made.id,)}
    assert found.backlog


def test_what_a_run_writes_is_queued_for_a_phase_that_declined_after_it(
    store: SQLiteStore,
) -> None:
    made = entity("Ada")
    off = Declined(reason="off", knob="k")
    found = plan(
        store, phase("two", reads=(), propose=proposing(with_evidence(made, (), "two"))),
        phase("three", reads=("entity",), propose=lambda _: off),
    )  # fmt: skip
    assert found.commit.queue == {"three": (made.id,)}
    assert not found.backlog


def test_a_mention_makes_its_target_pending_for_who_reads_what_is_touched(
    store: SQLiteStore,
) -> None:
    (one,) = tell(store, ["a"])
    made = entity("Ada")
    summary = add_link(
        group(made), Link(source=made.id, kind="summarises", target=one, at=NOW), "no mention"
    )
    edit = set_strength(group(made), one, 4, "an edit queues nothing")
    writer = phase(
        "two", reads=(), propose=proposing([*with_evidence(made, [one], "two"), summary, edit])
    )
    toucher = phase("strengthen", reads=(), reads_touched=True)
    assert plan(store, toucher, writer).commit.queue == {"strengthen": (made.id,)}
    assert plan(store, writer, toucher).commit.queue == {}


def test_other_reading_settings_make_everything_read_again(store: SQLiteStore) -> None:
    tell(store, ["a", "b"])
    first = plan(store, phase())
    assert first.commit.reread == {}
    store.commit(SCOPE, first.commit, lease=None)
    changed = plan(store, phase(reading={"knob": 2}))
    assert changed.commit.reread == {"reading": ("episode",)}
    assert changed.phases[0].reread == 2
    assert changed.backlog
    store.commit(SCOPE, changed.commit, lease=None)
    again = plan(store, phase(reading={"knob": 2}))
    assert again.phases[0].reread == 0
    assert again.phases[0].looked_at == 2
    assert not again.backlog


def test_a_phase_that_declined_or_reads_no_kind_is_not_read_again(store: SQLiteStore) -> None:
    store.commit(SCOPE, plan(store, phase(), phase("state", reads=())).commit, lease=None)
    off = Declined(reason="off", knob="k")
    changed = plan(
        store, phase(reading={"knob": 2}, propose=lambda _: off),
        phase("state", reads=(), reading={"knob": 2}),
    )  # fmt: skip
    assert changed.commit.reread == {}
    assert set(changed.commit.reading) == {"state"}


# -- what a person undid, or forgot


def undo(store: SQLiteStore, number: int, undone: Group) -> None:
    store.commit(SCOPE, Commit(kind="undo", clock=NOW, undoes=((number, str(undone)),)), lease=None)


def test_an_undone_group_is_dropped_until_later_evidence_arrives(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    made = entity("Ada")
    proposal = phase(reads=(), propose=proposing(with_evidence(made, [one])))
    number = store.commit(SCOPE, plan(store, proposal).commit, lease=None)
    undo(store, number, group(made))
    dropped = plan(store, proposal)
    assert dropped.commit.changes == ()
    assert dropped.phases[0].dropped == 2
    assert dropped.phases[0].changes == 0
    (two,) = tell(store, ["later"])
    more = phase(reads=(), propose=proposing(with_evidence(made, [one, two])))
    assert len(plan(store, more).commit.changes) == 3


def test_an_undone_group_without_evidence_is_dropped(store: SQLiteStore) -> None:
    made = entity("Ada")
    proposal = phase(reads=(), propose=proposing(with_evidence(made, ())))
    undo(store, store.commit(SCOPE, plan(store, proposal).commit, lease=None), group(made))
    assert plan(store, proposal).commit.changes == ()


def test_other_groups_and_derived_columns_are_never_dropped(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    made, other = entity("Ada"), entity("Bo")
    proposal = phase(reads=(), propose=proposing(with_evidence(made, [one])))
    undo(store, store.commit(SCOPE, plan(store, proposal).commit, lease=None), group(made))
    strength = set_strength(group(made), one, 7, "used")
    both = [*with_evidence(made, [one]), strength, *with_evidence(other, [one])]
    found = plan(store, phase(reads=(), propose=proposing(both)))
    assert [str(c.row[0]) for c in found.commit.changes] == [one, other.id, one]


def test_a_group_about_a_forgotten_record_is_dropped_for_good(store: SQLiteStore) -> None:
    made = entity("Ada")
    proposal = phase(reads=(), propose=proposing(with_evidence(made, ())))
    store.commit(SCOPE, plan(store, proposal).commit, lease=None)
    store.forget(SCOPE, [made.id], subscriptions=())
    (two,) = tell(store, ["later"])
    found = plan(store, phase(reads=(), propose=proposing(with_evidence(made, [two]))))
    assert found.commit.changes == ()


# -- digests


def test_the_input_digest_depends_on_settings_clock_limits_and_rows(store: SQLiteStore) -> None:
    tell(store, ["a"])
    digests = [
        plan(store, phase()).commit.input_digest,
        plan(store, phase(settings={"knob": 2})).commit.input_digest,
        plan(store, phase(), now=NOW + timedelta(seconds=1)).commit.input_digest,
        plan(store, phase(), phase("two")).commit.input_digest,
    ]
    tell(store, ["b"])
    digests.append(plan(store, phase()).commit.input_digest)
    assert len(set(digests)) == 5


def test_planning_twice_gives_the_same_plan(store: SQLiteStore) -> None:
    ids = tell(store, ["a", "b"])
    made = entity("Ada")
    one = phase(reader=Letters(), propose=proposing(with_evidence(made, ids)))
    assert plan(store, one).commit == plan(store, one).commit


def test_the_plan_names_the_rows_it_read_by_version(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    with store.snapshot(SCOPE) as reader:
        (record,) = reader.records([one])
    assert plan(store, phase()).commit.read == ((one, record.version),)


def test_a_report_says_what_its_commit_does(store: SQLiteStore) -> None:
    found = plan(store, phase())
    reported = PhaseReport(name="reading", outcome="ran")
    report = describe(
        found.commit, (reported,), run_id="acme#1", scope="acme", status="planned",
        fingerprint="f",
    )  # fmt: skip
    assert (report.kind, report.digest, report.input_digest, report.change_count) == (
        "deep", found.commit.digest, found.commit.input_digest, 0,
    )  # fmt: skip
    assert report.clock == NOW.isoformat()
    assert report.fingerprint == "f"


def test_an_edit_folded_in_shows_in_the_next_phase(store: SQLiteStore) -> None:
    (one,) = tell(store, ["a"])
    with store.snapshot(SCOPE) as reader:
        (record,) = reader.records([one])
    edit = edit_record(
        Group(phase="one", kind="summary", id="s"), record, replace(record, state="condensed"), "x"
    )
    assert edit is not None

    def second(view: View) -> Ran:
        return Ran(notes=(view.records([one])[one].state,))

    found = plan(
        store, phase("one", reads=(), propose=proposing([edit])),
        phase("two", reads=(), propose=second),
    )  # fmt: skip
    assert found.phases[1].notes == ("condensed",)


def test_a_record_whose_first_evidence_moves_is_read_by_who_reads_what_is_touched(
    store: SQLiteStore,
) -> None:
    (early,) = tell(store, ["early"])
    with store.snapshot(SCOPE) as reader:
        (before,) = reader.records([early])
    moved = replace(before, occurred_at=before.at - timedelta(days=1))
    change = edit_record(Group(phase="later", kind="x", id="x"), before, moved, "")
    assert change is not None
    strength = phase("strengthen", reads=(), reads_touched=True)
    found = plan(store, strength, phase("later", propose=proposing([change])))
    assert found.commit.queue == {"strengthen": (early,)}
