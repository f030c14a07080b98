"""Replay: a run planned again from its recorded input, and held against what it did.

It writes nothing and asks no model: readers of this package read the recorded episodes again, and
what another collaborator found or answered comes from what the store kept of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.changes import output_digest
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.gathering import Gathered, Sleep, read, select
from symfonic.capabilities.memory.outcome import Failed, ReplayReport
from symfonic.capabilities.memory.planning import header, phases_of, propose
from symfonic.capabilities.memory.recording import Diverged, InputGone, Recorded, check_seal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.records import Record, Seen
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.store import JournalRow, MemoryReader, RunRow


def replay(
    reader: MemoryReader,
    number: int,
    roster: Sequence[Phase],
    *,
    retention: RetentionPolicy,
    limits: RunLimits,
    pure: frozenset[str],
) -> ReplayReport:
    """Plan the run ``number`` again with ``roster``, built from the run's own settings.

    ``pure`` names the phases whose reader is this package's: it reads again. What another reader
    found is taken from the store.

    Raises ``InputError`` for a run that was not planned from memory, such as an undo, an edit or an
    ingest, and for a plan that was not carried out.
    """
    run = reader.run(number)
    name = f"{run.scope}#{number}"
    if run.kind not in {"deep", "light"}:
        raise InputError(
            f"The run {name} is of kind {run.kind}; only maintenance runs can be replayed.",
            run=name,
        )
    if run.status not in {"committed", "undone"}:
        raise InputError(
            f"The run {name} is {run.status}; only what was carried out can be replayed. "
            "'symfonic-memory apply' carries out a plan.",
            run=name,
        )
    try:
        changes, digest = _planned_again(
            reader, run, roster, retention=retention, limits=limits, pure=pure
        )
    except InputGone as gone:
        return ReplayReport(run_id=name, outcome="input-gone", reason=f"{gone}.", digest=run.digest)
    except Diverged:
        changes, digest = (), ""
    again = output_digest(changes)
    if digest == run.input_digest and again == run.digest:
        return ReplayReport(run_id=name, outcome="equal", digest=run.digest, replayed=again)
    return ReplayReport(
        run_id=name,
        outcome="different",
        reason=_why(run, roster, same_input=digest == run.input_digest),
        digest=run.digest,
        replayed=again,
        first_difference=_first_difference(reader.journal(number), changes) if digest else "",
    )


def _planned_again(
    reader: MemoryReader,
    run: RunRow,
    roster: Sequence[Phase],
    *,
    retention: RetentionPolicy,
    limits: RunLimits,
    pure: frozenset[str],
) -> tuple[tuple[Change, ...], str]:
    """The changes, and the digest of the input they were planned from."""
    kept = run.plan
    if run.compacted or not kept:
        message = "'compact' has dropped what the run was planned from"
        raise InputGone(message)
    check_seal(kept)
    names = [name for name, _ in kept["phases"]]
    by_name = {phase.name: phase for phase in roster}
    phases = [by_name[name] for name in names if name in by_name]
    recorded = Recorded(kept, reader, half_life_hours=kept["half_life_hours"])
    sleep = Sleep(
        now=run.clock,
        kind=run.kind,  # type: ignore[arg-type]
        spread_since=datetime.fromisoformat(kept["spread_since"]),
        retention=retention,
        limits=limits,
        spent=kept["spent"],
    )
    reading = Gathered()
    unread = select(recorded, phases, sleep, reading)
    _read_again(reader, phases, unread, reading, pure)
    for failed in kept["failed"]:
        reading.failed[failed] = Failed(reason="It failed when the run was planned.", traceback="")
    reading.answers |= reader.answers(kept["questions"])
    if len(reading.answers) < len(kept["questions"]):
        message = "answers that it was given are not kept any more"
        raise InputGone(message)
    view, done = propose(recorded, phases, sleep, reading, _unwatched)
    if not recorded.is_used_up:
        raise Diverged
    changes = tuple(change for part in done for change in part.changes)
    return changes, view.input_digest(header(recorded.state, phases_of(done), sleep))


def _read_again(
    reader: MemoryReader,
    phases: Sequence[Phase],
    unread: Mapping[str, Sequence[tuple[Record, Sequence[Record]]]],
    reading: Gathered,
    pure: frozenset[str],
) -> None:
    read([phase for phase in phases if phase.name in pure], unread, reading, _unheard)
    for phase in phases:
        if phase.reader is None or phase.name in pure:
            continue
        identity = phase.reader.identity
        episodes = [episode.id for episode, _ in unread.get(phase.name, ())]
        found: list[Seen] = sorted(
            reader.seen(identity, episodes), key=lambda s: (s.at, s.episode, s.kind, s.key)
        )
        if {row.episode for row in found} < set(episodes):
            message = f"what {identity} had found is not kept any more"
            raise InputGone(message)
        reading.fresh[identity] = found


def _why(run: RunRow, roster: Sequence[Phase], *, same_input: bool) -> str:
    """What differs, as far as it can be told."""
    now = {phase.name: dict(phase.settings) for phase in roster}
    for name, settings in run.plan["phases"]:
        if name not in now:
            return f"This release has no phase {name}."
        changed = sorted(
            knob for knob in settings.keys() | now[name].keys()
            if settings.get(knob) != now[name].get(knob)
        )  # fmt: skip
        if changed:
            knob = changed[0]
            return (
                f"{name} was run with {knob} = {settings.get(knob)!r}, and has "
                f"{now[name].get(knob)!r} now: a collaborator of another version, or one that was "
                "not given."
            )
    if same_input:
        return "The same input gives other changes: the code of a phase differs."
    return "The phases ask something else of memory: their code, or a reader's, differs."


def _first_difference(journal: Sequence[JournalRow], changes: Sequence[Change]) -> str:
    """The first place at which the replayed changes leave the recorded ones, in a sentence."""
    for place, (row, change) in enumerate(zip(journal, changes, strict=False), start=1):
        was, now = _plain(row.change), _plain(change)
        if was != now:
            return f"Change {place} was {_told(row.change)} and is {_told(change)}."
    if len(journal) > len(changes):
        return f"Change {len(changes) + 1} is missing: {_told(journal[len(changes)].change)}."
    if len(changes) > len(journal):
        return f"Change {len(journal) + 1} is new: {_told(changes[len(journal)])}."
    return ""


def _plain(change: Change) -> tuple[Any, ...]:
    after = {name: value for name, value in change.after.items() if name != "recorded_at"}
    return (str(change.group), change.operation, change.table, tuple(change.row), after)


def _told(change: Change) -> str:
    columns = ", ".join(sorted(change.after)) or "nothing"
    row = " ".join(str(part) for part in change.row)
    return f"{change.operation} {change.table} {row} ({columns}) of {change.group}"


def _unwatched(phase: str) -> None:
    """Nobody follows a replay."""


def _unheard() -> None:
    """A replay holds no lease."""
