"""The built wheel, installed as a user installs it: beside ``symfonic-core`` in either order.

Run by ``make package``; it builds, makes two environments in a temporary directory and checks in
each that both distributions import, that the data files came along and that the command answers.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PEER = "symfonic-core==9.12.0"
CHECK = """
import importlib.metadata as metadata, symfonic.capabilities.memory as memory
from symfonic.capabilities.memory import demo
assert memory.Memory and memory.LearningPolicy().lookback_hours == 24
assert demo.DATA.is_file() and demo.POLICY.is_file()
core = metadata.distribution("symfonic-memory").requires
needed = [line for line in core if "extra" not in line]
assert len(needed) <= 4, needed
with memory.Memory.open(":memory:") as store:
    store.add_turn([{"role": "user", "content": "hello"}], scope="a", session="s")
    assert store.recall("hello", scope="a").items
"""


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", place, root)
        (wheel,) = place.glob("*.whl")
        peer, ours = ["--no-deps", PEER], [str(wheel)]
        for name, order in {"ours-last": (peer, ours), "ours-first": (ours, peer)}.items():
            venv.create(place / name, with_pip=True)
            binaries = place / name / "bin"
            for packages in order:
                run(binaries / "pip", "install", "--quiet", *packages)

            run(binaries / "python", "-I", "-c", CHECK)
            found = subprocess.run(
                [str(binaries / "python"), "-I", "-c",
                 "from importlib.util import find_spec; print(find_spec('symfonic.agent').origin)"],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
            if "symfonic" not in found:
                raise SystemExit(f"symfonic-core is hidden when installed {name}")
            run(binaries / "symfonic-memory", "--help")
    print("the wheel installs and runs beside symfonic-core in either order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
