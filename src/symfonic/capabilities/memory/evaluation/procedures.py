"""How good the drafts are: mined from all trials but the last, measured on the last.

The drafts are made as everywhere, by one sleep of a memory that holds the earlier trials and is
thrown away afterwards. Memory is not told the rewards: a user's agent has none either.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import InputError, PhaseFailed
from symfonic.capabilities.memory.evaluation.next_step import (
    Known,
    NGram,
    Place,
    Score,
    covered,
    next_by_draft,
    score,
    trigger_words,
)
from symfonic.capabilities.memory.evaluation.trajectories import Trajectory, read_trajectories
from symfonic.capabilities.memory.extractors.calls import steps_of
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.phases.procedure_triggers import content_words
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Procedure, Record
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

DRAFTS: Final = 20
"""How many drafts are taken unless stated, best supported first."""

_SCOPE: Final = "evaluation"
_CLOCK: Final = datetime(2000, 1, 1, tzinfo=UTC)
_ALL: Final = 2**31 - 1
_SALT: Final = b"evaluation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Scores on one way of counting calls, by who was asked.

    ``by_calls`` are the drafts by their calls alone, ``by_trigger`` the drafts with what users had
    said; ``ngram_there`` is the n-gram where the drafts have an opinion, ``ngram`` it everywhere.
    """

    by_calls: Score
    by_trigger: Score
    ngram_there: Score
    ngram: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What was mined and what was found on the last trial.

    ``steps`` counts calls as patterns do, without repeats and notes to self; ``calls`` each call
    as it was made. ``covered`` of ``steps_in_successes`` steps stand in a whole occurrence of a
    draft.
    """

    mined: int
    held_out: int
    successes: int
    trial: int
    covered: int
    steps_in_successes: int
    steps: Figures
    calls: Figures
    drafts: tuple[Record, ...]
    counts: dict[str, int]

    @property
    def coverage(self) -> float:
        """The share of the steps in successes that drafts cover, 0 to 1."""
        return self.covered / max(1, self.steps_in_successes)

    def as_plain(self) -> dict[str, Any]:
        """The figures as plain values; the drafts are the caller's to show."""
        return {
            "mined": self.mined, "held_out": self.held_out, "successes": self.successes,
            "trial": self.trial, "covered": self.covered,
            "steps_in_successes": self.steps_in_successes, "coverage": self.coverage,
            "steps": asdict(self.steps), "calls": asdict(self.calls), "counts": self.counts,
        }  # fmt: skip


def evaluate(
    path: Path,
    *,
    policy: LearningPolicy | None = None,
    drafts: int = DRAFTS,
    success: float = 1.0,
    watch: Callable[[int], None] | None = None,
) -> Evaluation:
    """Mine a file's trials but the last, at most ``drafts`` drafts, and measure on the last.

    A trajectory with a reward of ``success`` or more succeeded. Tool calls are read whatever the
    policy says, names and a model are not asked; its other knobs hold. ``watch`` is told how many
    trajectories were read.

    Raises ``InputError`` for a file that cannot be read, or that has one trial only.
    """
    last = _last_trial(path)
    mined: list[tuple[str, ...]] = []
    tried: list[Trajectory] = []
    with Memory.open(":memory:", clock=lambda: _CLOCK, salt=_SALT) as memory:
        for one in read_trajectories(path):
            if one.trial == last:
                tried.append(replace(one, messages=()))
            else:
                mined.append(_names(one))
                memory.add_turn(one.messages, scope=_SCOPE, session=str(one.number))
            if watch is not None:
                watch(one.number)
        counts = _sleep(memory, policy or LearningPolicy(), drafts)
        found = memory.procedures(scope=_SCOPE)
    known = [_known(content) for _, content in _by_support(found) if content.origin == "calls"]
    successes = [one for one in tried if one.reward >= success]
    done = [covered(known, _names(one)) for one in successes]
    return Evaluation(
        mined=len(mined), held_out=len(tried), successes=len(successes), trial=last,
        covered=sum(inside for inside, _ in done),
        steps_in_successes=sum(among for _, among in done),
        steps=_figures(known, [steps_of(names) for names in mined], _places(tried, steps=True)),
        calls=_figures(known, mined, _places(tried, steps=False)),
        drafts=tuple(one for one, _ in _by_support(found)), counts=counts,
    )  # fmt: skip


