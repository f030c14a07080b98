"""How a worker is asked to stop, by a signal or by another thread.

A signal may arrive while the main thread waits inside a lock, and a handler that needs the same
lock would hang for ever; ``threading.Event`` has one. A ``SimpleQueue`` may be put to at any
moment, so it is the bell.
"""

from __future__ import annotations

import queue
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """A request to stop that can be waited for. Once made it stands."""

    def __init__(self) -> None:
        self.is_asked = False
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ask(self) -> None:
        """Stop at the next chance. May be called from a signal handler, and more than once."""
        self.is_asked = True
        self._bell.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a stop is asked for; whether it is."""
        if not self.is_asked:
            try:
                self._bell.get(timeout=max(0.0, seconds))
            except queue.Empty:
                return self.is_asked
        return True


@contextmanager
def stopped_by_signals(stop: Stop) -> Iterator[None]:
    """SIGTERM and SIGINT ask for a stop; a second one ends the process at once.

    Only the main thread receives signals; in another one nothing is installed, and whoever runs
    the worker there calls ``Worker.stop``.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: Any) -> None:  # noqa: ANN401 - a frame that is not looked at
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        stop.ask()

    before = {each: signal.signal(each, ask) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
