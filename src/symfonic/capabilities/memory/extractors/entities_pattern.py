"""Names found by capitals and their surroundings, without a model.

A name is judged by the evidence inside one episode: where its capitals stand, how many there are,
what comes before and after. One occurrence rarely decides; the linker counts episodes. The word
lists are English, the rules about letters hold for every script that has capitals.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from symfonic.capabilities.memory.collaborators import Mention
from symfonic.capabilities.memory.extractors.canonical import canonical_key, shown_form
from symfonic.capabilities.memory.extractors.common_words import (
    CALENDAR,
    KIN,
    STARTERS,
    is_ordinary,
)
from symfonic.capabilities.memory.extractors.identifiers import (
    IDENTIFIER,
    MAY_HOLD_IDENTIFIER,
    blanked,
    prose_of,
)
from symfonic.capabilities.memory.extractors.name_context import (
    NOUNS_WITH_OF,
    ORGANISATION_HEADS,
    PLACE_HEADS,
    TITLES,
    Position,
    context_of,
    position_of,
)
from symfonic.capabilities.memory.extractors.name_scores import (
    HIGHEST,
    IDENTIFIER_SCORE,
    REPEATED,
    STRONG,
    heads_a_field,
    kind_of,
    score_of_one,
    score_of_several,
)
from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.extractors.small_letters import SCORE as SMALL_LETTERS
from symfonic.capabilities.memory.extractors.small_letters import small_names
from symfonic.capabilities.memory.extractors.speakers import speaker_of
from symfonic.capabilities.memory.records import Episode, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symfonic.capabilities.memory.records import Record

_CAPITALS: Final = "".join(
    c for code in (*range(0x41, 0x590), *range(0x1E00, 0x2000)) if (c := chr(code)).isupper()
)
_LETTER: Final = f"[{_CAPITALS}]"
_TOKEN: Final = (
    rf"(?:(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Jr|Sr)\.(?=[ ])"
    rf"|(?:(?!I\b){_LETTER}\.)++(?=[ ]?{_LETTER}\w)"
    rf"|(?!I\b){_LETTER}\w*+(?:['’-]\w++)*+)"
)
_PARTICLE: Final = (
    "(?:of(?: the)?|de(?: la| los| las)?|del|della|di|da|dos|das|du|des|van(?: der| den| de)?"
    "|von(?: der| den)?|der|la|le|el|al|bin|ibn|zu|af)"
)
_PARTICLES: Final = frozenset(
    "of the de la los las del della di da dos das du des van der den von le el al bin ibn zu"
    " af".split()
)
_RUN: Final = re.compile(
    rf"(?<![\w@#]){_TOKEN}"
    rf"(?:(?:[ \u00a0]?(?<=\.)|[ \u00a0](?:{_PARTICLE}[ ])?|[ ]&[ ]){_TOKEN})*+"
    rf"(?:[ ]\d{{1,4}}(?![\w%]|[.,:]\d))?"
)
_PART: Final = re.compile(rf"{_TOKEN}|\w+|&")
_ELONGATED: Final = re.compile(r"(\w)\1\1")
_COUNTED: Final = re.compile(r" (?!(?:is|was|has|does|as)\b)(?:\w+s|am|pm|times|o'clock|percent)\b")


class _Piece(NamedTuple):
    """A candidate: its parts, where it stands, and the greeting dropped just before it."""

    parts: list[str]
    start: int
    end: int
    position: Position
    dropped: str


class PatternEntityExtractor:
    """Finds people, places, organisations and things by pattern. Stateless.

    It reads what users and assistants say; instructions and tool results are not talk. Code,
    headings and addresses are left out. The speaker of a turn is a mention of its own.
    """

    name = "pattern"
    version = "2"

    def extract(self, episode: Record) -> list[Mention]:
        """The mentions in ``episode``, one a key, in the order of their first occurrence."""
        content = episode.content
        if not isinstance(content, Episode) or content.role not in {"user", "assistant"}:
            return []
        found: dict[str, list[Mention]] = {}
        speaker = speaker_of(content)
        if speaker is not None:
            found[speaker.key] = [speaker]
        for mention in _in_text(episode.text):
            found.setdefault(mention.key, []).append(mention)
        return [_combined(mentions) for mentions in found.values()]


def _in_text(text: str) -> Iterator[Mention]:
    text = without_pasted(text)
    text = prose_of(text if text.isascii() else unicodedata.normalize("NFC", text))
    if MAY_HOLD_IDENTIFIER.search(text):
        for match in IDENTIFIER.finditer(text):
            yield _mention(match[0], "thing", IDENTIFIER_SCORE)
        text = IDENTIFIER.sub(blanked, text)
    if text.isupper():
        return
    for match in _RUN.finditer(text):
        for piece in _pieces(text, match):
            mention = _judged(text, piece)
            if mention is not None:
                yield mention
    for name in small_names(text):
        yield _mention(name, "unknown", SMALL_LETTERS)


def _pieces(text: str, match: re.Match[str]) -> Iterator[_Piece]:
    """The run cut after each possessive, without what is capitalised for other reasons."""
    base, run = match.start(), match[0]
    position = position_of(text, base)
    parts: list[str] = []
    start, end, dropped = base, base, ""
    for part in _PART.finditer(run):
        word, cut = _bare(part[0])
        lower = word.lower()
        if not parts:
            if lower in _PARTICLES or _opens_nothing(
                lower, position, is_last=part.end() == len(run)
            ):
                dropped, position = lower, "inside"
                continue
            start = base + part.start()
        elif lower == "of" and _is_whole_name(parts):
            yield _Piece(parts, start, end, position, dropped)
            parts, dropped, position = [], "", "inside"
            continue
        if word[-1:] == "." and lower[:-1] in TITLES:
            word = word[:-1]
        parts.append(word)
        end = base + part.start() + len(word)
        if cut:
            yield _Piece(parts, start, end, position, dropped)
            parts, dropped, position = [], "", "inside"
    if parts:
        yield _Piece(parts, start, end, position, dropped)


def _is_whole_name(parts: list[str]) -> bool:
    """Whether what stands before "of" is a name of its own: "Ana Ortiz of Ortiz Orchards" are two.

    "United States of America" and "Royal Bank of Scotland" are one: a common noun says what of.
    """
    last = parts[-1].lower()
    capitals = sum(part[:1].isupper() for part in parts)
    return capitals > 1 and not (
        is_ordinary(last) or last in NOUNS_WITH_OF or last in ORGANISATION_HEADS | PLACE_HEADS
    )


def _opens_nothing(word: str, position: Position, *, is_last: bool) -> bool:
    """Whether a word is no beginning of a name: a greeting, a weekday, a sentence's first verb."""
    if len(word) == 2 and word[1].isdigit():  # a quarter, a level, a seat
        return True
    if word in STARTERS:
        return not (word == "will" and position == "inside")
    if word in CALENDAR or (word in KIN and is_last):
        return True
    return position == "start" and word.endswith("ing") and is_ordinary(word)


