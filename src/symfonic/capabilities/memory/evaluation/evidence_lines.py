"""Reads evidence sets of one's own: a JSON object a line, turns and questions.

A line with ``text`` is a turn, one with ``question`` a question. ``conversation`` may be left out
where the file holds one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.evaluation.conversations import (
    Asked,
    Conversation,
    Said,
    sessions_of,
    spoken,
)
from symfonic.capabilities.memory.evaluation.fields import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.evaluation.fields import Value

_UNNAMED: Final = "question"
"""The category of a question that names none."""


@dataclass(slots=True)
class _Reading:
    """One conversation as far as it was read: turns by their names in the file.

    ``sessions`` has the number of each and how many turns it has, by its name there.
    """

    turns: dict[str, Said] = field(default_factory=dict)
    sessions: dict[str, tuple[str, int]] = field(default_factory=dict)
    questions: list[Value] = field(default_factory=list)

    def add(self, line: Value) -> None:
        """Take in a turn, which stands after those of its session."""
        given = line.need("id")
        if given.name() in self.turns:
            given.wrong("is the id of an earlier turn")
        session = line.need("session").name()
        number, position = self.sessions.get(session, (str(len(self.sessions) + 1), 0))
        speaker, role, at = (line.get(name) for name in ("speaker", "role", "at"))
        name = None if speaker is None else speaker.name()
        self.turns[given.name()] = Said(
            id=str(len(self.turns) + 1), session=number, position=position, speaker=name,
            text=spoken(line.need("text").text(), name),
            role="user" if role is None else role.role(), at=None if at is None else at.moment(),
        )  # fmt: skip
        self.sessions[session] = number, position + 1

    def asked(self, line: Value) -> Asked:
        """A question, once all turns are known."""
        named = [(one, one.name()) for one in line.need("gold").items()]
        for one, name in named:
            if name not in self.turns:
                one.wrong(f"is {name!r}, and no turn of the conversation has that id")
        gold = frozenset(self.turns[name].id for _, name in named)
        category, at, adversarial = (line.get(n) for n in ("category", "at", "adversarial"))
        return Asked(
            text=line.need("question").text(), gold=gold,
            category=_UNNAMED if category is None else category.name(),
            gold_sessions=sessions_of({turn.id: turn for turn in self.turns.values()}, gold),
            adversarial=adversarial is not None and adversarial.flag(),
            at=None if at is None else at.moment(),
        )  # fmt: skip


def read_evidence_lines(path: Path) -> Iterator[Conversation]:
    """The conversations of a file, in the order in which they begin.

    It is read whole first: a question may stand before the turns that it is about. Raises
    ``InputError``, also for a gold turn that is not there.
    """
    found: dict[str, _Reading] = {}
    for line in values_of(path):
        of = line.get("conversation")
        reading = found.setdefault("" if of is None else of.name(), _Reading())
        if line.get("question") is not None:
            reading.questions.append(line)
        elif line.get("text") is not None:
            reading.add(line)
        else:
            line.wrong("has neither text, as a turn, nor question, as a question")
    for number, reading in enumerate(found.values(), 1):
        questions = tuple(reading.asked(line) for line in reading.questions)
        yield Conversation(number=number, turns=tuple(reading.turns.values()), questions=questions)
