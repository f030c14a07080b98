"""Which messages of a ChatGPT conversation are the conversation.

Every edit and every second answer is a branch of one tree, kept in the export for good. What was
said is the path from the current node up to the root; mixed with the other branches, answers
that were discarded would stand as if they had been given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The node ids of a conversation that have a message, by where they stand.

    ``active`` is the path, root first, and ``guessed`` says that no current node named it.
    ``inactive`` are other branches, and ``lost`` nodes that no parent joins to either.
    """

    active: tuple[str, ...]
    inactive: tuple[str, ...]
    lost: tuple[str, ...]
    guessed: bool


def branches(nodes: Mapping[str, Any], current: object) -> Branches:
    """The branches of ``nodes``, each an object with ``parent``, ``children`` and ``message``.

    A node whose parent is missing hangs on the one that names it as its child. Where that fails
    too, or parents lead round in a circle, the path begins there. Without a current node the path
    is the one to the leaf that was said last.
    """
    parents = _parents(nodes)
    known = isinstance(current, str) and current in nodes
    leaf = str(current) if known else _last_leaf(nodes, parents)
    path = _climb(leaf, parents, set()) if leaf is not None else []
    joined = set(path)
    whole = not path or _is_root(path[-1], nodes)
    lost: set[str] = set()
    placed = set(path)
    for key in nodes:
        climbed = _climb(key, parents, placed)
        if not climbed:
            continue
        placed.update(climbed)
        above = parents.get(climbed[-1])
        is_branch = above in joined or (whole and _is_root(climbed[-1], nodes))
        (joined if is_branch else lost).update(climbed)
    on_path = set(path)
    said = [key for key in nodes if _has_message(nodes[key])]
    return Branches(
        active=tuple(key for key in reversed(path) if _has_message(nodes[key])),
        inactive=tuple(key for key in said if key in joined and key not in on_path),
        lost=tuple(key for key in said if key in lost),
        guessed=not known,
    )


def _parents(nodes: Mapping[str, Any]) -> dict[str, str]:
    parents: dict[str, str] = {}
    for key, node in nodes.items():
        children = node.get("children") if isinstance(node, Mapping) else None
        for child in children if isinstance(children, (list, tuple)) else ():
            if isinstance(child, str) and child in nodes and child != key:
                parents.setdefault(child, key)
    for key, node in nodes.items():
        stated = node.get("parent") if isinstance(node, Mapping) else None
        if isinstance(stated, str) and stated in nodes and stated != key:
            parents[key] = stated
    return parents


def _climb(key: str, parents: Mapping[str, str], known: set[str]) -> list[str]:
    """The nodes from ``key`` up to a root, a known one or one that was passed before."""
    climbed: dict[str, None] = {}
    at: str | None = key
    while at is not None and at not in known and at not in climbed:
        climbed[at] = None
        at = parents.get(at)
    return list(climbed)


def _is_root(key: str, nodes: Mapping[str, Any]) -> bool:
    """Whether a node stands at the top by its own word, and not because its parent is missing."""
    node = nodes[key]
    return isinstance(node, Mapping) and node.get("parent") in (None, "")


def _has_message(node: object) -> bool:
    return not isinstance(node, Mapping) or node.get("message") is not None


def _last_leaf(nodes: Mapping[str, Any], parents: Mapping[str, str]) -> str | None:
    above = set(parents.values())
    said = [key for key, node in nodes.items() if _has_message(node)]
    leaves = [key for key in said if key not in above] or said or list(nodes)
    order = {key: number for number, key in enumerate(leaves)}
    return max(leaves, key=lambda key: (_time(nodes[key]), order[key]), default=None)


def _time(node: object) -> float:
    message = node.get("message") if isinstance(node, Mapping) else None
    at = message.get("create_time") if isinstance(message, Mapping) else None
    if isinstance(at, (int, float)) and abs(at) < 2**63 and math.isfinite(at):
        return float(at)
    return -math.inf
