"""What a question asks of the text index: its words, identifiers, and whether time decides.

A question is talk, not a query language. Joining its words by AND makes every sentence miss,
joining all of them by OR lets "in" match hundreds of rows, and a length floor loses CI and Go. So
words that ask and bind are dropped, identifiers become one phrase, the rest is joined by OR, and
recall weighs what matched. Raw input never reaches the index: what is sent is made of letters and
digits in quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from symfonic.capabilities.memory.stop_words import (
    FIRST_WORDS,
    GENERIC_AFTER_TIME_WORDS,
    LATEST_WORDS,
    NOT_AN_ORDER_BEFORE,
    OPERATORS,
    STOP_WORDS,
    WORDS_FOR_AGENT,
    WORDS_THAT_ASK,
)
from symfonic.capabilities.memory.text_terms import UNSPACED, fold, pairs, parts

if TYPE_CHECKING:
    from symfonic.capabilities.memory.spoken_times import SpokenTime

TermKind = Literal["word", "identifier", "pair"]
TimeOrder = Literal["latest", "first"]
Side = Literal["before", "after"]

MOST_TERMS: Final = 48
"""Terms of one question that are looked for: a pasted page is no sharper than its beginning."""
MOST_CHARACTERS: Final = 8_000
LEAST_PREFIX: Final = 4
LEAST_MISSPELT: Final = 5

_TOKEN: Final = re.compile(r"[^\W_]+")
_CHUNK: Final = re.compile(r"\w+://[^\s\"<>]+|[^\s,;!?\"“”„«»()\[\]{}<>|…—–、。，；！？]+")
_JOINT: Final = re.compile(r"\.{2,}|-{2,}|:{2,}")
_EDGES: Final = re.compile(r"^[^\w]+|[^\w]+$")
_POSSESSIVE: Final = re.compile(r"'(?:s|S)?$")
_VERSION: Final = re.compile(r"[vV]\d+(?:[._]\d+)*$")
_TWO_WORDS: Final = re.compile(r"[a-z]{3,}/[a-z]{3,}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One thing looked for: any of ``forms``, each the tokens of one phrase in order.

    An identifier is found whole or not at all: ``QLX-4472`` must not bring up ``QLX-4471``.
    A pair is two characters of a script that is written without spaces.
    """

    text: str
    kind: TermKind
    forms: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question, taken apart.

    ``order`` says that time decides among comparable matches. ``times`` are those it names, and
    ``only_times`` says that it asks for nothing else than what there is of them. ``event`` are the
    positions among the terms of what stands after "before" or "after", as ``side`` says.
    ``of_agent`` says that it asks what the agent said, ``is_asked`` that it is a question and no
    list of words, and ``unclear`` are words in it that sound like a time and were not understood.
    """

    text: str
    terms: tuple[Term, ...] = ()
    order: TimeOrder | None = None
    truncated: bool = False
    times: tuple[SpokenTime, ...] = ()
    only_times: bool = False
    event: frozenset[int] = frozenset()
    side: Side | None = None
    of_agent: bool = False
    is_asked: bool = False
    unclear: str | None = None


def query_terms(query: str) -> Query:
    """The terms of a question in order, each once; none where it only asks and binds."""
    text = fold(query[:MOST_CHARACTERS])
    words = [_POSSESSIVE.sub("", word) for word in _chunks(text)]
    words = [word for word in words if _TOKEN.search(word)]
    stops = _stops_of([word.lower() for word in words])
    order = _time_order([word.lower() for word in words])
    shouting = len(words) > 1 and not any(letter.islower() for letter in text)
    terms: dict[str, Term] = {}
    for word in words:
        if _is_kept(word, stops, shouting=shouting):
            for term in _terms_of(word):
                terms.setdefault(term.text, term)
    kept = _without_time_words(list(terms.values()), order)
    return Query(
        text=query, terms=tuple(kept[:MOST_TERMS]), order=order,
        is_asked=_is_asked(text, words),
        of_agent=any(word.lower() in WORDS_FOR_AGENT for word in words),
        truncated=len(query) > MOST_CHARACTERS or len(kept) > MOST_TERMS,
    )  # fmt: skip


def has_words(query: str) -> bool:
    """Whether anything of a question is a letter or a digit."""
    return _TOKEN.search(query[:MOST_CHARACTERS]) is not None


def expressions(query: Query) -> list[str]:
    """For each term, the full-text expression that matches any form of it.

    They speak of the text alone; the store adds whose memory it searches.
    """
    return [
        " OR ".join(f'"{phrase}"' for phrase in dict.fromkeys(" ".join(f) for f in term.forms))
        for term in query.terms
    ]


def beginning(term: Term) -> str | None:
    """The first letters under which a misspelt word may be found; ``None`` where it is not one.

    Half of the word, at least four letters; what has it is compared letter by letter.
    Identifiers and numbers have no near spelling: another version is another version.
    """
    if term.kind != "word" or len(term.text) < LEAST_MISSPELT or not term.text.isalpha():
        return None
    return term.text[: max(LEAST_PREFIX, len(term.text) // 2)]


def beginning_expressions(prefixes: list[str]) -> list[str]:
    """The full-text expressions that match words with these beginnings."""
    return [f'"{prefix}" *' for prefix in dict.fromkeys(prefixes)]


def _chunks(text: str) -> list[str]:
    """The words as they were written, connectors inside them kept."""
    joined = re.sub(r"(?<=\d),(?=\d)", ".", text)  # 1,000 is one number
    found: list[str] = []
    for chunk in _CHUNK.findall(joined):
        for piece in [chunk] if "://" in chunk else _JOINT.split(chunk):
            trimmed = _EDGES.sub("", piece)
            if _TWO_WORDS.match(trimmed):
                found.extend(trimmed.split("/"))
            else:
                found.append(trimmed)
    return found


def _is_asked(text: str, words: list[str]) -> bool:
    """Whether this is a sentence that asks or tells, by its mark or its first words."""
    return text.rstrip().endswith(("?", "？")) or any(
        word.lower() in WORDS_THAT_ASK for word in words[:3]
    )


def _stops_of(words: list[str]) -> frozenset[str]:
    """The stop words of the language that most of the words belong to; English where even.

    One list for all would drop English "die", "war" and "hat" for the sake of German.
    """
    counts = [(sum(word in stops for word in words), stops) for stops in STOP_WORDS.values()]
    return max(counts, key=lambda pair: pair[0])[1]


def _is_kept(word: str, stops: frozenset[str], *, shouting: bool) -> bool:
    """Whether a word says what is looked for; IT and US do, though "it" and "us" do not."""
    lower = word.lower()
    if word in OPERATORS:
        return False
    if len(word) == 1 and word.isascii() and word.isalpha():
        return word.isupper() and word not in "AI" and not shouting
    if lower not in stops:
        return True
    return word.isupper() and 2 <= len(word) <= 3 and not shouting


def _terms_of(word: str) -> list[Term]:
    if UNSPACED.search(word):
        return _unspaced_terms(word)
    tokens = tuple(_TOKEN.findall(word.lower()))
    split = tuple(token.lower() for piece in _TOKEN.findall(word) for token in parts(piece))
    forms = [tokens]
    if split != tokens:
        forms.append(split)
    if _VERSION.match(word):
        forms.append((tokens[0][1:], *tokens[1:]))
    if len(tokens) > 1 and "".join(tokens).isalpha() and not re.search(r"[/:.@]", word):
        forms.append(("".join(tokens),))
    is_word = len(tokens) == 1 and tokens[0].isalpha()
    return [Term(text=word.lower(), kind="word" if is_word else "identifier", forms=tuple(forms))]


def _unspaced_terms(word: str) -> list[Term]:
    """The pairs of each run; endings written in hiragana only are left out beside other pairs."""
    terms: list[Term] = []
    for run in UNSPACED.findall(word):
        found = pairs(run)
        marked = [
            pair for pair in found if not all("\u3040" <= letter <= "\u309f" for letter in pair)
        ]
        terms.extend(Term(text=pair, kind="pair", forms=((pair,),)) for pair in marked or found)
    for piece in UNSPACED.split(word):
        if _TOKEN.search(piece):
            terms.extend(_terms_of(_EDGES.sub("", piece)))
    return terms


def _time_order(words: list[str]) -> TimeOrder | None:
    """Which end of time the question asks for; ``None`` where it asks for neither, or for both."""
    found: set[TimeOrder] = set()
    for word, after in zip(words, [*words, ""][1:], strict=True):
        if after in NOT_AN_ORDER_BEFORE:
            continue
        if word in LATEST_WORDS:
            found.add("latest")
        elif word in FIRST_WORDS:
            found.add("first")
    return found.pop() if len(found) == 1 else None


def _without_time_words(terms: list[Term], order: TimeOrder | None) -> list[Term]:
    """The terms but for the words that only ask for an end of time, where others are left.

    An old row that says "current state" is no better an answer for echoing the question.
    """
    if order is None:
        return terms
    asking = LATEST_WORDS | FIRST_WORDS | GENERIC_AFTER_TIME_WORDS
    return [term for term in terms if term.text not in asking] or terms
