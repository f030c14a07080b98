"""A collaborator that is missing, slow or broken costs its own phase and nothing else."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import CollaboratorError, RunAlreadyActive
from symfonic.capabilities.memory.maintenance import system_clock
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedEntityExtractor,
    ScriptedProcedure,
    ScriptedProposer,
    ScriptedStep,
    ScriptedSummarizer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.collaborators import Mention
    from symfonic.capabilities.memory.outcome import PhaseReport, SleepReport
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
Rows = list[dict[str, Any]]
NO = CollaboratorError("the model is not there", collaborator="scripted")
WITH_MODELS = LearningPolicy(
    enable_entity_linker=True, entity_linker_extractor_kind="llm",
    phase_12_use_llm_extractor=True, episodic_summarization_max_entries=5,
    episodic_summarization_batch_size=10,
)  # fmt: skip
SCRIPT = (
    ScriptedProcedure(
        title="Ship", trigger="tiles ship",
        steps=(ScriptedStep(action="run the glaze check", cites="glaze check"),),
    ),
)  # fmt: skip


def named(report: SleepReport) -> dict[str, PhaseReport]:
    return {phase.name: phase for phase in report.passes[0].phases}


def given(**broken: CollaboratorError) -> dict[str, Any]:
    """Scripted collaborators; those named raise."""
    names = {"Marguerite Oakes": ("person", 0.9), "Tobias Fenn": ("person", 0.9)}
    return {
        "llm_extractor": ScriptedEntityExtractor(script=names, error=broken.get("extractor")),
        "proposer": ScriptedProposer(script=SCRIPT, error=broken.get("proposer")),
        "summarizer": ScriptedSummarizer(error=broken.get("summarizer")),
    }


def pending(memory: Memory) -> dict[str, int]:
    found: dict[str, int] = memory.stats(scope=SCOPE)["pending"]
    return found


# -- declining


def test_a_linker_nobody_switched_on_declines_with_its_knob_and_keeps_its_input(
    memory: Memory, log: Callable[[int], Rows], now: datetime
) -> None:
    memory.ingest(log(30), scope=SCOPE, now=now)
    report = memory.sleep(scope=SCOPE, now=now)
    linker = named(report)["link_entities"]
    assert (linker.outcome, linker.knob, linker.left, linker.changes) == (
        "declined", "enable_entity_linker", 30, 0,
    )  # fmt: skip
    assert linker.reason
    assert pending(memory) == {"link_entities": 30}
    assert len(report.passes) == 1


@pytest.mark.parametrize("kind", ["spacy", "llm"])
def test_an_extractor_that_was_asked_for_and_not_given_declines_and_nothing_stands_in(
    kind: str,
    memory: Memory,
    log: Callable[[int], Rows],
    now: datetime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    memory.ingest(log(30), scope=SCOPE, now=now)
    policy = LearningPolicy(enable_entity_linker=True, entity_linker_extractor_kind=kind)
    linker = named(memory.sleep(scope=SCOPE, policy=policy, now=now))["link_entities"]
    assert linker.outcome == "declined"
    assert kind in linker.reason
    assert pending(memory)["link_entities"] == 30
    assert memory.stats(scope=SCOPE)["records"].keys() == {"episode", "procedure"}


def test_a_proposer_that_was_asked_for_and_not_given_declines_and_the_rule_does_not_stand_in(
    memory: Memory, log: Callable[[int], Rows], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    policy = LearningPolicy(phase_12_use_llm_extractor=True)
    promoter = named(memory.sleep(scope=SCOPE, policy=policy, now=now))["promote_procedures"]
    assert (promoter.outcome, promoter.knob) == ("declined", "phase_12_use_llm_extractor")
    assert pending(memory)["promote_procedures"] == 60
    assert memory.procedures(scope=SCOPE) == []


def test_a_phase_that_looked_and_found_nothing_ran_and_says_what_it_looked_at(
    memory: Memory, log: Callable[[int], Rows], now: datetime
) -> None:
    memory.ingest(log(30), scope=SCOPE, now=now)
    summarise = named(memory.sleep(scope=SCOPE, now=now))["summarise"]
    assert (summarise.outcome, summarise.changes, summarise.looked_at) == ("ran", 0, 30)
    assert (summarise.counts["uncondensed"], summarise.counts["threshold"]) == (30, 100)


# -- failing


@pytest.mark.parametrize(
    ("broken", "phase", "left"),
    [
        ("extractor", "link_entities", 60),
        ("proposer", "promote_procedures", 60),
        ("summarizer", "summarise", 0),
    ],
)
def test_a_collaborator_that_raises_fails_its_phase_and_leaves_the_others_work(
    broken: str, phase: str, left: int, memory: Memory, log: Callable[[int], Rows], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    report = memory.sleep(scope=SCOPE, policy=WITH_MODELS, given=given(**{broken: NO}), now=now)
    failed = named(report)[phase]
    assert (failed.outcome, failed.left) == ("failed", left)
    assert failed.reason == "CollaboratorError: the model is not there"
    assert "CollaboratorError" in failed.notes[0]
    assert {p.name for p in report.failed} == {phase}
    others = {p.name: p.changes for p in report.passes[0].phases if p.name != phase}
    expected = {"link_entities", "summarise", "promote_procedures"} - {phase}
    assert all(others[name] > 0 for name in expected)
    assert pending(memory).get(phase, 0) == left
    assert report.passes[0].status == "committed"


@pytest.mark.parametrize("broken", ["extractor", "proposer", "summarizer"])
def test_what_failed_one_night_is_done_the_next(
    broken: str, opened: Callable[..., Memory], log: Callable[[int], Rows], now: datetime
) -> None:
    delayed, smooth = opened(), opened()
    for each in (delayed, smooth):
        each.ingest(log(60), scope=SCOPE, now=now)
    delayed.sleep(scope=SCOPE, policy=WITH_MODELS, given=given(**{broken: NO}), now=now)
    for each in (delayed, smooth):
        report = each.sleep(scope=SCOPE, policy=WITH_MODELS, given=given(), now=now)
        assert report.failed == ()

    def kept(memory: Memory) -> list[tuple[str, str]]:
        rows = memory.export(scope=SCOPE)
        return sorted((r["id"], r["state"]) for r in rows if r["table"] == "record")

    assert kept(delayed) == kept(smooth)
    assert pending(delayed) == pending(smooth) == {}


def test_a_failed_phase_does_not_call_for_another_pass(
    memory: Memory, log: Callable[[int], Rows], now: datetime
) -> None:
    memory.ingest(log(60), scope=SCOPE, now=now)
    collaborators = given(extractor=NO, proposer=NO, summarizer=NO)
    report = memory.sleep(scope=SCOPE, policy=WITH_MODELS, given=collaborators, now=now)
    assert len(report.passes) == 1
    assert len(report.failed) == 3
    assert report.change_count == 0


def test_an_extractor_that_fails_on_one_turn_loses_no_other(memory: Memory, now: datetime) -> None:
    @dataclass
    class Picky(ScriptedEntityExtractor):
        def extract(self, episode: Record) -> list[Mention]:
            if "poison" in episode.text:
                message = "cannot read this"
                raise ValueError(message)
            return super().extract(episode)

    texts = ["I met Marguerite Oakes.", "poison", "Marguerite Oakes again."]
    rows = [
        {"id": f"t{n}", "session": "s", "position": n, "text": text,
         "at": (now - timedelta(days=2, minutes=-n)).isoformat()}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    names = {"Marguerite Oakes": ("person", 0.9)}
    report = memory.sleep(
        scope=SCOPE, policy=WITH_MODELS, given={**given(), "llm_extractor": Picky(script=names)},
        now=now,
    )  # fmt: skip
    assert named(report)["link_entities"].reason == "ValueError: cannot read this"
    assert pending(memory)["link_entities"] == 3
    memory.sleep(scope=SCOPE, policy=WITH_MODELS, given=given(), now=now)
    assert memory.stats(scope=SCOPE)["records"]["entity"] == {"active": 1}


# -- nothing held while collaborators work


@dataclass
class Writing(ScriptedSummarizer):
    """A summarizer during which an agent goes on talking, through a connection of its own."""

    other: Any = None
    added: list[int] = field(default_factory=list)

    def summarize(self, episodes: Sequence[Record], *, max_characters: int) -> str:
        self.added.append(self.other())
        return super().summarize(episodes, max_characters=max_characters)


def test_an_agent_can_write_while_collaborators_work(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], Rows], now: datetime
) -> None:
    memory, agent = opened(tmp_path / "m.db"), opened(tmp_path / "m.db")
    memory.ingest(log(30), scope=SCOPE, now=now)
    said: list[str] = []

    def speak() -> int:
        said.append(f"meanwhile {len(said)}")
        turn = {"role": "user", "content": said[-1]}
        return agent.add_turn(turn, scope=SCOPE, session="live", now=now).added

    @dataclass
    class Talking(ScriptedEntityExtractor):
        def extract(self, episode: Record) -> list[Mention]:
            speak()
            return super().extract(episode)

    summarizer = Writing(other=speak)
    collaborators = {
        **given(), "summarizer": summarizer, "llm_extractor": Talking(script={}),
    }  # fmt: skip
    engine = memory.engine(policy=WITH_MODELS, given=collaborators)
    plan, _ = engine.preview(Scope(SCOPE), now=now)
    assert plan.phases
    assert summarizer.added
    assert all(added == 1 for added in summarizer.added)
    assert len(said) == 30 + len(summarizer.added)
    found = memory.stats(scope=SCOPE)["records"]["episode"]["active"]
    assert found == 30 + len(said)


def test_what_is_said_while_a_run_plans_is_read_by_its_next_pass(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], Rows], now: datetime
) -> None:
    memory, agent = opened(tmp_path / "m.db"), opened(tmp_path / "m.db")
    memory.ingest(log(30), scope=SCOPE, now=now)

    def speak(number: int, phase: str) -> None:
        if (number, phase) == (1, "summarise"):
            turn = {"role": "user", "content": "meanwhile"}
            agent.add_turn(turn, scope=SCOPE, session="live", now=now)

    engine = memory.engine(policy=LearningPolicy(enable_entity_linker=True), watch=speak)
    report = engine.run(Scope(SCOPE), now=now)
    assert report.failed == ()
    left = pending(memory)
    assert left == {"link_entities": 1, "promote_procedures": 1}
    memory.sleep(scope=SCOPE, policy=LearningPolicy(enable_entity_linker=True), now=now)
    assert pending(memory) == {}


def test_a_second_run_of_a_scope_is_refused_while_the_first_works(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], Rows], now: datetime
) -> None:
    memory, other = opened(tmp_path / "m.db"), opened(tmp_path / "m.db")
    memory.ingest(log(30), scope=SCOPE, now=now)
    refused = []

    def try_again(number: int, phase: str) -> None:
        del number, phase
        with pytest.raises(RunAlreadyActive) as caught:
            other.sleep(scope=SCOPE, now=now)
        refused.append(caught.value.facts["scope"])
        assert other.plan(scope=SCOPE, now=now).status == "planned"

    engine = memory.engine(watch=try_again)
    assert len(engine.run(Scope(SCOPE), now=now).passes) == 1
    assert refused == [SCOPE] * 6
    assert len(other.sleep(scope=SCOPE, now=now).passes) == 1


def test_a_lease_of_a_dead_term_is_taken_over(
    tmp_path: Path, opened: Callable[..., Memory], log: Callable[[int], Rows], now: datetime
) -> None:
    memory, other = opened(tmp_path / "m.db"), opened(tmp_path / "m.db")
    memory.ingest(log(6), scope=SCOPE, now=now)
    past = system_clock() - timedelta(hours=2)
    other.store.acquire(Scope(SCOPE), now=past, term_seconds=60)
    assert len(memory.sleep(scope=SCOPE, now=now).passes) == 1


def test_an_episode_erased_while_a_run_reads_leaves_no_trace(
    tmp_path: Path, opened: Callable[..., Memory], now: datetime
) -> None:
    memory, other = opened(tmp_path / "m.db"), opened(tmp_path / "m.db")
    rows = [
        {"id": f"t{n}", "session": f"s{n}", "position": 0, "text": "I met Wilhelmina Quast.",
         "at": (now - timedelta(days=2)).isoformat()}
        for n in range(2)
    ]  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    erased: list[str] = []

    @dataclass
    class Erasing(ScriptedEntityExtractor):
        def extract(self, episode: Record) -> list[Mention]:
            if not erased:
                erased.extend(other.find_forgettable(scope=SCOPE, session="s0"))
                other.forget(erased, scope=SCOPE)
            return super().extract(episode)

    extractor = Erasing(script={"Wilhelmina Quast": ("person", 0.9)})
    memory.sleep(scope=SCOPE, policy=WITH_MODELS, given={**given(), "llm_extractor": extractor},
                 now=now)  # fmt: skip
    assert len(erased) == 1
    assert memory.stats(scope=SCOPE)["records"].get("entity") is None
    rows = list(memory.export(scope=SCOPE))
    assert not [row for row in rows if row.get("episode") == erased[0]]
    assert len([row for row in rows if row["table"] == "seen" and row["kind"] == "mention"]) == 1
    assert memory.store.check() == []
