from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symfonic.capabilities.memory.changes import Group, add_link, add_record
from symfonic.capabilities.memory.records import (
    Entity,
    Episode,
    Fact,
    Note,
    Procedure,
    Record,
    Step,
    Summary,
    ToolCall,
)
from symfonic.capabilities.memory.run_page.cards import CARDS, NAMED
from symfonic.capabilities.memory.run_page.page import BEGINNING, run_page
from symfonic.capabilities.memory.run_page.story import run_story
from symfonic.capabilities.memory.run_page.strengths import MOVERS
from symfonic.capabilities.memory.testing.builders import make_entity, make_episode, make_link

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.run_page.conftest import Parsed, Tale

    from symfonic.capabilities.memory.run_page.story import RunStory
    from symfonic.capabilities.memory.service import Memory

    Parse = Callable[[str], Parsed]
    NewTale = type[Tale]

HOSTILE = "</script></style></title><img src=x onerror=alert(1)>\"' onload=x <!-- & \u202e]]>"
LIMIT = 2_000_000


def test_page_is_one_document_that_loads_nothing(night: RunStory, parse: Parse) -> None:
    page = run_page(night)
    found = parse(page)
    assert page.startswith(BEGINNING)
    assert found.found("html", lang="en")
    assert len(found.found("h1")) == len(found.found("main")) == len(found.found("title")) == 1
    assert not {name for name, _ in found.tags} & {"link", "img", "iframe", "object", "base"}
    for _, attributes in found.tags:
        assert not {"src", "srcset", "action"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page


def test_ids_are_unique_and_every_inner_link_leads_somewhere(night: RunStory, parse: Parse) -> None:
    found = parse(run_page(night))
    ids = [given["id"] for _, given in found.tags if "id" in given]
    assert len(ids) == len(set(ids))
    assert {str(a["href"])[1:] for a in found.found("a")} <= set(ids)


def test_headings_never_skip_a_level(night: RunStory, parse: Parse) -> None:
    levels = [int(name[1]) for name, _ in parse(run_page(night)).tags if re.match(r"h\d", name)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_only_the_script_of_the_page_may_run(night: RunStory, parse: Parse) -> None:
    page = run_page(night)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = parse(page).found("meta", **{"http-equiv": "Content-Security-Policy"})
    assert f"script-src 'sha256-{digest}'" in str(policy["content"])
    assert "default-src 'none'" in str(policy["content"])


def test_every_group_is_named_and_counts_agree_with_the_journal(
    night: RunStory, parse: Parse
) -> None:
    found = parse(run_page(night))
    text = found.text()
    kinds = {str(row.change.group): row.change.group for row in night.journal}
    assert len(kinds) > 40
    for name, group in kinds.items():
        assert name in text or f"{group.kind}/{group.id[:12]}" in text or group.kind == "strength"
    assert f"{len(night.journal):,}" in found.text("strong")
    for phase in night.runs[0].report["phases"]:
        rows = [row for row in night.journal if row.change.group.phase == phase["name"]]
        assert len(rows) == phase["changes"]
        assert (f" {len(rows):,} changes in " in text.replace("\n", " ")) is bool(rows), phase
    added = sum(
        r.change.operation == "add" and r.change.after.get("kind") == "entity"
        for r in night.journal
    )
    assert f"{added} new entities" in text


def test_a_story_gives_the_same_bytes_each_time(office: Memory) -> None:
    first = run_page(run_story(office, "demo/office#2"))
    assert run_page(run_story(office, "demo/office#2")) == first


def test_no_memory_text_stands_in_the_title(
    tale: Tale, turns: Callable[..., Any], parse: Parse
) -> None:
    story = tale.links(make_entity("n1", "Secret Name"), turns(1)).story()
    assert parse(run_page(story)).text("title") == "Run acme/ana#2"


def test_a_run_without_changes_says_so(tale: Tale, read: Callable[[RunStory], Parsed]) -> None:
    text = read(tale.story()).text()
    assert "It changed nothing." in text
    assert "There is nothing left to take back." in text


def test_a_phase_that_declined_stands_before_what_changed(
    tale: Tale, read: Callable[[RunStory], Parsed]
) -> None:
    phases = [
        {"name": "link_entities", "outcome": "declined", "reason": "No extractor was composed.",
         "knob": "enable_entity_linker"},
    ]  # fmt: skip
    report = {"phases": phases, "settings": {"enable_entity_linker": False}}
    text = read(tale.story(report=report)).text()
    assert text.index("No extractor was composed.") < text.index("What changed, and why")
    assert "symfonic-memory sleep --scope acme/ana --set enable_entity_linker=true" in text


def test_ten_thousand_changes_are_a_page_that_can_be_sent(
    people: Callable[..., Any], turns: Callable[..., Any], parse: Parse, new_tale: NewTale
) -> None:
    long = "He said that the shipment was late and asked what would be done about it. " * 40
    episodes = turns(10, long)
    many = new_tale()
    for person in people(1_000):
        many.links(person, episodes[:5])
    for person in people(4_000):
        many.moves(person, 500)
    assert len(many.rows) == 10_000
    page = run_page(many.story())
    assert len(page.encode()) < LIMIT
    text = parse(page).text()
    assert f"{1_000 - CARDS:,} more groups" in text
    assert f"and {4_000 - MOVERS:,} more; see symfonic-memory diff acme/ana#2" in text
    assert "entity/n00999" in text


def test_ten_thousand_groups_are_a_page_that_can_be_sent(
    people: Callable[..., Any], parse: Parse, new_tale: NewTale
) -> None:
    many = new_tale()
    for person in people(10_000):
        many.edits(person, replace(person, state="archived"), phase="expire")
    page = run_page(many.story())
    assert len(page.encode()) < LIMIT
    assert f"and {10_000 - CARDS - NAMED:,} more; see" in parse(page).text()


def test_the_largest_groups_have_cards(
    people: Callable[..., Any], turns: Callable[..., Any], parse: Parse, new_tale: NewTale
) -> None:
    many = new_tale()
    *small, large = people(CARDS + 5)
    for person in small:
        many.links(person, turns(1))
    many.links(large, turns(3))
    assert f"--group link/entity/{large.id}" in parse(run_page(many.story())).text()


def hostile_story(new_tale: NewTale, text: str) -> RunStory:
    """A story in which every text that a page shows is ``text``."""
    call = ToolCall(name=text, arguments={text: text}, ok=False)
    episode = replace(
        make_episode("e1", text, content=Episode(role="user", name=text, calls=(call, call))),
        session=text,
    )
    step = Step(action=text, arguments={text: text})
    contents: list[tuple[Any, Any]] = [
        ("entity", Entity(name=text, entity_kind=text, aliases=(text,))),
        ("fact", Fact(subject=text, attribute=text, value=text, valid_from=text)),
        ("summary", Summary(method=text, episode_count=1, first_at=text, last_at=text)),
        ("procedure", Procedure(title=text, trigger=f"{text}.", steps=(step,), origin="calls")),
        ("note", Note()),
    ]
    tale = new_tale().knows(episode)
    for kind, content in contents:
        base = make_entity(f"r-{kind}")
        record = replace(base, kind=kind, content=content, text=text, key=text, status="draft")
        group = Group(phase=kind, kind=kind, id=record.id)
        tale.add(add_record(group, record, text))
        tale.add(add_link(group, make_link(record.id, "e1", kind="evidence"), text))
        tale.edits(replace(record, trust="imported"), replace(record, text=text + "!", key="k"))
        tale.moves(record, 100)
    phase = {
        "name": "link_entities", "outcome": "failed", "reason": text, "knob": text,
        "notes": [text], "counts": {text: 1}, "left": 1, "changes": 1,
    }  # fmt: skip
    report = {
        "phases": [phase], "notes": [text], "settings": {"lookback_hours": text},
        "sources": {"lookback_hours": f"file {text}"}, "fingerprint": text,
    }  # fmt: skip
    return tale.story(report=report, digest=text, input_digest=text)


@pytest.fixture(scope="module")
def harmless(parse: Parse, new_tale: NewTale) -> list[str]:
    return [name for name, _ in parse(run_page(hostile_story(new_tale, "word"))).tags]


def inert(parse: Parse, page: str) -> None:
    """Nothing in the page acts: one script, the page's own; no handler; nothing is loaded."""
    found = parse(page)
    assert len(re.findall(r"<script", page)) == page.count("</script>") == 1
    assert len(re.findall(r"<style", page)) == page.count("</style>") == 1
    allowed = {"class", "id", "href", "open", "hidden", "type", "dir", "lang", "scope", "style",
               "datetime", "data-label", "aria-label", "aria-hidden", "charset", "name", "content",
               "http-equiv"}  # fmt: skip
    for name, attributes in found.tags:
        assert attributes.keys() <= allowed
        assert name not in {"img", "svg", "iframe", "form", "input"}
        assert (attributes.get("href") or "#").startswith("#")
        if "style" in attributes:
            assert re.fullmatch(r"left:[\d.]+%;width:[\d.]+%", str(attributes["style"]))


def test_hostile_text_is_shown_and_inert(
    parse: Parse, new_tale: NewTale, harmless: list[str]
) -> None:
    page = run_page(hostile_story(new_tale, HOSTILE))
    inert(parse, page)
    found = parse(page)
    assert "</script></style></title><img src=x onerror=alert(1)>" in found.text("p")
    assert [name for name, _ in found.tags if name != "mark"] == [
        name for name in harmless if name != "mark"
    ]
    assert "\u202e" not in page


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from([
            "<", ">", '"', "'", "&", "</script>", "<script>", "<!--", "-->", "]]>", "<img src=x ",
            "onerror=alert(1)", "&lt;", "&#60;", "\x00", "\u2028", "\u202e", "`", "=", " ", "a",
        ]),
        max_size=12,
    ).map("".join)
)  # fmt: skip
def test_any_text_is_inert(parse: Parse, new_tale: NewTale, text: str) -> None:
    page = run_page(hostile_story(new_tale, text))
    page.encode()
    inert(parse, page)


def test_a_name_is_marked_in_what_mentions_it(tale: Tale) -> None:
    record: Record = make_entity("n1", "Ana & Bo")
    page = run_page(tale.links(record, [make_episode("e1", "Hi, ana & bo!")]).story())
    assert "<mark>ana &amp; bo</mark>" in page
    assert "Ana &amp; Bo" in page
