"""The words by which people name times, folded and in lower case.

English, German, French and Spanish. A word that also means something else, as "may" and "march"
do, is told apart where it is read.
"""

from __future__ import annotations

from typing import Final

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january januar janner janvier enero jan",
            "february februar fevrier febrero feb",
            "march marz mars marzo mar",
            "april avril abril apr",
            "may mai mayo",
            "june juni juin junio jun",
            "july juli juillet julio jul",
            "august aout agosto aug",
            "september septembre septiembre sept sep",
            "october oktober octobre octubre oct okt",
            "november novembre noviembre nov",
            "december dezember decembre diciembre dec dez",
        ),
        1,
    )
    for name in names.split()
}

WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            "monday montag lundi lunes",
            "tuesday dienstag mardi martes",
            "wednesday mittwoch mercredi miercoles",
            "thursday donnerstag jeudi jueves",
            "friday freitag vendredi viernes",
            "saturday samstag samedi sabado",
            "sunday sonntag dimanche domingo",
        )
    )
    for name in names.split()
}

SEASONS: Final = {
    name: number
    for number, names in enumerate(
        (
            "winter hiver invierno",
            "spring fruhling printemps primavera",
            "summer sommer ete verano",
            "autumn fall herbst automne otono",
        )
    )
    for name in names.split()
}
"""The first month of season N is December, March, June or September, as in the northern half."""

DAYS: Final = {
    "the day before yesterday": -2, "vorgestern": -2, "avant-hier": -2, "anteayer": -2,
    "yesterday": -1, "last night": -1, "gestern": -1, "hier": -1, "ayer": -1, "anoche": -1,
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "heute": 0, "aujourd'hui": 0, "hoy": 0,
    "tomorrow": 1, "demain": 1, "manana": 1, "ubermorgen": 2, "apres-demain": 2,
}  # fmt: skip
"""Days named from the day on which one speaks, in whole days from it."""

UNITS: Final = {
    name: unit
    for unit, names in {
        "day": "day days tag tage tagen jour jours dia dias",
        "week": "week weeks woche wochen semaine semaines semana semanas",
        "weekend": "weekend weekends wochenende wochenenden week-end",
        "month": "month months monat monate monaten mois mes meses",
        "year": "year years jahr jahre jahren an ans annee annees ano anos",
    }.items()
    for name in names.split()
}

NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "ein": 1, "eine": 1, "einem": 1, "einer": 1, "un": 1, "une": 1,
    "una": 1, "the": 1, "two": 2, "zwei": 2, "deux": 2, "dos": 2, "a couple of": 2,
    "three": 3, "drei": 3, "trois": 3, "tres": 3, "a few": 3, "few": 3, "several": 4,
    "four": 4, "vier": 4, "quatre": 4, "cuatro": 4, "five": 5, "funf": 5, "cinq": 5, "cinco": 5,
    "six": 6, "sechs": 6, "seis": 6, "seven": 7, "sieben": 7, "sept": 7, "siete": 7,
    "eight": 8, "acht": 8, "huit": 8, "ocho": 8, "nine": 9, "neun": 9, "neuf": 9, "nueve": 9,
    "ten": 10, "zehn": 10, "dix": 10, "diez": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

PREVIOUS: Final = frozenset(
    "last past previous letzte letzten letzter letztes letztem vorige vorigen voriges".split()
)
CURRENT: Final = frozenset(
    "this current diese diesen dieser dieses diesem ce cette este esta".split()
)
FOLLOWING: Final = frozenset(
    "next coming nachste nachsten nachster nachstes kommende kommenden".split()
)
PREVIOUS_AFTER: Final = frozenset("dernier derniere passe passee pasado pasada".split())
"""French and Spanish say it behind the unit: "la semana pasada"."""
FOLLOWING_AFTER: Final = frozenset("prochain prochaine proximo proxima".split())

BEFORE: Final = frozenset("before until till by vor bis avant antes hasta".split())
AFTER: Final = frozenset("after since nach seit ab apres depuis despues desde".split())
