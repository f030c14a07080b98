"""Recall over an in-memory store: what ranks above what, and what is never returned."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import Change, Group, add_link, add_record, edit_record
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.packing import tokens
from symfonic.capabilities.memory.recall import Recall, recall
from symfonic.capabilities.memory.recall_scoring import RecallWeights
from symfonic.capabilities.memory.recall_spelling import distance
from symfonic.capabilities.memory.records import (
    Content,
    Entity,
    Fact,
    Kind,
    Link,
    LinkKind,
    Note,
    Procedure,
    Record,
    RecordId,
    Step,
    Summary,
    ToolCall,
)
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, MemoryStore, Turn
from symfonic.capabilities.memory.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


class Shelf:
    """A store of one scope, with short ways to fill and ask it."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.scope = Scope("mill")
        self.derived = 0
        store.ensure_scope(self.scope, half_life_hours=720.0, salt=b"recall-tests")

    def say(
        self, *texts: str, session: str = "s1", name: str | None = None, **columns: Any
    ) -> None:
        """Add turns of a session, one a minute."""
        turns = [
            Turn(
                session=session, position=position, role="user", text=text, importer="tests",
                name=name, source_id=f"{session}-{position}", stated_position=True,
                **{"occurred_at": START + timedelta(minutes=position), **columns},
            )
            for position, text in enumerate(texts)
        ]  # fmt: skip
        self.store.add_turns(self.scope, turns, now=NOW, subscriptions=())

    def derive(
        self,
        kind: Kind,
        content: Content,
        text: str,
        *,
        sources: tuple[RecordId, ...] = (),
        link: LinkKind = "evidence",
        condense: bool = False,
        **columns: Any,
    ) -> RecordId:
        """Add a derived record with its evidence."""  # fmt: skip
        self.derived += 1
        i = RecordId(f"{self.derived:024x}")
        group = Group(phase="tests", kind=kind, id=i)
        record = Record(
            id=i, scope=self.scope.path, kind=kind, key=f"k{self.derived}", content=content,
            text=text, recorded_at=NOW, **columns,
        )  # fmt: skip
        changes: list[Change | None] = [add_record(group, record, "")]
        changes += [
            add_link(group, Link(source=i, kind=link, target=s, at=START), "") for s in sources
        ]
        if condense:
            with self.store.snapshot(self.scope) as reader:
                for source in reader.records(sources):
                    changes.append(
                        edit_record(group, source, replace(source, state="condensed"), "")
                    )
        kept = tuple(change for change in changes if change is not None)
        self.store.commit(self.scope, Commit(kind="user", clock=NOW, changes=kept), lease=None)
        return i

    def ask(self, query: str, **options: Any) -> Recall:
        with self.store.snapshot(self.scope) as reader:
            return recall(reader, query, **{"now": NOW, **options})

    def texts(self, query: str, **options: Any) -> list[str]:
        return [item.text for item in self.ask(query, **options).items]

    def ids(self, query: str) -> tuple[RecordId, ...]:
        return tuple(item.id for item in self.ask(query).items)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    store = open_store(":memory:")
    yield Shelf(store)
    store.close()


def say_apart(shelf: Shelf, *texts: str) -> None:
    """Each text in a session of its own, so that none lends to another."""
    for number, text in enumerate(texts):
        shelf.say(text, session=f"s{number}", occurred_at=START + timedelta(days=number))


def test_more_words_of_the_question_stand_above_one_repeated(shelf: Shelf) -> None:
    say_apart(
        shelf,
        "Boiler, boiler, boiler, always the boiler.",
        "The boiler valve leaks in winter.",
        "Winter is long.",
    )
    assert shelf.texts("does the boiler valve leak in winter")[0].startswith("The boiler valve")


def test_words_that_stand_together_as_asked_come_first(shelf: Shelf) -> None:
    say_apart(
        shelf,
        "The garden has a gate and a green table.",
        "We bought a table for the garden, green.",
    )
    assert shelf.texts("green table")[0].startswith("The garden has")


def test_scores_are_from_0_to_1_and_fall(shelf: Shelf) -> None:
    shelf.say(*[f"Kettle number {n} hums{' and boils over' * (n % 3)}." for n in range(30)])
    scores = [item.score for item in shelf.ask("kettle boils over", limit=None).items]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


def test_the_same_rows_give_the_same_order_whatever_the_order_of_import(shelf: Shelf) -> None:
    other = Shelf(open_store(":memory:"))
    sessions = [(f"s{n}", f"The kettle hums in room {n % 4}.") for n in range(12)]
    for name, text in sessions:
        shelf.say(text, session=name)
    for name, text in reversed(sessions):
        other.say(text, session=name)
    assert shelf.ids("kettle in room 2") == other.ids("kettle in room 2")
    other.store.close()


