from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.worker import liveness as module
from symfonic.capabilities.memory.worker.liveness import Liveness, freshen
from symfonic.capabilities.memory.worker.pulse import Sign

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
WELL = Sign(
    state="waiting", is_stuck=False, is_ready=True, last_runs={}, last_run_at={},
    totals=dict.fromkeys(
        ("rounds", "deep_runs", "light_runs", "changes", "skipped", "failures"), 0
    ),
)  # fmt: skip


class Shown:
    """What a watcher sees; ``looked`` is set at the third look."""

    def __init__(self) -> None:
        self.sign = WELL
        self.looks = 0
        self.looked = threading.Event()

    def look(self) -> Sign:
        self.looks += 1
        if self.looks == 3:
            self.looked.set()
        return self.sign

    def clock(self) -> datetime:
        return NOW


def get(port: int, path: str) -> tuple[int, str, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.headers["Content-Type"], answer.read().decode()
    connection.close()
    return found


def test_file_is_there_before_the_work_begins_and_says_its_end(tmp_path: Path) -> None:
    file, shown = tmp_path / "alive.json", Shown()
    with Liveness(file=file).shown(shown.look, shown.clock):
        assert json.loads(file.read_text())["state"] == "waiting"
        assert json.loads(file.read_text())["time"] == NOW.isoformat()
        shown.sign = replace(WELL, state="stopped")
    assert json.loads(file.read_text())["state"] == "stopped"
    assert [path.name for path in tmp_path.iterdir()] == ["alive.json"]


def test_file_is_written_again_by_a_thread_that_a_long_phase_does_not_hold_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.001)
    shown = Shown()
    with Liveness(file=tmp_path / "alive.json").shown(shown.look, shown.clock):
        assert shown.looked.wait(60)


def test_file_grows_old_while_the_worker_is_stuck(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "alive.json"
    file.write_text("before")
    with caplog.at_level(logging.ERROR):
        freshen(file, replace(WELL, is_stuck=True), NOW)
    assert file.read_text() == "before"
    assert "worker.stuck" in caplog.text


def test_file_that_can_no_longer_be_written_is_reported_and_work_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        freshen(tmp_path / "gone" / "alive.json", WELL, NOW)
    assert "worker.liveness.failed cause=FileNotFoundError" in caplog.text


def test_file_that_cannot_be_written_at_the_start_is_refused(tmp_path: Path) -> None:
    shown = Shown()
    with (
        pytest.raises(InputError, match="may write to"),
        Liveness(file=tmp_path / "gone" / "alive.json").shown(shown.look, shown.clock),
    ):
        pass


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_patience_of_nothing_is_refused(minutes: float) -> None:
    with pytest.raises(InputError, match="greater than 0"):
        Liveness(stuck_minutes=minutes)


def test_endpoint_tells_whether_the_worker_lives_and_is_ready() -> None:
    shown, liveness = Shown(), Liveness(port=0)
    with liveness.shown(shown.look, shown.clock):
        assert liveness.endpoint is not None
        port = liveness.endpoint.port
        assert get(port, "/live")[0] == get(port, "/ready?x=1")[0] == 200
        shown.sign = replace(WELL, is_ready=False)
        assert (get(port, "/live")[0], get(port, "/ready")[0]) == (200, 503)
        shown.sign = replace(WELL, is_stuck=True)
        assert (get(port, "/live")[0], get(port, "/ready")[0]) == (503, 503)
        status, kind, text = get(port, "/metrics")
        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert "symfonic_worker_stuck 1\n" in text
        assert get(port, "/")[0] == 404
    with pytest.raises(OSError, match="refused"):
        get(port, "/live")


def test_endpoint_listens_on_this_machine_alone() -> None:
    shown, liveness = Shown(), Liveness(port=0)
    with liveness.shown(shown.look, shown.clock):
        assert liveness.endpoint is not None
        assert liveness.endpoint.host == "127.0.0.1"


def test_port_that_is_taken_is_refused() -> None:
    shown, first = Shown(), Liveness(port=0)
    with first.shown(shown.look, shown.clock):
        assert first.endpoint is not None
        second = Liveness(port=first.endpoint.port)
        with (
            pytest.raises(InputError, match="Name a free port"),
            second.shown(shown.look, shown.clock),
        ):
            pass
