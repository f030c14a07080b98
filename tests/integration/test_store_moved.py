"""A file that is removed, replaced or left behind while its store is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import StoreUnavailable
from symfonic.capabilities.memory.service import Memory

if TYPE_CHECKING:
    from pathlib import Path

SCOPE = "mill/agent"


@pytest.mark.parametrize("replaced", [False, True])
def test_store_that_was_removed_or_replaced_takes_nothing_more(
    tmp_path: Path, *, replaced: bool
) -> None:
    file = tmp_path / "memory.db"
    turn = [{"role": "user", "content": "The mill stands still."}]
    with Memory.open(tmp_path / "backup.db") as backup:
        backup.add_turn(turn, scope=SCOPE, session="old")
    with Memory.open(file) as memory:
        memory.add_turn(turn, scope=SCOPE, session="one")
        if replaced:
            (tmp_path / "backup.db").replace(file)
        else:
            file.unlink()
        for attempt in (
            lambda: memory.add_turn(turn, scope=SCOPE, session="one"),
            lambda: memory.recall("mill", scope=SCOPE),
            lambda: memory.sleep(scope=SCOPE),
            memory.scopes,
        ):
            with pytest.raises(StoreUnavailable, match="removed or replaced") as caught:
                attempt()
            assert caught.value.facts["replaced"]
        assert file.exists() is replaced


def test_store_is_found_again_after_the_directory_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Memory.open("memory.db") as memory:
        monkeypatch.chdir(tmp_path / "elsewhere")
        memory.add_turn(
            [{"role": "user", "content": "The mill turns."}], scope=SCOPE, session="one"
        )
        assert [i.text for i in memory.recall("mill", scope=SCOPE).items] == ["The mill turns."]
    assert not list((tmp_path / "elsewhere").iterdir())
