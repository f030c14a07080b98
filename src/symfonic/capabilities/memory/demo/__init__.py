"""A week of one agent's work, for trying a maintenance run on something that reads like life.

Wren is the agent of Brambleway Instruments, an invented maker of rain gauges. From Monday 14 to
Sunday 20 September 2026 it answers customers, helps two developers and keeps a diary for the
person who runs the company. ``week.jsonl`` holds its turns as plain JSONL, one a line, in the order
they arrived; ``policy.toml`` holds the knobs of the demo. People, companies and addresses are
invented, and the text was written for this project.

Names recur, facts change, one workflow repeats, one rule is said three times, and for each guard of
a run there is one turn or session that a careless run would learn from. The page "The week of the
demo" lists them by id.

Nothing here may depend on the day it is run: use ``NOW`` as the clock of the ingest and of the run.
A turn whose stated time lies after its ingest counts as said at its ingest, so under an earlier
wall clock the whole week would be from the future.
"""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

DATA: Final[Traversable] = files(__name__) / "week.jsonl"
"""The turns; ``importlib.resources.as_file`` gives a path, also from a zipped package."""

POLICY: Final[Traversable] = files(__name__) / "policy.toml"
"""The knobs that differ from the defaults, each with its reason."""

NOW: Final = datetime(2026, 9, 21, 2, tzinfo=UTC)
"""The clock of the demo: 02:00 UTC on the Monday after the week, when a nightly run would start."""

__all__ = ["DATA", "NOW", "POLICY"]
