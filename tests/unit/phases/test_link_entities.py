from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symfonic.capabilities.memory.changes import output_digest
from symfonic.capabilities.memory.collaborators import EntityExtractor, Mention, Reader
from symfonic.capabilities.memory.errors import PolicyError
from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.outcome import Declined, Ran
from symfonic.capabilities.memory.phases.link_entities import link_entities
from symfonic.capabilities.memory.phases.mention_reader import (
    MENTIONS_PER_EPISODE,
    MentionReader,
)
from symfonic.capabilities.memory.records import (
    Entity,
    Episode,
    Link,
    Record,
    RecordId,
    from_microseconds,
)
from symfonic.capabilities.memory.retention import RetentionPolicy
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit, Subscription, Turn
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symfonic.capabilities.memory.phase import Phase

DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
KNOBS: dict[str, Any] = {
    "entity_min_mention_count": 2,
    "entity_max_episodics_per_run": 200,
    "entity_confidence_threshold": 0.5,
}


@dataclass(frozen=True)
class WrittenScores:
    """Reads mentions as ``Name:kind:score`` words, so that a test states its evidence."""

    name: str = "written"
    version: str = "1"

    def extract(self, episode: Record) -> list[Mention]:
        found = {}
        for word in episode.text.split():
            name, kind, score = word.split(":")
            found[name.lower()] = Mention(
                key=name.lower(), name=name, entity_kind=kind, score=float(score)
            )
        return list(found.values())


def make_phase(extractor: EntityExtractor | None = None, **knobs: Any) -> Phase:
    return link_entities(extractor or WrittenScores(), **{**KNOBS, **knobs})


@dataclass
class Memory:
    """A store in memory with what an engine does around this one phase."""

    phase: Phase
    scope: Scope = field(default_factory=lambda: Scope("acme/ana"))
    limits: RunLimits = field(default_factory=RunLimits)
    store: SQLiteStore = field(default_factory=lambda: SQLiteStore(":memory:"))

    def __post_init__(self) -> None:
        self.store.ensure_scope(self.scope, half_life_hours=720, salt=self.scope.path.encode())

    def tell(self, *texts: str, day: int = 0, name: str | None = None) -> None:
        self.add([turn(text, day=day + i, name=name) for i, text in enumerate(texts)])

    def add(self, turns: Sequence[Turn]) -> None:
        self.store.add_turns(
            self.scope,
            turns,
            now=NOW,
            subscriptions=[Subscription(phase="link_entities", reads=("episode",))],
        )

    def night(self, now: datetime = NOW) -> Ran:
        """One pass: read what is pending, propose, commit."""
        outcome, commit = self.plan(now)
        self.store.commit(self.scope, commit, lease=None)
        return outcome

    def plan(self, now: datetime = NOW) -> tuple[Ran, Commit]:
        with self.store.snapshot(self.scope) as reader:
            pending, _ = reader.pending("link_entities", until=now, cap=self.phase.cap(self.limits))
            episodes = reader.records([row.record for row in pending])
            assert self.phase.reader is not None
            seen = [row for e in episodes for row in self.phase.reader.read(e, ())]
            view = View(
                reader,
                now=now,
                retention=RetentionPolicy(),
                limits=self.limits,
                spread_since=now,
                unread={"link_entities": [row.record for row in pending]},
                fresh={self.phase.reader.identity: seen},
                spent={},
                answers={},
            )
            outcome = self.phase.propose(view)
        assert isinstance(outcome, Ran)
        commit = Commit(
            kind="deep",
            clock=now,
            changes=outcome.changes,
            read=view.handed_out,
            done=tuple(pending),
            seen=tuple(seen),
        )
        return outcome, commit

    @property
    def entities(self) -> dict[str, Record]:
        with self.store.snapshot(self.scope) as reader:
            found = reader.list_records(kinds=["entity"], limit=1000)
        return {str(record.key): record for record in found}

    def content(self, key: str) -> Entity:
        content = self.entities[key].content
        assert isinstance(content, Entity)
        return content

    def links_to(self, entity: RecordId) -> list[Link]:
        with self.store.snapshot(self.scope) as reader:
            return reader.links([entity], kinds=["mentions"], direction="in", per_record=1000)

    def texts_linked(self, key: str) -> list[str]:
        sources = [link.source for link in self.links_to(self.entities[key].id)]
        with self.store.snapshot(self.scope) as reader:
            return sorted(record.text for record in reader.records(sources))

    def outcome(self) -> list[tuple[Any, ...]]:
        """Everything the phase answers for, without what says when it was written."""
        return [
            (
                key,
                record.id,
                record.content,
                record.text,
                record.trust,
                record.occurred_at,
                sorted((link.source, link.count, link.at) for link in self.links_to(record.id)),
            )
            for key, record in sorted(self.entities.items())
        ]


