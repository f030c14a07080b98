"""A run planned again from its recorded input says equal, different or input-gone, and why."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError, StoreUnavailable
from symfonic.capabilities.memory.phases import strengthen
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedEntityExtractor,
    ScriptedProcedure,
    ScriptedProposer,
    ScriptedStep,
    ScriptedSummarizer,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    Log = Callable[[int], list[dict[str, Any]]]

SCOPE = "pottery/agent"
DAY = timedelta(days=1)


def outcomes(memory: Memory) -> dict[int, str]:
    """How each maintenance run of the scope replays, by its number."""
    return {
        row.number: memory.replay(f"{SCOPE}#{row.number}").outcome
        for row in memory.runs(scope=SCOPE, limit=100)
        if row.kind in {"deep", "light"} and row.status in {"committed", "undone"}
    }


def nights(memory: Memory, log: Log, now: datetime, learning: LearningPolicy) -> None:
    """Three nights of talk with uses between them, and a light sleep by day."""
    turns = log(120)
    for night, some in enumerate((turns[:60], turns[60:90], turns[90:])):
        memory.ingest(some, scope=SCOPE, now=now + night * DAY)
        memory.recall("Marguerite Oakes glaze", scope=SCOPE, now=now + night * DAY)
        memory.sleep(scope=SCOPE, kind="light", policy=learning, now=now + night * DAY)
        memory.sleep(scope=SCOPE, policy=learning, now=now + night * DAY + DAY / 4)


def test_every_run_replays_equal_however_much_came_after_it(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy
) -> None:
    nights(memory, log, now, learning)
    found = outcomes(memory)
    assert len(found) == 6
    assert set(found.values()) == {"equal"}
    assert (
        memory.replay(f"{SCOPE}#{min(found)}").replayed
        == memory.run(f"{SCOPE}#{min(found)}").digest
    )


def test_undone_and_redone_runs_replay_equal(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy
) -> None:
    nights(memory, log, now, learning)
    first = f"{SCOPE}#{min(outcomes(memory))}"
    undone = memory.undo(first, cascade=True, now=now + 4 * DAY)
    assert set(outcomes(memory).values()) == {"equal"}
    memory.redo(undone.run_id, now=now + 4 * DAY)
    memory.sleep(scope=SCOPE, policy=learning, now=now + 5 * DAY)
    assert set(outcomes(memory).values()) == {"equal"}


def test_a_replay_asks_no_model(
    memory: Memory, log: Log, now: datetime
) -> None:  # fmt: skip
    policy = LearningPolicy(
        enable_entity_linker=True, entity_linker_extractor_kind="llm",
        phase_12_use_llm_extractor=True, episodic_summarization_max_entries=20,
        episodic_summarization_batch_size=12,
    )  # fmt: skip
    given = {
        "llm_extractor": ScriptedEntityExtractor(script={"Tobias Fenn": ("person", 0.9)}),
        "proposer": ScriptedProposer(
            script=(
                ScriptedProcedure(
                    title="Look for it",
                    trigger="an order is asked for",
                    steps=(ScriptedStep(action="find_order", cites="look for"),),
                ),
            )
        ),
        "summarizer": ScriptedSummarizer(),
    }
    memory.ingest(log(60), scope=SCOPE, now=now)
    report = memory.sleep(scope=SCOPE, policy=policy, given=given, now=now)
    made = {p.name: p.changes for p in report.passes[0].phases}
    assert made["link_entities"]
    assert made["promote_procedures"]
    assert made["summarise"]
    assert set(outcomes(memory).values()) == {"equal"}


def test_changed_code_is_told_with_the_first_change_that_differs(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    nights(memory, log, now, learning)
    monkeypatch.setattr(strengthen, "record_strength", lambda *_: 7)
    found = memory.replay(f"{SCOPE}#{min(outcomes(memory))}")
    assert found.outcome == "different"
    assert "the code of a phase differs" in found.reason
    assert "strengthen/strength/" in found.first_difference


def test_another_collaborator_is_named(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor

    memory.ingest(log(60), scope=SCOPE, now=now)
    run = memory.sleep(scope=SCOPE, policy=learning, now=now).passes[0].run_id
    monkeypatch.setattr(PatternEntityExtractor, "version", "99", raising=False)
    found = memory.replay(run)
    assert found.outcome == "different"
    assert found.reason.startswith("link_entities was run with extractor = ")


def test_forgotten_input_is_gone_and_the_other_runs_are_not(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy
) -> None:
    nights(memory, log, now, learning)
    first = min(outcomes(memory))
    memory.forget(memory.find_forgettable(scope=SCOPE, session="s0"), scope=SCOPE)
    found = memory.replay(f"{SCOPE}#{first}")
    assert found.outcome == "input-gone"
    assert "not there any more" in found.reason
    assert "kiln" not in found.reason


def test_after_another_half_life_a_run_is_equal_or_gone_and_never_different(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy
) -> None:
    nights(memory, log, now, learning)
    memory.set_half_life(90, scope=SCOPE, now=now + 4 * DAY)
    found = set(outcomes(memory).values())
    assert "input-gone" in found
    assert "different" not in found


def test_runs_that_were_not_planned_from_memory_are_refused(memory: Memory, now: datetime) -> None:
    memory.remember("The kettle is blue.", scope=SCOPE, now=now)
    with pytest.raises(InputError, match="of kind user"):
        memory.replay(f"{SCOPE}#1")


def test_plans_that_were_not_carried_out_are_refused(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    run = memory.plan(scope=SCOPE, policy=learning, now=now).run_id
    with pytest.raises(InputError, match="is planned; only what was carried out"):
        memory.replay(run)
    memory.drop(run)
    with pytest.raises(InputError, match="is abandoned"):
        memory.replay(run)


def test_a_replay_writes_nothing(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy,
    contents: Callable[..., list[dict[str, Any]]],
) -> None:  # fmt: skip
    nights(memory, log, now, learning)
    before = contents(memory, SCOPE, history=True)
    outcomes(memory)
    assert contents(memory, SCOPE, history=True) == before


def test_a_recording_holds_no_text(
    memory: Memory, log: Log, now: datetime, learning: LearningPolicy
) -> None:
    from base64 import b64decode
    from zlib import decompress

    nights(memory, log, now, learning)
    for number in outcomes(memory):
        kept = memory.run(f"{SCOPE}#{number}").plan
        plain = decompress(b64decode(kept["calls"])).decode().lower()
        assert not [w for w in ("oakes", "kiln", "glaze", "s0", "find_order") if f'"{w}' in plain]
        assert "oakes" not in plain


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"failed": 1.5}, "is damaged"),
        ({"phases": None}, "is damaged"),
        ({"calls": "x"}, "is damaged"),
        ({"spread_since": "then"}, "is damaged"),
        ({"format": 2}, "another release"),
    ],
)
def test_a_recording_that_is_not_as_it_was_written_is_gone(
    tmp_path: Path, log: Log, now: datetime, learning: LearningPolicy,
    damage: dict[str, Any], reason: str,
) -> None:  # fmt: skip
    file = tmp_path / "memory.db"
    with Memory.open(file) as memory:
        memory.ingest(log(60), scope=SCOPE, now=now)
        run = memory.sleep(scope=SCOPE, policy=learning, now=now).passes[0].run_id
        kept = memory.run(run).plan
        write(file, "UPDATE run SET input = ? WHERE kind = 'deep'", json.dumps({**kept, **damage}))
        found = memory.replay(run)
        assert (found.outcome, reason in found.reason) == ("input-gone", True)


@pytest.mark.parametrize(
    "damage",
    [
        "input = '{'", "input = '[]'", "report = 'x'", "settings = '3'",
        "clock = -99999999999999999",
    ],
)  # fmt: skip
def test_a_run_whose_row_is_damaged_is_named(
    tmp_path: Path, log: Log, now: datetime, learning: LearningPolicy, damage: str
) -> None:
    file = tmp_path / "memory.db"
    with Memory.open(file) as memory:
        memory.ingest(log(60), scope=SCOPE, now=now)
        run = memory.sleep(scope=SCOPE, policy=learning, now=now).passes[0].run_id
        write(file, f"UPDATE run SET {damage} WHERE kind = 'deep'")
        with pytest.raises(StoreUnavailable, match=f"The run {run} is damaged"):
            memory.replay(run)


def write(file: Path, statement: str, *values: str) -> None:
    """What a damaged disk or another program does to a store."""
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(statement, values)
    connection.close()
