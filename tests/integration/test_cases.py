"""Kinds of faults that broke other memories, each with names and details of our own."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import RecordNotFound
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Entity, Procedure
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.strength import strength_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

SCOPE = "harbour/agent"
DAY = timedelta(days=1)
LINKING = LearningPolicy(enable_entity_linker=True, entity_linker_min_mention_count=1)
Rows = list[dict[str, Any]]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def turn(session: str, when: str, text: str, *, position: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "id": f"{session}-{position}", "session": session, "position": position, "at": when,
        "text": text, **more,
    }  # fmt: skip


def talk(name: str, *lines: tuple[str, str, str]) -> Rows:
    """Turns of one speaker as (session, time, text)."""
    counts: dict[str, int] = {}
    rows = []
    for session, when, text in lines:
        place = counts.get(session, 0)
        counts[session] = place + 1
        rows.append(turn(session, when, text, position=place, name=name))
    return rows


def records(memory: Memory, *kinds: Any, scope: str = SCOPE) -> list[Record]:
    with memory.store.snapshot(Scope(scope)) as reader:
        return reader.list_records(kinds=kinds, limit=10_000)


def entities(memory: Memory) -> dict[str, Record]:
    return {r.content.name: r for r in records(memory, "entity") if isinstance(r.content, Entity)}


def mentions(memory: Memory, entity: Record) -> set[str | None]:
    """The sessions of the episodes that mention an entity."""
    with memory.store.snapshot(Scope(SCOPE)) as reader:
        links = reader.links([entity.id], kinds=("mentions",), direction="in", per_record=999)
        return {r.session for r in reader.records([link.source for link in links])}


def asked(memory: Memory, question: str, scope: str = SCOPE, **more: Any) -> list[str]:
    found = memory.recall(question, scope=scope, record_uses=False, **more)
    return [item.text for item in found.items]


# -- look-alike names


LOOKALIKES = talk(
    "Sunniva",
    ("l1", "2026-05-01T09:00:00Z", "The TX7320 winch squeaks."),
    ("l1", "2026-05-01T09:01:00Z", "The TX7322 winch runs well."),
    ("l1", "2026-05-01T09:02:00Z", "We removed @buoy/map-lite."),
    ("l1", "2026-05-01T09:03:00Z", "We still ship @buoy/map-react-lite."),
    ("l1", "2026-05-01T09:04:00Z", "0117_tides.sql fails on start."),
    ("l1", "2026-05-01T09:05:00Z", "0118_tides.sql applies as it should."),
    ("l1", "2026-05-01T09:06:00Z", "Lantern is the timetable service, lanternd is its daemon."),
)


def test_look_alike_models_packages_and_files_stay_apart(memory: Memory) -> None:
    now = at("2026-05-02T02:00Z")
    memory.ingest(LOOKALIKES, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    found = entities(memory)
    pairs = [
        ("TX7320", "TX7322"), ("@buoy/map-lite", "@buoy/map-react-lite"),
        ("0117_tides.sql", "0118_tides.sql"),
    ]  # fmt: skip
    for one, other in pairs:
        if one in found or other in found:
            assert found[one].id != found[other].id
    spelled = [name for r in found.values() for name in _spellings(r)]
    assert len(spelled) == len(set(spelled))
    assert not any(
        {one, other} <= set(_spellings(r)) for r in found.values() for one, other in pairs
    )
    kinds = {row["kind"] for row in memory.export(scope=SCOPE) if row["table"] == "link"}
    assert kinds <= {"mentions"}
    assert memory.sleep(scope=SCOPE, policy=LINKING, now=now).change_count == 0


def _spellings(record: Record) -> list[str]:
    content = record.content
    assert isinstance(content, Entity)
    return [content.name, *content.aliases]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("TX7322", "The TX7322 winch runs well."),
        ("TX7320", "The TX7320 winch squeaks."),
        ("@buoy/map-lite", "We removed @buoy/map-lite."),
        ("@buoy/map-react-lite", "We still ship @buoy/map-react-lite."),
        ("0118_tides.sql", "0118_tides.sql applies as it should."),
    ],
)
def test_a_look_alike_is_recalled_by_its_own_name(
    question: str, answer: str, memory: Memory
) -> None:
    now = at("2026-05-02T02:00Z")
    memory.ingest(LOOKALIKES, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert asked(memory, question, now=now)[0] == answer


# -- one name in several spellings


SPELLINGS = [
    ("k1", "2026-03-01T09:00:00Z", "İlkay Sarıgül signed the berth plan."),
    ("k2", "2026-03-02T09:00:00Z", "ilkay sarıgül wants a copy of it."),
    ("k3", "2026-03-03T09:00:00Z", "İLKAY SARIGÜL paid the deposit."),
    ("k4", "2026-03-04T09:00:00Z",
     unicodedata.normalize("NFD", "Émilienne Lefèvre rented the crane.")),
    ("k5", "2026-03-05T09:00:00Z", "ÉMILIENNE LEFÈVRE rang back."),
    ("k6", "2026-03-06T09:00:00Z", "Emilienne Lefevre sent the form."),
]  # fmt: skip


def test_spellings_of_a_name_are_one_person_whatever_came_first(
    opened: Callable[..., Memory],
) -> None:
    now = at("2026-03-08T02:00Z")
    orders = [SPELLINGS, SPELLINGS[::-1], SPELLINGS[3:] + SPELLINGS[:3]]
    found = []
    for order in orders:
        memory = opened()
        memory.ingest(talk("Berit", *order), scope=SCOPE, now=now)
        memory.sleep(scope=SCOPE, policy=LINKING, now=now)
        people = {name: record for name, record in entities(memory).items() if name != "Berit"}
        found.append({name: record.id for name, record in people.items()})
        assert set(people) == {"İlkay Sarıgül", "Émilienne Lefèvre"}
        assert mentions(memory, people["İlkay Sarıgül"]) >= {"k1", "k3"}
        assert mentions(memory, people["Émilienne Lefèvre"]) == {"k4", "k5", "k6"}
        for record in people.values():
            for spelling in _spellings(record):
                assert unicodedata.is_normalized("NFC", spelling)
                assert not any(unicodedata.combining(c) for c in spelling)
    assert all(each == found[0] for each in found)


def test_a_known_name_in_small_letters_is_a_mention_of_it(memory: Memory) -> None:
    now = at("2026-03-08T02:00Z")
    memory.ingest(talk("Berit", *SPELLINGS), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert mentions(memory, entities(memory)["İlkay Sarıgül"]) == {"k1", "k2", "k3"}


@pytest.mark.parametrize("question", ["ilkay sarigul", "ILKAY SARIGUL", "İlkay"])
def test_every_spelling_of_a_turkish_name_finds_all_its_turns(
    question: str, memory: Memory
) -> None:
    now = at("2026-03-08T02:00Z")
    memory.ingest(talk("Berit", *SPELLINGS), scope=SCOPE, now=now)
    found = memory.recall(question, scope=SCOPE, now=now, limit=6, kinds=("episode",))
    assert {item.session for item in found.items[:3]} == {"k1", "k2", "k3"}


# -- habits that never worked, and loops


def failing(session: str, day: int) -> dict[str, Any]:
    calls = [
        {"name": "ask_pilot", "arguments": {"berth": session}, "result": "no answer", "ok": False},
        {"name": "open_chart", "arguments": {"sheet": f"a{day}"}, "result": "404", "ok": False},
        {"name": "open_chart", "arguments": {"sheet": f"b{day}"}, "result": "403", "ok": False},
    ]
    when = f"2026-07-0{day}T09:00:00Z"
    text = "I could not find the depth, please ask at the lock."
    return turn(session, when, text, role="assistant", tool_calls=calls)


def looping(session: str, day: int, times: int) -> dict[str, Any]:
    one = [
        {"name": "read_gauge", "arguments": {"gauge": "east"}, "result": "high", "ok": True},
        {"name": "open_sluice", "arguments": {"gauge": "east"}, "result": "ok", "ok": True},
    ]
    when = f"2026-07-0{day}T09:00:00Z"
    return turn(session, when, "The level is fine.", role="assistant", tool_calls=one * times)


CALLS = LearningPolicy(promotion_use_tool_calls_fallback=True)


def test_what_never_worked_and_what_repeats_in_one_session_is_no_habit(memory: Memory) -> None:
    now = at("2026-07-08T02:00Z")
    rows = [failing("p1", 1), failing("p2", 3), failing("p3", 5)]
    rows += [looping("p4", 6, 4), looping("p5", 7, 1)]
    memory.ingest(rows, scope=SCOPE, now=now)
    report = memory.sleep(scope=SCOPE, policy=CALLS, now=now)
    assert memory.procedures(scope=SCOPE, status=None) == []
    (phase,) = [p for p in report.passes[0].phases if p.name == "promote_procedures"]
    notes = "\n".join(phase.notes)
    assert "3 sessions, 0 successes, 3 failures: not promoted" in notes
    assert "read_gauge > open_sluice: 2 distinct sessions, threshold 3: not promoted" in notes
    assert [r.kind for r in records(memory, "fact", "summary", "note")] == []

    memory.ingest([looping("p6", 7, 1)], scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=CALLS, now=now + timedelta(hours=1))
    (draft,) = memory.procedures(scope=SCOPE)
    content = draft.content
    assert isinstance(content, Procedure)
    assert [step.action for step in content.steps] == ["read_gauge", "open_sluice"]
    assert (content.support, content.failures) == (3, 0)


# -- a code block in a turn


FENCED = (
    "Our outline for the harbour letter:\n```md\n## Open points\n1. the crane is slow\n"
    "2. the gate sticks\n```\nAnd remember: no berth numbers in public letters."
)


def test_a_code_block_is_kept_whole_in_summary_and_source(memory: Memory) -> None:
    now = at("2026-03-01T02:00Z")
    rows = talk(
        "Torvald", ("c1", "2026-02-01T09:00:00Z", FENCED),
        ("c1", "2026-02-01T09:05:00Z", "Understood, I keep to it."),
        ("c2", "2026-02-03T09:00:00Z", "The letters leave on Tuesdays."),
    )  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    policy = LearningPolicy(
        enable_entity_linker=True, entity_linker_min_mention_count=1,
        episodic_summarization_max_entries=1, episodic_summarization_batch_size=2,
    )  # fmt: skip
    memory.sleep(scope=SCOPE, policy=policy, now=now)
    assert memory.stats(scope=SCOPE)["records"]["episode"] == {"active": 1, "condensed": 2}
    (summary,) = records(memory, "summary")
    assert summary.text.count("```") % 2 == 0
    assert ("1. the crane is slow" in summary.text) == ("2. the gate sticks" in summary.text)
    assert not any("open points" in name.lower() for name in entities(memory))
    for question in ("berth numbers in public letters", "harbour letter outline gate sticks"):
        found = memory.recall(question, scope=SCOPE, now=now, record_uses=False).items
        assert FENCED in {item.text for item in found}


# -- strength


def test_two_idle_months_forget_nothing_and_skipped_nights_change_no_strength(
    opened: Callable[..., Memory],
) -> None:
    rows = talk(
        "Ottilie", ("i1", "2026-04-01T09:00:00Z", "My locker is number 4410."),
        ("i1", "2026-04-01T09:01:00Z", "I moor the dinghy at pontoon F."),
        ("i1", "2026-04-01T09:02:00Z", "fine, thanks"),
    )  # fmt: skip
    first, last = at("2026-04-03T02:00Z"), at("2026-07-01T02:00Z")
    seldom, always = opened(), opened()
    for memory in (seldom, always):
        memory.ingest(rows, scope=SCOPE, now=first)
    for night in range((last - first).days + 1):
        always.sleep(scope=SCOPE, now=first + night * DAY)
        if night < 8:
            seldom.sleep(scope=SCOPE, now=first + night * DAY)
    seldom.sleep(scope=SCOPE, now=last)

    def strengths(memory: Memory, moment: datetime) -> dict[str, float]:
        found = records(memory, "episode")
        return {r.id: strength_at(r.strength, moment, 720.0) for r in found}

    assert strengths(seldom, last) == strengths(always, last)
    before = strengths(seldom, last)
    for night in range(1, 101):
        assert seldom.sleep(scope=SCOPE, now=last + night * DAY).change_count == 0
    after = strengths(seldom, last + 100 * DAY)
    assert all(0 < after[i] < before[i] for i in before)
    for question, answer in (("locker number", "4410"), ("where do I moor", "pontoon F")):
        for memory in (seldom, always):
            assert answer in asked(memory, question, now=last + 100 * DAY)[0]


def test_old_talk_imported_today_is_old_and_a_fast_clock_gains_nothing(memory: Memory) -> None:
    now = at("2026-11-30T12:00Z")
    rows = talk(
        "Eskil", ("m1", "2023-02-11T09:00:00Z", "Mr Brekke keeps the spare oar."),
        ("m2", "2023-06-01T09:00:00Z", "The radar shows fault R-31."),
        ("m3", "2026-11-01T09:00:00Z", "The radar shows fault R-58."),
        ("m4", "2026-12-10T12:00:00Z", "Radio check one."),
        ("m5", "2026-12-30T12:00:00Z", "Radio check two."),
        ("m6", "2026-11-30T12:00:00Z", "Radio check three."),
    )  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, now=now)
    found = {r.session: r for r in records(memory, "episode")}
    read = [strength_at(r.strength, now, 720.0) for r in found.values()]
    strength = {s: r.strength for s, r in found.items()}
    assert strength["m1"] < strength["m2"] < strength["m3"] < strength["m6"]
    assert strength["m4"] <= strength["m6"]
    assert strength["m5"] <= strength["m6"]
    assert all(0 <= value <= 1 for value in read)
    assert len(set(read)) > 2
    flagged = {s for s, r in found.items() if "future" in getattr(r.content, "flags", ())}
    assert flagged == {"m4", "m5"}
    assert asked(memory, "radar fault", now=now)[0] == "The radar shows fault R-58."
    assert not [row for row in memory.export(scope=SCOPE) if row["table"] == "use"]


# -- scopes


@pytest.mark.parametrize("order", list(permutations(("quay", "quay/web", "quay/app"))))
def test_readers_see_their_own_and_what_stands_above_in_whatever_order_scopes_ran(
    order: tuple[str, ...], memory: Memory
) -> None:
    now = at("2026-05-04T02:00Z")
    said = {
        "quay": [("g1", "2026-05-01T09:00:00Z", "We name buoys after birds."),
                 ("g1", "2026-05-01T09:01:00Z", "We write in Nynorsk.")],
        "quay/web": [("w1", "2026-05-02T09:00:00Z", "In this project we name buoys after fish."),
                     ("w1", "2026-05-02T09:01:00Z", "Here tide.ts only rounds numbers.")],
        "quay/app": [("a1", "2026-05-03T09:00:00Z",
                      "tide.ts lost the offset, repaired in Skomvaer.")],
    }  # fmt: skip
    for path, salt in (("quay", b"q"), ("quay/web", b"w"), ("quay/app", b"a")):
        memory.store.ensure_scope(Scope(path), half_life_hours=720.0, salt=salt)
        memory.ingest(talk("Randi", *said[path]), scope=path, now=now)
    for path in order:
        memory.sleep(scope=path, policy=LINKING, now=now)

    def sessions(scope: str, question: str) -> set[str | None]:
        found = memory.recall(question, scope=scope, now=now, kinds=("episode",), record_uses=False)
        return {item.session for item in found.items}

    assert "w1" in sessions("quay/web", "how do we name buoys")
    assert sessions("quay/app", "name buoys") == sessions("quay", "name buoys") == {"g1"}
    assert "g1" in sessions("quay/web", "Nynorsk")
    assert sessions("quay/web", "tide.ts") == {"w1"}
    assert sessions("quay/app", "tide.ts") == {"a1"}
    assert sessions("quay", "tide.ts") == set()
    assert sessions("quay/web", "Skomvaer") == set()


def test_scores_of_a_scope_do_not_depend_on_a_sibling_s_turns(
    opened: Callable[..., Memory],
) -> None:
    now = at("2026-05-04T02:00Z")
    alone, beside = opened(), opened()
    own = talk("Randi", ("w1", "2026-05-02T09:00:00Z", "Here tide.ts only rounds numbers."),
               ("w1", "2026-05-02T09:01:00Z", "The numbers come from the gauge."))  # fmt: skip
    for each in (alone, beside):
        each.ingest(own, scope="quay/web", now=now)
    more = [("a1", f"2026-05-03T09:0{n}:00Z", "tide.ts numbers again") for n in range(9)]
    beside.ingest(talk("Randi", *more), scope="quay/app", now=now)
    beside.sleep(scope="quay/app", policy=LINKING, now=now)
    answers = []
    for each in (alone, beside):
        each.sleep(scope="quay/web", policy=LINKING, now=now)
        found = each.recall("tide.ts numbers", scope="quay/web", now=now, explain=True)
        answers.append([(item.id, item.text) for item in found.items])
    assert answers[0] == answers[1]


# -- equal turns, turns sent again, and the way out and back


EQUAL: list[tuple[str, str, str]] = [
    ("assistant", "2026-10-02T09:00:00Z", "Moor at the old pontoon?"),
    ("user", "2026-10-02T09:00:20Z", "yes"),
    ("assistant", "2026-10-02T09:01:00Z", "And shore power as well?"),
    ("user", "2026-10-02T09:01:10Z", "yes"),
    ("user", "2026-10-02T09:02:00Z", "My parcel locker is on Ropewalk Lane."),
]


def equal(prefix: str) -> Rows:
    return [
        {"id": f"{prefix}{n}", "session": "o1", "at": when, "role": role, "text": text}
        for n, (role, when, text) in enumerate(EQUAL)
    ]


def test_equal_short_turns_stay_two_and_turns_sent_again_add_nothing(
    memory: Memory, contents: Callable[..., Rows]
) -> None:
    now = at("2026-10-03T02:00Z")
    assert memory.ingest(equal("m"), scope=SCOPE, now=now).added == 5
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    before = contents(memory, SCOPE, history=True)
    episodes = sorted(records(memory, "episode"), key=lambda r: r.order)
    assert [r.text for r in episodes] == [text for _, _, text in EQUAL]
    for prefix in ("m", "n"):
        again = memory.ingest(equal(prefix), scope=SCOPE, now=now)
        assert (again.added, again.known) == (0, 5)
        report = memory.sleep(scope=SCOPE, policy=LINKING, now=now)
        assert report.change_count == 0
        assert contents(memory, SCOPE, history=True) == before


def test_an_export_goes_round_and_comes_back_equal_to_the_byte(
    opened: Callable[..., Memory],
) -> None:
    now = at("2026-10-03T02:00Z")
    memory, other = opened(), opened()
    memory.ingest(equal("m"), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    memory.recall("parcel locker", scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)

    def lines(each: Memory) -> list[str]:
        return [json.dumps(row, sort_keys=True) for row in each.export(scope=SCOPE)]

    exported = lines(memory)
    for expected in (len(exported), 0):
        rows = [json.loads(line) for line in exported]
        assert sum(other.restore_rows(rows, scope=SCOPE).values()) == expected
    assert lines(other) == exported
    assert other.sleep(scope=SCOPE, policy=LINKING, now=now).change_count == 0
    assert asked(other, "parcel locker", now=now) == asked(memory, "parcel locker", now=now)


# -- erasure


def test_what_one_of_two_sources_supported_stands_on_the_other_alone(memory: Memory) -> None:
    now = at("2026-03-10T02:00Z")
    rows = talk(
        "Solveig", ("d1", "2026-03-01T09:00:00Z", "I met Mr Galtung at the slip."),
        ("d2", "2026-03-08T09:00:00Z", "Then Mr Galtung repaired the winch."),
    )  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    (name,) = [name for name in entities(memory) if "Galtung" in name]
    assert mentions(memory, entities(memory)[name]) == {"d1", "d2"}

    memory.forget(memory.find_forgettable(scope=SCOPE, session="d1"), scope=SCOPE)
    assert mentions(memory, entities(memory)[name]) == {"d2"}
    assert asked(memory, "Galtung", now=now) == ["Then Mr Galtung repaired the winch."]

    memory.forget(memory.find_forgettable(scope=SCOPE, session="d2"), scope=SCOPE)
    for moment in (now, now + DAY):
        assert asked(memory, "Galtung winch", now=moment) == []
        assert "Galtung" not in json.dumps(list(memory.export(scope=SCOPE)))
        memory.sleep(scope=SCOPE, policy=LINKING, now=moment)
    rows = list(memory.export(scope=SCOPE))
    there = {r["id"] for r in rows if r["table"] == "record" and r["state"] != "forgotten"}
    links = [row for row in rows if row["table"] == "link"]
    assert all({row["source"], row["target"]} <= there for row in links)


def test_a_draft_loses_the_support_of_an_erased_session(memory: Memory) -> None:
    now = at("2026-03-10T02:00Z")
    rule = "Before you leave the berth, check the lines and call the lock."
    lines = [(f"q{n}", f"2026-03-0{n + 1}T09:00:00Z", rule) for n in range(3)]
    memory.ingest(talk("Solveig", *lines), scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, now=now)
    assert len(memory.procedures(scope=SCOPE)) == 1
    for session in ("q0", "q1", "q2"):
        memory.forget(memory.find_forgettable(scope=SCOPE, session=session), scope=SCOPE)
        memory.sleep(scope=SCOPE, now=now)
        for draft in memory.procedures(scope=SCOPE):
            _, evidence = memory.procedure(draft.id, scope=SCOPE)
            assert session not in {one.session for one in evidence}
    assert memory.procedures(scope=SCOPE) == []
    assert "berth" not in json.dumps(list(memory.export(scope=SCOPE)))


def test_a_plan_made_before_an_erasure_brings_nothing_back(memory: Memory) -> None:
    now = at("2026-03-10T02:00Z")
    rows = talk(
        "Solveig", ("e1", "2026-03-08T09:00:00Z", "The gate code of Kristoffer Moe is 31C."),
        ("e2", "2026-03-09T09:00:00Z", "Ingeborg Lund holds the lamp."),
    )  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    planned = memory.plan(scope=SCOPE, policy=LINKING, now=now)
    memory.forget(memory.find_forgettable(scope=SCOPE, session="e1"), scope=SCOPE)
    with pytest.raises(RecordNotFound, match="abandoned"):
        memory.apply(planned.run_id)
    assert asked(memory, "gate code Kristoffer", now=now) == []
    memory.sleep(scope=SCOPE, policy=LINKING, now=now)
    assert "Kristoffer" not in json.dumps(list(memory.export(scope=SCOPE)))
    assert any("Ingeborg" in name for name in entities(memory))


def test_a_forgotten_source_that_is_sent_again_stays_forgotten(memory: Memory) -> None:
    now = at("2026-03-10T02:00Z")
    rows = talk("Solveig", ("e1", "2026-03-08T09:00:00Z", "The gate code is 31C."),
                ("e1", "2026-03-08T09:01:00Z", "The lamp is lit."))  # fmt: skip
    memory.ingest(rows, scope=SCOPE, now=now)
    (one, _) = sorted(records(memory, "episode"), key=lambda r: r.order)
    memory.forget([one.id], scope=SCOPE)
    again = memory.ingest(rows, scope=SCOPE, now=now)
    assert (again.added, again.known, again.forgotten) == (0, 1, 1)
    assert asked(memory, "gate code", now=now) == []


# -- recalled text that comes in again


def test_recalled_memory_and_its_echo_are_no_second_evidence(
    memory: Memory, learnt: Callable[..., Rows]
) -> None:
    now = at("2026-03-10T02:00Z")
    policy = LearningPolicy(enable_entity_linker=True)
    rows = talk(
        "Gudrun", ("f1", "2026-03-01T09:00:00Z", "I always rent from Hjalmar Skagen."),
        ("f2", "2026-03-02T09:00:00Z", "Hjalmar Skagen has the blue skiff."),
    )  # fmt: skip
    rule = "Before you cast off, check the fuel and log the hour."
    rows += [turn(f"r{n}", f"2026-03-0{n + 3}T09:00:00Z", rule) for n in range(2)]
    memory.ingest(rows, scope=SCOPE, now=now)
    memory.sleep(scope=SCOPE, policy=policy, now=now)
    before = {name: mentions(memory, record) for name, record in entities(memory).items()}
    assert before["Hjalmar Skagen"] == {"f1", "f2"}
    echo = [
        {"role": "system", "content": "<recalled_memories>\n- Gudrun rents from Hjalmar Skagen "
         f"(mem_1)\n- {rule} (mem_2)\n</recalled_memories>"},
        {"role": "user", "content": "whom do I rent from?"},
    ]  # fmt: skip
    for n in range(3):
        memory.add_turn(echo, scope=SCOPE, session=f"echo{n}", now=now)
    memory.sleep(scope=SCOPE, policy=policy, now=now)
    assert mentions(memory, entities(memory)["Hjalmar Skagen"]) == {"f1", "f2"}
    assert memory.procedures(scope=SCOPE, status=None) == []


# -- a longer export of the same talk


def test_a_longer_version_of_a_log_adds_only_what_is_new(memory: Memory, tmp_path: Path) -> None:
    now = at("2026-03-10T02:00Z")
    messages = [
        {"role": "user", "content": "ahoy", "timestamp": "2026-03-01T09:00:00Z"},
        {"role": "assistant", "content": "ahoy yourself", "timestamp": "2026-03-01T09:00:05Z"},
        {"role": "user", "content": "one thing more", "timestamp": "2026-03-01T09:01:00Z"},
    ]
    path = tmp_path / "talk.json"
    added = []
    for count in (2, 3, 3):
        path.write_text(json.dumps({"messages": messages[:count]}), encoding="utf-8")
        report = memory.ingest(path, scope=SCOPE, now=now)
        added.append((report.format, report.added))
    assert [count for _, count in added] == [2, 1, 0]
    assert len({r.session for r in records(memory, "episode")}) == 1
    assert sorted(r.position or 0 for r in records(memory, "episode")) == [0, 1, 2]
    gone = next(r for r in records(memory, "episode") if r.text == "ahoy")
    memory.forget([gone.id], scope=SCOPE)
    assert memory.ingest(path, scope=SCOPE, now=now).added == 0
    assert len(records(memory, "episode")) == 2


def test_a_growing_jsonl_file_adds_its_new_lines(memory: Memory, tmp_path: Path) -> None:
    now = at("2026-03-10T02:00Z")
    path = tmp_path / "live.jsonl"
    rows = [turn("g", f"2026-03-01T09:0{n}:00Z", f"line {n}", position=n) for n in range(4)]
    added = []
    for count in (2, 3, 4, 4):
        text = "".join(json.dumps(row) + "\n" for row in rows[:count])
        path.write_text(text, encoding="utf-8")
        added.append(memory.ingest(path, scope=SCOPE, now=now).added)
    assert added == [2, 1, 1, 0]


def test_file_order_and_stated_time_are_kept_apart(memory: Memory) -> None:
    now = at("2026-12-01T02:00Z")
    messages = [
        {"role": "user", "content": "said later", "timestamp": "2026-11-30T12:00:05Z"},
        {"role": "assistant", "content": "said earlier", "timestamp": "2026-11-30T12:00:00Z"},
        {"role": "user", "content": "from far ahead", "timestamp": "2098-01-01T00:00:00Z"},
    ]
    memory.ingest(messages, scope=SCOPE, session="s", format="openai", now=now)
    found = {r.text: r for r in records(memory, "episode")}
    places = [found[text].position for text in ("said later", "said earlier", "from far ahead")]
    assert places == sorted(places, key=lambda p: -1 if p is None else p)
    assert found["said earlier"].at < found["said later"].at
    assert found["from far ahead"].at == now
    assert found["from far ahead"].occurred_at == at("2098-01-01T00:00Z")
    assert memory.sleep(scope=SCOPE, now=now).passes[0].clock == now.isoformat()
    assert "promote_procedures" not in memory.stats(scope=SCOPE)["pending"]
