"""The head of the page: what run it is, how it stands, what it comes to, and by which knobs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import KINDS
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.run_page.markup import Html, joined, tag
from symfonic.capabilities.memory.run_page.wording import counted, kinds, long_date, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symfonic.capabilities.memory.run_page.groups import Telling
    from symfonic.capabilities.memory.run_page.story import RunStory

_STANDS: Final[Mapping[str, str]] = {
    "planned": "A plan. Nothing has been changed yet.",
    "held": "Held. Nothing has been changed; a person decides whether to apply it.",
    "committed": "Carried out. Memory was changed as this page shows.",
    "undone": "Taken back. What this page shows no longer stands.",
    "abandoned": "Abandoned. Nothing was changed.",
}
_KINDS: Final[Mapping[str, str]] = {
    "deep": "deep: every phase", "light": "light: the cheap phases, between turns",
    "undo": "undo: takes back an earlier run", "redo": "redo: brings back what was undone",
    "user": "by a person", "ingest": "import: brings turns in",
}  # fmt: skip
_MOVED: Final = {
    "condensed": "condensed", "archived": "archived", "merged": "merged",
    "superseded": "replaced", "retracted": "taken back", "active": "brought back",
}  # fmt: skip


def status_of(story: RunStory) -> str:
    """One word for the runs together, ``mixed`` where they stand differently."""
    found = {run.status for run in story.runs}
    return found.pop() if len(found) == 1 else "mixed"


def heading_of(telling: Telling) -> Html:
    """Title, how the run stands, what it comes to in a row of numbers, and its facts."""
    story = telling.story
    status = status_of(story)
    what = "Run" if len(story.runs) == 1 else "Runs"
    return tag(
        "header",
        tag("p", "symfonic · what a run did", class_="eyebrow"),
        tag("h1", f"{what} ", tag("span", story.name, class_="name")),
        tag("p", tag("span", status, class_=f"badge status {status}"), " ",
            tag("time", long_date(story.clock), datetime=story.clock.isoformat())),
        tag("p", _stands(telling, status), class_="lead"),
        _tiles(telling),
        _facts(story),
    )  # fmt: skip


def knobs_of(story: RunStory) -> Html | None:
    """Every knob that is not at its default, and where its value came from."""
    report = story.runs[-1].report
    settings, sources = report.get("settings", {}), report.get("sources", {})
    changed = [name for name, source in sources.items() if source != "default" and name in settings]
    if not report.get("fingerprint"):
        return None
    body = tag("p", "Every knob was at its default.")
    if changed:
        titles = ("Knob", "Value", "Default", "From")
        usual = {**LearningPolicy().as_kwargs(), **asdict(RetentionPolicy()), **asdict(RunLimits())}
        body = tag(
            "table", tag("caption", "Knobs that were set", class_="unseen"),
            tag("thead", tag("tr", *(tag("th", name, scope="col") for name in titles))),
            tag("tbody", *(
                tag("tr", tag("th", tag("code", name), scope="row"),
                    tag("td", plain(settings[name]), data_label="Value"),
                    tag("td", plain(usual[name]) if name in usual else "—", data_label="Default"),
                    tag("td", _source(str(sources[name])), data_label="From"))
                for name in changed)),
            class_="knobs",
        )  # fmt: skip
    return joined([tag("h2", "Knobs", id="knobs"), body])


def _stands(telling: Telling, status: str) -> str:
    if status == "mixed":
        counts = Counter(run.status for run in telling.story.runs)
        return ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items())) + "."
    said = _STANDS.get(status, f"It is {status}.")
    groups = [group for found in telling.phases.values() for group in found]
    undone = sum(group.undone_by is not None for group in groups)
    if undone and status == "committed":
        return f"{said} Undone since: {undone:,} of {counted(len(groups), 'group')}."
    return said


def _tiles(telling: Telling) -> Html:
    """What it comes to, in numbers; a run that changed nothing says so."""
    found = [*_numbers(telling)]
    if not found:
        return tag("p", "It changed nothing.", class_="quiet")
    return tag(
        "ul",
        *(tag("li", tag("strong", f"{number:,}"), " ", tag("span", label))
          for number, label in found),
        class_="tiles",
    )  # fmt: skip


def _numbers(telling: Telling) -> Iterator[tuple[int, str]]:
    journal = telling.story.journal
    if journal:
        yield len(journal), "change" if len(journal) == 1 else "changes"
    found: Counter[tuple[str, str]] = Counter()
    strengths = set()
    for row in journal:
        change = row.change
        if change.table == "link":
            found["link", change.operation] += 1
        elif change.table == "record" and change.derived:
            strengths.add(change.row[0])
        elif change.table == "record" and "state" in change.after and change.operation == "edit":
            found["state", str(change.after["state"])] += 1
        elif change.table == "record" and change.operation != "edit":
            record = telling.record(str(change.row[0]))
            found["erased" if record is None else record.kind, change.operation] += 1
    for operation, said in (("add", "new"), ("remove", "removed")):
        for kind in KINDS:
            if number := found[kind, operation]:
                yield number, f"{said} {kinds(kind, number).partition(' ')[2]}"
        if number := found["erased", operation]:
            yield number, f"{said}, erased since"
    for state, said in _MOVED.items():
        if number := found["state", state]:
            yield number, said
    for operation, said in (("add", "new"), ("edit", "changed"), ("remove", "removed")):
        if number := found["link", operation]:
            yield number, f"{said} {'link' if number == 1 else 'links'}"
    if strengths:
        yield len(strengths), "strength moved" if len(strengths) == 1 else "strengths moved"


def _facts(story: RunStory) -> Html:
    last = story.runs[-1]
    report = last.report
    names = list(dict.fromkeys(_KINDS.get(run.kind, run.kind) for run in story.runs))
    facts: list[tuple[str, Any]] = [("Scope", story.scope), ("Kind", "; ".join(names))]
    if len(story.runs) > 1:
        facts.append(("Passes", f"{len(story.runs):,} runs, {story.name}"))
    facts += [
        ("Clock", f"{last.clock.isoformat()}"), ("Input digest", last.input_digest),
        ("Output digest", last.digest), ("Policy fingerprint", report.get("fingerprint", "")),
        *((name.replace("_", " ").capitalize(), f"{number:,}") for name, number in _counts(report)),
    ]  # fmt: skip
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", str(given))) for name, given in facts if given),
        class_="facts",
    )  # fmt: skip


def _counts(report: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """What an import counted; a run of phases says it elsewhere."""
    counts = report.get("counts", {})
    inner = counts.get("counts", counts) if isinstance(counts, dict) else {}
    for name, number in inner.items():
        if isinstance(number, int) and number:
            yield name, number


def _source(source: str) -> str:
    """Where a value came from; of a file its name alone, since a report is handed on."""
    if source.startswith("file "):
        return f"file {PurePosixPath(PureWindowsPath(source[5:]).as_posix()).name}"
    return source
