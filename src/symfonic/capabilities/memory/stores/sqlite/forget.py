"""Erasing records, and everything that only they support, from every table and index.

What is left is a tombstone: an id that re-ingest recognises and skips. Text goes from the record,
the index, readings, answers, plans, reports and the journal's before- and after-images. A derived
row that other evidence still supports stays, rebuilt from what is left.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.records import (
    VISIBLE_STATES,
    Entity,
    Episode,
    Procedure,
    encode_content,
)
from symfonic.capabilities.memory.stores.sqlite import windows
from symfonic.capabilities.memory.stores.sqlite.batch import trace
from symfonic.capabilities.memory.stores.sqlite.indexing import reindex_record, row_number
from symfonic.capabilities.memory.stores.sqlite.rows import CONTEXT_SPAN, array, to_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.store import ScopeState, Subscription
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection

UNREACHABLE = (
    "backups and copies of the database file",
    "exports made earlier",
    "the source files, and reject files beside them",
)
"""What no call on this store can erase; every receipt says so."""


@dataclass(slots=True)
class Erasure:
    """What one forgetting did, by id and table; it holds no text."""

    salt: bytes = field(repr=False)
    forgotten: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    counter: int = 0
    visible: int = 0


def erase(
    db: Connection, state: ScopeState, ids: Sequence[str], subscriptions: Sequence[Subscription]
) -> Erasure:
    """Erase the records within an open write transaction."""
    path = state.path
    done = Erasure(salt=state.salt, counter=state.counter)
    gone = {record.id: record for record in _records(db, path, ids)}
    derived = [r for r in _derived_of(db, path, sorted(gone)) if r.id not in gone]
    places = windows.places_of(gone.values())
    together = windows.kept_pairs(db, path, places)
    support = _support_left(db, path, [r.id for r in derived], set(gone))
    for record in derived:
        if _must_go(record) or not support[record.id]:
            _release_sources(db, path, record, set(gone), done)
            _drop(db, path, record, done, tombstone=False)
            done.removed.append(record.id)
        else:
            _rebuild(db, path, record, support[record.id], done)
    # The sources of a forgotten summary stay condensed: released, they would be summed up in the
    # same words the next night, and what is forgotten stays so.
    for record in gone.values():
        _drop(db, path, record, done, tombstone=True)
        done.forgotten.append(record.id)
    dropped = sorted({*done.forgotten, *done.removed})
    done.counter = windows.recount(db, path, places, together, dropped, counter=done.counter)
    _drop_questions(db, path, dropped, done)
    _scrub_journal(db, path, sorted({*ids, *gone}), [r.id for r in derived], done)
    _scrub_runs(db, path, done)
    _requeue(db, path, derived, support, subscriptions, done)
    _reread_followers(db, path, list(gone.values()), subscriptions, done)
    windows.reread(db, path, places, subscriptions, stamp=done.counter)
    return done


def _must_go(record: Record) -> bool:
    """Whether its text was made from all its evidence, so that what is left must make it anew.

    A decided procedure stays as a person saw it; a draft nobody decided is drafted again.
    """
    return record.kind == "summary" or record.status == "draft"


def _records(db: Connection, path: str, ids: Sequence[str]) -> list[Record]:
    rows = db.rows("get_records", {"scopes": array([path]), "ids": array(sorted(set(ids)))})
    return sorted(map(to_record, rows), key=lambda r: r.id)


def _derived_of(db: Connection, path: str, ids: Sequence[str]) -> list[Record]:
    rows = db.rows("derived_of", {"scope": path, "ids": array(ids)})
    return sorted(map(to_record, rows), key=lambda r: r.id)


def _support_left(
    db: Connection, path: str, ids: Sequence[str], gone: set[str]
) -> dict[str, list[str]]:
    """Per derived record, the evidence that is not being erased."""
    left: dict[str, list[str]] = {i: [] for i in ids}
    for record, evidence in db.rows("evidence_of", {"scope": path, "ids": array(ids)}):
        if evidence not in gone:
            left[str(record)].append(str(evidence))
    return left


def _drop(db: Connection, path: str, record: Record, done: Erasure, *, tombstone: bool) -> None:
    """Erase one record with all rows about it; a tombstone keeps its id for re-ingest."""
    db.execute("delete_text", (row_number(db, path, record.id),))
    bound: dict[str, Any] = {"scope": path, "id": record.id}
    if tombstone:
        done.counter += 1
        mark = None
        if isinstance(record.content, Episode):
            mark = trace(done.salt, record.session or "", record.text, record.content)
        db.execute("entomb_record", {**bound, "version": done.counter, "trace": mark})
    else:
        db.execute("delete_record", bound)
    done.rows["record"] += 1
    done.visible -= record.state in VISIBLE_STATES
    for table in ("seen", "use", "link_out", "link_in"):
        count = db.execute(f"erase_{table}", bound).rowcount
        done.rows[table.partition("_")[0]] += count


def _drop_questions(db: Connection, path: str, ids: Sequence[str], done: Erasure) -> None:
    """Erase what was asked about the records, and what is unread of them, in few statements."""
    bound = {"scope": path, "ids": array(ids)}
    done.rows["answer"] += db.execute("erase_answers", bound).rowcount
    phases = array([row[0] for row in db.rows("pending_phases", {"scope": path})])
    for i in ids:
        done.rows["pending"] += db.execute(
            "delete_pending_of", {"scope": path, "id": i, "phases": phases}
        ).rowcount


def _release_sources(
    db: Connection, path: str, record: Record, gone: set[str], done: Erasure
) -> None:
    """A summary's other sources stand for themselves again, and may be summarised anew."""
    if record.kind != "summary":
        return
    for (source,) in db.rows("summary_sources", {"scope": path, "id": record.id}):
        if source not in gone:
            done.counter += 1
            db.execute("release_source", {"scope": path, "id": source, "version": done.counter})


