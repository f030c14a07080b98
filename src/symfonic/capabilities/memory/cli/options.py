"""The options that several commands share, each written once."""

from __future__ import annotations

import getpass
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from symfonic.capabilities.memory.cli.output import JSON_KEY, shorten
from symfonic.capabilities.memory.errors import (
    InputError,
    RecordNotFound,
    ScopeError,
    StoreUnavailable,
)
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from symfonic.capabilities.memory.embedding.protocol import Embedder
    from symfonic.capabilities.memory.service import Memory
    from symfonic.capabilities.memory.settings import Resolved

F = TypeVar("F", bound="Callable[..., Any]")

DEFAULT_STORE: Final = "symfonic.db"
_LONGEST_SALT: Final = 64
FARTHEST_AHEAD: Final = timedelta(days=5 * 365)
"""How far ``--now`` may lie ahead of the machine's clock, which may itself be years behind."""
_LAST_RUN: Final = 2**62
"""No store counts its runs so far."""


def common(*more: Callable[[Any], Any]) -> Callable[[F], F]:
    """``--store`` and ``--json``, after the options of ``more`` in their order."""

    def decorate(function: F) -> F:
        decorated: Any = function
        for option in reversed((*more, store_option, json_option)):
            decorated = option(decorated)
        return cast("F", decorated)

    return decorate