def test_an_answer_that_shares_no_word_is_found_behind_its_question(shelf: Shelf) -> None:
    shelf.say("Which pastry did Odile bring?", "The almond one.", "Lovely weather, by the way.")
    assert shelf.texts("pastry Odile") == ["Which pastry did Odile bring?", "The almond one."]


def test_what_merely_stands_beside_a_single_match_is_not_returned(shelf: Shelf) -> None:
    shelf.say(
        "Good morning.", "The kiln reached cone six.", "See https://kiln.example/?a=1", "Bye."
    )
    assert shelf.texts("cone") == ["The kiln reached cone six."]


def test_a_turn_between_matches_of_a_whole_question_is_returned_below_them(shelf: Shelf) -> None:
    shelf.say("The rowing club meets in March.", "Lovely.", "Its rowing boats need varnish.")
    found = shelf.texts("does the rowing club varnish its boats")
    assert sorted(found[:2]) == [
        "Its rowing boats need varnish.",
        "The rowing club meets in March.",
    ]
    assert found[2:] == ["Lovely."]


def test_the_turns_of_a_person_whom_the_question_names_come_first(shelf: Shelf) -> None:
    shelf.say("Ines, have you sold your cello?", session="s1", name="Bram")
    shelf.say("I sold my cello to a school.", session="s2", name="Ines")
    shelf.say("I sold my cello, too.", session="s3", name="Bram")
    assert shelf.ask("has Ines sold a cello").items[0].speaker == "Ines"
    parts = shelf.ask("cello of Ines", explain=True).items[0].parts
    assert parts["speaker"] > 0


def test_strength_decides_only_between_equals(shelf: Shelf) -> None:
    say_apart(shelf, "The kettle hums.", "The kettle hums.", "The kettle boils and hums.")
    weak = shelf.derive("note", Note(), "The kettle hums.", strength=-9_000_000)
    strong = shelf.derive("note", Note(), "The kettle hums.", strength=9_000_000)
    notes = [item.id for item in shelf.ask("kettle hums", kinds=("note",)).items]
    assert notes == [strong, weak]
    assert shelf.texts("kettle boils")[0] == "The kettle boils and hums."


def test_a_misspelt_word_is_found_as_approximate_and_below_exact_matches(shelf: Shelf) -> None:
    say_apart(shelf, "The harbour closed.", "A ferry came in.", "The harbinger of spring.")
    only = shelf.ask("harbuor")
    assert [(item.text, item.approximate) for item in only.items] == [("The harbour closed.", True)]
    both = shelf.ask("harbuor ferry")
    assert [item.approximate for item in both.items] == [False, True]
    assert both.items[1].score <= both.items[0].score
    assert not shelf.ask("harbour").items[0].approximate


def test_a_word_that_only_begins_alike_is_not_a_near_spelling(shelf: Shelf) -> None:
    say_apart(shelf, "Complaints go to the computer room.", "Part QRX-7712 is here.")
    assert shelf.texts("compound") == []
    assert shelf.texts("QRX-7713") == []
    assert shelf.texts("7713") == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("ferry", "ferry", 0), ("ferry", "fery", 1), ("ferry", "frery", 1), ("ferry", "fairy", 2),
     ("ferry", "berries", 3), ("ab", "abcdef", 3)],
)  # fmt: skip
def test_distance_counts_letters_up_to_its_limit(first: str, second: str, expected: int) -> None:
    assert distance(first, second, 2) == expected


def test_a_summary_stands_beside_its_sources_and_never_above_them(shelf: Shelf) -> None:
    shelf.say("The ferry to Aran is at noon.", "It rained.", "The ferry was late.")
    sources = shelf.ids("ferry noon late")
    shelf.derive(
        "summary",
        Summary(method="test", episode_count=3, first_at="", last_at=""),
        "The ferry to Aran is at noon; the noon ferry was late.",
        sources=sources, link="summarises", condense=True,
    )  # fmt: skip
    items = shelf.ask("is the noon ferry late").items
    kinds = [item.kind for item in items]
    assert kinds[0] == "episode"
    assert "summary" in kinds
    summary = items[kinds.index("summary")]
    assert summary.evidence == tuple(sorted(sources))
    assert summary.score <= items[0].score
    assert "The ferry was late." in [item.text for item in items]


def test_a_summary_stands_for_its_sources_when_the_budget_is_short(shelf: Shelf) -> None:
    talk = "About the ferry we talked for a good while, as one does on a pier. " * 3
    shelf.say(*[f"{talk} Part {n}." for n in range(4)])
    text = "They talked about the ferry on a pier."
    shelf.derive(
        "summary",
        Summary(method="test", episode_count=4, first_at="", last_at=""),
        text, sources=shelf.ids("ferry"), link="summarises", condense=True,
    )  # fmt: skip
    roomy = shelf.ask("ferry", token_budget=10_000, limit=None)
    assert len(roomy.items) == 5
    assert not roomy.more
    short = shelf.ask("ferry", token_budget=tokens(text) + 5, limit=None)
    assert [item.text for item in short.items] == [text]
    assert short.more


