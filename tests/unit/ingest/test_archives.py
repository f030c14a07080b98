import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from symfonic.capabilities.memory.errors import InputError
from symfonic.capabilities.memory.ingest import archives
from symfonic.capabilities.memory.ingest.inputs import read_turns
from symfonic.capabilities.memory.ingest.source import Source
from symfonic.capabilities.memory.store import Turn

TREE = {"mapping": {"m": {"message": {"author": {"role": "user"}, "content": {"parts": ["hi"]}}}}}


def packed(**members: Any) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def unpacked(data: bytes) -> bytes:
    with archives.unpacked(io.BytesIO(data), "export.zip") as stream:
        return stream.read()


def test_an_export_is_read_out_of_its_archive(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(
        packed(**{
            "__MACOSX/conversations.json": b"\x00",
            "user.json": "{}",
            "chat.html": "<p>",
            "mine/conversations.json": json.dumps([TREE]),
        })
    )  # fmt: skip
    with read_turns(path) as reading:
        (turn,) = reading
    assert isinstance(turn, Turn)
    assert (reading.format, turn.text, turn.session) == ("chatgpt", "hi", "export#1")
    assert reading.size == len(json.dumps([TREE]))


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["[1, 2]\n", " [3]", "\ufeff[4]"], "[1, 2,3,4]"),
        (["[]", "[1]", "[]"], "[1]"),
        (["[]", "[ ]"], "[]"),
        (["[1]", '{"a": 2}'], '[1,{"a": 2}'),
    ],
)
def test_numbered_files_come_as_the_list_that_they_are(parts: list[str], whole: str) -> None:
    named = {f"conversations-{n:03}.json": part for n, part in enumerate(parts)}
    assert unpacked(packed(**dict(reversed(named.items())))) == whole.encode()


def test_a_member_longer_than_one_read_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_CHUNK", 16)
    values = json.dumps(list(range(100)))
    parts = {"conversations-0.json": values, "conversations-1.json": values}
    assert json.loads(unpacked(packed(**parts))) == [*range(100), *range(100)]


def test_the_uppermost_folder_is_the_export() -> None:
    data = packed(**{"old/a/conversations.json": "[1]", "conversations.json": "[2]"})
    assert unpacked(data) == b"[2]"


def test_an_archive_without_conversations_says_so() -> None:
    with pytest.raises(InputError, match=r"without a conversations\.json"):
        Source(packed(**{"messages.json": "[]"}))


def test_a_broken_archive_says_so() -> None:
    good = packed(**{"conversations.json": json.dumps([TREE] * 50)})
    middle = good[:60] + bytes(byte ^ 255 for byte in good[60:80]) + good[80:]
    for data in (good[:-30], b"PK\x03\x04rest", middle):
        with pytest.raises(InputError, match="cannot be unpacked"):
            Source(data)


def test_an_archive_that_would_fill_the_disk_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 10)
    with pytest.raises(InputError, match="would unpack to 12 bytes"):
        Source(packed(**{"conversations.json": "[1, 2, 3, 4]"}))
