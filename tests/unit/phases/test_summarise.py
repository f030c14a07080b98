"""Summarise: when it begins, where batches end, and what a summary leaves behind."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import Group, add_record, output_digest
from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.extractors.extractive import (
    MAX_CHARACTERS,
    METHOD,
    summarise_episodes,
)
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phases.summarise import NAME, summarise
from symfonic.capabilities.memory.records import (
    Episode,
    Record,
    RecordId,
    Summary,
    from_columns,
)
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.strength import base_strength
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symfonic.capabilities.memory.collaborators import Question, Summarizer
    from symfonic.capabilities.memory.records import Plain, Trust
    from symfonic.capabilities.memory.store import MemoryStore

SCOPE = Scope("acme/ana")
NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
START = datetime(2026, 2, 1, tzinfo=UTC)
HALF_LIFE = 720.0
SETUP = Group(phase="test", kind="setup", id="setup")


class Scripted:
    """A summarizer that gives what it is told to."""

    def __init__(self, text: str = "They planned a trip.", version: str = "1") -> None:
        self.text = text
        self._version = version
        self.asked: list[tuple[list[str], int]] = []

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def version(self) -> str:
        return self._version

    def summarize(self, episodes: Sequence[Record], *, max_characters: int) -> str:
        self.asked.append(([episode.id for episode in episodes], max_characters))
        return self.text


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = open_store(":memory:")
    store.ensure_scope(SCOPE, half_life_hours=HALF_LIFE, salt=b"salt")
    yield store
    store.close()


def turn(number: int, *, session: str | None = "s", trust: Trust = "user") -> Record:
    return Record(
        id=RecordId(f"e{number:03}"), scope=SCOPE.path, kind="episode", key=None,
        content=Episode(role="user", name="Ana"), text=f"I keep key {number} at desk {number}.",
        trust=trust, recorded_at=START + timedelta(minutes=number), session=session,
        position=number,
    )  # fmt: skip


def fill(store: MemoryStore, turns: Sequence[Record]) -> None:
    changes = tuple(add_record(SETUP, record, "") for record in turns)
    store.commit(SCOPE, Commit(kind="ingest", clock=NOW, changes=changes), lease=None)


@contextmanager
def view(
    store: MemoryStore, answers: Mapping[str, Plain] | None = None, *, batches: int = 20
) -> Iterator[View]:
    limits = RunLimits(summarize_max_batches_per_run=batches)
    with store.snapshot(SCOPE) as reader:
        yield View(
            reader, now=NOW, retention=RetentionPolicy(), limits=limits, spread_since=NOW,
            unread={}, fresh={}, spent={}, answers=answers or {},
        )  # fmt: skip


KNOBS: dict[str, Any] = {
    "lookback_hours": 24.0,
    "episodic_max_entries": 10,
    "episodic_summarize_batch": 4,
}


def run(
    store: MemoryStore,
    summarizer: Summarizer | None = None,
    *,
    answers: Mapping[str, Plain] | None = None,
    batches: int = 20,
    **knobs: Any,
) -> Ran:
    phase = summarise(summarizer, **{**KNOBS, **knobs})
    with view(store, answers, batches=batches) as seen:
        outcome = phase.propose(seen)
    assert isinstance(outcome, Ran)
    return outcome


def questions(store: MemoryStore, summarizer: Summarizer, **knobs: Any) -> Sequence[Question]:
    with view(store) as seen:
        return summarise(summarizer, **{**KNOBS, **knobs}).ask(seen)


def apply(store: MemoryStore, ran: Ran) -> None:
    store.commit(SCOPE, Commit(kind="deep", clock=NOW, changes=ran.changes), lease=None)


def summaries(ran: Ran) -> list[Record]:
    return [
        from_columns(c.after, id=str(c.row[0]), scope=SCOPE.path)
        for c in ran.changes
        if c.table == "record" and c.operation == "add"
    ]


def sources(ran: Ran) -> list[list[str]]:
    """The sources of each summary, as its links name them."""
    found: dict[str, list[str]] = {record.id: [] for record in summaries(ran)}
    for change in ran.changes:
        if change.table == "link":
            assert change.row[1] == "summarises"
            found[str(change.row[0])].append(str(change.row[2]))
    return list(found.values())


def ids(*numbers: int) -> list[str]:
    return [f"e{n:03}" for n in numbers]


def test_the_phase_is_driven_by_state_and_names_its_knobs() -> None:
    phase = summarise(None, **KNOBS)
    assert phase.name == NAME
    assert phase.reads == ()
    assert not phase.reads_touched
    assert phase.cap(RunLimits()) == 0
    assert phase.settings == {**KNOBS, "method": METHOD, "max_characters": MAX_CHARACTERS}
    assert phase.reading == {}
    assert phase.answer is None
    assert summarise(Scripted(), **KNOBS).settings["method"] == "scripted@1"


@pytest.mark.parametrize(
    ("name", "value"),
    [("lookback_hours", 0.0), ("episodic_max_entries", 0), ("episodic_summarize_batch", True)],
)
def test_a_knob_out_of_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(PolicyError, match=name):
        summarise(None, **{**KNOBS, name: value})


def test_up_to_the_threshold_it_ran_and_says_what_it_saw(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(10)])
    ran = run(store)
    assert ran.changes == ()
    assert ran.looked_at == 10
    assert ran.counts == {
        "uncondensed": 10, "threshold": 10, "condensed": 0, "unanswered": 0,
    }  # fmt: skip


def test_an_empty_memory_is_looked_at_too(store: MemoryStore) -> None:
    assert run(store).counts["uncondensed"] == 0


def test_the_oldest_are_condensed_until_no_more_than_the_threshold_are_left(
    store: MemoryStore,
) -> None:
    fill(store, [turn(n) for n in range(17)])
    ran = run(store)
    assert sources(ran) == [ids(0, 1, 2, 3), ids(4, 5, 6, 7)]
    assert ran.counts == {
        "uncondensed": 17, "threshold": 10, "condensed": 8, "unanswered": 0,
    }  # fmt: skip


def test_a_second_run_straight_after_changes_nothing(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(17)])
    apply(store, run(store))
    again = run(store)
    assert again.changes == ()
    assert again.counts["uncondensed"] == 9


def test_at_most_so_many_batches_a_pass_and_the_rest_is_left(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(30)])
    ran = run(store, batches=2)
    assert len(summaries(ran)) == 2
    assert ran.left == 12
    apply(store, ran)
    assert run(store, batches=9).left == 0


def test_episodes_inside_the_look_back_are_not_taken(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(17)])
    hours = (NOW - START) / timedelta(hours=1) - 0.1
    assert run(store, lookback_hours=hours).counts["uncondensed"] == 6
    assert run(store, lookback_hours=1e12).counts["uncondensed"] == 0


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ("aaabbbbbbbbbbbbb", [ids(0, 1, 2), ids(3, 4, 5, 6)]),
        ("aabbbbbbbbbbbbbb", [ids(0, 1), ids(2, 3, 4, 5)]),
        ("abbbbbbbbbbbbbbb", [ids(0, 1, 2, 3), ids(4, 5, 6, 7)]),
        ("aabbcccccccccccc", [ids(0, 1, 2, 3), ids(4, 5, 6, 7)]),
        ("abababccccccdddd", [ids(0, 1, 2, 3), ids(4, 5), ids(6, 7, 8, 9)][:2]),
    ],
)
def test_a_batch_ends_where_sessions_end_if_that_leaves_at_least_half(
    store: MemoryStore, sessions: str, expected: list[list[str]]
) -> None:
    fill(store, [turn(n, session=s) for n, s in enumerate(sessions)])
    assert sources(run(store)) == expected


def test_a_batch_larger_than_what_is_there_takes_all(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(3)])
    ran = run(store, episodic_max_entries=1, episodic_summarize_batch=50)
    assert sources(ran) == [ids(0, 1, 2)]


def test_a_summary_names_its_sources_times_and_method(store: MemoryStore) -> None:
    turns = [turn(n) for n in range(12)]
    fill(store, turns)
    (summary,) = summaries(run(store))
    assert summary.kind == "summary"
    assert summary.content == Summary(
        method=METHOD,
        episode_count=4,
        first_at=turns[0].at.isoformat(),
        last_at=turns[3].at.isoformat(),
    )
    assert summary.text == summarise_episodes(turns[:4])
    assert summary.at == turns[3].at
    assert summary.recorded_at == NOW
    assert summary.session == "s"
    assert summary.state == "active"
    assert summary.strength == base_strength(turns[3].at, HALF_LIFE)


def test_ids_and_keys_come_from_the_sources_and_hold_no_text(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(12)])
    first, second = run(store), run(store)
    assert output_digest(first.changes) == output_digest(second.changes)
    (summary,) = summaries(first)
    with view(store) as seen:
        assert summary.key is not None
        assert summary.id == seen.identify("summary", summary.key)
    assert len(summary.key) == 24


def test_a_batch_of_several_sessions_belongs_to_none(store: MemoryStore) -> None:
    fill(store, [turn(n, session=f"s{n}") for n in range(12)])
    assert summaries(run(store))[0].session is None


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (["user", "assistant", "tool", "user"], "assistant"),
        (["user", "imported", "tool", "user"], "imported"),
        (["user", "marked", "tool", "user"], "tool"),
        (["marked"] * 4, "marked"),
    ],
)
def test_trust_is_the_least_of_what_may_speak(
    store: MemoryStore, levels: list[Trust], expected: Trust
) -> None:
    old = [turn(n, trust=trust) for n, trust in enumerate(levels)]
    fill(store, [*old, *(turn(n) for n in range(4, 12))])
    assert summaries(run(store))[0].trust == expected


def test_sources_change_their_state_and_nothing_else(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(12)])
    ran = run(store)
    edits = [c for c in ran.changes if c.operation == "edit"]
    assert [str(c.row[0]) for c in edits] == ids(0, 1, 2, 3)
    assert all(c.after == {"state": "condensed"} for c in edits)


def test_a_summary_is_one_group_with_its_links_and_sources(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(12)])
    ran = run(store)
    (summary,) = summaries(ran)
    assert {c.group for c in ran.changes} == {Group(phase=NAME, kind="summary", id=summary.id)}
    assert len(ran.changes) == 1 + 4 + 4
    apply(store, ran)
    with view(store) as seen:
        links = seen.links([summary.id], kinds=["summarises"], direction="out", per_record=9)
    assert [link.at for link in links] == [turn(n).at for n in range(4)]
    assert [link.count for link in links] == [1] * 4


def test_a_condensed_episode_is_still_found_by_its_words(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(12)])
    apply(store, run(store))
    with store.snapshot(SCOPE) as reader:
        hits = reader.search(['"key"'], kinds=["episode", "summary"], limit=50)
    found = {hit.record.id: hit.record.state for hit in hits}
    assert found[RecordId("e000")] == "condensed"
    assert len(found) == 13


def test_without_a_summarizer_nobody_is_asked(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(12)])
    with view(store) as seen:
        assert summarise(None, **KNOBS).ask(seen) == ()


def test_a_summarizer_is_asked_about_each_batch_and_its_answer_is_the_text(
    store: MemoryStore,
) -> None:
    fill(store, [turn(n) for n in range(17)])
    scripted = Scripted("  They planned a trip. \n")
    phase = summarise(scripted, **KNOBS)
    asked = questions(store, scripted)
    assert [[e.id for e in q.episodes] for q in asked] == [ids(0, 1, 2, 3), ids(4, 5, 6, 7)]
    assert {q.collaborator for q in asked} == {"scripted@1"}
    assert phase.answer is not None
    answers = {q.key: phase.answer(q) for q in asked}
    assert scripted.asked[0] == (ids(0, 1, 2, 3), MAX_CHARACTERS)
    first, second = summaries(run(store, scripted, answers=answers))
    assert (first.text, second.text) == ("They planned a trip.",) * 2
    assert isinstance(first.content, Summary)
    assert first.content.method == "scripted@1"


def test_a_question_is_known_by_the_summarizer_and_the_episodes(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(17)])
    keys = [q.key for q in questions(store, Scripted())]
    assert keys == [q.key for q in questions(store, Scripted("Other text."))]
    assert not set(keys) & {q.key for q in questions(store, Scripted(version="2"))}
    assert len(set(keys)) == 2


@pytest.mark.parametrize("answer", [None, "", " \n", 7, ["text"]])
def test_a_batch_without_an_answer_is_left_and_the_others_land(
    store: MemoryStore, answer: Plain
) -> None:
    fill(store, [turn(n) for n in range(17)])
    first, second = questions(store, Scripted())
    ran = run(store, Scripted(), answers={first.key: answer, second.key: "A trip."})
    assert sources(ran) == [ids(4, 5, 6, 7)]
    assert ran.counts["unanswered"] == 4
    assert ran.left == 4
    assert ran.counts["condensed"] == 4


def test_a_summarizers_text_is_kept_to_the_bound_and_leaves_no_code_open(
    store: MemoryStore,
) -> None:
    fill(store, [turn(n) for n in range(12)])
    (question,) = questions(store, Scripted())
    text = "They ran this:\n```\n" + "make demo\n" * 300 + "```\n"
    (summary,) = summaries(run(store, Scripted(), answers={question.key: text}))
    assert summary.text == "They ran this:\n[code left out]"
    assert len(summary.text) <= MAX_CHARACTERS


def test_looking_costs_a_fixed_number_of_statements(store: MemoryStore) -> None:
    fill(store, [turn(n) for n in range(90)])
    seen_statements: list[str] = []
    with view(store) as seen:
        raw = seen._reader.connection.raw  # type: ignore[attr-defined]
        raw.set_trace_callback(seen_statements.append)
        summarise(None, **KNOBS).propose(seen)
        raw.set_trace_callback(None)
    assert 0 < len(seen_statements) <= 3
