"""Names found by a spaCy pipeline's named entity recogniser.

A trained recogniser knows names that open a sentence or stand without capitals, and says of what
kind they are; it also takes for names what merely looks like the news it was trained on. It is
behind an extra, and spaCy is imported when the first text is read.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.collaborators import Mention
from symfonic.capabilities.memory.errors import CollaboratorError
from symfonic.capabilities.memory.extractors.canonical import canonical_key, shown_form
from symfonic.capabilities.memory.extractors.common_words import CALENDAR, KIN, STARTERS
from symfonic.capabilities.memory.extractors.identifiers import IDENTIFIER, blanked, prose_of
from symfonic.capabilities.memory.extractors.name_context import TITLES
from symfonic.capabilities.memory.extractors.name_scores import HIGHEST, IDENTIFIER_SCORE
from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.extractors.spacy_models import find_model, load_pipeline
from symfonic.capabilities.memory.extractors.speakers import speaker_of
from symfonic.capabilities.memory.records import Episode, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.extractors.spacy_models import Found
    from symfonic.capabilities.memory.records import Record

KINDS: Final = {
    "PERSON": "person", "PER": "person",
    "ORG": "organisation",
    "GPE": "place", "LOC": "place", "FAC": "place",
    "PRODUCT": "thing", "WORK_OF_ART": "thing", "EVENT": "thing", "LAW": "thing",
    "MISC": "unknown",
}  # fmt: skip
"""Our kinds by the labels of OntoNotes and of WikiNER, which most published pipelines use.

Dates, times, amounts and ordinals are no entities: "15 October" is said of many things. Neither
are languages and nationalities.
"""

UNMEASURED: Final = 0.6
"""The score where a pipeline publishes no figure for a label: more likely a name than not."""

WEAK: Final = 0.4
"""The most that a word counts which opens sentences, such as "Nah" or "Glad".

