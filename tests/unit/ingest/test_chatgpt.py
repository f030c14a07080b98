import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.records import ToolCall
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import SCOPE

BEGUN = 1_760_000_000.0


def said(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """A message, its fields overridden by ``more``."""
    content = {"content_type": "text", "parts": list(parts)}
    return {
        "author": {"role": role}, "content": content, "recipient": "all", "metadata": {}, **more
    }  # fmt: skip


def chain(*messages: Any, name: str = "c1", **more: Any) -> dict[str, Any]:
    """A conversation without branches; message n has the id ``NAME-n``."""
    nodes: dict[str, Any] = {"root": {"parent": None, "children": [f"{name}-0"], "message": None}}
    above = "root"
    for number, message in enumerate(messages):
        key = f"{name}-{number}"
        below = [f"{name}-{number + 1}"] if number + 1 < len(messages) else []
        nodes[key] = {"parent": above, "children": below, "message": message}
        above = key
    return {"conversation_id": name, "title": "T", "mapping": nodes, "current_node": above, **more}


def read(*conversations: Any, **options: Any) -> list[Turn]:
    items = list(turns_from_dicts(conversations, format="chatgpt", now=NOW, **options))
    assert all(isinstance(item, Turn) for item in items), items
    return [item for item in items if isinstance(item, Turn)]


def rejects(*conversations: Any) -> list[str]:
    items = turns_from_dicts(conversations, format="chatgpt", now=NOW)
    return [item.reason for item in items if isinstance(item, Reject)]


def test_only_the_active_branch_is_imported() -> None:
    talk = chain(said("user", "tea or coffee?"), said("assistant", "Tea."))
    talk["mapping"]["x"] = {"parent": "c1-0", "children": [], "message": said("assistant", "No.")}
    reading = turns_from_dicts([talk], format="chatgpt")
    turns = [item for item in reading if isinstance(item, Turn)]
    assert [(t.role, t.text, t.source_id) for t in turns] == [
        ("user", "tea or coffee?", "c1-0"), ("assistant", "Tea.", "c1-1"),
    ]  # fmt: skip
    assert (reading.read, reading.turns, reading.skipped, reading.rejected) == (3, 2, 1, 0)


def test_a_call_and_its_results_are_joined() -> None:
    turns = read(
        chain(
            said("user", "search"),
            said("assistant", '{"q": "tides"}', recipient="web.search"),
            said("tool", "high at noon", author={"role": "tool", "name": "web"}),
            said("tool", "low at six"),
            said("assistant", "At noon."),
            said("tool", "a stray one"),
        )
    )
    (call,) = turns[1].calls
    assert call == ToolCall(
        name="web.search", id="c1-1", arguments={"q": "tides"}, ok=True,
        result="high at noon\nlow at six",
    )  # fmt: skip
    assert [(t.role, t.name, t.flags) for t in turns[2:4]] == [
        ("tool", "web", ("no_time",)), ("tool", "web.search", ("no_time",)),
    ]  # fmt: skip
    assert turns[5].flags == ("no_time", "orphan_result")
    assert turns[1].text == ""


def test_a_silent_result_ends_its_call_and_is_counted() -> None:
    talk = chain(said("assistant", "x = 1", recipient="python"), said("tool", ""))
    reading = turns_from_dicts([talk], format="chatgpt")
    (turn,) = reading
    assert isinstance(turn, Turn)
    assert turn.calls[0].ok is True
    assert reading.skipped == 1


def test_times_that_are_missing_are_inferred_and_flagged() -> None:
    talk = chain(
        said("user", "a"),
        said("assistant", "b", create_time=None, update_time=BEGUN + 5),
        said("user", "c", create_time=0),
        title=None,
        update_time=BEGUN + 100,
    )
    times = [(t.occurred_at, t.flags) for t in read(talk)]
    later = datetime.fromtimestamp(BEGUN + 5, UTC)
    assert times == [(later, ("inferred_time",)), (later, ()), (later, ("inferred_time",))]
    (first, *_) = read({**talk, "create_time": BEGUN})
    assert first.occurred_at == datetime.fromtimestamp(BEGUN, UTC)
    (only,) = read(chain(said("user", "a"), update_time=BEGUN))
    assert only.occurred_at == datetime.fromtimestamp(BEGUN, UTC)
    oddities: tuple[Any, ...] = (None, {}, "2026-01-01T10:00:00")
    for odd in oddities:
        (only,) = read(chain(said("user", "a"), create_time=odd))
        assert (only.occurred_at, only.flags) == (None, ("no_time",))


def test_one_bad_conversation_is_named_and_the_others_land() -> None:
    good = chain(said("user", "hello"))
    given = [
        good, None, {"id": "c7", "title": None, "mapping": 3}, {"title": "Boat\ntrip"},
        chain(said("user", "there"), name="c2"),
    ]  # fmt: skip
    with read_turns(json.dumps(given).encode(), now=NOW) as reading:
        items = list(reading)
    assert [i.text for i in items if isinstance(i, Turn)] == ["hello", "there"]
    assert [i.reason for i in items if isinstance(i, Reject)] == [
        "conversation 2 (untitled): a JSON NoneType is not a conversation",
        "conversation 3 (c7, untitled): it has no mapping of messages",
        "conversation 4 (Boat trip): it has no mapping of messages",
    ]


def test_one_bad_message_is_named_and_the_others_land() -> None:
    talk = chain(
        said("user", "a"), said("critic", "b"), said("user", 3), "no message", said("user", "c")
    )
    talk["mapping"]["c1-9"] = 5
    talk["mapping"]["c1-4"]["children"] = ["c1-9"]
    talk["current_node"] = "c1-9"
    items = list(turns_from_dicts([talk], format="chatgpt"))
    assert [i.text for i in items if isinstance(i, Turn)] == ["a", "c"]
    found = rejects(talk)
    assert [reason.split(":")[0] for reason in found] == [
        f"conversation 1 (c1, T), message c1-{n}" for n in (1, 2, 3, 9)
    ]


def test_a_local_time_waits_for_a_zone() -> None:
    talk = chain(said("user", "a", create_time="2026-01-01T10:00:00"))
    (item,) = turns_from_dicts([talk], format="chatgpt")
    assert isinstance(item, Reject)
    assert item.zone_missing
    (turn,) = read(talk, timezone="Europe/Vienna")
    assert turn.occurred_at == datetime(2026, 1, 1, 9, tzinfo=UTC)


def test_what_hangs_on_no_branch_is_one_reject() -> None:
    talk = chain(said("user", "a"))
    talk["mapping"]["x"] = {"parent": "gone", "children": ["y"], "message": said("user", "lost")}
    (reason,) = rejects(talk)
    assert "1 message hangs on no branch" in reason
    talk["mapping"]["y"] = {"parent": "x", "children": [], "message": said("user", "too")}
    (reason,) = rejects(talk)
    assert "2 messages hang on no branch" in reason
    assert "the first is x" in reason


def test_what_nobody_was_told_is_counted_and_comes_between_no_call_and_its_result() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    talk = chain(
        said("system", "be kind", metadata=hidden),
        said("assistant", "1 + 1", recipient="python"),
        said("system", "a word between"),
        said("assistant", "hm", content={"content_type": "thoughts"}),
        said("tool", "2"),
    )
    reading = turns_from_dicts([talk], format="chatgpt")
    turns = [item for item in reading if isinstance(item, Turn)]
    assert [(t.position, t.role) for t in turns] == [(1, "assistant"), (2, "system"), (4, "tool")]
    assert turns[0].calls[0].result == "2"
    assert reading.skipped == 2


def test_secrets_are_taken_out_of_calls_and_long_texts_stand_whole_once() -> None:
    token = "sk-test-" + "0" * 28
    text = "x0 " * 350_000 + "needle data:image/png;base64," + "AAAA" * 1000
    turns = read(
        chain(
            said("assistant", f"curl -H 'Authorization: Bearer {token}'", recipient="shell"),
            said("tool", text),
        )
    )
    assert token not in str(turns)
    assert "redacted" in turns[0].flags
    assert turns[1].text.endswith("needle [data:image/png, 3000 bytes]")
    assert len(turns[0].calls[0].result or "") < 3000


def test_a_guessed_branch_is_flagged() -> None:
    talk = chain(said("user", "a", create_time=BEGUN), current_node=None)
    assert read(talk)[0].flags == ("guessed_branch",)


def test_a_session_is_the_conversation_by_whatever_names_it() -> None:
    def session(**more: Any) -> str:
        talk = chain(said("user", "a", id="m1"))
        del talk["conversation_id"]
        return read({**talk, **more}, session="file")[0].session

    assert session(conversation_id="c", id="i") == "c"
    assert session(conversation_id=" ", id=12) == "12"
    assert session(id=True) == "m1"
    nodes = {"m": {"message": said("user", "a", id=None)}}
    assert session(mapping=nodes) == "file#1"


def test_a_longer_export_adds_what_is_new_and_brings_nothing_back() -> None:
    first = [said("user", "tea?"), said("assistant", "Yes.")]
    with make_memory() as memory:

        def ingest(*messages: Any) -> tuple[int, int, int]:
            report = memory.ingest([chain(*messages)], scope=SCOPE, format="chatgpt", now=NOW)
            return report.added, report.known, report.forgotten

        assert ingest(*first) == (2, 0, 0)
        assert ingest(*first, said("user", "With milk.")) == (1, 2, 0)
        assert ingest(*first, said("user", "With milk.")) == (0, 3, 0)
        (found,) = [i.id for i in memory.recall("milk", scope=SCOPE).items if "milk" in i.text]
        memory.forget([found], scope=SCOPE)
        assert ingest(*first, said("user", "With milk."), said("assistant", "Sure.")) == (1, 2, 1)
        assert ingest(*first, said("user", "With milk."), said("assistant", "Sure.")) == (0, 3, 1)


def test_an_export_is_read_conversation_by_conversation(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    talks = [chain(said("user", f"talk {n}", "x" * 2000), name=f"c{n}") for n in range(400)]
    path.write_text(json.dumps(talks), encoding="utf-8")
    with read_turns(path, now=NOW) as reading:
        next(iter(reading))
        assert reading.offset < 600_000 < reading.size
        checkpoint = reading.checkpoint()
    assert checkpoint.positions == {}
    with read_turns(path, now=NOW, start=checkpoint) as reading:
        rest = [item.session for item in reading if isinstance(item, Turn)]
    assert rest == [f"c{n}" for n in range(1, 400)]


def test_a_cut_off_export_is_pending_after_what_it_holds() -> None:
    data = json.dumps([chain(said("user", "a")), chain(said("user", "b"), name="c2")]).encode()
    with read_turns(data[:-40], now=NOW) as reading:
        assert [item.text for item in reading if isinstance(item, Turn)] == ["a"]
    assert reading.pending is not None


def test_an_export_that_is_no_json_further_on_says_where() -> None:
    data = b'[{"mapping": {}}, {"mapping": nope}, {"mapping": {}}' + b" " * 100 + b"]"
    with read_turns(data, now=NOW) as reading:
        (reject,) = reading
    assert isinstance(reject, Reject)
    assert reject.offset == 18
