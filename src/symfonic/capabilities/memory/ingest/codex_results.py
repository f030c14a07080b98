"""What a Codex call gave back, and whether it worked.

A result is text, JSON inside text, an object or a list of parts, by the age of the program that
wrote it; the exit code stands in the JSON, in a line of the text, or nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.codex_texts import texts_of
from symfonic.capabilities.memory.ingest.document import DECODER
from symfonic.capabilities.memory.ingest.openai_messages import worked

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD: Final = 1000
_EXIT: Final = re.compile(
    r"^(?:Exit code:|Process exited with code|(?:exec_)?command exited with code)\s*(-?\d{1,10})\b",
    re.MULTILINE | re.IGNORECASE,
)
_REFUSED: Final = re.compile(
    r"\s*(?:aborted\b|execution error|failed to parse|failed in sandbox|unsupported c|"
    r"exec_command failed|apply_patch verification failed|script (?:failed|error)|"
    r"(?:command|exec) timed out|command timed out|patch rejected|exec command rejected|"
    r"write_stdin failed|tool call error|(?:user )?rejected by user)",
    re.IGNORECASE,
)
_CODES: Final = ("exit_code", "exitCode", "returncode")
_DEPTH: Final = 4


def result_of(output: object, flags: list[str]) -> tuple[str, bool]:
    """The text of a result, and whether its call worked: anything but a sign of failure.

    Raises ``Unreadable`` for an output that is no text, object or list of parts.
    """
    if isinstance(output, Mapping):
        text, ok = _from_object(output)
        if text is None:
            text, ok_inside = result_of(output.get("content"), flags)
            ok = ok and ok_inside
        return text, ok
    parts = [_from_text(text) for text in texts_of(output, flags)]
    return "\n".join(text for text, _ in parts if text), all(ok for _, ok in parts)


def _from_text(text: str) -> tuple[str, bool]:
    if text[:200].lstrip().startswith("{"):
        try:
            found = DECODER.decode(text)
        except (ValueError, RecursionError):
            return text, _reads_well(text)
        inner, ok = _from_object(found)
        if inner is not None:
            return inner, ok and (_states_code(found) or _reads_well(inner))
        return text, ok
    return text, _reads_well(text)


def _from_object(found: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The output that an object states, if it does, and whether it tells of a success."""
    output = found.get("output")
    ok = all(worked(each, "") and not _ended_badly(each) for each in _levels(found))
    return output if isinstance(output, str) else None, ok


def _states_code(found: Mapping[str, Any]) -> bool:
    return any(name in level for level in _levels(found) for name in _CODES)


def _levels(found: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    yield found
    for key in ("metadata", "result"):
        held = found.get(key)
        if isinstance(held, Mapping) and depth < _DEPTH:
            yield from _levels(held, depth + 1)


def _ended_badly(told: Mapping[str, Any]) -> bool:
    codes = (told.get(name) for name in _CODES)
    return (
        any(isinstance(code, int) and code != 0 for code in codes)
        or told.get("success") is False
        or bool(told.get("error"))
        or told.get("timed_out") is True
    )


def _reads_well(text: str) -> bool:
    head = text[:_HEAD]
    code = _EXIT.search(head)
    if code is not None:
        return int(code[1]) == 0
    return _REFUSED.match(head) is None and worked({}, text if head.lstrip()[:1] != "{" else "")
