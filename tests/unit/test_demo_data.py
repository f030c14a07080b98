"""The week of the demo still holds what its page says it holds.

Each trap is named by id here. An edit of the week that disarms one would leave the demo as pretty
as before and prove nothing any more.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from symfonic.capabilities.memory.demo import DATA, NOW, POLICY
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.records import ROLES
from symfonic.capabilities.memory.settings import resolve

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "demo.md"

REFUND = ("lookup_order", "check_policy", "issue_refund", "send_receipt")
REFUND_SESSIONS = {
    "mon-support-1", "tue-support-1", "wed-support-1", "thu-support-1", "fri-support-2",
    "sat-support-1",
}  # fmt: skip
REFUND_FAILS_IN = "wed-support-1"
CLAIM = ("open_claim", "attach_photo")
CLAIM_SESSIONS = {"tue-support-2", "thu-support-2", "sat-support-2"}
RULE_TURNS = ("mon-code-1-06", "wed-code-1-07", "fri-code-1-01")
RETRY_TURN = "tue-code-1-02"
SYSTEM_TURNS = (
    "mon-support-1-01", "tue-support-1-01", "wed-support-1-01", "thu-support-1-01",
    "sat-support-1-01",
)  # fmt: skip
RECALLED_TURNS = ("tue-assistant-1-01", "thu-assistant-1-01", "sat-assistant-1-01")
REMEMBERED_TURN = "mon-assistant-1-05"
CLAIMED_TURNS = ("tue-assistant-1-02", "thu-assistant-1-05", "sat-assistant-1-02")
QUOTING_TURNS = ("tue-support-2-03", "thu-support-2-03", "sat-support-2-03")
FENCE_TURNS = ("tue-code-1-03", "thu-code-1-05")
EQUAL_TURNS = ("mon-support-2-05", "mon-support-2-07")
FUTURE_TURN = "wed-support-1-04"
QUESTION_TURN = "wed-assistant-1-06"
SECRET_TURN = "wed-code-1-07"
HOME_TURNS = {"mon-support-1-04": "I live in Graz", "fri-support-1-01": "I moved to Linz"}
DATE_TURNS = {
    "mon-assistant-1-01": "is on 15 October",
    "wed-assistant-1-01": "from 15 to 16 October",
}

RULE = re.compile(
    r"\brun the tests before (?:deploying|you deploy)\b|\bbefore every deploy, run the tests\b",
    re.IGNORECASE,
)
RECALLED_BLOCK = re.compile(r"<recalled_memories>.*?</recalled_memories>", re.DOTALL)
FENCE = re.compile(r"^```md\n(.*?)^```$", re.DOTALL | re.MULTILINE)

Turn = dict[str, Any]


def week() -> list[Turn]:
    with DATA.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def by_id() -> dict[str, Turn]:
    return {turn["id"]: turn for turn in week()}


def sessions() -> dict[str, list[Turn]]:
    grouped: dict[str, list[Turn]] = defaultdict(list)
    for turn in week():
        grouped[turn["session"]].append(turn)
    return grouped


def calls_of(turns: list[Turn]) -> list[Turn]:
    return [call for turn in turns for call in turn.get("tool_calls", ())]


def occurrences(pattern: tuple[str, ...]) -> dict[str, list[list[Turn]]]:
    """The contiguous calls of those names, by session."""
    found: dict[str, list[list[Turn]]] = defaultdict(list)
    for session, turns in sessions().items():
        calls = calls_of(turns)
        for start in range(len(calls) - len(pattern) + 1):
            run = calls[start : start + len(pattern)]
            if tuple(call["name"] for call in run) == pattern:
                found[session].append(run)
    return dict(found)


def turns_saying(phrase: str) -> set[str]:
    return {turn["id"] for turn in week() if phrase.lower() in turn["text"].lower()}


def test_every_line_is_a_turn_of_the_plain_format() -> None:
    for turn in week():
        assert set(turn) <= {"id", "session", "at", "role", "name", "text", "tool_calls"}
        assert turn["role"] in ROLES
        assert turn["text"].strip()
        for call in turn.get("tool_calls", ()):
            assert set(call) == {"name", "arguments", "result", "ok"}
            assert isinstance(call["arguments"], dict)
            assert isinstance(call["ok"], bool)


def test_the_week_has_the_size_of_a_demo() -> None:
    assert 150 <= len(week()) <= 220
    assert 20 <= len(sessions()) <= 30


def test_ids_are_unique_and_name_session_and_position() -> None:
    assert len(by_id()) == len(week())
    for session, turns in sessions().items():
        expected = [f"{session}-{position:02d}" for position in range(1, len(turns) + 1)]
        assert [turn["id"] for turn in turns] == expected


def test_times_are_aware_and_in_order_within_the_seven_days_before_the_clock() -> None:
    times = [datetime.fromisoformat(turn["at"]) for turn in week() if turn["id"] != FUTURE_TURN]
    assert all(time.utcoffset() is not None for time in times)
    assert times == sorted(times)
    assert times[0] >= datetime(2026, 9, 14, tzinfo=UTC)
    assert times[-1] < NOW
    assert {time.astimezone(UTC).day for time in times} == set(range(14, 21))
    assert {time.utcoffset() for time in times} == {timedelta(0), timedelta(hours=2)}


def test_the_clock_is_a_monday_at_two() -> None:
    assert NOW.strftime("%A %H:%M %Z") == "Monday 02:00 UTC"


def test_addresses_are_of_example_domains() -> None:
    text = json.dumps(week())
    hosts = re.findall(r"@([\w.-]+\w)", text)
    assert hosts
    assert all(host.endswith(".example") for host in hosts)
    assert "http" not in text


def test_the_policy_holds_only_what_differs_and_summarises_the_week() -> None:
    with as_file(POLICY) as path:
        resolved = resolve(file=path, environ={}, sets=[])
    defaults = LearningPolicy().as_kwargs()
    chosen = {name for name, source in resolved.sources.items() if source.startswith("file")}
    differing = {n for n, value in resolved.policy.as_kwargs().items() if value != defaults[n]}
    assert (
        chosen
        == differing
        == {
            "enable_entity_linker",
            "promotion_use_tool_calls_fallback",
            "episodic_summarization_max_entries",
            "episodic_summarization_batch_size",
        }
    )
    start = NOW - timedelta(hours=resolved.policy.lookback_hours)
    old = [turn for turn in week() if datetime.fromisoformat(turn["at"]) < start]
    room = resolved.policy.episodic_summarization_max_entries
    assert len(old) > room + 2 * resolved.policy.episodic_summarization_batch_size


def test_names_recur_across_sessions_in_what_users_say() -> None:
    names = (
        "Tobias Adeyemi", "Henrike Vos", "Marta Kowalczyk", "Lucía Ferrer", "Keiko Mizuhara",
        "Halden Freight", "Ostrel Labs", "Mizuhara Glass", "Tamsel Orchards",
        "Hamburg", "Utrecht", "Porto", "Graz", "RX-200", "RX-210", "PR-260", "PR-480",
    )  # fmt: skip
    for name in names:
        said_in = {t["session"] for t in week() if t["role"] == "user" and name in t["text"]}
        assert len(said_in) >= 2, name


def test_the_refund_is_made_in_six_sessions_and_fails_in_one() -> None:
    found = occurrences(REFUND)
    assert set(found) == REFUND_SESSIONS
    failed = {
        session
        for session, runs in found.items()
        if not any(all(call["ok"] for call in run) for run in runs)
    }
    assert failed == {REFUND_FAILS_IN}
    orders = {run[0]["arguments"]["order"] for runs in found.values() for run in runs}
    currencies = {run[2]["arguments"]["currency"] for runs in found.values() for run in runs}
    assert len(orders) == len(REFUND_SESSIONS)
    assert currencies == {"EUR"}


def test_no_other_sequence_of_calls_reaches_three_sessions() -> None:
    support: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for session, turns in sessions().items():
        names = [call["name"] for call in calls_of(turns)]
        for length in range(2, 7):
            for start in range(len(names) - length + 1):
                support[tuple(names[start : start + length])].add(session)
    frequent = {pattern for pattern, found in support.items() if len(found) >= 3}
    parts = {REFUND[i:j] for i in range(4) for j in range(i + 2, 5)}
    assert frequent == parts | {CLAIM}


def test_the_claim_fails_in_every_session() -> None:
    found = occurrences(CLAIM)
    assert set(found) == CLAIM_SESSIONS
    assert all(not run[1]["ok"] for runs in found.values() for run in runs)


def test_the_retry_loop_is_five_equal_failures_in_one_session() -> None:
    calls = by_id()[RETRY_TURN]["tool_calls"]
    assert len(calls) == 5
    assert all(call == calls[0] and not call["ok"] for call in calls)
    assert {
        turn["id"]
        for turn in week()
        if any(call["name"] == calls[0]["name"] for call in turn.get("tool_calls", ()))
    } == {RETRY_TURN}


def test_the_rule_is_said_by_a_user_in_three_sessions_in_three_wordings() -> None:
    said = {
        turn["id"]: match[0] for turn in week() if (match := RULE.search(turn["text"])) is not None
    }
    assert tuple(said) == RULE_TURNS
    assert len(set(said.values())) == 3
    assert all(by_id()[turn]["role"] == "user" for turn in said)
    assert len({by_id()[turn]["session"] for turn in said}) == 3


def test_the_system_prompt_is_the_only_place_of_its_rule_and_its_name() -> None:
    assert turns_saying("Corin Ashdown") == set(SYSTEM_TURNS)
    assert turns_saying("always confirm the delivery address") == set(SYSTEM_TURNS)
    assert all(by_id()[turn]["role"] == "system" for turn in SYSTEM_TURNS)


def test_a_wish_said_once_is_restated_by_three_blocks_of_recalled_memories() -> None:
    assert turns_saying("quiet coach, please") == {REMEMBERED_TURN, *RECALLED_TURNS}
    for turn in RECALLED_TURNS:
        outside = RECALLED_BLOCK.sub("", by_id()[turn]["text"])
        assert "quiet coach" not in outside
    roles = Counter(by_id()[turn]["role"] for turn in RECALLED_TURNS)
    assert roles == {"user": 2, "system": 1}


def test_a_preference_is_claimed_three_times_by_the_assistant_and_denied_by_the_user() -> None:
    assert turns_saying("always add travel insurance") == set(CLAIMED_TURNS)
    assert all(by_id()[turn]["role"] == "assistant" for turn in CLAIMED_TURNS)
    said_by_users = [t for t in week() if t["role"] == "user" and "insurance" in t["text"]]
    assert [turn["text"][:29] for turn in said_by_users] == ["I never asked for insurance. "]


def test_the_quoted_mail_says_its_rule_in_quoted_lines_only() -> None:
    assert turns_saying("waybill number in the subject line") == set(QUOTING_TURNS)
    for turn in QUOTING_TURNS:
        lines = by_id()[turn]["text"].splitlines()
        own = [line for line in lines if not line.startswith("> ")]
        assert 1 < len(own) < len(lines)
        assert "waybill" not in "\n".join(own)
    assert "> I moved to Rotterdam" in by_id()[QUOTING_TURNS[0]]["text"]


def test_the_code_fences_hold_a_heading_and_a_list() -> None:
    fenced = {t["id"]: match[1] for t in week() if (match := FENCE.search(t["text"])) is not None}
    assert tuple(fenced) == FENCE_TURNS
    assert all("## Known issues\n1. " in inside for inside in fenced.values())


def test_two_equal_short_turns_stand_in_one_session() -> None:
    first, second = (by_id()[turn] for turn in EQUAL_TURNS)
    assert first["session"] == second["session"]
    assert (first["name"], first["text"]) == (second["name"], second["text"])
    assert first["text"] == "yes"


def test_one_turn_is_dated_after_the_clock() -> None:
    late = [t["id"] for t in week() if datetime.fromisoformat(t["at"]) > NOW]
    assert late == [FUTURE_TURN]


def test_a_question_names_a_person_and_a_place_that_no_user_joins_in_a_statement() -> None:
    question = by_id()[QUESTION_TURN]
    assert question["text"].startswith("Does Lucía Ferrer live in Porto?")
    assert turns_saying("live in Porto") == {QUESTION_TURN}
    assert turns_saying("I live in Braga") == {"thu-support-1-04"}


def test_the_secret_is_obviously_fake_and_said_once() -> None:
    secrets = {turn["id"]: re.findall(r"sk-[\w-]+", turn["text"]) for turn in week()}
    assert {turn: found for turn, found in secrets.items() if found} == {
        SECRET_TURN: ["sk-demo-000000000000000000000000"]
    }
    assert "sk-demo" not in json.dumps(calls_of(week()))


def test_changed_facts_are_kept_as_they_were_said() -> None:
    turns = by_id()
    for turn, words in (HOME_TURNS | DATE_TURNS).items():
        assert words in turns[turn]["text"]
    assert len({turns[turn]["name"] for turn in HOME_TURNS}) == 1


def test_the_migration_fails_twice_before_it_succeeds() -> None:
    runs = [call for call in calls_of(week()) if call["name"] == "run_migration"]
    assert [call["ok"] for call in runs] == [False, False, True, True]


def test_the_page_names_only_what_the_week_holds_and_every_trap() -> None:
    page = PAGE.read_text(encoding="utf-8")
    known = {*by_id(), *sessions()}
    named = set(re.findall(r"`((?:mon|tue|wed|thu|fri|sat|sun)-[\w-]+)`", page))
    assert named <= known
    traps = {
        *CLAIM_SESSIONS, *REFUND_SESSIONS, *RULE_TURNS, RETRY_TURN, *SYSTEM_TURNS, *RECALLED_TURNS,
        REMEMBERED_TURN, *CLAIMED_TURNS, *QUOTING_TURNS, *FENCE_TURNS, *EQUAL_TURNS, FUTURE_TURN,
        QUESTION_TURN, SECRET_TURN, *HOME_TURNS, *DATE_TURNS,
    }  # fmt: skip
    assert traps <= named
