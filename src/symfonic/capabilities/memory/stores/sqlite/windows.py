"""Windows of conversation: counting who stands together, and counting anew after a forgetting.

What a window holds is kept as ``seen`` rows, one for each name. A forgotten episode may have been
the only one that named somebody there, so the rows of its windows go at once: they would tell what
it said until the next night. The next night keeps what the remaining episodes say.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import from_microseconds, to_microseconds
from symfonic.capabilities.memory.store import WINDOW_LENGTH, Shared
from symfonic.capabilities.memory.stores.sqlite.rows import LARGEST, array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.store import Subscription, Window
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

COUNTED = 1000
"""The newest windows of a name that are counted: beyond it a count no longer decides anything."""

_LEAST = 2
"""The windows below which no policy links two names: one conversation is a coincidence."""


def count_windows(
    db: Connection,
    path: str,
    reader: str,
    keys: Sequence[str],
    *,
    without: Sequence[Window],
    most: int,
) -> dict[str, int]:
    """In how many kept windows each key stands."""
    bound = {
        "scope": path, "reader": reader, "keys": array(keys), "without": _places(without),
        "most": min(most, LARGEST),
    }  # fmt: skip
    return dict(db.rows("window_counts", bound))


def count_shared(
    db: Connection,
    path: str,
    reader: str,
    pairs: Sequence[tuple[str, str]],
    *,
    without: Sequence[Window],
    most: int,
) -> dict[tuple[str, str], Shared]:
    """In how many kept windows both keys of a pair stand; a pair without one is left out."""
    keys = sorted({key for pair in pairs for key in pair})
    bound = {
        "scope": path, "reader": reader, "keys": array(keys), "without": _places(without),
        "most": min(most, LARGEST),
    }  # fmt: skip
    newest: dict[str, list[tuple[str, int, int]]] = {
        key: [tuple(place) for place in json.loads(places)]
        for key, places in db.rows("newest_windows", bound)
    }
    rarer_first = [sorted(pair, key=lambda key: (len(newest[key]), key)) for pair in pairs]
    looked_in = sorted({place[:2] for rarer, _ in rarer_first for place in newest[rarer]})
    rows = db.rows("window_members", {"scope": path, "reader": reader, "windows": array(looked_in)})
    members = {place: json.loads(found) for place, (found,) in zip(looked_in, rows, strict=True)}
    shared: dict[tuple[str, str], Shared] = {}
    for pair, (rarer, other) in zip(pairs, rarer_first, strict=True):
        latest = [
            max(at, members[session, number][other])
            for session, number, at in newest[rarer]
            if other in members[session, number]
        ]
        if latest:
            shared[pair] = Shared(count=len(latest), at=from_microseconds(max(latest)))
    return shared


def places_of(records: Iterable[Record]) -> list[Window]:
    """The windows in which these records stand, in order."""
    return sorted(
        (session, position // WINDOW_LENGTH)
        for session, position in {(r.session, r.position) for r in records if r.kind == "episode"}
        if session is not None and position is not None
    )


def kept_pairs(
    db: Connection, path: str, places: Sequence[Window]
) -> dict[str, set[tuple[str, str]]]:
    """Per reader, who stands together in these windows by what is kept of them."""
    found: dict[str, set[tuple[str, str]]] = {}
    for (reader,) in db.rows("window_readers", {"scope": path}) if places else ():
        members: dict[tuple[str, int], list[str]] = {}
        bound = {"scope": path, "reader": reader, "windows": array(places)}
        for row in db.rows("kept_windows", bound):
            members.setdefault((row[4], row[9]), []).append(row[3])
        pairs = {pair for keys in members.values() for pair in combinations(sorted(keys), 2)}
        found[str(reader)] = pairs
    return found


def recount(
    db: Connection,
    path: str,
    places: Sequence[Window],
    pairs: dict[str, set[tuple[str, str]]],
    gone: Sequence[str],
    *,
    counter: int,
) -> int:
    """Drop what is kept of the windows and of what is ``gone``, and lower the links of the pairs
    that stood there to what the other windows say; the change counter after it.
    """
    for (reader,) in db.rows("window_readers", {"scope": path}):
        db.executemany("delete_window", [(path, reader, *place) for place in places])
        db.executemany("erase_window_member", [(path, reader, i) for i in gone])
    erased = set(gone)
    for reader, together in sorted(pairs.items()):
        asked = sorted(pair for pair in together if not erased.intersection(pair))
        shared = count_shared(db, path, reader, asked, without=(), most=COUNTED)
        rows = array([one, "co_occurred", other] for one, other in asked)
        for one, kind, other, count, at, _ in db.rows("link_rows", {"scope": path, "rows": rows}):
            counter += 1
            bound: dict[str, Any] = {
                "scope": path, "source": one, "kind": kind, "target": other, "version": counter,
            }  # fmt: skip
            left = shared.get((one, other))
            if left is None or left.count < _LEAST:
                del bound["version"]
                db.execute("delete_link", bound)
            elif (left.count, to_microseconds(left.at)) != (count, at):
                bound |= {"count": min(count, left.count), "at": to_microseconds(left.at)}
                db.execute("upsert_link", bound)
    return counter


def reread(
    db: Connection,
    path: str,
    places: Sequence[Window],
    subscriptions: Sequence[Subscription],
    *,
    stamp: int,
) -> None:
    """The episodes that are left in the windows are unread for who keeps windows."""
    bound = {"scope": path, "windows": array(places), "length": WINDOW_LENGTH}
    left = sorted({str(row[0]) for row in db.rows("window_episodes", bound)})
    for subscription in subscriptions:
        if subscription.reads_mentions and left:
            db.execute(
                "touch_pending",
                {"scope": path, "phase": subscription.phase, "ids": array(left), "stamp": stamp},
            )


def _places(windows: Sequence[Window]) -> str:
    """Windows as the statements compare them."""
    return array(f"{session}\x1f{number}" for session, number in windows)
