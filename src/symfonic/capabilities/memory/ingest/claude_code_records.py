"""One record of a Claude Code transcript: whose words it holds, if anybody's.

Much of what a transcript writes under ``user`` no user said: results of calls, reminders, hook
output, expanded commands, summaries, prompts for sub-agents. Taken for the user's words they would
become facts about the user. What only serves the client is left out; what tells something about the
work stays as a ``system`` turn with a flag, since nothing is learned from those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symfonic.capabilities.memory.ingest.anthropic_blocks import Content, content_of
from symfonic.capabilities.memory.ingest.claude_code_tree import Tree, is_sidechain
from symfonic.capabilities.memory.ingest.turns import (
    Context,
    Unreadable,
    identifier,
    moment,
    session_of,
    sorted_flags,
)
from symfonic.capabilities.memory.store import Turn

if TYPE_CHECKING:
    from symfonic.capabilities.memory.records import Role

_INSERTED: Final = (
    r"system-reminder|local-command-[a-z]{1,20}|bash-stdout|bash-stderr|command-message"
    r"|command-contents|task-notification|teammate-message|environment_context|new-diagnostics"
    r"|ide_[a-z_]{1,40}|[a-z-]{1,40}-hook"
)
_OPENING: Final = re.compile(
    rf"(?:^[ \t]*|(?<=>)\s{{0,20}})<(?P<name>{_INSERTED})(?:\s[^<>]{{0,500}})?>", re.MULTILINE
)
_COMMAND: Final = re.compile(r"\s*<command-(?:name|message|args|contents)>")
_INTERRUPTED: Final = "[Request interrupted by user"
_CONTINUED: Final = "This session is being continued from a previous conversation"
_LONGEST_MARK: Final = 60  # characters of a mark that the client writes for an interruption


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A record as a turn in the making: ``turn`` has all but the text, ``content`` the rest.

    ``message`` is the id that the lines of one assistant's message share.
    """

    turn: Turn
    content: Content
    message: str | None = None


def line_of(record: Mapping[str, Any], context: Context, session: str) -> Line | None:
    """What a record says, or nothing where it says nothing. Raises ``Unreadable``.

    Types that are not known say nothing: the client adds some with every version.
    """
    kind = record.get("type")
    if kind == "attachment":
        return _queued(record, context, session)
    if kind == "summary" and isinstance(record.get("message"), Mapping):
        content = content_of(_content(record), lenient=True)
        return _line(record, context, session, "system", content, ["compaction_summary"])
    if kind == "user":
        return _user(record, context, session)
    if kind != "assistant":
        return None
    content = content_of(_content(record), lenient=True)
    message = record["message"]
    if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return _line(record, context, session, "system", content, ["client_message"])
    name = identifier(message.get("id"), "the id of the message")
    return _line(record, context, session, "assistant", content, [], name)


def session_named(record: Mapping[str, Any], context: Context, tree: Tree) -> str:
    """The session that a record belongs to.

    A copy of another session's message belongs to that one, so it is the same turn there and no
    second one here. Talk with a sub-agent is a session of its own. Raises ``Unreadable``.
    """
    forked = record.get("forkedFrom")
    given = record.get("sessionId")
    if isinstance(forked, Mapping) and isinstance(forked.get("sessionId"), str):
        given = forked["sessionId"]
    session = identifier(given, "sessionId") or session_of(record, context.session)
    if not is_sidechain(record):
        return session
    agent = identifier(record.get("agentId"), "agentId")
    if agent is not None:
        return f"{session}/agent-{agent}"
    uuid = record.get("uuid")
    root = tree.roots.get(uuid) if isinstance(uuid, str) else None
    first = identifier(root or record.get("parentUuid"), "parentUuid")
    return f"{session}/sidechain" if first is None else f"{session}/sidechain-{first}"


