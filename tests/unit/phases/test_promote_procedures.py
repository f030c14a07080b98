"""Procedures from conduct: what becomes a draft, what does not and why, on a store in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import Group, edit_record
from symfonic.capabilities.memory.collaborators import ProcedureRule, ProposerRule
from symfonic.capabilities.memory.errors import CollaboratorError, PolicyError
from symfonic.capabilities.memory.extractors.calls import key_of
from symfonic.capabilities.memory.extractors.conduct import ProcedureReader
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Declined, Ran
from symfonic.capabilities.memory.phases.procedure_drafts import Support, extended
from symfonic.capabilities.memory.phases.promote_procedures import promote_procedures
from symfonic.capabilities.memory.records import Entity, Procedure, Record, RecordId, ToolCall
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Subscription, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedProcedure,
    ScriptedProposer,
    ScriptedStep,
)
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.outcome import Ran as RanOutcome
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.records import Seen, Status

SCOPE = Scope("acme/ana")
DAY = datetime(2026, 7, 1, 9, tzinfo=UTC)
NIGHT = datetime(2026, 7, 8, 2, tzinfo=UTC)


def rule(**changed: Any) -> ProcedureRule:
    reader = ProcedureReader(use_tool_calls=True, promote_assistant_content=False)
    given = {"min_pattern_count": 3, "recency_days": 30, "max_drafts_per_run": 5}
    return ProcedureRule(reader=reader, **{**given, **changed})


def by_rule(**changed: Any) -> Phase:
    return promote_procedures(rule(**changed), None, procedural_model_name="m")


def by_proposer(proposer: ScriptedProposer, *, model: str = "m", **changed: Any) -> Phase:
    given = {"max_episodes_per_run": 100, "max_drafts_per_run": 5}
    asked = ProposerRule(proposer=proposer, **{**given, **changed})
    return promote_procedures(None, asked, procedural_model_name=model)


@dataclass(kw_only=True)
class Memory:
    """A store in memory, and nights of one phase over it as the engine would run them."""

    store: SQLiteStore
    phase: Phase
    scope: Scope = SCOPE
    limits: RunLimits = field(default_factory=RunLimits)
    positions: dict[str, int] = field(default_factory=dict)

    def add(
        self, session: str, text: str = "", *calls: ToolCall, role: str = "assistant",
        at: datetime = DAY,
    ) -> None:  # fmt: skip
        self.positions[session] = position = self.positions.get(session, -1) + 1
        turn = Turn(
            session=session, position=position, role=role, text=text, importer="test",
            calls=calls, occurred_at=at + timedelta(minutes=position), stated_position=True,
        )  # fmt: skip
        reader = self.phase.reader
        wanted = Subscription(
            phase=self.phase.name, reads=self.phase.reads, context=reader.context if reader else 0
        )
        self.store.add_turns(self.scope, [turn], now=NIGHT, subscriptions=[wanted])

    def night(self, now: datetime = NIGHT, *, spent: int = 0, answered: bool = True) -> RanOutcome:
        phase = self.phase
        with self.store.snapshot(self.scope) as reader:
            rows, _ = reader.pending(phase.name, until=now, cap=phase.cap(self.limits))
            ids = [row.record for row in rows]
            seen: list[Seen] = []
            if phase.reader is not None:
                episodes = reader.records(ids)
                count = phase.reader.context
                before = reader.before(episodes, count=count, with_calls=True)
                for one in episodes:
                    seen += phase.reader.read(one, before[one.id])
            fresh = {} if phase.reader is None else {phase.reader.identity: seen}

            def view(answers: dict[str, Any]) -> View:
                return View(
                    reader, now=now, retention=RetentionPolicy(), limits=self.limits,
                    spread_since=now, unread={phase.name: ids}, fresh=fresh,
                    spent={phase.name: spent}, answers=answers,
                )  # fmt: skip

            answers = {}
            if answered and phase.answer is not None:
                answers = {q.key: phase.answer(q) for q in phase.ask(view({}))}
            seeing = view(answers)
            outcome = phase.propose(seeing)
        assert isinstance(outcome, Ran)
        commit = Commit(
            kind="deep", clock=now, changes=outcome.changes, read=seeing.handed_out,
            done=tuple(row for row in rows if row.record not in outcome.kept), seen=tuple(seen),
        )  # fmt: skip
        self.store.commit(self.scope, commit, lease=None)
        return outcome

    def drafts(self) -> list[Record]:
        with self.store.snapshot(self.scope) as reader:
            found = reader.list_records(kinds=["procedure"], limit=100)
        return sorted(found, key=lambda r: r.key or "")

    def draft(self) -> tuple[Record, Procedure]:
        (record,) = self.drafts()
        assert isinstance(record.content, Procedure)
        return record, record.content

    def decide(self, record: Record, status: Status) -> None:
        group = Group(phase="user", kind="procedure", id=record.id)
        assert isinstance(record.content, Procedure)
        content = replace(record.content, decided_by="ana")
        after = replace(record, status=status, content=content)
        edit = edit_record(group, record, after, "decided")
        assert edit is not None
        commit = Commit(kind="user", clock=NIGHT, changes=(edit,))
        self.store.commit(self.scope, commit, lease=None)

    def evidence(self, record: Record) -> list[Record]:
        with self.store.snapshot(self.scope) as reader:
            links = reader.links([record.id], kinds=["evidence"], direction="out", per_record=999)
            return reader.records([link.target for link in links])


def remembering(phase: Phase, scope: Scope = SCOPE) -> Memory:
    store = SQLiteStore(":memory:")
    store.ensure_scope(scope, half_life_hours=720.0, salt=b"salt")
    return Memory(store=store, phase=phase, scope=scope)


@pytest.fixture
def memory() -> Iterator[Memory]:
    found = remembering(by_rule())
    yield found
    found.store.close()


def call(name: str, ok: bool | None = True, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, ok=ok)


def refund(memory: Memory, session: str, order: str, *, ok: bool = True) -> None:
    memory.add(session, f"Hello, I want a refund for order {order}", role="user")
    memory.add(session, "", call("find_order", order=order, shop="main"))
    memory.add(session, "Done.", call("refund", ok=ok, order=order))


def refunds(memory: Memory, sessions: Sequence[int], *, ok: bool = True) -> None:
    for number in sessions:
        refund(memory, f"s{number}", f"A-{number}", ok=ok)


# -- declining


def test_it_declines_without_a_rule_and_a_proposer() -> None:
    phase = promote_procedures(None, None, procedural_model_name="m")
    outcome = phase.propose(None)  # type: ignore[arg-type]
    assert outcome == Declined(
        reason="No procedure rule and no proposer was composed.", knob="procedure_rule"
    )
    assert phase.reads == ("episode",)
    assert phase.cap(RunLimits()) == RunLimits().promotion_max_episodics_per_run


def test_a_missing_proposer_declines_and_the_rule_does_not_stand_in() -> None:
    phase = promote_procedures(rule(), None, procedural_model_name="m", missing="no proposer")
    outcome = phase.propose(None)  # type: ignore[arg-type]
    assert outcome == Declined(reason="no proposer", knob="phase_12_use_llm_extractor")


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(PolicyError):
        promote_procedures(rule(), None, procedural_model_name="")


# -- the rule: stated actions


def test_a_rule_that_is_stated_in_three_sessions_becomes_a_draft(memory: Memory) -> None:
    memory.add("a", "Before pushing, run the tests.", role="user")
    memory.add("b", "Please always run the tests before you push", role="user")
    memory.add("c", "I always run the tests before I push", role="user", at=DAY + timedelta(1))
    outcome = memory.night()
    record, content = memory.draft()
    assert (content.origin, content.support, content.successes) == ("stated", 3, 3)
    assert content.trigger == "before I push"
    assert [step.action for step in content.steps] == ["run the tests"]
    assert record.status == "draft"
    assert record.trust == "user"
    assert record.occurred_at == DAY
    assert record.text == ("before I push: run the tests\nWhen: before I push\n1. run the tests")
    assert len(memory.evidence(record)) == 3
    assert {change.group.id for change in outcome.changes} == {record.id}


def test_a_rule_repeated_in_one_session_is_no_draft(memory: Memory) -> None:
    for _ in range(5):
        memory.add("a", "Before pushing, run the tests.", role="user")
    outcome = memory.night()
    assert (memory.drafts(), outcome.counts["not_promoted"]) == ([], 1)


def test_a_report_names_a_stated_rule_by_its_episode_and_not_by_its_words(memory: Memory) -> None:
    for session in "ab":
        memory.add(session, "Always water the orchids", role="user")
    (note,) = memory.night().notes
    assert "orchid" not in note
    assert note.endswith("2 distinct sessions, threshold 3: not promoted")


# -- the rule: calls


def test_calls_repeated_in_three_sessions_become_a_draft(memory: Memory) -> None:
    refunds(memory, range(3))
    outcome = memory.night()
    record, content = memory.draft()
    assert content.title == "find_order, then refund"
    assert content.trigger == "the user asks about: order, refund"
    assert [(s.action, s.arguments) for s in content.steps] == [
        ("find_order", {"order": "{order}", "shop": "main"}),
        ("refund", {"order": "{order}"}),
    ]
    assert (content.support, content.successes, content.failures) == (3, 3, 0)
    assert record.text.splitlines() == [
        "find_order, then refund",
        "When: the user asks about: order, refund",
        "1. find_order (order: {order}, shop: main)",
        "2. refund (order: {order})",
    ]
    assert record.trust == "assistant"
    assert len(memory.evidence(record)) == 9
    assert outcome.looked_at == 9


def test_attempts_that_never_succeeded_are_not_promoted(memory: Memory) -> None:
    # An unsolved task must not be written up as a reliable workflow.
    for session in "abc":
        memory.add(
            session, "No luck.", call("search", q=session), call("open", ok=False, url=session),
            call("open", ok=False, url=session * 2),
        )  # fmt: skip
    outcome = memory.night()
    assert memory.drafts() == []
    assert outcome.notes == (
        "search > open: seen in 3 sessions, 0 successes, 3 failures: not promoted",
    )


def test_a_loop_counts_as_one_session_and_is_not_unrolled(memory: Memory) -> None:
    loop = [call("list_queue", queue="mail"), call("requeue", queue="mail")]
    memory.add("a", "", *loop * 4)
    memory.add("b", "", *loop)
    outcome = memory.night()
    assert memory.drafts() == []
    assert outcome.notes == (
        "list_queue > requeue: 2 distinct sessions, threshold 3: not promoted",
    )
    memory.add("c", "", *loop)
    memory.night(NIGHT + timedelta(days=1))
    _, content = memory.draft()
    assert [step.action for step in content.steps] == ["list_queue", "requeue"]
    assert content.support == 3
    assert content.steps[0].arguments == {"queue": "mail"}


def test_failures_count_against(memory: Memory) -> None:
    refunds(memory, range(3))
    refunds(memory, range(10, 13), ok=False)
    outcome = memory.night()
    assert memory.drafts() == []
    assert "6 sessions, 3 successes, 3 failures: not promoted" in outcome.notes[0]
    refunds(memory, [20])
    memory.night(NIGHT + timedelta(days=1))
    _, content = memory.draft()
    assert (content.successes, content.failures) == (4, 3)


def test_only_the_longest_of_equal_support_is_drafted(memory: Memory) -> None:
    for session in "abc":
        memory.add(session, "", *[call(name) for name in ("a", "b", "c", "d")])
    outcome = memory.night()
    _, content = memory.draft()
    assert content.title == "a, b, c, then d"
    assert outcome.counts["in_a_longer_one"] == 5
    assert content.trigger == content.title


def test_a_shorter_one_that_is_mostly_seen_alone_stands_beside_it(memory: Memory) -> None:
    for session in "abc":
        memory.add(session, "", call("a"), call("b"), call("c"))
    for session in "defg":
        memory.add(session, "", call("a"), call("b"))
    memory.night()
    found = [record.key for record in memory.drafts()]
    assert found == [key_of(["a", "b", "c"]), key_of(["a", "b"])]


def test_a_longer_one_stands_for_what_is_mostly_seen_inside_it(memory: Memory) -> None:
    # By support alone "a, b" comes first, and nobody reads what it is done for.
    for session in "abc":
        memory.add(session, "", call("a"), call("b"), call("c"))
    for session in "def":
        memory.add(session, "", call("a"), call("b"))
    outcome = memory.night()
    assert [record.key for record in memory.drafts()] == [key_of(["a", "b", "c"])]
    assert outcome.counts["in_a_longer_one"] == 2


def test_a_night_that_sees_only_the_beginning_does_not_draft_it(memory: Memory) -> None:
    # The longer runs are not touched that night; they are asked for by the tools there are.
    for session in "abcd":
        memory.add(session, "", call("get_user"), call("get_order"), call("refund"))
    for session in "efg":
        memory.add(session, "", call("open"), call("get_user"), call("get_order"), call("ship"))
    memory.night()
    before = [record.id for record in memory.drafts()]
    memory.add("h", "", call("get_user"), call("get_order"))
    outcome = memory.night(NIGHT + timedelta(days=1))
    assert (outcome.counts["in_a_longer_one"], outcome.changes) == (1, ())
    assert [record.id for record in memory.drafts()] == before


def test_why_the_others_are_no_drafts_is_counted(memory: Memory) -> None:
    for n in range(30):
        memory.add(f"s{n}", "", call("get_order"), call("refund"))
    for n in range(3):
        memory.add(f"s{n}", "", call("close"))
    for n in range(30, 33):
        memory.add(f"s{n}", "", call("get_user"), call("get_order"))
        memory.add(f"s{n}", "", call("refund"))
    for n in range(33, 66):
        memory.add(f"s{n}", "", call("ask"), call("close"))
    outcome = memory.night()
    assert [record.key for record in memory.drafts()] == [
        key_of(["ask", "close"]),
        key_of(["get_order", "refund"]),
    ]
    names = ("in_a_longer_one", "ends_as_another", "only_looks_up", "met_by_chance")
    # "get_user, get_order" goes on in one that ends as "get_order, refund"; "refund, close" met.
    assert [outcome.counts[name] for name in names] == [1, 1, 0, 2]


def test_a_call_that_is_made_for_each_of_several_things_does_not_hide_the_beginning(
    memory: Memory,
) -> None:
    for session in "abc":
        memory.add(session, "", call("get_user", user=session))
        for order in range(7):
            memory.add(session, "", call("get_order", order=f"{session}-{order}"))
        memory.add(session, "", call("cancel", order=f"{session}-6"))
    memory.night()
    _, content = memory.draft()
    assert content.title == "get_user, get_order, then cancel"


def test_a_value_that_was_told_each_time_is_no_rule(memory: Memory) -> None:
    # The same customer called in every session: what all share is theirs.
    for session in "abc":
        memory.add(session, "It is Mia, mia_li_3668, for QX12.", role="user")
        memory.add(session, "", call("find", user="mia_li_3668", region="eu", deep=True, top=7))
        memory.add(session, '{"seat": "14C", "paid": 1250}', role="tool")
        memory.add(
            session, "",
            call("move", seats=[{"to": "14C"}], sum=1250, note=None, on="2026-05-24", tag="v1"),
        )  # fmt: skip
    memory.night()
    _, content = memory.draft()
    assert [step.arguments for step in content.steps] == [
        {"deep": True, "region": "eu", "top": 7, "user": "{user}"},
        {"note": None, "on": "{on}", "seats": "{seats}", "sum": "{sum}", "tag": "v1"},
    ]


def test_a_trigger_says_what_tells_one_pattern_from_the_others(memory: Memory) -> None:
    for session in "abc":
        memory.add(session, "Hi! Can you cancel my reservation? The trip is off.", role="user")
        memory.add(session, "", call("get_order"), call("cancel"))
    for session in "def":
        memory.add(session, "Hello, can you add a bag to my reservation?", role="user")
        memory.add(session, "", call("get_order"), call("add_bag"))
    memory.night()
    found = [r.content.trigger for r in memory.drafts() if isinstance(r.content, Procedure)]
    assert found == ["the user asks about: add, bag", "the user asks about: cancel, trip"]


def test_tools_whose_names_hold_the_joining_mark_stay_apart(memory: Memory) -> None:
    for session in "abc":
        memory.add(session, "", call("a > b"), call("c"))
    for session in "def":
        memory.add(session, "", call("a"), call("b > c"))
    memory.night()
    for session in "gh":
        memory.add(session, "", call("a"), call("b"), call("c"))
    outcome = memory.night()
    found = {record.key for record in memory.drafts()}
    assert found == {key_of(["a > b", "c"]), key_of(["a", "b > c"])}
    assert outcome.notes[0].startswith("a > b > c: 2 distinct sessions")


def test_the_best_supported_come_first_and_the_rest_waits() -> None:
    memory = remembering(by_rule(max_drafts_per_run=1))
    for session in "abcd":
        memory.add(session, "", call("often"), call("done"))
    for session in "efg":
        memory.add(session, "", call("seldom"), call("done"))
    outcome = memory.night()
    assert [record.key for record in memory.drafts()] == [key_of(["often", "done"])]
    assert outcome.counts["over_draft_cap"] == 1
    assert len(outcome.kept) == 3
    assert outcome.notes == (
        "1 more pattern would be drafted; 1 draft a sleep is the cap, they stay pending",
    )
    again = memory.night(spent=1)
    assert (again.changes, len(again.kept)) == ((), 3)
    memory.night(NIGHT + timedelta(days=1))
    assert len(memory.drafts()) == 2


def test_sightings_older_than_the_window_do_not_count_and_are_reported() -> None:
    memory = remembering(by_rule(recency_days=3))
    refunds(memory, range(3))
    outcome = memory.night()
    assert memory.drafts() == []
    assert outcome.counts["too_old"] == 3
    assert outcome.notes == ("3 sightings older than 3 days did not count",)


def test_an_endless_window_reaches_back_to_the_beginning() -> None:
    memory = remembering(by_rule(recency_days=10**12))
    refunds(memory, range(3))
    memory.night()
    assert len(memory.drafts()) == 1


def test_redaction_marks_stay_and_long_values_are_cut(memory: Memory) -> None:
    command = "curl -H 'Authorization: [redacted]' https://example.com"
    body = {"rows": ["x" * 400]}
    for session in "abc":
        memory.add(session, "", call("build"), call("shell", cmd=command, script="y" * 900,
                   body=body, count=3, tags=["a"]))  # fmt: skip
    memory.night()
    record, content = memory.draft()
    arguments = content.steps[1].arguments
    assert arguments["cmd"] == command
    assert arguments["script"].endswith("y…")
    assert len(arguments["script"]) == 240
    assert arguments["body"].startswith('{"rows":["xxx')
    assert (arguments["count"], arguments["tags"]) == (3, ["a"])
    assert "[redacted]" in record.text


def test_arguments_that_were_no_object_or_were_left_out(memory: Memory) -> None:
    for number, session in enumerate("abc"):
        given = {} if number else {"dry": True}
        memory.add(
            session, "", call("plan", **given), ToolCall(name="say", arguments="raw {", ok=True),
            ToolCall(name="end", ok=True),
        )  # fmt: skip
    memory.night()
    _, content = memory.draft()
    assert [step.arguments for step in content.steps] == [
        {"dry": "{dry}"}, {"arguments": "raw {"}, {},
    ]  # fmt: skip


# -- what already stands


def test_a_second_night_changes_nothing(memory: Memory) -> None:
    refunds(memory, range(3))
    memory.night()
    outcome = memory.night(NIGHT + timedelta(days=1))
    assert (outcome.changes, outcome.looked_at, outcome.notes) == ((), 0, ())


def test_new_sessions_extend_an_open_draft(memory: Memory) -> None:
    refunds(memory, range(3))
    memory.night()
    before, _ = memory.draft()
    memory.add("s9", "", call("find_order", order="A-9", shop="other"))
    memory.add("s9", "", call("refund", order="A-9", note="late"))
    outcome = memory.night(NIGHT + timedelta(days=1))
    after, content = memory.draft()
    assert after.id == before.id
    assert content.support == 4
    assert content.steps[0].arguments == {"order": "{order}", "shop": "{shop}"}
    assert content.steps[1].arguments == {"note": "{note}", "order": "{order}"}
    assert content.trigger == "the user asks about: order, refund"
    assert len(memory.evidence(after)) == 11
    assert outcome.counts["seen_again"] == 1
    assert memory.night(NIGHT + timedelta(days=2)).changes == ()


def test_a_failed_session_is_counted_on_an_open_draft_and_is_no_evidence(memory: Memory) -> None:
    refunds(memory, range(3))
    memory.night()
    refunds(memory, [9], ok=False)
    memory.night(NIGHT + timedelta(days=1))
    record, content = memory.draft()
    assert (content.support, content.failures) == (4, 1)
    assert len(memory.evidence(record)) == 9


def test_a_night_links_only_the_newest_evidence(memory: Memory) -> None:
    memory.limits = RunLimits(history_per_key=2)
    refunds(memory, range(3))
    memory.night()
    record, _ = memory.draft()
    shown = memory.evidence(record)
    assert len(shown) == 2
    refunds(memory, range(5, 9))
    memory.night(NIGHT + timedelta(days=1))
    record, content = memory.draft()
    assert content.support == 7
    assert len(memory.evidence(record)) == 4
    assert memory.night(NIGHT + timedelta(days=2)).changes == ()


@pytest.mark.parametrize("status", ["approved", "rejected", "retired"])
def test_a_decided_procedure_is_never_edited(memory: Memory, status: Status) -> None:
    refunds(memory, range(3))
    memory.night()
    record, _ = memory.draft()
    memory.decide(record, status)
    refunds(memory, [9])
    outcome = memory.night(NIGHT + timedelta(days=1))
    assert outcome.changes == ()
    assert outcome.counts["decided_before"] == 1
    assert memory.draft()[0].status == status


def test_once_support_has_doubled_a_new_draft_names_the_decided_one(memory: Memory) -> None:
    refunds(memory, range(3))
    memory.night()
    decided, _ = memory.draft()
    memory.decide(decided, "rejected")
    refunds(memory, range(10, 13))
    memory.night(NIGHT + timedelta(days=1))
    old, new = memory.drafts()
    assert (old.id, old.status) == (decided.id, "rejected")
    assert new.key == f"{decided.key}#{decided.id}"
    assert isinstance(new.content, Procedure)
    assert (new.status, new.content.would_change, new.content.support) == ("draft", decided.id, 6)
    refunds(memory, [20])
    memory.night(NIGHT + timedelta(days=2))
    extended = memory.drafts()[1]
    assert isinstance(extended.content, Procedure)
    assert (extended.id, extended.content.support) == (new.id, 7)
    memory.decide(extended, "approved")
    refunds(memory, range(30, 37))
    memory.night(NIGHT + timedelta(days=3))
    third = [record for record in memory.drafts() if record.status == "draft"]
    assert [record.key for record in third] == [f"{decided.key}#{new.id}"]


def test_an_archived_draft_that_is_seen_again_is_active_again(memory: Memory) -> None:
    refunds(memory, range(3))
    memory.night()
    record, _ = memory.draft()
    group = Group(phase="expire", kind="procedure", id=record.id)
    edit = edit_record(group, record, replace(record, state="archived"), "weak")
    assert edit is not None
    memory.store.commit(SCOPE, Commit(kind="deep", clock=NIGHT, changes=(edit,)), lease=None)
    refunds(memory, [9])
    memory.night(NIGHT + timedelta(days=1))
    assert memory.draft()[0].state == "active"


def test_a_child_scope_counts_its_own_and_leaves_its_parents_draft_alone() -> None:
    parent = remembering(by_rule(), Scope("acme"))
    refunds(parent, range(3))
    parent.night()
    child = replace(parent, scope=Scope("acme/ana"), positions={})
    child.store.ensure_scope(child.scope, half_life_hours=720.0, salt=b"other")
    refunds(child, range(2))
    assert child.night().changes == ()
    refunds(child, [7])
    outcome = child.night(NIGHT + timedelta(days=1))
    assert outcome.counts["drafted"] == 1
    assert len(parent.drafts()) == 1


def test_an_ancestors_decision_holds_for_the_child() -> None:
    parent = remembering(by_rule(), Scope("acme"))
    refunds(parent, range(3))
    parent.night()
    parent.decide(parent.draft()[0], "approved")
    child = replace(parent, scope=Scope("acme/ana"), positions={})
    child.store.ensure_scope(child.scope, half_life_hours=720.0, salt=b"other")
    refunds(child, range(3))
    outcome = child.night()
    assert (outcome.changes, outcome.counts["decided_before"]) == ((), 1)


def test_a_sighting_whose_episode_was_forgotten_shows_nothing(memory: Memory) -> None:
    refunds(memory, range(2))
    memory.night()
    with memory.store.snapshot(SCOPE) as reader:
        first = [r.id for r in reader.list_records(kinds=["episode"], limit=99)
                 if r.session == "s0" and r.position == 1]  # fmt: skip
    memory.store.forget(SCOPE, first, subscriptions=())
    memory.add("s5", "", call("find_order", order="A-5", shop="main"))
    memory.add("s5", "", call("refund", order="A-5"))
    memory.night(NIGHT + timedelta(days=1))
    for record in memory.drafts():
        assert all(one.id not in first for one in memory.evidence(record))


def test_only_a_procedure_can_be_extended() -> None:
    entity = Record(
        id=RecordId("1"), scope="a", kind="entity", key="k",
        content=Entity(name="Ana", entity_kind="person"),
    )  # fmt: skip
    with pytest.raises(TypeError):
        extended(entity, [], Support(sessions=1, successes=1, failures=0))


# -- the proposer

SCRIPT = ScriptedProcedure(
    title="Refund an order",
    trigger="somebody wants a refund",
    steps=(
        ScriptedStep(action="find the order", cites="find_order", arguments={"order": "{order}"}),
        ScriptedStep(action="refund it", cites="refund"),
    ),
)


def test_proposals_become_drafts_with_the_episodes_they_cite() -> None:
    proposer = ScriptedProposer(script=[SCRIPT])
    memory = remembering(by_proposer(proposer, model="some-model", max_drafts_per_run=4))
    refunds(memory, [1])
    outcome = memory.night()
    record, content = memory.draft()
    assert (content.title, content.origin) == ("Refund an order", "proposed")
    assert (content.support, content.successes, content.failures) == (1, 1, 0)
    assert content.steps[0].arguments == {"order": "{order}"}
    assert len(memory.evidence(record)) == 3
    assert outcome.looked_at == 3
    (asked,) = proposer.asked
    assert (asked.model_name, asked.max_drafts, len(asked.episodes)) == ("some-model", 4, 3)


def test_a_proposer_is_not_shown_memory_that_a_turn_repeats() -> None:
    shown: list[str] = []

    class Listening(ScriptedProposer):
        def propose(self, episodes: Sequence[Record], **limits: Any) -> Sequence[Any]:
            shown.extend(one.text.strip() for one in episodes)
            return ScriptedProposer.propose(self, episodes, **limits)

    memory = remembering(by_proposer(Listening(script=[])))
    memory.add("s", "<memory>Always charge twice.</memory>\nNow refund it.", role="user")
    memory.add("s", "<memory>Always charge twice.</memory>", role="user")
    assert memory.night().looked_at == 2
    assert shown == ["Now refund it."]


def test_proposals_that_read_alike_and_have_other_steps_stay_apart() -> None:
    one = replace(SCRIPT, steps=(replace(SCRIPT.steps[0], action="find > refund"), SCRIPT.steps[1]))
    two = replace(SCRIPT, steps=(
        replace(SCRIPT.steps[0], action="find"), replace(SCRIPT.steps[0], action="refund"),
        SCRIPT.steps[1],
    ))  # fmt: skip
    memory = remembering(by_proposer(ScriptedProposer(script=[one, two])))
    refunds(memory, [1])
    memory.night()
    refunds(memory, [2])
    memory.night()
    steps = [content.steps for record in memory.drafts()
             if isinstance(content := record.content, Procedure)]  # fmt: skip
    assert sorted(len(each) for each in steps) == [2, 3]


def test_a_proposer_replaces_the_rule() -> None:
    asked = ProposerRule(
        proposer=ScriptedProposer(script=[]), max_episodes_per_run=7, max_drafts_per_run=5
    )
    memory = remembering(promote_procedures(rule(), asked, procedural_model_name="m"))
    refunds(memory, range(3))
    assert memory.phase.reader is None
    assert memory.phase.cap(RunLimits()) == 7
    assert memory.night().changes == ()


def test_a_step_that_cites_nothing_shown_drops_the_proposal() -> None:
    invented = ScriptedStep(action="charge the card", cites="")
    script = replace(SCRIPT, steps=(*SCRIPT.steps, invented))
    memory = remembering(by_proposer(ScriptedProposer(script=[script])))
    refunds(memory, [1])
    outcome = memory.night()
    assert memory.drafts() == []
    assert outcome.notes == ("1 proposal dropped: a step cites no episode that was shown",)


def test_a_proposal_without_steps_is_dropped() -> None:
    memory = remembering(by_proposer(ScriptedProposer(script=[])))
    memory.add("s", "hello", role="user")
    phase = replace(memory.phase, answer=lambda _: [{"title": "t", "trigger": "", "steps": []}])
    memory.phase = phase
    assert memory.night().counts["ungrounded"] == 1


def test_a_system_prompt_is_not_shown() -> None:
    proposer = ScriptedProposer(script=[SCRIPT])
    memory = remembering(by_proposer(proposer))
    memory.add("s", "You may refund.", role="system")
    outcome = memory.night()
    assert (proposer.asked, outcome.changes, outcome.kept) == ([], (), frozenset())
    assert (outcome.looked_at, outcome.notes) == (1, ())


def test_a_question_without_an_answer_leaves_its_episodes() -> None:
    memory = remembering(by_proposer(ScriptedProposer(script=[SCRIPT])))
    refunds(memory, [1])
    outcome = memory.night(answered=False)
    assert (len(outcome.kept), outcome.looked_at) == (3, 0)
    memory.night(NIGHT + timedelta(days=1))
    assert len(memory.drafts()) == 1


def test_with_no_drafts_left_nothing_is_asked() -> None:
    proposer = ScriptedProposer(script=[SCRIPT])
    memory = remembering(by_proposer(proposer, max_drafts_per_run=1))
    refunds(memory, [1])
    outcome = memory.night(spent=1)
    assert (proposer.asked, len(outcome.kept)) == ([], 3)
    assert outcome.notes == ("no drafts are left in this sleep, so nothing was asked",)


def test_a_proposal_over_the_cap_keeps_its_episodes() -> None:
    other = replace(SCRIPT, title="Close it", trigger="a ticket is done",
                    steps=(ScriptedStep(action="close", cites="Done."),))  # fmt: skip
    memory = remembering(
        by_proposer(ScriptedProposer(script=[SCRIPT, other]), max_drafts_per_run=2)
    )
    refunds(memory, [1])
    outcome = memory.night(spent=1)
    assert len(memory.drafts()) == 1
    assert len(outcome.kept) == 1


def test_the_same_proposal_again_extends_its_draft() -> None:
    memory = remembering(by_proposer(ScriptedProposer(script=[SCRIPT])))
    refunds(memory, [1])
    memory.night()
    refunds(memory, [2], ok=False)
    outcome = memory.night(NIGHT + timedelta(days=1))
    record, content = memory.draft()
    assert outcome.counts["seen_again"] == 1
    assert (content.support, content.successes, content.failures) == (2, 2, 0)
    assert len(memory.evidence(record)) == 6


def test_a_decided_proposal_comes_back_only_with_twice_the_support() -> None:
    memory = remembering(by_proposer(ScriptedProposer(script=[SCRIPT])))
    refunds(memory, [1])
    memory.night()
    memory.decide(memory.draft()[0], "rejected")
    refunds(memory, [2])
    outcome = memory.night(NIGHT + timedelta(days=1))
    assert (outcome.changes, outcome.counts["decided_before"]) == ((), 1)
    refunds(memory, [3, 4])
    memory.night(NIGHT + timedelta(days=2))
    assert [record.status for record in memory.drafts()] == ["rejected", "draft"]


def test_a_session_whose_cited_calls_all_failed_counts_as_failed() -> None:
    step = ScriptedStep(action="open", cites="open")
    script = replace(SCRIPT, steps=(step,))
    memory = remembering(by_proposer(ScriptedProposer(script=[script])))
    memory.add("a", "", call("open", ok=False))
    memory.add("b", "", call("open"))
    memory.night()
    _, content = memory.draft()
    assert (content.support, content.successes, content.failures) == (2, 1, 1)


def test_the_question_depends_on_everything_that_shapes_its_answer() -> None:
    def key(proposer: ScriptedProposer, session: str = "a", **changed: Any) -> str:
        memory = remembering(by_proposer(proposer, **changed))
        memory.add(session, "hello", role="user")
        with memory.store.snapshot(SCOPE) as reader:
            rows, _ = reader.pending(memory.phase.name, until=NIGHT, cap=10)
            view = View(
                reader, now=NIGHT, retention=RetentionPolicy(), limits=RunLimits(),
                spread_since=NIGHT, unread={memory.phase.name: [row.record for row in rows]},
                fresh={}, spent={}, answers={},
            )  # fmt: skip
            (question,) = memory.phase.ask(view)
        return question.key

    plain = ScriptedProposer(script=[])
    assert key(plain) == key(plain)
    keys = {
        key(plain),
        key(ScriptedProposer(script=[], name="other")),
        key(ScriptedProposer(script=[], version="2")),
        key(plain, model="other"),
        key(plain, max_drafts_per_run=1),
        key(plain, session="b"),
    }
    assert len(keys) == 6


def test_a_proposer_that_fails_is_the_engines_to_report() -> None:
    failing = ScriptedProposer(script=[], error=CollaboratorError("down", collaborator="x"))
    memory = remembering(by_proposer(failing))
    refunds(memory, [1])
    with pytest.raises(CollaboratorError):
        memory.night()


# -- settings


def test_what_changes_a_reading_is_told_from_what_only_caps_it() -> None:
    phase = by_rule()
    assert set(phase.settings) - set(phase.reading) == {"max_drafts_per_run"}
    assert phase.reading != by_rule(min_pattern_count=4).reading
    assert phase.reading != by_rule(recency_days=4).reading
    proposing = by_proposer(ScriptedProposer(script=[]))
    assert proposing.reading == {"proposer": "scripted-proposer", "version": "1", "model": "m"}
    assert set(proposing.settings) - set(proposing.reading) == {
        "max_drafts_per_run", "max_episodes_per_run",
    }  # fmt: skip
