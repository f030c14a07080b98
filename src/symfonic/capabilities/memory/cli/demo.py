"""``demo``: a week of an agent's work, one night of maintenance, and its undoing, on screen.

The clock, the salt and the knobs are fixed and the environment is left out of it, so that the run
has the same digests on every machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from importlib.resources import as_file
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from symfonic.capabilities.memory.cli.app import NAME
from symfonic.capabilities.memory.cli.options import json_option
from symfonic.capabilities.memory.cli.output import (
    console,
    count,
    emit,
    panel,
    wants_json,
)
from symfonic.capabilities.memory.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from symfonic.capabilities.memory.outcome import RunReport
    from symfonic.capabilities.memory.recall import Recall
    from symfonic.capabilities.memory.records import Record
    from symfonic.capabilities.memory.service import Memory

SCOPE: Final = "demo/office"
SALT: Final = bytes.fromhex("73796d666f6e69632d6d656d6f727921")
QUESTION: Final = "What happened to the cracked funnel?"
_ITEMS: Final = 3
_STORE: Final = "demo.db"
_UNDONE: Final = "undone.db"


@click.command()
@click.option(
    "--keep", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="Keep the store in this new or empty directory, to look around in it.",
)  # fmt: skip
@json_option
def demo(*, keep: Path | None) -> None:
    """Watch a week of an agent's work being learnt from, and undone.

    Reads the log of an invented office, recalls one question, runs maintenance with the knobs it
    shows, says what was learnt and why, recalls again, and takes the run back in a copy.
    """
    with _directory(keep) as directory:
        shown = _Telling(directory, kept=keep is not None)
        with shown.open(_STORE) as memory:
            facts = {**shown.read(memory), **shown.learn(memory)}
        facts["undo"] = shown.take_back(facts["passes"])
        if wants_json():
            emit({"scope": SCOPE, "store": str(directory / _STORE) if keep else None, **facts})
        else:
            shown.next_steps()


class _Telling:
    """The steps of the demo over one directory: each does its work, and tells it to a person."""

    def __init__(self, directory: Path, *, kept: bool) -> None:
        self.directory = directory
        self.kept = kept
        self.quiet = wants_json()

    def open(self, name: str) -> Memory:
        from symfonic.capabilities.memory.service import Memory

        return Memory.open(self.directory / name, salt=SALT)

    def read(self, memory: Memory) -> dict[str, Any]:
        """Take the week in, and ask the question once."""
        from symfonic.capabilities.memory.cli.recalling import plain_answer
        from symfonic.capabilities.memory.demo import DATA, NOW

        self._step(
            "1. A week of an agent's log", f"symfonic-memory ingest week.jsonl --scope {SCOPE}"
        )
        with as_file(DATA) as week:
            report = memory.ingest(week, scope=SCOPE, now=NOW)
        self._say(f"{count(report.added, 'turn')} read as {report.format}, for {SCOPE}.")
        self._step("2. A question, before", f'symfonic-memory recall "{QUESTION}"')
        answer = self._ask(memory)
        return {
            "ingest": {**report.as_dict(), "path": "week.jsonl"}, "before": plain_answer(answer)
        }  # fmt: skip

    def learn(self, memory: Memory) -> dict[str, Any]:
        """One night of maintenance; the question again; a draft with its evidence."""
        from symfonic.capabilities.memory.cli.drafts import as_plain
        from symfonic.capabilities.memory.cli.recalling import plain_answer

        passes = self._sleep(memory)
        self._step("4. The question, after", f'symfonic-memory recall "{QUESTION}"')
        answer = self._ask(memory)
        drafts = memory.procedures(scope=SCOPE)
        if drafts:
            best = max(drafts, key=lambda record: (_support(record), record.id))
            self._step(
                "5. A draft waits for a person", f"symfonic-memory drafts show {best.id[:8]}"
            )
            self._show_draft(*memory.procedure(best.id, scope=SCOPE))
        return {
            "passes": [run.as_dict() for run in passes],
            "after": plain_answer(answer),
            "drafts": [as_plain(record) for record in drafts],
        }

    def take_back(self, passes: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Undo every pass in a copy, so that what was learnt stays to be looked at."""
        from symfonic.capabilities.memory.cli.runs import range_name
        from symfonic.capabilities.memory.demo import NOW

        shutil.copyfile(self.directory / _STORE, self.directory / _UNDONE)
        names = [run["run_id"] for run in reversed(passes) if run["change_count"]]
        command = f"symfonic-memory undo {range_name(names[-1], names[0])}"
        self._step("6. Taken back, in a copy of the store", command)
        with self.open(_UNDONE) as memory:
            before = memory.stats(scope=SCOPE)
            reports = [memory.undo(name, now=NOW) for name in names]
            after = memory.stats(scope=SCOPE)
        taken = sum(report.change_count for report in reports)
        self._say(
            f"{count(taken, 'change')} taken back. Before: {_held(before)}. After: {_held(after)}."
        )
        return {"runs": names, "change_count": taken, "before": before, "after": after}

    def next_steps(self) -> None:
        """The commands to go on with."""
        program = _program()
        if self.kept:
            store = f"--store {self.directory / _STORE} --scope {SCOPE}"
            commands = [
                f"{program} runs {store}",
                f"{program} drafts list {store}",
                f'{program} recall "{QUESTION}" --explain {store}',
            ]
        else:
            commands = [
                f"{program} demo --keep demo-memory",
                f"{program} ingest YOUR-LOG.jsonl --scope acme/ana",
                f"{program} sleep --scope acme/ana --set enable_entity_linker=true",
            ]
        self._step("Next", "")
        for command in commands:
            console().print(f"  {command}", soft_wrap=True)

    def _sleep(self, memory: Memory) -> Sequence[RunReport]:
        from symfonic.capabilities.memory.cli.sleeping import carry_out, journal, show_passes
        from symfonic.capabilities.memory.demo import NOW, POLICY
        from symfonic.capabilities.memory.settings import resolve

        self._step("3. One night of maintenance", "symfonic-memory sleep --policy policy.toml")
        with as_file(POLICY) as file:
            if not self.quiet:
                console().print(panel("policy.toml", *_paragraphs(file)))
            resolved = resolve(file=file, environ={}, sets=())
        passes = carry_out(memory, resolved, scope=SCOPE, now=NOW).passes
        if not self.quiet:
            show_passes(memory, passes, journal(memory, passes), title="Sleep")
        return passes

    def _ask(self, memory: Memory) -> Recall:
        from symfonic.capabilities.memory.cli.recalling import print_items
        from symfonic.capabilities.memory.demo import NOW

        answer = memory.recall(QUESTION, scope=SCOPE, limit=_ITEMS, now=NOW)
        if not self.quiet:
            print_items(console(), answer.items)
        return answer

    def _show_draft(self, record: Record, evidence: Sequence[Record]) -> None:
        from symfonic.capabilities.memory.cli.drafts import print_draft

        if not self.quiet:
            print_draft(console(), record, evidence, shown=4)
            self._say("Recall leaves it out until somebody approves it.")

    def _step(self, title: str, command: str) -> None:
        if not self.quiet:
            out = console()
            out.print()
            out.rule(title, style="cyan", align="left")
            if command:
                out.print(f"$ {command}", style="dim", soft_wrap=True)

    def _say(self, text: str) -> None:
        if not self.quiet:
            console().print(text)


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    """A directory that is gone afterwards, or the one to keep."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="symfonic-demo-") as temporary:
            yield Path(temporary)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise InputError(f"The directory {keep} is not empty. Name a new one with --keep.")
    except OSError as cause:
        raise InputError(
            f"The directory {keep} cannot be used: {cause.strerror or cause}."
        ) from cause
    yield keep


def _program() -> str:
    """The command as it works where this was started: by its path where no name leads to it."""
    started = Path(sys.argv[0])
    if started.name != NAME or not started.exists():
        return NAME
    found = shutil.which(NAME)
    return NAME if found is not None and started.samefile(found) else str(started)


def _paragraphs(file: Path) -> Iterator[RenderableType]:
    """The lines of a knob file, each comment as one paragraph that the frame may fold."""
    from rich.text import Text

    lines = file.read_text(encoding="utf-8").strip().splitlines()
    for comment, found in groupby(lines, key=lambda line: line.startswith("#")):
        if comment:
            yield Text("# " + " ".join(line.lstrip("# ") for line in found), "dim")
        else:
            yield Text("\n".join(found), "bold")


def _support(record: Record) -> int:
    return int(getattr(record.content, "support", 0))


def _held(stats: dict[str, Any]) -> str:
    kinds = {kind: sum(states.values()) for kind, states in stats["records"].items()}
    plurals = {"entity": "entities", "summary": "summaries"}
    held = [count(number, kind, plurals.get(kind, "")) for kind, number in sorted(kinds.items())]
    return ", ".join([*held, count(stats["links"], "link")])