def test_a_summary_without_the_words_does_not_stand_for_its_sources(shelf: Shelf) -> None:
    shelf.say("The ferry leaves at noon from the old pier, they said.", "Ferry tickets are blue.")
    shelf.derive(
        "summary",
        Summary(method="test", episode_count=2, first_at="", last_at=""),
        "Talk of the ferry.", sources=shelf.ids("ferry"), link="summarises", condense=True,
    )  # fmt: skip
    packed = shelf.texts("ferry noon pier", token_budget=20, limit=None)
    assert "The ferry leaves at noon from the old pier, they said." in packed


def test_what_is_packed_fits_the_budget_and_is_there_once(shelf: Shelf) -> None:
    shelf.say(*["The kettle hums. " * (n + 1) for n in range(12)])
    for budget in (0, 1, 5, 40, 200):
        items = shelf.ask("kettle", token_budget=budget, limit=None).items
        assert sum(tokens(item.text) for item in items) <= budget
        assert len({item.id for item in items}) == len(items)


def test_a_budget_pays_for_the_same_words_once(shelf: Shelf) -> None:
    shelf.say("The kiln door sticks.", "THE  kiln door sticks.", "The kiln door is open.")
    found = shelf.texts("kiln door", token_budget=100)
    assert len(found) == 2
    assert "The kiln door is open." in found
    assert len(shelf.texts("kiln door")) == 3


def test_drafts_and_rejected_procedures_are_not_recalled(shelf: Shelf) -> None:
    content = Procedure(
        title="Refund", trigger="a refund", steps=(Step(action="find_order"),), origin="calls",
        decided_by="ana",
    )  # fmt: skip
    for status in ("draft", "rejected", "retired", "approved"):
        shelf.derive("procedure", content, f"Refund steps, {status}.", status=status)
    assert shelf.texts("refund steps") == ["Refund steps, approved."]


def test_facts_are_returned_with_their_validity_while_they_hold(shelf: Shelf) -> None:
    old = Fact(
        subject="Odile", attribute="city", value="Lyon", valid_from="2025-01-01T00:00:00+00:00",
        valid_to="2026-01-01T00:00:00+00:00",
    )  # fmt: skip
    new = replace(old, value="Nantes", valid_from="2026-01-01", valid_to=None)
    began = datetime(2025, 1, 1, tzinfo=UTC)
    shelf.derive("fact", old, "Odile lives in Lyon.", occurred_at=began)
    shelf.derive("fact", new, "Odile lives in Nantes.", occurred_at=began)
    now = shelf.ask("where does Odile live")
    assert [item.text for item in now.items] == ["Odile lives in Nantes."]
    assert now.items[0].valid_from == "2026-01-01"
    then = shelf.texts("where does Odile live", as_of=datetime(2025, 6, 1, tzinfo=UTC))
    assert then == ["Odile lives in Lyon."]


def test_working_notes_past_their_time_are_not_recalled(shelf: Shelf) -> None:
    shelf.derive("note", Note(note_kind="working"), "Kettle ticket one.", until=NOW)
    shelf.derive(
        "note", Note(note_kind="working"), "Kettle ticket two.", until=NOW + timedelta(hours=1)
    )
    shelf.derive("note", Note(note_kind="prospective"), "Kettle ticket three.", until=NOW)
    assert sorted(shelf.texts("kettle ticket")) == ["Kettle ticket three.", "Kettle ticket two."]


def test_as_of_leaves_out_what_happened_later(shelf: Shelf) -> None:
    say_apart(shelf, "Kettle one.", "Kettle two.", "Kettle three.")
    found = shelf.texts("kettle", as_of=START + timedelta(days=1, hours=1))
    assert sorted(found) == ["Kettle one.", "Kettle two."]


def test_since_and_until_bound_what_is_returned_also_beside_a_match(shelf: Shelf) -> None:
    shelf.say(*(f"Is the kiln hot? {n}" if n % 2 else f"Yes, {n}." for n in range(8)))
    since, until = START + timedelta(minutes=3), START + timedelta(minutes=5)
    found = shelf.ask("is the kiln hot", since=since, until=until)
    assert {item.source_id for item in found.items} == {"s1-3", "s1-4"}
    assert len(shelf.ask("is the kiln hot", since=since).items) == 5
    assert len(shelf.ask("is the kiln hot", until=until).items) == 4  # nothing asked for the first
    with pytest.raises(InputError, match="is not before"):
        shelf.ask("is the kiln hot", since=until, until=since)


