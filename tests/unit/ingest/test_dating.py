from datetime import UTC, datetime

import pytest

from symfonic.capabilities.memory.ingest.dating import dated, filled, first_moment
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.ingest.turns import Context, Unreadable
from symfonic.capabilities.memory.store import Turn

CONTEXT = Context(session="s", importer="chatgpt", now=datetime(2026, 1, 1, tzinfo=UTC))


def at(hour: int) -> datetime:
    return datetime(2026, 1, 1, hour, tzinfo=UTC)


def make_turn(hour: int | None) -> Turn:
    when = None if hour is None else at(hour)
    return Turn(
        session="s", position=0, role="user", text="x", importer="chatgpt", occurred_at=when
    )


def times(hours: list[int | None], *, begun: int | None = None, ended: int | None = None) -> object:
    given = [make_turn(hour) for hour in hours]
    items = filled(
        given,
        begun=None if begun is None else at(begun),
        ended=None if ended is None else at(ended),
    )
    turns = [item for item in items if isinstance(item, Turn)]
    return [(t.occurred_at.hour if t.occurred_at else None, t.flags) for t in turns]


def test_the_first_time_that_is_stated_counts_with_its_own_flags() -> None:
    flags: list[str] = []
    found = first_moment((None, 0, {}, "soon", "2026-02-01T00:00:00Z", 5), CONTEXT, flags)
    assert found == datetime(2026, 2, 1, tzinfo=UTC)
    assert flags == ["bad_time", "bad_time", "future"]
    assert first_moment((None, ""), CONTEXT, flags) is None


def test_a_time_without_a_zone_is_not_passed_over() -> None:
    with pytest.raises(Unreadable, match="names no zone") as raised:
        first_moment(("2026-02-01T00:00:00", 5), CONTEXT, [])
    assert raised.value.zone_missing


def test_a_turn_without_a_time_gets_that_of_what_stands_beside_it() -> None:
    inferred = ("inferred_time",)
    assert times([1, None, 3, None]) == [(1, ()), (1, inferred), (3, ()), (3, inferred)]
    assert times([None, 3], begun=2, ended=9) == [(2, inferred), (3, ())]
    assert times([None, 3], ended=9) == [(3, inferred), (3, ())]
    assert times([None, None], ended=9) == [(9, inferred), (9, inferred)]
    assert times([None]) == [(None, ("no_time",))]


def test_rejects_keep_their_place_among_turns() -> None:
    reject = Reject(line=1, offset=0, reason="r")
    assert filled([reject, make_turn(1)], begun=None, ended=None) == [reject, make_turn(1)]


def test_a_given_time_is_flagged_beside_other_flags() -> None:
    assert dated(make_turn(None), at(4)).flags == ("inferred_time",)