def turn(
    text: str, *, day: int = 0, name: str | None = None, role: str = "user", session: str = "s"
) -> Turn:
    return Turn(
        session=session,
        position=day,
        role=role,
        name=name,
        text=text,
        importer="test",
        source_id=f"{session}-{day}",
        stated_position=True,
        occurred_at=DAY + timedelta(days=day),
    )


# -- composing


def test_phase_declines_without_extractor_and_names_the_knob() -> None:
    outcome = link_entities(None, **KNOBS).propose(None)  # type: ignore[arg-type]
    assert outcome == Declined(
        reason="The entity linker is off: no entity extractor was composed.",
        knob="enable_entity_linker",
    )


def test_phase_declines_with_what_was_asked_for_and_not_given() -> None:
    phase = link_entities(None, **KNOBS, missing="no spacy extractor was given")
    outcome = phase.propose(None)  # type: ignore[arg-type]
    assert isinstance(outcome, Declined)
    assert outcome.reason == "no spacy extractor was given"


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("entity_confidence_threshold", 1.01),
        ("entity_min_mention_count", 0),
        ("entity_max_episodics_per_run", 0),
    ],
)
def test_phase_refuses_a_knob_out_of_range(knob: str, value: float) -> None:
    knobs: dict[str, Any] = {knob: value}
    with pytest.raises(PolicyError, match=knob):
        make_phase(**knobs)


def test_settings_hold_every_knob_and_reading_only_what_changes_what_is_found() -> None:
    phase = make_phase(entity_max_episodics_per_run=7)
    assert dict(phase.settings) == {
        "extractor": "entities/written@1",
        "entity_min_mention_count": 2,
        "entity_confidence_threshold": 0.5,
        "entity_max_episodics_per_run": 7,
    }
    assert set(phase.settings) - set(phase.reading) == {"entity_max_episodics_per_run"}
    assert phase.cap(RunLimits()) == 7
    assert dict(link_entities(None, **KNOBS).settings)["extractor"] is None


# -- reading


def episode(text: str) -> Record:
    return Record(
        id=RecordId("e1"),
        scope="acme",
        kind="episode",
        key=None,
        content=Episode(role="user"),
        text=text,
        session="s",
        occurred_at=DAY,
        recorded_at=NOW,
    )


def test_reader_keeps_mentions_by_score_and_is_a_reader() -> None:
    reader = MentionReader(extractor=WrittenScores())
    assert isinstance(reader, Reader)
    assert reader.context == 0
    rows = reader.read(episode("Ana:person:0.4 Oslo:place:0.7"), ())
    assert [(r.kind, r.key, r.score, r.at) for r in rows] == [
        ("mention", "oslo", 0.7, DAY),
        ("mention", "ana", 0.4, DAY),
    ]
    assert rows[0].body == {"name": "Oslo", "entity_kind": "place"}


def test_reader_says_that_it_found_nothing() -> None:
    (row,) = MentionReader(extractor=WrittenScores()).read(episode(""), ())
    assert (row.kind, row.key, row.session) == ("nothing", "", "s")


def test_reader_keeps_the_strongest_mentions_of_a_pasted_log() -> None:
    text = " ".join(f"N{i}:thing:0.{100 + i}" for i in range(MENTIONS_PER_EPISODE + 50))
    rows = MentionReader(extractor=WrittenScores()).read(episode(text), ())
    assert len(rows) == MENTIONS_PER_EPISODE
    assert min(row.score for row in rows) == 0.15


# -- the rule


def test_name_in_two_episodes_becomes_an_entity_linked_from_both() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.6", "Ana:person:0.7", "Bo:person:0.9")
    outcome = memory.night()
    assert list(memory.entities) == ["ana"]
    entity = memory.entities["ana"]
    assert memory.content("ana") == Entity(name="Ana", entity_kind="person", confidence=0.85)
    assert (entity.text, entity.occurred_at, entity.recorded_at) == ("Ana", DAY, NOW)
    assert entity.trust == "user"
    assert sorted(link.at for link in memory.links_to(entity.id)) == [
        DAY,
        DAY + timedelta(days=1),
    ]
    assert outcome.looked_at == 3
    assert outcome.counts == {
        "unread": 3,
        "mentions": 3,
        "below_threshold": 0,
        "waiting": 1,
        "promoted": 1,
        "linked": 2,
    }
    assert outcome.notes == ("'bo' is mentioned in 1 episode; an entity needs 2.",)
    assert outcome.changes[0].reason == "2 episodes mention it; the best score is 0.7."
    assert {change.group.id for change in outcome.changes} == {entity.id}


