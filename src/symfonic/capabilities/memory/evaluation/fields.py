"""The values of a file of conversations, each with its path, so that an error says where it is.

A path is written as jq writes it: ``[2].qa[3].evidence``. In a file of lines it begins at the
value that stands in the named one.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.detect import is_document
from symfonic.capabilities.memory.ingest.document import pieces_of_document, pieces_of_lines
from symfonic.capabilities.memory.ingest.normalise import label, prose
from symfonic.capabilities.memory.ingest.source import Source
from symfonic.capabilities.memory.ingest.times import TimeProblem, ZoneMissing, read_time
from symfonic.capabilities.memory.records import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from symfonic.capabilities.memory.records import Role

_NAMES: Final = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


class Value:
    """A JSON value and where it stands. What is asked of it is checked.

    Its methods raise ``InputError``, naming the file, the line and the path.
    """

    def __init__(self, content: object, *, file: Path, line: int, path: str = "") -> None:
        self.content: Any = content
        self.file = file
        self.line = line
        self.path = path

    def wrong(self, problem: str) -> NoReturn:
        """Refuse the value."""
        where = self.path or "the value"
        raise InputError(
            f"{self.file}, line {self.line}: {where} {problem}.", path=str(self.file),
            line=self.line, json_path=self.path,
        )  # fmt: skip

    def get(self, name: str) -> Value | None:
        """A field of an object; ``None`` where it is missing or null."""
        found = self._expect(dict).get(name)
        return None if found is None else self._at(found, f".{name}")

    def need(self, name: str) -> Value:
        """A field that must be there."""
        found = self.get(name)
        if found is None:
            self._at(None, f".{name}").wrong("is missing")
        return found

    def names(self) -> list[str]:
        """The names of an object's fields."""
        return list(self._expect(dict))

    def items(self) -> list[Value]:
        """The values of a list."""
        return [self._at(one, f"[{n}]") for n, one in enumerate(self._expect(list))]

    def text(self) -> str:
        """A text as memory would be given it: whole characters, no secrets."""
        return prose(self._expect(str), [])

    def name(self) -> str:
        """A short text on one line, not blank; a whole number is written out."""
        plain = self.content
        if isinstance(plain, int) and not isinstance(plain, bool):
            plain = str(plain)
        if not isinstance(plain, str) or not plain.strip():
            self.wrong("is no name: text that is not blank, or a whole number")
        return " ".join(label(plain).split())

    def flag(self) -> bool:
        """True or false."""
        return bool(self._expect(bool))

    def whole(self) -> int:
        """A whole number."""
        if isinstance(self.content, bool) or not isinstance(self.content, int):
            self.wrong("is no whole number")
        return self.content

    def role(self) -> Role:
        """The role of who speaks."""
        if self.content not in ROLES:
            self.wrong(f"is none of {', '.join(ROLES)}")
        role: Role = self.content
        return role

    def moment(self) -> datetime | None:
        """An ISO 8601 time with its zone, in UTC; empty text is no time."""
        try:
            return read_time(self.content, None)[0]
        except ZoneMissing:
            self.wrong("names no zone; write a time such as 2026-09-21T02:00Z")
        except TimeProblem as cause:
            self.wrong(f"is no time: {cause}")

    def stamp(self, form: str, shown: str) -> datetime:
        """A time in a set's own form, which names no zone and is taken as UTC."""
        try:
            return datetime.strptime(f"{self._expect(str).strip()} +0000", f"{form} %z")
        except ValueError:
            self.wrong(f"is no time such as {shown!r}")

    def _expect(self, kind: type[Any]) -> Any:  # noqa: ANN401 - what JSON holds
        if not isinstance(self.content, kind):
            self.wrong(f"is not {_NAMES[kind]}")
        return self.content

    def _at(self, content: object, step: str) -> Value:
        return Value(content, file=self.file, line=self.line, path=f"{self.path}{step}")


def values_of(path: Path) -> Iterator[Value]:
    """The values of a JSON list, or one of each line, one held at a time.

    Raises ``InputError`` for what cannot be opened or is no JSON, and where there is none.
    """
    source = Source(path)
    is_list = source.head_text().lstrip().startswith("[")
    try:
        if is_document(source.head_text()):
            pieces = pieces_of_document(source, offset=0, line=1, number=0)
        else:
            pieces = pieces_of_lines(source.lines(offset=0, number=0))
        is_empty = True
        for number, piece in enumerate(pieces):
            is_empty = False
            place = f"[{number}]" if is_list else ""
            value = Value(piece.value, file=path, line=piece.line, path=place)
            if piece.problem is not None:
                value.wrong(f"cannot be read: {piece.problem}")
            yield value
        if is_empty:
            raise InputError(f"{path} holds nothing.", path=str(path))
    finally:
        source.close()
