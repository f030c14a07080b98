"""A clock that waiting moves, and a memory that keeps account of its sleeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from symfonic.capabilities.memory.outcome import RunReport, SleepReport
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.testing.builders import SALT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from symfonic.capabilities.memory.store import MemoryStore, RunRow, ScopeState


class Call(NamedTuple):
    """One sleep that was asked for, and when in UTC."""

    at: str
    scope: str
    kind: str


@dataclass
class Time:
    """A clock that stands until somebody waits; ``end`` ends the wait that would pass it."""

    now: datetime
    end: datetime | None = None
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> bool:
        assert seconds > 0, "a wait of nothing is a busy loop"
        self.waits.append(seconds)
        self.now += timedelta(seconds=seconds)
        return self.end is not None and self.now >= self.end


class Kept:
    """A real memory whose DEEP sleeps are real ones; LIGHT ones are counted and change nothing."""

    def __init__(self, memory: Memory, time: Time) -> None:
        self.memory = memory
        self.time = time
        self.calls: list[Call] = []
        self.before: Callable[[str], None] = lambda scope: None

    @property
    def store(self) -> MemoryStore:
        return self.memory.store

    def scopes(self) -> list[str]:
        return self.memory.scopes()

    def state(self, *, scope: str) -> ScopeState:
        return self.memory.state(scope=scope)

    def runs(self, *, scope: str, limit: int) -> list[RunRow]:
        return self.memory.runs(scope=scope, limit=limit)

    def flush_uses(self) -> None:
        self.memory.flush_uses()

    def sleep(self, *, scope: str, kind: str = "deep", **given: Any) -> SleepReport:
        self.before(scope)
        at = self.time.now.astimezone(UTC).isoformat(timespec="minutes")
        self.calls.append(Call(at, scope, kind))
        if kind == "deep":
            return self.memory.sleep(scope=scope, **given)
        given["watch"](1, "link_entities")
        run = RunReport(
            run_id="", scope=scope, kind="light", status="committed",
            clock=self.time.now.isoformat(),
        )  # fmt: skip
        return SleepReport(passes=(run,))

    def of(self, kind: str) -> list[str]:
        """When sleeps of a kind were asked for."""
        return [call.at for call in self.calls if call.kind == kind]

    def talk(self, scope: str, at: datetime, count: int = 3) -> None:
        """Bring some turns in that were said at a time."""
        texts = [f"Ana Berger met Tobias Fenn, for the {n}th time, at {at}." for n in range(count)]
        turns = [
            {"id": f"{at} {n}", "session": str(at), "position": n, "text": t, "at": at.isoformat()}
            for n, t in enumerate(texts)
        ]
        self.memory.ingest(turns, scope=scope, now=at)


@pytest.fixture
def remembering(tmp_path: Path) -> Iterator[Callable[..., Kept]]:
    """Opens a memory that stands at a time, with scopes that hold a little each."""
    opened: list[Memory] = []

    def remember(start: str, *, scopes: Sequence[str] = ("acme/ana",)) -> Kept:
        time = Time(datetime.fromisoformat(start))
        memory = Memory.open(tmp_path / "memory.db", salt=SALT, clock=time)
        opened.append(memory)
        kept = Kept(memory, time)
        for scope in scopes:
            kept.talk(scope, time.now - timedelta(hours=1))
        return kept

    yield remember
    for memory in opened:
        memory.close()
