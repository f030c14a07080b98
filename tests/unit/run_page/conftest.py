from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from importlib.resources import as_file
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import (
    Change,
    Group,
    add_link,
    add_record,
    edit_record,
    set_strength,
)
from symfonic.capabilities.memory.demo import DATA, POLICY
from symfonic.capabilities.memory.demo import NOW as NIGHT
from symfonic.capabilities.memory.records import RecordId, to_columns
from symfonic.capabilities.memory.run_page.page import run_page
from symfonic.capabilities.memory.run_page.story import RunStory, run_story
from symfonic.capabilities.memory.settings import resolve
from symfonic.capabilities.memory.store import JournalRow, RunRow
from symfonic.capabilities.memory.testing.builders import (
    HALF_LIFE_HOURS,
    NOW,
    make_entity,
    make_episode,
    make_link,
    make_memory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

_VOID = {"meta", "br", "hr"}


@dataclass(kw_only=True)
class Parsed(HTMLParser):
    """A page as a browser reads it: its elements, and its text by the element that holds it."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def text(self, *tags: str) -> str:
        shown = [text for tag, text in self.texts if tag not in {"style", "script"}]
        return "".join([t for tag, t in self.texts if tag in tags] if tags else shown)

    def found(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [
            given for name, given in self.tags
            if name == tag and attributes.items() <= given.items()
        ]  # fmt: skip


def parsed(page: str) -> Parsed:
    """The page, every element of which ends where it should."""
    reader = Parsed()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="session")
def parse() -> Callable[[str], Parsed]:
    return parsed


@pytest.fixture(scope="session")
def read() -> Callable[[RunStory], Parsed]:
    return lambda story: parsed(run_page(story))


@pytest.fixture
def office() -> Iterator[Memory]:
    """The demo's week after one night with its knobs: the run is number 2."""
    with make_memory(now=NIGHT) as memory:
        with as_file(DATA) as week:
            memory.ingest(week, scope="demo/office")
        with as_file(POLICY) as file:
            resolved = resolve(file=file, environ={}, sets=())
        memory.sleep(
            scope="demo/office", policy=resolved.policy, retention=resolved.retention,
            limits=resolved.limits, sources=resolved.sources,
        )  # fmt: skip
        yield memory


@pytest.fixture
def night(office: Memory) -> RunStory:
    return run_story(office, "demo/office#2")


@dataclass(kw_only=True)
class Tale:
    """A story put together by hand: say which changes, and the rest follows."""

    rows: list[JournalRow] = field(default_factory=list)
    records: dict[RecordId, Record] = field(default_factory=dict)

    def add(
        self, *changes: Change | None, before: dict[str, Any] | None = None,
        undone_by: int | None = None,
    ) -> Tale:  # fmt: skip
        for change in changes:
            assert change is not None
            self.rows.append(JournalRow(
                run=2, seq=len(self.rows), change=change, before=before or {}, from_version=None,
                undone_by=undone_by,
            ))  # fmt: skip
        return self

    def knows(self, *records: Record) -> Tale:
        self.records |= {record.id: record for record in records}
        return self

    def links(self, entity: Record, episodes: Sequence[Record], *, phase: str = "link") -> Tale:
        """A new entity that these episodes mention."""
        group = Group(phase=phase, kind="entity", id=entity.id)
        self.knows(*episodes).add(add_record(group, entity, f"{len(episodes)} mention it."))
        for episode in episodes:
            link = make_link(episode.id, entity.id)
            self.add(add_link(group, link, "The episode mentions it."))
        return self

    def edits(
        self, before: Record, after: Record, *, phase: str = "user", kind: str = "note",
        undone_by: int | None = None,
    ) -> Tale:  # fmt: skip
        """A change to one record, with what stood there before."""
        group = Group(phase=phase, kind=kind, id=before.id)
        change = edit_record(group, before, after, "Because.")
        assert change is not None
        old = to_columns(before)
        self.knows(after)
        return self.add(
            change, before={name: old[name] for name in change.after}, undone_by=undone_by
        )

    def moves(self, record: Record, by: int) -> Tale:
        """A record that became stronger by so many thousandths."""
        group = Group(phase="strengthen", kind="strength", id=record.id)
        change = set_strength(group, record.id, record.strength + by, "It was used.")
        return self.knows(record).add(change, before={"strength": record.strength})

    def story(self, **given: Any) -> RunStory:
        """The story of run 2 of ``acme/ana``; ``given`` are fields of the run and of the story."""
        own = {k: given.pop(k) for k in ("forgotten", "links") if k in given}
        run = {
            "number": 2, "scope": "acme/ana", "kind": "deep", "status": "committed",
            "clock": NOW, "input_digest": "", "digest": "", "settings": {}, "report": {}, **given,
        }  # fmt: skip
        return RunStory(
            runs=(RunRow(**run),), journal=tuple(self.rows), records=self.records,
            half_life_hours=HALF_LIFE_HOURS, **own,
        )  # fmt: skip


@pytest.fixture
def tale() -> Tale:
    return Tale()


@pytest.fixture(scope="session")
def new_tale() -> type[Tale]:
    """For a test that tells several."""
    return Tale


@pytest.fixture
def turns() -> Callable[..., list[Record]]:
    """Episodes a minute apart."""
    return lambda number, text="Ana is here.": [
        make_episode(f"e{n:05}", text, at=NOW - timedelta(days=1, minutes=-n))
        for n in range(number)
    ]


@pytest.fixture
def people() -> Callable[[int], list[Record]]:
    """Entities, each with a name of its own."""
    return lambda number: [make_entity(f"n{n:05}", f"Person {n}") for n in range(number)]
