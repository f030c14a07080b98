"""A sleep that was cut off between two of its passes, taken up where it stopped.

What a further pass goes by is kept beside the recorded input of the one before it. So a walk
through history that is killed and begun again makes the passes that it would have made.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.records import RecordId

if TYPE_CHECKING:
    from symfonic.capabilities.memory.gathering import Sleep
    from symfonic.capabilities.memory.readers import JournalReader
    from symfonic.capabilities.memory.store import RunRow

KEY: Final = "goes_on"

_LOOK_BACK: Final = 20
"""How many of a scope's latest runs are looked through: undos and edits may have come after it."""


def to_plain(sleep: Sleep, passes: int) -> dict[str, Any]:
    """What the pass after ``passes`` goes by, as plain values."""
    return {
        KEY: {
            "passes": passes,
            "spent": dict(sleep.spent),
            "kept": {name: sorted(ids) for name, ids in sorted(sleep.kept.items())},
            "visible": sleep.visible,
            "hidden": dict(sleep.hidden),
            "held": dict(sleep.held),
        }
    }


def cut_off(reader: JournalReader, most: int) -> RunRow | None:
    """The last pass of a walked night, where others were to follow; ``most`` a sleep may have."""
    for row in reader.runs(limit=_LOOK_BACK):
        if row.kind == "deep" and row.status in {"committed", "undone"}:
            run = reader.run(row.number)
            is_open = row.status == "committed" and run.plan.get(KEY, {}).get("passes", most) < most
            return run if is_open else None
    return None


def taken_up(sleep: Sleep, run: RunRow) -> tuple[Sleep, int]:
    """The sleep as it stood after the pass ``run``, and how many passes it has had."""
    kept = run.plan[KEY]
    again = replace(
        sleep,
        spread_since=datetime.fromisoformat(run.plan["spread_since"]),
        spent=kept["spent"],
        kept={name: frozenset(map(RecordId, ids)) for name, ids in kept["kept"].items()},
        visible=kept["visible"],
        hidden=kept["hidden"],
        held=kept["held"],
    )
    return again, int(kept["passes"])
