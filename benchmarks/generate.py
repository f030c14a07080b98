"""Made-up agent logs of any length, the same for the same seed: input for the benchmarks.

    python benchmarks/generate.py --episodes 1000 --seed 7 --start 2026-01-05T08:00:00+00:00

Prints plain JSONL, one turn a line. A shorter log is the beginning of a longer one. Words, names
and topics follow Zipf's law, as they do in talk: a few are everywhere, most are rare. A session
has about twenty turns and a topic; in most, the agent repeats one of a dozen sequences of calls.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

EPISODES_PER_DAY = 1000
START = datetime(2026, 1, 5, 8, tzinfo=UTC)

_FUNCTION_WORDS = (
    "the of and to a in that for it was on with as at by this from they we not have are but had "
    "has or which you there been their one all would will can more when who so about what up out"
).split()
_FIRST_WORDS = "maybe today please so then and we they that this".split()
_NAME_PLACES = "with from to about for near and via".split()
_ONSETS = "b br c d dr f g gr h k l m n p pr r s st t tr v".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = ["", "", "n", "r", "l", "s", "nd", "rt", "m"]
_TOOLS = (
    "search_orders get_order check_stock quote_price book_courier send_mail open_ticket "
    "close_ticket read_file run_tests write_file list_branches query_logs restart_service"
).split()
_SPEAKERS = 8
_WORDS, _NAMES, _TOPICS, _TOPIC_WORDS, _SEQUENCES = 4000, 20_000, 200, 40, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Zipf:
    """Picks the n-th of its values with a weight of 1 / n."""

    values: Sequence[Any]
    sums: Sequence[float]

    def pick(self, rng: random.Random, count: int = 1) -> list[Any]:
        return rng.choices(self.values, cum_weights=self.sums, k=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the logs of one seed are about."""

    words: _Zipf
    names: _Zipf
    topics: _Zipf
    sequences: _Zipf
    speakers: _Zipf


def world(seed: int) -> World:
    """The vocabulary of a seed."""
    rng = random.Random(seed)
    words = _distinct(rng, _WORDS, lambda: _word(rng))
    names = _distinct(rng, _NAMES, lambda: _name(rng))
    speakers = _distinct(rng, _SPEAKERS, lambda: _word(rng).capitalize())
    topics = [rng.sample(words, _TOPIC_WORDS) for _ in range(_TOPICS)]
    sequences = [rng.sample(_TOOLS, rng.randint(2, 4)) for _ in range(_SEQUENCES)]
    return World(
        words=_zipf(words),
        names=_zipf(names),
        topics=_zipf(topics),
        sequences=_zipf(sequences),
        speakers=_zipf(speakers),
    )


def episodes(count: int, *, seed: int, start: datetime = START) -> Iterator[dict[str, Any]]:
    """The first ``count`` turns of the log of a seed, in order of time."""
    return islice(_endless(seed, start), count)


def questions(count: int, *, seed: int) -> list[str]:
    """Things to ask such a log for: a name, or some words of one topic, or both."""
    about, rng = world(seed), random.Random(seed + 1)
    asked = []
    for number in range(count):
        words = rng.sample(about.topics.pick(rng)[0], 3)
        name = about.names.pick(rng)[0]
        asked.append(
            [f"what did {name} say", " ".join(words), f"{name} and the {words[0]}"][number % 3]
        )
    return asked


def _endless(seed: int, start: datetime) -> Iterator[dict[str, Any]]:
    about, rng = world(seed), random.Random(seed)
    step = timedelta(days=1) / EPISODES_PER_DAY
    number = session = 0
    while True:
        topic, speaker = about.topics.pick(rng)[0], about.speakers.pick(rng)[0]
        calls = _calls_of_session(about, rng)
        for turn in range(rng.randint(16, 24)):
            spoken_by_user = turn % 2 == 0
            row: dict[str, Any] = {
                "id": f"e{number}",
                "session": f"s{session}",
                "at": (start + number * step).isoformat(),
                "role": "user" if spoken_by_user else "assistant",
                "text": _text(about, rng, topic),
            }
            if spoken_by_user:
                row["name"] = speaker
            elif turn in calls:
                row["tool_calls"] = calls[turn]
            yield row
            number += 1
        session += 1


def _calls_of_session(about: World, rng: random.Random) -> dict[int, list[dict[str, Any]]]:
    """The tool calls by turn: a known sequence in some sessions, one or two calls a turn."""
    calls: dict[int, list[dict[str, Any]]] = {}
    if rng.random() < 0.3:
        return calls
    turn = rng.choice((1, 3, 5))
    waiting = [_call(rng, name) for name in about.sequences.pick(rng)[0]]
    while waiting:
        taken = rng.randint(1, 2)
        calls[turn], waiting = waiting[:taken], waiting[taken:]
        turn += 2
    return calls


def _call(rng: random.Random, name: str) -> dict[str, Any]:
    number = rng.randint(1000, 9999)
    ok = rng.random() > 0.08
    return {
        "name": name,
        "arguments": {"number": number, "verbose": False},
        "result": f"{name} done for {number}" if ok else "timed out",
        "ok": ok,
    }


def _text(about: World, rng: random.Random, topic: Sequence[str]) -> str:
    """Twelve to twenty words: function words, the topic's, others, and a name now and then."""
    count = rng.randint(11, 14)
    words = [
        *rng.choices(_FUNCTION_WORDS, k=count // 2),
        *rng.choices(topic, k=count // 3),
        *about.words.pick(rng, count - count // 2 - count // 3),
    ]
    rng.shuffle(words)
    for _ in range(rng.choices((0, 1, 2), weights=(35, 45, 20))[0]):
        place = rng.randint(1, len(words))
        words[place:place] = [rng.choice(_NAME_PLACES), *about.names.pick(rng)]
    return " ".join([rng.choice(_FIRST_WORDS).capitalize(), *words]) + "."


def _zipf(values: Sequence[Any]) -> _Zipf:
    return _Zipf(values=values, sums=list(accumulate(1 / n for n in range(1, len(values) + 1))))


def _distinct(rng: random.Random, count: int, make: Callable[[], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[make()] = None
    values = list(found)
    rng.shuffle(values)
    return values


def _word(rng: random.Random) -> str:
    syllables = rng.choices((1, 2, 3), weights=(1, 4, 2))[0]
    parts = (rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables))
    return "".join(parts) + rng.choice(_CODAS)


def _name(rng: random.Random) -> str:
    """A first name alone or with a second one."""
    parts = [_word(rng) + rng.choice("aeio") for _ in range(rng.choice((1, 2)))]
    return " ".join(part.capitalize() for part in parts)


def main() -> None:
    """Print a log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--start", type=datetime.fromisoformat, default=START)
    arguments = parser.parse_args()
    for row in episodes(arguments.episodes, seed=arguments.seed, start=arguments.start):
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
