"""Writing a run: its changes, its journal and its row, in one open transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import ClockRefused, StaleWrite
from symfonic.capabilities.memory.records import (
    canonical,
    to_microseconds,
)
from symfonic.capabilities.memory.stores.sqlite.rows import array, change_row
from symfonic.capabilities.memory.stores.sqlite.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def check_plan(
    db: Connection, state: ScopeState, commit: Commit, *, number: int, held: bool
) -> None:
    """Refuse a kept plan that a later run has overtaken; a ``held`` one may wait for some nights.

    A run that did the same and was taken back since leaves every row as the plan had read it; the
    plan must not bring back what a person undid. Raises ``ClockRefused`` where a later run had a
    later clock, and ``StaleWrite`` where what the plan read was read, or what it makes was undone.
    """
    path = state.path
    if not held and state.last_clock is not None and commit.clock < state.last_clock:
        raise ClockRefused(
            f"The plan {path}#{number} was made for {commit.clock.isoformat()}, and scope {path} "
            f"has had a run at {state.last_clock.isoformat()} since. Plan again.",
            now=commit.clock.isoformat(),
            last=state.last_clock.isoformat(),
        )
    done = array([p.phase, p.record] for p in commit.done)
    read = {str(row[0]) for row in db.rows("gone_pending", {"scope": path, "done": done})}
    made = sorted({c.group for c in commit.changes if not c.derived})
    groups = array([group.phase, group.kind, group.id] for group in made)
    bound = {"scope": path, "groups": groups, "run": number}
    undone = {str(row[0]) for row in db.rows("undone_since", bound)}
    if not read and not undone:
        return
    what = f"{len(undone)} of its groups were undone" if undone else "what it read was read"
    raise StaleWrite(
        f"The plan {path}#{number} is out of date: since it was made, {what} in another run. "
        "Nothing was written. Plan again.",
        rows=tuple(sorted(read | undone)),
    )


def write_run(db: Connection, state: ScopeState, commit: Commit, *, number: int) -> None:
    """Write everything of ``commit`` but the check of versions, under run ``number``."""
    writer = Writer(db, state, commit.kind)
    writer.apply(commit.changes)
    writer.journal(number, commit.changes)
    _insert_run(
        db, state.path, commit, number=number, status="committed", plan="", counter=writer.counter
    )
    undoes: dict[int, set[str]] = {}
    for undone, group in commit.undoes:
        undoes.setdefault(undone, set()).add(group)
    for undone, groups in sorted(undoes.items()):
        _mark_undone(db, state.path, undone, groups, by=number)
    if commit.restores is not None:
        _restore(db, state.path, commit, number=number, undo=commit.restores)
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


def write_plan(
    db: Connection, state: ScopeState, commit: Commit, *, number: int, held: bool
) -> None:
    """Keep a planned run: its changes in the journal, the rest of it in its own row."""
    rows = [change_row(state.path, number, n, c) for n, c in enumerate(commit.changes)]
    db.executemany("insert_change", rows)
    _insert_run(
        db, state.path, commit, number=number, status="held" if held else "planned",
        plan=canonical(encode_plan(commit)), counter=state.counter,
    )  # fmt: skip
    db.execute(
        "advance_scope",
        {
            "scope": state.path, "counter": state.counter, "visible": 0, "run_count": number,
            "last_clock": None, "deep_clock": None, "settings": canonical(state.settings),
        },
    )  # fmt: skip


def abandon(db: Connection, path: str, number: int) -> None:
    """Drop a kept plan: what it would have done goes, that there was one stays."""
    db.execute("delete_changes", {"scope": path, "run": number})
    db.execute("empty_plan", {"scope": path, "number": number})
    _set_status(db, path, number, "abandoned")


def encode_plan(commit: Commit) -> dict[str, Any]:
    """What a planned run needs besides its changes, as plain values."""
    return {
        "read": [list(row) for row in commit.read],
        "done": [[p.phase, p.record, p.stamp] for p in commit.done],
        "seen": [
            [s.episode, s.reader, s.kind, s.key, s.session, to_microseconds(s.at), s.ok, s.score,
             s.body, s.window]
            for s in commit.seen
        ],
        "answers": [[a.question, a.collaborator, list(a.sources), a.body] for a in commit.answers],
        "queue": {phase: list(ids) for phase, ids in commit.queue.items()},
        "reread": {phase: list(kinds) for phase, kinds in commit.reread.items()},
        "reading": dict(commit.reading),
        "recording": dict(commit.recording),
    }  # fmt: skip


def recorded_input(commit: Commit) -> str:
    """What a committed run keeps of its input: what a replay needs."""
    return canonical(dict(commit.recording))


def _insert_run(
    db: Connection,
    path: str,
    commit: Commit,
    *,
    number: int,
    status: str,
    plan: str,
    counter: int,
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
            "counter": counter,
        },
    )


def _mark_undone(db: Connection, path: str, run: int, groups: set[str], *, by: int) -> None:
    bound: dict[str, Any] = {"scope": path, "run": run, "by": by}
    whole = "" in groups
    db.execute("mark_undone", {**bound, "whole": whole, "groups": array(sorted(groups))})
    if db.execute("any_standing", {"scope": path, "run": run}).fetchone() is not None:
        return
    _set_status(db, path, run, "undone")


def _restore(db: Connection, path: str, commit: Commit, *, number: int, undo: int) -> None:
    """What an undo took back stands again, under the runs that had made it.

    What the redo left out of it stays undone. The redo's report names the runs.
    """
    groups = sorted({(change.group.phase, change.group.id) for change in commit.changes})
    bound: dict[str, Any] = {"scope": path, "by": undo}
    left = array([row[0] for row in db.rows("standing_groups", {"scope": path, "run": undo})])
    restored = []
    for (run,) in db.rows("undone_by_run", {**bound, "groups": array(groups)}):
        if db.execute("mark_standing", {**bound, "run": run, "left": left}).rowcount:
            _set_status(db, path, run, "committed")
            restored.append(run)
    db.execute("mark_settled", {"scope": path, "run": number})
    _note(db, path, number, restored=sorted(restored))


def _set_status(db: Connection, path: str, run: int, status: str) -> None:
    _note(db, path, run, status=status)


def _note(db: Connection, path: str, run: int, **facts: Any) -> None:  # noqa: ANN401
    """Put facts into a run's report, its status among them."""
    there = db.execute("get_report", {"scope": path, "number": run}).fetchone()
    if there is not None:
        report = {**json.loads(there[0]), **facts}
        db.execute(
            "update_report",
            {"scope": path, "number": run, "status": report["status"],
             "report": json.dumps(report, ensure_ascii=False)},
        )  # fmt: skip


def _write_seen(db: Connection, path: str, commit: Commit) -> None:
    read = {(path, s.episode, s.reader) for s in commit.seen if s.window is None}
    db.executemany("delete_seen_of", sorted(read))
    kept = {(path, s.reader, s.session, s.window) for s in commit.seen if s.window is not None}
    db.executemany("delete_window", sorted(kept))
    db.executemany(
        "insert_seen",
        (
            (path, s.episode, s.reader, s.kind, s.key, s.session, s.window, to_microseconds(s.at),
             None if s.ok is None else int(s.ok), s.score, canonical(s.body) if s.body else None)
            for s in commit.seen
            if s.episode
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
