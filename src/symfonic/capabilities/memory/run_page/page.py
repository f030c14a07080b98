"""The whole page. The same story gives the same bytes, on any machine."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.run_page.cards import changes_of
from symfonic.capabilities.memory.run_page.groups import telling
from symfonic.capabilities.memory.run_page.heading import heading_of, knobs_of
from symfonic.capabilities.memory.run_page.markup import Html, joined, tag
from symfonic.capabilities.memory.run_page.outcomes import (
    declined_of,
    left_of,
    notes_of,
    outcomes,
    phases_of,
)
from symfonic.capabilities.memory.run_page.taking_back import taking_back_of
from symfonic.capabilities.memory.run_page.wording import phase_title

if TYPE_CHECKING:
    from symfonic.capabilities.memory.run_page.groups import Telling
    from symfonic.capabilities.memory.run_page.story import RunStory

BEGINNING: Final = '<!doctype html>\n<!-- symfonic: what a run did -->\n<html lang="en">'
"""The first lines of every page, by which one is known again before it is written over."""


def run_page(story: RunStory) -> str:
    """The page of one run, or of the passes of one sleep, as the text of an HTML file.

    It loads nothing and names no memory text in its title. A script opens what is folded before
    it is printed by a browser that cannot do so by its style; without it, all stays readable.
    """
    told, ended = telling(story), outcomes(story)
    settings = story.runs[-1].report.get("settings", {})
    parts = {
        "phases": phases_of(ended),
        "changes": joined([tag("h2", "What changed, and why", id="changes"), changes_of(told)]),
        "declined": declined_of(ended, settings, story.scope),
        "left": left_of(ended, story.scope) if ended else None,
        "notes": notes_of(story, ended),
        "knobs": knobs_of(story),
        "do": taking_back_of(told),
    }
    there = {name: part for name, part in parts.items() if part}
    if "declined" in there:  # what did not look stands before what was found
        there = {"declined": there["declined"], **there}
    body = tag(
        "body",
        tag("a", "To what changed", href="#changes", class_="skip"),
        heading_of(told),
        _contents(told, list(there)),
        tag("main", *(tag("section", part) for part in there.values())),
        tag("script", Html(_asset("page.js"))),
    )
    return f"{BEGINNING}\n{_head(story)}\n{body}\n</html>\n"


def _head(story: RunStory) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_permitted()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{'Run' if len(story.runs) == 1 else 'Runs'} {story.name}"),
        tag("style", Html(_asset("page.css"))),
    )


def _contents(told: Telling, names: list[str]) -> Html:
    said = {
        "phases": "What each phase did", "changes": "What changed", "declined": "What declined",
        "left": "What is left", "notes": "Notes", "knobs": "Knobs", "do": "What you can do",
    }  # fmt: skip
    inner = tag("ul", *(
        tag("li", tag("a", phase_title(name), " ",
                      tag("span", f"{sum(len(g.rows) for g in groups):,}", class_="quiet"),
                      href=f"#phase-{place}"))
        for place, (name, groups) in enumerate(told.phases.items(), start=1)
    )) if told.phases else None  # fmt: skip
    return tag(
        "nav",
        tag("ul", *(
            tag("li", tag("a", said[name], href=f"#{name}"), inner if name == "changes" else None)
            for name in names
        )),
        tag("button", "Open all", type="button", id="open-all", hidden=True),
        aria_label="Contents",
    )  # fmt: skip


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


@cache
def _permitted() -> str:
    """What the page may do: its own style and its own script; nothing is loaded or sent."""
    digest = base64.b64encode(hashlib.sha256(_asset("page.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
