"""Whose memory it is: a root-first path such as ``acme/ana/support``.

A reader at a scope sees its own records and its ancestors', never a sibling's or a
descendant's. A scope is always stated: a missing one is an error and never means "all",
because the day it does, one tenant reads another's memory.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from symfonic.capabilities.memory.errors import ScopeError

MAX_DEPTH = 16
MAX_PART_LENGTH = 200


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """A validated scope path; ``str()`` gives the path back.

    Parts are normalised to NFC, so that two spellings of one name are one scope. At most
    16 parts of at most 200 characters each.
    """

    path: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", _validated(self.path))

    def __str__(self) -> str:
        return self.path

    @property
    def visible(self) -> tuple[str, ...]:
        """This scope and its ancestors, nearest first: what a reader here may see."""
        parts = self.path.split("/")
        return tuple("/".join(parts[:n]) for n in range(len(parts), 0, -1))


def _validated(path: str) -> str:
    if not isinstance(path, str):
        raise ScopeError(
            f"A scope is a path such as 'acme/ana', not {type(path).__name__}.", path=repr(path)
        )
    shown = path if len(path) <= 80 else path[:77] + "..."
    if not path.strip():
        raise ScopeError("The scope is empty. Name one, for example --scope acme/ana.", path=shown)
    parts = unicodedata.normalize("NFC", path).split("/")
    if len(parts) > MAX_DEPTH:
        raise ScopeError(
            f"The scope {shown!r} has {len(parts)} levels; at most {MAX_DEPTH} are allowed.",
            path=shown,
            levels=len(parts),
        )
    for part in parts:
        _check_part(part, shown)
    return "/".join(parts)


def _check_part(part: str, shown: str) -> None:
    if not part or part != part.strip():
        problem = "an empty part or one with spaces at its ends"
    elif part in {".", ".."}:
        problem = f"the part {part!r}, which names no scope"
    elif len(part) > MAX_PART_LENGTH:
        problem = f"a part longer than {MAX_PART_LENGTH} characters"
    elif any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in part):
        problem = "a control or invisible character"
    else:
        return
    raise ScopeError(
        f"The scope {shown!r} has {problem}. Write it as parts joined by '/', like 'acme/ana'.",
        path=shown,
    )
