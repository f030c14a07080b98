"""Procedures as Agent Skills: a folder with a ``SKILL.md`` that any agent of the format can load.

The text in it was said by strangers and by models. It is written so that none of it can become
something else: names and paths are made of letters, digits and hyphens, every scalar of the front
matter is quoted, and each stored text stays on the line that it was put on. A folder is replaced
only where this module wrote it and nobody has changed it since.

Source: the Agent Skills specification, https://agentskills.io/specification
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.redact import redact
from symfonic.capabilities.memory.records import Procedure, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from symfonic.capabilities.memory.records import Plain, Record, RecordId, Step

FILE: Final = "SKILL.md"
NAME_CHARACTERS: Final = 64
DESCRIPTION_CHARACTERS: Final = 1024
"""The specification's bounds."""

_SHOWN_EVIDENCE: Final = 8
_ID_IN_NAME: Final = 8
_NOT_APPROVED: Final = "DRAFT, approved by nobody:"
_OWNER: Final = re.compile(r'^  symfonic-procedure: "(?P<id>[^"\n]+)"$', re.MULTILINE)
_DIGEST: Final = re.compile(r'^  symfonic-digest: "(?P<digest>[0-9a-f]+)"\n', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A procedure as a skill: its folder's name, and what its file says."""

    procedure: RecordId
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The folders of an export, and those of earlier ones whose procedure is not among them."""

    skills: tuple[Path, ...]
    stale: tuple[Path, ...]


def skills_of(procedures: Sequence[tuple[Record, Sequence[Record]]]) -> list[Skill]:
    """A skill for each procedure, given with its evidence; in the order of their names.

    A name comes from the title and the beginning of the id, so that it stays when others come and
    go; where two would still be alike, from the whole id.
    """
    short = Counter(_name(record, _ID_IN_NAME) for record, _ in procedures)
    found = []
    for record, evidence in procedures:
        name = _name(record, _ID_IN_NAME)
        if short[name] > 1:
            name = _name(record, len(record.id))
        found.append(Skill(procedure=record.id, name=name, text=_file(record, name, evidence)))
    return sorted(found, key=lambda skill: skill.name)


def write_skills(skills: Iterable[Skill], directory: Path) -> Written:
    """Write each skill into a folder of its own under ``directory``, which is made if need be.

    All folders are looked at before one is written. Other files in a skill's folder are left
    alone, and folders of procedures that are no longer exported are named and not removed.

    Raises ``InputError`` where a folder is in the way that was not written here or was changed
    since, or where nothing can be written.
    """
    wanted = list(skills)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for skill in wanted:
            _refuse_others(directory / skill.name, skill)
        for skill in wanted:
            _replace(directory / skill.name, skill.text)
        names = {skill.name for skill in wanted}
        there = sorted(path for path in directory.iterdir() if path.name not in names)
        stale = tuple(path for path in there if _owner(path) is not None)
    except OSError as cause:
        raise InputError(
            f"Skills cannot be written to {directory}: {cause.strerror or cause}. "
            "Name another directory.",
            path=str(directory),
        ) from cause
    return Written(skills=tuple(directory / skill.name for skill in wanted), stale=stale)


def _name(record: Record, id_characters: int) -> str:
    """Lower-case ASCII letters, digits and single hyphens: words of the title, then the id."""
    plain = unicodedata.normalize("NFKD", _content(record).title).encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", plain.lower())
    end = "".join(re.findall("[a-z0-9]+", record.id.lower()))[:id_characters]
    room = NAME_CHARACTERS - len(end) - 1
    while len(words) > 1 and len("-".join(words)) > room:
        words.pop()
    stem = "-".join(words)[:room] or "procedure"
    return f"{stem}-{end}"


def _file(record: Record, name: str, evidence: Sequence[Record]) -> str:
    body = "\n".join(_body(record, evidence))
    head = [
        "---",
        f"name: {_quoted(name)}",
        f"description: {_quoted(_description(record))}",
        "metadata:",
        f"  symfonic-procedure: {_quoted(record.id)}",
        f"  symfonic-status: {_quoted(record.status or '')}",
    ]
    text = "\n".join([*head, "---", "", body, ""])
    return "\n".join([*head, f'  symfonic-digest: "{_digest(text)}"', "---", "", body, ""])


def _description(record: Record) -> str:
    """What it does and when, in one line without what a reader might take for a tag."""
    content = _content(record)
    said = f"{content.title}. "
    if content.trigger and content.trigger != content.title:
        said += f"Use when: {content.trigger}. "
    if record.status != "approved":
        said = f"{_NOT_APPROVED} {said}"
    seen = f"Seen in {_counted(content.support, 'session')}."
    room = DESCRIPTION_CHARACTERS - len(seen) - 2
    told = _line(said).translate({ord("<"): "‹", ord(">"): "›"})
    told = told if len(told) <= room else f"{told[: room - 1].rstrip()}…"
    return f"{told} {seen}"


def _body(record: Record, evidence: Sequence[Record]) -> list[str]:
    content = _content(record)
    lines = [f"# {_prose(content.title)}", ""]
    if record.status != "approved":
        lines += [f"**{_NOT_APPROVED}** do not follow it before a person has decided.", ""]
    if content.trigger and content.trigger != content.title:
        lines += ["## When", "", _prose(content.trigger, begins_line=True), ""]
    lines += ["## Steps", ""]
    of_calls = content.origin == "calls"
    for number, step in enumerate(content.steps, 1):
        lines += _step(number, step, is_call=of_calls)
    if any(
        f"{{{name}}}" == value for step in content.steps for name, value in step.arguments.items()
    ):
        lines += ["", "A value in braces differs from time to time: take it from the conversation."]
    lines += ["", "## Support", ""]
    lines.append(
        f"Seen in {_counted(content.support, 'session')}: {content.successes} succeeded, "
        f"{content.failures} failed."
    )
    if content.decided_by and content.decided_at:
        lines.append(f"{(record.status or '').capitalize()} by {_prose(content.decided_by)}, ")
        lines[-1] += f"{_prose(str(content.decided_at))}."
    lines += [
        "",
        "## Evidence",
        "",
        f"{_counted(len(evidence), 'turn')} in memory, the latest:",
        "",
    ]
    for turn in sorted(evidence, key=lambda one: one.order)[-_SHOWN_EVIDENCE:]:
        lines.append(f"- {turn.at:%Y-%m-%d} {_code(turn.id)}")
    return lines


def _step(number: int, step: Step, *, is_call: bool) -> list[str]:
    shown = _code(step.action) if is_call else _prose(step.action)
    return [f"{number}. {shown}"] + [
        f"   - {_code(name)}: {_code(_value(value))}" for name, value in step.arguments.items()
    ]


def _value(value: Plain) -> str:
    return value if isinstance(value, str) else canonical(value)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _content(record: Record) -> Procedure:
    if not isinstance(record.content, Procedure):
        raise TypeError(record.kind)
    return record.content


def _line(text: str) -> str:
    """Text on one line, secrets taken out again, without characters that are not for reading."""
    one = " ".join(redact(text).split())
    shown = "".join(character if character.isprintable() else "\ufffd" for character in one)
    return re.sub("-{3,}", "—", shown)


def _prose(text: str, *, begins_line: bool = False) -> str:
    """Text that no markup can begin in; at the beginning of a line also no list and no heading."""
    shown = re.sub(r"[<`]", lambda match: f"\\{match[0]}", _line(text))
    return re.sub(r"\A(?=[#>|+*=~-]|\d+[.)])", r"\\", shown) if begins_line else shown


def _code(text: str) -> str:
    """Text as code, between more backticks than there are in it in a row."""
    shown = _line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _quoted(text: str) -> str:
    """A YAML scalar in double quotes; ``text`` has one line and only readable characters."""
    escaped = _line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _owner(folder: Path) -> str | None:
    """The procedure that a folder was written for; ``None`` where it was not written here."""
    file = folder / FILE
    if folder.is_symlink() or file.is_symlink() or not file.is_file():
        return None
    head, mark, _ = _read(file).removeprefix("---").partition("\n---\n")
    found = _OWNER.search(head) if mark else None
    return found["id"] if found else None


def _refuse_others(folder: Path, skill: Skill) -> None:
    if not folder.is_symlink() and not folder.exists():
        return
    text = _read(folder / FILE) if _owner(folder) == skill.procedure else ""
    stated = _DIGEST.search(text)
    if stated is None:
        problem = "was not written by an export of this procedure"
    elif _digest(_DIGEST.sub("", text, count=1)) != stated["digest"]:
        problem = "was changed since it was exported"
    else:
        return
    raise InputError(
        f"{folder} {problem}. Nothing was written. Move it away, or export to another directory.",
        path=str(folder),
    )


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8", errors="replace")


def _replace(folder: Path, text: str) -> None:
    """Write the folder's file whole or not at all."""
    folder.mkdir(exist_ok=True)
    unfinished = folder / f".{FILE}.unfinished"
    unfinished.unlink(missing_ok=True)
    unfinished.write_bytes(text.encode())
    unfinished.replace(folder / FILE)
