"""Where a run's knobs come from: defaults, a TOML file, the environment, flags; each over the last.

An entry point calls ``resolve`` once and hands the environment in; nothing is read at import. Each
value carries its source, so that a report can say why a run behaved as it did. An entry point that
reads its environment in another way has the names and the reading of one value from here too.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory import limits, policy, retention
from symfonic.capabilities.memory.errors import InputError, PolicyError
from symfonic.capabilities.memory.knobs import Range, kept
from symfonic.capabilities.memory.limits import RunLimits
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.retention import RetentionPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

PREFIX = "SYMFONIC_"

TABLES: Mapping[str, Mapping[str, Range]] = {
    "policy": policy.RANGES,
    "retention": retention.RANGES,
    "limits": limits.RANGES,
}
"""The tables of a knob file, and the knobs of each. No name stands in two of them."""

_KNOBS: Mapping[str, Range] = {
    name: allowed for ranges in TABLES.values() for name, allowed in ranges.items()
}
_OLD_SPELLINGS: Mapping[str, str] = {
    **policy.OLD_SPELLINGS,
    "promotion_use_tool_calls_fallback": "phase_12_action_type_from_tool_calls",
    "promotion_promote_assistant_content": "phase_12_promote_assistant_content",
}
"""Field to the older name that deployed environments may still carry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The three values of a run, and for each of their fields where it came from.

    A source reads ``default``, ``file PATH``, ``environment NAME`` or ``flag``. ``near_misses``
    are environment names that set nothing, each with the one that it nearly is.
    """

    policy: LearningPolicy
    retention: RetentionPolicy
    limits: RunLimits
    sources: Mapping[str, str]
    near_misses: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Setting:
    """One value as it was written, before its range is checked."""

    name: str
    value: object
    source: str


def environment_name(field: str) -> str:
    """The environment variable that sets a field."""
    return f"{PREFIX}{field.upper()}"


def older_names(field: str) -> tuple[str, ...]:
    """The names that a field had before, which deployed environments may still carry."""
    return (_OLD_SPELLINGS[field],) if field in _OLD_SPELLINGS else ()


def read_knob(field: str, value: object, *, source: str) -> Any:  # noqa: ANN401
    """The value of a field from what was written for it, as a text or as the value itself.

    ``source`` says where it was written, for the message.

    Raises ``PolicyError`` for a value out of range.
    """
    allowed = _KNOBS[field]
    stated = allowed.read(value) if isinstance(value, str) else value
    return kept(field, stated, allowed, source=source)


def resolve(*, file: Path | None, environ: Mapping[str, str], sets: Sequence[str]) -> Resolved:
    """The knobs of a run; ``sets`` are texts such as ``lookback_hours=48``, the last one winning.

    Every layer is checked, also where a later one overrides it: a wrong file stays wrong on the day
    the flag is left out. Environment names that are no knob are left alone, because others share
    the prefix; those that nearly are a knob are named, for the entry point to warn of.

    Raises ``PolicyError`` for a value out of range or an unknown name, and ``InputError`` for a
    file that cannot be read as TOML.
    """
    values: dict[str, Any] = {}
    sources = dict.fromkeys(_KNOBS, "default")
    for setting in (*_from_file(file), *_from_environment(environ), *_from_flags(sets)):
        allowed = _KNOBS[setting.name]
        values[setting.name] = kept(setting.name, setting.value, allowed, source=setting.source)
        sources[setting.name] = setting.source
    chosen = {
        table: {name: values[name] for name in ranges if name in values}
        for table, ranges in TABLES.items()
    }
    return Resolved(
        policy=LearningPolicy(**chosen["policy"]),
        retention=RetentionPolicy(**chosen["retention"]),
        limits=RunLimits(**chosen["limits"]),
        sources=sources,
        near_misses=near_misses(environ),
    )


def report_facts(
    policy: LearningPolicy,
    retention: RetentionPolicy,
    limits: RunLimits,
    sources: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What a run's report states of its knobs: fingerprint, every value, and where it came from.

    A value that no source is given for was an ``argument`` where it is not the default.
    """
    settings = _values(policy, retention, limits)
    usual = _values(LearningPolicy(), RetentionPolicy(), RunLimits())
    told = {name: "default" if settings[name] == usual[name] else "argument" for name in settings}
    return {
        "fingerprint": fingerprint(policy, retention, limits),
        "settings": settings,
        "sources": {**told, **(sources or {})},
    }


