from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.embedding import choose
from symfonic.capabilities.memory.testing.embedders import HashedWords

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

NIGHT = "2026-09-21T02:00Z"
SHOWN = "hashed-words@1 (64 dimensions)"


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """``minilm`` is another embedder here, in which a kitten is a funnel."""
    alike = HashedWords(alike={"kitten": "funnel"})
    monkeypatch.setattr(choose, "embedder_named", lambda name, **_: alike)


def test_embed_says_how_many_got_a_vector(
    ask: Callable[..., Any], run: Callable[..., Result], read: Path
) -> None:
    first = ask("embed", "--embedder", "minilm")
    assert first["embedded"] == first["vectors"] > 50
    assert (first["embedder"], first["waiting"]) == (SHOWN, 0)
    assert ask("embed", "--embedder", "minilm")["embedded"] == 0
    assert ask("embed", "--embedder", "minilm", "--again")["embedded"] == first["embedded"]
    assert f"have vectors of {SHOWN}" in " ".join(run("embed", "--embedder", "m").output.split())


def test_recall_with_an_embedder_finds_by_meaning(ask: Callable[..., Any], read: Path) -> None:
    question = ("recall", "kitten", "--now", NIGHT)
    ask("embed", "--embedder", "minilm")
    assert ask(*question)["items"] == []
    item = ask(*question, "--embedder", "minilm")["items"][0]
    assert "funnel" in item["text"]


def test_ingest_with_an_embedder_embeds_what_it_read(
    ask: Callable[..., Any], run: Callable[..., Result], week: Path
) -> None:
    result = run("ingest", str(week), "--embedder", "minilm")
    assert result.exit_code == 0
    assert ask("embed", "--embedder", "minilm")["embedded"] == 0


def test_embed_without_an_embedder_says_how_to_name_one(
    run: Callable[..., Result], read: Path
) -> None:
    result = run("embed")
    assert result.exit_code == 13
    assert "--embedder" in result.stderr
