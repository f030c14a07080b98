from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


def test_export_begins_with_its_format_and_ends_with_its_count(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    out = tmp_path / "office.jsonl"
    shown = ask("export", "--out", out)
    lines = out.read_text(encoding="utf-8").splitlines()
    assert shown == {"path": str(out), "scope": "demo/office", "rows": len(lines) - 2}
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert first == {"format": "symfonic-memory", "version": 1, "scope": "demo/office"}
    assert last == {"end": True, "rows": len(lines) - 2}
    assert run("export").stdout.splitlines() == lines


def test_import_brings_back_what_was_exported(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "office.jsonl", tmp_path / "other.db"
    ask("forget", "--session", "mon-support-1", "--yes")
    ask("export", "--out", out)
    shown = ask("import", out, "--store", other)
    assert shown["scope"] == "demo/office"
    assert sum(shown["added"].values()) == len(out.read_text(encoding="utf-8").splitlines()) - 2
    assert run("export", "--store", other).stdout == out.read_text(encoding="utf-8")
    again = ask("import", out, "--store", other)
    assert not any(again["added"].values())


def test_import_reads_standard_input_into_the_named_scope(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    text = run("export").stdout
    other = tmp_path / "other.db"
    shown = ask("import", "-", "--scope", "acme/ana", "--store", other, text=text)
    assert (shown["path"], shown["scope"]) == ("-", "acme/ana")
    assert (
        ask("stats", "--scope", "acme/ana", "--store", other)["records"] == ask("stats")["records"]
    )


def test_import_without_a_scope_takes_the_one_of_the_file(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    text, other = run("export").stdout, tmp_path / "other.db"
    shown = ask("import", "-", "--store", other, text=text, SYMFONIC_SCOPE=None)
    assert shown["scope"] == "demo/office"


def test_approved_procedure_comes_in_as_a_draft(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    i = ask("drafts", "list")["drafts"][0]["id"]
    ask("drafts", "approve", i)
    other = tmp_path / "other.db"
    ask("import", "-", "--store", other, text=run("export").stdout)
    assert ask("drafts", "show", i, "--store", other)["draft"]["status"] == "draft"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lines: lines[:-1], "breaks off"),
        (lambda lines: [*lines[:3], *lines[4:]], "holds"),
        (lambda lines: [*lines[:3], "{torn", *lines[4:]], "line 4 is not JSON"),
        (lambda lines: [*lines[:3], "[]", *lines[4:]], "line 4 is not an object"),
        (lambda lines: lines[1:], "no symfonic export"),
        (lambda _lines: [], "no symfonic export"),
        (lambda lines: [lines[0].replace('"version": 1', '"version": 9'), *lines[1:]], "version 9"),
    ],
)
def test_damaged_export_is_refused_and_nothing_lands(
    damage: Callable[[list[str]], list[str]],
    said: str,
    ask: Callable[..., Any],
    run: Callable[..., Result],
    slept: Path,
    tmp_path: Path,
) -> None:
    text = "\n".join(damage(run("export").stdout.splitlines()))
    other = tmp_path / "other.db"
    error = ask("import", "-", "--store", other, text=text, code=13)["error"]
    assert said in error["message"]
    assert list(tmp_path.glob("other.db*")) == []


def test_refused_import_leaves_a_store_that_was_there(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    torn = "\n".join(run("export").stdout.splitlines()[:-1])
    before = ask("stats")
    assert ask("import", "-", text=torn, code=13)["error"]
    assert ask("stats") == before


def test_export_that_cannot_be_written_leaves_the_old_file(
    ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    out = tmp_path / "office.jsonl"
    out.write_text("what was there", encoding="utf-8")
    assert ask("export", "--out", out, "--scope", "acme/ben", code=23)["error"]
    assert out.read_text(encoding="utf-8") == "what was there"
    assert [path.name for path in tmp_path.glob(".office*")] == []
    assert ask("export", "--out", tmp_path / "no" / "such.jsonl", code=13)["error"]


def test_json_of_an_export_needs_a_file(run: Callable[..., Result], slept: Path) -> None:
    result = run("export", "--json")
    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_import_of_a_missing_file_makes_no_store(ask: Callable[..., Any], store: Path) -> None:
    assert ask("import", "missing.jsonl", code=13)["error"]["type"] == "InputError"
    assert not store.exists()