def test_mentions_below_the_threshold_never_make_an_entity() -> None:
    memory = Memory(make_phase())
    memory.tell(*["Ana:person:0.49"] * 5)
    outcome = memory.night()
    assert not memory.entities
    assert outcome.counts["below_threshold"] == 5
    assert outcome.counts["waiting"] == 0
    assert not outcome.notes


def test_threshold_and_mention_count_decide_what_is_promoted() -> None:
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"entity_confidence_threshold": 0.4}, {"ana"}),
        ({"entity_min_mention_count": 1}, {"bo"}),
        ({"entity_confidence_threshold": 0.4, "entity_min_mention_count": 3}, set()),
        ({"entity_confidence_threshold": 0.1, "entity_min_mention_count": 3}, {"dim"}),
    ]
    for knobs, expected in cases:
        memory = Memory(make_phase(**knobs))
        memory.tell("Ana:person:0.45 Dim:x:0.2", "Ana:person:0.45 Dim:x:0.2", "Bo:x:0.8 Dim:x:0.2")
        memory.night()
        assert set(memory.entities) == expected


def test_weak_mentions_are_linked_once_the_name_is_known_earlier_ones_too() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.35", "Ana:person:0.6", "Ana:person:0.1")
    memory.night()
    memory.tell("Ana:person:0.7", "Ana:person:0.3", day=5)
    memory.night()
    assert memory.texts_linked("ana") == [
        "Ana:person:0.3",
        "Ana:person:0.35",
        "Ana:person:0.6",
        "Ana:person:0.7",
    ]
    assert memory.entities["ana"].occurred_at == DAY


def test_name_seen_over_two_nights_is_promoted_in_the_second() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.6")
    assert memory.night().counts["promoted"] == 0
    memory.tell("Ana:person:0.6", day=1)
    assert memory.night().counts["promoted"] == 1
    assert len(memory.links_to(memory.entities["ana"].id)) == 2


def test_later_import_of_older_evidence_moves_the_first_evidence_back() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.6", "Ana:person:0.6", day=10)
    memory.night(NOW)
    memory.tell("Ana:person:0.6", day=2)
    outcome = memory.night(NOW + timedelta(days=1))
    entity = memory.entities["ana"]
    assert entity.occurred_at == DAY + timedelta(days=2)
    assert entity.recorded_at == NOW
    assert outcome.changes[0].reason == "1 episode more mention it."


def test_name_is_the_spelling_used_most_and_the_others_are_aliases() -> None:
    memory = Memory(make_phase())
    memory.tell("ANA:x:0.6", "Ana:x:0.6")
    memory.night()
    assert memory.content("ana").name == "Ana"
    memory.tell("ANA:x:0.6", "aNa:x:0.6", day=4)
    memory.night()
    assert memory.content("ana").name == "ANA"
    assert memory.content("ana").aliases == ("Ana", "aNa")
    assert memory.entities["ana"].text == "ANA, Ana, aNa"


def test_kind_is_voted_and_a_speaker_outvotes_prepositions() -> None:
    memory = Memory(make_phase())
    memory.tell("Dale:place:0.65", "Dale:place:0.65", "Dale:unknown:0.6")
    memory.night()
    assert memory.content("dale").entity_kind == "place"
    memory.tell("Dale:person:0.95", day=5)
    memory.night()
    assert memory.content("dale").entity_kind == "person"


def test_kind_stays_unknown_without_a_hint_and_ties_have_a_fixed_order() -> None:
    memory = Memory(make_phase())
    memory.tell("A:unknown:0.6 B:pet:0.6 C:thing:0.6", "A:unknown:0.6 B:thing:0.6 C:place:0.6")
    memory.night()
    kinds = [memory.content(key).entity_kind for key in "abc"]
    assert kinds == ["unknown", "thing", "place"]


def test_confidence_grows_with_episodes_and_stops_at_its_bound() -> None:
    memory = Memory(make_phase())
    found = []
    for day in range(0, 20, 2):
        memory.tell("Ana:person:0.6", "Ana:person:0.55", day=day)
        memory.night()
        found.append(memory.content("ana").confidence)
    assert found == sorted(found)
    assert found[0] == 0.8
    assert found[-1] == found[-2] == 0.99


