"""Unattended maintenance: a schedule, a loop over the scopes of a store, and signs of life.

A worker takes no turns and needs no model and no agent; it only sleeps on what others brought in.
The public names are loaded when they are used, so that naming the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symfonic.capabilities.memory.worker.events import logged_to
    from symfonic.capabilities.memory.worker.liveness import Liveness
    from symfonic.capabilities.memory.worker.loop import Worker
    from symfonic.capabilities.memory.worker.results import ScopeResult, WorkerReport
    from symfonic.capabilities.memory.worker.schedule import Schedule

_HOMES = {
    "Liveness": "liveness",
    "Schedule": "schedule",
    "ScopeResult": "results",
    "Worker": "loop",
    "WorkerReport": "results",
    "logged_to": "events",
}

__all__ = ["Liveness", "Schedule", "ScopeResult", "Worker", "WorkerReport", "logged_to"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
