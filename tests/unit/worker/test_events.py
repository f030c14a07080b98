from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from symfonic.capabilities.memory.worker.events import (
    PACKAGE,
    EventFormatter,
    event_of,
    log_result,
    logged_to,
)
from symfonic.capabilities.memory.worker.results import ScopeResult, ended, failed

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)


def record(message: str, *args: object, exc_info: Any = None) -> logging.LogRecord:
    return logging.LogRecord("a.b", logging.INFO, "f.py", 1, message, args, exc_info)


def test_fields_come_from_the_template_whatever_a_value_holds() -> None:
    found = event_of(record("worker.scope.ran scope=%s passes=%d ms=%.0f", "a b=c", 2, 3.5))
    assert found == ("worker.scope.ran", {"scope": "a b=c", "passes": 2, "ms": 3.5})


def test_event_may_be_named_by_its_first_argument() -> None:
    found = event_of(record("maintenance.phase.%s phase=%s", "declined", "expire"))
    assert found == ("maintenance.phase.declined", {"phase": "expire"})


@pytest.mark.parametrize(
    ("message", "args"), [("Something happened", ()), ("a.b x=%s", ()), ("a.b %s", ("x",))]
)
def test_other_messages_are_one_field(message: str, args: tuple[object, ...]) -> None:
    made = record(message, *args)
    assert event_of(made) == ("a.b", {"message": made.getMessage()})


def test_text_is_one_line_and_quotes_what_is_not_one_word() -> None:
    line = EventFormatter(as_json=False).format(
        record("a.b one=%s two=%s three=%.0f", "plain", "two\nlines", 1.6)
    )
    assert line.endswith(' INFO a.b one=plain two="two\\nlines" three=2')


def test_json_is_one_object_with_typed_fields() -> None:
    made = record("a.b one=%s two=%d", "ä\n", 2)
    made.created = NOW.timestamp()
    shown = json.loads(EventFormatter(as_json=True).format(made))
    assert shown == {
        "time": "2026-03-02T03:00:00.000+00:00", "level": "INFO", "event": "a.b", "one": "ä\n",
        "two": 2,
    }  # fmt: skip


def test_traceback_is_left_out() -> None:
    error = KeyError("what Ana said")
    made = record("a.b one=%s", "x", exc_info=(KeyError, error, None))
    assert EventFormatter(as_json=False).format(made).endswith("INFO a.b one=x")


def test_events_of_the_package_go_to_the_stream_once() -> None:
    stream, logger = io.StringIO(), logging.getLogger(f"{PACKAGE}.worker.loop")
    with logged_to(io.StringIO(), format="text"), logged_to(stream, format="json"):
        logger.info("worker.stopped rounds=%d", 3)
        logger.debug("worker.detail rounds=%d", 3)
    logger.info("worker.stopped rounds=%d", 4)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["rounds"] == 3


def test_every_outcome_has_an_event_without_text() -> None:
    stream = io.StringIO()
    secret = "what Ana said"
    done = ScopeResult(scope="a", outcome="ran", at="", kind="deep", passes=1)
    results = (
        done,
        ScopeResult(scope="a", outcome="ran", at="", kind="deep", failed_phases=("summarise",)),
        ended("a", NOW, "waits", ""),
        ended("a", NOW, "skipped", ""),
        ended("a", NOW, "abandoned", ""),
        failed("a", NOW, ValueError(secret)),
    )
    with logged_to(stream, format="text"):
        logging.getLogger(PACKAGE).setLevel(logging.DEBUG)
        for result in results:
            log_result(result)
    lines = [line.split(maxsplit=3)[1:3] for line in stream.getvalue().splitlines()]
    assert lines == [
        ["INFO", "worker.scope.ran"], ["ERROR", "worker.scope.ran"],
        ["DEBUG", "worker.scope.waits"], ["INFO", "worker.scope.skipped"],
        ["INFO", "worker.scope.abandoned"], ["ERROR", "worker.scope.failed"],
    ]  # fmt: skip
    assert secret not in stream.getvalue()
