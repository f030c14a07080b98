"""``report``: what a run did, as one HTML file to read, print or send."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    open_memory,
    optional_scope_option,
    run_range,
)
from symfonic.capabilities.memory.cli.output import console, emit, shorten, wants_json
from symfonic.capabilities.memory.errors import InputError

if TYPE_CHECKING:
    from symfonic.capabilities.memory.run_page.story import RunStory

_LONGEST_NAME: Final = 100
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write; unless stated, a file here that is named for the run.",
)  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Show it in the browser.")
@common(optional_scope_option)
def report(*, store: str, scope: str | None, run: str, out: Path | None, opens: bool) -> None:
    """Write what a run did as a page to read or to send.

    RUN is a name such as acme/ana#12, or its number alone with --scope; acme/ana#12..15 is a whole
    sleep. A plan has a page too. The page is one HTML file that loads nothing: what changed and
    why, before and after, the turns it rests on, what declined, what is left, and how to undo it.
    An earlier page of that name is replaced, any other file is left as it is.
    """
    from symfonic.capabilities.memory.run_page.page import run_page
    from symfonic.capabilities.memory.run_page.story import run_story

    first, last = run_range(run, scope)
    with open_memory(store) as memory:
        story = run_story(memory, first, last)
    path = out or _named_for(story)
    _write(path, run_page(story))
    shown = opens and click.launch(str(path.absolute())) == 0
    if wants_json():
        facts = {"changes": len(story.journal), "bytes": path.stat().st_size, "opened": shown}
        emit({"run_id": story.name, "path": str(path), **facts})
        return
    console().print(f"Written: {path}, what {story.name} did.", soft_wrap=True)
    if opens and not shown:
        console().print("No browser could be started here; open the file yourself.")


def _named_for(story: RunStory) -> Path:
    """``acme-ana-3.html``, or ``acme-ana-3-to-7.html``; a long scope by its end."""
    path, _, numbers = story.name.rpartition("#")
    words = _OTHER.sub("-", path).strip("-")[-_LONGEST_NAME:].strip("-") or "run"
    return Path(f"{words}-{numbers.replace('..', '-to-')}.html")


def _write(path: Path, page: str) -> None:
    """Put the page in its place, whole or not at all.

    Raises ``InputError`` where another file stands there, or the place cannot be written to.
    """
    place = Path(os.path.realpath(path))
    try:
        if place.exists() and not _is_page(place):
            raise InputError(
                f"{shorten(str(path), 80)} is there already and is no page of a run. "
                "Name another file with --out.",
                path=str(path),
            )
        _replace(place, page)
    except OSError as cause:
        raise InputError(
            f"The page cannot be written to {shorten(str(path), 80)}: {cause.strerror or cause}. "
            "Name another place with --out.",
            path=str(path),
        ) from cause


def _is_page(place: Path) -> bool:
    """Whether a file is an earlier page, or empty, and may be written over."""
    from symfonic.capabilities.memory.run_page.page import BEGINNING

    begins = BEGINNING.encode()
    if not place.is_file():  # a device or a pipe may wait for ever, and is nobody's page
        return False
    with place.open("rb") as stream:
        return stream.read(len(begins)) in {b"", begins}


def _replace(place: Path, page: str) -> None:
    """Write beside the place first, so that a full disk leaves an earlier page as it was."""
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:60]}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(page)
        Path(temporary).replace(place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
