"""Opening a file: schemas old, new, foreign and damaged, and a disk that is full."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.changes import add_record
from symfonic.capabilities.memory.errors import SchemaMismatch, StoreUnavailable
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Commit
from symfonic.capabilities.memory.stores import open_store
from symfonic.capabilities.memory.stores.sqlite.connection import (
    APPLICATION_ID,
    Connection,
    migrate,
    migrations,
)
from symfonic.capabilities.memory.stores.sqlite.store import SQLiteStore
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_session
from symfonic.capabilities.memory.testing.contract.base import (
    OWN,
    SETUP,
    SUBSCRIPTIONS,
    make_scopes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SNAPSHOT = Path(__file__).with_name("schema.sql")
"""The schema of this release. A change of it is a new migration, and then of this file."""


def schema(connection: Connection) -> str:
    """Every table and index, as SQLite keeps its definition, in order of name."""
    rows = connection.raw.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name"
    )
    return ";\n\n".join(str(sql) for (sql,) in rows) + ";\n"


def test_all_migrations_give_the_schema_of_this_release() -> None:
    connection = Connection(":memory:")
    migrate(connection)
    assert schema(connection) == SNAPSHOT.read_text(encoding="utf-8")
    connection.close()


def test_migrating_step_by_step_gives_what_migrating_at_once_does() -> None:
    at_once, by_steps = Connection(":memory:"), Connection(":memory:")
    migrate(at_once)
    for number in sorted(migrations()):
        migrate(by_steps, until=number)
        assert by_steps.raw.execute("PRAGMA user_version").fetchone() == (number,)
    assert schema(by_steps) == schema(at_once)
    for connection in (at_once, by_steps):
        connection.close()


def test_migrations_are_numbered_without_a_gap_and_say_when_they_run() -> None:
    scripts = migrations()
    assert sorted(scripts) == list(range(1, len(scripts) + 1))
    assert all(script.startswith(("-- pre: ", "-- post: ")) for script in scripts.values())


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store(path).close()
    newest = max(migrations())
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {newest + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch) as caught:
        open_store(path)
    assert caught.value.facts == {"found": newest + 1, "known": newest}
    assert path.read_bytes() == before


def test_opening_again_does_not_migrate_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    make_scopes(store)
    store.close()
    before = path.read_bytes()
    open_store(path).close()
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE song (title TEXT)")
        raw.execute("INSERT INTO song VALUES ('Green Sleeves')")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="not a symfonic memory"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 500, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="damaged"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_damaged_database_says_so_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    make_scopes(store)
    store.add_turns(OWN, make_session(*map(str, range(500))), now=NOW, subscriptions=())
    store.close()
    data = bytearray(path.read_bytes())
    data[4096 : len(data) // 2] = b"\xaa" * (len(data) // 2 - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreUnavailable, match="import your latest export"):
        _use(path)


def _use(path: Path) -> None:
    store = open_store(path)
    try:
        with store.snapshot(OWN) as reader:
            reader.records(reader.all_records())
    finally:
        store.close()


def test_a_truncated_database_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    make_scopes(store)
    store.add_turns(OWN, make_session(*map(str, range(500))), now=NOW, subscriptions=())
    store.close()
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(StoreUnavailable):
        _use(path)


def test_an_empty_file_is_no_store_and_becomes_one_only_when_one_is_made(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    with pytest.raises(StoreUnavailable, match="no store"):
        open_store(path, create=False)
    assert path.stat().st_size == 0
    open_store(path).close()
    open_store(path, create=False).close()


def test_a_missing_file_is_created_only_when_one_is_made(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with pytest.raises(StoreUnavailable, match="no store"):
        open_store(path, create=False)
    assert not path.exists()
    open_store(path).close()
    assert path.exists()


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="is a directory"):
        open_store(tmp_path)


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="directory exists"):
        open_store(tmp_path / "nowhere" / "memory.db")


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user"
)
@pytest.mark.parametrize("there", [False, True], ids=["no file", "a file"])
def test_a_directory_without_the_right_to_write_is_refused(tmp_path: Path, *, there: bool) -> None:
    path = tmp_path / "memory.db"
    if there:
        open_store(path).close()
        path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(StoreUnavailable, match="you may write there"):
            open_store(path)
        assert path.exists() == there
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory nobody can write to")
def test_a_file_system_that_takes_no_files_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="you may write there"):
        open_store("/proc/memory.db")


def fill_up(store: SQLiteStore, spare: int = 2) -> None:
    """Let the database grow by a few pages more, as on a disk that is nearly full."""
    pages = store._db.raw.execute("PRAGMA page_count").fetchone()[0]
    store._db.raw.execute(f"PRAGMA max_page_count = {pages + spare}")


@pytest.mark.parametrize("path", [":memory:", "file"])
@pytest.mark.parametrize("write", ["ingest", "commit", "plan"])
def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path, path: str, write: str) -> None:
    store = SQLiteStore(path if path == ":memory:" else str(tmp_path / "memory.db"))
    make_scopes(store)
    store.add_turns(OWN, make_session("one", "two"), now=NOW, subscriptions=SUBSCRIPTIONS)
    changes = tuple(
        add_record(SETUP, make_entity(f"n{n}", f"name {n} " * 50), "new") for n in range(200)
    )
    commit = Commit(kind="deep", clock=NOW, changes=changes)
    turns = make_session(*(f"text {n} " * 50 for n in range(200)), session="s2")
    attempts: dict[str, Callable[[], object]] = {
        "ingest": lambda: store.add_turns(OWN, turns, now=NOW, subscriptions=SUBSCRIPTIONS),
        "commit": lambda: store.commit(OWN, commit, lease=None),
        "plan": lambda: store.save_plan(OWN, commit),
    }
    before = list(store.dump(OWN))
    fill_up(store)
    with pytest.raises(StoreUnavailable, match="disk is full"):
        attempts[write]()
    assert list(store.dump(OWN)) == before
    assert store.check() == []
    store._db.raw.execute("PRAGMA max_page_count = 1000000")
    attempts[write]()
    assert store.check() == []
    store.close()


def test_a_full_disk_while_the_store_is_made_leaves_no_half_schema(tmp_path: Path) -> None:
    connection = Connection(str(tmp_path / "memory.db"))
    connection.raw.execute("PRAGMA max_page_count = 5")
    with pytest.raises(StoreUnavailable, match="disk is full"):
        migrate(connection)
    assert connection.raw.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.close()
    open_store(tmp_path / "memory.db").close()


def test_many_that_open_a_new_file_at_once_make_one_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"

    def open_and_write(n: int) -> str:
        store = open_store(path)
        scope = Scope(f"s{n}")
        store.ensure_scope(scope, half_life_hours=1.0, salt=b"x")
        store.add_turns(scope, make_session("one"), now=NOW, subscriptions=())
        store.close()
        return scope.path

    with ThreadPoolExecutor(8) as pool:
        made = sorted(pool.map(open_and_write, range(8)))
    store = open_store(path)
    assert store.scopes() == made
    assert store.check() == []
    store.close()


def test_the_file_is_marked_as_ours(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store(path).close()
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()
