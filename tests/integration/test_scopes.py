"""A run owns one scope: it changes no other row and learns nothing from a sibling."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Entity
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.outcome import SleepReport
    from symfonic.capabilities.memory.service import Memory

ABOVE, OWN, BESIDE, BELOW = "pottery", "pottery/ana", "pottery/ben", "pottery/ana/night"
SALTS = {ABOVE: b"above", OWN: b"own", BESIDE: b"beside", BELOW: b"below"}
LINKING = LearningPolicy(enable_entity_linker=True)


def founded(memory: Memory, paths: Iterable[str] = SALTS) -> Memory:
    for path in paths:
        memory.store.ensure_scope(Scope(path), half_life_hours=720.0, salt=SALTS[path])
    return memory


def digests(report: SleepReport) -> list[tuple[str, str]]:
    return [(run.digest, run.input_digest) for run in report.passes]


def said(text: str, now: datetime, count: int = 2, mark: str = "x") -> list[dict[str, Any]]:
    return [
        {"id": f"{mark}{n}", "session": f"{mark}{n}", "position": 0, "text": text,
         "at": (now - timedelta(days=3, hours=-n)).isoformat()}
        for n in range(count)
    ]  # fmt: skip


def names(memory: Memory, scope: str) -> dict[str, str]:
    """Entities of this very scope by name."""
    with memory.store.snapshot(Scope(scope)) as reader:
        found = reader.list_records(kinds=("entity",), limit=10_000)
    return {r.content.name: r.id for r in found if isinstance(r.content, Entity)}


def test_a_child_s_run_changes_no_row_of_its_parent_sibling_or_child(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    founded(memory)
    for path in SALTS:
        memory.ingest(log(60), scope=path, now=now)
    memory.sleep(scope=ABOVE, policy=learning, now=now)
    memory.recall("glaze recipe", scope=OWN, now=now)
    memory.flush_uses()
    others = [ABOVE, BESIDE, BELOW]
    before = {path: list(memory.export(scope=path)) for path in others}
    assert memory.sleep(scope=OWN, policy=learning, now=now).change_count > 0
    assert {path: list(memory.export(scope=path)) for path in others} == before


def test_a_run_gives_the_same_digests_with_and_without_a_sibling_s_data(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    alone, beside = founded(opened(), (ABOVE, OWN)), founded(opened())
    for each in (alone, beside):
        each.ingest(log(30), scope=ABOVE, now=now)
        each.ingest(log(60), scope=OWN, now=now)
    for path in (BESIDE, BELOW):
        beside.ingest(log(120), scope=path, now=now)
        beside.sleep(scope=path, policy=learning, now=now)
    reports = [each.sleep(scope=OWN, policy=learning, now=now) for each in (alone, beside)]
    assert digests(reports[0]) == digests(reports[1])


def test_what_a_sibling_or_an_ancestor_said_is_not_counted(memory: Memory, now: datetime) -> None:
    founded(memory)
    sentence = "We met Wilhelmina Quast by the old kiln."
    rule = "Before you open the kiln, check the pyrometer and warn the crew."
    for path, count in ((ABOVE, 1), (OWN, 1), (BESIDE, 5), (BELOW, 5)):
        memory.ingest(said(sentence, now, count, "e"), scope=path, now=now)
        memory.ingest(said(rule, now, 2 if path == OWN else count, "r"), scope=path, now=now)
    report = memory.sleep(scope=OWN, policy=LINKING, now=now)
    assert "Wilhelmina Quast" not in names(memory, OWN)
    assert memory.procedures(scope=OWN, status=None) == []
    promoted = next(p for p in report.passes[0].phases if p.name == "promote_procedures")
    assert "2 distinct sessions, threshold 3" in promoted.notes[0]


def test_an_ancestor_s_entity_is_linked_to_and_not_copied(memory: Memory, now: datetime) -> None:
    founded(memory)
    sentence = "We met Wilhelmina Quast by the old kiln."
    memory.ingest(said(sentence, now), scope=ABOVE, now=now)
    memory.sleep(scope=ABOVE, policy=LINKING, now=now)
    above = names(memory, ABOVE)["Wilhelmina Quast"]
    memory.ingest(said(sentence, now, 1, "mine"), scope=OWN, now=now)
    memory.sleep(scope=OWN, policy=LINKING, now=now)
    assert "Wilhelmina Quast" not in names(memory, OWN)
    links = [row for row in memory.export(scope=OWN) if row["table"] == "link"]
    assert [(row["kind"], row["target"]) for row in links] == [("mentions", above)]
    assert memory.sleep(scope=OWN, policy=LINKING, now=now).change_count == 0


def test_the_order_in_which_scopes_run_does_not_matter_where_none_reads_the_other(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    found = set()
    for order in permutations((OWN, BESIDE)):
        memory = founded(opened())
        for path in (OWN, BESIDE):
            memory.ingest(log(60), scope=path, now=now)
        reports = {path: memory.sleep(scope=path, policy=learning, now=now) for path in order}
        found.add(tuple(tuple(digests(reports[path])) for path in (OWN, BESIDE)))
    assert len(found) == 1


def test_equal_logs_of_two_scopes_have_no_id_in_common(
    memory: Memory, log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy,
) -> None:  # fmt: skip
    founded(memory)
    ids = {}
    for path in (OWN, BESIDE):
        memory.ingest(log(30), scope=path, now=now)
        memory.sleep(scope=path, policy=learning, now=now)
        ids[path] = {r["id"] for r in memory.export(scope=path) if r["table"] == "record"}
    assert ids[OWN].isdisjoint(ids[BESIDE])


def test_a_use_of_an_ancestor_s_record_is_kept_above_without_who_asked_what(
    memory: Memory, now: datetime
) -> None:
    founded(memory)
    memory.ingest(said("The pyrometer reads low.", now, 1), scope=ABOVE, now=now)
    memory.ingest(said("Nothing else.", now, 1, "mine"), scope=OWN, now=now)
    memory.recall("pyrometer", scope=OWN, now=now)
    before = list(memory.export(scope=ABOVE))
    report = memory.sleep(scope=OWN, now=now)
    assert list(memory.export(scope=ABOVE)) == before
    assert report.change_count == 0
    assert [row for row in memory.export(scope=OWN) if row["table"] == "use"] == []
    uses = [row for row in memory.export(scope=ABOVE) if row["table"] == "use"]
    assert [set(row) for row in uses] == [
        {"table", "scope", "record", "hour", "kind", "weight", "spread_weight"}
    ]
    assert memory.sleep(scope=ABOVE, now=now).change_count == 1


def test_two_scopes_can_run_at_once(
    opened: Callable[..., Memory], log: Callable[[int], list[dict[str, Any]]], now: datetime,
    learning: LearningPolicy, tmp_path: Path,
) -> None:  # fmt: skip
    memory = founded(opened(tmp_path / "m.db"))
    for path in (OWN, BESIDE):
        memory.ingest(log(60), scope=path, now=now)

    def run_beside(number: int, phase: str) -> None:
        if (number, phase) == (1, "summarise"):
            memory.sleep(scope=BESIDE, policy=learning, now=now)

    engine = memory.engine(policy=learning, watch=run_beside)
    engine.run(Scope(OWN), now=now)
    assert names(memory, OWN).keys() == names(memory, BESIDE).keys()
    assert memory.store.check() == []
