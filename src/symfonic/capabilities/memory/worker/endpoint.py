"""Signs of life over HTTP: ``/live``, ``/ready`` and ``/metrics``, and nothing else.

There is no authentication, and the answers hold counts only. It listens on this machine alone
unless another address is named.
"""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.worker.metrics import CONTENT_TYPE, exposition

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from symfonic.capabilities.memory.worker.pulse import Sign


class Endpoint:
    """Answers on ``host`` and ``port`` from a thread of its own until it is closed.

    Port 0 takes a free one, which ``port`` then names. Raises ``InputError`` where it cannot
    listen.
    """

    def __init__(
        self, *, host: str, port: int, look: Callable[[], Sign], clock: Callable[[], datetime]
    ) -> None:
        handler = type(
            "Handler", (_Handler,), {"look": staticmethod(look), "clock": staticmethod(clock)}
        )
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except (OSError, OverflowError) as cause:
            raise InputError(
                f"Cannot listen on {host} port {port}: {cause}. Name a free port from 1 to 65535 "
                "and an address of this machine.",
                host=host,
                port=port,
            ) from cause
        self._server.daemon_threads = True
        self.host = str(self._server.server_address[0])
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="symfonic-liveness-http", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    look: Callable[[], Sign]
    clock: Callable[[], datetime]
    timeout = 10
    server_version = "symfonic-worker"
    sys_version = ""

    def do_GET(self) -> None:
        sign = type(self).look()
        match self.path.partition("?")[0]:
            case "/live":
                self._answer(is_well=sign.is_alive, text=f"{sign.state}\n")
            case "/ready":
                self._answer(is_well=sign.is_ready and sign.is_alive, text=f"{sign.state}\n")
            case "/metrics":
                text = exposition(sign, type(self).clock())
                self._answer(is_well=True, text=text, content_type=CONTENT_TYPE)
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(
        self, *, is_well: bool, text: str, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        body = text.encode("utf-8")
        self.send_response(HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds and are no news."""
