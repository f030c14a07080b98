"""Whose rows a reader returns: its own scope's and, where said, its ancestors'; nobody else's."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, is_dataclass, replace
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.changes import Group, add_record
from symfonic.capabilities.memory.embedding.protocol import EmbedderIdentity
from symfonic.capabilities.memory.errors import RecordNotFound
from symfonic.capabilities.memory.records import (
    EPOCH,
    KINDS,
    Procedure,
    Record,
    RecordId,
    Seen,
    Step,
    Use,
)
from symfonic.capabilities.memory.scope import Scope
from symfonic.capabilities.memory.store import Answer, Commit, ExpiryRule, MemoryReader
from symfonic.capabilities.memory.testing.builders import NOW, make_entity, make_episode, make_link
from symfonic.capabilities.memory.testing.contract.base import (
    CHILD,
    OWN,
    ROOT,
    SCOPES,
    SETUP,
    SIBLING,
    SUBSCRIPTIONS,
    ContractBase,
    commit,
    dumped,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symfonic.capabilities.memory.store import MemoryStore

HOUR = (NOW - EPOCH) // timedelta(hours=1) - 1
LONG_AGO = NOW - timedelta(days=400)
FAR = NOW + timedelta(days=400)
EMBEDDER = EmbedderIdentity(name="pair", version="1", dimensions=2)
VECTOR = struct.pack("<2f", 1.0, 0.0)

ASK: dict[str, Callable[[MemoryReader, list[str], list[Record]], object]] = {
    "state": lambda r, _, __: r.state.path,
    "visible_salts": lambda r, _, __: [salt.decode() for salt in r.visible_salts()],
    "pending": lambda r, _, __: r.pending("reading", until=NOW, cap=100),
    "states": lambda r, ids, _: r.states(ids),
    "records": lambda r, ids, _: r.records(ids),
    "before": lambda r, _, records: list(r.before(records, count=9).values()),
    "links": lambda r, ids, _: [
        r.links(ids, kinds=["mentions", "evidence"], direction=direction, per_record=100)
        for direction in ("out", "in")
    ],
    "degrees": lambda r, ids, _: {i: n for i, n in r.degrees(ids, kinds=["mentions"]).items() if n},
    "seen": lambda r, ids, _: r.seen("names", ids),
    "tally": lambda r, _, __: [
        t.key
        for t in r.tally("names", _keys(), since=LONG_AGO, until=NOW, least_score=0.0, also=())
    ],
    "sightings": lambda r, _, __: r.sightings(
        "names", _keys(), since=LONG_AGO, until=NOW, per_key=9
    ),
    "uses": lambda r, ids, _: r.uses(ids, until=NOW, per_record=9),
    "uncondensed": lambda r, _, __: r.uncondensed(before=NOW, limit=100),
    "answers": lambda r, _, __: r.answers([f"q-{scope.path}" for scope in SCOPES]),
    "windows": lambda r, _, __: r.windows([("s1", 0)], length=20, until=NOW),
    "kept_windows": lambda r, _, __: r.kept_windows("pairs", [("s1", 0)]),
    "window_counts": lambda r, _, __: _counted(
        r.window_counts("pairs", _ends(), without=(), most=9)
    ),
    "shared_windows": lambda r, _, __: _counted(
        r.shared_windows("pairs", list(combinations(_ends(), 2)), without=(), most=9)
    ),
    "expiring": lambda r, _, __: r.expiring(
        ExpiryRule(name="old", phase="old", before=FAR), limit=9
    ),
    "undone": lambda r, ids, _: r.undone("old", ids),
    "undone_sources": lambda r, _, __: r.undone_sources("old"),
    "unslept": lambda r, _, __: r.state.path if len(list(r.unslept(until=FAR))) == 2 else "",
    "told_count": lambda r, _, __: r.state.path if r.told_count() else "",
    "ids_like": lambda r, ids, _: [i for each in ids for i in r.ids_like(each)],
    "search": lambda r, _, __: r.search(['"kettle"'], kinds=KINDS, limit=100),
    "neighbours": lambda r, _, records: (
        r.neighbours(records[:1], distance=9)
        + r.neighbours(records, distance=0)
        + [n for record in records for n in r.neighbours([record], distance=1)]
    ),
    "list_records": lambda r, _, __: r.list_records(kinds=KINDS, limit=100),
    "records_within": lambda r, _, __: r.records_within(
        kinds=KINDS, since=None, until=None, limit=100
    ),
    "embedder": lambda r, _, __: r.state.path if r.embedder() else "",
    "unembedded": lambda r, _, __: r.unembedded(limit=100),
    "vector_counts": lambda r, _, __: r.state.path if r.vector_counts() == (1, 2) else "",
    "nearest": lambda r, _, __: r.nearest(VECTOR, EMBEDDER, kinds=KINDS, limit=100),
    "similarities": lambda r, ids, _: r.similarities(VECTOR, EMBEDDER, ids),
    "session_episodes": lambda r, _, __: r.session_episodes("s1"),
    "all_records": lambda r, _, __: r.all_records(),
    "run": lambda r, _, __: [r.run(n).scope for n in (1, 2)],
    "held": lambda r, _, __: r.held(),
    "as_of": lambda r, ids, _: r.as_of(
        [(scope.path, i, n) for scope in SCOPES for i in ids for n in range(9)]
    ),
    "runs": lambda r, _, __: r.runs(limit=100),
    "journal": lambda r, _, __: [r.journal(n) for n in (1, 2)],
    "dependents": lambda r, _, __: r.dependents(1, [str(SETUP)]),
    "stats": lambda r, _, __: r.stats(),
}
"""A call of every method of the reader, asking for everything that there is in all scopes."""

OF_ANCESTORS_TOO = {
    "visible_salts", "records", "search", "neighbours", "as_of", "records_within", "nearest",
    "similarities",
}  # fmt: skip
"""What also answers with an ancestor's rows; all else is about the reader's own scope."""


def _keys() -> list[str]:
    return [f"key-{scope.path}" for scope in SCOPES]


def _ends() -> list[str]:
    return sorted(f"{end}-{scope.path}" for scope in SCOPES for end in ("left", "right"))


def _counted(counts: Mapping[Any, object]) -> list[Any]:
    return [key for key, count in counts.items() if count]


def _name(scope: Scope, what: str) -> str:
    """An id that says whose it is."""
    return f"{what}@{scope.path.replace('/', '+')}"


def fill(store: MemoryStore, scope: Scope) -> None:
    """Something in every table of a scope, all of it naming the scope."""
    first, second = (
        make_episode(_name(scope, f"e{n}"), f"kettle of {scope.path}", scope=scope.path, position=n)
        for n in (1, 2)
    )
    entity = make_entity(_name(scope, "n"), f"kettle {scope.path}", scope=scope.path)
    draft = replace(
        entity, id=RecordId(_name(scope, "p")), kind="procedure", status="draft",
        content=Procedure(title="t", trigger="t", steps=(Step(action="a"),), origin="calls"),
    )  # fmt: skip
    write(
        store, first, second, entity, draft, make_link(first.id, entity.id),
        make_link(draft.id, second.id, kind="evidence"), scope=scope,
    )  # fmt: skip
    seen = Seen(
        episode=first.id, reader="names", kind="mention", key=f"key-{scope.path}", session="s1",
        at=first.at, body={"name": scope.path},
    )  # fmt: skip
    answer = Answer(
        question=f"q-{scope.path}", collaborator="c", sources=(first.id,), body=scope.path
    )
    windows = [
        Seen(
            episode=first.id, reader="pairs", kind="window", key=f"{end}-{scope.path}",
            session="s1", window=0, at=first.at,
        )
        for end in ("left", "right")
    ]  # fmt: skip
    commit(
        store, seen=(seen, *windows), answers=(answer,), scope=scope,
        queue={"reading": (first.id, second.id)},
    )  # fmt: skip
    use = Use(record=first.id, hour=HOUR, kind="recalled", weight=1.0)
    store.add_uses(scope, [use], subscriptions=SUBSCRIPTIONS)
    store.save_plan(scope, Commit(kind="deep", clock=NOW), held=True)
    store.set_embedder(scope, EMBEDDER)
    with store.snapshot(scope) as reader:
        record = next(r for r in reader.unembedded(limit=9) if r.id == first.id)
    store.add_vectors(scope, EMBEDDER, [(record.id, record.version, VECTOR)])


def plain(value: object) -> str:
    """Whatever a lookup gave, as text in which scopes can be looked for."""
    if isinstance(value, dict):
        return json.dumps({plain(k): plain(v) for k, v in value.items()}, sort_keys=True)
    if isinstance(value, list | tuple | set):
        return " ".join(plain(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return str(value)


def named(value: object) -> set[str]:
    """The scopes that an answer names."""
    found, text = set(), plain(value).replace("+", "/")
    for scope in sorted(SCOPES, key=lambda s: -len(s.path)):
        if scope.path in text:
            found.add(scope.path)
            text = text.replace(scope.path, "")
    return found


class ScopeContract(ContractBase):
    """Isolation, for every method of the reader."""

    def test_every_lookup_is_asked_here(self) -> None:
        lookups = {n for part in MemoryReader.__mro__[1:-2] for n in vars(part) if n[0] != "_"}
        assert set(ASK) == lookups

    @pytest.mark.parametrize("lookup", sorted(ASK))
    @pytest.mark.parametrize("scope", [ROOT, OWN], ids=str)
    def test_a_reader_sees_its_own_rows_and_its_ancestors_only(
        self, store: MemoryStore, scope: Scope, lookup: str
    ) -> None:
        everything: list[Record] = []
        for one in SCOPES:
            fill(store, one)
        for one in SCOPES:
            with store.snapshot(one) as reader:
                everything += [r for r in reader.records(reader.all_records()) if r.session]
        ids = [_name(one, what) for one in SCOPES for what in ("e1", "e2", "n", "p")]
        with store.snapshot(scope) as reader:
            answer = ASK[lookup](reader, ids, everything)
        visible = set(scope.visible) if lookup in OF_ANCESTORS_TOO else {scope.path}
        found = named(answer)
        assert found <= visible
        if lookup not in {"undone", "undone_sources", "dependents"}:
            assert found == visible

    def test_what_was_undone_elsewhere_is_not_undone_here(self, store: MemoryStore) -> None:
        group = Group(phase="old", kind="entity", id="n1")
        for scope in (OWN, SIBLING):
            commit(
                store,
                add_record(group, make_entity("n1", scope=scope.path), "there"),
                scope=scope,
            )
        store.commit(SIBLING, Commit(kind="undo", clock=NOW, undoes=((1, ""),)), lease=None)
        with store.snapshot(SIBLING) as reader:
            assert set(reader.undone("old", ["n1"])) == {"n1"}
        with store.snapshot(OWN) as reader:
            assert reader.undone("old", ["n1"]) == {}

    def test_an_expression_cannot_leave_the_scope(self, store: MemoryStore) -> None:
        for scope in SCOPES:
            fill(store, scope)
        with store.snapshot(OWN) as reader:
            hits = reader.search(['"nothing") OR ("kettle"'], kinds=KINDS, limit=100)
        assert {hit.record.scope for hit in hits} <= {OWN.path, ROOT.path}

    def test_a_write_changes_no_other_scope(self, store: MemoryStore) -> None:
        for scope in SCOPES:
            fill(store, scope)
        others = [scope for scope in SCOPES if scope != OWN]
        before = [dumped(store, scope) for scope in others]
        write(store, make_entity("n9"))
        store.forget(OWN, [_name(OWN, "e1"), _name(SIBLING, "e1")], subscriptions=SUBSCRIPTIONS)
        use = Use(record=RecordId(_name(ROOT, "n")), hour=HOUR, kind="recalled", weight=1.0)
        store.add_uses(OWN, [use], subscriptions=SUBSCRIPTIONS)
        assert [dumped(store, scope) for scope in others] == before

    def test_a_use_of_an_ancestors_record_is_kept_in_the_users_scope(
        self, store: MemoryStore
    ) -> None:
        fill(store, ROOT)
        use = Use(record=RecordId(_name(ROOT, "n")), hour=HOUR, kind="recalled", weight=2.0)
        store.add_uses(OWN, [use], subscriptions=SUBSCRIPTIONS)
        with store.snapshot(OWN) as reader:
            assert use in reader.uses([use.record], until=NOW, per_record=9)
        with store.snapshot(ROOT) as reader:
            assert use not in reader.uses([use.record], until=NOW, per_record=9)

    def test_a_scope_that_is_not_there_is_an_error(self, store: MemoryStore) -> None:
        missing = Scope("acme/nobody")
        with pytest.raises(RecordNotFound), store.snapshot(missing):
            pass
        writes: list[Callable[[], Any]] = [
            lambda: store.commit(missing, Commit(kind="user", clock=NOW), lease=None),
            lambda: store.add_turns(missing, [], now=NOW, subscriptions=()),
            lambda: store.add_uses(missing, [], subscriptions=()),
            lambda: store.acquire(missing, now=NOW, term_seconds=60),
            lambda: store.forget(missing, [], subscriptions=()),
            lambda: list(store.dump(missing)),
        ]
        for attempt in writes:
            with pytest.raises(RecordNotFound):
                attempt()
        assert store.scopes() == sorted(scope.path for scope in SCOPES)

    def test_the_nearest_salt_comes_first(self, store: MemoryStore) -> None:
        with store.snapshot(CHILD) as reader:
            salts = reader.visible_salts()
        assert salts == [path.encode() for path in CHILD.visible]