def _bare(word: str) -> tuple[str, bool]:
    """The word without possessive, contraction or a lower-case second half; and whether it ended.

    "Maria's" and "Maria'll" are Maria, "Boston-based" is Boston, "O'Brien" and "Jean-Luc" stay.
    """
    for mark in "'’":
        head, found, tail = word.rpartition(mark)
        if found and (len(tail) <= 2 or tail.islower()):
            return ("" if tail.lower() == "t" else head), True
    head, found, tail = word.partition("-")
    if found and tail[:1].islower():
        return head, True
    return word, False


def _judged(text: str, piece: _Piece) -> Mention | None:
    parts = _trimmed(piece.parts, text, piece.end)
    words = [part for part in parts if part[:1].isupper()]
    if not words or (len(words) == 1 and len(words[0]) == 1):
        return None
    if _ELONGATED.search(parts[0].lower()):
        return None
    name = " ".join(parts)
    end = piece.end if len(parts) == len(piece.parts) else piece.start + len(name)
    context = context_of(text, piece.start, end, piece.position, piece.dropped)
    score = (
        score_of_several(words, context) if len(words) > 1 else score_of_one(text, parts, context)
    )
    if score == 0 or heads_a_field(text, piece.start, words):
        return None
    kind, least = kind_of(parts, words, context)
    return _mention(name, kind, max(score, least))


def _trimmed(parts: list[str], text: str, end: int) -> list[str]:
    """The parts without a tail that is no name: particles, weekdays, a number that counts."""
    kept = list(parts)
    while len(kept) > 1:
        last = kept[-1].lower()
        counts = last.isdigit() and _COUNTED.match(text, end) is not None
        tail = last in STARTERS and kept[-2].lower() not in _PARTICLES
        if not (counts or tail or last in _PARTICLES or last in CALENDAR or last == "&"):
            break
        kept.pop()
    return kept


def _mention(name: str, kind: str, score: float) -> Mention:
    shown = shown_form(name)
    return Mention(
        key=canonical_key(shown), name=shown, entity_kind=kind, score=min(score, HIGHEST)
    )


def _combined(mentions: list[Mention]) -> Mention:
    """One mention for all occurrences in the episode: the best, a little surer when it recurs."""
    best = max(mentions, key=lambda m: m.score)  # the first of the best
    strong = sum(m.score >= STRONG for m in mentions)
    score = best.score
    if strong > 1 and score < HIGHEST:
        score = min(score + REPEATED, HIGHEST)
    kinds = [m.entity_kind for m in mentions if m.entity_kind != "unknown"]
    kind = best.entity_kind
    if kind == "unknown" and kinds:
        kind = max(kinds, key=lambda k: (kinds.count(k), k))
    return Mention(key=best.key, name=best.name, entity_kind=kind, score=rounded(score))
