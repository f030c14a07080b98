from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.extractors.spacy_models import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIGURES = {"PERSON": 0.857, "ORG": 0.79, "GPE": 0.914, "FAC": 0.39, "WORK_OF_ART": 0.474}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where packages are installed; spaCy and its models are found nowhere else."""
    found = tmp_path / "site"
    found.mkdir()
    monkeypatch.syspath_prepend(str(found))
    for name in ("spacy", *MODELS):
        monkeypatch.setitem(sys.modules, name, None)
    return found


@pytest.fixture
def install_spacy(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a spaCy of the given version whose ``load`` does what is given."""

    def install(*, version: str | None = "3.8.1", load: str = "raise OSError('no config')") -> None:
        (place / "spacy").mkdir()
        source = f"def load(name, exclude=()):\n    {load}\n"
        (place / "spacy" / "__init__.py").write_text(source, encoding="utf-8")
        if version is not None:
            info = place / f"spacy-{version}.dist-info"
            info.mkdir()
            text = f"Metadata-Version: 2.1\nName: spacy\nVersion: {version}\n"
            (info / "METADATA").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, "spacy")
        importlib.invalidate_caches()

    return install


@pytest.fixture
def install_model(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Installs the description of a pipeline as a package that cannot be imported."""

    def install(name: str = "core_web_sm", **changed: Any) -> str:
        package = f"en_{name}"
        meta = {
            "lang": "en", "name": name, "version": "3.8.0",
            "components": ["tok2vec", "tagger", "ner"],
            "labels": {"tagger": ["NN"], "ner": [*sorted(FIGURES), "DATE", "PRODUCT"]},
            "performance": {"ents_per_type": {label: {"p": p} for label, p in FIGURES.items()}},
        } | changed  # fmt: skip
        (place / package).mkdir()
        (place / package / "__init__.py").write_text("raise AssertionError\n", encoding="utf-8")
        (place / package / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        monkeypatch.delitem(sys.modules, package, raising=False)
        importlib.invalidate_caches()
        return package

    return install
