from __future__ import annotations

import subprocess
import sys

import pytest

from symfonic.capabilities.memory import worker


def test_every_public_name_is_there() -> None:
    assert sorted(worker.__all__) == worker.__all__
    for name in worker.__all__:
        assert getattr(worker, name).__name__ == name


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="Clockwork"):
        _ = worker.Clockwork


def test_naming_the_package_and_a_result_loads_no_service() -> None:
    code = (
        "import sys; from symfonic.capabilities.memory.worker import Liveness, WorkerReport\n"
        "heavy = {'sqlite3', 'cronsim', 'symfonic.capabilities.memory.service'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
