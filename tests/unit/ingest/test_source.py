import io
import os
import threading
from pathlib import Path

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest import source as sources
from symfonic.capabilities.memory.ingest.source import Line, Source


def read(source: Source, offset: int = 0, number: int = 0) -> list[Line]:
    return list(source.lines(offset=offset, number=number))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_encoding_gives_the_same_lines(encoding: str) -> None:
    text = "erste Zeile\nzweite: Žofie \U0001f680\n\nlast"
    lines = read(Source(text.encode(encoding)))
    assert [line.text.rstrip("\n") for line in lines] == text.split("\n")
    assert [line.ended for line in lines] == [True, True, True, False]
    assert lines[-1].end == len(text.encode(encoding))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_reading_goes_on_from_any_offset(encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    data = mark + "eins\nzwei €\ndrei\n".encode(encoding)
    source = Source(data)
    lines = read(source)
    for index, line in enumerate(lines):
        assert read(source, line.end, line.number) == lines[index + 1 :]


def test_utf_16_lines_longer_than_a_chunk_keep_their_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "_CHUNK", 7)
    text = "a\U0001f680b\U0001f680\U0001f680c\nnext \U0001f680\n"
    lines = read(Source(text.encode("utf-16")))
    assert "".join(line.text + "\n" for line in lines) == text


def test_a_line_in_another_encoding_is_a_problem_of_that_line() -> None:
    lines = read(Source(b"good\n" + "caf\u00e9 au lait\n".encode("latin-1") + b"good again\n"))
    assert [line.problem is None for line in lines] == [True, False, True]
    assert "not UTF-8" in (lines[1].problem or "")
    assert "byte 4" in (lines[1].problem or "")


def test_an_encoded_lone_surrogate_is_text_for_the_normaliser() -> None:
    (line,) = read(Source(b"x \xed\xa0\xbd y\n"))
    assert (line.problem, line.text) == (None, "x \ud83d y\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_over_the_bound_is_a_problem_and_the_next_is_read(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_UNIT_BYTES", 1000)
    monkeypatch.setattr(sources, "_CHUNK", 64)
    data = ("a\n" + "b" * 5000 + "\nc\n").encode(encoding)
    lines = read(Source(data))
    assert [line.problem is None for line in lines] == [True, False, True]
    assert "longer than" in (lines[1].problem or "")
    assert lines[2].text.strip() == "c"
    assert lines[-1].end == len(data)


def test_an_endless_last_line_is_a_problem_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_UNIT_BYTES", 1000)
    monkeypatch.setattr(sources, "_CHUNK", 64)
    for encoding in ("utf-8", "utf-16"):
        (line,) = read(Source(("b" * 5000).encode(encoding)))
        assert line.problem is not None
        assert not line.ended


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x1f\x8b\x08rest", "gzip"),
        (b"PK\x03\x04rest", "zip"),
        (b"SQLite format 3\x00rest", "SQLite"),
        ("text".encode("utf-32"), "UTF-32"),
        ("text".encode("utf-16-le"), "without a byte-order mark"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, found: str) -> None:
    with pytest.raises(InputError, match=found):
        Source(data)


def test_a_missing_file_a_directory_and_an_impossible_name_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        Source(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="is a directory"):
        Source(tmp_path)
    with pytest.raises(InputError, match="cannot be opened"):
        Source("a\x00b")


def test_an_unreadable_file_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "locked.jsonl"
    path.write_text("{}")

    def refuse(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        Source(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("one\ntwo\n",))
    writer.start()
    source = Source(path)
    writer.join()
    assert [line.text for line in read(source)] == ["one\n", "two\n"]
    source.close()


class Failing(io.BytesIO):
    """A disk that fails after the first read."""

    def _fail(self) -> bytes:
        raise OSError(5, "Input/output error")

    def readline(self, _: int | None = -1) -> bytes:
        return self._fail()

    def read(self, size: int | None = -1) -> bytes:
        return b"{}\n" if size == sources.HEAD_BYTES else self._fail()


def test_a_disk_that_fails_while_reading_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("{}\n")
    monkeypatch.setattr(Path, "open", lambda *_, **__: Failing())
    with pytest.raises(InputError, match="Input/output error"):
        read(Source(path))
    with pytest.raises(InputError, match="Input/output error"):
        list(Source(path).chunks(offset=0))


def test_a_document_in_another_encoding_is_an_input_error() -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        list(Source('[{"text": "café"}]'.encode("latin-1")).chunks(offset=0))
