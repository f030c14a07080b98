"""Agent memory that learns overnight and can show its work.

The public names are loaded when they are used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symfonic.capabilities.memory.consolidator import SleepConsolidator
    from symfonic.capabilities.memory.errors import SymfonicError
    from symfonic.capabilities.memory.limits import RunLimits
    from symfonic.capabilities.memory.policy import LearningPolicy
    from symfonic.capabilities.memory.retention import RetentionPolicy
    from symfonic.capabilities.memory.service import Memory

_HOMES = {
    "LearningPolicy": "policy",
    "Memory": "service",
    "RetentionPolicy": "retention",
    "RunLimits": "limits",
    "SleepConsolidator": "consolidator",
    "SymfonicError": "errors",
}

__all__ = [
    "LearningPolicy",
    "Memory",
    "RetentionPolicy",
    "RunLimits",
    "SleepConsolidator",
    "SymfonicError",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
