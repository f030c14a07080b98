"""Condense what is old, once there is much of it, into summaries that stand beside their sources.

Old talk crowds out recall and nobody reads fifty turns to learn what a day was about. A summary
says it in a few lines. Its sources are marked as condensed and nothing else: they are still found,
and stand behind the summary only where room is short.

The phase is driven by state and reads no pending rows: how many episodes are old and uncondensed
is all it needs to know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    set_state,
)
from symfonic.capabilities.memory.collaborators import Question
from symfonic.capabilities.memory.extractors.extractive import (
    MAX_CHARACTERS,
    METHOD,
    summarise_episodes,
)
from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.extractors.sentences import bounded
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.policy import check, window_start
from symfonic.capabilities.memory.records import Link, Record, Summary, canonical, least_trust
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symfonic.capabilities.memory.collaborators import Summarizer
    from symfonic.capabilities.memory.records import Plain, Trust
    from symfonic.capabilities.memory.view import View

NAME: Final = "summarise"


def summarise(
    summarizer: Summarizer | None,
    *,
    lookback_hours: float,
    episodic_max_entries: int,
    episodic_summarize_batch: int,
) -> Phase:
    """A phase proposing summaries of the oldest episodes, until few enough are left uncondensed.

    Never declines: without a summarizer the text is extractive. With one, a batch that it gives no
    text for is left as it is; an extractive text in its place would hide the failure.

    An episode is old once it lies ``lookback_hours`` back. Once there are more than
    ``episodic_max_entries`` of them, batches of ``episodic_summarize_batch`` are taken, oldest
    first and ended where sessions end, until no more than that are left. How many batches one pass
    takes is a limit of the run.

    Raises ``PolicyError`` for a knob out of its range.
    """
    rule = _Rule(
        lookback_hours=check("lookback_hours", lookback_hours),
        max_entries=check("episodic_max_entries", episodic_max_entries),
        batch=check("episodic_summarize_batch", episodic_summarize_batch),
        summarizer=summarizer,
    )
    settings: dict[str, Plain] = {
        "lookback_hours": rule.lookback_hours,
        "episodic_max_entries": rule.max_entries,
        "episodic_summarize_batch": rule.batch,
        "method": rule.method,
        "max_characters": MAX_CHARACTERS,
    }
    return Phase(
        name=NAME,
        settings=settings,
        reading={},
        propose=rule.propose,
        ask=rule.ask,
        answer=None if summarizer is None else _answerer(summarizer),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    lookback_hours: float
    max_entries: int
    batch: int
    summarizer: Summarizer | None

    @property
    def method(self) -> str:
        given = self.summarizer
        return METHOD if given is None else f"{given.name}@{given.version}"

    def ask(self, view: View) -> Sequence[Question]:
        """A question for each batch; none where nobody is there to answer."""
        if self.summarizer is None:
            return ()
        return [self._question(batch) for batch in self._batches(view)[0]]

    def propose(self, view: View) -> Ran:
        """Summaries of the batches that have a text, and counts of all that was looked at."""
        batches, total = self._batches(view)
        changes: list[Change] = []
        condensed = unanswered = 0
        for batch in batches:
            text = self._text(view, batch)
            if not text:
                unanswered += len(batch)
                continue
            condensed += len(batch)
            changes += _condense(view, batch, text, self.method)
        return Ran(
            changes=tuple(changes),
            looked_at=total,
            left=max(total - condensed - self.max_entries, unanswered, 0),
            counts={
                "uncondensed": total,
                "threshold": self.max_entries,
                "condensed": condensed,
                "unanswered": unanswered,
            },
        )

    def _batches(self, view: View) -> tuple[list[list[Record]], int]:
        """The batches of this pass, oldest first, and how many old episodes are uncondensed."""
        most = view.limits.summarize_max_batches_per_run
        found, total = view.uncondensed(
            NAME, before=window_start(view.now, self.lookback_hours), limit=self.batch * most + 1
        )
        batches: list[list[Record]] = []
        taken = 0
        while total - taken > self.max_entries and taken < len(found):
            if len(batches) == most:
                break
            size = _batch_size(found[taken:], self.batch)
            batches.append(found[taken : taken + size])
            taken += size
        return batches, total

    def _text(self, view: View, batch: list[Record]) -> str:
        if self.summarizer is None:
            return summarise_episodes(batch)
        answer = view.answer(self._question(batch))
        return bounded(answer.strip(), MAX_CHARACTERS) if isinstance(answer, str) else ""

    def _question(self, batch: list[Record]) -> Question:
        asked = [self.method, MAX_CHARACTERS, sorted(episode.id for episode in batch)]
        return Question(key=_digest(asked), collaborator=self.method, episodes=tuple(batch))


def _answerer(summarizer: Summarizer) -> Callable[[Question], Plain]:
    """What the engine calls for each question; the text is bounded where it is used.

    What was pasted from memory is not shown: derived text is no evidence.
    """

    def answer(question: Question) -> Plain:
        episodes = [replace(e, text=without_pasted(e.text)) for e in question.episodes]
        return summarizer.summarize(episodes, max_characters=MAX_CHARACTERS)

    return answer


def _batch_size(episodes: list[Record], wanted: int) -> int:
    """How many of the oldest to take: where sessions end, if that is at least half of ``wanted``.

    At a cut no session goes on, so a conversation is summed up in one piece. The longest such batch
    is taken; without one, the batch is ``wanted`` long.
    """
    last = {episode.session: number for number, episode in enumerate(episodes)}
    ends = accumulate((last[episode.session] for episode in episodes[:wanted]), max)
    clean = [number + 1 for number, end in enumerate(ends) if end == number]
    useful = [size for size in clean if 2 * size >= wanted]
    return useful[-1] if useful else min(wanted, len(episodes))


def _condense(view: View, batch: list[Record], text: str, method: str) -> list[Change]:
    """One group: the summary, its links to its sources, and their new state."""
    key = _digest(sorted(episode.id for episode in batch))
    summary_id = view.identify("summary", key)
    group = Group(phase=NAME, kind="summary", id=summary_id)
    sessions = {episode.session for episode in batch}
    believed: list[Trust] = [episode.trust for episode in batch if episode.trust != "marked"]
    summary = Record(
        id=summary_id,
        scope=view.scope,
        kind="summary",
        key=key,
        content=Summary(
            method=method,
            episode_count=len(batch),
            first_at=batch[0].at.isoformat(),
            last_at=batch[-1].at.isoformat(),
        ),
        text=text,
        trust=least_trust(believed) if believed else "marked",
        strength=base_strength(batch[-1].at, view.half_life_hours),
        occurred_at=batch[-1].at,
        recorded_at=view.now,
        session=batch[0].session if len(sessions) == 1 else None,
    )
    changes = [add_record(group, summary, f"Condenses {len(batch)} old turns.")]
    for episode in batch:
        link = Link(source=summary_id, kind="summarises", target=episode.id, at=episode.at)
        changes.append(add_link(group, link, "The summary stands on this turn."))
    edits = [set_state(group, e, "condensed", "Recall still finds it.") for e in batch]
    return [*changes, *edits]


def _digest(value: object) -> str:
    return blake2b(canonical(value).encode(), digest_size=12).hexdigest()
