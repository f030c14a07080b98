"""A session that was resumed or forked into another file counts once, whichever comes first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
Records = list[dict[str, Any]]


def record(role: str, number: int, text: str, *, session: str = "first") -> dict[str, Any]:
    return {
        "type": role, "uuid": f"u{number}", "sessionId": session,
        "parentUuid": f"u{number - 1}" if number else None,
        "timestamp": f"2026-01-01T10:00:0{number}Z",
        "message": {"role": role, "content": text, "id": f"m{number}"},
    }  # fmt: skip


HISTORY = [
    record("user", 0, "Is the kiln warm?"),
    record("assistant", 1, "Not yet."),
    record("user", 2, "And now?"),
    record("assistant", 3, "Now it is."),
]
ADDED = [
    record("user", 4, "Put the bowls in.", session="second"),
    record("assistant", 5, "They are in.", session="second"),
]


def kept(records: Records) -> Records:
    """Copies as they were."""
    return records


def forked(records: Records) -> Records:
    """Copies under new ids that say where they come from."""
    return [
        {
            **one,
            "uuid": f"copy-{one['uuid']}",
            "parentUuid": one["parentUuid"] and f"copy-{one['parentUuid']}",
            "sessionId": "second",
            "forkedFrom": {"sessionId": "first", "messageUuid": one["uuid"]},
        }
        for one in records
    ]


def renamed(records: Records) -> Records:
    """Copies in the new session that do not say where they come from."""
    return [{**one, "sessionId": "second"} for one in records]


@pytest.mark.parametrize("copies", [kept, forked, renamed])
def test_copied_history_adds_only_what_follows_it(
    copies: Callable[[Records], Records], memory: Memory, now: datetime, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("".join(json.dumps(one) + "\n" for one in HISTORY))
    second.write_text("".join(json.dumps(one) + "\n" for one in [*copies(HISTORY), *ADDED]))
    for number, paths in enumerate(((first, second), (second, first))):
        reports = [memory.ingest(p, scope=f"{SCOPE}{number}", now=now) for p in paths]
        assert sum(report.added for report in reports) == 6
        assert reports[1].known == 4
