"""``drafts``: what runs propose that the agent does, for a person to decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    now_option,
    open_memory,
    person,
    scope_option,
)
from symfonic.capabilities.memory.cli.output import (
    SHORT,
    clean,
    console,
    count,
    emit,
    indented,
    panel,
    plain,
    shorten,
    table,
    wants_json,
    when,
)
from symfonic.capabilities.memory.records import Episode, Procedure, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from rich.console import Console

    from symfonic.capabilities.memory.records import Record, ToolCall

_EVERY: Final = "all"
_SHOWN_EVIDENCE: Final = 8
_ARGUMENTS: Final = 120


@click.group()
def drafts() -> None:
    """Review the procedures that runs have drafted.

    Nothing that was drafted is recalled or used before a person approves it.
    """


@drafts.command("list")
@click.option(
    "--status", type=click.Choice([*get_args(Status), _EVERY]), default="draft", show_default=True,
    help="Which ones.",
)  # fmt: skip
@common(scope_option)
def list_(*, store: str, scope: str, status: Any) -> None:  # noqa: ANN401 - a Status, or all of them
    """List the drafts that wait for a decision, or procedures of another status.

    Those with the most support come first.
    """
    from rich.text import Text

    with open_memory(store) as memory:
        found = memory.procedures(scope=scope, status=None if status == _EVERY else status)
    found = [record for record, _ in sorted(_with_content(found), key=_best_first)]
    if wants_json():
        emit({"drafts": [as_plain(record) for record in found]})
        return
    made = table("id", "status", "support", "procedure")
    for record, content in _with_content(found):
        support = f"{content.successes} of {content.support}"
        title = Text(shorten(content.title, 90))
        made.add_row(Text(record.id[:SHORT], "bold"), record.status, support, title)
    none = {"draft": "nothing to review", _EVERY: "no procedure"}
    said = none.get(status, f"no procedure that was {status}")
    console().print(made if found else f"There is {said} in {scope}.")


@drafts.command()
@click.argument("draft", metavar="ID")
@common(scope_option)
def show(*, store: str, scope: str, draft: str) -> None:
    """Show a procedure with the turns that it rests on."""
    with open_memory(store) as memory:
        record, evidence = memory.procedure(draft, scope=scope)
    if wants_json():
        emit({"draft": {**as_plain(record), "evidence": [_plain_turn(turn) for turn in evidence]}})
    else:
        print_draft(console(), record, evidence)


def _decision(name: str, status: Status, summary: str) -> Callable[..., None]:
    @drafts.command(name, help=summary, short_help=summary.partition("\n")[0])
    @click.argument("draft", metavar="ID")
    @click.option("--by", metavar="NAME", help="Who decides; the login name unless stated.")
    @common(scope_option, now_option)
    def decide(*, store: str, scope: str, draft: str, by: str | None, now: datetime | None) -> None:
        with open_memory(store) as memory:
            record = memory.decide(draft, status, scope=scope, by=person(by), now=now)
            evidence = memory.procedure(record.id, scope=scope)[1]
        if wants_json():
            emit({"draft": as_plain(record)})
        else:
            print_draft(console(), record, evidence, shown=0)

    return decide


approve = _decision(
    "approve",
    "approved",
    "Approve a draft, so that it is recalled.\n\nA person decides: --by says who.",
)
reject = _decision(
    "reject", "rejected", "Reject a draft.\n\nThe same pattern is not drafted again by itself."
)
retire = _decision(
    "retire",
    "retired",
    "Retire a procedure that was approved, or a draft.\n\nIt is recalled no more.",
)


@drafts.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--status", type=click.Choice(["approved", "draft"]), default="approved", show_default=True,
    help="Which procedures.",
)  # fmt: skip
@common(scope_option)
def export(
    *, store: str, scope: str, directory: Path, status: Literal["approved", "draft"]
) -> None:
    """Write procedures as Agent Skills, a folder with a SKILL.md for each.

    Written are when it applies, the steps and what they rest on; a draft says that nobody has
    approved it. A folder that was not written by an export, or was changed since, is never
    replaced. Folders of procedures that are no longer of this status are named, not removed.
    """
    from symfonic.capabilities.memory.skills import skills_of, write_skills

    with open_memory(store) as memory:
        found = memory.procedures(scope=scope, status=status)
        skills = skills_of([memory.procedure(one.id, scope=scope) for one in found])
    written = write_skills(skills, directory)
    if wants_json():
        emit({
            "skills": [
                {"id": skill.procedure, "name": skill.name, "path": str(path)}
                for skill, path in zip(skills, written.skills, strict=True)
            ],
            "stale": [str(path) for path in written.stale],
        })  # fmt: skip
        return
    for path in written.skills:
        click.echo(f"Wrote {clean(str(path))}")
    if not skills:
        click.echo(f"There is no procedure of the status {status} in {scope}: nothing was written.")
    for path in written.stale:
        click.echo(
            f"{clean(str(path))} is of a procedure that is not exported any more: remove it."
        )


def as_plain(record: Record) -> dict[str, Any]:
    """A procedure as plain values, for ``--json``."""
    content = record.content
    assert isinstance(content, Procedure)
    return {
        "id": record.id, "status": record.status, "title": content.title,
        "trigger": content.trigger,
        "steps": [{"action": step.action, "arguments": step.arguments} for step in content.steps],
        "origin": content.origin, "support": content.support, "successes": content.successes,
        "failures": content.failures, "would_change": content.would_change,
        "decided_by": content.decided_by, "decided_at": content.decided_at, "text": record.text,
        "trust": record.trust,
    }  # fmt: skip


def print_draft(
    out: Console, record: Record, evidence: Sequence[Record], *, shown: int = _SHOWN_EVIDENCE
) -> None:
    """A procedure in a frame, and under it the first ``shown`` turns it rests on."""
    from rich.text import Text

    out.print(panel(f"Procedure {record.id}", *(Text(line) for line in _described(record))))
    session: str | None = None
    for turn in evidence[:shown]:
        if turn.session != session:
            session = turn.session
            out.print(Text(f"  session {shorten(session or '—', 60)}", "bold"))
        print_turn(out, turn)
    if shown and len(evidence) > shown:
        out.print(Text(f"  … and {len(evidence) - shown} more turns: --json", "dim"))


def print_turn(out: Console, turn: Record) -> None:
    """When, who and what; each call on a line of its own with its arguments and how it ended."""
    from rich.text import Text

    content = turn.content
    if not isinstance(content, Episode):
        out.print(indented(f"{turn.kind} {turn.id[:SHORT]}: {shorten(turn.text, 200)}", 4))
        return
    parts = (when(turn.at), content.name or content.role, content.source_id, turn.id[:SHORT])
    out.print(Text(f"  {clean(' · '.join(part for part in parts if part))}", "dim"))
    if turn.text:
        out.print(indented(shorten(turn.text, 240), 4))
    for call in content.calls:
        out.print(indented(f"→ {call_line(call)}", 4))


def call_line(call: ToolCall) -> str:
    """``lookup_order(order: BW-1) ok``, the arguments cut off where they are long."""
    given = call.arguments
    if isinstance(given, dict):
        given = ", ".join(f"{name}: {plain(value)}" for name, value in given.items())
    ended = "" if call.ok is None else " ok" if call.ok else " failed"
    inside = "" if given is None else shorten(plain(given), _ARGUMENTS)
    return f"{clean(call.name)}({inside}){ended}"


def _described(record: Record) -> Iterator[str]:
    ((_, content),) = _with_content([record])
    yield clean(record.text)
    yield ""
    yield (
        f"{record.status} · seen in {count(content.support, 'session')}: "
        f"{count(content.successes, 'success', 'successes')}, {count(content.failures, 'failure')}"
    )
    if content.decided_by:
        yield f"{record.status} by {clean(content.decided_by)} at {when(content.decided_at)} UTC"
    if content.would_change:
        yield f"it would change {content.would_change}"


def _plain_turn(turn: Record) -> dict[str, Any]:
    content = turn.content
    role, name, source, calls = (
        (content.role, content.name, content.source_id, content.calls)
        if isinstance(content, Episode)
        else (None, None, None, ())
    )
    return {
        "id": turn.id, "source_id": source, "session": turn.session, "role": role, "speaker": name,
        "occurred_at": None if turn.occurred_at is None else turn.occurred_at.isoformat(),
        "text": turn.text,
        "calls": [{"name": c.name, "arguments": c.arguments, "ok": c.ok} for c in calls],
    }  # fmt: skip


def _best_first(row: tuple[Record, Procedure]) -> tuple[int, int, str]:
    record, content = row
    return (-content.support, -content.successes, record.id)


def _with_content(found: Sequence[Record]) -> list[tuple[Record, Procedure]]:
    return [(r, r.content) for r in found if isinstance(r.content, Procedure)]
