"""What time makes due: archived then and not before, brought back by use, and never twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import Group, edit_record
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Entity
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
DAY = timedelta(days=1)
FREE = RunLimits(max_hidden_share=1.0)
LINKING = LearningPolicy(enable_entity_linker=True)
DRAFTING = LearningPolicy(enable_entity_linker=True, promotion_min_pattern_count=2)
RULE = "Before you open the kiln, check the pyrometer and warn the crew."


def said(name: str, at: datetime, *sessions: str) -> list[dict[str, Any]]:
    return [
        {"id": f"{name}{session}", "session": f"{name}{session}", "position": 0, "role": "user",
         "text": f"This morning {name} asked me about the kiln.", "at": at.isoformat()}
        for session in sessions
    ]  # fmt: skip


@pytest.fixture
def night(memory: Memory, now: datetime) -> Callable[..., SleepReport]:
    """A night so many days later; nothing is guarded, so that retention alone decides."""

    def sleep(later: int = 0, **options: Any) -> SleepReport:
        given = {"policy": LINKING, "limits": FREE, **options}
        return memory.sleep(scope=SCOPE, now=now + later * DAY, **given)

    return sleep


def entity(memory: Memory, name: str) -> Record:
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        found = [r for r in reader.records(reader.all_records()) if r.kind == "entity"]
    (one,) = [r for r in found if isinstance(r.content, Entity) and r.content.name == name]
    return one


def archivals(report: SleepReport) -> int:
    return sum(p.changes for run in report.passes for p in run.phases if p.name == "expire")


def test_a_hundred_idle_nights_archive_exactly_what_is_due_and_nothing_else(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    """Three uses, the first notice and a mention each time, read below 0.05 after 161 days."""
    memory.ingest(said("Marguerite Oakes", now - 60 * DAY, "a", "b"), scope=SCOPE, now=now)
    memory.ingest(said("Tobias Fenn", now - 100 * DAY, "a", "b"), scope=SCOPE, now=now)
    memory.ingest(said("Ilse Brandt", now, "a", "b"), scope=SCOPE, now=now)
    memory.remember("Fetch the tiles.", scope=SCOPE, expires=now + 10 * DAY, now=now)
    memory.remember("The kiln is green.", scope=SCOPE, now=now)
    night()
    busy = {}
    for later in range(1, 101):
        report = night(later)
        assert len(report.passes) == 1
        if report.change_count:
            busy[later] = (report.change_count, archivals(report))
    assert busy == {10: (1, 1), 161 - 100: (1, 1)}
    assert entity(memory, "Tobias Fenn").state == "archived"
    assert entity(memory, "Ilse Brandt").state == "active"
    kinds = memory.stats(scope=SCOPE)["records"]
    assert kinds["note"] == {"active": 1, "archived": 1}
    assert kinds["episode"] == {"active": 6}


def test_a_hundred_idle_nights_with_nothing_due_write_no_change(
    memory: Memory, now: datetime, night: Callable[..., SleepReport],
    contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    memory.ingest(said("Marguerite Oakes", now, "a", "b"), scope=SCOPE, now=now)
    night()
    before = contents(memory, SCOPE, history=True)
    for later in range(1, 101):
        assert (len(night(later).passes), contents(memory, SCOPE, history=True)) == (1, before)


def test_a_run_straight_after_one_that_archived_archives_nothing(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    for n, name in enumerate(("Marguerite Oakes", "Tobias Fenn", "Ilse Brandt")):
        memory.ingest(said(name, now + n * timedelta(hours=1), "a", "b"), scope=SCOPE, now=now)
    night(1)
    assert archivals(night(200, limits=RunLimits(max_hidden_share=1, expire_max_records_per_run=1)))
    assert night(200).change_count == 0


def test_a_late_import_of_a_faded_name_leaves_nothing_for_a_second_run(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(said("Marguerite Oakes", now, "a", "b"), scope=SCOPE, now=now)
    night()
    memory.ingest(said("Marguerite Oakes", now + DAY, "c"), scope=SCOPE, now=now + 250 * DAY)
    night(250)
    assert night(250).change_count == 0


@pytest.mark.parametrize("how", ["used", "mentioned", "pinned"])
def test_what_is_used_mentioned_or_pinned_stays_although_it_is_weak(
    how: str, memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    """With a threshold that even a use of three weeks ago reads below."""
    memory.ingest(said("Marguerite Oakes", now, "a", "b"), scope=SCOPE, now=now)
    night()
    chosen = entity(memory, "Marguerite Oakes")
    recent = now + 180 * DAY
    if how == "used":
        memory.recall("Marguerite Oakes", scope=SCOPE, now=recent, kinds=["entity"])
    elif how == "mentioned":
        memory.ingest(said("Marguerite Oakes", recent, "c"), scope=SCOPE, now=recent)
    else:
        group = Group(phase="user", kind="edit", id=chosen.id)
        change = edit_record(group, chosen, replace(chosen, pinned=True), "a person pins it")
        assert change is not None
        memory.store.commit(
            Scope(SCOPE), Commit(kind="user", clock=now, changes=(change,)), lease=None
        )
    strict = RetentionPolicy(archive_threshold=0.9)
    report = night(200, retention=strict)
    assert archivals(report) == 0
    assert entity(memory, "Marguerite Oakes").state == "active"
    later = night(231, retention=strict)
    assert archivals(later) == (how != "pinned")


def test_an_archived_name_that_is_mentioned_again_comes_back(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(said("Marguerite Oakes", now, "a", "b"), scope=SCOPE, now=now)
    night()
    assert archivals(night(200)) == 1
    before = entity(memory, "Marguerite Oakes")
    later = now + 201 * DAY
    memory.ingest(said("Marguerite Oakes", later, "c"), scope=SCOPE, now=later)
    night(202)
    after = entity(memory, "Marguerite Oakes")
    assert (before.state, after.state, before.id) == ("archived", "active", after.id)
    assert after.strength > before.strength
    assert memory.recall(
        "Marguerite Oakes", scope=SCOPE, now=later, kinds=["entity"], record_uses=False
    ).items
    assert night(203).change_count == 0
    assert memory.store.check() == []


def test_an_archived_draft_that_is_seen_again_comes_back(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    def told(session: str, at: datetime) -> None:
        row = {"id": session, "session": session, "position": 0, "role": "user", "text": RULE,
               "at": at.isoformat()}  # fmt: skip
        memory.ingest([row], scope=SCOPE, now=at)

    told("a", now)
    told("b", now)
    policy = LearningPolicy(promotion_min_pattern_count=2, promotion_recency_days=365)
    night(policy=policy)
    (draft,) = memory.procedures(scope=SCOPE)
    assert archivals(night(200, policy=policy)) == 1
    assert memory.procedures(scope=SCOPE) == []
    told("c", now + 201 * DAY)
    night(202, policy=policy)
    (again,) = memory.procedures(scope=SCOPE)
    assert (again.id, again.state, again.status) == (draft.id, "active", "draft")


def test_what_was_archived_stays_evidence_and_comes_back_by_undo_for_good(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(said("Marguerite Oakes", now, "a", "b"), scope=SCOPE, now=now)
    night()
    links = [row for row in memory.export(scope=SCOPE) if row["table"] == "link"]
    report = night(200)
    assert [row for row in memory.export(scope=SCOPE) if row["table"] == "link"] == links
    assert not memory.recall("Marguerite Oakes", scope=SCOPE, now=now + 200 * DAY, kinds=["entity"],
                             record_uses=False).items  # fmt: skip
    memory.undo(report.passes[0].run_id, now=now + 200 * DAY)
    assert entity(memory, "Marguerite Oakes").state == "active"
    for later in (201, 240, 400):
        assert night(later).change_count == 0
    assert entity(memory, "Marguerite Oakes").state == "active"


def test_what_a_person_brought_back_does_not_fill_the_place_of_what_is_due(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    memory.ingest(said("Marguerite Oakes", now - 30 * DAY, "a", "b"), scope=SCOPE, now=now)
    memory.ingest(said("Tobias Fenn", now, "a", "b"), scope=SCOPE, now=now)
    one = RunLimits(max_hidden_share=1, expire_max_records_per_run=1, max_passes=1)
    night()
    first = night(150, limits=one)
    assert entity(memory, "Marguerite Oakes").state == "archived"
    memory.undo(first.passes[0].run_id, now=now + 150 * DAY)
    assert archivals(night(200, limits=one)) == 1
    assert entity(memory, "Tobias Fenn").state == "archived"
    assert entity(memory, "Marguerite Oakes").state == "active"


def test_a_name_that_a_person_brought_back_stays_also_when_it_fades_again(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    """Undone archives are left alone for good: a person said that this one stays."""
    memory.ingest(said("Marguerite Oakes", now, "a", "b"), scope=SCOPE, now=now)
    night()
    report = night(200)
    memory.undo(report.passes[0].run_id, now=now + 200 * DAY)
    memory.ingest(said("Marguerite Oakes", now + 201 * DAY, "c"), scope=SCOPE, now=now + 201 * DAY)
    night(202)
    assert archivals(night(500)) == 0


def test_a_cap_drains_in_one_sleep(
    memory: Memory, now: datetime, night: Callable[..., SleepReport]
) -> None:
    names = ("Aurel Quast", "Bettine Quast", "Casimir Quast", "Dorothea Quast", "Emmerich Quast")
    for name in names:
        memory.ingest(said(name, now, "a", "b"), scope=SCOPE, now=now)
    night()
    report = night(300, limits=RunLimits(max_hidden_share=1, expire_max_records_per_run=2))
    assert [p.changes for run in report.passes for p in run.phases if p.name == "expire"] == [
        2,
        2,
        1,
    ]
    lefts = [p.left for run in report.passes for p in run.phases if p.name == "expire"]
    assert lefts == [3, 1, 0]
