"""What a run costs as memory grows, beside the figures that the project promises.

    python benchmarks/run.py [--quick | --long] [--stores FOLDER] [--json] [--write]

Each measurement is a process of its own (``measure.py``), on a fresh copy of a store that is built
once for the whole series; the best of five counts. ``--quick`` takes two small stores, ``--long``
goes up to a million, and ``--write`` puts the table into ``RESULTS.md``. A folder given by
``--stores`` keeps the stores for the next series; they must have been built by the same code.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
BY_HAND = "\n## What grows"
"""From here on the page is written by hand, and stays."""
SIZES = (1_000, 10_000, 100_000)
QUICK_SIZES = (1_000, 5_000)
LONG_SIZES = (10_000, 100_000, 1_000_000)
COMPARED = 10_000
LIGHT_AT = 100_000
NEW = 1000
INGESTED = 20_000
REPEATS = 5
STARTS = {
    "bare": "pass",
    "policy": "import symfonic.capabilities.memory.policy",
    "help": (
        "import sys; sys.argv[:] = ['symfonic-memory', '--help']; "
        "from symfonic.capabilities.memory.cli import main; main()"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table; ``met`` is ``None`` where nothing is promised."""

    what: str
    target: str
    measured: str
    met: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Everything measured, by number of stored episodes."""

    built: dict[int, dict[str, Any]]
    nights: dict[int, dict[str, Any]]
    idles: dict[int, dict[str, Any]]
    recalls: dict[int, dict[str, Any]]
    lights: dict[int, dict[str, Any]]
    ingest: dict[str, Any]
    starts: dict[str, float]


def child(name: str, *arguments: object) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, str(HERE / "measure.py"), name, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def best(results: list[dict[str, Any]], by: str = "cpu_s") -> dict[str, Any]:
    """The result that took least: what other work on the machine adds is never negative."""
    return min(results, key=lambda result: float(result[by]))


def on_copies(stores: dict[int, Path], name: str, folder: Path) -> dict[int, dict[str, Any]]:
    """The best of some repeats, each on a copy of the store, the sizes taking turns.

    What else the machine does slows all sizes alike then, and a ratio of two of them stays true.
    """
    results: dict[int, list[dict[str, Any]]] = {size: [] for size in stores}
    for _ in range(REPEATS):
        for size, store in stores.items():
            copy = folder / "copy.db"
            shutil.copyfile(store, copy)
            results[size].append(child(name, copy, "--stored", size, "--new", NEW))
            copy.unlink()
    return {size: best(of_size) for size, of_size in results.items()}


def start_up(code: str) -> float:
    """CPU seconds of a Python process that runs ``code``."""
    spent = []
    for _ in range(2 * REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def measure(sizes: tuple[int, ...], folder: Path, kept: Path) -> Series:
    """The whole series: every store with its new day, then the nights, recall, and idle nights.

    Stores stand in ``kept``, and all that changes them is done to copies in ``folder``.
    """
    starts = {name: start_up(code) for name, code in STARTS.items()}
    ingest = _ingest(folder)
    built: dict[int, dict[str, Any]] = {}
    stores: dict[int, Path] = {}
    for size in sizes:
        stores[size] = kept / f"{size}.db"
        built[size] = _built(stores[size], size)
    _say(f"the night with {NEW:,} new episodes, and recall")
    nights, recalls = on_copies(stores, "night", folder), on_copies(stores, "ask", folder)
    _say("an idle night")
    settled = {size: folder / f"settled-{size}.db" for size in sizes}
    for size, store in stores.items():
        shutil.copyfile(store, settled[size])
        child("settle", settled[size], "--stored", size, "--new", NEW)
    idles, lights = on_copies(settled, "idle", folder), on_copies(settled, "light", folder)
    return Series(
        built=built, nights=nights, idles=idles, recalls=recalls, lights=lights, ingest=ingest,
        starts=starts,
    )  # fmt: skip


def _built(store: Path, size: int) -> dict[str, Any]:
    """What a store holds, built unless it is there, with its new day."""
    counts = store.with_suffix(".json")
    if not counts.exists():
        store.unlink(missing_ok=True)
        _say(f"building a store of {size:,} episodes and as many other records")
        found = child("build", store, "--stored", size)
        child("arrive", store, "--stored", size, "--new", NEW)
        counts.write_text(json.dumps(found))
    built: dict[str, Any] = json.loads(counts.read_text())
    return built


def _ingest(folder: Path) -> dict[str, Any]:
    _say(f"ingesting {INGESTED:,} episodes")
    log = folder / "log.jsonl"
    with log.open("w") as file:
        command = [sys.executable, str(HERE / "generate.py"), "--episodes", str(INGESTED)]
        subprocess.run(command, check=True, stdout=file)
    results = [child("in", folder / f"in{n}.db", "--log", log) for n in range(REPEATS)]
    return max(results, key=lambda result: float(result["per_s"]))


def figures(series: Series) -> list[Figure]:
    """The promised figures with what was measured."""
    sizes = sorted(series.nights)
    most = sizes[-1]
    run_at = COMPARED if COMPARED in sizes else most
    middle = run_at if run_at < most else sizes[-2]
    ratio_of = f"{most:,} stored to {middle:,} stored"
    run, built = series.nights[run_at], series.built[run_at]
    ratio = series.nights[most]["cpu_s"] / series.nights[middle]["cpu_s"]
    light = series.lights[min(most, LIGHT_AT)]
    idle, peak = series.idles[most], series.nights[most]["peak_mb"]
    rate = series.ingest["per_s"]
    return [
        Figure(
            what=f"DEEP run, {NEW:,} new on {built['episodes']:,} episodes, "
            f"{built['derived']:,} other records and {built['links']:,} links",
            target="≤ 1.5 s", measured=f"{run['cpu_s']:.2f} s", met=run["cpu_s"] <= 1.5,
        ),
        Figure(
            what=f"cost of a run with {NEW:,} new, {ratio_of}",
            target="≤ 1.5 ×", measured=f"{ratio:.2f} ×", met=ratio <= 1.5,
        ),
        Figure(
            what=f"an idle night at {most:,} stored, after start",
            target="< 0.2 s, no changes",
            measured=f"{idle['cpu_s']:.3f} s, {idle['changes']} changes",
            met=idle["cpu_s"] < 0.2 and idle["changes"] == 0,
        ),
        Figure(
            what=f"LIGHT after a turn at {min(most, LIGHT_AT):,} stored: median, worst, idle",
            target="< 20 ms",
            measured=f"{light['median_ms']:.1f} ms, {light['worst_ms']:.1f} ms, "
            f"{light['idle_ms']:.1f} ms",
            met=light["median_ms"] < 20,
        ),
        Figure(
            what="ingest of JSONL with the text index",
            target="≥ 10,000 episodes/s", measured=f"{rate:,.0f} episodes/s", met=rate >= 10_000,
        ),
        Figure(
            what=f"peak memory of a run with {NEW:,} new at {most:,} stored",
            target="< 200 MB", measured=f"{peak:.0f} MB", met=peak < 200,
        ),
        *(
            Figure(
                what=f"recall at {size:,} stored, median and 95th percentile",
                target="–",
                measured=f"{asked['median_ms']:.1f} ms, {asked['p95_ms']:.1f} ms",
            )
            for size, asked in sorted(series.recalls.items())
        ),
        Figure(
            what="`symfonic-memory --help`, the interpreter included",
            target="< 0.3 s", measured=f"{series.starts['help']:.2f} s",
            met=series.starts["help"] < 0.3,
        ),
        Figure(
            what="`import symfonic.capabilities.memory.policy`, likewise",
            target="–",
            measured=f"{series.starts['policy']:.2f} s (the interpreter alone: "
            f"{series.starts['bare']:.2f} s)",
        ),
    ]  # fmt: skip


def table(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def promised(found: list[Figure]) -> str:
    """The table of figures."""
    marks = {True: "met", False: "**missed**", None: ""}
    body = [[f.what, f.target, f.measured, marks[f.met]] for f in found]
    return table([["what", "figure", "measured", ""], *body])


def by_phase(series: Series) -> str:
    """Where a run's time goes, a column a size."""
    sizes = sorted(series.nights)
    parts = list(series.nights[sizes[-1]]["phases"])
    rows = [["CPU seconds", *(f"{size:,} stored" for size in sizes)]]
    for part in parts:
        spent = [series.nights[size]["phases"].get(part, 0.0) for size in sizes]
        rows.append([part, *(f"{seconds:.3f}" for seconds in spent)])
    nights = [series.nights[size] for size in sizes]
    rows.append(["whole run", *(f"{night['cpu_s']:.3f}" for night in nights)])
    rows.append(["passes, changes", *(f"{n['passes']}, {n['changes']:,}" for n in nights)])
    rows.append(["peak memory", *(f"{night['peak_mb']:.0f} MB" for night in nights)])
    return table(rows)


