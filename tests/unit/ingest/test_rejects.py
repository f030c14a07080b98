import json
from pathlib import Path

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest.rejects import (
    MAX_TEXT,
    Reject,
    RejectFile,
    excerpt,
    reject_path,
)


def make_reject(line: int, reason: str = "no text") -> Reject:
    return Reject(line=line, offset=line * 10, reason=reason, text="{}")


def lines_of(path: Path) -> list[int]:
    return [json.loads(line)["line"] for line in path.read_text().splitlines()]


def test_nothing_is_written_without_rejects_and_an_old_file_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "log.rejects.jsonl"
    with RejectFile(path) as rejects:
        assert not rejects.written
    assert not path.exists()
    path.write_text("stale\n")
    with RejectFile(path):
        pass
    assert not path.exists()


def test_an_old_file_stays_when_the_reading_failed(tmp_path: Path) -> None:
    path = tmp_path / "log.rejects.jsonl"
    path.write_text("old\n")
    with pytest.raises(RuntimeError), RejectFile(path):
        raise RuntimeError
    assert path.read_text() == "old\n"


def test_a_rerun_leaves_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "log.rejects.jsonl"
    for _ in range(2):
        with RejectFile(path) as rejects:
            rejects.add(make_reject(3))
            rejects.add(make_reject(5))
        assert lines_of(path) == [3, 5]


def test_a_resumed_reading_adds_only_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "log.rejects.jsonl"
    with RejectFile(path) as rejects:
        rejects.add(make_reject(3))
        rejects.flush()
    path.write_text(path.read_text() + '{"line": 4, "off')  # a kill cut this line off
    with RejectFile(path, resumed=True) as rejects:
        rejects.add(make_reject(3))
        rejects.add(make_reject(4))
    kept = [line for line in path.read_text().splitlines() if line.endswith("}")]
    assert [json.loads(line)["line"] for line in kept] == [3, 4]
    with RejectFile(path, resumed=True):
        pass
    assert path.exists()


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="cannot be written"),
        RejectFile(tmp_path / "absent" / "log.rejects.jsonl") as rejects,
    ):
        rejects.add(make_reject(1))


def test_rejects_lie_beside_the_input_or_apart_by_folder(tmp_path: Path) -> None:
    assert reject_path(tmp_path / "log.jsonl") == tmp_path / "log.jsonl.rejects.jsonl"
    shared = tmp_path / "rejects"
    one = reject_path(tmp_path / "a" / "log.jsonl", shared)
    other = reject_path(tmp_path / "b" / "log.jsonl", shared)
    assert one.parent == other.parent == shared
    assert one != other


def test_the_text_of_a_reject_is_bounded_encodable_and_without_secrets() -> None:
    kept = excerpt("password=hunter2hunter \ud83d " + "z" * 10_000)
    kept.encode()
    assert "hunter2" not in kept
    assert len(kept) <= MAX_TEXT + 30
