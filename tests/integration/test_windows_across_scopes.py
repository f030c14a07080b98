"""Who is spoken of together where one of them, or both, is an ancestor's."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.policy import LearningPolicy

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.service import Memory

SHOP, DESK = "pottery", "pottery/desk"
LINKING = LearningPolicy(enable_entity_linker=True)


def met(memory: Memory, scope: str, now: datetime, *names: str) -> None:
    """Two sessions, each of which names everybody."""
    rows: list[dict[str, Any]] = [
        {"id": f"{scope}{day}{n}", "session": f"{scope}{day}", "position": n, "role": "user",
         "text": f"This morning {name} asked me about the kiln.",
         "at": (now - timedelta(days=day)).isoformat()}
        for day in (1, 2) for n, name in enumerate(names)
    ]  # fmt: skip
    memory.ingest(rows, scope=scope, now=now)
    memory.sleep(scope=scope, policy=LINKING, now=now)


def linked(memory: Memory, scope: str) -> list[int]:
    rows = [row for row in memory.export(scope=scope) if row["table"] == "link"]
    return [row["count"] for row in rows if row["kind"] == "co_occurred"]


def test_an_ancestor_s_names_are_linked_in_the_own_scope_and_the_store_is_sound(
    memory: Memory, now: datetime
) -> None:
    met(memory, SHOP, now, "Marguerite Oakes", "Tobias Fenn")
    met(memory, DESK, now, "Marguerite Oakes", "Tobias Fenn", "Ilse Brandt")
    assert linked(memory, SHOP) == [2]
    assert linked(memory, DESK) == [2, 2, 2]
    assert memory.store.check() == []
    assert memory.sleep(scope=DESK, policy=LINKING, now=now).change_count == 0


def test_each_scope_counts_its_own_windows(memory: Memory, now: datetime) -> None:
    met(memory, SHOP, now, "Marguerite Oakes", "Tobias Fenn")
    rows = [
        {"id": f"d{n}", "session": "d", "position": n, "role": "user",
         "text": f"This morning {name} asked me about the kiln.", "at": now.isoformat()}
        for n, name in enumerate(("Marguerite Oakes", "Tobias Fenn"))
    ]  # fmt: skip
    memory.ingest(rows, scope=DESK, now=now)
    memory.sleep(scope=DESK, policy=LINKING, now=now)
    assert linked(memory, DESK) == []