def test_settled_entity_is_linked_without_counting_or_reading_its_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = Memory(make_phase())
    memory.tell(*["Ana:person:0.9"] * 9)
    memory.night()
    asked: list[list[str]] = []
    for lookup in ("tally", "sightings"):
        whole = getattr(View, lookup)

        def counted(
            self: View, reader: str, keys: list[str], *, _: Callable[..., Any] = whole, **kw: Any
        ) -> Any:
            asked.append(list(keys))
            return _(self, reader, keys, **kw)

        monkeypatch.setattr(View, lookup, counted)
    memory.tell("Ana:unknown:0.6", day=20)
    outcome = memory.night()
    assert asked == [[], []]
    assert [change.table for change in outcome.changes] == ["link"]


def test_derived_trust_is_the_least_of_its_evidence() -> None:
    memory = Memory(make_phase())
    memory.add(
        [
            turn("Ana:person:0.6", day=0),
            turn("Ana:person:0.6", day=1, role="assistant"),
            turn("Bo:person:0.6", day=2),
            turn("Bo:person:0.6", day=3),
        ]
    )
    memory.night()
    assert [memory.entities[key].trust for key in ("ana", "bo")] == ["assistant", "user"]
    memory.add([turn("Bo:person:0.6", day=4, role="assistant")])
    memory.night()
    assert [memory.entities[key].trust for key in ("ana", "bo")] == ["assistant", "assistant"]


# -- repeatability


def test_idle_second_run_proposes_nothing() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.6", "Ana:person:0.7")
    memory.night()
    outcome = memory.night()
    assert outcome.changes == ()
    assert outcome.looked_at == 0


def test_reading_the_same_episodes_again_proposes_nothing() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.6 Oslo:place:0.7", "ANA:person:0.7", "Oslo:place:0.7", "ana:x:0.3")
    memory.night()
    with memory.store.snapshot(memory.scope) as reader:
        episodes = reader.list_records(kinds=["episode"], limit=10)
        assert memory.phase.reader is not None
        identity = memory.phase.reader.identity
        view = View(
            reader,
            now=NOW,
            retention=RetentionPolicy(),
            limits=memory.limits,
            spread_since=NOW,
            unread={"link_entities": [e.id for e in episodes]},
            fresh={identity: [r for e in episodes for r in memory.phase.reader.read(e, ())]},
            spent={},
            answers={},
        )
        outcome = memory.phase.propose(view)
    assert isinstance(outcome, Ran)
    assert outcome.counts["mentions"] == 5
    assert outcome.changes == ()


def test_plan_is_the_same_twice_and_in_another_store() -> None:
    digests = set()
    for order in (1, -1):
        memory = Memory(make_phase())
        turns = [turn(f"Ana:x:0.6 N{i % 3}:place:0.7", day=i) for i in range(9)]
        memory.add(turns[::order])
        for _ in range(2):
            outcome, _commit = memory.plan()
            digests.add(output_digest(outcome.changes))
    assert len(digests) == 1


MENTIONS = st.sampled_from(
    [
        f"{name}:{kind}:{score}"
        for name in ("Ana", "ANA", "Oslo", "oslo", "Bo")
        for kind in ("person", "place", "unknown")
        for score in ("0.35", "0.55", "0.7", "0.95")
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.lists(MENTIONS, max_size=2).map(" ".join), min_size=1, max_size=14),
    data=st.data(),
)
def test_neither_order_nor_nights_change_entities_and_links(
    texts: list[str], data: st.DataObject
) -> None:
    turns = [turn(text, day=day) for day, text in enumerate(texts)]
    whole = Memory(make_phase())
    whole.add(turns)
    whole.night()
    parts = Memory(make_phase(entity_max_episodics_per_run=3))
    rest = data.draw(st.permutations(turns))
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        parts.add(rest[:size])
        rest = rest[size:]
        parts.night()
    while parts.night().looked_at:
        pass
    assert parts.outcome() == whole.outcome()


def test_backlog_drains_by_the_cap() -> None:
    memory = Memory(make_phase(entity_max_episodics_per_run=4))
    memory.tell(*["Ana:person:0.6"] * 10)
    assert [memory.night().looked_at for _ in range(4)] == [4, 4, 2, 0]
    assert len(memory.links_to(memory.entities["ana"].id)) == 10


