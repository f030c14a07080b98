"""What the comparison with ``symfonic-core`` says: which phases are compared, ratios, tables.

Pure, so that it is tested without either package: ``peer.py`` hands it what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AIM = 20.0
"""How many times less CPU our whole run is to take than theirs."""

PARTNERS = {
    "strengthen": "strengthen",
    "cooccurrence": "link_cooccurring",
    "synthetic_links": "link_cooccurring",
    "prune_orphans": "expire",
    "working_ttl": "expire",
    "expire_semantic_durability": "expire",
    "episodic_summary": "summarise",
    "entity_links": "link_entities",
    "procedural_promotion": "promote_procedures",
}
"""Which of our phases does what theirs is for. Two of theirs may share one of ours."""

QUADRATIC = frozenset({"cooccurrence", "prune_orphans"})
"""Their phases that go through all pairs of records, or through all links for every record."""

NOTES = {
    "strengthen": "theirs adds 0.5 to whatever was read twice, every night again; "
    "ours counts dated uses once and spreads them along links",
    "cooccurrence": "theirs links records *written* within 15 minutes of each other; "
    "ours links names said in the same stretch of a session",
    "synthetic_links": "theirs reads only episodes that carry its own markers, 200 at most",
    "prune_orphans": "theirs deletes for good; ours archives, and it can be undone",
    "working_ttl": "theirs looks at its working layer, which holds nothing here",
    "expire_semantic_durability": "both take the notes that ended",
    "episodic_summary": "theirs joins the 50 oldest texts and deletes them, once a run; "
    "ours goes on until nothing is due and keeps every episode",
    "entity_links": "theirs links names with names, ours episodes with names",
    "procedural_promotion": "theirs looks at 200 episodes and skips what the agent said, "
    "where the tool calls are; ours keeps sequences of calls",
    "tag_risk": "no partner: marks records whose text holds “loss”, “error” and the like",
    "meta_nodes": "no partner: one record for every first word that three labels share",
    "decay_importance": "no partner: our strength fades with time without being written",
    "prune_retracted": "no partner: nothing of ours is deleted by a run",
}
"""What to know before two numbers are compared, by the name of their phase."""

_THEIR_HEAD = ["symfonic-core", "examined", "new", "walks", "produced", "s"]
_OUR_HEAD = ["symfonic-memory", "examined", "produced", "left", "s"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of one run. ``seconds`` are those of the phase alone: no reading, no commit.

    ``new`` is how many of the examined were this night's, and ``walks`` how often it went through
    every link there is; ``None`` where that was not counted.
    """

    name: str
    outcome: str
    examined: int
    produced: int
    seconds: float
    left: int = 0
    new: int | None = None
    walks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one side did with one size. ``held`` counts what its store held before the run."""

    cpu_s: float
    peak_mb: float
    phases: tuple[Phase, ...]
    held: Mapping[str, int]
    versions: Mapping[str, str]

    @property
    def ran(self) -> frozenset[str]:
        """The phases that looked."""
        return frozenset(phase.name for phase in self.phases if phase.outcome == "ran")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One line of the comparison: their CPU seconds, ours, and how many times ours fits in."""

    what: str
    theirs_s: float
    ours_s: float

    @property
    def times(self) -> float:
        return self.theirs_s / self.ours_s