def _note_json(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    ctx.meta[JSON_KEY] = value
    return value


def _scope(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    return value if value is None or ctx.resilient_parsing else named_scope(value)


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    if value is None or ctx.resilient_parsing:
        return None
    return read_moment(value, param.opts[-1])


def _clock(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """The stated clock. Raises ``InputError`` for one so far ahead that it must be a slip.

    A scope's clock never goes back: after a night in the year 9999 there would be no other.
    """
    stated = _moment(ctx, param, value)
    if stated is not None and stated > datetime.now(UTC) + FARTHEST_AHEAD:
        raise InputError(
            f"--now is {stated:%Y-%m-%d}, more than {FARTHEST_AHEAD.days // 365} years ahead of "
            "this machine's clock. A scope's clock never goes back, so nothing was done; give the "
            "time that was meant.",
            option="--now",
            value=value,
        )
    return stated


def _salt(ctx: click.Context, param: click.Parameter, value: str | None) -> bytes | None:
    if value is None:
        return None
    try:
        salt = bytes.fromhex(value)
    except ValueError:
        salt = b""
    if not 1 <= len(salt) <= _LONGEST_SALT:
        raise InputError(
            f"The salt is not hexadecimal text of 1 to {_LONGEST_SALT} bytes. "
            "Leave --salt out for a random one."
        )
    return salt


store_option = click.option(
    "--store", metavar="PATH", envvar="SYMFONIC_STORE", default=DEFAULT_STORE, show_default=True,
    show_envvar=True, help="The file that holds memory, by default in the current directory.",
)  # fmt: skip
json_option = click.option(
    "--json", "as_json", is_flag=True, is_eager=True, expose_value=False, callback=_note_json,
    help="Print one JSON object and nothing else.",
)  # fmt: skip
scope_option = click.option(
    "--scope", metavar="PATH", envvar="SYMFONIC_SCOPE", show_envvar=True,
    callback=lambda ctx, _param, value: value if ctx.resilient_parsing else named_scope(value),
    help="Whose memory it is, such as acme/ana. Required.",
)  # fmt: skip
optional_scope_option = click.option(
    "--scope", metavar="PATH", envvar="SYMFONIC_SCOPE", show_envvar=True, callback=_scope,
    help="Whose memory it is, such as acme/ana, where it is not named otherwise.",
)  # fmt: skip
now_option = click.option(
    "--now", metavar="TIME", callback=_clock,
    help="The clock, such as 2026-09-21T02:00Z; the machine's unless stated.",
)  # fmt: skip
salt_option = click.option(
    "--salt", metavar="HEX", envvar="SYMFONIC_SALT", show_envvar=True, callback=_salt,
    help="The key of a new scope's ids, so that they repeat; random unless stated.",
)  # fmt: skip
embedder_option = click.option(
    "--embedder", "embedder_name", metavar="NAME", envvar="SYMFONIC_EMBEDDER", show_envvar=True,
    help="Whose vectors are used: minilm (extra 'embeddings'), or openai:MODEL of a server; text "
    "alone unless stated.",
)  # fmt: skip
timezone_option = click.option(
    "--timezone", metavar="ZONE", envvar="SYMFONIC_TIMEZONE", show_envvar=True,
    help="The zone of times that name none, such as Europe/Vienna.",
)  # fmt: skip


def moment_option(name: str, explanation: str) -> Callable[[F], F]:
    """An option that states a time, with its zone."""
    return click.option(name, metavar="TIME", callback=_moment, help=explanation)


def named_scope(value: str | None) -> str:
    """The scope's path, checked. Raises ``ScopeError``, also where none is named."""
    if value is None:
        raise ScopeError(
            "No scope is named. Say whose memory it is, for example --scope acme/ana, or set "
            "SYMFONIC_SCOPE."
        )
    return Scope(value).path


def read_moment(text: str, option: str) -> datetime:
    """The stated time in UTC. Raises ``InputError`` for another text, or one without a zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(
            f"{option} is {text[:60]!r}, which is no time. Write one such as 2026-09-21T02:00Z.",
            option=option,
            value=text,
        ) from None
    raise InputError(
        f"{option} is {text!r}, which names no zone. Write {moment:%Y-%m-%dT%H:%M}Z for UTC, or "
        f"an offset such as {moment:%Y-%m-%dT%H:%M}+02:00.",
        option=option,
        value=text,
    )


def run_name(run: str, scope: str | None) -> str:
    """The whole name of a run that is given as ``acme/ana#12``, or as ``12`` with a scope.

    Raises ``InputError`` for another text, ``RecordNotFound`` for a number that no run can have.
    """
    from symfonic.capabilities.memory.service import split_run_id

    number = run.rpartition("#")[2]
    if re.fullmatch("[0-9]+", number) and (len(number) > 19 or int(number) > _LAST_RUN):
        raise RecordNotFound(
            f"There is no run {shorten(run, 60)}; see 'symfonic-memory runs'.", run=run
        )
    number = run.removeprefix("#")
    if number.isascii() and number.isdigit():
        return f"{named_scope(scope)}#{number}"
    split_run_id(run)
    return run


def run_range(run: str, scope: str | None) -> tuple[str, str]:
    """The first and the last run of ``acme/ana#3..9``, or of ``3..9`` with a scope."""
    head, dots, tail = run.rpartition("..")
    if not (dots and head and tail.removeprefix("#").isdigit()):
        name = run_name(run, scope)
        return name, name
    first = run_name(head, scope)
    return first, run_name(tail, first.rpartition("#")[0])


def open_memory(
    store: str,
    *,
    create: bool = False,
    salt: bytes | None = None,
    embedder_name: str | None = None,
) -> Memory:
    """The memory at ``--store``; only a command that takes something in makes a new one."""
    from symfonic.capabilities.memory.service import Memory

    retention = knobs(None, ()).retention if create else None
    embedder = embedder_of(embedder_name)
    try:
        return Memory.open(store, create=create, salt=salt, retention=retention, embedder=embedder)
    except OSError as cause:
        raise StoreUnavailable(
            f"The store {shorten(store, 80)} cannot be opened: {cause.strerror or cause}. "
            "Name another file with --store.",
            path=store,
        ) from cause


def embedder_of(name: str | None) -> Embedder | None:
    """The embedder that ``--embedder`` names. Raises ``InputError`` and ``MissingExtra``."""
    from symfonic.capabilities.memory.embedding.choose import embedder_named

    return embedder_named(name, environ=os.environ) if name else None


def store_file(store: str) -> Path:
    """The file that ``--store`` names, given as a path or as ``sqlite:///PATH``."""
    scheme, found, rest = store.partition("://")
    return Path(rest.removeprefix("/") if found and scheme == "sqlite" else store)


def knobs(file: Path | None, sets: tuple[str, ...]) -> Resolved:
    """The knobs of this process: from a file, the environment and ``--set``."""
    from symfonic.capabilities.memory.settings import resolve

    resolved = resolve(file=file, environ=os.environ, sets=sets)
    for name, near in resolved.near_misses:
        click.echo(f"Warning: {name} sets nothing. Did you mean {near}?", err=True)
    return resolved


def person(name: str | None) -> str:
    """Who acts: the stated name, or the login name. Raises ``InputError`` where there is none."""
    if name is None:
        try:
            name = getpass.getuser()
        except (OSError, KeyError, ImportError):
            name = ""
    if not name.strip():
        raise InputError("Say who you are with --by NAME: no login name is known here.")
    return name.strip()
