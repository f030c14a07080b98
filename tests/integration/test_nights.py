"""Backlogs, splits into nights, clocks, uses and changed settings: nothing depends on luck."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Entity
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.strength import record_strength, strength_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from symfonic.capabilities.memory.outcome import PhaseReport, SleepReport
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
DAY = timedelta(days=1)
LINKING = LearningPolicy(enable_entity_linker=True)


def phases(report: SleepReport, name: str) -> list[PhaseReport]:
    return [p for run in report.passes for p in run.phases if p.name == name]


def records(memory: Memory, *kinds: Any) -> list[Record]:
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        found = reader.list_records(kinds=kinds, limit=100_000)
        return sorted(found, key=lambda r: r.id)


def entities(memory: Memory) -> dict[str, Record]:
    return {r.content.name: r for r in records(memory, "entity") if isinstance(r.content, Entity)}


def turn(i: str, text: str, at: datetime | None, **more: Any) -> dict[str, Any]:
    found = {"id": i, "session": i, "position": 0, "text": text, **more}
    return found if at is None else {**found, "at": at.isoformat()}


# -- backlogs


def test_a_backlog_of_a_thousand_old_turns_drains_in_one_sleep(
    memory: Memory, now: datetime
) -> None:
    start = now - 400 * DAY
    old = [
        turn(f"o{n}", f"On day {n} I saw Cornelius Vane{n % 50} again.", start + n * DAY / 4)
        for n in range(1000)
    ]
    memory.ingest(old, scope=SCOPE, now=now)
    report = memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert [p.looked_at for p in phases(report, "link_entities")] == [200] * 5
    assert [p.left for p in phases(report, "link_entities")] == [800, 600, 400, 200, 0]
    assert memory.stats(scope=SCOPE)["pending"] == {}
    assert len([name for name in entities(memory) if "Vane" in name]) == 50
    links = [r for r in memory.export(scope=SCOPE) if r.get("kind") == "mentions"]
    assert len(links) >= 1000


@pytest.mark.parametrize("older", [0, 100, 1000])
def test_the_newest_turns_are_seen_in_the_first_pass_however_many_older_there_are(
    older: int, memory: Memory, now: datetime
) -> None:
    old = [turn(f"o{n}", f"It was day {n}.", now - 300 * DAY + n * DAY / 8) for n in range(older)]
    new = [
        turn(f"n{n}", "I met Wilhelmina Quast at the gate.", now - timedelta(hours=3, minutes=n))
        for n in range(2)
    ]
    memory.ingest([*new, *old], scope=SCOPE, now=now)
    limits = RunLimits(max_passes=1, promotion_max_episodics_per_run=10)
    policy = replace(LINKING, entity_linker_max_episodics_per_run=10)
    report = memory.sleep(scope=SCOPE, policy=policy, limits=limits, now=now)
    assert len(report.passes) == 1
    assert "Wilhelmina Quast" in entities(memory)


def test_what_the_passes_leave_is_read_by_the_next_sleep(memory: Memory, now: datetime) -> None:
    memory.ingest([turn(f"t{n}", f"Item {n}.", now - DAY) for n in range(30)], scope=SCOPE, now=now)
    policy = replace(LINKING, entity_linker_max_episodics_per_run=10)
    limits = RunLimits(max_passes=2)
    left = [
        phases(memory.sleep(scope=SCOPE, policy=policy, limits=limits, now=now), "link_entities")
        for _ in range(2)
    ]
    assert [[p.left for p in each] for each in left] == [[20, 10], [0]]


def test_drafts_over_the_cap_of_a_sleep_wait_for_the_next_one(
    memory: Memory, now: datetime
) -> None:
    verbs = ["weigh", "count", "label", "wash", "dry", "pack"]
    rows = [
        turn(f"{verb}{n}", f"Before you close the {verb} room, {verb} the tiles and lock the door.",
             now - DAY + timedelta(minutes=n))
        for verb in verbs for n in range(3)
    ]  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    policy = LearningPolicy(promotion_max_drafts_per_run=4)
    first = memory.sleep(scope=SCOPE, policy=policy, now=now)
    assert len(first.passes) == 1
    assert len(memory.procedures(scope=SCOPE)) == 4
    assert memory.stats(scope=SCOPE)["pending"]["promote_procedures"] == 6
    memory.sleep(scope=SCOPE, policy=policy, now=now + timedelta(hours=1))
    assert len(memory.procedures(scope=SCOPE)) == 6
    assert "promote_procedures" not in memory.stats(scope=SCOPE)["pending"]


# -- nights and order


def stable(memory: Memory) -> list[str]:
    """Entities, mention links and strengths: what no split into nights may change."""
    found = []
    for row in memory.export(scope=SCOPE):
        if row["table"] == "link" and row["kind"] == "mentions":
            kept: set[str] = {"source", "target", "count", "at"}
        elif row["table"] == "record" and row["kind"] == "entity":
            kept = {"id", "key", "text", "body", "strength", "trust", "occurred_at", "state"}
        elif row["table"] == "record" and row["kind"] == "episode":
            kept = {"id", "strength"}
        else:
            continue
        found.append(repr({name: row[name] for name in sorted(kept)}))
    return sorted(found)


def nightly(memory: Memory, portions: list[list[dict[str, Any]]], now: datetime) -> list[str]:
    policy = replace(LINKING, phase1_spreading_weight=0)
    for portion in portions:
        memory.ingest(portion, scope=SCOPE, now=now)
        memory.sleep(scope=SCOPE, policy=policy, now=now)
    return stable(memory)


@pytest.mark.parametrize("cap", [200, 7])
def test_entities_links_and_strength_do_not_depend_on_the_split_into_nights(
    cap: int, opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]],
    now: datetime,
) -> None:  # fmt: skip
    rows = log(72)
    expected = nightly(opened(), [rows], now)
    assert sum("'key'" in row for row in expected) >= 4
    for nights in (2, 5, 12):
        size = len(rows) // nights + 1
        portions = [rows[n : n + size] for n in range(0, len(rows), size)]
        memory = opened()
        policy = replace(
            LINKING, phase1_spreading_weight=0, entity_linker_max_episodics_per_run=cap
        )
        for portion in portions:
            memory.ingest(portion, scope=SCOPE, now=now)
            memory.sleep(scope=SCOPE, policy=policy, now=now)
        assert stable(memory) == expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_entities_links_and_strength_do_not_depend_on_the_order_of_import(
    seed: int, opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]],
    now: datetime,
) -> None:  # fmt: skip
    rows = log(72)
    expected = nightly(opened(), [rows], now)
    random.Random(seed).shuffle(rows)
    portions = [rows[n : n + 18] for n in range(0, 72, 18)]
    assert nightly(opened(), portions, now) == expected


# -- uses and strength


def test_a_use_counts_once_and_spreads_once(
    memory: Memory, now: datetime, contents: Callable[..., list[dict[str, Any]]]
) -> None:
    rows = [
        turn(f"t{n}", "I met Wilhelmina Quast by the pyrometer.", now - 9 * DAY) for n in range(2)
    ]
    memory.ingest(rows, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now - DAY)
    memory.recall("pyrometer", scope=SCOPE, limit=1, now=now - timedelta(hours=2))
    before = {r.id: r.strength for r in records(memory, "episode", "entity")}
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    once = {r.id: r.strength for r in records(memory, "episode", "entity")}
    uses = [row for row in contents(memory, SCOPE) if row["table"] == "use"]
    assert sum(row["weight"] for row in uses if row["kind"] == "recalled") == 1.0
    assert all(row["spread_weight"] == 1.0 for row in uses if row["kind"] == "recalled")
    assert any(row["kind"] == "spread" for row in uses)
    assert all(once[i] >= before[i] for i in before)
    assert once != before
    for night in range(1, 4):
        memory.sleep(scope=SCOPE, policy=LINKING, now=now + night * DAY)
    assert {r.id: r.strength for r in records(memory, "episode", "entity")} == once
    assert [row for row in contents(memory, SCOPE) if row["table"] == "use"] == uses


def test_a_second_use_in_the_same_hour_spreads_only_what_is_new(
    memory: Memory, now: datetime, contents: Callable[..., list[dict[str, Any]]]
) -> None:
    rows = [
        turn(f"t{n}", "I met Wilhelmina Quast by the pyrometer.", now - 9 * DAY) for n in range(2)
    ]
    memory.ingest(rows, scope=SCOPE, now=now)
    shares = []
    for count in (1, 2, 2):
        memory.recall("pyrometer", scope=SCOPE, limit=1, now=now)
        memory.sleep(scope=SCOPE, policy=LINKING, now=now)
        found = [row for row in contents(memory, SCOPE) if row.get("kind") == "spread"]
        shares.append({row["record"]: row["weight"] for row in found})
        del count
    first, second, third = shares
    assert first
    for i, share in first.items():
        assert second[i] == pytest.approx(2 * share)
        assert third[i] == pytest.approx(3 * share)


def test_a_worker_that_was_down_spreads_uses_older_than_the_look_back(
    opened: Callable[..., Memory], now: datetime
) -> None:
    rows = [
        turn(f"t{n}", "I met Wilhelmina Quast by the pyrometer.", now - 9 * DAY) for n in range(2)
    ]

    def spread(*, slept_before: bool) -> bool:
        memory = opened()
        memory.ingest(rows, scope=SCOPE, now=now - 8 * DAY)
        memory.sleep(scope=SCOPE, policy=LINKING, now=now - 6 * DAY)
        if slept_before:
            memory.sleep(scope=SCOPE, policy=LINKING, now=now - DAY)
        memory.recall("pyrometer", scope=SCOPE, limit=1, now=now - 5 * DAY)
        memory.flush_uses()
        memory.sleep(scope=SCOPE, policy=LINKING, now=now)
        return any(row.get("kind") == "spread" for row in memory.export(scope=SCOPE))

    assert spread(slept_before=False)
    assert not spread(slept_before=True)


def test_strength_falls_with_time_and_not_with_runs(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    seldom, nightly_run = opened(), opened()
    for memory in (seldom, nightly_run):
        memory.ingest(log(36), scope=SCOPE, now=now)
        memory.recall("glaze recipe", scope=SCOPE, now=now)
        memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    for night in range(1, 60):
        nightly_run.sleep(scope=SCOPE, policy=LINKING, now=now + night * DAY)
    seldom.sleep(scope=SCOPE, policy=LINKING, now=now + 59 * DAY)
    kinds = ("episode", "entity", "procedure")
    one, two = records(seldom, *kinds), records(nightly_run, *kinds)
    assert [(r.id, r.strength) for r in one] == [(r.id, r.strength) for r in two]
    for record in one:
        values = [strength_at(record.strength, now + n * DAY, 720.0) for n in (0, 10, 59, 200)]
        assert values == sorted(values, reverse=True)
        assert min(values) > 0


def test_strengths_are_those_that_the_rows_give(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    for part in (log(36), log(72)):
        memory.ingest(part, scope=SCOPE, now=now)
        memory.recall("Marguerite Oakes kiln", scope=SCOPE, now=now)
        memory.sleep(scope=SCOPE, policy=learning, now=now)
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        for record in records(memory, "episode", "entity"):
            uses = reader.uses([record.id], until=now, per_record=256)
            assert record.strength == record_strength(record, uses, 720.0), record.text


def test_an_import_of_old_talk_is_dated_by_its_own_time(memory: Memory, now: datetime) -> None:
    rows = [
        turn("a", "The shutter code is 12.", now - 3 * 365 * DAY),
        turn("b", "The shutter code is 14.", now - 400 * DAY),
        turn("c", "The shutter code is 19.", now - 20 * DAY),
        turn("d", "The shutter is stuck.", None),
    ]
    memory.ingest(rows, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    by_age = [r.strength for r in sorted(records(memory, "episode"), key=lambda r: r.at)]
    assert by_age == sorted(set(by_age))
    assert [row for row in memory.export(scope=SCOPE) if row["table"] == "use"] == []


def test_turns_stated_in_the_future_count_as_said_when_they_were_stored(
    memory: Memory, now: datetime
) -> None:
    rows = [
        turn("f1", "The gauge reads one.", now + 10 * DAY),
        turn("f2", "The gauge reads two.", now + 30 * DAY),
        turn("n", "The gauge reads three.", now),
    ]
    memory.ingest(rows, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    found = records(memory, "episode")
    assert len({r.strength for r in found}) == 1
    assert {r.at for r in found} == {now}
    assert memory.stats(scope=SCOPE)["pending"] == {}


# -- clocks


def test_turns_after_the_run_s_clock_are_left_for_a_later_run(
    memory: Memory, now: datetime
) -> None:
    rows = [
        turn("a", "I met Wilhelmina Quast here.", now - 2 * DAY),
        turn("b", "I met Wilhelmina Quast there.", now - DAY),
    ]
    memory.ingest(rows, scope=SCOPE, now=now)
    early = memory.sleep(scope=SCOPE, policy=LINKING, now=now - 1.5 * DAY)
    assert phases(early, "link_entities")[0].looked_at == 1
    assert phases(early, "link_entities")[0].left == 0
    assert entities(memory) == {}
    late = memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert phases(late, "link_entities")[0].looked_at == 1
    assert "Wilhelmina Quast" in entities(memory)


def test_a_use_after_the_run_s_clock_counts_once_the_clock_has_passed_it(
    memory: Memory, now: datetime
) -> None:
    memory.ingest([turn("a", "The pyrometer reads low.", now - 9 * DAY)], scope=SCOPE, now=now)
    memory.recall("pyrometer", scope=SCOPE, now=now + 3 * DAY)
    before = [r.strength for r in records(memory, "episode")]
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert [r.strength for r in records(memory, "episode")] == before
    memory.sleep(scope=SCOPE, policy=LINKING, now=now + 4 * DAY)
    assert [r.strength for r in records(memory, "episode")] > before


# -- changed settings


def test_changed_settings_read_everything_again_and_drain(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    memory.ingest([turn("x", "I met Wilhelmina Quast once.", now - DAY)], scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    known = set(entities(memory))
    assert "Wilhelmina Quast" not in known
    policy = replace(
        LINKING, entity_linker_min_mention_count=1, entity_linker_max_episodics_per_run=25
    )
    report = memory.sleep(scope=SCOPE, policy=policy, now=now)
    found = phases(report, "link_entities")
    assert (found[0].looked_at, found[0].reread) == (0, 61)
    assert [p.looked_at for p in found[1:]] == [25, 25, 11]
    assert sum(p.reread for p in found) == 61
    assert set(entities(memory)) == known | {"Wilhelmina Quast"}
    assert memory.sleep(scope=SCOPE, policy=policy, now=now).change_count == 0


def test_a_stricter_setting_removes_nothing_that_an_earlier_one_made(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    known = set(entities(memory))
    strict = replace(LINKING, entity_linker_confidence_threshold=1, phase1_spreading_weight=0)
    memory.sleep(scope=SCOPE, policy=strict, now=now)
    assert set(entities(memory)) == known


def test_a_setting_that_changes_no_reading_reads_nothing_again(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    other = replace(
        LINKING, lookback_hours=48, phase1_spreading_weight=0.1, promotion_max_drafts_per_run=1,
        entity_linker_max_episodics_per_run=50,
    )  # fmt: skip
    report = memory.sleep(scope=SCOPE, policy=other, now=now)
    assert all(p.reread == 0 and p.looked_at == 0 for p in phases(report, "link_entities"))
    assert all(p.reread == 0 for p in phases(report, "promote_procedures"))


def test_a_phase_switched_on_later_finds_all_that_was_said(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime
) -> None:
    late, always = opened(), opened()
    for memory in (late, always):
        memory.ingest(log(60), scope=SCOPE, now=now)
    for night in range(3):
        report = late.sleep(scope=SCOPE, now=now + night * DAY)
        assert phases(report, "link_entities")[0].left == 60
    late.sleep(scope=SCOPE, policy=LINKING, now=now + 3 * DAY)
    always.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert stable(late) == stable(always)


def test_a_sleep_without_a_stated_time_uses_the_memory_s_clock(
    memory: Memory, now: datetime
) -> None:
    memory.ingest([turn("a", "Hello.", now)], scope=SCOPE)
    assert memory.sleep(scope=SCOPE).passes[0].clock == now.astimezone(UTC).isoformat()
