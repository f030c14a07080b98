"""Who runs a scope: one row of the scope table, with a fence that grows with each holder.

The holder names host, boot, process and start time. A holder that is dead on this host is
replaced at once, another one only after its term: a crashed night must not cost the next one.
"""

from __future__ import annotations

import json
import os
import socket
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.errors import RunAlreadyActive
from symfonic.capabilities.memory.records import from_microseconds, to_microseconds
from symfonic.capabilities.memory.store import Lease

if TYPE_CHECKING:
    from symfonic.capabilities.memory.stores.sqlite.connection import Connection


def acquire(db: Connection, path: str, *, now: datetime, term_seconds: int) -> Lease:
    """Take the lease within an open write transaction. Raises ``RunAlreadyActive``."""
    row = db.execute("get_scope", {"scope": path}).fetchone()
    holder, until, fence = row[9], row[10], row[11]
    if holder is not None and not is_dead(json.loads(holder)):
        end = from_microseconds(until)
        if end > now:
            who = json.loads(holder)
            raise RunAlreadyActive(
                f"A run of scope {path} is active: process {who['pid']} on {who['host']}, until "
                f"{end:%Y-%m-%d %H:%M:%S} UTC at most. Wait for it, or stop it and try again.",
                scope=path,
                holder=who,
                until=end.isoformat(),
            )
    lease = Lease(
        scope=path,
        holder=json.dumps(this_process(), sort_keys=True),
        fence=fence + 1,
        until=now + timedelta(seconds=term_seconds),
    )
    _write(db, lease)
    return lease


def renew(db: Connection, lease: Lease, *, now: datetime, term_seconds: int) -> Lease:
    """Lengthen a lease within an open write transaction. Raises ``RunAlreadyActive``."""
    check_fence(db, lease)
    longer = Lease(
        scope=lease.scope,
        holder=lease.holder,
        fence=lease.fence,
        until=now + timedelta(seconds=term_seconds),
    )
    _write(db, longer)
    return longer


def release(db: Connection, lease: Lease) -> None:
    """Give the lease back within an open write transaction, unless it was taken over."""
    row = db.execute("get_scope", {"scope": lease.scope}).fetchone()
    if row is not None and row[11] == lease.fence:
        db.execute(
            "set_lease", {"scope": lease.scope, "holder": None, "until": None, "fence": row[11]}
        )


def check_fence(db: Connection, lease: Lease) -> None:
    """Raise ``RunAlreadyActive`` where another holder has taken the scope over."""
    row = db.execute("get_scope", {"scope": lease.scope}).fetchone()
    if row is None or row[11] != lease.fence or row[9] is None:
        raise RunAlreadyActive(
            f"Another process took over scope {lease.scope} while this run was slow. "
            "Nothing was written; the other run goes on.",
            scope=lease.scope,
        )


def _write(db: Connection, lease: Lease) -> None:
    db.execute(
        "set_lease",
        {"scope": lease.scope, "holder": lease.holder, "until": to_microseconds(lease.until),
         "fence": lease.fence},
    )  # fmt: skip


def this_process() -> dict[str, Any]:
    """Host, boot, process id and its start: together they never name another process."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "boot": _boot(), "pid": pid, "start": _start(pid)}


def is_dead(holder: dict[str, Any]) -> bool:
    """Whether the holder ran on this host and is certainly gone.

    One that was killed and that its parent has not waited for still has a process id: in a
    container without an init nobody ever does.
    """
    if holder["host"] != socket.gethostname():
        return False
    if holder["boot"] != _boot():
        return True
    try:
        os.kill(holder["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return bool(holder["start"] != _start(holder["pid"]))


_ENDED: Final = frozenset({"Z", "X", "x"})
"""Letters of the states of a process that runs no more."""


@cache
def _boot() -> str:
    """The kernel's id of this boot; empty where there is none to read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start(pid: int) -> str:
    """When the process started, in the kernel's ticks; empty where it cannot be told.

    One that has ended says so, and not when it started.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "ended" if state in _ENDED else fields[18]
