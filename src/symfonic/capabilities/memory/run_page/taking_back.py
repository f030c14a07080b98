"""How to take it back, or carry it out: the exact commands for how the run stands now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symfonic.capabilities.memory.run_page.commands import command
from symfonic.capabilities.memory.run_page.markup import Html, joined, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.run_page.groups import Telling, Told


def taking_back_of(telling: Telling) -> Html:
    """The section that ends the page."""
    return joined([tag("h2", "What you can do", id="do"), *_said(telling)])


def _said(telling: Telling) -> Iterator[Html]:
    story = telling.story
    standing = [
        group for groups in telling.phases.values() for group in groups if group.undone_by is None
    ]
    kinds = {run.kind for run in story.runs}
    statuses = {run.status for run in story.runs}
    if statuses <= {"planned", "held"}:
        yield _line("Carry it out:", "apply", story.name)
        yield tag("p", "Until then nothing is changed, and there is nothing to take back.")
    elif statuses == {"abandoned"}:
        yield tag("p", "It was abandoned, so there is nothing to take back.")
    elif kinds == {"undo"}:
        yield tag("p", "This run took back an earlier one. What it took back comes again by itself "
                  "only with newer evidence.")  # fmt: skip
    elif kinds == {"ingest"}:
        yield tag("p", "An import is not undone. Erase what should not be there, by record, "
                  "session or entity: ", command("forget"))  # fmt: skip
    elif not standing:
        yield tag("p", "There is nothing left to take back.")
    else:
        whole = "Take all of it back:" if len(story.runs) == 1 else "Take every pass back:"
        yield _line(whole, "undo", story.name)
        chosen = next((group for group in standing if not group.derived), standing[0])
        run = story.run_name(chosen.run)
        yield _line("Or one group, such as this; each card above names its own:",
                    "undo", run, "--group", chosen.name)  # fmt: skip
        yield tag("p", "Undo refuses where later changes build on it, and names them. It is a run "
                  "of its own, and what was undone does not come back by itself.")  # fmt: skip
    if any(_is_draft(group) for group in standing):
        yield _line("Decide about the drafts:", "drafts", "list", "--scope", story.scope)
    yield _line("Every change, with what stood there before:",
                "diff", story.run_name(story.runs[0].number), "--full")  # fmt: skip


def _is_draft(group: Told) -> bool:
    subject = group.subject
    return subject is not None and subject.change.after.get("status") == "draft"


def _line(said: str, *words: str) -> Html:
    return tag("p", said, tag("span", command(*words), class_="command"))
