"""Logs go in once, in batches that no error tears, and the report accounts for each line."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory import importing
from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.importing import IngestReport

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from symfonic.capabilities.memory.service import Memory

SCOPE = "pottery/agent"
Rows = list[dict[str, Any]]


def written(path: Path, rows: Rows, *, extra: str = "") -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text + extra, encoding="utf-8")
    return path


def episodes(memory: Memory) -> int:
    found: dict[str, int] = memory.stats(scope=SCOPE)["records"].get("episode", {})
    return sum(found.values())


def test_a_file_is_read_and_reported(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path
) -> None:
    path = written(tmp_path / "log.jsonl", log(30))
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert report == IngestReport(path=str(path), format="jsonl", read=30, added=30)
    assert report.as_dict()["added"] == 30
    again = memory.ingest(path, scope=SCOPE, now=now + timedelta(days=1))
    assert (again.read, again.added, again.known) == (30, 0, 30)
    assert episodes(memory) == 30


def test_dicts_in_memory_are_read_like_a_file(
    memory: Memory, log: Callable[[int], Rows], now: datetime
) -> None:
    report = memory.ingest((row for row in log(30)), scope=SCOPE, now=now)
    assert (report.path, report.read, report.added) == ("<iterable>", 30, 30)
    assert report.reject_file is None
    rejected = memory.ingest([{"role": "user"}, *log(31)], scope=SCOPE, now=now)
    assert (rejected.rejected, rejected.added, rejected.known) == (1, 1, 30)
    assert rejected.reject_file is None


def test_lines_that_cannot_be_read_go_to_a_file_and_the_rest_comes_in(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path
) -> None:
    rows = log(10)
    text = "\n".join([*(json.dumps(r) for r in rows[:5]), "{broken", *map(json.dumps, rows[5:])])
    path = tmp_path / "log.jsonl"
    path.write_text(text + "\n", encoding="utf-8")
    rejects = tmp_path / "rejects"
    rejects.mkdir()
    report = memory.ingest(path, scope=SCOPE, now=now, rejects=rejects)
    assert (report.added, report.rejected) == (10, 1)
    assert report.reject_file is not None
    assert report.reject_file.startswith(str(rejects))
    assert "broken" in (tmp_path / report.reject_file).read_text(encoding="utf-8")


def test_progress_is_told_in_bytes_and_ends_at_the_whole(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(importing, "BATCH", 10)
    path = written(tmp_path / "log.jsonl", log(35))
    told: list[tuple[int, int]] = []
    memory.ingest(
        path, scope=SCOPE, now=now, progress=lambda done, whole: told.append((done, whole))
    )
    size = path.stat().st_size
    assert told == sorted(told)
    assert len(told) == 4
    assert told[-1] == (size, size)


class Broken(Exception):
    """Stands for whatever ends an ingest half-way."""


def test_an_ingest_goes_on_where_the_last_whole_batch_ended(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(importing, "BATCH", 10)
    path = written(tmp_path / "log.jsonl", log(45))
    told: list[int] = []

    def break_off(done: int, whole: int) -> None:
        del whole
        told.append(done)
        if len(told) == 3:
            raise Broken

    with pytest.raises(Broken):
        memory.ingest(path, scope=SCOPE, now=now, progress=break_off)
    assert episodes(memory) == 30
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert report.resumed == told[-1]
    assert (report.read, report.known) == (45, 0)
    assert episodes(memory) == 45
    third = memory.ingest(path, scope=SCOPE, now=now)
    assert (third.resumed, third.read, third.added, third.known) == (0, 45, 0, 45)


def test_the_report_of_a_resumed_ingest_counts_what_was_added_before(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(importing, "BATCH", 10)
    path = written(tmp_path / "log.jsonl", log(45))

    def break_off(done: int, whole: int) -> None:
        raise Broken

    with pytest.raises(Broken):
        memory.ingest(path, scope=SCOPE, now=now, progress=break_off)
    assert memory.ingest(path, scope=SCOPE, now=now).added == 45


def test_a_file_whose_beginning_changed_is_read_from_its_start(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(importing, "BATCH", 10)
    rows = log(45)
    path = written(tmp_path / "log.jsonl", rows)

    def break_off(done: int, whole: int) -> None:
        raise Broken

    with pytest.raises(Broken):
        memory.ingest(path, scope=SCOPE, now=now, progress=break_off)
    first = {**rows[0], "id": "first", "session": "first", "text": "This came before all others."}
    written(path, [first, *rows])
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert (report.resumed, report.read, report.added, report.known) == (0, 46, 36, 10)


def test_a_line_that_breaks_off_is_left_for_the_next_ingest(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path
) -> None:
    rows = log(5)
    whole = json.dumps(rows[4])
    path = written(tmp_path / "log.jsonl", rows[:4], extra=whole[:25])
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert (report.added, report.rejected, report.pending) == (4, 0, True)
    written(path, rows)
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert (report.added, report.known, report.pending) == (1, 4, False)


def test_a_source_that_cannot_be_read_leaves_no_interrupted_ingest(
    memory: Memory, now: datetime, tmp_path: Path
) -> None:
    memory.ingest([], scope=SCOPE, now=now)
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"text": "caf\u00e9"}\n'.encode("utf-16-le") + b"\xff\xd8")
    for path in (tmp_path / "missing.jsonl", tmp_path, latin):
        with pytest.raises(InputError):
            memory.ingest(path, scope=SCOPE, format="chatgpt", now=now)
    assert episodes(memory) == 0
    assert {run.status for run in memory.runs(scope=SCOPE)} <= {"committed"}


def test_an_empty_file_holds_nothing_and_is_read_once_it_grows(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path
) -> None:
    path = tmp_path / "live.jsonl"
    path.write_text("", encoding="utf-8")
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert (report.read, report.added, report.rejected) == (0, 0, 0)
    written(path, log(3))
    assert memory.ingest(path, scope=SCOPE, now=now).added == 3


def test_two_scopes_take_the_same_file_each_for_itself(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path
) -> None:
    path = written(tmp_path / "log.jsonl", log(12))
    for scope in (SCOPE, "pottery/other"):
        assert memory.ingest(path, scope=scope, now=now).added == 12


def test_a_history_that_repeats_itself_adds_nothing_under_new_ids(
    memory: Memory, now: datetime
) -> None:
    def said(count: int, name: str) -> Rows:
        words = ("yes", "go on", "ok")
        roles = ("user", "assistant")
        return [
            {"id": f"{name}{n}", "session": "s", "role": roles[n % 2], "text": words[n % 3]}
            for n in range(count)
        ]

    assert memory.ingest(said(2500, "a"), scope=SCOPE, now=now).added == 2500
    assert memory.ingest(said(2500, "b"), scope=SCOPE, now=now).added == 0
    assert memory.ingest(said(2503, "c"), scope=SCOPE, now=now).added == 3


def test_an_interrupted_history_that_repeats_itself_comes_in_whole(
    memory: Memory, now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    rows: Rows = [
        {"id": f"t{n}", "session": "s", "role": ("user", "assistant")[n % 2],
         "text": ("yes", "go on")[n % 2]}
        for n in range(35)
    ]  # fmt: skip
    path = written(tmp_path / "log.jsonl", rows)

    def break_off(done: int, whole: int) -> None:
        raise Broken

    with pytest.raises(Broken):
        memory.ingest(path, scope=SCOPE, now=now, progress=break_off)
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert (report.resumed > 0, report.added, report.known) == (True, 35, 0)


@pytest.mark.parametrize("kept", [20, 45])
def test_an_interrupted_file_that_is_no_longer_what_was_read_is_read_from_its_start(
    memory: Memory, log: Callable[[int], Rows], now: datetime, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, kept: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(importing, "BATCH", 30)
    rows = log(60)
    path = written(tmp_path / "log.jsonl", rows)

    def break_off(done: int, whole: int) -> None:
        raise Broken

    with pytest.raises(Broken):
        memory.ingest(path, scope=SCOPE, now=now, progress=break_off)
    new = [{**row, "id": f"new{n}", "text": f"{row['text']} And {n}."}
           for n, row in enumerate(rows[20:kept])]  # fmt: skip
    written(path, rows[:20] + new)
    report = memory.ingest(path, scope=SCOPE, now=now)
    assert (report.resumed, report.read, report.added) == (0, kept, kept - 20)
    assert {run.status for run in memory.runs(scope=SCOPE)} == {"committed"}
    assert episodes(memory) == 30 + kept - 20