def _values(
    policy: LearningPolicy, retention: RetentionPolicy, limits: RunLimits
) -> dict[str, Any]:
    return {**policy.as_kwargs(), **asdict(retention), **asdict(limits)}


def fingerprint(policy: LearningPolicy, retention: RetentionPolicy, limits: RunLimits) -> str:
    """A digest of every knob, 32 hexadecimal characters; equal only where every value is."""
    values = {
        "policy": policy.as_kwargs(),
        "retention": asdict(retention),
        "limits": asdict(limits),
    }
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _from_file(file: Path | None) -> Iterator[_Setting]:
    if file is None:
        return
    source = f"file {file}"
    seen: set[str] = set()
    for table, name, value in _entries(_read_toml(file), source):
        if name not in _KNOBS:
            raise _unknown(name, value, source)
        if table and name not in TABLES[table]:
            home = next(other for other, ranges in TABLES.items() if name in ranges)
            raise PolicyError(
                f"{name} stands in [{table}] ({source}); it belongs to [{home}].",
                field=name,
                value=value,
                range=str(_KNOBS[name]),
            )
        if name in seen:
            raise PolicyError(
                f"{name} is set twice ({source}). Keep it at the top or in its table.",
                field=name,
                value=value,
                range=str(_KNOBS[name]),
            )
        seen.add(name)
        # TOML has no word for none; it is what a text of that name reads as where none is allowed.
        yield _Setting(
            name=name,
            value=_KNOBS[name].read(value) if value == "none" else value,
            source=source,
        )


def _entries(document: Mapping[str, Any], source: str) -> Iterator[tuple[str, str, Any]]:
    """Table (empty for the top level), name and value of everything in the file."""
    for key, value in document.items():
        if key not in TABLES:
            yield "", key, value
        elif isinstance(value, dict):
            for name, inner in value.items():
                yield key, name, inner
        else:
            raise PolicyError(
                f"{key} is a table of knobs ({source}); write it as [{key}].",
                field=key,
                value=value,
                range="a table",
            )


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"The knob file {file} cannot be read: {reason}. Name a TOML file that exists.",
            path=str(file),
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The knob file {file} is not TOML: {error}. Write lines such as lookback_hours = 48.",
            path=str(file),
        ) from error


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Setting]:
    for name, allowed in _KNOBS.items():
        variables = map(environment_name, (name, *older_names(name)))
        found = next((variable for variable in variables if variable in environ), None)
        if found is not None:
            value = allowed.read(environ[found])
            yield _Setting(name=name, value=value, source=f"environment {found}")


def near_misses(variables: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Of some environment names, those that are no knob and nearly one, each with that one's."""
    known = {environment_name(name) for name in (*_KNOBS, *_OLD_SPELLINGS.values())}
    unknown = [name for name in sorted(variables) if name.startswith(PREFIX) and name not in known]
    nearest = [(name, _near(name.removeprefix(PREFIX).lower())) for name in unknown]
    return tuple((name, environment_name(near)) for name, near in nearest if near is not None)


def _from_flags(sets: Sequence[str]) -> Iterator[_Setting]:
    for text in sets:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise PolicyError(
                f"--set {text!r} has no value. Write it as name=value, such as lookback_hours=48.",
                field=name,
                value=None,
                range="name=value",
            )
        if name not in _KNOBS:
            raise _unknown(name, value, "flag")
        yield _Setting(name=name, value=_KNOBS[name].read(value), source="flag")


def _near(name: str) -> str | None:
    for field, old in _OLD_SPELLINGS.items():
        if name == old:
            return field
    return next(iter(difflib.get_close_matches(name, _KNOBS, n=1, cutoff=0.75)), None)


def _unknown(name: str, value: object, source: str) -> PolicyError:
    near = _near(name)
    advice = f"Did you mean {near}?" if near else "The reference page 'Knobs' lists them all."
    return PolicyError(
        f"No knob is named {name!r} ({source}). {advice}",
        field=name,
        value=value,
        range="a knob's name",
        suggestion=near,
    )
