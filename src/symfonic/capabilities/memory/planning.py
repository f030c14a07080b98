"""One pass, planned: read, ask, propose. It holds no write lock and writes nothing.

The plan is everything a commit needs. The same function serves the dry run and the real one, so
they cannot differ.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from symfonic.capabilities.memory.changes import output_digest
from symfonic.capabilities.memory.gathering import (
    Gathered,
    Sleep,
    ask,
    attempt,
    read,
    select,
    view_of,
)
from symfonic.capabilities.memory.outcome import (
    Declined,
    Failed,
    PhaseReport,
    Ran,
    RunReport,
)
from symfonic.capabilities.memory.recording import Recorder, sealed
from symfonic.capabilities.memory.records import HIDDEN_STATES, READABLE_STATES, canonical
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.uncollected import uncollected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.outcome import Outcome
    from symfonic.capabilities.memory.phase import Phase
    from symfonic.capabilities.memory.readers import PassReader
    from symfonic.capabilities.memory.records import RecordId
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import MemoryReader, MemoryStore, ScopeState
    from symfonic.capabilities.memory.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A planned pass: what to commit, how to report it, and whether another one has work to do.

    ``hides`` says per phase how many records this pass takes out of recall, ``would_hide`` how many
    the phase would in all its passes.
    """

    commit: Commit
    phases: tuple[PhaseReport, ...]
    backlog: bool
    kept: Mapping[str, frozenset[RecordId]]
    hides: Mapping[str, int]
    would_hide: Mapping[str, int]

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write but that it ran."""
        commit = self.commit
        return not (commit.changes or commit.done or commit.seen or commit.reread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How one phase of a pass ended, and those of its changes that stand."""

    phase: Phase
    outcome: Outcome
    changes: tuple[Change, ...]
    duration_ms: float


def _no_beat() -> None:
    """Nothing has to be kept alive."""


def plan_pass(
    store: MemoryStore,
    scope: Scope,
    phases: Sequence[Phase],
    sleep: Sleep,
    *,
    watch: Callable[[str], None],
    beat: Callable[[], None] = _no_beat,
    absent: Sequence[Phase] = (),
) -> Plan:
    """Plan one pass of ``phases`` over a scope; ``absent`` are those of the roster that it leaves
    out, for which what it writes stays unread. ``watch`` is told the phase that comes next, and
    ``beat`` is called between the readers and questions, which may be slow.

    Readers and answerers work between snapshots, so that a slow model holds nothing open.
    """
    reading, recorder = Gathered(), Recorder()
    with store.snapshot(scope) as reader:
        unread = select(recorder.over(reader), phases, sleep, reading)
    read(phases, unread, reading, beat)
    ask(store, scope, phases, sleep, reading, beat)
    with store.snapshot(scope) as reader, uncollected():
        view, done = propose(recorder.over(reader), phases, sleep, reading, watch)
        recording = _recording(recorder, phases, sleep, reading, reader.state)
        return _assemble(reader, view, done, sleep, reading, absent, recording)


def propose(
    reader: PassReader,
    phases: Sequence[Phase],
    sleep: Sleep,
    reading: Gathered,
    watch: Callable[[str], None],
) -> tuple[View, list[Done]]:
    """What each phase proposes, in order; also where a recording answers instead of a store."""
    view = view_of(reader, phases, sleep, reading)
    _drop_vanished(view, phases, reading)
    return view, [_propose(phase, view, reader, reading, watch) for phase in phases]


def _drop_vanished(view: View, phases: Sequence[Phase], reading: Gathered) -> None:
    """Forget what was read in episodes that were erased while the readers worked."""
    for phase in phases:
        if phase.reader is None or phase.reader.identity not in reading.fresh:
            continue
        there = {record.id for record in view.unread(phase.name)}
        identity = phase.reader.identity
        reading.fresh[identity] = [s for s in reading.fresh[identity] if s.episode in there]


def _propose(
    phase: Phase,
    view: View,
    reader: PassReader,
    reading: Gathered,
    watch: Callable[[str], None],
) -> Done:
    """Let one phase propose, drop what a person undid, and fold the rest into the view."""
    watch(phase.name)
    started = time.perf_counter()
    changes: tuple[Change, ...] = ()
    outcome: Outcome | None = reading.failed.get(phase.name)
    if outcome is None:
        outcome = attempt(phase, partial(phase.propose, view))
    if isinstance(outcome, Ran):
        changes = _standing(phase, outcome, reader)
        view.fold(changes)
    duration = (time.perf_counter() - started) * 1000
    return Done(phase=phase, outcome=outcome, changes=changes, duration_ms=duration)


