from __future__ import annotations

import importlib.util
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.collaborators import EntityExtractor, Mention
from symfonic.capabilities.memory.compose import compose_collaborators
from symfonic.capabilities.memory.errors import CollaboratorError, MissingExtra
from symfonic.capabilities.memory.extractors import entities_spacy
from symfonic.capabilities.memory.extractors.entities_pattern import PatternEntityExtractor
from symfonic.capabilities.memory.extractors.entities_spacy import (
    KINDS,
    READ_CHARACTERS,
    UNMEASURED,
    WEAK,
    SpacyEntityExtractor,
)
from symfonic.capabilities.memory.extractors.spacy_models import MODELS, Pipeline
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import Episode, Record, RecordId, Role

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from symfonic.capabilities.memory.extractors.spacy_models import SpacyModel

ASKED = LearningPolicy(enable_entity_linker=True, entity_linker_extractor_kind="spacy")
needs_spacy = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None, reason="spaCy is not installed"
)
needs_model = pytest.mark.skipif(
    all(importlib.util.find_spec(name) is None for name in MODELS),
    reason="no English spaCy model is installed",
)


@dataclass(frozen=True, kw_only=True)
class Entity:
    text: str
    label_: str
    start_char: int
    end_char: int


@dataclass(frozen=True, kw_only=True)
class Doc:
    ents: tuple[Any, ...]


class Recogniser:
    """Finds every occurrence of the given names; ``read`` keeps the texts it was given."""

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels = labels
        self.read: list[str] = []

    def __call__(self, text: str) -> Doc:
        self.read.append(text)
        found = []
        for name, label in self.labels.items():
            start = text.find(name)
            while start >= 0:
                end = start + len(name)
                found.append(Entity(text=name, label_=label, start_char=start, end_char=end))
                start = text.find(name, end)
        return Doc(ents=tuple(sorted(found, key=lambda one: one.start_char)))

    def memory_zone(self) -> AbstractContextManager[Any]:
        return nullcontext()


@pytest.fixture
def knowing(
    install_spacy: Callable[..., None],
    install_model: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[SpacyEntityExtractor, Recogniser]]:
    """An extractor whose pipeline knows the given names."""

    def build(labels: dict[str, str]) -> tuple[SpacyEntityExtractor, Recogniser]:
        recogniser = Recogniser(labels)

        def load(model: SpacyModel) -> Pipeline:
            return Pipeline(recogniser)

        monkeypatch.setattr(entities_spacy, "load_pipeline", load)
        return SpacyEntityExtractor(), recogniser

    install_spacy()
    install_model()
    return build


def turn(text: str, *, role: Role = "user", name: str | None = None) -> Record:
    return Record(
        id=RecordId("e"),
        scope="acme",
        kind="episode",
        key=None,
        content=Episode(role=role, name=name),
        text=text,
    )


# -- what a find becomes


def test_finds_become_mentions_with_the_makers_precision_as_score(knowing: Any) -> None:
    extractor, _ = knowing({"Ana Ortiz": "PERSON", "Ortiz Orchards": "ORG", "Boston": "GPE"})
    assert isinstance(extractor, EntityExtractor)
    assert extractor.extract(turn("Ana Ortiz of Ortiz Orchards is in Boston.")) == [
        Mention(key="ana ortiz", name="Ana Ortiz", entity_kind="person", score=0.857),
        Mention(
            key="ortiz orchards", name="Ortiz Orchards", entity_kind="organisation", score=0.79
        ),
        Mention(key="boston", name="Boston", entity_kind="place", score=0.9),
    ]


def test_a_label_that_is_mostly_wrong_makes_no_entity_at_the_default(knowing: Any) -> None:
    extractor, _ = knowing({"Eiffel Tower": "FAC", "The Hobbit": "WORK_OF_ART"})
    found = extractor.extract(turn("The Hobbit, read on the Eiffel Tower"))
    threshold = LearningPolicy().entity_linker_confidence_threshold
    assert [(m.name, m.entity_kind) for m in found] == [
        ("Hobbit", "thing"),
        ("Eiffel Tower", "place"),
    ]
    assert all(0.3 <= m.score < threshold for m in found)


