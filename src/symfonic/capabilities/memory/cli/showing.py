"""``show``: one record whole, with what it rests on and what it is linked to."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from symfonic.capabilities.memory.cli.drafts import call_line
from symfonic.capabilities.memory.cli.options import common, open_memory, scope_option
from symfonic.capabilities.memory.cli.output import (
    SHORT,
    clean,
    console,
    emit,
    panel,
    plain,
    shorten,
    wants_json,
    when,
)
from symfonic.capabilities.memory.records import Episode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from symfonic.capabilities.memory.records import Link, Record, RecordId

    _Seen: TypeAlias = tuple[Link, bool, RecordId]

_SOURCES: Final = frozenset({"evidence", "summarises"})
_SHOWN: Final = 10
_SAID: Final = {
    "evidence": ("rests on", "is evidence of"),
    "summarises": ("condenses", "is condensed in"),
    "mentions": ("mentions", "is mentioned in"),
    "co_occurred": ("occurs with", "occurs with"),
    "supersedes": ("supersedes", "is superseded by"),
    "same_as": ("is the same as", "is the same as"),
    "part_of": ("is part of", "has the part"),
}


@click.command()
@click.argument("record", metavar="ID")
@common(scope_option)
def show(*, store: str, scope: str, record: str) -> None:
    """Show one record whole.

    ID is what recall shows, or at least 8 characters of it: the text, the times, what the record
    rests on, and what it is linked to.
    """
    with open_memory(store) as memory:
        found = memory.record(record, scope=scope)
        links = _seen_from(found, memory.links(found))
        others = memory.records(sorted({other for _, _, other in links}), scope=scope)
    if wants_json():
        emit({"record": _plain(found, links, others)})
    else:
        _print(console(), found, links, others)


def _seen_from(record: Record, links: Sequence[Link]) -> list[_Seen]:
    """Each link with whether it leads away from the record, and what is at its other end."""
    return [
        (link, True, link.target) if link.source == record.id else (link, False, link.source)
        for link in links
    ]


def _plain(
    record: Record, links: Sequence[_Seen], others: Mapping[RecordId, Record]
) -> dict[str, Any]:
    return {
        "id": record.id, "scope": record.scope, "kind": record.kind, "state": record.state,
        "status": record.status, "text": record.text, "content": asdict(record.content),
        "session": record.session, "position": record.position, "trust": record.trust,
        "pinned": record.pinned, "occurred_at": _iso(record.occurred_at),
        "recorded_at": _iso(record.recorded_at), "until": _iso(record.until),
        "sources": [_end(other, others) for link, away, other in links
                    if away and link.kind in _SOURCES],
        "links": [{"kind": link.kind, "direction": "out" if away else "in", "count": link.count,
                   **_end(other, others)} for link, away, other in links],
    }  # fmt: skip


def _end(i: RecordId, others: Mapping[RecordId, Record]) -> dict[str, Any]:
    other = others.get(i)
    if other is None:
        return {"id": i, "record_kind": None, "source_id": None, "text": None}
    source = other.content.source_id if isinstance(other.content, Episode) else None
    return {"id": i, "record_kind": other.kind, "source_id": source, "text": other.text}


def _print(
    out: Console, record: Record, links: Sequence[_Seen], others: Mapping[RecordId, Record]
) -> None:
    from rich.text import Text

    lines = [clean(record.text), *(f"→ {call_line(call)}" for call in _calls(record))]
    out.print(panel(f"{record.kind} {record.id}", *map(Text, lines)))
    for name, value in _facts(record):
        out.print(Text.assemble((f"{name}: ", "dim"), clean(value)))
    groups: dict[str, list[RecordId]] = {}
    for link, away, other in links:
        groups.setdefault(_SAID[link.kind][not away], []).append(other)
    for said, ids in groups.items():
        out.print(Text(f"{said} ({len(ids):,})", "bold"))
        ordered = sorted(
            ids, key=lambda i: (i not in others, others[i].order if i in others else i)
        )
        for i in ordered[:_SHOWN]:
            out.print(f"  {_line(i, others.get(i), out.width - 2)}", soft_wrap=True)
        if len(ids) > _SHOWN:
            out.print(Text(f"  … and {len(ids) - _SHOWN:,} more: --json", "dim"))


def _line(i: RecordId, other: Record | None, width: int) -> str:
    if other is None:
        return i[:SHORT]
    speaker = ""
    if isinstance(other.content, Episode):
        speaker = f"{when(other.at)} · {other.content.name or other.content.role} · "
    first = other.text.partition("\n")[0]
    return shorten(f"{i[:SHORT]}  {speaker}{first}", width)


def _calls(record: Record) -> Sequence[Any]:
    return record.content.calls if isinstance(record.content, Episode) else ()


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    yield "scope", record.scope
    yield "state", record.state if record.status is None else f"{record.state}, {record.status}"
    if record.occurred_at is not None:
        yield "occurred", f"{when(record.occurred_at)} UTC"
    yield "recorded", f"{when(record.recorded_at)} UTC"
    if record.until is not None:
        yield "until", f"{when(record.until)} UTC"
    if record.session is not None:
        yield "session", f"{record.session}, turn {record.position}"
    for name, value in asdict(record.content).items():
        if value not in (None, "", (), []) and name not in {"calls", "title", "trigger", "steps"}:
            yield name.replace("_", " "), plain(value)
    yield "trust", record.trust


def _iso(moment: Any) -> str | None:  # noqa: ANN401 - a time, or none
    return None if moment is None else moment.isoformat()
