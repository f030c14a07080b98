"""The reader of procedures: whose prose and whose calls count, and what a sighting holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.collaborators import Reader
from symfonic.capabilities.memory.extractors.calls import CONTEXT, TOOLS_KEY, key_of
from symfonic.capabilities.memory.extractors.conduct import ProcedureReader
from symfonic.capabilities.memory.records import Entity, Episode, Record, RecordId, ToolCall

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Role, Trust

AT = datetime(2026, 3, 1, tzinfo=UTC)
RULE = "Always run the tests before pushing."
CALLS = (ToolCall(name="find", arguments={"q": "secret"}, ok=True), ToolCall(name="open", ok=False))


def reader(*, calls: bool = False, assistant: bool = False) -> ProcedureReader:
    return ProcedureReader(use_tool_calls=calls, promote_assistant_content=assistant)


def turn(
    role: Role, text: str = RULE, *, calls: tuple[ToolCall, ...] = (), trust: Trust = "user"
) -> Record:
    return Record(
        id=RecordId("e1"), scope="a", kind="episode", key=None, text=text, session="s",
        occurred_at=AT, recorded_at=AT, trust=trust, content=Episode(role=role, calls=calls),
    )  # fmt: skip


def test_it_follows_the_protocol() -> None:
    assert isinstance(reader(), Reader)


def test_prose_of_a_user_is_read() -> None:
    (seen,) = reader().read(turn("user"), [])
    assert (seen.kind, seen.episode, seen.session, seen.at) == ("pattern", "e1", "s", AT)
    assert seen.ok is None
    assert seen.body == {"trigger": "before pushing", "steps": ["run the tests"]}


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_other_prose_is_not_read(role: Role) -> None:
    assert list(reader(calls=True).read(turn(role), [])) == []


def test_assistant_prose_is_read_where_the_policy_admits_it() -> None:
    assert len(list(reader(assistant=True).read(turn("assistant"), []))) == 1


@pytest.mark.parametrize("role", ["tool", "system"])
def test_admitting_assistant_prose_admits_no_other(role: Role) -> None:
    assert list(reader(assistant=True).read(turn(role), [])) == []


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_calls_count_whoever_made_them(role: Role) -> None:
    seen, *alone = reader(calls=True).read(turn(role, "", calls=CALLS), [])
    assert (seen.key, seen.ok) == (key_of(["find", "open"]), False)
    assert [(one.key, one.ok) for one in alone] == [
        (key_of(["find"]), True),
        (key_of(["open"]), False),
        (TOOLS_KEY, None),
    ]
    assert alone[-1].body == {"names": ["find", "open"]}


def test_a_sighting_of_calls_holds_no_argument() -> None:
    # Forgetting an episode must leave none of its text in what was read of a later one.
    seen, *_ = reader(calls=True).read(turn("assistant", "", calls=CALLS), [])
    assert seen.body == {"calls": [["e1", 0], ["e1", 1]]}


def test_calls_are_not_read_unless_asked_for() -> None:
    assert list(reader().read(turn("assistant", "", calls=CALLS), [])) == []


def test_context_is_asked_for_only_with_calls() -> None:
    assert (reader().context, reader(calls=True).context) == (0, CONTEXT)


def test_each_knob_changes_the_identity() -> None:
    knobs = [(calls, assistant) for calls in (False, True) for assistant in (False, True)]
    assert len({reader(calls=c, assistant=a).identity for c, a in knobs}) == 4


def test_marked_text_is_not_read() -> None:
    assert list(reader(calls=True).read(turn("user", calls=CALLS, trust="marked"), [])) == []


def test_a_record_that_is_no_episode_is_not_read() -> None:
    entity = Record(
        id=RecordId("1"), scope="a", kind="entity", key="k",
        content=Entity(name="Ana", entity_kind="person"),
    )  # fmt: skip
    assert list(reader(calls=True).read(entity, [])) == []


def test_a_sighting_names_the_tools_of_its_own_turn_only() -> None:
    # Forgetting the earlier turn must leave nothing of it here.
    before = replace(turn("assistant", "", calls=(ToolCall(name="earlier"),)), id=RecordId("e0"))
    *_, tools = reader(calls=True).read(turn("assistant", "", calls=CALLS), [before])
    assert (tools.key, tools.body) == (TOOLS_KEY, {"names": ["find", "open"]})


def test_a_note_to_self_leaves_no_sighting() -> None:
    calls = (ToolCall(name="think", arguments={"thought": "…"}),)
    assert list(reader(calls=True).read(turn("assistant", "", calls=calls), [])) == []
