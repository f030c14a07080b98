"""What changed and why: a section for each phase, and in it a card for each group.

A card is closed until somebody wants to know more; what it says closed is what was done and why.
Past a number of cards a phase's groups are listed by name, and past another they are counted, so
that a night of ten thousand changes is still a page that can be sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import Entity, Fact, Note, Procedure, Summary
from symfonic.capabilities.memory.run_page.commands import command, more
from symfonic.capabilities.memory.run_page.edits import edits_of
from symfonic.capabilities.memory.run_page.markup import Html, clean, excerpt, joined, tag
from symfonic.capabilities.memory.run_page.quotes import quotes_of
from symfonic.capabilities.memory.run_page.story import PAIR
from symfonic.capabilities.memory.run_page.strengths import strengths_of
from symfonic.capabilities.memory.run_page.wording import (
    PHASES,
    counted,
    phase_title,
    plain,
    value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.run_page.groups import Telling, Told

CARDS: Final = 60
"""Groups of a phase that are shown with all they did."""

NAMED: Final = 2_000
"""Groups of a phase that are named after these; the rest is counted."""

_OPEN: Final = 3
"""A phase with no more groups than this shows them open."""

_REASON: Final = 300
_SAID: Final = 2_000
_SHORT: Final = 12


def changes_of(telling: Telling) -> Html:
    """The sections of all phases that changed something."""
    if not telling.phases:
        return tag("p", "Nothing was changed.", class_="quiet")
    return joined(
        _phase(telling, name, groups, place)
        for place, (name, groups) in enumerate(telling.phases.items(), start=1)
    )


def _phase(telling: Telling, name: str, groups: Sequence[Told], place: int) -> Html:
    number = sum(len(group.rows) for group in groups)
    said = PHASES[name][1] if name in PHASES else ""
    about = joined([
        tag("code", name), f" · {said} · " if said else " · ",
        f"{counted(number, 'change')} in {counted(len(groups), 'group')}",
    ])  # fmt: skip
    derived = [group for group in groups if group.derived]
    others = [group for group in groups if not group.derived]
    opened = len(others) <= _OPEN
    shown, named = _chosen(others)
    return tag(
        "section",
        tag("h3", phase_title(name)),
        tag("p", about, class_="quiet"),
        *(
            _card(telling, group, f"group-{place}-{index}", opened=opened)
            for index, group in enumerate(shown, start=1)
        ),
        _named(telling, named),
        strengths_of(telling, derived) if derived else None,
        class_="phase", id=f"phase-{place}",
    )  # fmt: skip


def _chosen(groups: Sequence[Told]) -> tuple[list[Told], list[Told]]:
    """The groups for cards, the largest where they are too many, and the rest; in their order."""
    largest = sorted(range(len(groups)), key=lambda place: (-len(groups[place].rows), place))
    cards = set(largest[:CARDS])
    return (
        [group for place, group in enumerate(groups) if place in cards],
        [group for place, group in enumerate(groups) if place not in cards],
    )


def _card(telling: Telling, group: Told, i: str, *, opened: bool) -> Html:
    heading = tag(
        "summary",
        tag("h4", tag("bdi", telling.label(group.about))),
        _badges(telling, group),
        tag("p", excerpt(group.reason, _REASON), class_="why") if group.reason else None,
        tag("p", _counts(telling, group), class_="quiet"),
    )
    record = telling.record(group.about)
    subject = group.subject
    shown = record if subject is not None and subject.change.operation != "edit" else None
    undoable = group.undone_by is None and _stands(telling, group)
    return tag(
        "article",
        tag(
            "details", heading,
            tag(
                "div", _content(shown) if shown else None, edits_of(telling, group),
                quotes_of(telling, group), _undo(telling, group) if undoable else _named_as(group),
                class_="inside",
            ),
            open=opened,
        ),
        class_="card undone" if group.undone_by is not None else "card", id=i,
    )  # fmt: skip


def _badges(telling: Telling, group: Told) -> Html:
    undone = None
    if group.undone_by is not None:
        by = telling.story.run_name(group.undone_by)
        undone = tag("span", f"undone by {by}", class_="badge warn")
    return tag("p", tag("span", telling.what(group), class_="badge"), " ", undone, class_="badges")


def _counts(telling: Telling, group: Told) -> str:
    """``1 record added, 13 links added``, and in which pass where there were several."""
    done = {"add": "added", "edit": "changed", "remove": "removed"}
    kinds: dict[tuple[str, str], int] = {}
    for row in group.rows:
        kind = (row.change.table, row.change.operation)
        kinds[kind] = kinds.get(kind, 0) + 1
    said = [
        f"{counted(number, table)} {done[operation]}"
        for (table, operation), number in kinds.items()
    ]
    if len(telling.story.runs) > 1:
        said.append(f"in {telling.story.run_name(group.run)}")
    return ", ".join(said)


def _content(record: Record) -> Html:
    """What a record holds that was added or taken away."""
    content = record.content
    match content:
        case Procedure():
            counts = f"Seen in {counted(content.support, 'session')}: "
            counts += f"{content.successes:,} went well, {content.failures:,} failed."
            return joined([
                tag("p", excerpt(content.trigger, _REASON), dir="auto")
                if content.trigger != content.title else None,
                tag("ol", *(tag("li", *_step(step.action, step.arguments))
                            for step in content.steps), class_="steps"),
                tag("p", counts),
            ])  # fmt: skip
        case Entity():
            return _facts([
                ("Kind", content.entity_kind.replace("unknown", "")),
                ("Also called", ", ".join(content.aliases)),
                ("Confidence", f"{content.confidence:.2f} of 1"),
            ])  # fmt: skip
        case Fact():
            facts = [
                ("About", content.subject), (content.attribute, content.value),
                ("True from", value("valid_from", content.valid_from)),
                ("True until", value("valid_to", content.valid_to)),
            ]  # fmt: skip
            return joined([_text(record.text), _facts(facts)])
        case Summary():
            span = f"{value('first_at', content.first_at)} to {value('last_at', content.last_at)}"
            made = [("Turns", f"{content.episode_count:,}"), ("Time", span),
                    ("Made by", content.method)]  # fmt: skip
            return joined([_text(record.text), _facts(made)])
        case Note():
            return _text(record.text)
        case _:
            return _text(record.text)


def _step(action: str, arguments: dict[str, Any]) -> Iterator[Html | str]:
    yield tag("strong", excerpt(action, _REASON))
    if arguments:
        given = ", ".join(f"{name}: {plain(value)}" for name, value in arguments.items())
        yield tag("span", f" {excerpt(given, _REASON)}", class_="quiet")


def _text(text: str) -> Html:
    """A text with its lines, the first part of a long one."""
    whole = clean(text).strip()
    shown = whole if len(whole) <= _SAID else f"{whole[: _SAID - 1].rstrip()}…"
    return tag("blockquote", *(tag("p", line) for line in shown.splitlines() if line.strip()),
               dir="auto", class_="said")  # fmt: skip


def _facts(facts: Sequence[tuple[str, str]]) -> Html:
    return tag(
        "dl",
        *(tag("div", tag("dt", excerpt(name, 60)), tag("dd", tag("bdi", excerpt(given, _REASON))))
          for name, given in facts if given),
        class_="facts",
    )  # fmt: skip


def _stands(telling: Telling, group: Told) -> bool:
    """Whether a group is in force and of a kind of run that can be taken back."""
    run = next(run for run in telling.story.runs if run.number == group.run)
    return run.status in {"committed", "undone"} and run.kind not in {"undo", "ingest"}


def _undo(telling: Telling, group: Told) -> Html:
    words = ("undo", telling.story.run_name(group.run), "--group", group.name)
    return tag("p", tag("span", "Undo only this: ", class_="quiet"), command(*words),
               class_="undo")  # fmt: skip


def _named_as(group: Told) -> Html:
    return tag("p", tag("span", "Group: ", class_="quiet"), tag("code", group.name), class_="undo")


def _named(telling: Telling, groups: Sequence[Told]) -> Html | None:
    """The groups past the cards: what each is about, and the beginning of its name."""
    if not groups:
        return None
    shown = groups[:NAMED]
    said = f"{counted(len(groups), 'more group')} of {phase_title(groups[0].phase)}"
    name = telling.story.run_name(groups[0].run)
    left = more(len(groups) - len(shown), "diff", name)
    return tag(
        "details",
        tag("summary", tag("h4", said)),
        tag("ul", *(_line(telling, group) for group in shown), class_="names"),
        left or tag("p", "What each of them did: ", command("diff", name, "--full"), class_="more"),
        class_="card",
    )  # fmt: skip


def _line(telling: Telling, group: Told) -> Html:
    about = group.about if PAIR in group.about else group.about[:_SHORT]
    begins = f"{group.kind}/{about}"
    undone = " (undone)" if group.undone_by is not None else None
    return tag("li", tag("bdi", telling.label(group.about, width=60)), " ",
               tag("code", begins), undone)  # fmt: skip
