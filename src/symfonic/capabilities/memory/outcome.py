"""How a phase, a run and a sleep ended, as values that every interface shows alike."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.records import RecordId, Seen

RunStatus = Literal["planned", "held", "committed", "undone", "abandoned"]
RunKind = Literal["deep", "light", "undo", "redo", "user", "ingest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The phase looked, and proposes ``changes``, which may be none.

    ``looked_at`` counts what it examined and ``counts`` says more by name, so that a zero explains
    itself. ``left`` is what a further pass of the same sleep would take up, for a phase that is
    driven by state; pending rows are counted by the engine. ``notes`` are sentences for a reviewer:
    what was seen and not proposed, and why. ``kept`` are records that stay pending because a cap
    for the whole sleep left them over; they call for no further pass. ``seen`` are rows that a rule
    keeps about what it looked at, so that later runs can count without looking again. ``evidence``
    names, per group id, the episodes of this pass that speak for a group whose changes name none.
    """

    changes: tuple[Change, ...] = ()
    looked_at: int = 0
    left: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kept: frozenset[RecordId] = frozenset()
    seen: tuple[Seen, ...] = ()
    evidence: Mapping[str, frozenset[RecordId]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The phase did not look, and why: a collaborator was not composed, or is missing.

    ``knob`` names the policy field or argument that would compose it.
    """

    reason: str
    knob: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The phase raised. Only the engine makes one."""

    reason: str
    traceback: str


Outcome = Ran | Declined | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """One phase of one run, as shown and as stored. A held one ran, and a person is to decide."""

    name: str
    outcome: Literal["ran", "declined", "failed", "held"]
    reason: str = ""
    knob: str = ""
    looked_at: int = 0
    changes: int = 0
    left: int = 0
    reread: int = 0
    dropped: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One run: a pass of a sleep, a plan, an undo or a user's edit.

    ``digest`` is of the planned changes, ``input_digest`` of everything they were planned from.
    ``settings`` maps each knob to its value, ``sources`` to where the value came from.
    """

    run_id: str
    scope: str
    kind: RunKind
    status: RunStatus
    clock: str
    digest: str = ""
    input_digest: str = ""
    change_count: int = 0
    phases: tuple[PhaseReport, ...] = ()
    fingerprint: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    duration_ms: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values by field name, for ``--json`` and the run row."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """A run planned again from its recorded input.

    ``equal``: the same input gave the same changes. ``different``: ``reason`` says what differs and
    ``first_difference`` names the first change that does. ``input-gone``: what the run was planned
    from was forgotten, compacted or never recorded, so nothing can be said.
    """

    run_id: str
    outcome: Literal["equal", "different", "input-gone"]
    reason: str = ""
    digest: str = ""
    replayed: str = ""
    first_difference: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values by field name, for ``--json``."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepReport:
    """The passes of one sleep, in order; the last one says what is left.

    ``held`` names the plan that waits for a person, because a phase would have hidden too much.
    """

    passes: tuple[RunReport, ...] = ()
    held: str | None = None

    @property
    def change_count(self) -> int:
        return sum(run.change_count for run in self.passes)

    @property
    def failed(self) -> tuple[PhaseReport, ...]:
        return tuple(p for run in self.passes for p in run.phases if p.outcome == "failed")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {"passes": [run.as_dict() for run in self.passes], "held": self.held}
