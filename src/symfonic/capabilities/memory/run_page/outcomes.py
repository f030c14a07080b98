"""How the phases ended: what each looked at, changed and left, what declined, what was noted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.run_page.commands import command
from symfonic.capabilities.memory.run_page.markup import Html, excerpt, joined, tag
from symfonic.capabilities.memory.run_page.wording import counted, phase_title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symfonic.capabilities.memory.run_page.story import RunStory

_WORST: Final = ("ran", "held", "declined", "failed")
_NOTES: Final = 40
"""Notes of one phase; the rest is counted."""

_NOTE: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A phase over all passes: sums, the worst end, and what the last pass left."""

    name: str
    outcome: str = "ran"
    reason: str = ""
    knob: str = ""
    looked_at: int = 0
    changes: int = 0
    left: int = 0
    reread: int = 0
    dropped: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def outcomes(story: RunStory) -> list[Outcome]:
    """The phases of a story's reports, in their order."""
    found: dict[str, Outcome] = {}
    for run in story.runs:
        for report in run.report.get("phases", ()):
            known = found.get(report["name"], Outcome(name=report["name"]))
            found[known.name] = _with(known, report)
    return list(found.values())


def phases_of(phases: Sequence[Outcome]) -> Html | None:
    """A table of the phases, and under it what each counted."""
    if not phases:
        return None
    titles = ("Phase", "Looked at", "Changes", "Left")
    head = tag("tr", *(tag("th", name, scope="col") for name in titles))
    return joined([
        tag("h2", "What each phase did", id="phases"),
        tag("table", tag("caption", "The phases of the run, in their order", class_="unseen"),
            tag("thead", head), tag("tbody", *(_row(phase) for phase in phases)), class_="phases"),
    ])  # fmt: skip


def declined_of(phases: Sequence[Outcome], settings: Mapping[str, Any], scope: str) -> Html | None:
    """What did not look or did not end, why, and what a person can do about it."""
    idle = [phase for phase in phases if phase.outcome != "ran"]
    if not idle:
        return None
    return joined([
        tag("h2", "What declined", id="declined"),
        tag("p", "A phase that declines did not look. It keeps what it has not read."),
        *(tag("section", tag("h3", phase_title(phase.name), " ",
                             tag("span", phase.outcome, class_="badge warn")),
              tag("p", excerpt(phase.reason, 800)), _advice(phase, settings, scope),
              class_="notice") for phase in idle),
    ])  # fmt: skip


def left_of(phases: Sequence[Outcome], scope: str) -> Html:
    """The backlog, and the command that goes on with it."""
    waiting = [phase for phase in phases if phase.left]
    if not waiting:
        body = tag("p", "Nothing: every phase that looked came to the end of its work.")
    else:
        body = joined([
            tag("ul", *(tag("li", f"{phase_title(phase.name)}: {phase.left:,}")
                        for phase in waiting)),
            tag("p", "The next night goes on with it, or: ",
                command("sleep", "--scope", scope)),
        ])  # fmt: skip
    return joined([tag("h2", "What is left", id="left"), body])


def notes_of(story: RunStory, phases: Sequence[Outcome]) -> Html | None:
    """What the run and its phases remarked: a raised clock, what was reread, dropped or nearly."""
    general = list(
        dict.fromkeys(note for run in story.runs for note in run.report.get("notes", ()))
    )
    told = [joined([tag("li", excerpt(note, _NOTE)) for note in general])] if general else []
    parts = [tag("ul", *told)] if told else []
    for phase in phases:
        lines = _noted(phase)
        if lines:
            shown = [tag("li", excerpt(line, _NOTE)) for line in lines[:_NOTES]]
            more = len(lines) - len(shown)
            rest = tag("p", f"and {more:,} more", class_="more") if more else None
            title = tag("h3", phase_title(phase.name))
            parts.append(tag("section", title, tag("ul", *shown), rest))
    return joined([tag("h2", "Notes", id="notes"), *parts]) if parts else None


def _with(known: Outcome, report: Mapping[str, Any]) -> Outcome:
    ended = str(report.get("outcome", "ran"))
    worse = _rank(ended) >= _rank(known.outcome)
    notes = [note for note in report.get("notes", ()) if note not in known.notes]
    return replace(
        known,
        outcome=ended if worse else known.outcome,
        reason=str(report.get("reason", "")) if worse else known.reason,
        knob=str(report.get("knob", "")) if worse else known.knob,
        looked_at=known.looked_at + int(report.get("looked_at", 0)),
        changes=known.changes + int(report.get("changes", 0)),
        left=int(report.get("left", 0)),
        reread=known.reread + int(report.get("reread", 0)),
        dropped=known.dropped + int(report.get("dropped", 0)),
        counts=dict(report.get("counts", {})),
        notes=(*known.notes, *notes),
    )


def _rank(outcome: str) -> int:
    return _WORST.index(outcome) if outcome in _WORST else len(_WORST)


def _row(phase: Outcome) -> Html:
    ended = None
    if phase.outcome != "ran":
        ended = tag("span", phase.outcome, class_="badge warn")
    counts = " · ".join(
        f"{name.replace('_', ' ')} {number:,}"
        for name, number in phase.counts.items()
        if number and name != "left"
    )
    looked = "—" if phase.outcome == "declined" else f"{phase.looked_at:,}"
    return tag(
        "tr",
        tag("th", tag("span", phase_title(phase.name)), " ", ended,
            tag("small", counts) if counts else None, scope="row"),
        tag("td", looked), tag("td", f"{phase.changes:,}"), tag("td", f"{phase.left:,}"),
    )  # fmt: skip


def _advice(phase: Outcome, settings: Mapping[str, Any], scope: str) -> Html | None:
    """What would make a phase look."""
    if phase.outcome == "failed":
        return tag("p", "Nothing of it was written, and it keeps what it read. Mend the cause, "
                   "then: ", command("sleep", "--scope", scope))  # fmt: skip
    if not phase.knob:
        return None
    if settings.get(phase.knob) is False:
        words = ("sleep", "--scope", scope, "--set", f"{phase.knob}=true")
        return tag("p", "To have it look: ", command(*words))
    return tag("p", "What decides it is ", tag("code", phase.knob), ".")


def _noted(phase: Outcome) -> list[str]:
    said = []
    if phase.reread:
        said.append(f"{counted(phase.reread, 'record')} read again, because a knob changed.")
    if phase.dropped:
        said.append(
            f"{counted(phase.dropped, 'change')} held back, because a person undid or forgot it."
        )
    return [*said, *phase.notes]
