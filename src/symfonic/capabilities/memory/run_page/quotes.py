"""What a change rests on, quoted: who said it, when, and the part that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.records import Entity, Episode
from symfonic.capabilities.memory.run_page.commands import more
from symfonic.capabilities.memory.run_page.groups import FORGOTTEN, title
from symfonic.capabilities.memory.run_page.markup import (
    excerpt,
    highlighted,
    joined,
    tag,
)
from symfonic.capabilities.memory.run_page.wording import LINKS, plain, when

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symfonic.capabilities.memory.records import Record, ToolCall
    from symfonic.capabilities.memory.run_page.groups import Telling, Told
    from symfonic.capabilities.memory.run_page.markup import Html

SHOWN: Final = 5
"""Quotes of one kind of link in a group; the rest is counted."""

_QUOTED: Final = 260
_CALL: Final = 110
_CALLS: Final = 3


def quotes_of(telling: Telling, group: Told) -> Html:
    """What a group links its record to, by kind of link, oldest first."""
    by_said: dict[str, list[str]] = {}
    for said, other in (*_linked(group), *_standing(telling, group)):
        by_said.setdefault(said, []).append(other)
    about = telling.record(group.about)
    name = about.content.name if about and isinstance(about.content, Entity) else ""
    return joined(_quoted(telling, group, said, ids, name) for said, ids in by_said.items())


def _linked(group: Told) -> Iterable[tuple[str, str]]:
    """How a link reads from the group's record, and the record at its other end."""
    for row in group.rows:
        change = row.change
        if change.table != "link":
            continue
        source, kind, target = map(str, change.row)
        said = LINKS.get(kind, (kind, kind))[target == group.about]
        if change.operation == "remove":
            said = f"No longer: {said[0].lower()}{said[1:]}"
        for end in (source, target):
            if end != group.about:
                yield said, end


def _standing(telling: Telling, group: Told) -> Iterable[tuple[str, str]]:
    """What the records of a group that brings no link rested on before."""
    if any(row.change.table == "link" for row in group.rows):
        return
    ids = {str(row.change.row[0]) for row in group.rows if row.change.table == "record"}
    for link in telling.story.links:
        if link.source in ids:
            yield LINKS[link.kind][0], link.target


def _quoted(telling: Telling, group: Told, said: str, ids: Sequence[str], name: str) -> Html:
    known = list(dict.fromkeys(ids))
    shown = sorted(known, key=lambda i: _order(telling, i))[:SHOWN]
    return tag(
        "section",
        tag("h5", said, " ", tag("span", f"({len(known):,})", class_="quiet")),
        tag("ol", *(tag("li", _quote(telling, i, name)) for i in shown), class_="quotes"),
        more(len(known) - len(shown), "diff", telling.story.run_name(group.run), "--full"),
        class_="evidence",
    )  # fmt: skip


def _order(telling: Telling, i: str) -> tuple[bool, object]:
    record = telling.record(i)
    return (True, i) if record is None else (False, record.order)


def _quote(telling: Telling, i: str, name: str) -> Html:
    record = telling.record(i)
    if record is None:
        said = "forgotten: its text was erased" if telling.label(i) == FORGOTTEN else "not there"
        return tag("p", f"{said} ({i[:8]})", class_="gone")
    if not isinstance(record.content, Episode):
        return tag("p", tag("bdi", title(record)), tag("span", f" {record.kind}", class_="quiet"))
    text = excerpt(record.text, _QUOTED, around=name)
    return joined([
        tag("blockquote", highlighted(text, name), dir="auto") if text else None,
        calls_of(record.content.calls),
        tag("p", _speaker(record), class_="by"),
    ])  # fmt: skip


def calls_of(calls: Sequence[ToolCall]) -> Html | None:
    """The calls of a turn, each on a line, the first few of them."""
    if not calls:
        return None
    lines = [tag("li", tag("code", _call(call))) for call in calls[:_CALLS]]
    if len(calls) > _CALLS:
        lines.append(tag("li", f"and {len(calls) - _CALLS:,} more calls", class_="quiet"))
    return tag("ul", *lines, class_="calls")


def _call(call: ToolCall) -> str:
    given = call.arguments
    if isinstance(given, dict):
        given = ", ".join(f"{name}: {plain(value)}" for name, value in given.items())
    ended = {None: "", True: " → ok", False: " → failed"}[call.ok]
    inside = "" if given is None else excerpt(plain(given), _CALL)
    return f"{excerpt(call.name, _CALL)}({inside}){ended}"


def _speaker(record: Record) -> Html:
    content = record.content
    assert isinstance(content, Episode)
    who = excerpt(content.name or content.role, 60)
    stated = when(record.at)
    session = excerpt(record.session or "", 60)
    return joined([
        tag("bdi", who), " · ", tag("time", f"{stated} UTC", datetime=record.at.isoformat()),
        joined([" · session ", tag("bdi", session)]) if session else None,
    ])  # fmt: skip
