"""``recall`` and ``remember``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from symfonic.capabilities.memory.cli.options import (
    common,
    embedder_option,
    moment_option,
    now_option,
    open_memory,
    person,
    salt_option,
    scope_option,
)
from symfonic.capabilities.memory.cli.output import (
    SHORT,
    clean,
    console,
    emit,
    indented,
    wants_json,
    when,
)
from symfonic.capabilities.memory.records import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from symfonic.capabilities.memory.recall import Recall, RecallItem
    from symfonic.capabilities.memory.records import Kind


class Worded(click.Command):
    """A command whose argument is free text, which may begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise click.UsageError(
                f"{error.format_message()}\nText that begins with a dash goes after --, as in: "
                f"{ctx.command_path} -- TEXT",
                ctx,
            ) from error


@click.command(cls=Worded)
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="NUMBER",
    help="At most so many; 10 unless stated, or as many as --token-budget holds.",
)  # fmt: skip
@click.option(
    "--token-budget", type=click.IntRange(min=0), metavar="TOKENS",
    help="Fill so many tokens, about four characters each; summaries may stand for turns.",
)  # fmt: skip
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out so many first.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS),
    help="Only this kind of record. May be repeated.",
)  # fmt: skip
@moment_option("--as-of", "As memory stood at this time.")
@moment_option("--since", "Only what is from this time or later.")
@moment_option("--until", "Only what is from before this time.")
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@click.option("--context", is_flag=True, help="Print a block to put into a prompt, marked as data.")
@click.option("--no-use", is_flag=True, help="Do not count what is shown as used.")
@common(scope_option, embedder_option, now_option)
def recall(
    *,
    store: str,
    scope: str,
    query: tuple[str, ...],
    limit: int | None,
    token_budget: int | None,
    offset: int,
    kinds: tuple[Kind, ...],
    as_of: datetime | None,
    since: datetime | None,
    until: datetime | None,
    explain: bool,
    context: bool,
    no_use: bool,
    embedder_name: str | None,
    now: datetime | None,
) -> None:
    """Show what memory holds that answers a question.

    From the scope and its ancestors, best first. What is shown counts as used, which the next
    maintenance run learns from; --no-use looks without a trace.
    """
    with open_memory(store, embedder_name=embedder_name) as memory:
        answer = memory.recall(
            " ".join(query), scope=scope, limit=limit, token_budget=token_budget, offset=offset,
            kinds=kinds or None, as_of=as_of, since=since, until=until, explain=explain,
            record_uses=not no_use, now=now,
        )  # fmt: skip
    if wants_json():
        block = {"context": answer.as_context(token_budget)} if context else {}
        emit({**plain_answer(answer, explain=explain), **block})
        return
    if context:
        click.echo(answer.as_context(token_budget), nl=bool(answer.items))
        return
    out = console()
    print_items(out, answer.items, first=offset + 1)
    for note in answer.notes:
        out.print(f"note: {note}")
    if not answer.items:
        out.print(f"Nothing that {scope} remembers answers this.")
    elif answer.more:
        out.print(f"There is more: --offset {offset + len(answer.items)}")


@click.command(cls=Worded)
@click.argument("text", metavar="TEXT")
@click.option(
    "--for", "hours", type=click.FloatRange(min=0, min_open=True), metavar="HOURS",
    help="Keep it so long only.",
)  # fmt: skip
@moment_option("--due", "It is to be done at this time.")
@click.option(
    "--working", is_flag=True, help="Keep it as a working note, for working_memory_hours only."
)
@click.option("--by", metavar="NAME", help="Who says so; the login name unless stated.")
@common(scope_option, now_option, salt_option)
def remember(
    *,
    store: str,
    scope: str,
    text: str,
    hours: float | None,
    due: datetime | None,
    working: bool,
    by: str | None,
    now: datetime | None,
    salt: bytes | None,
) -> None:
    """Keep a note, for good or for a while.

    The same note again changes nothing.
    """
    from symfonic.capabilities.memory.service import system_clock

    moment = now or system_clock()
    expires = None if hours is None else _expiry(moment, hours)
    with open_memory(store, create=True, salt=salt) as memory:
        i = memory.remember(
            text, scope=scope, expires=expires, due=due, working=working, by=person(by), now=moment
        )
        if working:
            expires = memory.records([i], scope=scope)[i].until
    if wants_json():
        emit({"id": i, "scope": scope, "expires": _iso(expires), "due": _iso(due)})
    else:
        until = f" until {when(expires)} UTC" if expires else f" due {when(due)} UTC" if due else ""
        console().print(f"Remembered in {scope} as {i}{until}.")


def _expiry(moment: datetime, hours: float) -> datetime:
    """When a note expires. Raises ``UsageError`` for no number, or a time after the year 9999."""
    from symfonic.capabilities.memory.service import moment_after

    longest = (datetime.max.replace(tzinfo=UTC) - moment) // timedelta(hours=1)
    if not 0 < hours <= longest:
        raise click.UsageError(
            f"--for is {hours:g}; it takes hours, more than 0 and at most {longest} (until the "
            "year 9999). Leave it out to keep the note for good."
        )
    return moment_after(moment, hours)


def plain_answer(answer: Recall, *, explain: bool = False) -> dict[str, Any]:
    """An answer as plain values, for ``--json``; the parts of scores where they were asked for."""
    items = [asdict(item) for item in answer.items]
    for item in items if not explain else ():
        del item["parts"]
    return {"items": items, "more": answer.more, "notes": list(answer.notes)}


def print_items(out: Console, items: Sequence[RecallItem], *, first: int = 1) -> None:
    """The rows of an answer, each with where it comes from and the beginning of its id."""
    from rich.text import Text

    for number, item in enumerate(items, start=first):
        out.print(
            Text.assemble((f"{number:>2}. ", "bold"), (f"{item.score:.2f} ", "cyan"), _origin(item))
        )
        out.print(indented(clean(item.text), 4))
        for line in _reasons(item):
            out.print(indented(line, 4, "dim"))


def _origin(item: RecallItem) -> str:
    parts: list[str] = [item.kind]
    if item.occurred_at:
        parts.append(when(item.occurred_at))
    elif item.kind == "episode":
        parts.append(f"recorded {when(item.recorded_at)}")
    parts += [item.speaker or item.role or "", item.source_id or "", item.id[:SHORT]]
    if item.state not in {"active", "condensed"}:
        parts.append(item.state)
    if item.approximate:
        parts.append("near spelling")
    return clean(" · ".join(part for part in parts if part))


def _reasons(item: RecallItem) -> Iterable[str]:
    if item.evidence:
        shown = ", ".join(i[:SHORT] for i in item.evidence[:3])
        rest = len(item.evidence) - 3
        yield f"evidence: {shown}{f' and {rest} more' if rest > 0 else ''}"
    if item.parts:
        yield "score: " + " · ".join(
            f"{name.replace('_', ' ')} {part:.3f}" for name, part in item.parts.items()
        )


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
