"""A year of nights: whether what a night costs, and what an episode takes up, stay as they were.

    python benchmarks/year.py [--episodes 1000] [--nights 365] [--json] [--write]

Each day brings so many generated episodes and a few recalls, and a night; every thirty days
``compact`` follows. It prints a line for each month: the bytes of the store for each episode in
it after that, and the CPU time of the month's middle night. ``--write`` puts the table into
``YEAR.md``. Everything happens in one process; the year takes some ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import generate
from measure import DAY, NIGHT, SALT, SCOPE, SEED

from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

PAGE = Path(__file__).with_name("YEAR.md")
MONTH = 30
RECALLS = 5
AROUND = 5
"""How many nights a night is measured by: the median of those around it."""
EARLY = 10
GROWTH = 1.05
SLOWER = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The end of a month: the store after ``compact``, and what that took."""

    night: int
    episodes: int
    bytes: int
    before: int
    night_s: float
    compact_s: float
    dropped: int
    folded: int

    @property
    def per_episode(self) -> float:
        return self.bytes / self.episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Year:
    """Every month, and CPU seconds of every night."""

    months: list[Month]
    nights: list[float]
    recalls: list[float]


def days(episodes: int, nights: int) -> Iterator[tuple[datetime, list[dict[str, Any]]]]:
    """The night's time and what was said on the day before, spread over it."""
    rows = generate.episodes(episodes * nights, seed=SEED)
    for number in range(nights):
        begin = generate.START + number * DAY
        today = list(islice(rows, episodes))
        for n, row in enumerate(today):
            row["at"] = (begin + n * DAY / episodes).isoformat()
        yield begin + DAY, today


def live(path: Path, *, episodes: int, nights: int) -> Year:
    """The whole year, on a store at ``path``."""
    year = Year(months=[], nights=[], recalls=[])
    questions = generate.questions(RECALLS * nights, seed=SEED)
    with Memory.open(path, salt=SALT) as memory:
        for number, (now, today) in enumerate(days(episodes, nights), start=1):
            memory.ingest(today, scope=SCOPE, now=now)
            began = time.process_time()
            for question in questions[(number - 1) * RECALLS : number * RECALLS]:
                memory.recall(question, scope=SCOPE, now=now)
            asked = time.process_time()
            memory.sleep(scope=SCOPE, policy=NIGHT, now=now)
            year.recalls.append((asked - began) / RECALLS)
            year.nights.append(time.process_time() - asked)
            if number % MONTH == 0 or number == nights:
                year.months.append(_compact(memory, number, episodes * number, now, year.nights))
                _say(year.months[-1])
    return year


def _compact(memory: Memory, night: int, episodes: int, now: datetime, spent: list[float]) -> Month:
    began = time.process_time()
    report = memory.compact(scope=SCOPE, policy=NIGHT, now=now)
    took = time.process_time() - began
    return Month(
        night=night, episodes=episodes, bytes=report.size_after.total,
        before=report.size_before.total, night_s=statistics.median(spent[-MONTH:]), compact_s=took,
        dropped=sum(one.dropped for one in report.scopes),
        folded=sum(one.uses for one in report.scopes),
    )  # fmt: skip


def around(spent: list[float], night: int) -> float:
    """The median of the nights around one, so that what else the machine did counts little."""
    first = min(max(0, night - 1 - AROUND // 2), max(0, len(spent) - AROUND))
    return statistics.median(spent[first : first + AROUND])


def figures(year: Year) -> list[tuple[str, str, str, bool]]:
    """What is promised of a year, with what was measured."""
    later = [month.per_episode for month in year.months[1:]] or [year.months[0].per_episode]
    growth = max(later) / year.months[0].per_episode
    early, last = around(year.nights, EARLY), around(year.nights, len(year.nights))
    return [
        (
            "bytes per episode, the most after the first month to the first",
            f"≤ {GROWTH:g} ×", f"{growth:.2f} ×", growth <= GROWTH,
        ),
        (
            f"CPU of the last night to that of night {EARLY}",
            f"≤ {SLOWER:g} ×", f"{last / early:.2f} × ({last:.2f} s, {early:.2f} s)",
            last <= SLOWER * early,
        ),
    ]  # fmt: skip


def table(year: Year) -> str:
    """A line for each month, in Markdown."""
    head = (
        "| after night | episodes | store | per episode | night, median of the month | `compact` "
        "| changes dropped | uses folded |\n|---|---|---|---|---|---|---|---|"
    )
    rows = [
        f"| {m.night} | {m.episodes:,} | {m.bytes / 1e6:,.1f} MB | {m.per_episode:,.0f} bytes "
        f"| {m.night_s:.2f} s | {m.compact_s:.2f} s | {m.dropped:,} | {m.folded:,} |"
        for m in year.months
    ]
    return "\n".join([head, *rows])


def promised(year: Year) -> str:
    """The table of figures, in Markdown."""
    rows = [
        f"| {what} | {figure} | {measured} | {'met' if met else '**missed**'} |"
        for what, figure, measured, met in figures(year)
    ]
    recall = 1000 * statistics.median(year.recalls[-MONTH:])
    return "\n".join(
        [
            "| what | figure | measured | |\n|---|---|---|---|",
            *rows,
            f"| store at the end | – | {year.months[-1].bytes / 1e6:,.1f} MB | |",
            f"| recall in the last month, median | – | {recall:.1f} ms | |",
        ]
    )


def page(year: Year, command: str) -> str:
    """``YEAR.md``."""
    machine = (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    return (
        "# A year of nights\n\n"
        f"Written by `{command}`; what it does stands at the head of [year.py](year.py).\n"
        "Times are CPU time. The store is measured after `compact`, which runs every thirty "
        "nights.\n\n"
        f"Machine: {machine}.\n\n## Figures\n\n{promised(year)}\n\n## By month\n\n{table(year)}\n"
    )


def main() -> None:
    """Live the year, print it, and write it where asked. Ends with 1 where a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=generate.EPISODES_PER_DAY)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--write", action="store_true", help="write YEAR.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        year = live(Path(folder) / "year.db", episodes=given.episodes, nights=given.nights)
    if given.json:
        print(json.dumps(asdict(year)))
    else:
        print(f"{promised(year)}\n\n{table(year)}")
    if given.write:
        command = f"benchmarks/year.py --episodes {given.episodes} --nights {given.nights} --write"
        PAGE.write_text(page(year, command))
    if not all(met for *_, met in figures(year)):
        sys.exit(1)


def _say(month: Month) -> None:
    print(
        f"… night {month.night}: {month.per_episode:,.0f} bytes an episode, {month.night_s:.2f} s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
