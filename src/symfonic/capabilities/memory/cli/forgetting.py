"""``forget``: show what would be erased, ask, erase, and print the receipt."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.options import common, open_memory, scope_option
from symfonic.capabilities.memory.cli.output import (
    SHORT,
    console,
    count,
    emit,
    shorten,
    table,
    wants_json,
    when,
)
from symfonic.capabilities.memory.errors import RecordNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Receipt

_PREVIEWED: Final = 10


@click.command()
@click.option(
    "--record", "records", multiple=True, metavar="ID",
    help="This record, by its id or the first 8 characters of it or more. May be repeated.",
)  # fmt: skip
@click.option("--session", metavar="NAME", help="Every turn of this session.")
@click.option("--entity", metavar="NAME", help="This entity, and every turn that mentions it.")
@click.option("--everything", is_flag=True, help="All that the scope holds.")
@click.option("--dry-run", is_flag=True, help="Show what would be erased; erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common(scope_option)
def forget(
    *,
    store: str,
    scope: str,
    records: tuple[str, ...],
    session: str | None,
    entity: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Erase records and all that only they support.

    It cannot be undone: the text is removed from every table, index, plan and history. The receipt
    holds ids and counts, and names what cannot be reached from here.
    """
    if not (records or session is not None or entity is not None or everything):
        raise click.UsageError("Say what to forget: --record, --session, --entity or --everything.")
    if everything and (records or session is not None or entity is not None):
        raise click.UsageError(
            "--everything is all that the scope holds; leave out --record, --session and --entity, "
            "or leave out --everything."
        )
    if wants_json() and not (yes or dry_run):
        raise click.UsageError("--json cannot ask; add --yes, or --dry-run to look first.")
    with open_memory(store) as memory:
        found = memory.find_forgettable(
            scope=scope, records=records, session=session, entity=entity, everything=everything
        )
        if not found and not everything:
            raise RecordNotFound(f"Nothing in {scope} is named so; there is nothing to forget.")
        if not (wants_json() and yes):
            would = memory.preview_forget(found, scope=scope)
            if wants_json():
                emit({"dry_run": True, "records": found, "receipt": asdict(would)})
                return
            _preview(memory, would)
            if dry_run or not (yes or _confirmed(would)):
                click.get_current_context().exit(0 if dry_run else 1)
        receipt = memory.forget(found, scope=scope)
    if wants_json():
        emit({"receipt": asdict(receipt)})
    else:
        _print(receipt)


def _preview(memory: Memory, would: Receipt) -> None:
    """What would be erased: what was asked for, and what rests on it; a line for each."""
    out = console()
    asked = _listed(out, memory, would.forgotten, scope=would.scope, title="Asked for")
    derived = _listed(
        out,
        memory,
        would.derived_removed,
        scope=would.scope,
        title="With them, as it rests on them",
    )
    released = _released(memory, [*asked, *derived])
    if released:
        out.print(f"Released: {count(released, 'turn')} that may be condensed anew.")


def _listed(
    out: Console, memory: Memory, ids: Sequence[str], *, scope: str, title: str
) -> Sequence[Record]:
    records = sorted(memory.records(ids, scope=scope).values(), key=lambda r: r.order)
    kinds = Counter(record.kind for record in records)
    plurals = {"entity": "entities", "summary": "summaries"}
    said = [count(number, kind, plurals.get(kind, "")) for kind, number in sorted(kinds.items())]
    out.print(f"{title}: {', '.join(said) or 'nothing'}.", style="bold")
    for record in records[:_PREVIEWED]:
        line = f"  {record.id[:SHORT]}  {record.kind:<9}  {when(record.at)}  "
        out.print(line + shorten(record.text, out.width - len(line)), soft_wrap=True)
    if len(records) > _PREVIEWED:
        out.print(f"  … and {len(records) - _PREVIEWED:,} more")
    return records


def _released(memory: Memory, going: Sequence[Record]) -> int:
    """How many turns stay, and lose the summary that condensed them."""
    gone = {record.id for record in going}
    return len(
        {
            link.target
            for record in going
            if record.kind == "summary"
            for link in memory.links(record)
            if link.kind == "summarises" and link.target not in gone
        }
    )


def _confirmed(would: Receipt) -> bool:
    """Ask; no answer is no."""
    asked, derived = count(len(would.forgotten), "record"), len(would.derived_removed)
    more = f" and {derived:,} that {'rests' if derived == 1 else 'rest'} on them" if derived else ""
    try:
        sure = click.confirm(f"Erase {asked}{more} for good?", err=True)
    except click.Abort:
        sure = False
    if not sure:
        click.echo("Nothing was forgotten. --yes erases without asking.", err=True)
    return sure


def _print(receipt: Receipt) -> None:
    out = console()
    out.print(
        f"Forgotten in {receipt.scope}: {count(len(receipt.forgotten), 'record')}, and "
        f"{len(receipt.derived_removed):,} that only they supported."
    )
    made = table("table", "rows", right=("rows",))
    for name, number in sorted(receipt.rows.items()):
        if number:
            made.add_row(name, f"{number:,}")
    if made.row_count:
        out.print(made)
    for place in receipt.unreachable:
        out.print(f"Not reached: {place}")
