"""Which records of a transcript are on its active branch, told before it is read.

Records name their parents, and a conversation that was taken back leaves its old end in the file.
Which end is the last one is known at the end of the file only, so the file is read twice. What is
kept of the first reading is a few numbers for each record, and of those only the exceptions.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from symfonic.capabilities.memory.ingest.document import Piece

Place = tuple[int, int]
"""Where a record stands: the number of its piece, and its own within the piece."""

TURNS: Final = frozenset({"user", "assistant", "attachment"})
"""Types of records that may become turns."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What a reader has to know beforehand.

    ``abandoned`` are records off the active branch, ``repeated`` those whose uuid came before, and
    ``roots`` gives the first record of each sub-agent's talk by the uuid of each of its records.
    """

    abandoned: set[Place] = field(default_factory=set)
    repeated: set[Place] = field(default_factory=set)
    roots: dict[str, str] = field(default_factory=dict)


def records_of(piece: Piece) -> Iterator[tuple[Place, Any]]:
    """The records of one piece: itself, or the lines of a session that is one document."""
    value = piece.value
    lines = value.get("loglines") if isinstance(value, Mapping) else None
    if not isinstance(lines, list):
        yield (piece.number, 0), value
        return
    for number, line in enumerate(lines):
        yield (piece.number, number), line


def is_sidechain(record: Mapping[str, Any]) -> bool:
    """Whether a record belongs to the talk between an agent and a sub-agent."""
    return record.get("isSidechain") is True


def tree_of(pieces: Iterable[Piece]) -> Tree:
    """The tree of all records of a source.

    At each fork the branch with the last message is the active one. A parent that is not known,
    or that comes later, makes its record the beginning of a tree; so does the step into a
    sub-agent's talk, and every tree has its own active branch. A compaction cuts the chain of
    parents and names the true one aside.
    """
    tree = Tree()
    index: dict[str, int] = {}
    parents, places, numbers = array("q"), array("q"), array("q")
    speaking, sides = bytearray(), bytearray()
    for piece in pieces:
        for place, record in records_of(piece) if piece.problem is None else ():
            uuid = record.get("uuid") if isinstance(record, Mapping) else None
            if not isinstance(uuid, str) or not uuid:
                continue
            if uuid in index:
                tree.repeated.add(place)
                continue
            side = is_sidechain(record)
            parent = index.get(_parent(record), -1)
            if parent >= 0 and bool(sides[parent]) != side:
                parent = -1
            if side:
                tree.roots[uuid] = tree.roots[_parent(record)] if parent >= 0 else uuid
            kind = record.get("type")
            index[uuid] = len(parents)
            parents.append(parent)
            places.append(place[0])
            numbers.append(place[1])
            speaking.append(isinstance(kind, str) and kind in TURNS)
            sides.append(side)
    tree.abandoned.update(
        (places[one], numbers[one]) for one in _abandoned(parents, speaking) if speaking[one]
    )
    return tree


def _parent(record: Mapping[str, Any]) -> str:
    named = (record.get(key) for key in ("parentUuid", "logicalParentUuid"))
    return next((uuid for uuid in named if isinstance(uuid, str)), "")


def _abandoned(parents: array[int], speaking: bytearray) -> Iterator[int]:
    """The records that no active branch passes. Parents come before their children."""
    last = array("q", (one if spoken else -1 for one, spoken in enumerate(speaking)))
    for one in range(len(parents) - 1, -1, -1):
        if parents[one] >= 0:
            last[parents[one]] = max(last[parents[one]], last[one])
    active = bytearray(len(parents))
    for one, parent in enumerate(parents):
        active[one] = parent < 0 or (active[parent] and last[one] == last[parent])
        if not active[one]:
            yield one