def page(series: Series, command: str) -> str:
    """``RESULTS.md``."""
    machine = (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    return (
        "# Benchmark results\n\n"
        f"Written by `{command}`; how it is measured stands in [README.md](README.md).\n"
        "Times are CPU time; figures of one table come from one series on one machine.\n\n"
        f"Machine: {machine}.\n\n## Figures\n\n{promised(figures(series))}\n\n"
        f"## A run with {NEW:,} new episodes, by phase\n\n{by_phase(series)}\n"
    )


def main() -> None:
    """Measure, print, and write where that is asked for. Ends with 1 where a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small stores only")
    parser.add_argument("--long", action="store_true", help="up to a million stored: an hour")
    parser.add_argument("--stores", type=Path, help="keep the stores in this folder")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = QUICK_SIZES if given.quick else LONG_SIZES if given.long else SIZES
        kept = given.stores or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        series = measure(sizes, Path(folder), kept)
    found = figures(series)
    if given.json:
        print(json.dumps({"figures": [asdict(f) for f in found], **asdict(series)}))
    else:
        print(f"{promised(found)}\n\n{by_phase(series)}")
    if given.write:
        _, mark, by_hand = RESULTS.read_text().partition(BY_HAND)
        command = " ".join(["benchmarks/run.py", *sys.argv[1:]])
        RESULTS.write_text(page(series, command) + mark + by_hand)
    if any(figure.met is False for figure in found):
        sys.exit(1)


def _say(line: str) -> None:
    print(f"… {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
