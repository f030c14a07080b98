"""What a pass is planned from: unread rows, what readers find in them, answers to questions.

Readers and answerers work between snapshots. An error of theirs is their phase's outcome; an error
of the store is not a phase's, and goes up.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from symfonic.capabilities.memory.errors import StoreError
from symfonic.capabilities.memory.outcome import Failed
from symfonic.capabilities.memory.records import Seen
from symfonic.capabilities.memory.store import Answer, PendingRow
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from symfonic.capabilities.memory.collaborators import Question, Reader
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.readers import PassReader, ViewReader
    from symfonic.capabilities.memory.records import Plain, Record, RecordId
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import MemoryStore

_LOGGER = logging.getLogger(__name__)
T = TypeVar("T")

_AT_ONCE = 50
"""How many episodes a reader is shown between two signs of life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """What all passes of one sleep share.

    ``held`` are phases that a person is to decide on, and ``visible`` and ``hidden`` what they are
    judged by: what recall could find when the sleep began, and what its passes have hidden of it.
    ``spent`` counts the drafts of earlier passes, and ``kept`` are the rows that those left pending
    on purpose: they are not taken again. ``answered`` outlives a pass that has to be planned again;
    what was asked in vain is not asked twice in one sleep.
    """

    now: datetime
    kind: Literal["deep", "light"] = "deep"
    spread_since: datetime
    retention: RetentionPolicy
    limits: RunLimits
    spent: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, frozenset[RecordId]] = field(default_factory=dict)
    visible: int = 0
    hidden: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
    answered: dict[str, Answered | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer given during this sleep, and the phase that asked."""

    phase: str
    answer: Answer


@dataclass(slots=True)
class Gathered:
    """What the first snapshot and the readers found, per phase."""

    taken: dict[str, list[PendingRow]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    fresh: dict[str, list[Seen]] = field(default_factory=dict)
    answers: dict[str, Plain] = field(default_factory=dict)
    failed: dict[str, Failed] = field(default_factory=dict)


def select(
    reader: PassReader, phases: Sequence[Phase], sleep: Sleep, reading: Gathered
) -> dict[str, list[tuple[Record, Sequence[Record]]]]:
    """Take each phase's unread rows, and the episodes its reader is to be shown."""
    unread: dict[str, list[tuple[Record, Sequence[Record]]]] = {}
    for phase in phases:
        if not phase.is_driven_by_pending:
            continue
        rows, total = reader.pending(
            phase.name, until=sleep.now, cap=phase.cap(sleep.limits),
            without=sorted(sleep.kept.get(phase.name, ())),
        )  # fmt: skip
        reading.taken[phase.name], reading.totals[phase.name] = rows, total
        if phase.reader is None or not rows:
            continue
        episodes = sorted(reader.records([row.record for row in rows]), key=lambda r: r.order)
        count = phase.reader.context
        before = reader.before(episodes, count=count, with_calls=True) if count else {}
        unread[phase.name] = [(episode, before.get(episode.id, ())) for episode in episodes]
    return unread


def read(
    phases: Sequence[Phase],
    unread: Mapping[str, Sequence[tuple[Record, Sequence[Record]]]],
    reading: Gathered,
    beat: Callable[[], None],
) -> None:
    """Let each reader look at its episodes; one that raises fails its own phase only.

    A few at a time, so that ``beat`` is heard while a slow reader works.
    """
    for phase in phases:
        if phase.reader is None:
            continue
        reading.fresh[phase.reader.identity] = []
        waiting = unread.get(phase.name, ())
        for start in range(0, len(waiting), _AT_ONCE):
            beat()
            some = waiting[start : start + _AT_ONCE]
            found = attempt(phase, partial(_readings, phase.reader, some))
            if isinstance(found, Failed):
                reading.failed[phase.name] = found
                del reading.fresh[phase.reader.identity]
                break
            reading.fresh[phase.reader.identity] += found


def _readings(reader: Reader, unread: Sequence[tuple[Record, Sequence[Record]]]) -> list[Seen]:
    found: list[Seen] = []
    for episode, before in unread:
        rows = list(reader.read(episode, before))
        found += rows or [_nothing(reader.identity, episode)]
    return found


def _nothing(reader: str, episode: Record) -> Seen:
    return Seen(
        episode=episode.id, reader=reader, kind="nothing", key="", session=episode.session or "",
        at=episode.at, score=0.0,
    )  # fmt: skip


def ask(
    store: MemoryStore,
    scope: Scope,
    phases: Sequence[Phase],
    sleep: Sleep,
    reading: Gathered,
    beat: Callable[[], None],
) -> None:
    """Put the phases' questions to their answerers, but for those that were answered before.

    An empty text is no answer: it is not kept, so that a collaborator that recovers is asked again.
    """
    questions: list[tuple[Phase, Question]] = []
    with store.snapshot(scope) as reader:
        for phase in phases:
            if phase.answer is None or phase.name in reading.failed:
                continue
            view = view_of(reader, phases, sleep, reading)
            asked = attempt(phase, partial(_questions, phase, view))
            if isinstance(asked, Failed):
                reading.failed[phase.name] = asked
                continue
            reading.answers |= reader.answers([question.key for question in asked])
            questions += [(phase, q) for q in asked if q.key not in reading.answers]
    for phase, question in questions:
        if phase.name in reading.failed or phase.answer is None:
            continue
        if question.key not in sleep.answered:
            beat()
            body = attempt(phase, partial(phase.answer, question))
            if isinstance(body, Failed):
                reading.failed[phase.name] = body
                continue
            empty = body is None or body == ""
            sleep.answered[question.key] = None if empty else _answered(phase, question, body)
        given = sleep.answered[question.key]
        if given is not None:
            reading.answers[question.key] = given.answer.body


def _answered(phase: Phase, question: Question, body: Plain) -> Answered:
    answer = Answer(
        question=question.key,
        collaborator=question.collaborator,
        sources=tuple(sorted(episode.id for episode in question.episodes)),
        body=body,
    )
    return Answered(phase=phase.name, answer=answer)


def _questions(phase: Phase, view: View) -> list[Question]:
    return list(phase.ask(view))


def view_of(reader: ViewReader, phases: Sequence[Phase], sleep: Sleep, reading: Gathered) -> View:
    return View(
        reader,
        now=sleep.now,
        retention=sleep.retention,
        limits=sleep.limits,
        spread_since=sleep.spread_since,
        unread={name: [row.record for row in rows] for name, rows in reading.taken.items()},
        touching={phase.name for phase in phases if phase.reads_touched},
        mentioning={phase.name for phase in phases if phase.reads_mentions},
        fresh=reading.fresh,
        spent=sleep.spent,
        answers=reading.answers,
    )


def attempt(phase: Phase, work: Callable[[], T]) -> T | Failed:
    """What ``work`` gives; the boundary at which a phase's error becomes its outcome."""
    try:
        return work()
    except StoreError:
        raise  # the store is not the phase's: the whole run fails, and says why
    except Exception as error:  # noqa: BLE001 - recorded with its traceback, never swallowed
        cause = type(error).__name__
        _LOGGER.error("maintenance.phase.failed phase=%s cause=%s", phase.name, cause)  # noqa: TRY400 - the traceback may quote a memory; the report keeps it, the log does not
        return Failed(
            reason=f"{cause}: {error}", traceback="".join(traceback.format_exception(error))
        )