def _standing(phase: Phase, ran: Ran, reader: PassReader) -> tuple[Change, ...]:
    """The changes without the groups that a person undid or forgot.

    A group that was undone comes back only with evidence that arrived later; one about a forgotten
    record never does.
    """
    changes = ran.changes
    groups = sorted({c.group.id for c in changes if not c.derived})
    if not groups:
        return changes
    blocked = {i for i, state in reader.states(groups).items() if state == "forgotten"}
    undone = reader.undone(phase.name, groups)
    if undone:
        ends: dict[str, set[str]] = {group: {*ran.evidence.get(group, ())} for group in undone}
        for change in changes:
            if change.group.id in undone:
                ends.setdefault(change.group.id, set()).update(str(part) for part in change.row)
        ids = sorted({i for row in ends.values() for i in row})
        seq = {r.id: r.seq for r in reader.records(ids) if r.kind == "episode"}
        for group, rows in ends.items():
            latest = max((seq[i] for i in rows if i in seq), default=0)  # type: ignore[index]
            if latest <= undone[group]:
                blocked.add(group)
    return tuple(c for c in changes if c.derived or c.group.id not in blocked)


def _assemble(
    reader: MemoryReader,
    view: View,
    done: Sequence[Done],
    sleep: Sleep,
    reading: Gathered,
    absent: Sequence[Phase],
    recording: Mapping[str, Any],
) -> Plan:
    """Everything the commit writes, and the report of it."""
    state = reader.state
    changes = tuple(change for part in done for change in part.changes)
    ran = [part for part in done if isinstance(part.outcome, Ran)]
    prints = {part.phase.name: canonical(dict(part.phase.reading)) for part in ran}
    reread = _reread(state, sleep.kind, [part.phase for part in ran], prints)
    readers = {p.phase.reader.identity for p in ran if p.phase.reader is not None}
    phases = tuple(_phase_report(reader, part, reading, reread) for part in done)
    queue = _queue(done, absent)
    cleared = [
        row
        for part in ran
        if isinstance(part.outcome, Ran)
        for row in reading.taken.get(part.phase.name, ())
        if row.record not in part.outcome.kept
    ]
    commit = Commit(
        kind=sleep.kind,
        clock=sleep.now,
        changes=changes,
        digest=output_digest(changes),
        input_digest=view.input_digest(header(state, phases_of(done), sleep)),
        read=view.handed_out,
        done=tuple(cleared),
        seen=(
            *(s for i in sorted(readers) for s in reading.fresh.get(i, ())),
            *(s for part in ran if isinstance(part.outcome, Ran) for s in part.outcome.seen),
        ),
        answers=tuple(
            given.answer
            for _, given in sorted(sleep.answered.items())
            if given is not None and given.phase in {part.phase.name for part in ran}
        ),
        queue=queue,
        reread=reread,
        reading=prints,
        recording=recording,
    )
    work = bool(reread or queue.keys() & {part.phase.name for part in ran}) or any(
        p.left for p in phases if p.outcome == "ran"
    )
    kept = {
        part.phase.name: sleep.kept.get(part.phase.name, frozenset()) | part.outcome.kept
        for part in ran
        if isinstance(part.outcome, Ran)
    }
    moved = bool(changes or reread) or any(reading.taken.get(part.phase.name) for part in ran)
    hides = Counter(c.group.phase for c in changes if c.after.get("state") in HIDDEN_STATES)
    return Plan(
        commit=commit,
        phases=phases,
        backlog=work and moved,
        kept=kept,
        hides=hides,
        would_hide={p.name: hides[p.name] + p.left for p in phases if hides[p.name]},
    )


def _recording(
    recorder: Recorder,
    phases: Sequence[Phase],
    sleep: Sleep,
    reading: Gathered,
    state: ScopeState,
) -> dict[str, Any]:
    """What a replay needs: what the store answered, and what else the pass went by."""
    return sealed(
        {
            **recorder.packed(),
            "spread_since": sleep.spread_since.isoformat(),
            "spent": dict(sleep.spent),
            "half_life_hours": state.half_life_hours,
            "phases": [[phase.name, dict(phase.settings)] for phase in phases],
            "failed": sorted(reading.failed),
            "questions": sorted(reading.answers),
        }
    )


