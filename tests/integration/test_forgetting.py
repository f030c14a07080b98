"""What was forgotten is in no table, no index, no log and no byte of the file; and stays away.

The tables are taken from the schema, so that a later one joins by being there.
"""

from __future__ import annotations

import json
import sqlite3
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory import demo
from symfonic.capabilities.memory.errors import RecordNotFound, UndoRefused
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.stores.sqlite import store as sqlite_store
from symfonic.capabilities.memory.testing.builders import NOW, make_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.service import Memory

SCOPE = "acme/ana"
SESSION = "xenolith-session"
POLICY = LearningPolicy(
    enable_entity_linker=True, promotion_use_tool_calls_fallback=True,
    episodic_summarization_max_entries=20, episodic_summarization_batch_size=20,
    promotion_recency_days=3650,
)  # fmt: skip

TEXT, SPEAKER, ARGUMENT, RESULT = "quokkaword", "wyvernspeaker", "yttriumtoken", "ocelotresult"
NAME, NEAR_MISS, NOTE = "zephyrina", "ibexandra", "jackalopenote"
WORDS = (TEXT, SPEAKER, ARGUMENT, RESULT, NAME, NEAR_MISS, SESSION)
"""Each word stands nowhere but in the forgotten session, and begins with letters of its own, so
that an index that stores only how a term differs from the one before cannot hide it."""

TURNS: list[dict[str, Any]] = [
    {"role": "user", "name": SPEAKER.title(), "text": f"The {TEXT} is broken. I asked Zephyrina "
     "Voss about it at the fair, and Zephyrina Voss did not know."},
    {"role": "assistant", "text": "I will look. Zephyrina Voss may know more tomorrow.",
     "tool_calls": [
         {"name": "lookup_order", "arguments": {"order": ARGUMENT}, "result": RESULT, "ok": True},
         {"name": "check_policy", "arguments": {"policy": "refunds"}, "ok": True},
         {"name": "issue_refund", "arguments": {"order": ARGUMENT}, "ok": True},
         {"name": "send_receipt", "arguments": {"order": ARGUMENT, "to": ARGUMENT}, "ok": True},
     ]},
    {"role": "user", "text": f"Then ask Ibexandra Moll. And before every {TEXT}: run the tests."},
]  # fmt: skip


def secret_turns() -> list[dict[str, Any]]:
    return [
        {**turn, "id": f"{SESSION}-{n}", "session": SESSION, "at": f"2026-02-1{n}T10:00:00Z"}
        for n, turn in enumerate(TURNS)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    """A demo week and the secret session, from files, and two nights over them."""
    source = path.with_name("secret.jsonl")
    source.write_text("\n".join(map(json.dumps, secret_turns())), encoding="utf-8")
    memory = make_memory(path)
    with resources.as_file(demo.DATA) as week:
        memory.ingest(week, scope=SCOPE, now=LATER)
    memory.ingest(source, scope=SCOPE, now=LATER)
    source.unlink()
    memory.remember(f"Mind the {NOTE}.", scope=SCOPE, now=LATER)
    memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
    memory.recall(f"{TEXT} {NAME}", scope=SCOPE, now=LATER)
    memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
    yield memory
    assert memory.store.check() == []
    memory.close()


LATER = NOW.replace(month=10)
"""After the demo week, whose times are fixed."""


def found_in_tables(path: Path, words: tuple[str, ...]) -> set[tuple[str, str]]:
    """The (table, word) pairs of every table of the schema, and of the text index's terms."""
    raw = sqlite3.connect(path)
    tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert {"record", "change", "run", "seen", "record_text_content"} <= set(tables)
    raw.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, record_text, 'row')")
    found = set()
    for table in [*tables, "temp.terms"]:
        for row in raw.execute(f"SELECT * FROM {table}"):
            shown = " ".join(
                v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in row
            ).casefold()
            found |= {(table, word) for word in words if word in shown}
    raw.close()
    return found


def found_in_bytes(path: Path, words: tuple[str, ...]) -> set[tuple[str, str]]:
    """The (file, word) pairs of the database and everything beside it."""
    found = set()
    for file in sorted(path.parent.glob(path.name + "*")):
        data = file.read_bytes().lower()
        found |= {(file.name, word) for word in words if word.encode() in data}
    return found


def assert_gone(path: Path, words: tuple[str, ...]) -> None:
    assert found_in_bytes(path, words) == set()
    assert found_in_tables(path, words) == set()


