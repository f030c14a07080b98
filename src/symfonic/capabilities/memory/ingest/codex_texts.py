"""What a person or an agent said in a Codex record, without what the program put around it.

Codex hands the model its surroundings, its instructions and an editor's open tabs in the user's
name. Taken for speech, every session would have a user who lists directories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.ingest.turns import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPERS: Final = (
    "environment_context", "user_instructions", "INSTRUCTIONS", "permissions instructions",
    "permissions_instructions", "collaboration_mode", "turn_aborted", "user_shell_command",
    "skill", "skills_instructions", "apps_instructions", "plugins_instructions",
    "model_switch", "personality_spec", "subagent_notification", "user_action", "hook_prompt",
    "environments_instructions",
)  # fmt: skip
"""The tags of blocks that the program writes into a message."""

_AGENTS_FILE: Final = "# AGENTS.md instructions for "
_EDITOR: Final = "# Context from my IDE setup:"
_REQUEST: Final = "## My request for Codex:"
_TEXT_PARTS: Final = frozenset({"input_text", "output_text", "text", "summary_text"})


def without_wrappers(text: str) -> str:
    """``text`` from where a person's own words begin; empty where there are none."""
    while True:
        text = text.strip()
        if text.startswith(_AGENTS_FILE):
            at = text.find("<INSTRUCTIONS>")
            if at < 0:
                return ""
            text = text[at:]
        rest = _after_block(text)
        if rest is None:
            break
        text = rest
    if text.startswith(_EDITOR) and _REQUEST in text:
        return text.split(_REQUEST, 1)[1].strip()
    return text


def _after_block(text: str) -> str | None:
    """What follows the block of a wrapper that ``text`` begins with, if it begins with one.

    The last closing tag counts where the text ends with it: instructions quote their own tag.
    """
    for tag in _WRAPPERS if text.startswith("<") else ():
        begin, end = f"<{tag}>", f"</{tag}>"
        if not text.startswith(begin) or end not in text:
            continue
        if text.endswith(end) and text.count(begin) == 1:
            return ""
        return text[text.index(end) + len(end) :]
    return None


def texts_of(content: object, flags: list[str]) -> Iterator[str]:
    """The texts of a message's content, in order; pictures and files are flagged."""
    if isinstance(content, str):
        yield content
        return
    if content is None:
        return
    if not isinstance(content, (list, tuple)):
        raise Unreadable(f"content is {type(content).__name__}, not text or a list of parts")
    for part in content:
        if isinstance(part, str):
            yield part
            continue
        if not isinstance(part, Mapping):
            raise Unreadable(f"a part of content is {type(part).__name__}, not an object")
        text, kind = part.get("text"), part.get("type")
        if isinstance(text, str):
            if not isinstance(kind, str) or kind not in _TEXT_PARTS:
                flags.append("unknown_content")
            if text.strip() not in ("<image>", "</image>"):
                yield text
        else:
            flags.append("attachment")
