"""Turns in order, with each tool's result put onto the call that it answers.

What an agent did and whether it worked is what procedures are learned from, and both formats
that come in here state a call and its result apart. The tool's own turn is kept as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.ingest.openai import RESULT_EXCERPT
from symfonic.capabilities.memory.ingest.turns import sorted_flags
from symfonic.capabilities.memory.store import CallResult, Turn

if TYPE_CHECKING:
    from symfonic.capabilities.memory.ingest.rejects import Reject
    from symfonic.capabilities.memory.records import ToolCall

ABORTED: Final = "aborted"
"""The flag of turns whose calls belong to work that was broken off."""


class Joined:
    """Turns and rejects as they come; ``items`` holds them until they are taken.

    A call is known by its id, also after the turn that made it was taken: a result that comes
    then says so in its turn's ``answers``, and the store puts it onto the call.
    """

    def __init__(self) -> None:
        self.items: list[Turn | Reject] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._known: set[str] = set()

    def add(self, item: Turn | Reject) -> None:
        """Hold a turn with its calls, or a reject."""
        if isinstance(item, Turn):
            for index, call in enumerate(item.calls):
                if call.id is not None:
                    self._places[call.id] = (len(self.items), index)
                    self._known.add(call.id)
        self.items.append(item)

    def answer(self, turn: Turn, call_id: str | None, *, ok: bool) -> bool:
        """Hold a tool's turn, with its result put onto the call of that id.

        A second result adds to the first, and one that failed makes the call a failed one. A turn
        that says nothing is not held once its call is known to have ended; the answer is whether
        it was.
        """
        place = None if call_id is None else self._places.get(call_id)
        excerpt = shortened(turn.text)
        if call_id is None or place is None:
            if call_id is None or call_id not in self._known:
                turn = replace(turn, flags=sorted_flags([*turn.flags, "orphan_result"]))
            if call_id is not None:
                late = CallResult(call=call_id, result=excerpt, ok=ok)
                turn = replace(turn, answers=late)
            self.items.append(turn)
            return True
        call = self._call(place)
        if call.result is not None:
            excerpt = call.result if not excerpt else shortened(f"{call.result}\n{excerpt}")
        self._put(place, result=excerpt, ok=ok and call.ok is not False)
        says = bool(turn.text.strip()) or "attachment" in turn.flags
        if says:
            self.items.append(replace(turn, name=turn.name or call.name))
        return says

    def settle(self, call_id: str, *, ok: bool) -> None:
        """Note how a held call ended, where its result has not told that it failed."""
        place = self._places.get(call_id)
        if place is not None and self._call(place).ok is not False:
            self._put(place, result=self._call(place).result, ok=ok)

    def abort(self) -> None:
        """Every call that is held did not lead to its end: none of them counts as done."""
        for index, item in enumerate(self.items):
            if isinstance(item, Turn) and item.calls:
                calls = tuple(replace(call, ok=False) for call in item.calls)
                flags = sorted_flags([*item.flags, ABORTED])
                self.items[index] = replace(item, calls=calls, flags=flags)

    def take(self) -> list[Turn | Reject]:
        """What is held, which is then held no more."""
        items, self.items = self.items, []
        self._places.clear()
        return items

    def _call(self, place: tuple[int, int]) -> ToolCall:
        turn = self.items[place[0]]
        assert isinstance(turn, Turn)
        call: ToolCall = turn.calls[place[1]]
        return call

    def _put(self, place: tuple[int, int], *, result: str | None, ok: bool) -> None:
        turn = self.items[place[0]]
        assert isinstance(turn, Turn)
        calls = list(turn.calls)
        calls[place[1]] = replace(calls[place[1]], result=result, ok=ok)
        self.items[place[0]] = replace(turn, calls=tuple(calls))


def shortened(result: str) -> str:
    """The beginning of a result, as long as a call keeps it."""
    return result if len(result) <= RESULT_EXCERPT else result[:RESULT_EXCERPT] + "…"
