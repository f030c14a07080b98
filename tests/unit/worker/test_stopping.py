from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from symfonic.capabilities.memory.worker.stopping import SIGNALS, Stop, stopped_by_signals


def test_stop_that_was_asked_for_ends_every_wait() -> None:
    stop = Stop()
    stop.ask()
    assert stop.wait(3600)
    assert stop.wait(3600)


def test_wait_ends_by_itself_and_says_that_nobody_asked() -> None:
    assert not Stop().wait(0)


def test_stop_from_another_thread_wakes_who_waits() -> None:
    stop = Stop()
    asks = threading.Thread(target=stop.ask)
    asks.start()
    assert stop.wait(3600)
    asks.join()


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("number", SIGNALS)
def test_signal_asks_for_a_stop_and_the_next_one_would_end_the_process(number: int) -> None:
    stop = Stop()
    before = [signal.getsignal(each) for each in SIGNALS]
    with stopped_by_signals(stop):
        os.kill(os.getpid(), number)
        assert stop.wait(3600)
        assert [signal.getsignal(each) for each in SIGNALS] == [signal.SIG_DFL] * 2
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_another_thread_installs_no_handler() -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    found: list[object] = []

    def run() -> None:
        with stopped_by_signals(Stop()):
            found.extend(signal.getsignal(each) for each in SIGNALS)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == before