def test_a_label_without_a_figure_is_scored_above_the_default(knowing: Any) -> None:
    extractor, _ = knowing({"Walkman": "PRODUCT"})
    (mention,) = extractor.extract(turn("my Walkman"))
    assert mention.score == UNMEASURED > LearningPolicy().entity_linker_confidence_threshold


@pytest.mark.parametrize("label", ["DATE", "CARDINAL", "MONEY", "NORP", "LANGUAGE", "TIME"])
def test_dates_numbers_and_nationalities_are_no_entities(knowing: Any, label: str) -> None:
    assert label not in KINDS
    extractor, _ = knowing({"15 October": label, "16 October": label})
    assert extractor.extract(turn("not 15 October but 16 October")) == []


def test_names_that_differ_in_a_number_stay_apart(knowing: Any) -> None:
    extractor, _ = knowing({"Apollo 11": "ORG", "Apollo 12": "ORG"})
    keys = [m.key for m in extractor.extract(turn("Apollo 11, then Apollo 12"))]
    assert keys == ["apollo 11", "apollo 12"]


def test_a_number_or_a_letter_is_no_name_whatever_its_label(knowing: Any) -> None:
    extractor, _ = knowing({"480": "ORG", "X": "PERSON", "...": "ORG", "the": "ORG"})
    assert extractor.extract(turn("480 X ... the")) == []


@pytest.mark.parametrize("between", ["\n", " and ", ", ", " & ", "\r\n", "/"])
def test_people_that_are_found_as_one_are_two(knowing: Any, between: str) -> None:
    extractor, _ = knowing({f"Ana Ortiz{between}Bob Stone": "PERSON"})
    found = extractor.extract(turn(f"Ana Ortiz{between}Bob Stone"))
    assert [m.key for m in found] == ["ana ortiz", "bob stone"]


def test_a_firm_with_an_and_is_one_and_ends_with_its_line(knowing: Any) -> None:
    extractor, _ = knowing({"Johnson & Johnson\nOakes, Hill and Sons": "ORG"})
    found = extractor.extract(turn("Johnson & Johnson\nOakes, Hill and Sons"))
    assert [m.key for m in found] == ["johnson & johnson", "oakes, hill and sons"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("the Louvre", "Louvre"), ("Melanie's", "Melanie"), ("Melanie’s", "Melanie"),
        ('"Charlotte\'s Web"', "Charlotte's Web"), ("**Acme Inc.**", "Acme Inc"),
        ("Dr. Ada King", "Dr Ada King"), ("U.S.", "U.S."), ("Theodora", "Theodora"),
        ("Zoe\u0308", "Zoë"),
    ],
)  # fmt: skip
def test_a_name_is_bare_and_keyed_as_the_pattern_extractor_keys_it(
    knowing: Any, written: str, name: str
) -> None:
    label = "PERSON" if "Zo" not in written else "ORG"
    extractor, recogniser = knowing({written: label, "Zoë": label})
    (mention,) = extractor.extract(turn(f"so {written} it is"))
    assert mention.name == name
    assert len(recogniser.read) == 1


def test_both_extractors_give_a_name_one_key(knowing: Any) -> None:
    text = "We met İpek Yıldız at Ortiz Orchards."
    extractor, _ = knowing({"İpek Yıldız": "PERSON", "Ortiz Orchards": "ORG"})
    pattern = {m.key for m in PatternEntityExtractor().extract(turn(text)) if m.score >= 0.5}
    assert {m.key for m in extractor.extract(turn(text))} == pattern


@pytest.mark.parametrize("word", ["Mom", "Friday", "October", "Sooo"])
def test_what_names_another_thing_for_everybody_is_no_name(knowing: Any, word: str) -> None:
    extractor, _ = knowing({word: "PERSON"})
    assert extractor.extract(turn(f"well {word} knows")) == []


