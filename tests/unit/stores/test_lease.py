"""Whether the process that holds a lease is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from symfonic.capabilities.memory.stores.sqlite.lease import is_dead, this_process

SAY_WHO = (
    "import json; from symfonic.capabilities.memory.stores.sqlite.lease import this_process; "
    "print(json.dumps(this_process()))"
)


def test_holder_is_alive_while_it_runs_and_of_another_host_never_dead() -> None:
    assert not is_dead(this_process())
    assert not is_dead({**this_process(), "host": "elsewhere", "pid": 2**22 + 1})
    assert is_dead({**this_process(), "boot": "another"})


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_holder_that_nobody_waits_for_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-c", SAY_WHO], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        holder = json.loads(child.stdout.read())
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        os.kill(child.pid, 0)
        assert is_dead(holder)
