"""Signs of life: a file that is touched while all is well, and an HTTP endpoint."""

from __future__ import annotations

import json
import logging
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.worker.pulse import STUCK_MINUTES, as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from symfonic.capabilities.memory.worker.endpoint import Endpoint
    from symfonic.capabilities.memory.worker.pulse import Sign

_LOGGER = logging.getLogger(__name__)

EVERY_SECONDS: Final = 10.0
"""How often the file is written: a watcher that allows thirty seconds forgives two misses."""

HOST: Final = "127.0.0.1"


class Liveness:
    """Where a worker's signs of life go: to ``file``, to HTTP on ``port``, to both.

    The file is replaced whole, so a reader never finds half of it. It is left to grow old while a
    step takes longer than ``stuck_minutes``: watch its age, not its being there.
    """

    def __init__(
        self,
        *,
        file: str | Path | None = None,
        port: int | None = None,
        host: str = HOST,
        stuck_minutes: float = STUCK_MINUTES,
    ) -> None:
        if not stuck_minutes > 0:
            raise InputError(
                f"stuck_minutes is {stuck_minutes}; give minutes greater than 0, such as 30.",
                stuck_minutes=stuck_minutes,
            )
        self.file = None if file is None else Path(file)
        self.port = port
        self.host = host
        self.stuck_minutes = stuck_minutes
        self.endpoint: Endpoint | None = None

    @contextmanager
    def shown(self, look: Callable[[], Sign], clock: Callable[[], datetime]) -> Iterator[None]:
        """Show signs of life until the worker ends; the last one says that it did.

        Raises ``InputError`` where the file cannot be written or the port is taken: a worker that
        nobody can watch should not begin.
        """
        with ExitStack() as stack:
            if self.port is not None:
                from symfonic.capabilities.memory.worker.endpoint import Endpoint  # noqa: PLC0415

                self.endpoint = Endpoint(host=self.host, port=self.port, look=look, clock=clock)
                stack.callback(self.endpoint.close)
            if self.file is not None:
                try:
                    write_sign(self.file, look(), clock())
                except OSError as cause:
                    raise InputError(
                        f"The liveness file {self.file} cannot be written: {cause.strerror}. Name "
                        "a file in a directory that the worker may write to.",
                        path=str(self.file),
                    ) from cause
                stack.enter_context(_kept_fresh(self.file, look, clock))
            yield


@contextmanager
def _kept_fresh(
    file: Path, look: Callable[[], Sign], clock: Callable[[], datetime]
) -> Iterator[None]:
    """Write the file again and again from another thread, which a long phase does not hold up."""
    ends = threading.Event()

    def keep() -> None:
        while not ends.wait(EVERY_SECONDS):
            freshen(file, look(), clock())

    thread = threading.Thread(target=keep, name="symfonic-liveness-file", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
        freshen(file, look(), clock())


def freshen(file: Path, sign: Sign, now: datetime) -> None:
    """Write the sign unless the worker is stuck. A full disk does not end the worker's work."""
    if sign.is_stuck:
        _LOGGER.error("worker.stuck state=%s", sign.state)
        return
    try:
        write_sign(file, sign, now)
    except OSError as error:
        _LOGGER.error("worker.liveness.failed cause=%s", type(error).__name__)  # noqa: TRY400 - one event a line


def write_sign(file: Path, sign: Sign, now: datetime) -> None:
    """Replace the file by a new one, whole or not at all."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(as_dict(sign, now)) + "\n", encoding="utf-8")
    beside.replace(file)
