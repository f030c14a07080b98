"""Archive what has ended or faded, reversibly, and only what nobody would look for.

Memory that never lets go drowns what is current in what was. But a job that hides the wrong thing
is worse than none: so nothing is deleted, what people said is never hidden by age alone unless a
deployment asks for it, and what anybody used, noted or changed lately stays. Archived records
remain evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from symfonic.capabilities.memory.changes import Group, set_state
from symfonic.capabilities.memory.outcome import Ran
from symfonic.capabilities.memory.phase import Phase
from symfonic.capabilities.memory.policy import window_start
from symfonic.capabilities.memory.store import ExpiryRule
from symfonic.capabilities.memory.strength import START, log_strength_at, strength_at

if TYPE_CHECKING:
    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.records import Record, RecordId
    from symfonic.capabilities.memory.view import View

NAME: Final = "expire"


def expire() -> Phase:
    """A phase archiving working notes past their expiry, ended facts, weak derived records, and
    episodes past ``episode_days`` where a deployment sets it.

    Never declines. What counts as weak, and for how long a record is left in peace, is the
    retention policy's; a pass archives at most ``expire_max_records_per_run``, longest due first.
    Pinned records, identity facts, decided procedures and what a visible record rests on stay.
    """
    return Phase(name=NAME, settings={}, reading={}, propose=_propose)


def _propose(view: View) -> Ran:
    most = view.limits.expire_max_records_per_run
    changes: list[Change] = []
    counts: dict[str, int] = {}
    taken: set[RecordId] = set()
    looked_at = stays = 0
    for rule in _rules(view):
        found, total = view.expiring(rule, limit=most)
        named_before = sum(record.id in taken for record in found)
        due = [record for record in found if record.id not in taken][: most - len(changes)]
        weak_enough = [r for r in due if rule.name != "weak" or _is_weak(view, r)]
        looked_at += total - named_before
        stays += len(due) - len(weak_enough)
        counts[rule.name] = len(weak_enough)
        taken.update(record.id for record in weak_enough)
        changes += [_archived(view, rule, record) for record in weak_enough]
    return Ran(
        changes=tuple(changes),
        looked_at=looked_at,
        left=looked_at - len(changes) - stays,
        counts=counts,
    )


def _rules(view: View) -> list[ExpiryRule]:
    kept, now = view.retention, view.now
    grace = window_start(now, kept.grace_days * 24)
    weak = log_strength_at(kept.archive_threshold, now, view.half_life_hours)
    rules = [
        ExpiryRule(name="notes", phase=NAME, before=now),
        ExpiryRule(name="facts", phase=NAME, before=grace),
        ExpiryRule(name="weak", phase=NAME, before=grace, weaker_than=weak),
    ]
    if kept.episode_days is not None:
        oldest = window_start(now, kept.episode_days * 24)
        rules.append(ExpiryRule(name="old", phase=NAME, before=oldest))
    return rules


def _is_weak(view: View, record: Record) -> bool:
    """The stored number is compared first; what is read decides, which never exceeds 1."""
    now = strength_at(record.strength, view.now, view.half_life_hours)
    return now < view.retention.archive_threshold


def _archived(view: View, rule: ExpiryRule, record: Record) -> Change:
    group = Group(phase=NAME, kind="archive", id=record.id)
    return set_state(group, record, "archived", _reason(view, rule, record))


def _reason(view: View, rule: ExpiryRule, record: Record) -> str:
    """Why it goes, in words that stay the same: a plan that waits is kept while it is equal."""
    match rule.name:
        case "notes":
            return f"It expired at {_when(record)}."
        case "facts":
            return f"It was true until {_when(record)}, and {view.retention.grace_days} days more."
        case "weak":
            threshold, days = view.retention.archive_threshold, view.retention.grace_days
            faded = f"Its strength fell below {threshold:g} on {_faded(view, record)}"
            return f"{faded}, and nobody used or changed it for {days} days."
        case "old":
            said = f"It is from {record.at.date().isoformat()}"
            return f"{said}; episodes are kept for {view.retention.episode_days} days."
        case never:
            assert_never(never)


def _when(record: Record) -> str:
    return "" if record.until is None else record.until.isoformat(timespec="minutes")


def _faded(view: View, record: Record) -> str:
    """The day on which the record's strength fell below the threshold."""
    level = log_strength_at(view.retention.archive_threshold, START, view.half_life_hours)
    hours = (level - record.strength) / 1000 * view.half_life_hours
    return window_start(START, hours).date().isoformat()
