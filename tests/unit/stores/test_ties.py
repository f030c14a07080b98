"""A cap bounds what SQLite hands over, also where everything happened at one time.

An import without times gives every row one time; a cap that took all of them would be none.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.records import RecordId, Seen, Use, to_microseconds
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode, make_link
from symfonic.capabilities.memory.testing.contract.base import OWN, make_scopes, write

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY, CAP = 400, 3
AT = NOW - timedelta(days=1)
HOUR = to_microseconds(AT) // 3_600_000_000


@pytest.fixture(scope="module")
def store() -> Iterator[SQLiteStore]:
    """One entity that many turns named in the same moment."""
    store = SQLiteStore(":memory:")
    make_scopes(store)
    ids = [f"e{n:04}" for n in range(MANY)]
    write(store, make_entity("n1"), *(make_episode(i, at=AT) for i in ids))
    write(store, *(make_link(i, "n1", at=AT) for i in ids))
    seen = tuple(
        Seen(episode=RecordId(i), reader="r", kind="mention", key="k", session=i, at=AT)
        for i in ids
    )
    store.commit(OWN, Commit(kind="user", clock=NOW, seen=seen), lease=None)
    kinds = ("recalled", "confirmed", "spread", "base")
    store.add_uses(
        OWN,
        [Use(record=RecordId("n1"), hour=HOUR, kind=kind, weight=1.0) for kind in kinds],  # type: ignore[arg-type]
        subscriptions=(),
    )
    yield store
    store.close()


def statement(store: SQLiteStore, name: str, **bound: object) -> list[str]:
    """The first column of what a statement gives within the cap."""
    with store.snapshot(OWN) as reader:
        rows = reader.connection.rows(name, {"scope": OWN.path, **bound})
    return [row[0] for row in rows]


WINDOW = {"since": to_microseconds(AT), "until": to_microseconds(NOW)}
LAST = [f"e{n:04}" for n in range(MANY - CAP, MANY)]


def test_links_of_one_time_are_capped(store: SQLiteStore) -> None:
    given = {"ids": '["n1"]', "kinds": '["mentions"]'}
    assert statement(store, "links_in", per_record=CAP, **given) == LAST
    assert len(statement(store, "links_in", per_record=MANY + 1, **given)) == MANY


def test_sightings_of_one_time_are_capped(store: SQLiteStore) -> None:
    given = {"reader": "r", "keys": '["k"]', **WINDOW}
    assert statement(store, "get_sightings", per_key=CAP, **given) == LAST
    assert len(statement(store, "get_sightings", per_key=MANY + 1, **given)) == MANY


def test_a_tally_of_one_time_is_capped(store: SQLiteStore) -> None:
    bound = {
        "scope": OWN.path, "reader": "r", "keys": '["k"]', "least_score": 0.0, "replaced": "[]",
        "also": "[]", **WINDOW,
    }  # fmt: skip
    with store.snapshot(OWN) as reader:
        for cap, expected in ((CAP, CAP), (MANY + 1, MANY)):
            ((_, episodes, *_),) = reader.connection.rows("tally_seen", {**bound, "cap": cap})
            assert episodes == expected


def test_uses_of_one_hour_are_capped(store: SQLiteStore) -> None:
    given = {"ids": '["n1"]', "until": HOUR}
    assert len(statement(store, "get_uses", cap=CAP, **given)) == CAP
    assert len(statement(store, "get_uses", cap=9, **given)) == 4


def test_the_cap_costs_no_more_than_its_rows(store: SQLiteStore) -> None:
    """Working out where the cap lies once for each row would be quadratic."""
    given = {"ids": json.dumps(["n1"]), "kinds": '["mentions"]'}
    steps = []
    for cap in (MANY // 4, MANY):
        ticks: list[int] = []
        with store.snapshot(OWN) as reader:
            raw = reader.connection.raw
            raw.set_progress_handler(lambda found=ticks: found.append(1), 10)  # type: ignore[misc]
            reader.connection.rows("links_in", {"scope": OWN.path, "per_record": cap, **given})
            raw.set_progress_handler(None, 0)
        steps.append(len(ticks))
    assert steps[1] < 6 * steps[0]
