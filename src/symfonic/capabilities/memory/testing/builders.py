"""Small values with sensible defaults: say what a test is about, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import (
    Entity,
    Episode,
    Link,
    LinkKind,
    Record,
    RecordId,
    Role,
    State,
    ToolCall,
)
from symfonic.capabilities.memory.service import Memory
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.strength import base_strength

if TYPE_CHECKING:
    from pathlib import Path

NOW: Final = datetime(2026, 3, 2, 3, tzinfo=UTC)
"""The night of every test: a fixed clock, so that a failure happens again."""

SALT: Final = b"symfonic-testing"
HALF_LIFE_HOURS: Final = 720.0


def make_turn(
    text: str = "The kettle is on.",
    *,
    session: str = "s1",
    position: int | None = 0,
    role: Role = "user",
    name: str | None = None,
    calls: tuple[ToolCall, ...] = (),
    at: datetime | None = None,
    source_id: str | None = None,
    importer: str = "testing",
) -> Turn:
    """A turn on its way in. A ``position`` of ``None`` stands after the last of its session."""
    return Turn(
        session=session, position=position, role=role, text=text, importer=importer, name=name,
        calls=calls, occurred_at=at, source_id=source_id, stated_position=position is not None,
    )  # fmt: skip


def make_session(
    *texts: str,
    session: str = "s1",
    start: datetime | None = None,
    prefix: str | None = None,
    role: Role = "user",
) -> list[Turn]:
    """Turns of one session, a minute apart from ``start``; ids are ``prefix`` and the position."""
    return [
        make_turn(
            text, session=session, position=n, role=role,
            at=None if start is None else start + timedelta(minutes=n),
            source_id=None if prefix is None else f"{prefix}{n}",
        )
        for n, text in enumerate(texts)
    ]  # fmt: skip


def make_episode(
    i: str = "e1",
    text: str = "The kettle is on.",
    *,
    scope: str = "acme/ana",
    session: str = "s1",
    position: int = 0,
    at: datetime = NOW - timedelta(days=10),
    state: State = "active",
    content: Episode | None = None,
) -> Record:
    """A stored episode with the id ``i``."""
    return Record(
        id=RecordId(i), scope=scope, kind="episode", key=None, text=text, state=state,
        content=content or Episode(role="user"),
        session=session, position=position, occurred_at=at, recorded_at=at,
        strength=base_strength(at, HALF_LIFE_HOURS),
    )  # fmt: skip


def make_entity(
    i: str = "n1",
    name: str = "Ana",
    *,
    scope: str = "acme/ana",
    at: datetime = NOW - timedelta(days=10),
) -> Record:
    """A person called ``name`` with the id ``i``."""
    return Record(
        id=RecordId(i), scope=scope, kind="entity", key=name.lower(), text=name,
        content=Entity(name=name, entity_kind="person", confidence=0.5), occurred_at=at,
        recorded_at=at, strength=base_strength(at, HALF_LIFE_HOURS),
    )  # fmt: skip


def make_link(
    source: str,
    target: str,
    *,
    kind: LinkKind = "mentions",
    count: int = 1,
    at: datetime = NOW - timedelta(days=10),
) -> Link:
    """A link between two records by their ids."""
    return Link(source=RecordId(source), kind=kind, target=RecordId(target), count=count, at=at)


def make_memory(url: str | Path = ":memory:", *, now: datetime = NOW, salt: bytes = SALT) -> Memory:
    """A memory whose clock stands at ``now`` and whose ids are the same in every test."""
    return Memory.open(url, clock=lambda: now, salt=salt)
