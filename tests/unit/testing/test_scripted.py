"""Scripted collaborators follow the protocols and answer from their script alone."""

from __future__ import annotations

import pytest

from symfonic.capabilities.memory.collaborators import (
    EntityExtractor,
    ProcedureProposer,
    Summarizer,
)
from symfonic.capabilities.memory.errors import CollaboratorError
from symfonic.capabilities.memory.records import Entity, Episode, Record, RecordId, ToolCall
from symfonic.capabilities.memory.testing.scripted import (
    ScriptedEntityExtractor,
    ScriptedProcedure,
    ScriptedProposer,
    ScriptedStep,
    ScriptedSummarizer,
)

DEPLOY = ScriptedProcedure(
    title="Deploy",
    trigger="asked to deploy",
    steps=(
        ScriptedStep(action="run tests", cites="pytest", arguments={"fast": True}),
        ScriptedStep(action="tag", cites=""),
    ),
)


def turn(id: str, text: str, *calls: str) -> Record:
    content = Episode(role="user", calls=tuple(ToolCall(name=name) for name in calls))
    return Record(
        id=RecordId(id), scope="a", kind="episode", key=None, text=text, content=content
    )  # fmt: skip


def test_they_follow_the_protocols() -> None:
    assert isinstance(ScriptedProposer(script=()), ProcedureProposer)
    assert isinstance(ScriptedEntityExtractor(script={}), EntityExtractor)
    assert isinstance(ScriptedSummarizer(), Summarizer)


def test_a_step_cites_the_episodes_that_show_it() -> None:
    entity = Record(
        id=RecordId("x"), scope="a", kind="entity", key="k", text="pytest",
        content=Entity(name="pytest", entity_kind="thing"),
    )  # fmt: skip
    episodes = [turn("1", "pytest is green"), turn("2", "hm"), turn("3", "", "run_pytest"), entity]
    proposer = ScriptedProposer(script=[DEPLOY])
    (proposed,) = proposer.propose(episodes, model_name="m", max_drafts=3)
    assert [step.sources for step in proposed.steps] == [("1", "3"), ()]
    assert proposed.steps[0].arguments == {"fast": True}
    assert (proposer.asked[0].model_name, proposer.asked[0].max_drafts) == ("m", 3)
    assert proposer.asked[0].episodes == ("1", "2", "3", "x")


def test_a_proposal_that_can_cite_nothing_is_not_made() -> None:
    proposer = ScriptedProposer(script=[DEPLOY])
    assert proposer.propose([turn("1", "hello")], model_name="m", max_drafts=3) == []


def test_a_proposal_may_be_one_models_own() -> None:
    steps = (ScriptedStep(action="a", cites="x"),)
    mine = ScriptedProcedure(title="t", trigger="", steps=steps, model_name="large")
    proposer = ScriptedProposer(script=[mine])
    assert proposer.propose([turn("1", "x")], model_name="small", max_drafts=3) == []
    assert len(proposer.propose([turn("1", "x")], model_name="large", max_drafts=3)) == 1


def test_no_more_is_proposed_than_was_asked_for() -> None:
    proposer = ScriptedProposer(script=[DEPLOY, DEPLOY])
    assert len(proposer.propose([turn("1", "pytest")], model_name="m", max_drafts=1)) == 1


def test_the_extractor_finds_the_names_it_knows() -> None:
    extractor = ScriptedEntityExtractor(script={"Linz": ("place", 0.5), "Ana": ("person", 1.0)})
    found = extractor.extract(turn("1", "Ana is in Linz"))
    assert [(m.key, m.name, m.entity_kind, m.score) for m in found] == [
        ("ana", "Ana", "person", 1.0),
        ("linz", "Linz", "place", 0.5),
    ]
    assert extractor.asked == ["1"]
    assert extractor.extract(turn("2", "ana")) == []


def test_the_summarizer_answers_its_script_within_the_bound() -> None:
    summarizer = ScriptedSummarizer(script="{count} turns about trains")
    episodes = [turn("1", "a"), turn("2", "b")]
    assert summarizer.summarize(episodes, max_characters=100) == "2 turns about trains"
    assert summarizer.summarize(episodes, max_characters=7) == "2 turns"
    assert summarizer.asked == [("1", "2"), ("1", "2")]


def test_each_fails_when_told_to() -> None:
    error = CollaboratorError("no answer", collaborator="scripted")
    with pytest.raises(CollaboratorError):
        ScriptedProposer(script=(), error=error).propose([], model_name="m", max_drafts=1)
    with pytest.raises(CollaboratorError):
        ScriptedEntityExtractor(script={}, error=error).extract(turn("1", "a"))
    with pytest.raises(CollaboratorError):
        ScriptedSummarizer(error=error).summarize([], max_characters=1)
