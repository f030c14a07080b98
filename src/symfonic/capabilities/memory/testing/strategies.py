"""Random turns, sessions and logs for hypothesis, small enough to be read when they fail.

Texts draw from few words, so that equal turns, shared names and repeated actions happen often:
that is where memories go wrong.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from symfonic.capabilities.memory.records import ROLES, ToolCall
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.testing.builders import NOW

if TYPE_CHECKING:
    from datetime import datetime

NAMES: Final = ("Marta Kowalczyk", "Corin Ashdown", "Ilse", "Graz", "Hamburg")
WORDS: Final = ("refund", "parcel", "meeting", "invoice", "notes", "kettle", "deploy", "日本語")
TOOLS: Final = ("lookup_order", "issue_refund", "send_receipt", "run_tests", "deploy")
_SENTENCES: Final = (
    "I asked {name} about the {word} today.",
    "Then {name} wrote that the {word} is late.",
    "Before every {word}: run the tests.",
    "The {word} from {name} is here.",
    "ok",
)


def texts() -> st.SearchStrategy[str]:
    """What somebody may write: sentences from few names and words, now and then anything."""
    sentence = st.builds(
        lambda form, name, word: form.format(name=name, word=word),
        st.sampled_from(_SENTENCES),
        st.sampled_from(NAMES),
        st.sampled_from(WORDS),
    )
    anything = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40
    )
    return st.one_of(sentence, sentence, sentence, anything)


def calls() -> st.SearchStrategy[ToolCall]:
    """A tool call with few names and arguments."""
    return st.builds(
        ToolCall,
        name=st.sampled_from(TOOLS),
        arguments=st.dictionaries(st.sampled_from(("order", "to")), st.integers(1, 3), max_size=2),
        result=st.one_of(st.none(), st.just("done")),
        ok=st.sampled_from((True, True, False, None)),
    )


def times(*, before: datetime = NOW, days: int = 40) -> st.SearchStrategy[datetime]:
    """A whole minute within ``days`` before a time."""
    return st.integers(1, days * 24 * 60).map(lambda minutes: before - timedelta(minutes=minutes))


@st.composite
def turns(draw: st.DrawFn, *, session: str = "s1", position: int = 0) -> Turn:
    """One turn whose source states its id, its position and its time."""
    role = draw(st.sampled_from(ROLES))
    return Turn(
        session=session,
        position=position,
        role=role,
        text=draw(texts()),
        importer="testing",
        name=draw(st.one_of(st.none(), st.sampled_from(NAMES))),
        calls=tuple(draw(st.lists(calls(), max_size=3))) if role == "assistant" else (),
        occurred_at=draw(times()),
        source_id=f"{session}-{position}",
        stated_position=True,
    )


@st.composite
def sessions(draw: st.DrawFn, *, session: str = "s1", most: int = 6) -> list[Turn]:
    """The turns of one session, in order."""
    count = draw(st.integers(1, most))
    return [draw(turns(session=session, position=n)) for n in range(count)]


@st.composite
def logs(draw: st.DrawFn, *, most: int = 4) -> list[Turn]:
    """The turns of a few sessions, one after the other."""
    count = draw(st.integers(1, most))
    return [turn for n in range(count) for turn in draw(sessions(session=f"s{n}"))]


def plain(turn: Turn) -> dict[str, Any]:
    """The turn as a line of plain JSONL."""
    assert turn.occurred_at is not None
    row: dict[str, Any] = {
        "id": turn.source_id,
        "session": turn.session,
        "position": turn.position,
        "at": turn.occurred_at.isoformat(),
        "role": turn.role,
        "text": turn.text,
    }
    if turn.name is not None:
        row["name"] = turn.name
    if turn.calls:
        row["tool_calls"] = [
            {"name": c.name, "arguments": c.arguments, "result": c.result, "ok": c.ok}
            for c in turn.calls
        ]
    return row
