"""Writing a run: its changes, its journal and its row, in one open transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import StaleWrite
from symfonic.capabilities.memory.records import (
    COLUMNS,
    VISIBLE_STATES,
    canonical,
    rounded,
    to_microseconds,
)
from symfonic.capabilities.memory.stores.sqlite.rows import (
    array,
    change_row,
    scope_token,
)
from symfonic.capabilities.memory.text_terms import index_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symfonic.capabilities.memory.changes import Change
    from symfonic.capabilities.memory.records import Columns
    from symfonic.capabilities.memory.scope import Scope
    from symfonic.capabilities.memory.store import Commit, ScopeState
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


def check_versions(db: Connection, scope: Scope, commit: Commit) -> None:
    """Raise ``StaleWrite`` where a row that the plan had read is no longer as it was."""
    records = [row for row in commit.read if len(row) == 2]
    links = [row for row in commit.read if len(row) == 4]
    stale = [
        str(row[0])
        for row in [
            *db.rows("stale_records", {"scopes": array(scope.visible), "read": array(records)}),
            *db.rows("stale_links", {"scope": scope.path, "read": array(links)}),
        ]
    ]
    if stale:
        shown = ", ".join(sorted(stale)[:5])
        raise StaleWrite(
            f"{len(stale)} rows of scope {scope.path} changed since the plan was made ({shown}). "
            "Nothing was written. Plan again.",
            rows=tuple(sorted(stale)),
        )


def write_run(db: Connection, state: ScopeState, commit: Commit, *, number: int) -> None:
    """Write everything of ``commit`` but the check of versions, under run ``number``."""
    writer = _Writer(db, state)
    writer.apply(commit.changes)
    writer.journal(number, commit.changes)
    _insert_run(db, state.path, commit, number=number, status="committed", plan="")
    for undone, group in commit.undoes:
        _mark_undone(db, state.path, undone, group, by=number)
    _write_seen(db, state.path, commit)
    _write_pending(db, state.path, commit, writer.counter)
    settings = {kind: dict(values) for kind, values in state.settings.items()}
    if commit.reading:
        settings.setdefault(commit.kind, {}).update(commit.reading)
    clock = to_microseconds(commit.clock)
    is_run = commit.kind in {"deep", "light"}
    db.execute(
        "advance_scope",
        {
            "scope": state.path,
            "counter": writer.counter,
            "visible": writer.visible,
            "run_count": max(state.run_count, number),
            "last_clock": clock if is_run else None,
            "deep_clock": clock if commit.kind == "deep" else None,
            "settings": canonical(settings),
        },
    )


def write_plan(db: Connection, state: ScopeState, commit: Commit, *, number: int) -> None:
    """Keep a planned run: its changes in the journal, the rest of it in its own row."""
    rows = [change_row(state.path, number, n, c) for n, c in enumerate(commit.changes)]
    db.executemany("insert_change", rows)
    _insert_run(
        db, state.path, commit, number=number, status="planned", plan=canonical(encode_plan(commit))
    )
    db.execute(
        "advance_scope",
        {
            "scope": state.path, "counter": state.counter, "visible": 0, "run_count": number,
            "last_clock": None, "deep_clock": None, "settings": canonical(state.settings),
        },
    )  # fmt: skip


def encode_plan(commit: Commit) -> dict[str, Any]:
    """What a planned run needs besides its changes, as plain values."""
    return {
        "read": [list(row) for row in commit.read],
        "done": [[p.phase, p.record, p.stamp] for p in commit.done],
        "seen": [
            [s.episode, s.reader, s.kind, s.key, s.session, to_microseconds(s.at), s.ok, s.score,
             s.body]
            for s in commit.seen
        ],
        "answers": [[a.question, a.collaborator, list(a.sources), a.body] for a in commit.answers],
        "queue": {phase: list(ids) for phase, ids in commit.queue.items()},
        "reread": {phase: list(kinds) for phase, kinds in commit.reread.items()},
        "reading": dict(commit.reading),
        "recording": dict(commit.recording),
    }  # fmt: skip


def recorded_input(commit: Commit) -> str:
    """What a committed run keeps of its input: the rows it was planned from, by version."""
    return canonical({**commit.recording, "read": [list(row) for row in commit.read]})


class _Writer:
    """Applies changes and remembers what stood there before each."""

    def __init__(self, db: Connection, state: ScopeState) -> None:
        self.db = db
        self.path = state.path
        self.counter = state.counter
        self.visible = 0
        self._before: list[tuple[int | None, Columns]] = []
        self._rows: dict[str, tuple[int, int, Columns]] = {}
        self._links: dict[tuple[Any, ...], tuple[int, int, int]] = {}
        self._uses: dict[tuple[Any, ...], tuple[float, float]] = {}

    def apply(self, changes: Sequence[Change]) -> None:
        """Every change in order, the before-images loaded in three statements first."""
        self._load(changes)
        row: int = self.db.execute("last_row").fetchone()[0]
        for change in changes:
            self.counter += 1
            match change.table, change.operation:
                case "record", "add":
                    row += 1
                    self._add_record(change, row)
                case "record", "edit":
                    self._edit_record(change)
                case "record", "remove":
                    self._remove_record(change)
                case "link", _:
                    self._write_link(change)
                case _:
                    self._write_use(change)

    def journal(self, number: int, changes: Sequence[Change]) -> None:
        """A journal row for each change, with its before-image."""
        rows = []
        for n, change in enumerate(changes):
            columns = change_row(self.path, number, n, change)
            version, before = self._before[n]
            columns[11], columns[12] = version, canonical(before) if before else None
            rows.append(columns)
        self.db.executemany("insert_change", rows)

    def _load(self, changes: Sequence[Change]) -> None:
        ids = sorted({str(c.row[0]) for c in changes if c.table == "record"})
        scopes = array([self.path])
        for columns in self.db.rows("get_records", {"scopes": scopes, "ids": array(ids)}):
            content = dict(zip(COLUMNS, columns[4:18], strict=True))
            self._rows[columns[1]] = (columns[2], columns[3], content)
        keys = array(sorted({c.row for c in changes if c.table == "link"}, key=str))
        for s, k, t, count, at, version in self.db.rows(
            "link_rows", {"scope": self.path, "rows": keys}
        ):
            self._links[s, k, t] = (count, at, version)
        keys = array(sorted({c.row for c in changes if c.table == "use"}, key=str))
        for r, hour, kind, weight, spread in self.db.rows(
            "use_rows", {"scope": self.path, "rows": keys}
        ):
            self._uses[r, hour, kind] = (weight, spread)

    def _add_record(self, change: Change, row: int) -> None:
        i = str(change.row[0])
        if i in self._rows:
            raise StaleWrite(f"The record {i} is already there. Plan again.", rows=(i,))
        columns = {name: change.after[name] for name in COLUMNS}
        self.db.execute(
            "insert_record",
            {"row": row, "scope": self.path, "id": i, "version": self.counter,
             "seq": self.counter, **columns},
        )  # fmt: skip
        self._index(row, columns)
        self._rows[i] = (self.counter, self.counter, columns)
        self._before.append((None, {}))
        self.visible += columns["state"] in VISIBLE_STATES

    def _edit_record(self, change: Change) -> None:
        i = str(change.row[0])
        if i not in self._rows:
            raise StaleWrite(f"The record {i} is gone. Plan again.", rows=(i,))
        version, seq, columns = self._rows[i]
        before = {name: columns[name] for name in change.after}
        merged = columns | change.after
        bound = {"scope": self.path, "id": i, "version": self.counter}
        if set(change.after) == {"strength"}:
            self.db.execute("update_strength", {**bound, "strength": merged["strength"]})
        elif set(change.after) == {"state"}:
            self.db.execute("update_state", {**bound, "state": merged["state"]})
        else:
            self.db.execute("update_record", {**bound, **merged})
        if "text" in change.after:
            row = self._row_number(i)
            self.db.execute("delete_text", (row,))
            self._index(row, merged)
        self._rows[i] = (self.counter, seq, merged)
        self._before.append((version, before))
        self.visible += (merged["state"] in VISIBLE_STATES) - (columns["state"] in VISIBLE_STATES)

    def _remove_record(self, change: Change) -> None:
        i = str(change.row[0])
        if i not in self._rows:
            raise StaleWrite(f"The record {i} is gone already.", rows=(i,))
        version, _, columns = self._rows.pop(i)
        self.db.execute("delete_text", (self._row_number(i),))
        self.db.execute("delete_record", {"scope": self.path, "id": i})
        phases = array([r[0] for r in self.db.rows("pending_phases", {"scope": self.path})])
        self.db.execute("delete_pending_of", {"scope": self.path, "id": i, "phases": phases})
        self._before.append((version, columns))
        self.visible -= columns["state"] in VISIBLE_STATES

    def _write_link(self, change: Change) -> None:
        source, kind, target = (str(part) for part in change.row)
        bound: dict[str, Any] = {
            "scope": self.path, "source": source, "kind": kind, "target": target,
        }  # fmt: skip
        old = self._links.pop(change.row, None)
        if old is None:
            self._before.append((None, {}))
        else:
            self._before.append((old[2], {"count": old[0], "at": old[1]}))
        if change.operation == "remove":
            self.db.execute("delete_link", bound)
            return
        count, at = change.after["count"], change.after["at"]
        self.db.execute("upsert_link", {**bound, "count": count, "at": at, "version": self.counter})
        self._links[change.row] = (count, at, self.counter)  # type: ignore[assignment]

    def _write_use(self, change: Change) -> None:
        record, hour, kind = change.row
        bound = {"scope": self.path, "record": record, "hour": hour, "kind": kind}
        old = self._uses.get(change.row)
        self._before.append(
            (None, {} if old is None else {"weight": old[0], "spread_weight": old[1]})
        )
        weight, spread = old or (0.0, 0.0)
        if change.operation == "edit":
            spread = rounded(float(change.after["spread_weight"]))  # type: ignore[arg-type]
            self.db.execute("mark_use", {**bound, "spread_weight": spread})
        else:
            share = float(change.after["weight"])  # type: ignore[arg-type]
            weight = rounded(weight + share)
            self.db.execute("add_use", {**bound, "weight": share})
            if weight <= 0:
                self.db.execute("delete_use", bound)
        self._uses[change.row] = (weight, spread)

    def _index(self, row: int, columns: Columns) -> None:
        text = str(columns["text"] or "")
        self.db.execute("insert_text", (row, scope_token(self.path), index_text(text)))

    def _row_number(self, i: str) -> int:
        rows = self.db.rows("record_rows", {"scope": self.path, "ids": array([i])})
        return int(rows[0][1])


def _insert_run(
    db: Connection, path: str, commit: Commit, *, number: int, status: str, plan: str
) -> None:
    report = {**commit.report, "run_id": f"{path}#{number}", "status": status}
    db.execute(
        "insert_run",
        {
            "scope": path,
            "number": number,
            "kind": commit.kind,
            "status": status,
            "clock": to_microseconds(commit.clock),
            "settings": canonical(dict(commit.settings)),
            "input": plan or recorded_input(commit),
            "input_digest": commit.input_digest,
            "output_digest": commit.digest,
            "report": json.dumps(report, ensure_ascii=False),
        },
    )


def _mark_undone(db: Connection, path: str, run: int, group: str, *, by: int) -> None:
    db.execute("mark_undone", {"scope": path, "run": run, "group": group, "by": by})
    standing = db.execute("count_standing", {"scope": path, "run": run}).fetchone()[0]
    if not standing:
        row = db.execute("get_run", {"scope": path, "number": run}).fetchone()
        report = {**json.loads(row[8]), "status": "undone"}
        db.execute(
            "update_run",
            {"scope": path, "number": run, "status": "undone", "input": row[9],
             "report": json.dumps(report, ensure_ascii=False)},
        )  # fmt: skip


def _write_seen(db: Connection, path: str, commit: Commit) -> None:
    read = {(path, s.episode, s.reader) for s in commit.seen}
    db.executemany("delete_seen_of", sorted(read))
    db.executemany(
        "insert_seen",
        (
            (path, s.episode, s.reader, s.kind, s.key, s.session, to_microseconds(s.at),
             None if s.ok is None else int(s.ok), s.score, canonical(s.body) if s.body else None)
            for s in commit.seen
        ),
    )  # fmt: skip
    db.executemany(
        "upsert_answer",
        (
            (path, a.question, a.collaborator, canonical(list(a.sources)), canonical(a.body))
            for a in commit.answers
        ),
    )


def _write_pending(db: Connection, path: str, commit: Commit, stamp: int) -> None:
    """Clear what was read at the stamp it was read; queue what this run wrote for who has not."""
    db.executemany("delete_pending", ((path, p.phase, p.record, p.stamp) for p in commit.done))
    for phase, kinds in sorted(commit.reread.items()):
        done = array([p.record for p in commit.done if p.phase == phase])
        for kind in kinds:
            db.execute(
                "reread_pending",
                {"scope": path, "phase": phase, "kind": kind, "done": done, "stamp": stamp},
            )
    for phase, ids in sorted(commit.queue.items()):
        touch(db, path, phase, ids, stamp)


def touch(db: Connection, path: str, phase: str, ids: Iterable[str], stamp: int) -> None:
    """Make own records unread for a phase."""
    db.execute(
        "touch_pending",
        {"scope": path, "phase": phase, "ids": array(sorted(ids)), "stamp": stamp},
    )
