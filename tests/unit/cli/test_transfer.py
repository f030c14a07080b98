from __future__ import annotations

import json
import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.cli import transfer

if TYPE_CHECKING:
    from collections.abc import Callable

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
    assert (last["end"], last["rows"], len(last["digest"])) == (True, len(lines) - 2, 64)
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
        (lambda lines: [*lines, lines[1]], "goes on after its last line"),
        (lambda lines: [*lines, *lines], "goes on after its last line"),
        (lambda lines: [*lines, "more"], "is not JSON"),
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
    assert "--out" in json.loads(result.stdout)["error"]["message"]


def test_import_of_a_missing_file_makes_no_store(ask: Callable[..., Any], store: Path) -> None:
    assert ask("import", "missing.jsonl", code=13)["error"]["type"] == "InputError"
    assert not store.exists()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("way", ["path", "symlink", "hardlink", "roundabout"])
def test_export_onto_the_store_is_refused(
    suffix: str, way: str, ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    before, part = ask("stats"), Path(f"{slept}{suffix}")
    (tmp_path / "in").mkdir()
    out = {"path": part, "roundabout": tmp_path / "in" / ".." / part.name}.get(
        way, tmp_path / "in" / "out.jsonl"
    )
    with sqlite3.connect(slept) as other:  # keeps the write-ahead log there
        other.execute("SELECT count(*) FROM record").fetchone()
        if way == "symlink":
            out.symlink_to(part)
        elif way == "hardlink":
            out.hardlink_to(part)
        error = ask("export", "--out", out, code=13)["error"]
    other.close()
    assert "the store itself" in error["message"]
    assert slept.read_bytes()[:15] == b"SQLite format 3"
    assert ask("stats") == before


def test_export_is_kept_off_a_store_that_is_named_by_a_link_or_url(
    ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(slept)
    for store in (link, f"sqlite:///{link}"):
        for out in (slept, link, Path(f"{slept}-wal")):
            assert ask("export", "--store", store, "--out", out, code=13)["error"]
    assert link.is_symlink()
    assert ask("stats")["visible"] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="files there are no pipes")
def test_export_goes_straight_into_a_pipe(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    text = run("export").stdout
    for out in (pipe, link):
        with ThreadPoolExecutor() as pool:
            read = pool.submit(pipe.read_text, encoding="utf-8")
            ask("export", "--out", out)
            assert read.result(timeout=30) == text
        assert pipe.is_fifo()
    assert link.is_symlink()


def test_export_follows_a_symlink(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "office.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    for _ in range(2):  # where nothing stands yet, and onto a file
        ask("export", "--out", link)
        assert link.is_symlink()
        assert target.read_text(encoding="utf-8") == run("export").stdout
    assert [path.name for path in target.parent.iterdir()] == ["office.jsonl"]


def test_export_onto_a_directory_is_refused(
    run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    assert run("export", "--out", tmp_path / "there").exit_code == 2
    assert list((tmp_path / "there").iterdir()) == []


def test_export_onto_a_link_that_leads_to_itself_is_refused(
    ask: Callable[..., Any], slept: Path, tmp_path: Path
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert ask("export", "--out", loop, code=13)["error"]["type"] == "InputError"
    assert loop.is_symlink()


@pytest.mark.parametrize("version", ["1.0", "true", '"1"', "null", "[1]"])
def test_version_that_is_no_whole_number_is_refused(
    version: str, ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    text = run("export").stdout.replace('"version": 1', f'"version": {version}', 1)
    error = ask("import", "-", "--store", tmp_path / "other.db", text=text, code=13)["error"]
    assert "this release reads version 1" in error["message"]


def test_import_into_a_store_whose_name_is_too_long_is_refused(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    text = run("export").stdout
    error = ask("import", "-", "--store", "x" * 300, text=text, code=21)["error"]
    assert error["type"] == "StoreUnavailable"


def test_restore_puts_everything_back_as_it_was(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path, tmp_path: Path
) -> None:
    i = ask("drafts", "list")["drafts"][0]["id"]
    ask("drafts", "approve", i, "--by", "ana")
    ask("forget", "--session", "mon-support-1", "--yes")
    out, other = tmp_path / "office.jsonl", tmp_path / "other.db"
    ask("export", "--out", out)
    shown = ask("restore", out, "--store", other, SYMFONIC_SCOPE=None)
    assert (shown["path"], shown["scope"]) == (str(out), "demo/office")
    assert sum(shown["rows"].values()) == len(out.read_text(encoding="utf-8").splitlines()) - 2
    assert run("export", "--store", other).stdout == out.read_text(encoding="utf-8")
    assert ask("drafts", "show", i, "--store", other)["draft"]["status"] == "approved"
    assert run("undo", "demo/office#2", "--store", other).exit_code == 0


def test_restore_goes_into_a_named_scope_and_no_other_by_itself(
    ask: Callable[..., Any], run: Callable[..., Result], slept: Path
) -> None:
    text = run("export").stdout
    refused = run("restore", "-", text=text, SYMFONIC_SCOPE="acme/ben")
    assert refused.exit_code == 13
    assert "The scope demo/office is not empty" in refused.stderr
    assert "symfonic-memory import" in refused.stderr
    shown = run("restore", "-", "--scope", "acme/ben", text=text).stdout
    assert shown.startswith("Restored acme/ben as it was exported: scope 1, record ")
    assert ask("runs", "--scope", "acme/ben")["runs"][0]["run_id"] == "acme/ben#2"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lines: lines[:-1], "it breaks off after"),
        (lambda lines: [*lines[:3], *lines[4:]], "rows and it holds"),
        (lambda lines: [*lines[:3], lines[3].replace("demo", "mode"), *lines[4:]], "was edited"),
        (lambda lines: [lines[0].replace("demo", "mode"), *lines[1:]], "was edited"),
        (lambda lines: [*lines[:-1], lines[-1].partition(', "digest"')[0] + "}"], "no digest"),
        (lambda lines: [*lines[:3], "[]", *lines[4:]], "line 4 is not an object"),
        (lambda _lines: [], "no symfonic export"),
    ],
)
def test_an_export_that_is_not_as_it_was_written_is_not_restored(
    damage: Callable[[list[str]], list[str]],
    said: str,
    ask: Callable[..., Any],
    run: Callable[..., Result],
    slept: Path,
    tmp_path: Path,
) -> None:
    text = "\n".join(damage(run("export").stdout.splitlines()))
    other = tmp_path / "other.db"
    error = ask("restore", "-", "--store", other, text=text, code=13)["error"]
    assert said in error["message"]
    assert list(tmp_path.glob("other.db*")) == []


def test_progress_of_a_restore_never_enters_the_result(
    run: Callable[..., Result], slept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = run("export").stdout
    monkeypatch.setattr(transfer, "shows_progress", lambda: True)
    shown = run("restore", "-", "--store", tmp_path / "other.db", text=text)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("Restored demo/office")


def test_a_backup_that_is_not_there_is_named(run: Callable[..., Result], tmp_path: Path) -> None:
    refused = run("restore", tmp_path / "none.jsonl", "--store", tmp_path / "other.db")
    assert refused.exit_code == 13
    assert "none.jsonl cannot be read" in refused.stderr
    assert list(tmp_path.glob("other.db*")) == []