def said(text: str) -> tuple[str, str | None]:
    """What a user wrote of a text, and a flag where it is no speech.

    Blocks that the client put in are taken out where they begin a line: within a sentence they are
    spoken of. A command without arguments says nothing.
    """
    if _COMMAND.match(text):
        name, arguments = _inside(text, "command-name"), _inside(text, "command-args")
        return (f"{name} {arguments}".strip() if arguments else ""), "command"
    if text.lstrip().startswith("<bash-input>"):
        command = _inside(text, "bash-input")
        return (f"! {command}" if command else ""), "command"
    rest = _without_inserted(text)
    stripped = rest.strip()
    if stripped.startswith(_INTERRUPTED) and len(stripped) < _LONGEST_MARK:
        return stripped, "interrupted"
    if stripped.startswith(_CONTINUED):
        return rest, "compaction_summary"
    return rest, None


def _user(record: Mapping[str, Any], context: Context, session: str) -> Line | None:
    content = content_of(_content(record), lenient=True)
    if record.get("isMeta") is True:
        content.texts.clear()
        content.flags = [flag for flag in content.flags if flag != "attachment"]
    outcome = record.get("toolUseResult")
    if isinstance(outcome, Mapping) and outcome.get("backgroundTaskId"):
        content.left_running()
    flags: list[str] = []
    if record.get("isCompactSummary") is True or record.get("isVisibleInTranscriptOnly") is True:
        flags.append("compaction_summary")
    else:
        pairs = [said(text) for text in content.texts]
        content.texts = [text for text, _ in pairs if text.strip()]
        flags += [flag for text, flag in pairs if flag is not None and text.strip()]
        flags += _by_machine(record)
    if not content.speaks and not content.results:
        return None
    role: Role = "system" if flags and content.speaks else "user"
    return _line(record, context, session, role, content, flags if content.speaks else [])


def _queued(record: Mapping[str, Any], context: Context, session: str) -> Line | None:
    """What a user wrote while the agent was working; other attachments are the client's."""
    held = record.get("attachment")
    if not isinstance(held, Mapping) or held.get("type") != "queued_command":
        return None
    if held.get("commandMode") not in (None, "prompt") or held.get("isMeta") is True:
        return None
    message = {"role": "user", "content": held.get("prompt")}
    origin = held.get("origin", record.get("origin"))
    return _user({**record, "message": message, "origin": origin}, context, session)


def _by_machine(record: Mapping[str, Any]) -> list[str]:
    """A flag where words under ``user`` were written by an agent or the client."""
    origin = record.get("origin")
    if is_sidechain(record):
        return ["agent_prompt"]
    if isinstance(origin, Mapping) and origin.get("kind") not in (None, "human"):
        return ["notification"]
    return []


def _content(record: Mapping[str, Any]) -> object:
    message = record.get("message")
    if not isinstance(message, Mapping):
        raise Unreadable(f"message is {type(message).__name__}, not an object")
    return message.get("content")


def _line(
    record: Mapping[str, Any],
    context: Context,
    session: str,
    role: Role,
    content: Content,
    flags: list[str],
    message: str | None = None,
) -> Line:
    forked = record.get("forkedFrom")
    uuid = record.get("uuid")
    if isinstance(forked, Mapping) and isinstance(forked.get("messageUuid"), str):
        uuid = forked["messageUuid"]
    occurred_at = moment(record.get("timestamp"), context, flags)
    turn = Turn(
        session=session,
        position=None,
        role=role,
        text="",
        importer=context.importer,
        occurred_at=occurred_at,
        source_id=identifier(uuid, "uuid"),
        flags=sorted_flags(flags),
        anywhere=True,
    )
    return Line(turn=turn, content=content, message=message)


def _inside(text: str, tag: str) -> str:
    """What stands between a tag and its end, or to the end of the text."""
    _, opening, rest = text.partition(f"<{tag}>")
    return rest.partition(f"</{tag}>")[0].strip() if opening else ""


def _without_inserted(text: str) -> str:
    if "<" not in text:
        return text
    kept: list[str] = []
    begin = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        name = opening["name"]
        if opening.start() < begin or name in unclosed:
            continue
        end = text.find(f"</{name}>", opening.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(text[begin : opening.start()])
        begin = end + len(name) + 3
    return "".join([*kept, text[begin:]]).strip() if kept else text
