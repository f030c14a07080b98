"""What the tests of whole runs share: invented logs, memories of one salt, and what they hold."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PEOPLE = ("Marguerite Oakes", "Tobias Fenn", "Ilse Brandt", "Rosalind Achterberg")
THINGS = ("glaze recipe", "north kiln", "tile order", "clay delivery", "price list")
RULES = (
    "Before you ship the tiles, run the glaze check and notify the potter.",
    "When a kiln alarm rings, close the gas valve and call the foreman.",
)
START = datetime(2026, 3, 2, 8, tzinfo=UTC)
NOW = datetime(2026, 4, 1, 2, tzinfo=UTC)


def _turn(number: int) -> dict[str, Any]:
    """Turn ``number``: six to a session, a session every four hours."""
    session, position = divmod(number, 6)
    at = START + timedelta(hours=4 * session, minutes=position)
    turn: dict[str, Any] = {
        "id": f"t{number}", "session": f"s{session}", "position": position,
        "at": at.isoformat(), "role": "user",
    }  # fmt: skip
    who, other = PEOPLE[session % 4], PEOPLE[(session + 1 + number % 2) % 4]
    thing = THINGS[(session * 3 + position) % 5]
    match position:
        case 0:
            turn["text"] = f"This morning {who} asked me about the {thing} of week {session}."
        case 1:
            turn |= {"role": "assistant", "text": f"I will look for the {thing}."}
            turn["tool_calls"] = [
                {"name": "find_order", "arguments": {"week": session, "shop": "main"}, "ok": True},
                {"name": "check_stock", "arguments": {"item": thing}, "ok": session % 5 != 4},
                {"name": "send_note", "arguments": {"to": who}, "ok": session % 5 != 4},
            ]
        case 2:
            turn["text"] = f"Then {other} told {who} that the {thing} is late again."
        case 3:
            turn["text"] = RULES[session % 2]
        case 4:
            turn |= {"role": "assistant", "text": f"Noted, I told {other} about it."}
        case _:
            turn["text"] = f"Thanks, the {thing} number {number} can wait until {who} is back."
    return turn


@pytest.fixture
def log() -> Callable[[int], list[dict[str, Any]]]:
    """The first ``count`` turns of a pottery's talk with its agent, from 2 March 2026 on."""
    return lambda count: [_turn(number) for number in range(count)]


@pytest.fixture
def now() -> datetime:
    """The clock of the runs: a night after thirty days of talk."""
    return NOW


@pytest.fixture
def learning() -> LearningPolicy:
    """A policy under which every phase that needs no model has something to do."""
    return LearningPolicy(
        enable_entity_linker=True, promotion_use_tool_calls_fallback=True,
        episodic_summarization_max_entries=20, episodic_summarization_batch_size=12,
    )  # fmt: skip


@pytest.fixture
def opened() -> Iterator[Callable[..., Memory]]:
    """Opens memories of one salt; in memory unless a path is given. Closed after the test."""
    with ExitStack() as stack:

        def open_memory(path: Path | str = ":memory:", salt: bytes = b"integration") -> Memory:
            return stack.enter_context(Memory.open(path, salt=salt, clock=lambda: NOW))

        yield open_memory


@pytest.fixture
def memory(opened: Callable[..., Memory]) -> Memory:
    return opened()


@pytest.fixture
def contents() -> Callable[..., list[dict[str, Any]]]:
    """All rows of a scope but runs and the scope's own; with ``history``, the journal too."""

    def rows(memory: Memory, scope: str, *, history: bool = False) -> list[dict[str, Any]]:
        left_out = {"run", "scope"} | (set() if history else {"change"})
        return [row for row in memory.store.dump(Scope(scope)) if row["table"] not in left_out]

    return rows


@pytest.fixture
def learnt() -> Callable[..., list[dict[str, Any]]]:
    """What memory holds, without what only says when it was written."""

    def rows(memory: Memory, scope: str) -> list[dict[str, Any]]:
        unstable = {"version", "seq", "recorded_at", "stamp"}
        found = [
            {name: value for name, value in row.items() if name not in unstable}
            for row in memory.store.dump(Scope(scope))
            if row["table"] in {"record", "link", "use", "seen"}
        ]
        return sorted(found, key=repr)

    return rows


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the soak tests out unless they are asked for with ``-m soak``."""
    if "soak" in str(config.getoption("markexpr")):
        return
    skipped = pytest.mark.skip(reason="a soak test; run it with -m soak")
    for item in items:
        if item.get_closest_marker("soak") is not None:
            item.add_marker(skipped)