def side(results: Sequence[Mapping[str, Any]]) -> Side:
    """The middle one of some runs, by CPU time; of an even number the dearer of the two.

    Raises ``ValueError`` where a run reported an error: a phase that failed costs nothing, and
    would be compared all the same.
    """
    for result in results:
        if result["errors"]:
            raise ValueError(f"A run reported errors, so it cannot be compared: {result['errors']}")
    ordered = sorted(results, key=lambda result: float(result["cpu_s"]))
    middle = ordered[len(ordered) // 2]
    return Side(
        cpu_s=middle["cpu_s"],
        peak_mb=median(result["peak_mb"] for result in results),
        phases=tuple(Phase(name=name, **phase) for name, phase in middle["phases"].items()),
        held=middle["held"],
        versions=middle["versions"],
    )


def compared(theirs: Side, ours: Side) -> list[str]:
    """Their phases that ran and whose partner of ours ran too, in their order."""
    return [
        phase.name
        for phase in theirs.phases
        if phase.name in theirs.ran and PARTNERS.get(phase.name) in ours.ran
    ]


def ratios(theirs: Side, ours: Side, pruning: Side | None = None) -> list[Ratio]:
    """Whole run to whole run, then what both do, with and without their quadratic phases.

    ``pruning`` is their run over records that are all of low importance, so that their pruning
    looks at each that is a week old.

    Ours is always the whole run, with the reading of new episodes and the durable commit in it:
    taking anything out would flatter us.
    """
    both = compared(theirs, ours)
    spent = {phase.name: phase.seconds for phase in theirs.phases}
    plain = [name for name in both if name not in QUADRATIC]
    found = [
        Ratio(what="the whole run", theirs_s=theirs.cpu_s, ours_s=ours.cpu_s),
        Ratio(
            what="their phases that both ran",
            theirs_s=sum(spent[name] for name in both),
            ours_s=ours.cpu_s,
        ),
        Ratio(
            what="the same without co-occurrence and pruning",
            theirs_s=sum(spent[name] for name in plain),
            ours_s=ours.cpu_s,
        ),
    ]
    if pruning is not None:
        what = "the whole run, all their notes of low importance"
        found.append(Ratio(what=what, theirs_s=pruning.cpu_s, ours_s=ours.cpu_s))
    return found


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def sides(theirs: Side, ours: Side) -> str:
    """What each side held, took and needed."""
    kinds = list(dict.fromkeys([*ours.held, *theirs.held]))
    rows = [["", "symfonic-core", "symfonic-memory"]]
    rows.append(["store", "in memory", "SQLite file"])
    for kind in kinds:
        rows.append([f"{kind} held", *(f"{s.held.get(kind, 0):,}" for s in (theirs, ours))])
    rows.append(["CPU of the run", *(f"{s.cpu_s:.2f} s" for s in (theirs, ours))])
    rows.append(["peak memory", *(f"{s.peak_mb:.0f} MB" for s in (theirs, ours))])
    for what in ("examined", "produced"):
        totals = [sum(getattr(phase, what) for phase in s.phases) for s in (theirs, ours)]
        rows.append([f"items {what}, all phases", *(f"{total:,}" for total in totals)])
    return table(rows)


def verdict(found: Sequence[Ratio]) -> str:
    """The ratios; the first one has an aim."""
    rows = [["CPU seconds", "symfonic-core", "symfonic-memory, whole run", "ratio", ""]]
    for number, ratio in enumerate(found):
        mark = ""
        if number == 0:
            mark = f"aim ≥ {AIM:.0f} ×: " + ("met" if ratio.times >= AIM else "**missed**")
        spent = [f"{ratio.theirs_s:.2f}", f"{ratio.ours_s:.2f}", f"{ratio.times:.1f} ×"]
        rows.append([ratio.what, *spent, mark])
    return table(rows)


def by_phase(theirs: Side, ours: Side) -> str:
    """Their phases beside ours, with what to know about each pair; ours without a partner last."""
    mine = {phase.name: phase for phase in ours.phases}
    both = frozenset(compared(theirs, ours))
    rows = [[*_THEIR_HEAD, *_OUR_HEAD, "compared", "note"]]
    for phase in theirs.phases:
        partner = PARTNERS.get(phase.name)
        pair = [*_theirs(phase), *_ours(partner, mine.get(partner or ""))]
        answer = "yes" if phase.name in both else "no"
        rows.append([*pair, answer, NOTES.get(phase.name, "no partner")])
    nobody = ["–", *("" for _ in _THEIR_HEAD[1:])]
    for phase in ours.phases:
        if phase.name not in PARTNERS.values():
            rows.append([*nobody, *_ours(phase.name, phase), "no", "no phase of theirs"])
    return table(rows)


def _theirs(phase: Phase) -> list[str]:
    name = phase.name + (" (quadratic)" if phase.name in QUADRATIC else "")
    counts = [f"{phase.examined:,}", _count(phase.new), _count(phase.walks)]
    return [name, *counts, f"{phase.produced:,}", f"{phase.seconds:.3f}"]


def _ours(name: str | None, phase: Phase | None) -> list[str]:
    if name is None:
        return ["–", "", "", "", ""]
    if phase is None:
        return [f"`{name}` (not in this roster)", "", "", "", ""]
    if phase.outcome != "ran":
        return [f"`{name}` ({phase.outcome})", "", "", f"{phase.left:,}", ""]
    counts = [f"{phase.examined:,}", f"{phase.produced:,}", f"{phase.left:,}"]
    return [f"`{name}`", *counts, f"{phase.seconds:.3f}"]


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