def test_history_brought_along_is_bounded() -> None:
    memory = Memory(make_phase(), limits=RunLimits(history_per_key=3))
    memory.tell(*["Ana:person:0.4"] * 6)
    memory.night()
    memory.tell("Ana:person:0.6", "Ana:person:0.6", day=10)
    memory.night()
    assert len(memory.links_to(memory.entities["ana"].id)) == 3


# -- scopes


def test_entity_of_an_ancestor_is_linked_and_neither_copied_nor_changed() -> None:
    parent = Memory(make_phase(), scope=Scope("acme"))
    parent.tell("Ana:person:0.6", "Ana:person:0.7")
    parent.night()
    before = parent.entities["ana"]
    child = replace_scope(parent, "acme/ana")
    child.tell("ANA:place:0.6", day=3)
    outcome = child.night()
    assert not child.entities
    assert [c.table for c in outcome.changes] == ["link"]
    assert len(child.links_to(before.id)) == 1
    assert parent.entities["ana"] == before
    child.tell("Ana:person:0.4", day=4)
    child.night()
    assert len(child.links_to(before.id)) == 2


def test_mentions_from_before_the_ancestor_knew_the_name_are_linked_later() -> None:
    parent = Memory(make_phase(), scope=Scope("acme"))
    child = replace_scope(parent, "acme/ana")
    child.tell("Ana:person:0.6", day=1)
    child.night()
    parent.tell("Ana:person:0.6", "Ana:person:0.7", day=2)
    parent.night()
    child.tell("Ana:person:0.4", day=5)
    child.night()
    assert len(child.links_to(parent.entities["ana"].id)) == 2


def test_sibling_scope_is_neither_counted_nor_linked() -> None:
    first = Memory(make_phase(), scope=Scope("acme/ana"))
    first.tell("Oslo:place:0.7", "Oslo:place:0.7")
    first.night()
    second = replace_scope(first, "acme/bo")
    second.tell("Oslo:place:0.7")
    outcome = second.night()
    assert outcome.changes == ()
    assert outcome.counts["waiting"] == 1


def replace_scope(memory: Memory, path: str) -> Memory:
    return replace(memory, scope=Scope(path))


# -- with the pattern extractor


def test_accents_and_capitals_in_any_order_give_one_person_each() -> None:
    texts = [
        "İpek Yıldız reviewed the lease.",
        "İPEK YILDIZ signed it.",
        "Nélida Gonçalves paid the deposit.",
        "NÉLIDA GONÇALVES called back.",
        "Nelida Goncalves sent the form.",
    ]
    found = []
    for order in (1, -1):
        memory = Memory(make_phase(PatternEntityExtractor(), entity_min_mention_count=1))
        for day, text in list(enumerate(texts))[::order]:
            memory.tell(text, day=day)
            memory.night()
        found.append(memory.outcome())
    assert found[0] == found[1]
    assert [entity[2].name for entity in found[0]] == ["İpek Yıldız", "Nélida Gonçalves"]


def test_look_alike_parts_and_files_stay_apart() -> None:
    memory = Memory(make_phase(PatternEntityExtractor(), entity_min_mention_count=1))
    memory.tell(
        "The KD7120 pump leaks.",
        "The KD7121 pump is fine.",
        "We dropped @kiln/web-core.",
        "We kept @kiln/web-ssr-core.",
        "0007_roles.sql is broken.",
        "0008_roles.sql applies cleanly.",
    )
    memory.night()
    assert sorted(memory.entities) == [
        "0007_roles.sql",
        "0008_roles.sql",
        "@kiln/web-core",
        "@kiln/web-ssr-core",
        "kd7120",
        "kd7121",
    ]
    assert all(len(memory.links_to(e.id)) == 1 for e in memory.entities.values())


def test_speakers_are_found_at_the_default_threshold() -> None:
    memory = Memory(make_phase(PatternEntityExtractor()))
    memory.tell("hello there", "how are you", name="Wilma")
    memory.night()
    content = memory.content("wilma")
    assert (content.name, content.entity_kind) == ("Wilma", "person")


def test_times_of_links_are_those_of_their_episodes() -> None:
    memory = Memory(make_phase())
    memory.tell("Ana:person:0.6", "Ana:person:0.6")
    outcome = memory.night()
    added = [c.after["at"] for c in outcome.changes if c.table == "link"]
    assert [from_microseconds(int(str(at))) for at in added] == [DAY, DAY + timedelta(days=1)]