def test_a_word_that_opens_sentences_is_weak(knowing: Any) -> None:
    extractor, _ = knowing({"Hope": "PERSON"})
    (mention,) = extractor.extract(turn("Hope it works"))
    assert mention.score == WEAK < LearningPolicy().entity_linker_confidence_threshold


def test_a_name_said_twice_is_one_mention_of_its_best_score(knowing: Any) -> None:
    extractor, _ = knowing({"Oakes": "ORG", "the Oakes": "PERSON"})
    found = extractor.extract(turn("Oakes called. I like the Oakes. Oakes!"))
    assert [(m.key, m.entity_kind, m.score) for m in found] == [("oakes", "organisation", 0.857)]


# -- what is read


def test_the_speaker_is_a_mention_of_its_own(knowing: Any) -> None:
    extractor, _ = knowing({"Wilma": "ORG"})
    found = extractor.extract(turn("Wilma here", name="Wilma"))
    assert found == [Mention(key="wilma", name="Wilma", entity_kind="person", score=0.95)]


@pytest.mark.parametrize("role", ["system", "tool"])
def test_instructions_and_results_are_not_read(knowing: Any, role: Role) -> None:
    extractor, recogniser = knowing({"Oakes": "ORG"})
    assert extractor.extract(turn("Oakes", role=role, name="Oakes")) == []
    assert recogniser.read == []


def test_pasted_memory_is_no_evidence(knowing: Any) -> None:
    extractor, recogniser = knowing({"Oakes": "ORG", "Ana": "PERSON"})
    found = extractor.extract(turn("<memory>\nOakes called\n</memory>\nAna asks"))
    assert [m.key for m in found] == ["ana"]
    assert "Oakes" not in "".join(recogniser.read)


def test_code_and_addresses_are_not_read(knowing: Any) -> None:
    extractor, recogniser = knowing({"Oakes": "ORG", "xx": "ORG"})
    text = "see https://x.org/Oakes\n```\nOakes = 1\n```\nand Oakes"
    assert [m.key for m in extractor.extract(turn(text))] == ["oakes"]
    assert recogniser.read[0].count("Oakes") == 1
    assert len(recogniser.read[0]) == len(text)


def test_identifiers_are_found_whole_and_kept_apart(knowing: Any) -> None:
    extractor, _ = knowing({"260": "MONEY", "PR": "ORG"})
    found = extractor.extract(turn("PR #260 replaces PR #480 in QLX-4471"))
    assert [(m.key, m.entity_kind, m.score) for m in found] == [
        ("pr #260", "thing", 0.7), ("pr #480", "thing", 0.7), ("qlx-4471", "thing", 0.7),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "  \n ", "WE WON AT OAKES"])
def test_nothing_and_a_raised_voice_are_not_read(knowing: Any, text: str) -> None:
    extractor, recogniser = knowing({"OAKES": "ORG"})
    assert extractor.extract(turn(text)) == []
    assert recogniser.read == []


