"""Every named statement finds its rows by an index of more than the scope, or says why not.

A scope may hold a million rows. A statement that walks them all costs a night as much as what is
stored, and only a plan shows it: on a small test store everything is quick.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.stores import sqlite
from symfonic.capabilities.memory.stores.sqlite.connection import Connection, migrate
from symfonic.capabilities.memory.stores.sqlite.queries import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

EXEMPT = {
    "list_scopes": "lists every scope; a scope is one short row",
    "count_records": "stats: counts everything of a scope, when somebody asks",
    "count_links": "stats: counts everything of a scope, when somebody asks",
    "dump_record": "an export reads everything",
    "dump_link": "an export reads everything",
    "dump_seen": "an export reads everything",
    "dump_answer": "an export reads everything",
    "dump_use": "an export reads everything",
    "dump_pending": "an export reads everything",
    "dump_run": "an export reads everything",
    "dump_change": "an export reads everything",
    "all_records": "forgetting a whole scope names everything in it",
    "erase_answers": "forgetting looks through the answers once, however much is forgotten",
    "runs_with_text": "forgetting looks through the run reports once, however much is forgotten",
    "runs_there": "an import is held against every run of the scope",
    "scrub_scope": "forgetting a whole scope empties its whole history",
    "first_kept_use": "compact looks once through the history that it keeps",
    "check_unindexed": "doctor looks at everything",
    "check_json": "doctor looks at everything",
    "check_dangling_links": "doctor looks at everything",
    "check_visible": "doctor looks at everything",
    "check_vectors": "doctor looks at everything",
    "count_vectors": "counted once before a scope is embedded, or its vectors are read whole",
    "delete_vectors": "another embedder begins anew",
    "delete_unembedded": "another embedder begins anew",
    "queue_unembedded": "another embedder begins anew",
}
"""Statements that walk a scope or a table, each with its reason."""

STEPPING = {
    "pending_phases": "takes one step in the index for each phase, of which there are a handful",
    "get_embedder": "a scope has one row there",
    "visible_embedders": "a scope has one row there",
    "list_unembedded": "takes the first rows of a list that is ordered as they are asked for",
    "window_readers": "takes one step in the index for each reader, of which there is one or two",
}
"""Statements whose plan names the scope alone and which nevertheless read one row."""

_INTERMEDIATE = re.compile(
    r"SCAN (\(subquery-\d+\)|phases|readers|found|ends|one|due|CONSTANT ROW|\d+ CONSTANT ROWS?)$"
)
"""Results of the statement itself, which it limited before."""


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    connection = Connection(":memory:")
    migrate(connection)
    yield connection
    connection.close()


def plan(connection: Connection, name: str) -> list[str]:
    """The steps of a statement's query plan."""
    sql = statements()[name]
    names = set(re.findall(r"(?<![\w:]):(\w+)", re.sub(r"--.*", "", sql)))
    values = dict.fromkeys(names) if names else [None] * sql.count("?")
    rows = connection.raw.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    return [str(row[3]) for row in rows]


def walks(step: str) -> bool:
    """Whether a step reads a whole table, a whole scope, or all of it since some run."""
    if step.startswith("SCAN "):
        return " VIRTUAL TABLE INDEX" not in step and not _INTERMEDIATE.match(step)
    return step.startswith("SEARCH ") and bool(re.search(r"\(scope=\?( AND run>\?)?\)", step))


@pytest.mark.parametrize("name", sorted(statements()))
def test_a_statement_searches_by_more_than_the_scope(connection: Connection, name: str) -> None:
    steps = plan(connection, name)
    walking = [step for step in steps if walks(step)]
    if name in EXEMPT or name in STEPPING:
        assert walking, f"{name} is exempt and need not be"
    else:
        assert walking == []


def test_only_the_text_index_and_key_lists_are_virtual(connection: Connection) -> None:
    tables = {"record_text"}
    for name in statements():
        for step in plan(connection, name):
            if " VIRTUAL TABLE INDEX" not in step:
                continue
            table = step.split()[1]
            if table not in tables:
                assert "json_each" in statements()[name]


def test_a_full_text_search_never_walks_the_index(connection: Connection) -> None:
    (step,) = [s for s in plan(connection, "matching_rows") if "record_text" in s]
    assert re.search(r"VIRTUAL TABLE INDEX \d+:M", step)


def test_every_statement_is_described_and_used() -> None:
    folder = Path(next(iter(sqlite.__path__)))
    code = "\n".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    families = {f"{verb}_" for verb in ("dump", "load", "erase", "links", "degrees", "expiring")}
    for name, sql in statements().items():
        assert sql.startswith("-- "), f"{name} has no description"
        family = name.partition("_")[0] + "_"
        assert f'"{name}"' in code or (family in families and f'f"{family}{{' in code), name