A recogniser trained on news takes them for names. "Hope" and "May" are among them, so such a word
is linked where the name is known.
"""

READ_CHARACTERS: Final = 20_000
"""The longest piece read at once: 100,000 took spaCy more than half a gigabyte."""

_RULES: Final = "1"
_EDGES: Final = " \t\"'“”‘’«»*_()[]{}<>,;:!?…–—-•|#~`/\\&"
_ARTICLE: Final = re.compile(r"\A(?:the|an?)(?:\s+|\Z)", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"['’]s?\Z")
_ELONGATED: Final = re.compile(r"(\w)\1\1")
_LINES: Final = re.compile(r"\s*[\n\r]+\s*")
_PEOPLE: Final = re.compile(r"\s*(?:[\n\r,&/+]|\b(?:and|or)\b)\s*")


class SpacyEntityExtractor:
    """Finds people, places, organisations and things with a spaCy pipeline.

    ``model`` is an installed package or the directory of a pipeline; without it, spaCy's small
    English one. It reads the same turns as the pattern extractor, and leaves out the same code,
    headings and addresses. Speakers and identifiers are found as there: no recogniser knows them.

    spaCy gives no probability. A score is the share of finds of that label that were right when
    the pipeline's makers evaluated it, as published with it, and at most 0.9; so a label that is
    more often wrong than right makes no entity at the default threshold, and is linked where the
    name is known from elsewhere. Talk is not what they evaluated on: ``entities_locomo.py``
    measures both extractors on the same turns.

    The same text gives the same mentions on one machine; the last bit of a sum may differ on
    another, and tip a close decision. A run keeps what was found, and is replayed from that.

    Raises ``MissingExtra`` without spaCy or the model, ``CollaboratorError`` for a pipeline that
    finds none of the kinds.
    Source: decision 0013.
    """

    name = "spacy"

    def __init__(self, *, model: str | None = None) -> None:
        self._model = find_model(model)
        figures = [(label, p) for label, p in self._model.precision if label in KINDS]
        if not figures:
            raise CollaboratorError(
                f"The spaCy model {self._model.title} finds no people, places, organisations or "
                f"things: it has none of the labels {', '.join(sorted(KINDS))}. Name another one.",
                collaborator=self.name,
                model=self._model.source,
            )
        self._scores = {
            label: UNMEASURED if p is None else rounded(min(p, HIGHEST)) for label, p in figures
        }

    @property
    def version(self) -> str:
        """The version of the rules here, of spaCy and of the model: each changes what is found."""
        return f"{_RULES} spacy-{self._model.spacy} {self._model.title}"

    def extract(self, episode: Record) -> list[Mention]:
        """The mentions in ``episode``, one a key, in the order of their first occurrence.

        Raises ``CollaboratorError`` where spaCy cannot load the model.
        """
        content = episode.content
        if not isinstance(content, Episode) or content.role not in {"user", "assistant"}:
            return []
        found: dict[str, list[Mention]] = {}
        speaker = speaker_of(content)
        if speaker is not None:
            found[speaker.key] = [speaker]
        for mention in self._in_text(episode.text):
            found.setdefault(mention.key, []).append(mention)
        return [_combined(mentions) for mentions in found.values()]

    def _in_text(self, text: str) -> Iterator[Mention]:
        text = unicodedata.normalize("NFC", without_pasted(text))
        prose = prose_of(text)
        for match in IDENTIFIER.finditer(prose):
            yield _mention(match[0], "thing", IDENTIFIER_SCORE)
        prose = IDENTIFIER.sub(blanked, prose)
        if not prose.strip() or prose.isupper():
            return
        pipeline = load_pipeline(self._model)
        for start, piece in _pieces(prose):
            for found in pipeline.find(piece):
                written = text[start + found.start : start + found.end]
                if found.label in self._scores and piece[found.start : found.end] == written:
                    yield from self._mentions(written, found)

    def _mentions(self, written: str, found: Found) -> Iterator[Mention]:
        """The names in one find: it may run over a line's end, or hold several people."""
        kind = KINDS[found.label]
        for part in (_PEOPLE if kind == "person" else _LINES).split(written):
            name = _bare(part)
            if _is_name(name):
                score = self._scores[found.label]
                yield _mention(name, kind, min(score, WEAK) if _is_filler(name) else score)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces of bounded length with their offsets, cut at a line's or a word's end."""
    start = 0
    while len(text) - start > READ_CHARACTERS:
        limit = start + READ_CHARACTERS
        cut = text.rfind("\n", start, limit)
        if cut < 0:
            cut = text.rfind(" ", start, limit)
        end = limit if cut < 0 else cut + 1
        yield start, text[start:end]
        start = end
    yield start, text[start:]


def _bare(part: str) -> str:
    """The name without article, possessive, quotes, and the full stop of a sentence or a title."""
    name = _ARTICLE.sub("", part.strip(_EDGES), count=1)
    name = _POSSESSIVE.sub("", name).strip(_EDGES)
    words = [
        word[:-1] if word[-1] == "." and word[:-1].lower() in TITLES else word
        for word in name.split()
    ]
    if words and words[-1].count(".") == 1:
        words[-1] = words[-1].rstrip(".")
    return " ".join(words)


def _is_name(name: str) -> bool:
    """Whether it may name one thing for everybody: not a number, a weekday, Mom or a shout."""
    lower = name.lower()
    return (
        len(name) > 1
        and any(character.isalpha() for character in name)
        and lower not in CALENDAR
        and lower not in KIN
        and _ELONGATED.search(lower) is None
    )


def _is_filler(name: str) -> bool:
    return name.lower() in STARTERS


def _mention(name: str, kind: str, score: float) -> Mention:
    shown = shown_form(name)
    return Mention(key=canonical_key(shown), name=shown, entity_kind=kind, score=score)


def _combined(mentions: list[Mention]) -> Mention:
    """One mention for all occurrences in the episode: the best score, and the kind said most.

    Saying a name twice does not make the recogniser surer: it errs on a word, not by chance.
    """
    best = max(mentions, key=lambda m: m.score)  # the first of the best
    kinds = [m.entity_kind for m in mentions if m.entity_kind != "unknown"] or [best.entity_kind]
    kind = max(kinds, key=lambda k: (kinds.count(k), k == best.entity_kind, k))
    return Mention(key=best.key, name=best.name, entity_kind=kind, score=best.score)
