"""What values a knob may have, and what is said when it has another.

The policy, the retention policy and the run limits check their fields with the same four kinds of
range, so that a number that is refused on the command line is refused in a file, in the environment
and in Python, with the same words. Each range knows three things: which values it admits, how it is
described to a person, and what a text stands for.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from dataclasses import dataclass
from typing import Any

from symfonic.capabilities.memory.errors import PolicyError

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SHOWN_LENGTH = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """True or false. A number is not a flag, so that ``0`` and ``1`` stay counts."""

    def __str__(self) -> str:
        return "true or false"

    def keep(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise TypeError(value)
        return value

    def read(self, text: str) -> object:
        return _WORDS.get(text.strip().lower(), text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """A whole number without an upper bound; with ``optional``, also none.

    ``True`` is refused although Python counts it as 1: it is always a flag in the wrong place.
    """

    at_least: int
    optional: bool = False

    def __str__(self) -> str:
        return f"a whole number, at least {self.at_least}{', or none' if self.optional else ''}"

    def keep(self, value: object) -> int | None:
        if value is None and self.optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(value)
        if value < self.at_least:
            raise ValueError(value)
        return int(value)

    def read(self, text: str) -> object:
        if self.optional and text.strip().lower() == "none":
            return None
        try:
            return int(text)
        except ValueError:
            return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A finite number, kept as float, so that ``1`` and ``1.0`` give the same fingerprint."""

    at_least: float
    at_most: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.at_most):
            return f"a number, at least {self.at_least:g}"
        return f"a number from {self.at_least:g} to {self.at_most:g}"

    def keep(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(value)
        number = float(value) + 0.0  # minus zero becomes zero
        if not (math.isfinite(number) and self.at_least <= number <= self.at_most):
            raise ValueError(value)
        return number

    def read(self, text: str) -> object:
        try:
            return float(text)
        except ValueError:
            return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text that says something; with ``choices``, one of those words exactly."""

    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        return "a text that is not empty"

    def keep(self, value: object) -> str:
        if not isinstance(value, str):
            raise TypeError(value)
        if not value.strip() or (self.choices and value not in self.choices):
            raise ValueError(value)
        return str.__str__(value)

    def read(self, text: str) -> object:
        return text.strip()


Range = Flag | Whole | Number | Text
"""``keep`` gives a value back as the knob stores it, or raises a built-in error; ``read`` gives
what a text stands for, or the text itself where it stands for nothing, which ``keep`` refuses."""


def kept(field: str, value: object, allowed: Range, *, source: str = "") -> Any:  # noqa: ANN401
    """The value as the knob stores it: an int of a float knob as float, all else unchanged.

    ``source`` says where the value was written, for the message.

    Raises ``PolicyError`` naming field, value and range.
    """
    try:
        return allowed.keep(value)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(
            f"{field} is {_shown(value)}{f' ({source})' if source else ''}; it must be {allowed}.",
            field=field,
            value=value,
            range=str(allowed),
        ) from None


def field_notes(knobs: type) -> dict[str, str]:
    """The string under each field of a class, by field name, as one line.

    Python drops these strings when it compiles a class, so they are read from its source. Only the
    reference page needs them; nothing reads them while a run is prepared.
    """
    body = ast.parse(textwrap.dedent(inspect.getsource(knobs))).body[0]
    notes: dict[str, str] = {}
    field = ""
    for statement in body.body if isinstance(body, ast.ClassDef) else ():
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                field = name
            case ast.Expr(value=ast.Constant(value=str(note))) if field:
                notes[field] = " ".join(note.split())
                field = ""
            case _:
                field = ""
    return notes


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_LENGTH else f"{shown[: _SHOWN_LENGTH - 3]}..."