def _reread(
    state: ScopeState, kind: str, phases: Sequence[Phase], prints: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """The phases whose reading settings are not those of their last run, and what they read."""
    last = state.settings.get(kind, {})
    return {
        phase.name: phase.rereads
        for phase in phases
        if phase.rereads and phase.name in last and last[phase.name] != prints[phase.name]
    }


def _queue(done: Sequence[Done], absent: Sequence[Phase]) -> dict[str, tuple[str, ...]]:
    """What this pass writes is unread for a phase that did not end as ``Ran`` after it."""
    queued: dict[str, tuple[str, ...]] = {}
    for phase in absent:
        rows = {row for w in done for c in w.changes if (row := _unread_row(c, phase)) is not None}
        if rows:
            queued[phase.name] = tuple(sorted(rows))
    for place, reading in enumerate(done):
        phase = reading.phase
        wanted: set[str] = set()
        for writer in done[place + 1 :] if isinstance(reading.outcome, Ran) else done:
            wanted.update(row for c in writer.changes if (row := _unread_row(c, phase)) is not None)
        if wanted:
            queued[phase.name] = tuple(sorted(wanted))
    return queued


def _unread_row(change: Change, phase: Phase) -> str | None:
    """The record that a change makes unread for a phase: a new one, one whose strength moves, or
    one that a link now leaves.
    """
    match change.table, change.operation:
        case "record", "add" if change.after["kind"] in phase.reads:
            return str(change.row[0])
        case "record", "edit" if phase.reads_touched and "occurred_at" in change.after:
            return str(change.row[0])
        case "link", "add" if phase.reads_touched and change.row[1] == "mentions":
            return str(change.row[2])
        case "link", "add" if phase.reads_mentions and change.row[1] == "mentions":
            return str(change.row[0])
    return None


def phases_of(done: Sequence[Done]) -> list[Phase]:
    """The phases of a pass, in order."""
    return [part.phase for part in done]


def header(state: ScopeState, phases: Sequence[Phase], sleep: Sleep) -> dict[str, Any]:
    """What the input consists of besides rows: settings, limits, clock and salt."""
    return {
        "scope": state.path,
        "salt": state.salt.hex(),
        "clock": sleep.now.isoformat(),
        "spread_since": sleep.spread_since.isoformat(),
        "retention": asdict(sleep.retention),
        "limits": asdict(sleep.limits),
        "phases": [[phase.name, dict(phase.settings)] for phase in phases],
    }


def _phase_report(
    reader: MemoryReader,
    part: Done,
    reading: Gathered,
    reread: Mapping[str, tuple[str, ...]],
) -> PhaseReport:
    name = part.phase.name
    waiting = reading.totals.get(name, 0)
    duration = round(part.duration_ms, 3)
    match part.outcome:
        case Ran() as ran:
            done = reading.taken.get(name, ())
            again = _count(reader, reread[name]) - len(done) if name in reread else 0
            left = waiting - len(reading.taken.get(name, ())) + ran.left
            return PhaseReport(
                name=name,
                outcome="ran",
                looked_at=ran.looked_at,
                changes=len(part.changes),
                left=left,
                reread=again,
                dropped=len(ran.changes) - len(part.changes),
                counts=dict(ran.counts),
                notes=ran.notes,
                duration_ms=duration,
            )
        case Declined() as declined:
            return PhaseReport(
                name=name,
                outcome="declined",
                reason=declined.reason,
                knob=declined.knob,
                left=waiting,
                duration_ms=duration,
            )
        case Failed() as failed:
            return PhaseReport(
                name=name,
                outcome="failed",
                reason=failed.reason,
                notes=(failed.traceback,),
                left=waiting,
                duration_ms=duration,
            )
        case never:
            assert_never(never)


def _count(reader: MemoryReader, kinds: Sequence[str]) -> int:
    """How many records of these kinds there are that a phase could read."""
    records: dict[str, dict[str, int]] = reader.stats()["records"]
    return sum(
        count
        for kind in kinds
        for state, count in records.get(kind, {}).items()
        if state in READABLE_STATES
    )


def describe(commit: Commit, phases: tuple[PhaseReport, ...], **facts: Any) -> RunReport:  # noqa: ANN401
    """The report of a planned or committed pass."""
    return RunReport(
        kind=commit.kind,
        clock=commit.clock.isoformat(),
        digest=commit.digest,
        input_digest=commit.input_digest,
        change_count=len(commit.changes),
        phases=phases,
        **facts,
    )