def test_an_old_row_is_found_however_many_newer_ones_match(shelf: Shelf) -> None:
    shelf.say(*(f"The kiln is hot, {n}." for n in range(40)))
    few = RecallWeights(candidates=5)
    found = shelf.ask("kiln hot", until=START + timedelta(minutes=2), weights=few)
    assert {item.source_id for item in found.items} == {"s1-0", "s1-1"}


def test_kinds_choose_what_is_returned(shelf: Shelf) -> None:
    shelf.say("Is Odile here?", "No.")
    shelf.derive("entity", Entity(name="Odile", entity_kind="person"), "Odile")
    assert {item.kind for item in shelf.ask("Odile").items} == {"episode"}
    assert [item.kind for item in shelf.ask("Odile", kinds=("entity",)).items] == ["entity"]


def test_a_row_with_a_time_from_a_fast_clock_is_not_the_latest(shelf: Shelf) -> None:
    say_apart(shelf, "Boiler report A.", "Boiler report B.")
    shelf.say("Boiler report C.", session="s9", occurred_at=NOW + timedelta(days=400))
    found = shelf.texts("latest boiler report")
    assert found == ["Boiler report B.", "Boiler report A.", "Boiler report C."]
    assert shelf.texts("first boiler report")[0] == "Boiler report A."


def test_turns_of_one_moment_are_ordered_by_position(shelf: Shelf) -> None:
    shelf.say("Boiler report A.", "Boiler report B.", "Boiler report C.", occurred_at=START)
    assert shelf.texts("latest boiler report")[0] == "Boiler report C."
    assert shelf.texts("first boiler report")[0] == "Boiler report A."


def test_only_comparable_matches_are_put_in_order_of_time(shelf: Shelf) -> None:
    say_apart(
        shelf, "The boiler repair in Ghent begins.", "Boiler repair in Ghent: valve.", "Ghent."
    )
    found = shelf.texts("latest boiler repair in Ghent")
    assert found == [
        "Boiler repair in Ghent: valve.", "The boiler repair in Ghent begins.", "Ghent.",
    ]  # fmt: skip
    scores = [item.score for item in shelf.ask("latest boiler repair in Ghent").items]
    assert scores == sorted(scores, reverse=True)


def test_a_turn_that_only_made_calls_is_found_and_shown_by_them(shelf: Shelf) -> None:
    call = ToolCall(name="book_seat", arguments={"train": "RJX 63"}, result="coach 21", ok=True)
    shelf.say("", calls=(call,))
    assert shelf.texts("RJX-63") == ["book_seat\nRJX 63\ncoach 21"]


def test_an_item_says_where_it_comes_from(shelf: Shelf) -> None:
    shelf.say("The kettle hums.", name="Odile")
    item = shelf.ask("kettle").items[0]
    assert (item.source_id, item.session, item.role, item.speaker) == (
        "s1-0",
        "s1",
        "user",
        "Odile",
    )
    assert item.occurred_at == "2026-01-05T09:00:00+00:00"
    assert item.recorded_at == NOW.isoformat()
    assert (item.scope, item.state, item.parts) == ("mill", "active", {})


def test_the_parts_of_an_explained_score_add_up_to_it(shelf: Shelf) -> None:
    shelf.say("Is the kettle on?", "The kettle hums.", "Yes.", name="Odile")
    for item in shelf.ask("is Odile's kettle on, the latest kettle", explain=True).items:
        parts = {name: part for name, part in item.parts.items() if name != "strength"}
        assert sum(parts.values()) == pytest.approx(item.score, abs=0.001)
        assert 0 <= item.parts["strength"] <= 1


def test_an_answer_says_that_more_matched_than_was_weighed(shelf: Shelf) -> None:
    say_apart(shelf, *[f"Kettle {n}." for n in range(6)])
    assert shelf.ask("kettle", weights=RecallWeights(candidates=6)).notes != ()
    assert shelf.ask("kettle").notes == ()
    assert "beginning" in shelf.ask("kettle " * 5_000).notes[0]


def test_a_question_without_words_gets_an_empty_answer_with_a_note(shelf: Shelf) -> None:
    shelf.say("The kettle hums.")
    for query in ("", "  ", "?!", "*", "what is it", "\x00"):
        answer = shelf.ask(query)
        assert (answer.items, answer.more) == ((), False)
        assert answer.notes


@pytest.mark.parametrize("name", ["limit", "offset", "token_budget"])
def test_a_negative_number_is_refused(shelf: Shelf, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is -1"):
        shelf.ask("kettle", **{name: -1})


def test_a_word_in_the_middle_of_a_long_text_counts(shelf: Shelf) -> None:
    shelf.say("x0 " * 60_000 + "SPINDLE-58 broke. " + "x0 " * 60_000, session="s1")
    shelf.say("SPINDLE-59 holds.", session="s2")
    items = shelf.ask("SPINDLE-58 broke").items
    assert [item.session for item in items] == ["s1"]
