"""The small app that ``symfonic-memory init`` writes: which files, and where they go.

The templates stand in ``scaffold/`` beside this module, as package data. They hold a few names in
double braces and no logic, so that what is generated can be read there as it will be. Nothing of a
knob is written in them: the app's settings come from the fields of ``LearningPolicy``, and so does
the list in its ``.env.example``.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError, PolicyError
from symfonic.capabilities.memory.reference import entries
from symfonic.capabilities.memory.settings import environment_name, older_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILES: Final[Mapping[str, str]] = {
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    "src/{{package}}/__init__.py": "package.py.tmpl",
    "src/{{package}}/settings.py": "settings.py.tmpl",
    "src/{{package}}/worker.py": "worker.py.tmpl",
    "tests/test_settings.py": "test_settings.py.tmpl",
    ".env.example": "env.example.tmpl",
    ".gitignore": "gitignore.tmpl",
    ".dockerignore": "dockerignore.tmpl",
    "Dockerfile": "Dockerfile.tmpl",
    "deploy/{{name}}.service": "service.tmpl",
    "deploy/cronjob.yaml": "cronjob.yaml.tmpl",
}
"""Each file of the app, in the order it is listed, and the template it is made from."""

_DISTRIBUTION: Final = "symfonic-memory"
_LONGEST_NAME: Final = 31
"""What a Linux user may be called, as which the service runs."""
_TAKEN: Final = frozenset(
    {"symfonic", "symfonic_memory", "pydantic", "pydantic_settings", "dotenv", "pytest", "tests"}
)
"""Packages that the app's own would hide, or be hidden by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What became of each file, by its path in the directory.

    ``replaced`` are those that held something else before; ``unchanged`` held the same already.
    """

    written: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]


def app_name(directory: Path, stated: str | None = None) -> str:
    """The app's name: as stated, or made from the directory's.

    It names a distribution, a command, a Linux user and Kubernetes objects, so it is in small
    letters, digits and hyphens, 31 characters at most.

    Raises ``InputError`` for a name that one of them refuses.
    """
    folder = Path(os.path.abspath(directory)).name  # noqa: PTH100 - a link keeps its own name
    name = stated if stated is not None else re.sub("[^a-z0-9]+", "-", folder.lower()).strip("-")
    package = package_name(name)
    if len(name) > _LONGEST_NAME or not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise _refused(
            name, f"it needs small letters, digits and single hyphens, at most {_LONGEST_NAME}"
        )
    if keyword.iskeyword(package) or package in _TAKEN | sys.stdlib_module_names:
        raise _refused(name, "Python or a package that the app needs is called so")
    return name


def package_name(name: str) -> str:
    """What the app's package is called: its name as Python writes one."""
    return name.replace("-", "_")


def rendered(name: str) -> dict[str, str]:
    """The text of every file of the app, by its path in the app's directory."""
    words = {
        "name": name,
        "package": package_name(name),
        "requirement": _requirement(),
        "wrong_setting": str(PolicyError.exit_code),
        "knobs": "\n\n".join(_knob_lines()),
    }
    scaffold = files(__package__) / "scaffold"
    return {
        _filled(path, words): _filled((scaffold / template).read_text(encoding="utf-8"), words)
        for path, template in FILES.items()
    }


def write_app(directory: Path, name: str, *, force: bool = False) -> Written:
    """Write the app. A directory that holds anything is refused unless ``force`` is given.

    Files that the app does not have, such as ``.env``, are left alone in either case. Every place
    is looked at before the first file is written.

    Raises ``InputError``, which names the files that would be replaced.
    """
    texts = rendered(name)
    try:
        held = {path: _text(directory, path) for path in texts}
        differing = [path for path, text in held.items() if text not in {None, texts[path]}]
        if not force and directory.exists() and any(directory.iterdir()):
            raise _not_empty(directory, differing)
        for path, text in texts.items():
            if held[path] != text:
                _write(directory / path, text)
    except OSError as cause:
        raise InputError(
            f"The app cannot be written to {directory}: {cause.strerror or cause}"
            f"{f' ({cause.filename})' if cause.filename else ''}. Name another directory.",
            path=str(directory),
        ) from cause
    return Written(
        written=tuple(path for path in texts if held[path] is None),
        replaced=tuple(differing),
        unchanged=tuple(path for path, text in texts.items() if held[path] == text),
    )


def _knob_lines() -> Iterator[str]:
    """For each knob its meaning, its default and range, and the variable with the default."""
    for entry in entries("policy"):
        yield (
            f"# {entry.meaning}.\n"
            f"# Default {entry.default}. {entry.range.capitalize()}.{_older(entry.name)}\n"
            f"# {entry.environment}={entry.default}"
        )


def _older(field: str) -> str:
    names = [environment_name(old) for old in older_names(field)]
    return (
        f"\n# Older name, read where the newer is not given: {', '.join(names)}." if names else ""
    )


def _requirement() -> str:
    """This package with what the worker needs, in this version or a newer one."""
    try:
        return f"{_DISTRIBUTION}[worker]>={version(_DISTRIBUTION)}"
    except PackageNotFoundError:
        return f"{_DISTRIBUTION}[worker]"


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: words[found[1]], text)


def _text(directory: Path, path: str) -> str | None:
    """What a file holds, or none where there is none; what is no text differs from any text."""
    try:
        return (directory / path).read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    """Put a whole file in its place, or leave what was there; a link is replaced, not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        made = Path(folder) / path.name
        made.write_text(text, encoding="utf-8", newline="\n")
        made.replace(path)


def _not_empty(directory: Path, differing: list[str]) -> InputError:
    loss = (
        f"--force would replace {', '.join(differing)}"
        if differing
        else "--force would replace nothing that is there"
    )
    return InputError(
        f"The directory {directory} is not empty. Name a new one; {loss}.",
        path=str(directory),
        differing=differing,
    )


def _refused(name: str, reason: str) -> InputError:
    return InputError(
        f"The app cannot be called {name!r}: {reason}. Name it with --name, such as night-shift.",
        name=name,
    )
