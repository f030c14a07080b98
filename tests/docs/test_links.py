"""Every link, file and knob that a page names is there."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from symfonic.capabilities.memory import settings
from symfonic.capabilities.memory.cli.app import COMMANDS
from symfonic.capabilities.memory.errors import SymfonicError
from symfonic.capabilities.memory.policy import PHASE_NAMES
from symfonic.capabilities.memory.settings import TABLES, environment_name
from symfonic.capabilities.memory.worker.scaffolding import rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src/symfonic/capabilities/memory"
APP: Final = rendered("night-shift")
"""The generated app that pages describe."""
PAGES: Final = sorted(
    str(page.relative_to(ROOT))
    for folder in (ROOT, ROOT / "docs", ROOT / "changes", ROOT / "benchmarks")
    for page in (folder.glob("*.md") if folder == ROOT else folder.rglob("*.md"))
)
KNOBS: Final = {name for ranges in TABLES.values() for name in ranges}

_LINK: Final = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_FRAGMENT: Final = re.compile(r"changes/(?!README)[\w-]+\.md")  # gathered at a release
_FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"[\w.-]+(?:/[\w.*-]+)*\.(?:py|sql|toml|md|jsonl)|[\w.-]+(?:/[\w.-]+)*/")
_KNOB_STEMS: Final = (
    "entity_linker_",
    "promotion_",
    "phase_12_",
    "phase1_",
    "episodic_",
    "spread_",
)
_ABSENT: Final = {
    "SKILL.md",
    "policy.toml", "log.jsonl", "week.jsonl", "monday.jsonl", "FILE.rejects.jsonl",
    "recall-token-budget.md", "__init__.py", *APP,
}  # fmt: skip
"""File names that pages use for files of the reader's own, or of a place that has none."""


def prose(page: str) -> str:
    """The page without its fenced blocks: these are run, or belong to somebody else."""
    return _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}


def files_named(page: str) -> Iterator[str]:
    for code in _CODE.findall(prose(page)):
        if _FILE.fullmatch(code) and code not in _ABSENT:
            yield code


def settings_written(text: str) -> set[str]:
    """What a page sets: by flag, in a knob file, or as an argument of a policy."""
    flags = set(re.findall(r"--set (\w+)=", text)) - {"NAME", "name"}
    blocks = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^(\w+) = ", "".join(blocks), re.MULTILINE)
    arguments = re.findall(r"(?:LearningPolicy|RetentionPolicy|RunLimits)\((\w+)=", text)
    return {*flags, *lines, *arguments}


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_to_a_page_and_a_heading(page: str) -> None:
    missing = []
    for target in _LINK.findall(prose(page)):
        if target.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            missing.append(target)
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page: str) -> None:
    places = (ROOT, ROOT / "src", PACKAGE, (ROOT / page).parent)
    missing = [
        name for name in files_named(page)
        if not any(any(place.glob(name)) for place in places)
    ]  # fmt: skip
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_knobs_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    known = KNOBS | set(PHASE_NAMES.values())
    named = {code for code in _CODE.findall(prose(page)) if code.startswith(_KNOB_STEMS)}
    assert not settings_written(text) - KNOBS
    assert not named - known
    variables = set(re.findall(r"SYMFONIC_[A-Z0-9_]+", text))
    ours = {environment_name(name) for name in KNOBS}
    others = {f"SYMFONIC_{name}" for name in ("STORE", "SCOPE", "SALT", "TIMEZONE", "EMBEDDER", "")}
    app = set(re.findall(r"^# (SYMFONIC_[A-Z_]+)=", APP[".env.example"], re.MULTILINE))
    older = {environment_name(name) for name in settings._OLD_SPELLINGS.values()}
    assert not variables - ours - others - older - app


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"symfonic-memory ([a-z]+(?:-[a-z]+)*)\b", text))
    assert not named - COMMANDS.keys()


def test_readme_lists_every_command() -> None:
    (block,) = re.findall(
        r"^## The command\n\n```text\n(.*?)^```$",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    listed = re.findall(r"^symfonic-memory ([a-z-]+)(?:, ([a-z-]+))?", block, re.MULTILINE)
    assert {name for names in listed for name in names if name} == COMMANDS.keys()


def test_readme_leads_to_every_page_but_those_that_one_of_them_gathers() -> None:
    linked = set(_LINK.findall(prose("README.md")))
    gathered = re.compile(r"docs/(?:decisions/\d|howto/import-(?!logs)|explanation/demo)")
    pages = [page for page in PAGES if page.startswith("docs/") and not gathered.match(page)]
    assert [page for page in pages if page not in linked] == []


def test_exit_codes_beside_an_agent_are_those_of_the_errors() -> None:
    codes = {SymfonicError.exit_code} | {kind.exit_code for kind in _below(SymfonicError)}
    rows = re.findall(r"^\| (\d+) \|", prose("docs/howto/beside-an-agent.md"), re.MULTILINE)
    assert rows
    assert {int(row) for row in rows} <= codes | {0}


def test_every_page_is_linked_from_another() -> None:
    linked = {
        ((ROOT / page).parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in _LINK.findall(prose(page))
        if not target.startswith("https://") and target.partition("#")[0]
    }
    standing = [page for page in PAGES if page != "README.md" and not _FRAGMENT.fullmatch(page)]
    alone = [page for page in standing if (ROOT / page) not in linked]
    assert not alone


def test_every_module_and_folder_of_the_package_stands_on_the_architecture_page() -> None:
    named = _CODE.findall(prose("docs/explanation/architecture.md"))
    patterns = [name.rstrip("/") for name in named]
    modules = [path.name for path in PACKAGE.iterdir() if path.suffix == ".py"]
    folders = [path.name for path in PACKAGE.iterdir() if any(path.glob("*.py"))]
    missing = [
        name
        for name in sorted([*modules, *folders])
        if not any(fnmatch(name, pattern) for pattern in patterns)
    ]
    assert not missing


def test_prose_has_one_sentence_a_line() -> None:
    several = [
        f"{page}: {line}"
        for page in PAGES
        if not page.startswith(("benchmarks/", "docs/reference/cli"))
        for line in prose(page).splitlines()
        if not line.startswith(("|", "#", "<")) and re.search(r"[a-z)`][.?!] [A-Z`][a-z]", line)
    ]
    assert not several


def _below(kind: type[SymfonicError]) -> Iterator[type[SymfonicError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