def _last_trial(path: Path) -> int:
    trials = {one.trial for one in read_trajectories(path)}
    if len(trials) < 2:
        raise InputError(
            f"{path} holds trial {min(trials)} only. Drafts are mined from the earlier trials and "
            "measured on the last, so there must be two.",
            path=str(path),
        )
    return max(trials)


def _sleep(memory: Memory, policy: LearningPolicy, drafts: int) -> dict[str, int]:
    """One sleep that reads all there is; what its procedure phase counted."""
    chosen = replace(
        policy, promotion_use_tool_calls_fallback=True, promotion_max_drafts_per_run=drafts,
        phase_12_use_llm_extractor=False, enable_entity_linker=False,
    )  # fmt: skip
    limits = RunLimits(promotion_max_episodics_per_run=_ALL)
    report = memory.sleep(scope=_SCOPE, policy=chosen, limits=limits)
    if report.failed:
        raise PhaseFailed(
            f"{report.failed[0].name} failed on the earlier trials: {report.failed[0].reason}",
            phase=report.failed[0].name,
        )
    phases = [phase for run in report.passes for phase in run.phases]
    counted = [phase.counts for phase in phases if phase.name == "promote_procedures"]
    return {name: sum(counts[name] for counts in counted) for name in sorted(counted[0])}


def _by_support(found: Sequence[Record]) -> list[tuple[Record, Procedure]]:
    rows = [(one, one.content) for one in found if isinstance(one.content, Procedure)]
    return sorted(rows, key=lambda row: (-row[1].support, -len(row[1].steps), row[0].id))


def _known(content: Procedure) -> Known:
    return Known(
        steps=tuple(step.action for step in content.steps),
        words=trigger_words(content.trigger if content.trigger != content.title else ""),
        support=content.support,
    )


def _names(one: Trajectory) -> tuple[str, ...]:
    return tuple(call.name for turn in one.turns for call in turn.calls)


def _figures(
    known: Sequence[Known], mined: Sequence[Sequence[str]], places: Sequence[Place]
) -> Figures:
    ngram = NGram(mined)

    def by_calls(place: Place) -> str | None:
        return next_by_draft(known, place, by_trigger=False)

    return Figures(
        by_calls=score(places, by_calls),
        by_trigger=score(places, lambda place: next_by_draft(known, place, by_trigger=True)),
        ngram_there=score(
            [place for place in places if by_calls(place) is not None],
            lambda place: ngram.next(place.before),
        ),
        ngram=score(places, lambda place: ngram.next(place.before)),
    )


def _places(tried: Sequence[Trajectory], *, steps: bool) -> list[Place]:
    """Every call of the trajectories but the first of each, with what stood before it."""
    return [place for one in tried for place in _places_of(one, steps=steps)]


def _places_of(one: Trajectory, *, steps: bool) -> Iterator[Place]:
    """With ``steps``, a call that only repeats the last steps is no place: it is no next step."""
    said: dict[str, str] = {}
    names: list[str] = []
    before: list[str] = []
    for turn in one.turns:
        if turn.role == "user":
            said |= content_words(turn.text)
        for call in turn.calls:
            done, names = steps_of(names), [*names, call.name]
            after = steps_of(names)
            if not steps:
                before, taken = names[:-1], call.name
            elif len(after) > len(done):
                before, taken = done, after[-1]
            else:
                continue
            if before:
                yield Place(
                    before=tuple(before), steps=tuple(done), said=frozenset(said), taken=taken
                )