def test_before_anything_is_forgotten_every_word_is_found_where_it_is_looked_for(
    memory: Memory, path: Path
) -> None:
    fresh = {"role": "user", "text": "Let us ask Zephyrina Voss."}
    memory.add_turn(fresh, scope=SCOPE, session=SESSION, now=LATER)
    memory.plan(scope=SCOPE, policy=POLICY, now=LATER)
    tables = found_in_tables(path, WORDS)
    assert {word for _, word in tables} == set(WORDS)
    for table in ("record", "seen", "change", "run", "record_text_content", "temp.terms"):
        assert table in {name for name, _ in tables}, table
    memory.store.check()
    assert {word for _, word in found_in_bytes(path, WORDS)} == set(WORDS)
    rows = [row for row in memory.export(scope=SCOPE) if row["table"] == "record"]
    kinds = {row["kind"] for row in rows if NAME in row["text"].casefold()}
    assert kinds == {"episode", "entity", "summary"}


def forget_session(memory: Memory, how: str) -> None:
    """Forget the session in one of the ways there are."""
    chosen = memory.find_forgettable(scope=SCOPE, session=SESSION)
    assert len(chosen) == len(TURNS)
    match how:
        case "one by one":
            for i in chosen:
                memory.forget([i], scope=SCOPE)
        case "one by one, last first":
            for i in reversed(chosen):
                memory.forget([i], scope=SCOPE)
        case "at once":
            memory.forget(chosen, scope=SCOPE)
        case _:
            memory.forget(memory.find_forgettable(scope=SCOPE, everything=True), scope=SCOPE)


HOW = ["one by one", "one by one, last first", "at once", "with the whole scope"]


@pytest.mark.parametrize("how", HOW)
def test_a_forgotten_session_is_nowhere(memory: Memory, path: Path, how: str) -> None:
    forget_session(memory, how)
    assert_gone(path, WORDS)


@pytest.mark.parametrize("how", HOW)
def test_neither_undo_nor_sleep_brings_it_back(memory: Memory, path: Path, how: str) -> None:
    forget_session(memory, how)
    undo_all(memory)
    assert_gone(path, WORDS)
    memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
    memory.flush_uses()
    assert_gone(path, WORDS)


def undo_all(memory: Memory) -> None:
    """Undo every night, latest first."""
    for run in memory.runs(scope=SCOPE):
        if run.kind == "deep" and run.status == "committed" and memory.diff(run.report["run_id"]):
            memory.undo(run.report["run_id"], now=LATER)


@pytest.mark.parametrize("how", HOW)
def test_what_was_derived_and_undone_before_is_forgotten_too(
    memory: Memory, path: Path, how: str
) -> None:
    undo_all(memory)
    forget_session(memory, how)
    assert_gone(path, WORDS)


def test_a_forgotten_source_is_known_and_not_taken_in_again(memory: Memory, path: Path) -> None:
    forget_session(memory, "at once")
    report = memory.ingest(secret_turns(), scope=SCOPE, format="jsonl", now=LATER)
    assert (report.added, report.forgotten) == (0, len(TURNS))
    assert_gone(path, WORDS)


def test_a_plan_kept_before_is_emptied_and_cannot_be_applied(memory: Memory, path: Path) -> None:
    undo_all(memory)
    memory.ingest(
        [{**turn, "id": f"again-{n}", "session": "s9", "at": "2026-02-20T10:00:00Z"}
         for n, turn in enumerate(TURNS)], scope=SCOPE, format="jsonl", now=LATER,
    )  # fmt: skip
    plan = memory.plan(scope=SCOPE, policy=POLICY, now=LATER)
    assert plan.change_count > 0
    forget_session(memory, "at once")
    memory.forget(memory.find_forgettable(scope=SCOPE, session="s9"), scope=SCOPE)
    with pytest.raises(RecordNotFound):
        memory.apply(plan.run_id)
    assert memory.run(plan.run_id).status == "abandoned"
    assert_gone(path, WORDS)


def test_an_entity_is_forgotten_with_every_turn_that_mentions_it(
    memory: Memory, path: Path
) -> None:
    chosen = memory.find_forgettable(scope=SCOPE, entity="Zephyrina Voss")
    assert len(chosen) == 3
    memory.forget(chosen, scope=SCOPE)
    assert_gone(path, (NAME, SPEAKER, ARGUMENT, RESULT))
    memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
    assert_gone(path, (NAME, SPEAKER, ARGUMENT, RESULT))


