"""Telling the two records of one prompt or answer from two that were said.

A rollout states each as an item of the model's and as an event of the screen's, in either order.
Equal texts of one kind are two; equal texts of both kinds, close together, are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from symfonic.capabilities.memory.ingest.codex_records import Speech

_MOST: Final = 8


class Twins:
    """What was said lately and has no twin yet, oldest first."""

    def __init__(self) -> None:
        self._single: list[Speech] = []

    def has(self, said: Speech) -> bool:
        """Whether ``said`` is the twin of what was said before; if not, it now waits for its own.

        A twin stands before the other side speaks.
        """
        for index, other in enumerate(self._single):
            if other.item != said.item and other.role == said.role and other.texts & said.texts:
                del self._single[index]
                return True
        self.pass_on(said.role)
        self._single = [*self._single[1 - _MOST :], said]
        return False

    def pass_on(self, role: str) -> None:
        """Forget what others than ``role`` said: it is somebody else's turn."""
        self._single = [said for said in self._single if said.role == role]
