"""``forget``: show what would be erased, ask, erase, and print the receipt."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from symfonic.capabilities.memory.cli.options import common, open_memory, scope_option
from symfonic.capabilities.memory.cli.output import (
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

    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.store import Receipt

_PREVIEWED: Final = 10


@click.command()
@click.option(
    "--record", "records", multiple=True, metavar="ID", help="This record. May be repeated."
)
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
    if wants_json() and not (yes or dry_run):
        raise click.UsageError("--json cannot ask; add --yes, or --dry-run to look first.")
    with open_memory(store) as memory:
        found = memory.find_forgettable(
            scope=scope, records=records, session=session, entity=entity, everything=everything
        )
        if not found and not everything:
            raise RecordNotFound(f"Nothing in {scope} is named so; there is nothing to forget.")
        if wants_json() and dry_run:
            emit({"dry_run": True, "records": found})
            return
        if not wants_json():
            _preview(memory, found, scope=scope)
        if dry_run or not (yes or _confirmed(len(found))):
            click.get_current_context().exit(0 if dry_run else 1)
        receipt = memory.forget(found, scope=scope)
    if wants_json():
        emit({"receipt": asdict(receipt)})
    else:
        _print(receipt)


def _preview(memory: Memory, found: Sequence[str], *, scope: str) -> None:
    from rich.text import Text

    records = sorted(memory.records(found, scope=scope).values(), key=lambda r: r.order)
    kinds = Counter(record.kind for record in records)
    said = ", ".join(count(number, kind, f"{kind}s") for kind, number in sorted(kinds.items()))
    made = table("id", "kind", "when (UTC)", "text")
    for record in records[:_PREVIEWED]:
        text = Text(shorten(record.text, 100))
        made.add_row(Text(record.id), record.kind, when(record.at), text)
    out = console()
    out.print(f"In {scope}: {said or 'nothing'}.")
    if records:
        out.print(made)
    if len(records) > _PREVIEWED:
        out.print(f"… and {len(records) - _PREVIEWED:,} more")


def _confirmed(number: int) -> bool:
    """Ask; no answer is no."""
    try:
        sure = click.confirm(f"Erase {count(number, 'record')} for good?", err=True)
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
