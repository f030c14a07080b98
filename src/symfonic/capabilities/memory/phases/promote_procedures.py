"""Draft procedures from what people say to do and what the agent keeps doing.

A habit shows only across sessions, so no single turn can tell it. Distinct sessions are counted
and never repetitions: a loop of retries would otherwise be written up as a reliable way. A session
in which it failed speaks against it. What comes out is a draft with its evidence; a person decides.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.calls import TOOLS_KEY, key_of, names_of
from symfonic.capabilities.memory.outcome import Declined, Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.phases.procedure_changes import (
    EVIDENCE,
    PHASE,
    Standing,
    draft_added,
    drafts_extended,
    standing_for,
)
from symfonic.capabilities.memory.phases.procedure_choice import (
    Choice,
    choose,
    notes_on,
    promotable,
)
from symfonic.capabilities.memory.phases.procedure_drafts import (
    Occurrence,
    Support,
    draft_of,
    occurrence_of,
    places_of,
)
from symfonic.capabilities.memory.phases.procedure_proposals import from_proposer
from symfonic.capabilities.memory.phases.procedure_requests import (
    requests_in,
    turns_before,
    with_said,
)
from symfonic.capabilities.memory.phases.procedure_shapes import (
    Aside,
    parts_of,
    runs_around,
    set_aside,
)
from symfonic.capabilities.memory.phases.procedure_triggers import triggers_of
from symfonic.capabilities.memory.policy import check, window_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.collaborators import ProcedureRule, ProposerRule
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.records import Plain, Seen, Tally
    from symfonic.capabilities.memory.view import View


_ASIDE_COUNTS: Final[Mapping[Aside, str]] = {
    "piece": "in_a_longer_one",
    "variant": "ends_as_another",
    "look_up": "only_looks_up",
    "loose": "met_by_chance",
}


def promote_procedures(
    rule: ProcedureRule | None,
    proposer: ProposerRule | None,
    *,
    procedural_model_name: str,
    missing: str = "",
) -> Phase:
    """A phase that drafts procedures: by the pattern rule, or from a proposer's proposals.

    Where a proposer is composed, its proposals stand instead of the rule's. ``missing`` says what
    was asked for and not given: then the phase declines, since falling back to the rule in
    silence would read as the model having found nothing. How many unread episodes a pass takes
    is the limits' for the rule, and the policy's for a proposer.

    Raises ``PolicyError`` for an empty model name.
    """
    model = check("procedural_model_name", procedural_model_name)
    if missing:
        return _declining(Declined(reason=missing, knob="phase_12_use_llm_extractor"))
    if proposer is not None:
        return from_proposer(proposer, model_name=model)
    if rule is None:
        reason = "No procedure rule and no proposer was composed."
        return _declining(Declined(reason=reason, knob="procedure_rule"))
    reading: dict[str, Plain] = {
        "reader": rule.reader.identity,
        "min_pattern_count": rule.min_pattern_count,
        "recency_days": rule.recency_days,
    }
    return Phase(
        name=PHASE,
        reads=("episode",),
        cap=_episodes_per_pass,
        settings={**reading, "max_drafts_per_run": rule.max_drafts_per_run},
        reading=reading,
        reader=rule.reader,
        propose=lambda view: _by_rule(view, rule),
    )


def _declining(declined: Declined) -> Phase:
    return Phase(
        name=PHASE,
        reads=("episode",),
        cap=_episodes_per_pass,
        settings={},
        reading={},
        propose=lambda view: declined,
    )


def _episodes_per_pass(limits: RunLimits) -> int:
    return limits.promotion_max_episodics_per_run


def _by_rule(view: View, rule: ProcedureRule) -> Ran:
    identity = rule.reader.identity
    since = window_start(view.now, rule.recency_days * 24)
    rows = [
        row for row in view.fresh(identity) if row.kind == "pattern" and _may_be_drafted(row.key)
    ]
    recent = [row for row in rows if row.at >= since]
    keys = sorted({row.key for row in recent})
    tallies = view.tally(identity, keys, since=since)
    support = {key: _support(tally) for key, tally in tallies.items()}
    standing = standing_for(view, support)
    aside = _aside(view, support, standing, rule)
    room = max(0, rule.max_drafts_per_run - view.spent.get(PHASE, 0))
    choice = choose(support, standing, rule, aside=aside, room=room)

    changes = _extend(view, choice.open_drafts, standing, support, recent)
    changes += _draft(view, choice.chosen, standing, support, rule)
    left = set(choice.over_cap)
    return Ran(
        changes=tuple(changes),
        looked_at=len(view.unread(PHASE)),
        counts={
            "patterns": len(support),
            "drafted": len(choice.chosen),
            "seen_again": len(choice.open_drafts),
            "not_promoted": len(choice.missed),
            **_counts_of(choice, aside),
            "decided_before": len(choice.decided),
            "over_draft_cap": len(left),
            "too_old": len(rows) - len(recent),
        },
        notes=tuple(notes_on(choice, support, recent, rule, too_old=len(rows) - len(recent))),
        kept=frozenset(row.episode for row in recent if row.key in left),
    )


def _may_be_drafted(key: str) -> bool:
    """Whether a pattern may be a procedure: one call alone, and which tools there are, are none."""
    return key != TOOLS_KEY and len(names_of(key)) != 1


def _aside(
    view: View,
    support: Mapping[str, Support],
    standing: Mapping[str, Standing],
    rule: ProcedureRule,
) -> Mapping[tuple[str, ...], Aside]:
    """The runs of calls that say nothing of their own, judged by what was ever seen around them."""
    new = [key for key in promotable(support, rule) if standing[key].draft is None]
    touched = [run for key in new if (run := names_of(key))]
    if not touched:
        return {}
    since = window_start(view.now, rule.recency_days * 24)

    def tallied(runs: Iterable[tuple[str, ...]]) -> dict[str, Support]:
        found = view.tally(rule.reader.identity, map(key_of, runs), since=since)
        return {key: _support(tally) for key, tally in found.items()}

    around = tallied(runs_around(touched, _tools(view, touched, rule)))
    runs = {names_of(key): around[key].sessions for key in promotable(around, rule)}
    parts = tallied(parts_of(runs))
    return set_aside(runs, {names_of(key): found.sessions for key, found in parts.items()})


def _tools(view: View, runs: Iterable[tuple[str, ...]], rule: ProcedureRule) -> list[str]:
    """The tools of these runs, and those that the agent used lately."""
    since = window_start(view.now, rule.recency_days * 24)
    most = view.limits.history_per_key
    used = view.sightings(rule.reader.identity, [TOOLS_KEY], since=since, per_key=most)
    lately = {name for row in used.get(TOOLS_KEY, ()) for name in row.body["names"]}
    return sorted(lately.union(*runs))


def _counts_of(choice: Choice, aside: Mapping[tuple[str, ...], Aside]) -> dict[str, int]:
    """How many patterns were set aside, by the reason."""
    reasons = Counter(aside[names_of(key)] for key in choice.aside)
    return {name: reasons[reason] for reason, name in _ASIDE_COUNTS.items()}


def _support(tally: Tally) -> Support:
    return Support(sessions=tally.sessions, successes=tally.successes, failures=tally.failures)


def _extend(
    view: View,
    keys: Sequence[str],
    standing: Mapping[str, Standing],
    support: Mapping[str, Support],
    recent: Sequence[Seen],
) -> list[Change]:
    if not keys:
        return []
    wanted = set(keys)
    occurrences = _occurrences(view, [row for row in recent if row.key in wanted])
    found = {
        key: (draft, support[key], occurrences.get(key, []))
        for key in keys
        if (draft := standing[key].draft) is not None
    }
    return drafts_extended(view, found)


def _draft(
    view: View,
    keys: Sequence[str],
    standing: Mapping[str, Standing],
    support: Mapping[str, Support],
    rule: ProcedureRule,
) -> list[Change]:
    if not keys:
        return []
    since = window_start(view.now, rule.recency_days * 24)
    most = view.limits.history_per_key
    sightings = view.sightings(rule.reader.identity, keys, since=since, per_key=most)
    occurrences = _occurrences(view, [row for rows in sightings.values() for row in rows])
    before = turns_before(view, occurrences)
    requests = {key: requests_in(found, before) for key, found in occurrences.items()}
    triggers = triggers_of({key: found for key, found in requests.items() if names_of(key)})
    changes: list[Change] = []
    for key in (key for key in keys if key in occurrences):
        found, stands = occurrences[key], standing[key]
        draft = draft_of(
            [with_said(each, before) for each in found],
            support[key],
            id=view.identify("procedure", stands.key),
            scope=view.scope,
            key=stands.key,
            origin="calls" if names_of(key) else "stated",
            now=view.now,
            half_life_hours=view.half_life_hours,
            requests=requests[key],
            trigger=triggers.get(key, ""),
            would_change=None if stands.decided is None else stands.decided.id,
        )
        episodes = [one for each in found for one in each.episodes]
        reason = f"seen in {support[key]}; threshold {rule.min_pattern_count}"
        shown = min(most, EVIDENCE)
        changes += draft_added(draft, [*episodes, *requests[key]], reason, most=shown)
    return changes


def _occurrences(view: View, rows: Sequence[Seen]) -> dict[str, list[Occurrence]]:
    """What the sightings that did not fail show, by key, oldest first."""
    done = [row for row in rows if row.ok is not False]
    episodes = view.records(places_of(done))
    found: dict[str, list[Occurrence]] = {}
    for row in done:
        occurrence = occurrence_of(row, episodes)
        if occurrence is not None:
            found.setdefault(row.key, []).append(occurrence)
    return found
