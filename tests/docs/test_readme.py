"""The examples of the README and of the pages run, and print what stands there.

A fenced block is an example when the line above it says so::

    <!-- example: run -->          ``$ command`` lines with their output, a page's in one directory
    <!-- example: file NAME -->    a file of that directory
    <!-- example: python -->       code that defines ``chat``, which is called
    <!-- example: demo -->         what the demo prints, in part

A line ``…`` stands for any lines. A command that ends with ``# exit 45`` has to end with that code,
and every other one with 0. Durations and the widths that follow from them are left out of
the comparison. ``python tests/docs/test_readme.py`` writes the output of blocks without ``…`` anew.
"""

from __future__ import annotations

import builtins
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from symfonic.capabilities.memory import Memory, service

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if "<!-- example: " in page.read_text(encoding="utf-8")
)
COMMAND: Final = (sys.executable, "-c", "from symfonic.capabilities.memory.cli import main; main()")
PROGRAMS: Final = {
    "symfonic-memory": COMMAND,
    "python": (sys.executable,),
    "pytest": (sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
}
SOURCE: Final = str(Path(service.__file__).parents[3])
ANYTHING: Final = "…"

_EXAMPLE: Final = re.compile(
    r"^<!-- example: (?P<kind>\w+)(?: (?P<name>\S+))? -->\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_DURATION: Final = re.compile(r"\s+\d+(?:\.\d+)? (?:ms|s|min)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One marked block of a page, and where its text stands in it."""

    kind: str
    name: str
    text: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of a block, as written, and the lines that stand under it."""

    command: str
    expected: list[str]


def examples_of(page: str) -> list[Example]:
    return [
        Example(
            kind=match["kind"], name=match["name"] or "", text=match["text"],
            begin=match.start("text"), end=match.end("text"),
        )
        for match in _EXAMPLE.finditer(page)
    ]  # fmt: skip


def steps_of(text: str) -> Iterator[Step]:
    """The commands of a block; a command ends with its line."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *expected = part.splitlines()
        yield Step(command=command, expected=expected)


def normal(line: str) -> str:
    """A line without what differs from one run to the next."""
    line = _DURATION.sub(" # ms", line.rstrip())
    return re.sub(r" {2,}", "  ", re.sub("─{3,}", "───", line))


def matches(expected: list[str], found: list[str]) -> bool:
    """Whether the output is as expected, with any lines in the place of each ``…``."""
    parts = [r".*\n" if line == ANYTHING else re.escape(normal(line)) + "\n" for line in expected]
    pattern = "".join("(?:.*\n)*?" if part == r".*\n" else part for part in parts)
    return re.fullmatch(pattern, "".join(normal(line) + "\n" for line in found)) is not None


class Shell:
    """Runs the commands of one page in one directory, and keeps what they export."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        kept = {
            name: value for name, value in os.environ.items()
            if "SYMFONIC" not in name and name not in {"CI", "BUILD_NUMBER", "PYTEST_ADDOPTS"}
        }  # fmt: skip
        fixed = {"COLUMNS": "88", "PYTHONUTF8": "1", "TERM": "dumb", "PYTHONPATH": SOURCE}
        self.environ = {**kept, **fixed}

    def run(self, line: str) -> list[str]:
        """The lines that a command prints. It has to succeed, or to end as the line says."""
        line, _, code = line.partition("  # exit ")
        name, *words = shlex.split(line)
        if name == "export":
            self.environ |= dict(word.split("=", 1) for word in words)
            return []
        if name == "cp":
            source, target = words
            shutil.copyfile(self.directory / source, self.directory / target)
            return []
        if name == "cat":
            return (self.directory / words[0]).read_text(encoding="utf-8").splitlines()
        if name not in PROGRAMS:
            raise ValueError(f"no example may run {name}")
        done = subprocess.run(
            [*PROGRAMS[name], *words], cwd=self.directory, env=self.environ, capture_output=True,
            check=False, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert done.returncode == int(code or 0), (line, done.returncode, done.stdout + done.stderr)
        return (done.stdout + done.stderr).rstrip("\n").splitlines()


def demo_excerpt(lines: list[str]) -> list[str]:
    """The demo's night, its draft and its undoing: steps 3, 5 and 6, without the policy file."""
    kept: list[str] = []
    keeping = in_policy = False
    for line in lines:
        if re.match(r"(?:\d\. |Next )", line):
            keeping = line[0] in "356"
        in_policy = line.startswith("╭─ policy.toml") or in_policy
        if keeping and not in_policy:
            kept.append(line.rstrip())
        in_policy = in_policy and not line.startswith("╰")
    while kept and not kept[-1]:
        kept.pop()
    return kept


@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_the_page_shows(page: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for example in examples_of((ROOT / page).read_text(encoding="utf-8")):
        if example.kind == "file":
            (tmp_path / example.name).write_text(example.text, encoding="utf-8")
        elif example.kind == "run":
            for step in steps_of(example.text):
                found = shell.run(step.command)
                assert matches(step.expected, found), (step.command, "\n".join(found))
        elif example.kind == "demo":
            found = demo_excerpt(shell.run("symfonic-memory demo"))
            assert [*map(normal, example.text.splitlines())] == [*map(normal, found)]


@pytest.mark.parametrize("page", ["README.md", "docs/howto/beside-an-agent.md"])
def test_loop_beside_an_agent_remembers_across_sessions(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [
        e for e in examples_of((ROOT / page).read_text(encoding="utf-8")) if e.kind == "python"
    ]
    assert len([line for line in code.text.splitlines() if line.strip()]) <= 15
    names: dict[str, object] = {}
    exec(compile(code.text, page, "exec"), names)
    chat = names["chat"]
    assert callable(chat)
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "I will."

    store = tmp_path / "memory.db"
    for session, said in (("one", "Book the quiet coach to Hamburg."), ("two", "Which coach?")):
        lines = iter([said, ""])
        monkeypatch.setattr(builtins, "input", lambda _, lines=lines: next(lines))
        chat(ask, store=store, scope="shop/robin", session=session)
    assert "quiet coach" not in prompts[0].partition("User:")[0]
    entry = r"\[1\] \d{4}-\S+, user, episode, id \w+\n> Book the quiet coach to Hamburg\."
    assert re.search(entry, prompts[1])
    with Memory.open(store, create=False) as memory:
        assert memory.stats(scope="shop/robin")["records"] == {"episode": {"active": 4}}


def test_ellipsis_matches_any_lines_and_nothing_else_does() -> None:
    assert matches(["a", ANYTHING, "c"], ["a", "b", "b", "c"])
    assert matches(["a", ANYTHING], ["a"])
    assert matches(["took 3 ms"], ["took  12 ms"])
    assert not matches(["a", "c"], ["a", "b", "c"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["3 changes"], ["4 changes"])


def refreshed(page: str) -> str:
    """The page with the output of its examples written anew."""
    with tempfile.TemporaryDirectory() as directory:
        shell = Shell(Path(directory))
        written: list[tuple[Example, str]] = []
        for example in examples_of(page):
            if example.kind == "file":
                (Path(directory) / example.name).write_text(example.text, encoding="utf-8")
            elif example.kind == "run":
                written.append((example, "".join(_with_output(shell, example))))
            elif example.kind == "demo":
                lines = demo_excerpt(shell.run("symfonic-memory demo"))
                written.append((example, "".join(f"{line}\n" for line in lines)))
    for example, text in reversed(written):
        page = page[: example.begin] + text + page[example.end :]
    return page


def _with_output(shell: Shell, example: Example) -> Iterator[str]:
    for step in steps_of(example.text):
        found = [line.rstrip() for line in shell.run(step.command)]
        shown = step.expected if ANYTHING in step.expected else found
        yield "".join(f"{line}\n" for line in (f"$ {step.command}", *shown))


if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / name
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
