"""What a person decided or took back stands, and a summary never hides what it was made from."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import UndoRefused
from symfonic.capabilities.memory.records import Entity, Procedure
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedProcedure,
    ScriptedProposer,
    ScriptedStep,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
RULE = "Before you open the kiln, check the pyrometer and warn the crew."
DAY = timedelta(days=1)


def rules(first: int, count: int, at: datetime, text: str = RULE) -> list[dict[str, Any]]:
    return [
        {"id": f"r{n}", "session": f"r{n}", "position": 0, "text": text,
         "at": (at + timedelta(minutes=n)).isoformat()}
        for n in range(first, first + count)
    ]  # fmt: skip


def procedures(memory: Memory) -> list[Record]:
    return memory.procedures(scope=SCOPE, status=None)


def entities(memory: Memory) -> set[str]:
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        found = reader.list_records(kinds=("entity",), limit=10_000)
    return {r.content.name for r in found if isinstance(r.content, Entity)}


def summaries(memory: Memory) -> list[Record]:
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        return reader.list_records(kinds=("summary",), limit=10_000)


def undone(memory: Memory, report: SleepReport, now: datetime) -> None:
    for run in reversed(report.passes):
        memory.undo(run.run_id, now=now)


# -- decisions


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_a_decided_procedure_survives_any_run(
    decision: Any, memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(rules(0, 3, now - 3 * DAY), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=learning, now=now)
    (draft,) = procedures(memory)
    decided = memory.decide(draft.id, decision, scope=SCOPE, by="ana", now=now)

    def row() -> dict[str, Any]:
        return next(r for r in memory.export(scope=SCOPE) if r.get("id") == draft.id)

    before = row()
    proposer = ScriptedProposer(
        script=[ScriptedProcedure(title="Kiln", trigger="kiln", steps=(
            ScriptedStep(action="check", cites="pyrometer"),))]
    )  # fmt: skip
    policies = [
        learning,
        replace(learning, promotion_min_pattern_count=1, promotion_recency_days=1),
        replace(learning, promotion_use_tool_calls_fallback=False, promotion_max_drafts_per_run=0),
        replace(learning, phase_12_use_llm_extractor=True),
    ]
    memory.ingest(log(60), scope=SCOPE, now=now)
    for night, policy in enumerate(policies, start=1):
        moment = now + night * DAY
        memory.ingest(rules(10 * night, 5, moment - timedelta(hours=2)), scope=SCOPE, now=moment)
        memory.sleep(scope=SCOPE, policy=policy, given={"proposer": proposer}, now=moment)
        kept = {name: value for name, value in row().items() if name not in {"strength", "version"}}
        assert kept == {n: v for n, v in before.items() if n not in {"strength", "version"}}
    assert memory.procedure(draft.id, scope=SCOPE)[0].status == decided.status


def test_a_decided_procedure_gets_a_new_draft_only_once_support_has_doubled(
    memory: Memory, now: datetime
) -> None:
    memory.ingest(rules(0, 3, now - DAY), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, now=now)
    (draft,) = procedures(memory)
    memory.decide(draft.id, "rejected", scope=SCOPE, by="ana", now=now)
    counts = []
    for night in range(1, 5):
        moment = now + night * DAY
        memory.ingest(rules(10 * night, 1, moment - timedelta(hours=2)), scope=SCOPE, now=moment)
        memory.sleep(scope=SCOPE, now=moment)
        counts.append(len(procedures(memory)))
    assert counts == [1, 1, 2, 2]
    new = next(p for p in procedures(memory) if p.id != draft.id)
    assert isinstance(new.content, Procedure)
    assert new.content.would_change == draft.id
    assert new.status == "draft"


def test_no_run_approves_anything(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    for night in range(4):
        memory.sleep(scope=SCOPE, policy=learning, now=now + night * DAY)
    assert {p.status for p in procedures(memory)} == {"draft"}


# -- summaries


def test_a_summary_neither_hides_nor_deletes_a_source(
    memory: Memory, now: datetime, learning: LearningPolicy
) -> None:
    birds = ["heron", "plover", "dunlin", "curlew", "lapwing", "siskin", "bunting", "wheatear"]
    log = [
        {"id": f"b{n}", "session": f"s{n // 8}", "position": n % 8, "role": "user",
         "text": f"At stop {n} we counted {n + 2} of the {birds[n % 8]}{n} by the water.",
         "at": (now - timedelta(days=20, minutes=-n)).isoformat()}
        for n in range(64)
    ]  # fmt: skip
    memory.ingest(log, scope=SCOPE, now=now)

    def found(number: int) -> tuple[str | None, str]:
        asked = f"{birds[number % 8]}{number}"
        items = memory.recall(
            asked, scope=SCOPE, limit=10, kinds=("episode",), now=now, record_uses=False
        ).items
        everything = memory.recall(asked, scope=SCOPE, limit=10, now=now, record_uses=False).items
        assert items[0].id in {item.id for item in everything}
        return items[0].source_id, items[0].text

    before = [found(n) for n in range(64)]
    assert [source for source, _ in before] == [f"b{n}" for n in range(64)]
    report = memory.sleep(scope=SCOPE, policy=learning, now=now)
    condensed = sum(p.counts.get("condensed", 0) for r in report.passes for p in r.phases)
    assert condensed >= 44
    assert [found(n) for n in range(64)] == before
    stats = memory.stats(scope=SCOPE)
    assert sum(stats["records"]["episode"].values()) == 64
    assert set(stats["records"]["episode"]) <= {"active", "condensed"}
    assert stats["visible"] == sum(sum(s.values()) for s in stats["records"].values())


def test_a_summary_names_all_its_sources(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(90), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=learning, now=now)
    rows = list(memory.export(scope=SCOPE))
    links = [row for row in rows if row["table"] == "link" and row["kind"] == "summarises"]
    condensed = {row["id"] for row in rows if row.get("state") == "condensed"}
    assert {link["target"] for link in links} == condensed
    assert len(links) == len(condensed)
    assert {link["source"] for link in links} == {s.id for s in summaries(memory)}


# -- what was undone


def test_undone_changes_do_not_come_back_the_next_night(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    undone(memory, memory.sleep(scope=SCOPE, policy=learning, now=now), now)
    assert (entities(memory), procedures(memory), summaries(memory)) == (set(), [], [])
    for night in (1, 2):
        report = memory.sleep(scope=SCOPE, policy=learning, now=now + night * DAY)
        assert report.change_count == 0
    assert (entities(memory), procedures(memory), summaries(memory)) == (set(), [], [])


def test_undone_changes_do_not_come_back_when_everything_is_read_again(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    undone(memory, memory.sleep(scope=SCOPE, policy=learning, now=now), now)
    other = replace(
        learning, entity_linker_confidence_threshold=0.51, promotion_recency_days=60,
        episodic_summarization_batch_size=13,
    )  # fmt: skip
    report = memory.sleep(scope=SCOPE, policy=other, now=now + DAY)
    dropped = {p.name: p.dropped for run in report.passes for p in run.phases if p.dropped}
    assert set(dropped) == {"link_entities", "promote_procedures"}
    assert (entities(memory), procedures(memory), summaries(memory)) == (set(), [], [])


def test_undone_changes_come_back_with_later_evidence(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    first = memory.sleep(scope=SCOPE, policy=learning, now=now)
    assert "Marguerite Oakes" in entities(memory)
    had = {p.key for p in procedures(memory)}
    undone(memory, first, now)
    later = now + DAY
    new = [
        {**row, "id": f"new-{row['id']}", "session": f"new-{row['session']}",
         "at": (later - timedelta(hours=2)).isoformat()}
        for row in log(6)
    ]  # fmt: skip
    memory.ingest(new, scope=SCOPE, now=later)
    memory.sleep(scope=SCOPE, policy=learning, now=later)
    assert "Marguerite Oakes" in entities(memory)
    back = {p.key for p in procedures(memory)}
    assert back
    assert back <= had
    assert summaries(memory) == []


def test_one_group_can_be_undone_and_alone_stays_away(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    run = memory.sleep(scope=SCOPE, policy=learning, now=now).passes[0].run_id
    before = entities(memory)
    group = next(
        str(row.change.group)
        for row in memory.diff(run)
        if row.change.operation == "add" and row.change.after.get("text") == "Tobias Fenn"
    )
    memory.undo(run, groups=[group], cascade=True, now=now)
    assert before - entities(memory) == {"Tobias Fenn"}
    memory.sleep(scope=SCOPE, policy=replace(learning, promotion_recency_days=60), now=now + DAY)
    assert before - entities(memory) == {"Tobias Fenn"}
    assert memory.store.check() == []


def test_an_undo_is_refused_naming_what_builds_on_it_and_goes_in_the_right_order(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy, learnt: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    rows = log(120)
    memory.ingest(rows[:60], scope=SCOPE, now=now)
    first = memory.sleep(scope=SCOPE, policy=learning, now=now).passes[0].run_id
    memory.ingest(rows[60:], scope=SCOPE, now=now)
    before = learnt(memory, SCOPE)
    second = memory.sleep(scope=SCOPE, policy=learning, now=now + DAY).passes[0].run_id
    with pytest.raises(UndoRefused) as caught:
        memory.undo(first, now=now + DAY)
    named: Any = caught.value.facts["groups"]
    assert named
    assert all(group.startswith(f"{second} ") for group in named)
    memory.undo(second, now=now + DAY)

    def without_readings(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in found if row["table"] != "seen"]

    assert without_readings(learnt(memory, SCOPE)) == without_readings(before)
    memory.undo(first, now=now + DAY)
    assert entities(memory) == set()
    assert memory.store.check() == []


def test_forgotten_summary_is_not_proposed_again_and_its_sources_are_still_recalled(
    memory: Memory, now: datetime, log: Callable[[int], list[dict[str, Any]]],
    learning: LearningPolicy,
) -> None:  # fmt: skip
    memory.ingest(log(120), scope=SCOPE, now=now)
    run = memory.sleep(scope=SCOPE, policy=learning, now=now).passes[0].run_id
    summary = next(
        str(row.change.row[0])
        for row in memory.diff(run)
        if row.change.operation == "add" and row.change.after.get("kind") == "summary"
    )
    memory.forget([summary], scope=SCOPE)
    night = memory.sleep(scope=SCOPE, policy=learning, now=now + DAY)
    (summarise,) = [p for p in night.passes[0].phases if p.name == "summarise"]
    assert (summarise.dropped, summarise.changes) == (0, 0)
    states = memory.stats(scope=SCOPE)["records"]
    assert states["episode"]["condensed"] > 0
    assert memory.recall("tile order", scope=SCOPE, now=now).items