def _rebuild(db: Connection, path: str, record: Record, left: list[str], done: Erasure) -> None:
    """What the remaining evidence still says of a derived record."""
    content = record.content
    if isinstance(content, Entity):
        names = _names_left(db, path, record, left)
        name = content.name if content.name in names else max(
            sorted(names), key=lambda n: names[n], default=content.name
        )  # fmt: skip
        aliases = tuple(a for a in content.aliases if a in names and a != name)
        content = replace(content, name=name, aliases=aliases)
        record = replace(record, content=content, text=", ".join((name, *aliases)))
    elif isinstance(content, Procedure):
        content = replace(content, support=min(content.support, len(left)))
        record = replace(record, content=content)
    done.counter += 1
    db.execute(
        "rewrite_record",
        {"scope": path, "id": record.id, "version": done.counter, "text": record.text,
         "body": encode_content(record.content)},
    )  # fmt: skip
    reindex_record(db, path, record.id, record.text, record.content)


def _names_left(db: Connection, path: str, record: Record, left: list[str]) -> Counter[str]:
    """How often each spelling of an entity stands in the readings that remain."""
    names: Counter[str] = Counter()
    bound = {"scope": path, "episodes": array(left), "key": record.key}
    for (body,) in db.rows("seen_of_key", bound):
        name = json.loads(str(body or "{}")).get("name")
        if name:
            names[name] += 1
    return names


def _scrub_journal(
    db: Connection, path: str, gone: Sequence[str], derived: Sequence[str], done: Erasure
) -> None:
    """No image or reason of the journal may say what is forgotten.

    A record that was derived from it once and taken away by an undo stands in the journal only, and
    is found there. Of derived records that stay, links and uses keep their numbers, so that the run
    that wrote them can still be undone.
    """
    bound = {"scope": path, "ids": array(gone)}
    once = {str(row[0]) for row in db.rows("derived_in_journal", bound)}
    for name in ("scrub_rows_first", "scrub_rows_second"):
        done.rows["change"] += db.execute(name, bound).rowcount
    bound["ids"] = array(sorted(once.union(derived) - set(gone)))
    for name in ("scrub_images", "scrub_reasons_first", "scrub_reasons_second"):
        done.rows["change"] += db.execute(name, bound).rowcount
    done.rows["change"] += db.execute("scrub_scope", {"scope": path}).rowcount


def _scrub_runs(db: Connection, path: str, done: Erasure) -> None:
    """No plan, note or error of a run may say what is forgotten.

    A note may quote a name from any episode a run looked at, and nothing says which: so the notes
    of all runs go, and why a phase failed. How far an ingest came is kept by session name, so that
    goes too, and an interrupted one begins anew. Plans made before hold readings and texts.
    """
    for number, status, text in db.rows("runs_with_text", {"scope": path}):
        report = json.loads(str(text))
        bound: dict[str, Any] = {"scope": path, "number": number}
        is_plan = status in {"planned", "held"}
        if is_plan:
            report["status"] = "abandoned"
            db.execute("empty_plan", bound)
            db.execute("delete_changes", {"scope": path, "run": number})
        for phase in report.get("phases", ()):
            phase["notes"] = []
            if phase.get("outcome") == "failed":
                phase["reason"] = ""
        if report.get("kind") == "ingest":
            report["counts"] = {}
        scrubbed = json.dumps(report, ensure_ascii=False)
        if scrubbed != text:
            bound |= {"status": "abandoned" if is_plan else status, "report": scrubbed}
            db.execute("update_report", bound)
            done.rows["run"] += 1


def _requeue(
    db: Connection,
    path: str,
    derived: Sequence[Record],
    support: dict[str, list[str]],
    subscriptions: Sequence[Subscription],
    done: Erasure,
) -> None:
    """The next run computes the strength of what stays, and drafts anew what went with a part."""
    kept = [r.id for r in derived if support[r.id] and r.id not in done.removed]
    evidence = sorted({i for r in derived if r.status == "draft" for i in support[r.id]})
    for subscription in subscriptions:
        if "episode" in subscription.reads and evidence:
            db.execute(
                "touch_pending",
                {"scope": path, "phase": subscription.phase, "ids": array(evidence),
                 "stamp": done.counter},
            )  # fmt: skip
        if subscription.reads_touched and kept:
            db.execute(
                "touch_pending",
                {"scope": path, "phase": subscription.phase, "ids": array(kept),
                 "stamp": done.counter},
            )  # fmt: skip


def _reread_followers(
    db: Connection,
    path: str,
    gone: Sequence[Record],
    subscriptions: Sequence[Subscription],
    done: Erasure,
) -> None:
    """What was read in later turns together with an erased one goes, and is read again without it.

    The key of a pattern names the tools of all its turns.
    """
    for subscription in subscriptions:
        if not subscription.context:
            continue
        followers: set[str] = set()
        for record in gone:
            if record.session is None or record.position is None:
                continue
            bound = {
                "scope": path, "session": record.session, "position": record.position,
                "span": CONTEXT_SPAN, "count": subscription.context,
            }  # fmt: skip
            followers.update(str(row[0]) for row in db.rows("later_episodes", bound))
        if followers:
            ids = array(sorted(followers))
            done.rows["seen"] += db.execute(
                "erase_seen_with",
                {"scope": path, "episodes": ids, "ids": array(sorted(r.id for r in gone))},
            ).rowcount
            db.execute(
                "touch_pending",
                {"scope": path, "phase": subscription.phase, "ids": ids, "stamp": done.counter},
            )
