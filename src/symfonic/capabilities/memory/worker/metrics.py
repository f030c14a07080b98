"""A worker's counts in the text format that Prometheus reads.

Scopes are added up and never labels: there may be thousands, and their names say whose they are.
Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.worker.pulse import Sign

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_PREFIX: Final = "symfonic_worker"


def exposition(sign: Sign, now: datetime) -> str:
    """Every metric with its help and type, one sample a line."""
    return "".join(f"{line}\n" for line in _lines(sign, now))


def _lines(sign: Sign, now: datetime) -> Iterator[str]:
    totals = sign.totals
    yield from _metric("runs_total", "counter", "Maintenance sleeps that came to their end.")
    for kind in ("deep", "light"):
        yield f'{_PREFIX}_runs_total{{kind="{kind}"}} {totals[f"{kind}_runs"]}'
    for name, explanation in (
        ("rounds", "Rounds over all scopes."),
        ("changes", "Changes that runs have made."),
        ("skipped", "Visits that found another run at work."),
        ("failures", "Visits that failed, whole or in a phase."),
    ):
        yield from _metric(f"{name}_total", "counter", explanation)
        yield f"{_PREFIX}_{name}_total {totals[name]}"
    yield from _metric("last_run_age_seconds", "gauge", "Time since the latest run of a kind.")
    for kind, at in sorted(sign.last_run_at.items()):
        age = (now - at).total_seconds()
        yield f'{_PREFIX}_last_run_age_seconds{{kind="{kind}"}} {age:.0f}'
    yield from _metric("backlog_rows", "gauge", "Rows that the last run of each scope left unread.")
    yield f"{_PREFIX}_backlog_rows {sum(run.left for run in sign.last_runs.values())}"
    yield from _metric("scopes", "gauge", "Scopes that this worker has run.")
    yield f"{_PREFIX}_scopes {len(sign.last_runs)}"
    yield from _metric("stuck", "gauge", "1 while a step takes longer than it may.")
    yield f"{_PREFIX}_stuck {int(sign.is_stuck)}"


def _metric(name: str, kind: str, explanation: str) -> Iterator[str]:
    yield f"# HELP {_PREFIX}_{name} {explanation}"
    yield f"# TYPE {_PREFIX}_{name} {kind}"