@pytest.mark.parametrize("undone", [False, True], ids=["kept", "undone"])
def test_a_note_is_forgotten_by_its_id(memory: Memory, path: Path, *, undone: bool) -> None:
    (note,) = [
        item.id for item in memory.recall(NOTE, scope=SCOPE, now=LATER).items
        if item.kind == "note"
    ]  # fmt: skip
    if undone:
        (run,) = [run for run in memory.runs(scope=SCOPE) if run.kind == "user"]
        memory.undo(run.report["run_id"], now=LATER)
        memory.flush_uses()
    memory.forget([note], scope=SCOPE)
    assert_gone(path, (NOTE,))


def test_forgetting_a_scope_empties_it_and_leaves_the_others(memory: Memory, path: Path) -> None:
    memory.ingest(
        [{"text": "The kettle is on.", "session": "s1"}], scope="acme/bob", format="jsonl"
    )
    receipt = memory.forget(memory.find_forgettable(scope=SCOPE, everything=True), scope=SCOPE)
    assert len(receipt.forgotten) > 180
    words = (*WORDS, NOTE, "marta", "brambleway", "lookup_order")
    assert_gone(path, words)
    assert memory.recall("kettle", scope="acme/bob").items
    stats = memory.stats(scope=SCOPE)
    assert (stats["visible"], stats["links"]) == (0, 0)
    assert not any(stats["pending"].values())


def test_a_failed_phase_does_not_keep_what_it_failed_on(memory: Memory, path: Path) -> None:
    class Failing:
        name, version = "failing", "1"

        def extract(self, episode: Any) -> Any:
            raise ValueError(episode.text)

    policy = LearningPolicy(enable_entity_linker=True, entity_linker_extractor_kind="llm")
    memory.ingest(
        [{**TURNS[0], "session": SESSION, "id": "failing"}], scope=SCOPE, format="jsonl", now=LATER
    )
    report = memory.sleep(scope=SCOPE, policy=policy, given={"llm_extractor": Failing()}, now=LATER)
    assert TEXT in report.failed[0].reason
    memory.forget(memory.find_forgettable(scope=SCOPE, session=SESSION), scope=SCOPE)
    assert_gone(path, WORDS)


def test_what_others_said_is_still_there(memory: Memory) -> None:
    before = {
        i.id for i in memory.recall("refund", scope=SCOPE, now=LATER, kinds=["episode"]).items
    }
    secret = set(memory.find_forgettable(scope=SCOPE, session=SESSION))
    forget_session(memory, "at once")
    after = memory.recall("refund", scope=SCOPE, now=LATER, kinds=["episode"]).items
    assert before - secret <= {item.id for item in after}
    assert len(memory.procedures(scope=SCOPE, status=None)) <= 2
    memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
    assert "issue_refund" in " ".join(r.text for r in memory.procedures(scope=SCOPE))


def test_a_receipt_holds_no_text_and_names_what_it_cannot_reach(memory: Memory) -> None:
    chosen = memory.find_forgettable(scope=SCOPE, session=SESSION)
    receipt = memory.forget(chosen, scope=SCOPE)
    assert set(receipt.forgotten) == set(chosen)
    assert not [word for word in WORDS if word in repr(receipt).casefold()]
    assert any("backup" in place for place in receipt.unreachable)
    assert any("export" in place for place in receipt.unreachable)


def test_a_log_that_a_reader_holds_is_named_in_the_receipt(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "CHECKPOINT_WAIT_MS", 20)
    chosen = memory.find_forgettable(scope=SCOPE, session=SESSION)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM record").fetchone()
    receipt = memory.forget(chosen, scope=SCOPE)
    assert any("write-ahead log" in place for place in receipt.unreachable)
    reader.close()
    memory.store.check()
    assert_gone(path, WORDS)


def test_a_run_over_forgotten_text_can_still_be_undone_once(memory: Memory) -> None:
    forget_session(memory, "at once")
    runs = [
        run.report["run_id"] for run in memory.runs(scope=SCOPE)
        if run.kind == "deep" and memory.diff(run.report["run_id"])
    ]  # fmt: skip
    assert runs
    for run in runs:
        memory.undo(run, now=LATER)
        with pytest.raises(UndoRefused):
            memory.undo(run, now=LATER)


