"""Our night beside that of ``symfonic-core`` 9.12.0, on the same data in the same series.

    python benchmarks/peer.py [--quick] [--long] [--repeats N] [--json] [--write]

``make bench-peer`` makes the environment that it needs. Each run is a process of its own: ours on
a fresh copy of one SQLite file, theirs on the same records loaded into memory. Only the run is
timed, user and system time together; the median of the repeats counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from peer_table import AIM, Side, by_phase, ratios, side, sides, table, verdict

HERE = Path(__file__).parent
RESULTS = HERE / "PEER.md"
PEER_PYTHON = HERE.parent / ".venv-peer/bin/python"
SIZE, QUICK_SIZE, LONG_SIZE = 10_000, 2_000, 50_000
LONG_TIMEOUT_S = 180
LONG_AIM_S = 10.0
LOW_IMPORTANCE = 3
REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A store to copy, and the file that holds the same records for the other side."""

    store: Path
    data: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All that was measured; the large store only in a full series, theirs only if asked for."""

    size: int
    theirs: Side
    ours: Side
    pruning: Side
    large: Side | None = None
    large_theirs: Side | None = None
    timed_out: bool = False


def run(python: Path, script: str, *arguments: object, timeout: float | None = None) -> Any:  # noqa: ANN401 - whatever it prints
    """Run one script in a process of its own and read the object that it prints."""
    command = [str(python), str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=timeout)
    return json.loads(done.stdout)


def build(size: int, folder: Path) -> Built:
    """Our store of one size, and its records for the other side."""
    _say(f"building a store of {size:,} episodes and as many other records")
    built = Built(store=folder / f"{size}.db", data=folder / f"{size}.jsonl")
    run(Path(sys.executable), "peer_ours.py", "build", built.store, "--size", size,
        "--data", built.data)  # fmt: skip
    return built


def night(built: Built) -> dict[str, Any]:
    """One run of ours, on a copy of the store."""
    copy = built.store.with_name("copy.db")
    shutil.copyfile(built.store, copy)
    result: dict[str, Any] = run(Path(sys.executable), "peer_ours.py", "night", copy)
    for left in copy.parent.glob(f"{copy.name}*"):
        left.unlink()
    return result


def measure(given: argparse.Namespace, folder: Path) -> Series:
    """Both sides taking turns, then the large store."""
    size = QUICK_SIZE if given.quick else SIZE
    built = build(size, folder)
    theirs, ours, pruning = [], [], []
    for number in range(given.repeats):
        _say(f"run {number + 1} of {given.repeats}, theirs and ours")
        theirs.append(run(given.peer_python, "peer_theirs.py", built.data))
        ours.append(night(built))
        low = ("--importance", LOW_IMPORTANCE)
        pruning.append(run(given.peer_python, "peer_theirs.py", built.data, *low))
    found = Series(size=size, theirs=side(theirs), ours=side(ours), pruning=side(pruning))
    if given.quick:
        return found
    large = build(LONG_SIZE, folder)
    _say("the large store, ours")
    ours_large = side([night(large) for _ in range(given.repeats)])
    theirs_large, timed_out = None, False
    if given.long:
        _say(f"the large store, theirs, for {LONG_TIMEOUT_S} seconds at most")
        try:
            result = run(given.peer_python, "peer_theirs.py", large.data, timeout=LONG_TIMEOUT_S)
            theirs_large = side([result])
        except subprocess.TimeoutExpired:
            timed_out = True
    return replace(found, large=ours_large, large_theirs=theirs_large, timed_out=timed_out)


def large_table(series: Series) -> str:
    """The large store: ours, and theirs where it was asked for."""
    ours = series.large
    if ours is None:
        return ""
    if series.large_theirs is not None:
        peer = f"{series.large_theirs.cpu_s:.1f} s, {series.large_theirs.peak_mb:.0f} MB"
    elif series.timed_out:
        peer = f"not finished after {LONG_TIMEOUT_S} s, loading included"
    else:
        peer = "not run (`--long` does)"
    mark = "met" if ours.cpu_s < LONG_AIM_S else "**missed**"
    held = ", ".join(f"{count:,} {kind}" for kind, count in ours.held.items())
    return table(
        [
            ["held", "symfonic-core", "symfonic-memory", f"aim < {LONG_AIM_S:.0f} s"],
            [held, peer, f"{ours.cpu_s:.2f} s, {ours.peak_mb:.0f} MB", mark],
        ]
    )


def report(series: Series) -> str:
    """Everything that is printed, as Markdown."""
    theirs, ours = series.theirs, series.ours
    size = f"{series.size:,}"
    parts = [
        f"## {size} episodes, {size} other records, {size} links, a tenth of each new",
        verdict(ratios(theirs, ours, series.pruning)),
        sides(theirs, ours),
        "## Phase by phase",
        by_phase(theirs, ours),
    ]
    if series.large is not None:
        parts += [f"## {LONG_SIZE:,} of each, a tenth new", large_table(series)]
    return "\n\n".join(parts)


def page(series: Series, flags: str, repeats: int) -> str:
    """``PEER.md``."""
    known = {**series.ours.versions, **series.theirs.versions}
    versions = ", ".join(f"{name} {number}" for name, number in known.items())
    return (
        "# Beside symfonic-core\n\n"
        f'Written by `make bench-peer PEER_FLAGS="{flags}"`, the median of {repeats} runs each; '
        "what is compared, and what not, stands in "
        "[README.md](README.md#beside-symfonic-core).\n"
        f"Versions: {versions}; {platform.system()} {platform.machine()}.\n\n{report(series)}\n"
    )


def main() -> None:
    """Measure, print, and write where that is asked for. Ends with 1 where the aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", type=Path, default=PEER_PYTHON)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SIZE:,} of each only")
    parser.add_argument("--long", action="store_true", help=f"theirs at {LONG_SIZE:,} too")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--write", action="store_true", help="write PEER.md")
    given = parser.parse_args()
    if not given.peer_python.exists():
        parser.error(f"There is no {given.peer_python}; `make bench-peer` installs it.")
    with tempfile.TemporaryDirectory() as folder:
        series = measure(given, Path(folder))
    print(json.dumps(asdict(series), default=str) if given.json else report(series))
    if given.write:
        asked = [f"--{name}" for name in ("quick", "long") if getattr(given, name)]
        asked += [f"--repeats {given.repeats}"] if given.repeats != REPEATS else []
        RESULTS.write_text(page(series, " ".join([*asked, "--write"]), given.repeats))
    if ratios(series.theirs, series.ours)[0].times < AIM and not given.quick:
        sys.exit(1)


def _say(line: str) -> None:
    print(f"… {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
