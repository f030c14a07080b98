"""Opening, migrating and guarding SQLite connections.

Driver errors become ours here, with the cause kept, so that no caller needs to know ``sqlite3``.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import SchemaMismatch, StoreUnavailable
from symfonic.capabilities.memory.stores.sqlite.queries import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION_ID = 0x53594D46
"""Marks the file as ours ("SYMF"), so that another program's database is not migrated."""

BUSY_TIMEOUT_MS = 30_000
CACHE_KIB = 32_768
"""What a connection keeps of the file, at most. SQLite's own 2 MB do not hold what one run writes:
pages then go to the log before the commit and are read again, a tenth of the run's time."""
LEAST_VERSION = (3, 37, 0)
_BUSY = ("locked", "busy")


class Connection:
    """One SQLite connection with named statements. Not shared between threads at a time.

    A transaction begins only while the file that was opened still lies at its path. SQLite goes on
    with a file that was removed or replaced, and what it writes there is lost without a word.
    """

    def __init__(self, path: str, *, read_only: bool = False, place: str | None = None) -> None:
        """``place`` is where the file lies, should ``path`` be relative to an earlier directory."""
        self.path = path
        self.place = place or (path if path == ":memory:" else os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps '..'
        with translated(path):
            self.raw = sqlite3.connect(self.place, isolation_level=None, check_same_thread=False)
            self.raw.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            self.raw.execute("PRAGMA secure_delete = ON")
            self.raw.execute("PRAGMA synchronous = NORMAL")
            self.raw.execute("PRAGMA temp_store = MEMORY")
            self.raw.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            if read_only:
                self.raw.execute("PRAGMA query_only = ON")
        self._statements = statements()
        self._file = self._lying_there()

    def check_place(self) -> None:
        """Raise ``StoreUnavailable`` where another file, or none, lies at the path by now."""
        if self._lying_there() != self._file:
            raise StoreUnavailable(
                f"The store {self.path} was removed or replaced while it was open. What would be "
                "written now would be lost. Open it again, or start the program again.",
                path=self.path,
                replaced=True,
            )

    def execute(self, name: str, parameters: object = ()) -> sqlite3.Cursor:
        """Run a named statement."""
        with translated(self.path):
            return self.raw.execute(self._statements[name], parameters)  # type: ignore[arg-type]

    def rows(self, name: str, parameters: object = ()) -> list[tuple[Any, ...]]:
        """All rows of a named statement."""
        with translated(self.path):
            return self.raw.execute(self._statements[name], parameters).fetchall()  # type: ignore[arg-type]

    def executemany(self, name: str, parameters: object) -> None:
        """Run a named statement for each of many parameter sets."""
        with translated(self.path):
            self.raw.executemany(self._statements[name], parameters)  # type: ignore[arg-type]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One write transaction, locked from its start.

        A deferred transaction that reads and then writes cannot wait for another writer: SQLite
        refuses it at once, and under contention most of them are lost.
        """
        self.check_place()
        with translated(self.path):
            self.raw.execute("BEGIN IMMEDIATE")
        try:
            yield
            with translated(self.path):
                self.raw.execute("COMMIT")
        except BaseException:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One snapshot: what is read inside does not change. Nested calls share the outer one."""
        if self.raw.in_transaction:
            yield
            return
        self.check_place()
        with translated(self.path):
            self.raw.execute("BEGIN")
        try:
            yield
        finally:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; closing twice does nothing."""
        self.raw.close()

    def _lying_there(self) -> tuple[int, int] | None:
        if self.place == ":memory:":
            return None
        try:
            found = os.stat(self.place)  # noqa: PTH116 - once a transaction, and twice as fast
        except OSError:
            return None
        return found.st_dev, found.st_ino


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error


def _translate(error: sqlite3.Error, path: str) -> StoreUnavailable:
    text = str(error)
    if any(word in text for word in _BUSY):
        advice = f"Another process kept it locked for {BUSY_TIMEOUT_MS // 1000} s. Try again."
    elif "full" in text:
        advice = "The disk is full. Nothing of this step was written; free some space and repeat."
    elif "readonly" in text or "unable to open" in text:
        advice = "Check that the directory exists and that you may write there."
    elif isinstance(error, sqlite3.DatabaseError) and (
        "malformed" in text or "not a database" in text or "corrupt" in text
    ):
        advice = "The file is damaged. Keep a copy, and import your latest export into a new file."
    else:
        advice = "Run 'symfonic-memory doctor' to see what is wrong."
    return StoreUnavailable(f"The store {path} failed: {text}. {advice}", path=path)


def migrate(connection: Connection, *, until: int | None = None) -> None:
    """Bring the schema to this release's version, one transaction a migration.

    ``until`` stops at a version, for the tests of the migrations. Raises ``SchemaMismatch`` for a
    file of a newer release and ``StoreUnavailable`` for another program's database.
    """
    if sqlite3.sqlite_version_info < LEAST_VERSION:
        wanted = ".".join(map(str, LEAST_VERSION))
        raise StoreUnavailable(
            f"SQLite {wanted} or newer is needed; this Python has {sqlite3.sqlite_version}."
        )
    version = _version(connection)
    scripts = migrations()
    newest = max(scripts)
    if version > newest:
        raise SchemaMismatch(
            f"The store {connection.path} has schema {version}; this release knows up to "
            f"{newest}. Install a newer symfonic-memory, or open a copy made by this one.",
            found=version,
            known=newest,
        )
    for number in sorted(scripts):
        if version < number <= (newest if until is None else until):
            _apply(connection, number, scripts[number])


def migrations() -> dict[int, str]:
    """The migration scripts by number."""
    folder = resources.files(__package__).joinpath("migrations")
    return {
        int(entry.name[:4]): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if re.fullmatch(r"\d{4}_\w+\.sql", entry.name)
    }


def _version(connection: Connection) -> int:
    """The schema's version. Tables are counted first: another process may be making them."""
    with translated(connection.path):
        tables: int = connection.raw.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        mark: int = connection.raw.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.raw.execute("PRAGMA user_version").fetchone()[0]
    if tables and mark != APPLICATION_ID:
        raise StoreUnavailable(
            f"{connection.path} is a SQLite database, but not a symfonic memory. "
            "Name another file with --store.",
            path=connection.path,
        )
    return version


def _apply(connection: Connection, number: int, script: str) -> None:
    with translated(connection.path):
        if number == 1:
            connection.raw.execute("PRAGMA journal_mode = WAL")
    with connection.writing():
        if _version(connection) >= number:  # another process was quicker
            return
        with translated(connection.path):
            for statement in _split(script):
                connection.raw.execute(statement)
            connection.raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.raw.execute(f"PRAGMA user_version = {number}")


def _split(script: str) -> list[str]:
    """The statements of a script; ``executescript`` would commit the transaction around it."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def file_exists(path: str) -> bool:
    """Whether there is a database at ``path``; one in memory always is, an empty file never."""
    return path == ":memory:" or (Path(path).exists() and Path(path).stat().st_size > 0)
