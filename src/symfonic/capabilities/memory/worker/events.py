"""What a worker logs: one event a line, in ids and counts, never the text of a memory.

The library configures no logging. A program that wants these lines gives the logger of this package
a handler with a formatter from here, as the command does.
"""

from __future__ import annotations

import json
import logging
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.worker.results import ScopeResult

_LOGGER = logging.getLogger(__name__)

PACKAGE: Final = "symfonic.capabilities.memory"
FORMATS: Final = ("text", "json")

_FIELD: Final = re.compile(r"(\w+)=%[.\d]*[a-z]")
_EVENT: Final = re.compile(r"\w+(?:\.(?:\w+|%s))+")


class EventFormatter(logging.Formatter):
    """A record as one line: time, level, event and fields, as text or as a JSON object.

    Fields come from the template and its arguments, so a value may hold anything and stays one
    value. Tracebacks are left out: they may quote a memory.
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event, fields = event_of(record)
        if self._as_json:
            shown = {"time": at, "level": record.levelname, "event": event, **fields}
            return json.dumps(shown, default=str)
        values = " ".join(f"{name}={_plain(value)}" for name, value in fields.items())
        return f"{at} {record.levelname} {event} {values}".rstrip()


def event_of(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """The event's name and its fields; a message of another shape is one field."""
    template = str(record.msg)
    args = record.args if isinstance(record.args, tuple) else ()
    head, _, rest = template.partition(" ")
    names = _FIELD.findall(rest)
    holes = head.count("%s")
    if not _EVENT.fullmatch(head) or len(names) + holes != len(args):
        return record.name, {"message": record.getMessage()}
    return head % args[:holes], dict(zip(names, args[holes:], strict=True))


@contextmanager
def logged_to(stream: TextIO, *, format: str, level: int | str = logging.INFO) -> Iterator[None]:
    """Write this package's events to a stream, in one of :data:`FORMATS`, and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(EventFormatter(as_json=format == "json"))
    logger = logging.getLogger(PACKAGE)
    before = logger.handlers, logger.level, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before[0], before[2]
        logger.setLevel(before[1])


def log_result(result: ScopeResult) -> None:
    """One event for a visit, in ids and counts; where nothing was due, for whoever debugs."""
    match result.outcome:
        case "ran":
            _LOGGER.log(
                logging.ERROR if result.is_failure else logging.INFO,
                "worker.scope.ran scope=%s kind=%s why=%s passes=%d changes=%d left=%d "
                "failed_phases=%s duration_ms=%.0f",
                result.scope, result.kind, result.reason, result.passes, result.changes,
                result.left, ",".join(result.failed_phases), result.duration_ms,
            )  # fmt: skip
        case "failed":
            _LOGGER.error(
                "worker.scope.failed scope=%s cause=%s trace=%s frames=%s",
                result.scope, result.error, result.trace, ">".join(result.frames),
            )  # fmt: skip
        case "waits":
            _LOGGER.debug("worker.scope.waits scope=%s next=%s", result.scope, result.next)
        case _:
            _LOGGER.info("worker.scope.%s scope=%s", result.outcome, result.scope)


def _plain(value: object) -> str:
    """A value without blanks as it is, any other one quoted."""
    text = f"{value:.0f}" if isinstance(value, float) else str(value)
    return text if re.fullmatch(r"[!-~]+", text) else json.dumps(text)
