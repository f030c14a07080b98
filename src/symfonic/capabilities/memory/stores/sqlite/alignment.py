"""Laying a batch against its stored session, turn by turn, to tell what was handed over again.

Clients and traces repeat their history, often under new ids. A text hash would drop the second of
two equal turns; ids alone would double the conversation.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import canonical, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.stores.sqlite.batch import Batch

ALIGNED_TURNS = 20_000
"""How many stored turns an imported session is held against; a live turn sees the last ones."""


_MOST_LEADING = 50
"""How many forgotten turns at the beginning of a batch are tried as left out."""


@dataclass(slots=True)
class Alignment:
    """Where each session of one ingest stands in what is stored.

    A session is laid against the store when it is first met; later batches go on from there. The
    value is what remains to be matched, oldest first, and empty once something new was seen.
    """

    remaining: dict[str, list[_Stored]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A turn as alignment compares it; ``named`` if the batch names a stored turn by its id."""

    id: str
    named: bool
    role: str
    text: str
    calls: str
    occurred_at: int | None

    def equals(self, other: _Stored) -> bool:
        """The same turn said once: two stated times that differ are two turns.

        A turn that is named by its id is that one, and no other that merely says the same.
        """
        if self.named or other.named:
            return self.id == other.id
        if (self.role, self.text, self.calls) != (other.role, other.text, other.calls):
            return False
        return None in (self.occurred_at, other.occurred_at) or (
            self.occurred_at == other.occurred_at
        )


def resent(batch: Batch, alignment: Alignment) -> tuple[set[int], set[int]]:
    """The turns that repeat, under new ids, what their session holds, and what was forgotten of it.

    A system prompt is not part of the talk: it may change from call to call, so it is compared by
    itself and the talk is laid against the talk.
    """
    groups: dict[str, list[int]] = {}
    for index, turn in enumerate(batch.turns):
        groups.setdefault(turn.session, []).append(index)
    found: set[int] = set()
    erased: set[int] = set()
    for session, all_indexes in groups.items():
        indexes = [i for i in all_indexes if batch.known.get(batch.ids[i]) != "forgotten"]
        given = {i: _as_stored(batch, i) for i in indexes}
        ghosts = [i for i in indexes if i in batch.ghosts and not given[i].named]
        all_talk = [i for i in indexes if given[i].role != "system"]
        first = batch.turns[all_indexes[0]].position
        live = first is None
        prompts: list[_Stored] = []
        if session in alignment.remaining:
            stored, start = alignment.remaining[session], 0
            talk, said = _without_ghosts(stored, given, all_talk, ghosts)
        elif (
            not given
            or session not in batch.ends
            or _told_by_ids(list(given.values()))
            or (first is not None and first > batch.ends[session])  # a reading that goes on
        ):
            stored, start = [], -1
            talk, said = _without_ghosts(stored, given, all_talk, ghosts)
        else:
            everything = _stored_session(batch, session, len(indexes) if live else None)
            prompts = [turn for turn in everything if turn.role == "system"]
            stored = [turn for turn in everything if turn.role != "system"]
            talk, said = _without_ghosts(stored, given, all_talk, ghosts)
            whole = not live or len(stored) <= len(said)
            least = 2 if len(said) == len(all_talk) else 1  # a forgotten turn among them is a sign
            start = _start(stored, said, whole=whole, first=not live, least=least)
        length = _run(stored[start:], said) if stored and start >= 0 else 0
        found.update(talk[:length])
        if live or length:
            found.update(i for i in indexes if any(given[i].equals(p) for p in prompts))
        ghosts = [i for i in ghosts if i not in found]
        last = talk[length - 1] if length else -1
        if (
            length + len(all_talk) - len(talk) >= 2 and length
        ):  # what follows a history at once is its own end, and not said anew
            while last + 1 in ghosts:
                last += 1
        erased.update(_erased(ghosts, indexes, last=last))
        alignment.remaining[session] = stored[start + length :] if length == len(said) else []
    return found, erased


