"""Laws of ChatGPT exports, whatever stands in their fields."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.chatgpt_tree import branches
from symfonic.capabilities.memory.ingest.inputs import read_turns, turns_from_dicts
from symfonic.capabilities.memory.ingest.rejects import Reject
from symfonic.capabilities.memory.store import Turn
from symfonic.capabilities.memory.testing.builders import NOW, make_memory
from symfonic.capabilities.memory.testing.memories import SCOPE, content

TEXTS = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["", " ", "hello", "\ud83d", "a\x00b", '{"error": 1}', "\ue200cite\ue202turn0\ue201", "Ünïcödé"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | TEXTS
    | st.sampled_from([0, 1_700_000_000.5, "2026-01-01T10:00:00", "2026-01-01T10:00:00Z"])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["r", "a", "b", "c", "d", "e"])


def odd(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what is usual in a field, now and then anything."""
    return st.one_of(usual, usual, usual, usual, ANYTHING)


def fields(**usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object of which any field may be missing or hold anything."""
    return odd(st.fixed_dictionaries({}, optional={k: odd(v) for k, v in usual.items()}))


PARTS = st.lists(
    odd(
        TEXTS
        | fields(
            content_type=st.sampled_from(["image_asset_pointer", "audio_transcription"]),
            asset_pointer=TEXTS,
            text=TEXTS,
        )
    ),
    max_size=3,
)
CONTENT = fields(
    content_type=st.sampled_from(
        [
            "text", "multimodal_text", "code", "execution_output", "system_error", "thoughts",
            "tether_quote", "tether_browsing_display", "user_editable_context", "reasoning_recap",
            "sonic_webpage", "computer_output", "from_the_future",
        ]
    ),
    parts=PARTS,
    text=TEXTS,
    result=TEXTS,
    summary=TEXTS,
    name=TEXTS,
    user_instructions=TEXTS,
)  # fmt: skip
MESSAGE = fields(
    id=TEXTS,
    author=fields(role=st.sampled_from(["user", "assistant", "tool", "system"]), name=TEXTS),
    content=CONTENT,
    create_time=st.floats(1, 2e9),
    update_time=st.none(),
    recipient=st.sampled_from(["all", "all", "python", "browser.search"]),
    channel=st.sampled_from([None, "final", "analysis", "commentary"]),
    metadata=fields(
        is_visually_hidden_from_conversation=st.booleans(),
        attachments=st.lists(fields(id=TEXTS), max_size=1),
        aggregate_result=fields(status=st.sampled_from(["success", "failed_with_x"])),
    ),
)
NODE = fields(
    id=KEYS,
    parent=KEYS | st.none(),
    children=st.lists(odd(KEYS), max_size=3),
    message=MESSAGE,
)
MAPPING = st.dictionaries(KEYS, NODE, max_size=6)
CONVERSATION = fields(
    id=TEXTS,
    conversation_id=st.sampled_from(["c1", "c2"]),
    title=TEXTS | st.none(),
    create_time=st.none() | st.floats(1, 2e9),
    update_time=st.none() | st.floats(1, 2e9),
    current_node=KEYS,
    mapping=MAPPING,
)
ARCHIVE = st.lists(CONVERSATION, max_size=4)


def encoded(archive: list[Any]) -> bytes:
    return json.dumps(archive).encode()


def walked(conversation: dict[str, Any]) -> tuple[list[Turn], list[Reject], int]:
    reading = turns_from_dicts([conversation], format="chatgpt", now=NOW)
    items = list(reading)
    turns = [item for item in items if isinstance(item, Turn)]
    return turns, [item for item in items if isinstance(item, Reject)], reading.skipped


@given(ARCHIVE)
def test_whatever_an_archive_holds_is_read_or_rejected(archive: list[Any]) -> None:
    with read_turns(encoded(archive), format="chatgpt", now=NOW) as reading:
        items = list(reading)
    assert reading.pending is None
    assert reading.turns + reading.rejected == len(items)
    for item in items:
        if isinstance(item, Turn):
            item.text.encode()
            assert item.role in ("user", "assistant", "tool", "system")
            assert item.text.strip() or item.calls or "attachment" in item.flags or (
                item.role == "tool"
            )  # fmt: skip
        else:
            assert "conversation " in item.reason


@given(ARCHIVE, st.data())
def test_a_cut_off_archive_raises_nothing_unexpected(
    archive: list[Any], data: st.DataObject
) -> None:
    whole = encoded(archive)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        with read_turns(cut, format="chatgpt", now=NOW) as reading:
            given_turns = [item for item in reading if isinstance(item, Turn)]
    except InputError:
        return
    with read_turns(whole, format="chatgpt", now=NOW) as reading:
        all_turns = [item for item in reading if isinstance(item, Turn)]
    assert given_turns == all_turns[: len(given_turns)]


@given(MAPPING.filter(bool), odd(KEYS))
def test_every_message_stands_on_one_branch(nodes: dict[str, Any], current: object) -> None:
    found = branches(nodes, current)
    said = {k for k, n in nodes.items() if not isinstance(n, dict) or n.get("message") is not None}
    assert sorted((*found.active, *found.inactive, *found.lost)) == sorted(said)


@given(st.lists(st.fixed_dictionaries({"parent": KEYS | st.none()}), min_size=1, max_size=6))
def test_a_path_goes_up_without_repeating_or_leaving_out(links: list[dict[str, Any]]) -> None:
    nodes = {
        key: {"message": {"id": key}, "children": [], **link}
        for key, link in zip("rabcde", links, strict=False)
    }
    active = branches(nodes, list(nodes)[-1]).active
    assert active[-1] == list(nodes)[-1]
    assert len(set(active)) == len(active)
    for upper, lower in pairwise(active):
        assert nodes[lower]["parent"] == upper


@given(st.fixed_dictionaries({"current_node": KEYS, "mapping": MAPPING.filter(bool)}))
def test_nothing_that_stands_in_a_conversation_vanishes(conversation: dict[str, Any]) -> None:
    turns, rejects, skipped = walked(conversation)
    found = branches(conversation["mapping"], conversation["current_node"])
    told = len(turns) + len(rejects) + skipped
    lost = 1 if found.lost else 0
    assert told == len(found.active) + len(found.inactive) + lost


@given(ARCHIVE)
def test_turns_of_a_conversation_keep_the_order_of_its_path(archive: list[Any]) -> None:
    for conversation in archive:
        if isinstance(conversation, dict):
            turns, _, _ = walked(conversation)
            places = [turn.position for turn in turns if turn.position is not None]
            assert places == sorted(set(places))


@given(ARCHIVE)
def test_an_archive_again_adds_nothing(archive: list[Any]) -> None:
    with make_memory() as memory:
        first = memory.ingest(archive, scope=SCOPE, format="chatgpt", now=NOW)
        before = content(memory)
        again = memory.ingest(archive, scope=SCOPE, format="chatgpt", now=NOW)
        assert (again.added, again.known) == (0, first.added + first.known)
        assert content(memory) == before
