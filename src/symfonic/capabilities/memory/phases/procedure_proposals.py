"""Drafts from a proposer: its proposals, held to the same guards as the pattern rule.

A model may word a procedure better than a rule can; it may also make one up. So every step must
cite an episode that the model was shown, and what it proposes is a draft like any other.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.collaborators import Question
from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.phases.procedure_changes import (
    PHASE,
    Standing,
    draft_added,
    drafts_extended,
    standing_for,
)
from symfonic.capabilities.memory.phases.procedure_drafts import (
    Occurrence,
    Support,
    arguments_of,
    bounded,
    counted,
    draft_of,
)
from symfonic.capabilities.memory.records import Episode, RecordId, Step, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.collaborators import ProposerRule
    from symfonic.capabilities.memory.records import Plain, Record
    from symfonic.capabilities.memory.view import View


def from_proposer(rule: ProposerRule, *, model_name: str) -> Phase:
    """The phase that asks ``rule``'s proposer once a pass about the unread episodes.

    System prompts, what a screen marked and memory that a turn repeats are not shown to it: they
    are no evidence. When the sleep's drafts are used up it is not asked, and the episodes stay
    pending.
    """
    proposer = rule.proposer
    reading: dict[str, Plain] = {
        "proposer": proposer.name,
        "version": proposer.version,
        "model": model_name,
    }
    caps: dict[str, Plain] = {
        "max_drafts_per_run": rule.max_drafts_per_run,
        "max_episodes_per_run": rule.max_episodes_per_run,
    }

    def ask(view: View) -> Sequence[Question]:
        shown = tuple(one for one in view.unread(PHASE) if _is_evidence(one))
        if not shown or _room(view, rule) == 0:
            return ()
        asked = [proposer.name, proposer.version, model_name, rule.max_drafts_per_run]
        key = canonical([PHASE, *asked, sorted(one.id for one in shown)])
        digest = blake2b(key.encode(), digest_size=16).hexdigest()
        return (Question(key=digest, collaborator=proposer.name, episodes=shown),)

    def answer(question: Question) -> Plain:
        shown = [replace(one, text=without_pasted(one.text)) for one in question.episodes]
        proposed = proposer.propose(
            shown, model_name=model_name, max_drafts=rule.max_drafts_per_run
        )
        return [
            {
                "title": one.title,
                "trigger": one.trigger,
                "steps": [
                    {"action": s.action, "arguments": s.arguments, "sources": list(s.sources)}
                    for s in one.steps
                ],
            }
            for one in proposed
        ]

    return Phase(
        name=PHASE,
        reads=("episode",),
        cap=lambda limits: rule.max_episodes_per_run,
        settings={**reading, **caps},
        reading=reading,
        ask=ask,
        answer=answer,
        propose=lambda view: _propose(view, rule, ask),
    )


def _propose(view: View, rule: ProposerRule, ask: Callable[[View], Sequence[Question]]) -> Ran:
    unread = view.unread(PHASE)
    questions = ask(view)
    if not questions:
        shown = [one for one in unread if _is_evidence(one)]
        notes = ("no drafts are left in this sleep, so nothing was asked",) if shown else ()
        return Ran(
            looked_at=len(unread) - len(shown), notes=notes,
            kept=frozenset(one.id for one in shown),
        )  # fmt: skip
    question = questions[0]
    proposals = view.answer(question)
    if not isinstance(proposals, list):
        return Ran(
            looked_at=len(unread) - len(question.episodes),
            notes=(f"{question.collaborator} gave no answer; its episodes stay pending",),
            kept=frozenset(one.id for one in question.episodes),
        )
    return _from_answer(view, rule, question, proposals, looked_at=len(unread))


def _from_answer(
    view: View, rule: ProposerRule, question: Question, proposals: list[Any], *, looked_at: int
) -> Ran:
    shown = {one.id: one for one in question.episodes}
    grounded: dict[str, tuple[str, Occurrence]] = {}
    ungrounded = 0
    for proposal in proposals:
        occurrence = _grounded(proposal, shown)
        if occurrence is None:
            ungrounded += 1
        else:
            grounded.setdefault(_key(occurrence), (str(proposal["title"]), occurrence))
    standing = standing_for(view, grounded)
    changes: list[Change] = []
    extended: dict[str, tuple[Record, Support, Sequence[Occurrence]]] = {}
    decided = 0
    drafted: list[str] = []
    kept: set[RecordId] = set()
    for key, (title, occurrence) in grounded.items():
        stands = standing[key]
        support = _support([*_known_evidence(view, stands.draft), *occurrence.episodes])
        if stands.draft is not None:
            extended[key] = (stands.draft, support, [occurrence])
        elif not stands.admits(support):
            decided += 1
        elif len(drafted) >= _room(view, rule):
            kept.update(one.id for one in occurrence.episodes)
        else:
            drafted.append(key)
            changes += _draft(view, question, stands, occurrence, support, title=title)
    changes += drafts_extended(view, extended) if extended else []
    return Ran(
        changes=tuple(changes),
        looked_at=looked_at,
        counts={
            "proposed": len(proposals),
            "drafted": len(drafted),
            "seen_again": len(extended),
            "ungrounded": ungrounded,
            "decided_before": decided,
        },
        notes=_notes(ungrounded),
        kept=frozenset(kept),
    )


def _draft(
    view: View,
    question: Question,
    stands: Standing,
    occurrence: Occurrence,
    support: Support,
    *,
    title: str,
) -> list[Change]:
    draft = draft_of(
        [occurrence],
        support,
        id=view.identify("procedure", stands.key),
        scope=view.scope,
        key=stands.key,
        origin="proposed",
        now=view.now,
        half_life_hours=view.half_life_hours,
        title=title,
        would_change=None if stands.decided is None else stands.decided.id,
    )
    reason = f"proposed by {question.collaborator} from {support}"
    return draft_added(draft, occurrence.episodes, reason, most=view.limits.history_per_key)


def _grounded(proposal: Mapping[str, Any], shown: Mapping[RecordId, Record]) -> Occurrence | None:
    """The proposal with the shown episodes it cites; ``None`` where a step cites none of them."""
    steps: list[Step] = []
    cited: dict[RecordId, Record] = {}
    for step in proposal["steps"]:
        sources = [RecordId(source) for source in step["sources"] if source in shown]
        if not sources:
            return None
        cited |= {source: shown[source] for source in sources}
        action = bounded(str(step["action"]))
        steps.append(Step(action=action, arguments=arguments_of(step["arguments"])))
    if not steps:
        return None
    episodes = tuple(sorted(cited.values(), key=lambda one: one.order))
    return Occurrence(
        steps=tuple(steps), episodes=episodes, trigger=bounded(str(proposal["trigger"]))
    )


def _key(occurrence: Occurrence) -> str:
    """The trigger and the actions without case: the same proposal again is the same draft."""
    parts = [occurrence.trigger, *(step.action for step in occurrence.steps)]
    return f"proposed:{canonical([part.casefold() for part in parts])}"


def _known_evidence(view: View, draft: Record | None) -> list[Record]:
    if draft is None:
        return []
    links = view.links(
        [draft.id], kinds=("evidence",), direction="out", per_record=view.limits.history_per_key
    )
    return list(view.records([link.target for link in links]).values())


def _support(episodes: Iterable[Record]) -> Support:
    """Distinct sessions of the evidence; one fails where every cited turn with calls failed."""
    done: dict[str, bool] = {}
    for one in episodes:
        content = one.content
        calls = content.calls if isinstance(content, Episode) else ()
        session = one.session or one.id
        ok = not any(call.ok is False for call in calls)
        done[session] = done.get(session, False) or ok
    successes = sum(done.values())
    return Support(sessions=len(done), successes=successes, failures=len(done) - successes)


def _room(view: View, rule: ProposerRule) -> int:
    return max(0, rule.max_drafts_per_run - view.spent.get(PHASE, 0))


def _is_evidence(one: Record) -> bool:
    content = one.content
    if not isinstance(content, Episode) or content.role == "system" or one.trust == "marked":
        return False
    return bool(content.calls) or bool(without_pasted(one.text).strip())


def _notes(ungrounded: int) -> tuple[str, ...]:
    if not ungrounded:
        return ()
    dropped = counted(ungrounded, "proposal")
    return (f"{dropped} dropped: a step cites no episode that was shown",)
