from symfonic.capabilities.memory.ingest.joining import Joined, shortened
from symfonic.capabilities.memory.ingest.openai import RESULT_EXCERPT
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import CallResult, Turn


def make_turn(role: str, text: str = "", *calls: str) -> Turn:
    made = tuple(ToolCall(name="shell", id=call) for call in calls)
    return Turn(session="s", position=0, role=role, text=text, importer="codex", calls=made)


def calls(joined: Joined) -> list[tuple[str | None, str | None, bool | None]]:
    turns = [item for item in joined.items if isinstance(item, Turn)]
    return [(call.id, call.result, call.ok) for turn in turns for call in turn.calls]


def flags(joined: Joined) -> list[tuple[str, ...]]:
    return [item.flags for item in joined.items if isinstance(item, Turn)]


def test_results_are_put_onto_their_calls_in_any_order() -> None:
    joined = Joined()
    joined.add(make_turn("assistant", "", "a", "b"))
    joined.add(make_turn("assistant", "", "c"))
    assert joined.answer(make_turn("tool", "third"), "c", ok=True)
    assert joined.answer(make_turn("tool", "second"), "b", ok=False)
    assert calls(joined) == [("a", None, None), ("b", "second", False), ("c", "third", True)]
    assert [item.name for item in joined.items[2:] if isinstance(item, Turn)] == ["shell", "shell"]


def test_a_second_result_adds_to_the_first_and_a_failure_stays() -> None:
    joined = Joined()
    joined.add(make_turn("assistant", "", "a"))
    joined.answer(make_turn("tool", "one"), "a", ok=False)
    joined.answer(make_turn("tool", "two"), "a", ok=True)
    assert not joined.answer(make_turn("tool", " "), "a", ok=True)
    assert calls(joined) == [("a", "one\ntwo\n ", False)]
    assert len(joined.items) == 3


def test_a_result_of_a_call_that_was_taken_says_so_in_its_turn() -> None:
    joined = Joined()
    joined.add(make_turn("assistant", "", "a"))
    joined.take()
    joined.answer(make_turn("tool", "late"), "a", ok=True)
    (turn,) = joined.take()
    assert isinstance(turn, Turn)
    assert (turn.answers, turn.flags) == (CallResult(call="a", result="late", ok=True), ())


def test_a_result_without_a_call_is_kept_and_flagged() -> None:
    joined = Joined()
    joined.answer(make_turn("tool", "x"), "nobody", ok=True)
    joined.answer(make_turn("tool", "y"), None, ok=True)
    assert flags(joined) == [("orphan_result",), ("orphan_result",)]


def test_how_a_call_ended_may_come_apart_from_its_result() -> None:
    joined = Joined()
    joined.add(make_turn("assistant", "", "a", "b"))
    joined.settle("a", ok=False)
    joined.settle("a", ok=True)
    joined.settle("unknown", ok=False)
    joined.answer(make_turn("tool", "fine"), "b", ok=True)
    joined.settle("b", ok=False)
    assert calls(joined) == [("a", None, False), ("b", "fine", False)]


def test_what_was_broken_off_counts_as_done_in_no_call() -> None:
    joined = Joined()
    joined.add(Reject(line=1, offset=0, reason="r"))
    joined.add(make_turn("user", "go"))
    joined.add(make_turn("assistant", "", "a"))
    joined.answer(make_turn("tool", "fine"), "a", ok=True)
    joined.abort()
    assert calls(joined) == [("a", "fine", False)]
    assert flags(joined) == [(), ("aborted",), ()]


def test_a_long_result_is_shortened_on_the_call_only() -> None:
    joined = Joined()
    joined.add(make_turn("assistant", "", "a"))
    joined.answer(make_turn("tool", "x" * 5000), "a", ok=True)
    assert calls(joined) == [("a", "x" * RESULT_EXCERPT + "…", True)]
    assert shortened("short") == "short"
