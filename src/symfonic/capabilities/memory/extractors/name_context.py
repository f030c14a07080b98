"""What stands around a capitalised run: where in the sentence, who is addressed, which place.

The words here are hints and decide nothing alone: "from Maria" and "from Lima" look the same.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from symfonic.capabilities.memory.extractors.common_words import STARTERS, is_ordinary

Position = Literal["inside", "after_mark", "start"]
"""Inside a sentence; after a colon, an opening quote or a bracket; at a sentence's beginning."""

TITLES: Final = frozenset(
    """
    mr mrs ms miss mx dr prof professor captain capt lt sgt col major president senator pope
    saint aunt auntie uncle grandma grandpa king queen prince princess madame monsieur herr frau
    don doña señor señora
    """.split()
)
ORGANISATION_HEADS: Final = frozenset(
    """
    inc ltd llc plc gmbh corp corporation co bv nv oy ab sa spa kg company university college
    institute academy school hospital clinic bank pharmacy agency association foundation
    federation council committee ministry department union club society labs partners holdings
    industries airlines airways insurance
    """.split()
)
PLACE_HEADS: Final = frozenset(
    """
    park street road avenue lane boulevard square plaza city county island islands beach bay
    lake river mountain mountains mount valley canyon falls forest desert coast bridge tower
    castle palace cathedral museum airport station harbour harbor hotel cafe café restaurant
    bakery springs
    """.split()
)
NOUNS_WITH_OF: Final = frozenset(
    """
    republic kingdom commonwealth union emirates duchy principality province archdiocese diocese
    army knights order legion league brotherhood sisterhood duke duchess earl archbishop bishop
    secretary minister chancellor dean head chief director gulf strait sea cape faculty
    """.split()
)
"""What is of something, and no name without it."""
THING_HEADS: Final = frozenset({"project", "operation", "team", "game", "series"})

_SPOKEN_TO: Final = frozenset(
    """
    hey hi hello hiya howdy thanks thank dear bye goodbye cheers congrats congratulations sorry
    welcome wow yeah yes yep ok okay morning night evening afternoon cool great nice awesome
    well you luck
    """.split()
)
_NAMING: Final = frozenset({"named", "called", "nicknamed", "name's", "names"})
_RELATIONS: Final = frozenset(
    """
    friend friends wife husband partner girlfriend boyfriend fiancé fiancée brother sister son
    daughter mother father mom dad mum uncle aunt cousin nephew niece grandmother grandfather
    colleague boss manager neighbour neighbor roommate teammate coach teacher mentor classmate
    buddy pal twin customer client doctor teammates kids colleagues
    """.split()
)
_PETS: Final = frozenset(
    "dog dogs cat cats puppy puppies pup kitten kittens pet pets turtle rabbit horse parrot".split()
)
_PLACE_WORDS: Final = frozenset(
    {"in", "near", "visit", "visited", "visiting", "toured", "exploring"}
)
_DIRECTIONS: Final = frozenset({"at", "from", "to"})
_SAID_TO: Final = frozenset(
    """
    talk talks talked talking speak spoke speaking said say give gave giving given send sent
    thanks thank listen listened happened write wrote written gift letter message messages mail
    email call present show showed shown told explain explained introduced similar next married
    engaged advice according hear heard hug hugs borrowed words belongs belonged
    """.split()
)
_GREETINGS: Final = frozenset({"hey", "hi", "hello", "dear"})
_CLAUSE_ENDS: Final = frozenset({"", ",", ".", "!", "?", "\n"})
_SAYS: Final = frozenset(
    """
    said says say told tells asked asks thinks thought loves loved likes liked wants wanted
    called wrote replied mentioned suggested agreed promised recommended smiled laughed cried
    hates knows
    """.split()
)
_SKIPPED: Final = " \t\u00a0*_"
_OPENERS: Final = "\"'“‘«„([{:"
_INSIDE_MARKS: Final = ",;)]}”’»%&/–—-"
_ABBREVIATIONS: Final = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e"})
_WINDOW: Final = 48
_NEXT_WORD: Final = re.compile(r" (\w+)")


class Context(NamedTuple):
    """``spoken_to``, ``named`` and ``said`` are evidence of a name; ``kind`` is a hint or empty."""

    position: Position
    spoken_to: bool = False
    named: bool = False
    said: bool = False
    kind: str = ""


def position_of(text: str, start: int) -> Position:
    """Where in its sentence a word beginning at ``start`` stands."""
    i = start - 1
    while i >= 0 and text[i] in _SKIPPED:
        i -= 1
    if i < 0:
        return "start"
    mark = text[i]
    if mark.isalnum() or (mark == "." and _ends_abbreviation(text, i)):
        return "inside"
    if mark in _OPENERS:
        if mark == ":" or i == 0:
            return "after_mark" if mark == ":" else "start"
        return "after_mark" if text[i - 1] not in ".!?\n" else "start"
    if mark in _INSIDE_MARKS and not _opens_line(text, i):
        return "inside"
    return "start"


def context_of(text: str, start: int, end: int, position: Position, dropped: str) -> Context:
    """The surroundings of the name at ``start:end``; ``dropped`` is the greeting just before it."""
    before = text[max(0, start - _WINDOW) : start]
    following = text[end : end + 1]
    if position == "start":
        return Context(position, spoken_to=following == ",", said=_says(text, end))
    words = before.split()
    last = words[-1] if words else ""
    last_word = last.strip(",.;:!?\"'“”‘’()*_").lower()
    ends = following in _CLAUSE_ENDS
    spoken_to = dropped in _SPOKEN_TO or (last_word in _SPOKEN_TO and last[-1:] not in ";:")
    if spoken_to and (ends or last_word in _GREETINGS):
        return Context(position, spoken_to=True, kind="person")
    if last.endswith(",") and ends and _is_plain(last):
        return Context(position, spoken_to=True, kind="person")
    if last_word in _NAMING or before.rstrip().lower().endswith((" name is", " names are")):
        return Context(position, named=True)
    if last_word in {"and", "or"} and len(words) > 1 and not _is_plain(words[-2]):
        return Context(position, named=True)
    if last_word in _RELATIONS:
        return Context(position, named=True, kind="person")
    if last_word in _PETS:
        return Context(position, named=True)
    if _says(text, end):
        return Context(position, said=True, kind="person")
    if last.lower() in _PLACE_WORDS:
        return Context(position, kind="place")
    if last.lower() in _DIRECTIONS:
        verb = words[-2].strip(",.;:!?").lower() if len(words) > 1 else ""
        return Context(position, kind="person" if verb in _SAID_TO else "place")
    return Context(position)


def _says(text: str, end: int) -> bool:
    following = _NEXT_WORD.match(text, end)
    return following is not None and following[1] in _SAYS


def _is_plain(word: str) -> bool:
    """Whether the word before a comma is no name itself: a list of names addresses nobody."""
    bare = word.strip(",.\"'“”‘’()*_")
    return not bare[:1].isupper() or bare.lower() in STARTERS or is_ordinary(bare.lower())


def _ends_abbreviation(text: str, dot: int) -> bool:
    word = text[max(0, dot - 6) : dot].split()
    return bool(word) and word[-1].lower() in _ABBREVIATIONS


def _opens_line(text: str, i: int) -> bool:
    """Whether the mark at ``i`` is a list bullet."""
    while i > 0 and text[i - 1] in _SKIPPED:
        i -= 1
    return i == 0 or text[i - 1] == "\n"
