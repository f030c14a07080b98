"""Words of a question that say nothing about what is looked for.

Small lists on purpose: a word too few costs a little precision, a word too many loses what
somebody asks for. Words stand folded (see :func:`~.text_terms.fold`) and in lower case.
"""

from __future__ import annotations

from typing import Final

OPERATORS: Final = frozenset({"AND", "OR", "NOT", "NEAR"})
"""What people carry over from query languages."""

_ENGLISH: Final = frozenset(
    """
    a about again all also am an and any anyone anything are aren't as at be because been before
    being both but by can can't cannot could couldn't did didn't do does doesn't doing don't done
    each either else ever every everything for from had hadn't has hasn't have haven't having he
    he'd he'll he's her here hers herself him himself his how how's i i'd i'll i'm i've if in into
    is isn't it it's its itself just know let let's lets like many may maybe me might more most
    much must my myself no nor not of off okay on once one's only or other our ours ourselves out
    over own please really regarding right said same say says shall she she'd she'll she's should
    shouldn't so some someone something still such sure tell than thank thanks that that's the
    their theirs them themselves then there there's these they they'd they'll they're they've this
    those though to told too until up upon us very was wasn't we we'd we'll we're we've well were
    weren't what what's whats when when's where where's whether which while who who's whom whose
    why why's will with within won't would wouldn't yes yet you you'd you'll you're you've your
    yours yourself yourselves
    """.split()
)
_GERMAN: Final = frozenset(
    """
    aber als am an auch auf aus bei bin bis bist da das dass dein deine dem den der des die dies
    diese dieser doch du ein eine einem einen einer er es fur hab habe haben hat hatte ich ihm ihn
    ihr ihre im in ist ja kann mein meine mich mir mit nach nicht noch nur ob oder sein seine sich
    sie sind so uber um und uns unser unsere vom von vor wann war waren warum was wie welche welcher
    welches wem wen wer werden wird wir wo wurde zu zum zur gesagt
    """.split()
)
_FRENCH: Final = frozenset(
    """
    a ai as au aux avec avez avons c'est ce ces cette comment dans de des du elle elles en es est
    et etait ete etes il ils je j'ai l la le les leur lui ma mais me mes moi mon ne nos notre nous
    on ont ou par pas pour pourquoi qu'est-ce quand que quel quelle quelles quels qui quoi sa sans
    se ses si son sont sur ta te tes toi ton tu un une vos votre vous y
    """.split()
)
_SPANISH: Final = frozenset(
    """
    a al como con cual cuales cuando de del donde el ella ellas ellos en era eres es esa ese eso
    esta este esto fue ha hace han hay he la las le les lo los me mi mis muy no nos nuestra nuestro
    o para pero por porque que quien quienes se ser si sin sobre son soy su sus te tiene tu tus un
    una unas unos y ya yo
    """.split()
)

STOP_WORDS: Final = {
    "english": _ENGLISH,
    "german": _GERMAN,
    "french": _FRENCH,
    "spanish": _SPANISH,
}

LATEST_WORDS: Final = frozenset(
    """
    actual actuel actuelle aktuell aktuelle aktuellen current currently dernier derniere jetzt last
    latest letzte letzten neueste neuesten newest now nowadays presently recent ultima ultimo
    zuletzt
    """.split()
)
FIRST_WORDS: Final = frozenset(
    """
    earliest erste ersten first initially oldest original originally premier premiere primer
    primera primero zuerst
    """.split()
)
NOT_AN_ORDER_BEFORE: Final = frozenset(
    """
    aid autumn class day days fall friday hand hours language monday month months morning name
    names night saturday spring summer sunday thursday tuesday wednesday week weekend weeks winter
    year years
    """.split()
)
"""After "last" or "first" these make a date or a fixed expression, and ask for no order."""
GENERIC_AFTER_TIME_WORDS: Final = frozenset(
    "development news progress situation stand standing state status update updates".split()
)
"""Beside a word such as "current" these ask for the newest row and not for a word in it."""
WORDS_FOR_ANYTHING: Final = frozenset(
    """
    activities activity chat chatted conversation conversations day did discuss discussed do done
    event events everything happen happened happening last next past talk talked talking things
    this went
    besprochen passiert gesprochen geredet
    """.split()
)
"""Beside a time these ask for whatever there is of it: "what happened yesterday"."""
WORDS_FOR_AGENT: Final = frozenset(
    "agent assistant bot chatbot deine du dir tu usted vous you your yours".split()
)
"""In a question to an agent these ask what the agent itself said."""
WORDS_THAT_ASK: Final = frozenset(
    """
    are can could did do does had has have how is may might should tell was were what what's when
    where which who whom whose why will would
    hat haben ist kann wann war waren warum was welche welcher welches wer wie wo
    combien comment est-ce ou pourquoi quand que quel quelle qui
    cual cuando cuantos como donde por quien
    """.split()
)
"""Among the first words these make a question of it."""
