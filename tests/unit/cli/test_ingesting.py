from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from symfonic.capabilities.memory.errors import StoreUnavailable
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"
KEYS = {"path", "format", "read", "added", "known", "rejected", "reject_file"}


def test_ingest_counts_and_names_the_format(ask: Callable[..., Any], week: Path) -> None:
    (file,) = ask("ingest", week, "--now", NIGHT)["files"]
    assert file.keys() >= KEYS
    assert file["path"] == str(week)
    assert (file["format"], file["read"], file["added"], file["known"]) == ("jsonl", 178, 178, 0)
    assert (file["rejected"], file["reject_file"]) == (0, None)


def test_ingest_again_adds_nothing(ask: Callable[..., Any], read: Path, week: Path) -> None:
    (file,) = ask("ingest", week, "--now", NIGHT)["files"]
    assert (file["added"], file["known"]) == (0, 178)


def test_unreadable_file_is_listed_and_the_others_go_on(
    ask: Callable[..., Any], run: Callable[..., Result], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"text": "The kettle is on."}\n', encoding="utf-8")
    missing = tmp_path / "missing.jsonl"
    first, second, third = ask("ingest", missing, log, tmp_path, code=13)["files"]
    assert first["error"]["type"] == third["error"]["type"] == "InputError"
    assert first.keys() >= KEYS
    assert second["added"] == 1
    assert "error" not in second
    plain = run("ingest", missing, log)
    assert plain.exit_code == 13
    assert "missing.jsonl" in plain.stderr
    assert "log.jsonl" in plain.stdout


def test_rejects_are_named_and_kept_where_asked(
    ask: Callable[..., Any], run: Callable[..., Result], tmp_path: Path
) -> None:
    log, rejects = tmp_path / "log.jsonl", tmp_path / "rejects"
    rejects.mkdir()
    lines = ['{"text": "One."}', "nonsense", '{"text": "Two.", "at": "2026-01-01T10:00"}']
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (file,) = ask("ingest", log, "--rejects", rejects)["files"]
    assert (file["added"], file["rejected"], file["zone_missing"]) == (1, 2, 1)
    assert file["reject_file"].startswith(str(rejects))
    shown = run("ingest", log, "--rejects", rejects)
    assert "2 lines were not read" in shown.stdout
    assert "--timezone" in shown.stdout
    (mended,) = ask("ingest", log, "--timezone", "Europe/Vienna")["files"]
    assert (mended["added"], mended["rejected"]) == (1, 1)


def test_format_and_session_are_passed_on(
    ask: Callable[..., Any], run: Callable[..., Result], tmp_path: Path
) -> None:
    log = tmp_path / "chat.json"
    log.write_text(json.dumps([{"role": "user", "content": "The kettle is on."}]), encoding="utf-8")
    (file,) = ask("ingest", log, "--format", "openai", "--session", "kitchen")["files"]
    assert (file["format"], file["added"]) == ("openai", 1)
    (item,) = ask("recall", "kettle")["items"]
    assert item["session"] == "kitchen"
    assert ask("ingest", log, "--format", "runes", code=13)["files"][0]["error"]["facts"]


def test_equal_salts_give_equal_ids(ask: Callable[..., Any], week: Path, tmp_path: Path) -> None:
    ids = []
    for name, salt in (("a.db", "aa"), ("b.db", "aa"), ("c.db", "bb")):
        place = {"SYMFONIC_STORE": str(tmp_path / name), "SYMFONIC_SALT": salt}
        ask("ingest", week, "--now", NIGHT, **place)
        ids.append(ask("recall", "kettle or funnel", "--now", NIGHT, **place)["items"][0]["id"])
    assert ids[0] == ids[1] != ids[2]


def test_store_that_cannot_be_made_stops_at_once(
    ask: Callable[..., Any], week: Path, tmp_path: Path
) -> None:
    shown = ask("ingest", week, "--store", tmp_path / "no" / "such" / "m.db", code=21)
    assert shown["error"]["type"] == "StoreUnavailable"


def test_remarks_say_what_the_numbers_do_not(
    ask: Callable[..., Any], run: Callable[..., Result], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    messages = [{"role": "user", "content": "The kettle is on."}, {"role": "user", "content": ""}]
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    log.write_text(lines + '{"ro', encoding="utf-8")
    first = run("ingest", log).stdout
    assert "1 message said nothing and was left out" in first
    assert "the last line is not ended yet" in first
    ask("forget", "--everything", "--yes")
    assert "1 turn was forgotten before, and stays so" in run("ingest", log).stdout


def test_single_file_that_fails_prints_no_table(run: Callable[..., Result]) -> None:
    result = run("ingest", "missing.jsonl")
    assert result.exit_code == 13
    assert result.stdout == ""
    assert result.stderr.count("missing.jsonl") == 1


def test_empty_file_is_noted(
    ask: Callable[..., Any], run: Callable[..., Result], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("", encoding="utf-8")
    assert ask("ingest", log)["files"][0]["note"] == "there was nothing to read in it"
    assert "nothing to read in it" in run("ingest", log).stdout
    log.write_text('{"text": "The kettle is on."}\n', encoding="utf-8")
    assert ask("ingest", log)["files"][0]["note"] is None


def test_other_encoding_is_told_with_the_command_that_converts_it(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes('{"text": "Café"}\n'.encode("latin1"))
    error = ask("ingest", log, code=13)["files"][0]["error"]
    assert "not UTF-8: convert it, e.g. iconv -f latin1 -t utf-8" in error["message"]


def test_failing_store_ends_the_list_and_keeps_what_was_done(
    ask: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for log in logs:
        log.write_text('{"text": "The kettle is on."}\n', encoding="utf-8")
    ingest = Memory.ingest

    def fill_up(memory: Memory, source: Any, **options: Any) -> Any:
        if source == str(logs[1]):
            raise StoreUnavailable("The disk is full.")
        return ingest(memory, source, **options)

    monkeypatch.setattr(Memory, "ingest", fill_up)
    files = ask("ingest", *logs, code=21)["files"]
    assert [file["path"] for file in files] == [str(log) for log in logs[:2]]
    assert files[0]["added"] == 1
    assert files[1]["error"]["message"] == "The disk is full."


def test_file_of_which_every_line_was_rejected_ends_with_13_after_the_report(
    ask: Callable[..., Any], run: Callable[..., Result], tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"text": "One."}\nnonsense\n', encoding="utf-8")
    bad.write_text('{"text": "Two.", "at": "2026-01-01T10:00"}\n' * 2, encoding="utf-8")
    first, second = ask("ingest", bad, good, code=13)["files"]
    assert (first["read"], first["rejected"], first["added"]) == (2, 2, 0)
    assert second["added"] == 1
    shown = run("ingest", bad)
    assert shown.exit_code == 13
    assert "2 lines were not read" in shown.stdout
    assert (run("ingest", good).exit_code, run("ingest", good).exit_code) == (0, 0)