def _without_ghosts(
    stored: list[_Stored], given: dict[int, _Stored], talk: list[int], ghosts: list[int]
) -> tuple[list[int], list[_Stored]]:
    """The talk without what was forgotten of it, so that it can be laid against what is left.

    A session may have said the forgotten words more than once: of the turns that say them, those
    are left out that stand where the stored session has nothing. Where the talk fits nowhere, all
    are.
    """
    if not ghosts:
        return talk, [given[i] for i in talk]
    may_go = set(ghosts)
    best, dropped = 0, may_go
    leading = next((n for n, i in enumerate(talk) if i not in may_go), len(talk))
    for offset in range(min(leading, _MOST_LEADING, len(talk) - 1) + 1):
        for start, turn in enumerate(stored):
            if turn.equals(given[talk[offset]]):
                length, passed = _fit(stored[start:], given, talk[offset:], may_go)
                if length > best:
                    best, dropped = length, {*talk[:offset], *passed}
    kept = [i for i in talk if i not in dropped]
    return kept, [given[i] for i in kept]


def _fit(
    stored: list[_Stored], given: dict[int, _Stored], talk: list[int], may_go: set[int]
) -> tuple[int, set[int]]:
    """How many stored turns the talk repeats from here, and which forgotten ones it passes over."""
    length = 0
    passed: set[int] = set()
    for i in talk:
        if length < len(stored) and stored[length].equals(given[i]):
            length += 1
        elif i in may_go:
            passed.add(i)
        else:
            break
    return length, passed


def _erased(ghosts: list[int], indexes: list[int], *, last: int) -> set[int]:
    """The turns that a history brings back: those within what it repeats, or that it begins with.

    One such turn alone may be said anew, and is then not the forgotten one.
    """
    leading = next((n for n, i in enumerate(indexes) if i not in ghosts), len(indexes))
    if leading < 2:
        leading = 0
    return {i for n, i in enumerate(indexes) if i in ghosts and (i <= last or n < leading)}


def _told_by_ids(given: Sequence[_Stored]) -> bool:
    """Whether the ids say it all: what is known comes first, and what is new after it.

    An unknown turn before a known one may be one that was recognised under another id.
    """
    named = [turn.named for turn in given]
    return any(named) and False not in named[: len(named) - named[::-1].index(True)]


def _stored_session(batch: Batch, session: str, live: int | None) -> list[_Stored]:
    count = ALIGNED_TURNS if live is None else live + 1
    bound = {"scope": batch.path, "session": session, "count": count}
    rows = batch.db.rows("session_tail", bound)[::-1]
    return [
        _Stored(i, i in batch.known, role, text, _called(json.loads(calls or "[]")), at)
        for role, text, calls, at, i in rows
    ]


def _as_stored(batch: Batch, index: int) -> _Stored:
    turn, i = batch.turns[index], batch.ids[index]
    calls = _called([asdict(call) for call in batch.contents[index].calls])
    at = None if turn.occurred_at is None else to_microseconds(turn.occurred_at)
    return _Stored(i, i in batch.known, turn.role, turn.text, calls, at)


def _called(calls: list[dict[str, Any]]) -> str:
    """What was called with what; ids are the client's and results may come later."""
    return canonical([[call["name"], call.get("arguments")] for call in calls])


def _start(
    stored: list[_Stored], given: list[_Stored], *, whole: bool, first: bool, least: int
) -> int:
    """Where ``given`` begins to repeat ``stored``, or -1 where it does not.

    It must repeat up to the end of one of the two, or from the beginning of both (a history that
    was edited further on), and more than one chance turn: two turns, or one whose stated time
    agrees, or the whole of what is stored with something after it. A live pair equal to the last
    two and nothing after it was said twice, unless it is all there is.

    Of several places the longest repeats most. Of equal ones a live turn goes on from the latest,
    and a file (``first``) from the earliest, since the rest of it is still to come. ``least`` turns
    must repeat.
    """
    best, best_length = -1, 0
    for start, turn in enumerate(stored):
        if not given or not turn.equals(given[0]):
            continue
        length = _run(stored[start:], given)
        at_end = start + length == len(stored)
        from_beginning = start == 0 and whole
        if not (at_end or from_beginning or length == len(given)):
            continue
        timed = turn.occurred_at is not None and given[0].occurred_at is not None
        grown = at_end and length < len(given)
        convincing = timed or (length >= least and (grown or whole)) or (from_beginning and grown)
        if convincing and (length > best_length or (length == best_length and not first)):
            best, best_length = start, length
        if first and best_length == len(given):
            break
    return best


def _run(stored: list[_Stored], given: list[_Stored]) -> int:
    """How many turns from the beginning of both are equal."""
    length = 0
    for one, other in zip(stored, given, strict=False):
        if not one.equals(other):
            break
        length += 1
    return length
