"""A person's decisions on procedures. Nothing else may set a procedure to approved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import DraftAlreadyDecided, InputError, RecordNotFound
from symfonic.capabilities.memory.records import Procedure

if TYPE_CHECKING:
    from datetime import datetime

    from symfonic.capabilities.memory.records import Record, Status
    from symfonic.capabilities.memory.store import MemoryReader

_FROM: Final[dict[Status, frozenset[Status]]] = {
    "draft": frozenset(),
    "approved": frozenset({"draft"}),
    "rejected": frozenset({"draft"}),
    "retired": frozenset({"draft", "approved"}),
}
"""What a procedure may be before it becomes this; nothing goes back to being a draft."""

_SHORTEST: Final = 4
_MANY: Final = 2**31


def decided(before: Record, decision: Status, *, by: str, now: datetime) -> Record:
    """The procedure after a person's decision, with who and when.

    Raises ``DraftAlreadyDecided``, and ``InputError`` where nobody is named.
    """
    if not by.strip():
        raise InputError("Say who decides: a decision without a name cannot be accounted for.")
    if before.status not in _FROM[decision]:
        raise DraftAlreadyDecided(
            f"The procedure {before.id} is {before.status}; it cannot be {decision} now."
            + _way_out(before),
            id=before.id,
            status=before.status,
        )
    assert isinstance(before.content, Procedure)
    content = replace(before.content, decided_by=by, decided_at=now.isoformat())
    return replace(before, status=decision, content=content)


def find_procedure(reader: MemoryReader, i: str) -> Record:
    """A procedure by its id, or by a beginning that only one has."""
    if len(i) < _SHORTEST:
        raise RecordNotFound(f"{i!r} is too short for an id; give at least four characters of it.")
    procedures = reader.list_records(kinds=("procedure",), limit=_MANY)
    found = [r for r in procedures if r.id == i] or [r for r in procedures if r.id.startswith(i)]
    if len(found) != 1:
        several = (
            f"{len(found)} procedures begin with {i}" if found else f"There is no procedure {i}"
        )
        raise RecordNotFound(
            f"{several} in scope {reader.state.path}. See 'symfonic-memory drafts list'."
        )
    return found[0]


def _way_out(procedure: Record) -> str:
    if procedure.status == "approved":
        return f" 'symfonic-memory drafts retire {procedure.id[:8]}' takes it out of use."
    return " New evidence brings a new draft."
