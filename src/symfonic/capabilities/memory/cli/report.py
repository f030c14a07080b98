"""The report of a sleep or a plan as text: what each phase looked at, changed, declined and left.

The first lines name what did not look and the knob that would change it: a night that learnt
nothing must not read like a night with nothing to learn.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.cli.output import (
    count,
    duration,
    indented,
    panel,
    plain,
    shorten,
    table,
    when,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, RenderableType
    from rich.text import Text

    from symfonic.capabilities.memory.outcome import PhaseReport, RunReport

_RANK: Final = {"ran": 0, "held": 1, "declined": 2, "failed": 3}
_STYLE: Final = {"ran": "green", "held": "bold yellow", "declined": "yellow", "failed": "bold red"}
_NOTES: Final = 5
_NAMED_RUNS: Final = 3


def print_report(
    console: Console, passes: Sequence[RunReport], *, title: str, every_note: bool = False
) -> None:
    """The whole report of the passes of one sleep, or of one plan."""
    from rich.text import Text

    phases = totals(passes)
    console.print(panel(title, *_head(passes, phases)))
    console.print(_phase_table(phases))
    console.print()
    for phase in phases:
        for line in _explained(phase, single=len(passes) == 1, every_note=every_note):
            console.print(line)
    changed = list(_settings(passes[-1].settings, passes[-1].sources))
    if changed:
        console.print(Text("\nKnobs that are not at their default", "bold"))
        for line in changed:
            console.print(line)


def totals(passes: Sequence[RunReport]) -> list[PhaseReport]:
    """Each phase over all passes: sums, the worst outcome, and what the last pass left and said."""
    rows: dict[str, PhaseReport] = {}
    for run in passes:
        for phase in run.phases:
            known = rows.get(phase.name)
            rows[phase.name] = phase if known is None else _added(known, phase)
    return list(rows.values())


def _added(known: PhaseReport, phase: PhaseReport) -> PhaseReport:
    worst = max(known, phase, key=lambda p: _RANK[p.outcome])
    return replace(
        phase,
        outcome=worst.outcome,
        reason=worst.reason,
        knob=worst.knob,
        looked_at=known.looked_at + phase.looked_at,
        changes=known.changes + phase.changes,
        reread=known.reread + phase.reread,
        dropped=known.dropped + phase.dropped,
        notes=(*known.notes, *(note for note in phase.notes if note not in known.notes)),
        duration_ms=known.duration_ms + phase.duration_ms,
    )


def _head(passes: Sequence[RunReport], phases: Sequence[PhaseReport]) -> Iterator[RenderableType]:
    from rich.text import Text

    last = passes[-1]
    changes = sum(run.change_count for run in passes)
    yield Text.assemble(
        (last.scope, "bold cyan"), f" at {when(last.clock)} UTC · ", count(changes, "change"),
        f" in {count(len(passes), 'pass', 'passes')}",
    )  # fmt: skip
    idle = [phase for phase in phases if phase.outcome != "ran"]
    for phase in idle:
        yield Text.assemble(
            (phase.outcome, _STYLE[phase.outcome]), " ", (phase.name, "bold"), ": ",
            shorten(phase.reason, 300), _advice(phase, last.settings),
        )  # fmt: skip
    if not idle:
        yield Text("No phase declined.")
    yield Text.assemble((f"{last.status} ", "bold"), *_named(passes))
    yield Text(f"input  {last.input_digest}\noutput {last.digest}", "dim")
    took = duration(sum(run.duration_ms for run in passes))
    inside = duration(sum(phase.duration_ms for phase in phases))
    yield Text(f"took {took}: the phases {inside}, reading and checking the rest", "dim")
    for note in dict.fromkeys(note for run in passes for note in run.notes):
        yield Text(f"note: {note}")


def _advice(phase: PhaseReport, settings: Mapping[str, Any]) -> str:
    if phase.outcome != "declined" or not phase.knob:
        return ""
    if phase.knob in phase.reason:
        return ""
    if settings.get(phase.knob) is False:
        return f" Compose it with --set {phase.knob}=true"
    return f" The knob is {phase.knob}."


def _named(passes: Sequence[RunReport]) -> list[str]:
    names = [run.run_id for run in passes if run.run_id]
    if not names:
        return ["nowhere: a dry run writes nothing"]
    if len(names) <= _NAMED_RUNS:
        return ["as ", ", ".join(names)]
    return [f"as {names[0]} to {names[-1]}"]


def _phase_table(phases: Sequence[PhaseReport]) -> RenderableType:
    from rich.text import Text

    numbers = ("looked at", "changes", "left", "took")
    made = table("phase", "outcome", *numbers, right=numbers)
    for phase in phases:
        looked = "—" if phase.outcome == "declined" else f"{phase.looked_at:,}"
        made.add_row(
            Text(phase.name, "bold"), Text(phase.outcome, _STYLE[phase.outcome]), looked,
            f"{phase.changes:,}", f"{phase.left:,}", duration(phase.duration_ms),
        )  # fmt: skip
    return made


def _explained(phase: PhaseReport, *, single: bool, every_note: bool) -> Iterator[RenderableType]:
    """What a phase counted and noted, so that a zero explains itself.

    Of the counts that are zero only the first is shown, where a phase changed nothing: it says
    that there was nothing to look at.
    """
    from rich.text import Text

    if phase.outcome == "failed":
        yield Text(f"{phase.name}: {shorten(phase.reason, 500)}", "red")
        if every_note:
            yield Text("\n".join(phase.notes), "dim")
        return
    counts = {name: number for name, number in phase.counts.items() if name != "left"}
    idle = not phase.changes or not any(counts.values())
    first = next(iter(counts), None) if idle else None
    counts = {name: number for name, number in counts.items() if number or name == first}
    said = [f"{name.replace('_', ' ')} {number:,}" for name, number in counts.items()]
    if phase.reread:
        said.append(f"read again because a knob changed {phase.reread:,}")
    if phase.dropped:
        said.append(f"held back because a person undid or forgot it {phase.dropped:,}")
    if said:
        mark = "" if single else " (last pass)"
        yield Text.assemble((phase.name, "bold"), f"{mark}: {' · '.join(said)}")
    shown = phase.notes if every_note else phase.notes[:_NOTES]
    for note in shown:
        yield indented(f"· {shorten(note, 400)}", 2, "dim")
    if len(phase.notes) > len(shown):
        yield indented(f"… {count(len(phase.notes) - len(shown), 'more note')}: --notes", 2, "dim")


def _settings(settings: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[Text]:
    from rich.text import Text

    for name, source in sources.items():
        if source != "default" and name in settings:
            place = f"file {Path(source[5:]).name}" if source.startswith("file ") else source
            yield Text.assemble(f"  {name} = ", (plain(settings[name]), "bold"), f"  ({place})")
