from __future__ import annotations

import gc

import pytest

from symfonic.capabilities.memory.uncollected import uncollected


def test_nothing_is_collected_meanwhile_and_again_afterwards() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_switches_it_on_again() -> None:
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_a_process_that_collects_nothing_is_left_so() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
