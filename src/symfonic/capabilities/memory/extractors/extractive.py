"""A summary made of what was said: the most central sentences, in time order, with who and when.

Every word in it stands in a source, so it cannot invent anything, and a sentence in the first
person stays attributable, because its speaker stands before it. What reads alike is said once,
unless the two differ in a number, a name or a denial: "the 15th", then "the 16th" is what happened.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from symfonic.capabilities.memory.extractors.lexrank import centrality, similarities, terms
from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.extractors.sentences import (
    CODE_LEFT_OUT,
    Sentence,
    bare,
    cut,
    is_fragment,
    sentences,
)
from symfonic.capabilities.memory.records import Episode, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symfonic.capabilities.memory.records import Record

METHOD: Final = "lexrank@1"
"""Name and version; the version counts up when the same episodes would give another text."""

MAX_CHARACTERS: Final = 1200
MAX_SENTENCES: Final = 8
SENTENCE_CHARACTERS: Final = 240
"""How long a summary and one sentence of it may be: a screen, not a transcript."""

RANKED_SENTENCES: Final = 200
"""How many sentences are compared; of more, those that say something definite go first."""

NEAR_DUPLICATE: Final = 0.75
"""From this share of common words on, the second of two sentences is left out, where they name the
same numbers and names."""

REPETITION_COST: Final = 0.5
"""How much of its similarity to what is chosen a sentence loses; Source: J. Carbonell and
J. Goldstein, "The Use of MMR", SIGIR 1998."""

_PLEASANTRIES: Final = frozenset(
    """
    ok okay k yes yeah yep no nope hi hello hey thanks thank thx cheers sure great good nice
    cool perfect awesome fine bye goodbye welcome sorry morning evening afternoon night day see
    soon later talk lol haha wow right alright sounds got glad happy help anything else well
    dear let know oh absolutely totally exactly amazing wonderful fantastic incredible gorgeous
    beautiful lovely cute special inspiring congrats congratulations appreciate really love
    looks look keep up way go that'll you'll you've it'll there's what's let's hallo danke bitte
    gut tschüss merci bonjour salut hola gracias adiós
    """.split()
)
"""Words of greeting, thanks and praise. They are what small talk has in common, so they take no
part in centrality."""

_DECISION: Final = re.compile(
    r"\b(?:decid\w+|agree\w*|chose|chosen|choose|settled|confirmed|approved|rejected|cancel\w*|"
    r"must|deadline|due|prefer\w*|always|never|switch\w*|instead|because|fixed|booked|moved|"
    r"changed|entschieden|vereinbart|beschlossen)\b",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-ZÀ-ÖØ-Þ][\w’'-]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_DENIALS: Final = frozenset(
    """
    not no never none nothing without cannot can't don't doesn't didn't won't isn't aren't
    wasn't nicht kein keine nie
    """.split()
)
_FIRST_PERSON: Final = re.compile(
    r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur|[Ii]ch|[Ww]ir|[Mm]eine?|[Uu]nsere?)\b"
)
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|you're|du|dein\w*)\b", re.IGNORECASE)
_FULL_LENGTH: Final = 6
"""From so many telling words on, a sentence counts whole; a fragment says less."""

_STATEMENT, _QUESTION, _FRAGMENT, _PLEASANTRY = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    day: str
    who: str
    sentence: Sentence
    words: frozenset[str]
    marks: frozenset[str]
    bag: Mapping[str, int]
    tier: int
    weight: float
    score: float = 0.0


def has_prose(episode: Record) -> bool:
    """Whether an episode's text may speak in a summary: what a user or the assistant said.

    A system prompt is no event and tool output nobody's words; marked text, and memory that a turn
    repeats, support nothing.
    """
    said = isinstance(episode.content, Episode) and episode.content.role in {"user", "assistant"}
    return said and episode.trust != "marked" and bool(without_pasted(episode.text).strip())


def summarise_episodes(episodes: Sequence[Record]) -> str:
    """The summary of episodes given in their order: a header line, then at most eight sentences.

    At most 1,200 characters; every line of code fences has its partner. Where nobody said anything,
    one line that says what the episodes were.
    """
    said = [episode for episode in episodes if has_prose(episode)]
    speakers = frozenset(word for episode in said for word in terms(_speaker(episode)))
    candidates = [c for episode in said for c in _candidates(episode, speakers)]
    if not candidates:
        return _bare_facts(episodes)
    header = _header(episodes)
    chosen = _choose(_ranked(candidates), MAX_CHARACTERS - len(header))
    return "\n".join([header, *_lines(chosen)])


def _candidates(episode: Record, speakers: frozenset[str]) -> Iterable[_Candidate]:
    day, who = episode.at.date().isoformat(), _speaker(episode)
    for found in sentences(without_pasted(episode.text)):
        sentence = Sentence(text=bare(found.text), code=found.code)
        words = terms(sentence.text)
        if not words and not any(c.isalnum() for c in sentence.text) and not sentence.code:
            continue
        names = {name.casefold() for name in _NAME.findall(sentence.text)}
        telling = [w for w in words if w not in _PLEASANTRIES and w not in speakers]
        yield _Candidate(
            day=day,
            who=who,
            sentence=Sentence(text=cut(sentence.text, SENTENCE_CHARACTERS), code=sentence.code),
            words=frozenset(words),
            marks=frozenset(words) & {*names, *filter(_NUMBER.search, words)},
            bag={word: words[word] for word in telling},
            tier=_FRAGMENT if telling and is_fragment(found.text) else _tier(sentence, telling),
            weight=_weight(sentence.text, telling, names),
        )


def _tier(sentence: Sentence, telling: list[str]) -> int:
    """Statements before questions before pleasantries, however central those are.

    Between the last two stand fragments, which say little where they stand alone.
    """
    if not telling and not _is_whole(sentence.code):
        return _PLEASANTRY
    return _QUESTION if sentence.text.endswith(("?", "？")) else _STATEMENT


def _weight(text: str, telling: list[str], names: set[str]) -> float:
    """What definite content adds to centrality. Talk about the listener is mostly encouragement."""
    definite = 1.0
    definite += 0.3 * bool(_DECISION.search(text))
    definite += 0.2 * bool(_NUMBER.search(text))
    definite += 0.2 * any(word in names for word in telling)
    if _FIRST_PERSON.search(text):
        definite += 0.2
    elif _SECOND_PERSON.search(text):
        definite *= 0.6
    return definite * min(1.0, len(telling) / _FULL_LENGTH)


def _ranked(candidates: list[_Candidate]) -> list[tuple[int, _Candidate, dict[int, float]]]:
    """Positions in time order with their candidates, scored, and their neighbours, best first."""
    kept = candidates
    if len(candidates) > RANKED_SENTENCES:
        order = sorted(
            range(len(candidates)), key=lambda n: (candidates[n].tier, -candidates[n].weight, n)
        )
        kept = [candidates[n] for n in sorted(order[:RANKED_SENTENCES])]
    neighbours = similarities([candidate.bag for candidate in kept])
    ranks = centrality(neighbours)
    scored = [
        (number, replace(kept[number], score=rounded(rank * kept[number].weight)), near)
        for number, (rank, near) in enumerate(zip(ranks, neighbours, strict=True))
    ]
    return sorted(scored, key=lambda entry: (entry[1].tier, -entry[1].score, entry[0]))


def _choose(ranked: list[tuple[int, _Candidate, dict[int, float]]], room: int) -> list[_Candidate]:
    """The best that fit, each measured against what is chosen already, back in time order."""
    left = [entry for entry in ranked if entry[1].tier != _PLEASANTRY] or ranked[:1]
    repeated: dict[int, float] = {}
    chosen: dict[int, _Candidate] = {}
    while left and len(chosen) < MAX_SENTENCES:
        best = min(left, key=lambda entry: _merit(entry[0], entry[1], repeated))
        left.remove(best)
        number, candidate, near = best
        fitting = _fitting(candidate, room)
        if fitting is None:
            continue
        chosen[number] = fitting
        room -= _length(fitting)
        left = [entry for entry in left if not _says_the_same(entry[1], candidate)]
        for other, similarity in near.items():
            repeated[other] = max(similarity, repeated.get(other, 0.0))
    return [chosen[number] for number in sorted(chosen)]


def _merit(
    number: int, candidate: _Candidate, repeated: Mapping[int, float]
) -> tuple[int, float, int]:
    value = candidate.score - REPETITION_COST * repeated.get(number, 0.0)
    return candidate.tier, -rounded(value), number


def _fitting(candidate: _Candidate, room: int) -> _Candidate | None:
    """The candidate, or else it without its code, or else nothing."""
    marked = replace(candidate.sentence, code=candidate.sentence.code and CODE_LEFT_OUT)
    for offered in (candidate, replace(candidate, sentence=marked)):
        if _length(offered) <= room:
            return offered
    return None


def _length(candidate: _Candidate) -> int:
    return len(_line(candidate, day_shown=True)) + 1


def _says_the_same(new: _Candidate, known: _Candidate) -> bool:
    """Whether ``new`` adds nothing: no word, or few words and neither a number nor a name."""
    if not new.words or not known.words or (new.words ^ known.words) & _DENIALS:
        return False
    if new.words <= known.words:
        return True
    alike = len(new.words & known.words) / len(new.words | known.words)
    return alike >= NEAR_DUPLICATE and new.marks == known.marks


def _lines(chosen: list[_Candidate]) -> Iterable[str]:
    day = ""
    for candidate in chosen:
        yield _line(candidate, day_shown=candidate.day != day)
        day = candidate.day


def _line(candidate: _Candidate, *, day_shown: bool) -> str:
    when = f"{candidate.day} " if day_shown else ""
    text, code = candidate.sentence.text, candidate.sentence.code
    between = "\n" if _is_whole(code) else " "
    return f"{when}{candidate.who}: {text}".rstrip() + f"{between}{code}".rstrip(" ")


def _is_whole(code: str) -> bool:
    return code not in {"", CODE_LEFT_OUT}


def _header(episodes: Sequence[Record]) -> str:
    """The days, how much was said and where, and who spoke."""
    first, last = episodes[0].at.date().isoformat(), episodes[-1].at.date().isoformat()
    when = first if first == last else f"{first} to {last}"
    speakers = dict.fromkeys(_speaker(e) for e in episodes if has_prose(e))
    with_whom = _listed(list(speakers), 5)
    return f"{when}, {_counted(len(episodes), 'turn')}{_places(episodes)}: {with_whom}"


def _bare_facts(episodes: Sequence[Record]) -> str:
    """What the episodes were, where none of them holds a sentence."""
    names = {"tool": "tool result", "system": "system message"}
    kinds = Counter(
        names.get(role, f"{role} turn")
        for e in episodes
        if isinstance(e.content, Episode)
        for role in [e.content.role]
    )
    what = _listed([_counted(count, kind) for kind, count in sorted(kinds.items())], len(kinds))
    first, last = (e.at.strftime("%Y-%m-%d %H:%M") for e in (episodes[0], episodes[-1]))
    return f"{what}{_places(episodes)}, from {first} to {last}"


def _places(episodes: Sequence[Record]) -> str:
    sessions = dict.fromkeys(_label(e.session) for e in episodes if e.session)
    if not sessions:
        return ""
    return f" in session{'s' * (len(sessions) > 1)} {_listed(list(sessions), 3)}"


def _listed(names: list[str], limit: int) -> str:
    """Names in a row, the ones beyond ``limit`` as a number."""
    shown = names[:limit]
    if len(names) > limit:
        shown.append(f"{len(names) - limit} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _speaker(episode: Record) -> str:
    content = episode.content
    said_by = (content.name or content.role) if isinstance(content, Episode) else episode.kind
    return _label(said_by)


def _label(name: str) -> str:
    """A name fit to stand in a line: short, without line breaks or backquotes."""
    return cut(" ".join(name.replace("`", "'").split()), 40) or "?"
