"""``embed``: vectors for what a scope holds."""

from __future__ import annotations

import click

from symfonic.capabilities.memory.cli.ingesting import progress_bar
from symfonic.capabilities.memory.cli.options import (
    common,
    embedder_of,
    embedder_option,
    open_memory,
    scope_option,
)
from symfonic.capabilities.memory.cli.output import console, count, emit, wants_json


@click.command()
@click.option("--again", is_flag=True, help="Drop the vectors that are there, and make all anew.")
@common(scope_option, embedder_option)
def embed(*, store: str, scope: str, embedder_name: str | None, again: bool) -> None:
    """Give what has no vector one.

    Interrupted, it goes on where it was. A scope that has the vectors of another embedder is left
    alone without --again; meanwhile recall goes by text.
    """
    embedder = embedder_of(embedder_name)
    with open_memory(store) as memory, progress_bar("embedding") as progress:
        done = memory.embed(scope, embedder=embedder, again=again, progress=progress)
        waiting = memory.vectors(scope)
    if wants_json():
        emit({"scope": scope, "embedded": done, **waiting})
    else:
        name = waiting["embedder"]
        console().print(
            f"Embedded {count(done, 'record')}; {count(waiting['vectors'], 'record')} of {scope} "
            f"have vectors of {name}."
        )
