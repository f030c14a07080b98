from __future__ import annotations

import getpass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.cli.options import person, read_moment, run_name
from symfonic.capabilities.memory.errors import InputError, ScopeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


@pytest.mark.parametrize(
    "text", ["2026-09-21T02:00Z", "2026-09-21T04:00+02:00", " 2026-09-21T02:00:00+00:00 "]
)
def test_time_with_a_zone_is_read_in_utc(text: str) -> None:
    assert read_moment(text, "--now") == datetime(2026, 9, 21, 2, tzinfo=UTC)


def test_time_without_a_zone_is_refused_with_what_to_write() -> None:
    with pytest.raises(InputError, match="2026-09-21T02:00Z"):
        read_moment("2026-09-21T02:00", "--now")


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-01T00:00Z", "0001-01-01T00:00+14:00"])
def test_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--now is"):
        read_moment(text, "--now")


def test_run_is_named_whole_or_by_number_with_a_scope() -> None:
    assert run_name("acme/ana#12", None) == "acme/ana#12"
    assert run_name("12", "acme/ana") == "acme/ana#12"
    assert run_name("#12", "acme/ana") == "acme/ana#12"


def test_run_by_number_needs_a_scope() -> None:
    with pytest.raises(ScopeError):
        run_name("12", None)


@pytest.mark.parametrize("text", ["latest", "acme/ana#", "acme/ana#x"])
def test_text_that_names_no_run_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        run_name(text, "acme/ana")


def test_person_is_the_stated_name_or_the_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ana")
    assert person(None) == "ana"
    assert person(" ben ") == "ben"


def test_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError

    monkeypatch.setattr(getpass, "getuser", nobody)
    with pytest.raises(InputError, match="--by"):
        person(None)
    with pytest.raises(InputError, match="--by"):
        person(" ")


@pytest.mark.parametrize("salt", ["xyz", "0", "", "00" * 65])
def test_salt_that_is_not_hexadecimal_is_refused(
    salt: str, run: Callable[..., Result], week: Path, store: Path
) -> None:
    result = run("ingest", week, "--salt", salt)
    assert result.exit_code == 13
    assert not store.exists()