def test_a_tool_that_only_a_forgotten_turn_called_is_named_nowhere(path: Path) -> None:
    """The key of a pattern stands with the last of its turns, and names the tools of all."""
    memory = make_memory(path)
    calls = [
        {"id": "t1", "session": "s", "role": "assistant", "tool_calls": [{"name": "zebu_lookup"}]},
        {"id": "t2", "session": "s", "role": "assistant", "tool_calls": [{"name": "send_mail"}]},
    ]
    memory.ingest(calls, scope=SCOPE, now=LATER)
    policy = LearningPolicy(promotion_use_tool_calls_fallback=True)
    memory.sleep(scope=SCOPE, policy=policy, now=LATER)
    assert ("seen", "zebu_lookup") in found_in_tables(path, ("zebu_lookup",))
    (found,) = memory.recall("zebu_lookup", scope=SCOPE, now=LATER, limit=1).items
    memory.forget([found.id], scope=SCOPE)
    assert_gone(path, ("zebu_lookup",))
    memory.close()


@pytest.mark.parametrize("gone", [(3,), (0,), (1, 5), (5,), (0, 1, 2)])
def test_a_history_that_repeats_itself_does_not_bring_back_what_was_forgotten_of_it(
    gone: tuple[int, ...],
) -> None:
    """A live client hands its whole history over again; equal turns tell nothing from nothing."""
    history = [{"role": "user", "content": f"turn {n % 2} of the kiln"} for n in range(6)]
    memory = make_memory(":memory:")
    ids = memory.add_turn(history, scope=SCOPE, session="s", now=LATER).ids
    memory.forget([ids[n] for n in gone], scope=SCOPE)
    more = [*history, {"role": "user", "content": "and a new one"}]
    for sent, new in ((history, 0), (more, 1)):
        found = memory.add_turn(sent, scope=SCOPE, session="s", now=LATER)
        assert (found.added, found.known, found.forgotten) == (new, 6 - len(gone), len(gone))
    memory.close()


def met(memory: Memory, *sessions: str) -> None:
    """A session each in which two names are spoken of together."""
    for day, session in enumerate(sessions, 1):
        turns = [
            {"id": f"{session}{n}", "session": session, "position": n, "role": "user",
             "text": f"This morning {name} asked me about the kiln.",
             "at": f"2026-02-{day:02}T1{n}:00:00Z"}
            for n, name in enumerate(("Marguerite Oakes", "Tobias Fenn"))
        ]  # fmt: skip
        memory.ingest(turns, scope=SCOPE, now=LATER)


def links_of(memory: Memory) -> list[tuple[str, int]]:
    """Kind and count of the links that say who is spoken of together."""
    rows = [row for row in memory.export(scope=SCOPE) if row["table"] == "link"]
    return [(r["kind"], r["count"]) for r in rows if r["kind"] == "co_occurred"]


def test_forgetting_a_session_recounts_who_is_spoken_of_together(path: Path) -> None:
    with make_memory(path) as memory, make_memory() as never:
        met(memory, "monday", "tuesday", "wednesday")
        met(never, "monday", "tuesday")
        for one in (memory, never):
            one.sleep(scope=SCOPE, policy=POLICY, now=LATER)
        assert links_of(memory) == [("co_occurred", 3)]
        memory.forget(memory.find_forgettable(scope=SCOPE, session="wednesday"), scope=SCOPE)
        assert links_of(memory) == links_of(never) == [("co_occurred", 2)]
        assert_gone(path, ("wednesday",))
        memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
        assert links_of(memory) == links_of(never)
        memory.forget(memory.find_forgettable(scope=SCOPE, session="tuesday"), scope=SCOPE)
        assert links_of(memory) == []
        assert memory.sleep(scope=SCOPE, policy=POLICY, now=LATER).failed == ()
        assert links_of(memory) == []


def test_a_forgotten_turn_takes_its_window_s_pair_until_another_turn_says_it_again(
    path: Path,
) -> None:
    with make_memory(path) as memory:
        met(memory, "monday", "tuesday")
        again = {
            "id": "again",
            "session": "tuesday",
            "position": 5,
            "role": "user",
            "text": "Then Tobias Fenn came back about the kiln.",
            "at": "2026-02-02T15:00:00Z",
        }
        memory.ingest([again], scope=SCOPE, now=LATER)
        memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
        assert links_of(memory) == [("co_occurred", 2)]
        (found,) = memory.recall(
            "Then Tobias Fenn came back", scope=SCOPE, now=LATER, limit=1, kinds=["episode"]
        ).items
        memory.forget([found.id], scope=SCOPE)
        assert links_of(memory) == []
        assert memory.stats(scope=SCOPE)["pending"]["link_cooccurring"] == 2
        memory.sleep(scope=SCOPE, policy=POLICY, now=LATER)
        assert links_of(memory) == [("co_occurred", 2)]
        assert memory.store.check() == []