@pytest.mark.parametrize("gap", [" ", "\n", ""])
def test_a_long_turn_is_read_in_pieces_and_no_name_is_lost(knowing: Any, gap: str) -> None:
    extractor, recogniser = knowing({f"Oakes{n}z": "ORG" for n in (1, 2, 3)})
    filler = f"ab{gap}" * (READ_CHARACTERS // 2)
    text = f"Oakes1z {filler} Oakes2z {filler} Oakes3z"
    assert [m.name for m in extractor.extract(turn(text))] == ["Oakes1z", "Oakes2z", "Oakes3z"]
    assert len(recogniser.read) > 2
    assert max(map(len, recogniser.read)) <= READ_CHARACTERS
    assert "".join(recogniser.read) == text


# -- which pipeline


def test_the_version_names_spacy_and_the_model(knowing: Any) -> None:
    extractor, _ = knowing({})
    assert (extractor.name, extractor.version) == ("spacy", "1 spacy-3.8.1 en_core_web_sm-3.8.0")


def test_a_pipeline_that_finds_no_kind_of_ours_is_refused(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    with pytest.raises(CollaboratorError, match=r"en_blank-3\.8\.0 finds no people"):
        SpacyEntityExtractor(model=install_model("blank", labels={"ner": ["DATE"]}))


def test_a_policy_that_asks_for_it_gets_the_package_s_own(knowing: Any) -> None:
    knowing({})
    found = compose_collaborators(ASKED)
    assert isinstance(found.entity_extractor, SpacyEntityExtractor)
    assert found.missing == {}


def test_a_policy_that_asks_for_it_without_a_model_is_told_which(
    install_spacy: Callable[..., None],
) -> None:
    install_spacy()
    found = compose_collaborators(ASKED)
    assert found.entity_extractor is None
    assert "python -m spacy download en_core_web_sm" in found.missing["link_entities"]


def test_a_model_that_finds_nothing_of_ours_is_told_too(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    install_model(labels={})
    assert "finds no people" in compose_collaborators(ASKED).missing["link_entities"]


def test_a_named_model_is_not_replaced_by_the_default(
    install_spacy: Callable[..., None], install_model: Callable[..., str]
) -> None:
    install_spacy()
    install_model()
    with pytest.raises(MissingExtra, match="en_core_web_trf"):
        SpacyEntityExtractor(model="en_core_web_trf")


# -- with spaCy itself


@pytest.fixture
def blank() -> Any:
    spacy = pytest.importorskip("spacy")
    return spacy.blank("en")


@needs_spacy
def test_spacys_own_rules_are_read(blank: Any, tmp_path: Path) -> None:
    blank.add_pipe("entity_ruler").add_patterns(
        [
            {"label": "ORG", "pattern": "Oakes"},
            {"label": "PERSON", "pattern": "Ana Ortiz"},
            {"label": "DATE", "pattern": "Friday"},
        ]
    )
    blank.meta["name"] = "rules"
    blank.to_disk(tmp_path / "rules")
    extractor = SpacyEntityExtractor(model=str(tmp_path / "rules"))
    found = extractor.extract(turn("On Friday Ana Ortiz called Oakes, and Oakes answered."))
    assert found == [
        Mention(key="ana ortiz", name="Ana Ortiz", entity_kind="person", score=UNMEASURED),
        Mention(key="oakes", name="Oakes", entity_kind="organisation", score=UNMEASURED),
    ]
    assert extractor.version.endswith("en_rules-0.0.0")


@needs_spacy
def test_a_blank_pipeline_is_refused_rather_than_finding_nothing(
    blank: Any, tmp_path: Path
) -> None:
    blank.to_disk(tmp_path / "blank")
    with pytest.raises(CollaboratorError, match="finds no people"):
        SpacyEntityExtractor(model=str(tmp_path / "blank"))


@needs_spacy
def test_a_directory_without_its_parts_is_a_failed_collaborator(blank: Any, tmp_path: Path) -> None:
    blank.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "Oakes"}])
    blank.to_disk(tmp_path / "broken")
    (tmp_path / "broken" / "config.cfg").unlink()
    extractor = SpacyEntityExtractor(model=str(tmp_path / "broken"))
    with pytest.raises(CollaboratorError, match="cannot load"):
        extractor.extract(turn("Oakes called"))


@needs_spacy
@needs_model
def test_the_english_model_finds_people_and_places_the_same_each_time() -> None:
    extractor = SpacyEntityExtractor()
    text = "Angela Merkel met Barack Obama in Berlin on Friday, 15 October 2010."
    found = extractor.extract(turn(text))
    assert [(m.key, m.entity_kind) for m in found] == [
        ("angela merkel", "person"), ("barack obama", "person"), ("berlin", "place"),
    ]  # fmt: skip
    assert all(0.5 < m.score <= 0.9 for m in found)
    assert SpacyEntityExtractor().extract(turn(text)) == found
