"""Actions that people state in prose: what to do, in which order, and when.

Rules of conduct are said in a handful of forms ("before pushing, run the tests"), and said again
in other words. Each is read as a trigger and steps, and named by its content words, so that the
same rule in another form is the same pattern. English only. Ordinary talk uses the same
words ("when I was small, we ..."), so a clause counts as an action only if it begins with
a verb from a list of things one does at work; missing a rule costs less than inventing one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from symfonic.capabilities.memory.extractors.pasted import without_pasted
from symfonic.capabilities.memory.stemming import stem

STATED_PREFIX: Final = "stated:"
READ_CHARACTERS: Final = 20_000
"""How much of one turn is read: a pasted file is not where somebody states a rule."""

_TRIGGER_WORDS: Final = 15
_STEP_WORDS: Final = 30
_MOST_STEPS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAction:
    """A rule as it was worded: when it applies (may be empty), and its steps in order."""

    key: str
    trigger: str
    steps: tuple[str, ...]


def stated_actions(text: str) -> list[StatedAction]:
    """The actions that ``text`` states, one a key, in order of appearance.

    Questions, quoted lines, code, and blocks in which a client pastes memory or instructions
    state nothing. Neither does a negation: "never push on Friday" is no step.
    """
    text = without_pasted(text)
    if not _CUE.search(text, 0, READ_CHARACTERS):
        return []
    found: dict[str, StatedAction] = {}
    for sentence in _sentences(text[:READ_CHARACTERS].replace("\u2019", "'")):
        stated = _stated(sentence)
        if stated is not None:
            found.setdefault(stated.key, stated)
    return list(found.values())


def _sentences(text: str) -> list[str]:
    """Sentences in order. A list after a colon joins it, as a sentence that goes on does."""
    if "```" in text or "~~~" in text:
        text = _FENCED.sub("\n", text)
    found: list[str] = []
    in_list = False
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith((">", "|")):
            in_list = in_list and not stripped
            continue
        item = _ITEM.match(stripped)
        if item and found and (in_list or found[-1].endswith(":")):
            found[-1] += f"{', then' if in_list else ''} {stripped[item.end() :].rstrip('.;,')}"
            in_list = True
            continue
        in_list = False
        for sentence in _SENTENCE_END.split(stripped[item.end() :] if item else stripped):
            if found and _GOES_ON.match(sentence) and not found[-1].endswith("?"):
                found[-1] = f"{found[-1].rstrip('.!;,')}, {sentence}"
            else:
                found.append(sentence)
    return found


def _stated(sentence: str) -> StatedAction | None:
    """The rule in one sentence, if it states one."""
    sentence = _LEAD_IN.sub("", sentence.strip(" \t*_\"'"))
    if not sentence or sentence.endswith("?") or not _CUE.search(sentence):
        return None
    sentence = sentence.rstrip(" .!;:,*_\"'")
    leading = _LEADING.match(sentence)
    if leading:
        word, when, rest = leading.group("word", "when", "rest")
        if word.lower() == "to" and _acts(when) is None:
            return None
        if word.lower() == "if" and _SECOND_PERSON.match(when):
            return None  # "if you like, bring a cake" invites, it does not instruct
        return _ruled(f"{word} {when}", rest, told=True, alone=word.lower() != "to")
    body = _TOLD.sub("", sentence)
    told = len(body) != len(sentence)
    trailing = _TRAILING.search(body)
    if trailing:
        word, when = trailing.group("word", "when")
        told = told or word.lower() not in {"when", "if"}
        return _ruled(f"{word} {when}", body[: trailing.start()], told=told, alone=True)
    if _FOR_ONESELF.match(sentence):
        return None  # "please transfer me to a person" asks once, however many ask it
    first_person = told and _FIRST_PERSON.match(sentence) is not None
    in_order = _FIRST.match(body) is not None
    if not (told or in_order):
        return None
    return _ruled("", body, told=told or in_order, alone=not (first_person or in_order))


def _ruled(trigger: str, rest: str, *, told: bool, alone: bool) -> StatedAction | None:
    """The rule with this trigger and these actions; ``alone`` says that one step is enough."""
    told_habit = _FIRST_PERSON.match(rest)
    if not told or (told_habit and _PAST.search(trigger)):
        return None
    condition = _canonical(trigger)
    if condition in _BARE_CONDITIONS:
        trigger = condition = ""
    steps: dict[str, str] = {}
    for step in _steps(rest):
        steps.setdefault(_canonical(step), step)
    least = 1 if alone else 2
    content = sum(len(step.split()) for step in steps)
    if not least <= len(steps) <= _MOST_STEPS or (not trigger and content < 2):
        return None
    longest = max(len(step.split()) for step in steps.values())
    if longest > _STEP_WORDS or len(trigger.split()) > _TRIGGER_WORDS:
        return None
    key = f"{STATED_PREFIX}{condition} => {' > '.join(steps)}"
    return StatedAction(key=key, trigger=trigger, steps=tuple(steps.values()))


def _steps(rest: str) -> list[str]:
    """The actions in ``rest``; nothing where it does not begin with one.

    A piece that begins with no action ("and the address", "don't skip any") stays part of the
    action before it, as it was worded.
    """
    start = _acts(rest)
    if start is None:
        return []
    found: list[str] = []
    for joint in _JOINT.finditer(rest, start):
        following = _acts(rest, joint.end())
        if following is not None:
            found.append(rest[start : joint.start()])
            start = following
    found.append(rest[start:])
    return [step.strip(" ,;.!") for step in found]


def _acts(text: str, position: int = 0) -> int | None:
    """Where the action that begins at ``position`` has its verb; ``None`` if there is none."""
    match = _CLAUSE.match(text, position)
    if match is None:
        return None
    verb = match["verb"].lower()
    if verb in _VERBS or verb.removeprefix("re").removeprefix("-") in _VERBS:
        return match.start("verb")
    return match.start("verb") if {*verb.split("-")} & _VERBS and "-" in verb else None


def _canonical(part: str) -> str:
    """The stems of the content words: sorted, unless the part says from where to where."""
    words = _WORD.findall(part.lower())
    stems = [stem(word) for word in words if word not in _STOP_WORDS]
    return " ".join(stems if _DIRECTIONS.intersection(words) else sorted(stems))


_WHEN: Final = r"when(?:ever)?|(?:every|each|any) ?time|if|before|after"
_ADVERB: Final = r"always|usually|normally|typically|generally"
_CUE: Final = re.compile(
    rf"\b(?:first|{_WHEN}|once|{_ADVERB}|make sure|be sure|ensure|please|remember to|forget to)\b"
    r"|\bto\b[^.!?\n]{3,90}[:,]",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_GOES_ON: Final = re.compile(
    r"(?:and )?(?:then|next|finally|lastly|after that|afterwards)\b,?\s+\w", re.IGNORECASE
)
_ITEM: Final = re.compile(r"(?:\d{1,2}[.)]|[-*\u2022])\s+")
_FENCED: Final = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_LEAD_IN: Final = re.compile(
    r"\A(?:(?:ok(?:ay)?|so|and|but|also|well|oh|yes|no|thanks|hey|hi|hello|note|reminder|rule|"
    r"from now on|in (?:the )?future|going forward|next time|as a rule|remember(?! to))\b"
    r"[,:!.]?\s+)+",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    rf"(?P<word>{_WHEN}|once|to)\s+(?P<when>[^,:]{{2,120}}?)"
    r"(?:\s*[,:]\s*|\s+(?=(?:first|please|make sure|be sure|remember to|"
    rf"(?:i|we) (?:{_ADVERB}))\b))"
    r"(?P<rest>\S.*)",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    rf",?\s+(?P<word>{_WHEN})\s+(?P<when>[^,;:]{{2,120}})$", re.IGNORECASE
)
_TOLD: Final = re.compile(
    rf"\A(?:(?:please|(?:(?:i|we|you) )?(?:{_ADVERB})|make sure(?: that)?(?: (?:you|we|i|to))?|"
    r"be sure to|ensure (?:that )?(?:you|we)|remember to|(?:don't|do not|never) forget to|"
    r"you (?:should|must|need to|have to))\b[,:]?\s+)+",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(r"(?:first(?:ly)?|first of all)\b,?\s+", re.IGNORECASE)
_FOR_ONESELF: Final = re.compile(r"please\b,?\s+(?:just\s+)?[\w-]+\s+(?:me|us)\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"(?:i|we)\b", re.IGNORECASE)
_SECOND_PERSON: Final = re.compile(r"(?:you|u|ya)\b", re.IGNORECASE)
_PAST: Final = re.compile(
    r"\b(?:was|were|had|got|went|came|did|saw|took|gave|told|said|made|found|met|lost|left|"
    r"(?!need\b|feed\b|speed\b|exceed\b|proceed\b)\w+ed)\b",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    r"\s*[,;]\s*(?:and\s+)?(?:(?:then|next|finally|lastly|last|after that|afterwards|"
    r"second(?:ly)?|third(?:ly)?)\b,?\s*)?|\s+(?:and\s+then|then|and\s+finally|and)\s+",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(
    rf"(?:(?:i|we|you|please|also|just|first(?:ly)?|first of all|then|next|finally|immediately|"
    rf"carefully|quickly|{_ADVERB}|should|must|need to|have to|"
    r"make sure(?: that)?(?: (?:to|you|we))?|be sure to|remember to|don't forget to)\b,?\s+)*"
    r"(?P<verb>[a-z][a-z-]*[a-z])\b(?!')",
    re.IGNORECASE,
)
_BARE_CONDITIONS: Final = frozenset({"", stem("before"), stem("after")})
_WORD: Final = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")
_DIRECTIONS: Final = frozenset({"from", "to", "into", "onto", "over", "instead", "than"})
_STOP_WORDS: Final = frozenset(
    """
    a an the this that these those i me my we us our you your he him his she her they them their
    it its is are am be been do does will would can could should must have has need to of for in
    on at with into onto by as and or so just also please always usually normally typically
    generally then first firstly next finally lastly when whenever every each any time anytime
    if once sure make there some up i'm you're we're it's i've
    """.split()
)
"""Words that a rule keeps its meaning without. "Off", "out", "down" and "not" are no such words:
"log in" and "log out" must not meet; "before" and "after" stay for the same reason."""

_VERBS: Final = frozenset(
    """
    accept activate add adjust alert align analyse analyze announce answer append apply approve
    archive ask assign attach audit authenticate authorise authorize back backup bake batch
    block book boot branch brew bring browse buffer build bump cache calculate calibrate call
    cancel capture cc change charge chase check choose clean clear click clone close collect
    combine commit compare compile compose compress compute configure confirm connect
    consolidate consult contact convert copy correct count create crop cross-check cut debug
    decline decrypt delete deliver deploy describe destroy detach diff disable discard
    disconnect dispatch display document double-check download draft drain drop dry dump edit
    eject email empty enable encrypt enter escalate estimate evaluate examine execute exit
    expire explain export extract fetch file fill filter find fix flag flash flush follow force
    format forward freeze generate get give grab grant greet group halt hash highlight hold
    identify ignore import include increase index inform initialise initialize insert inspect
    install invalidate invite invoice isolate issue kill label launch lint list load lock log
    lower mail map mark mask measure merge message migrate mock monitor mount move mute
    normalise normalize notify offer open optimise optimize order pack pair parse paste patch
    pause pay pick pin ping plug post prefer prepare press preview print prioritise prioritize
    process profile propose protect provide provision prune publish pull purge push put query
    queue quote read rebase reboot rebuild recheck reconcile record redact redeploy redirect
    reduce refactor refer reformat refresh refund regenerate register reindex reinstall reissue
    reject release reload remind remove rename render renew repair repeat replace reply report
    request requeue rerun reschedule reset resolve respond restart restore resubmit retrieve
    retry return revert review revoke rinse roll rollback rotate run sanitise sanitize save
    scale scan schedule scrub search secure select send separate set share ship show shut sign
    skip smoke-test sort split squash stage start stop store strip submit subtract summarise
    summarize suspend swap switch sync synchronise synchronize tag tell test tidy toggle track
    transcribe transfer translate trigger trim truncate turn type unblock uninstall unlock
    unmount unplug update upgrade upload use validate verify view wait warm warn wash water
    weigh whitelist wipe withdraw wrap write zip
    """.split()
)
