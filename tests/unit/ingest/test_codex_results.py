import json
from typing import Any

import pytest

from symfonic.capabilities.memory.ingest.codex_records import answer_of, call_of, outcome_of
from symfonic.capabilities.memory.ingest.codex_results import result_of


def inside(**value: Any) -> str:
    return json.dumps(value)


@pytest.mark.parametrize(
    ("output", "text", "ok"),
    [
        ("plain", "plain", True),
        (None, "", True),
        (inside(output="1 failed", metadata={"exit_code": 1}), "1 failed", False),
        (
            inside(output="Error: only a word", metadata={"exit_code": 0}),
            "Error: only a word",
            True,
        ),
        (inside(output="fine", exit_code=0), "fine", True),
        (
            inside(output="Traceback (most recent call last):"),
            "Traceback (most recent call last):",
            False,
        ),
        (inside(result={"exit_code": 3}), inside(result={"exit_code": 3}), False),
        (inside(error="no"), inside(error="no"), False),
        (inside(status="failed"), inside(status="failed"), False),
        (inside(message="exit_code=7 is prose"), inside(message="exit_code=7 is prose"), True),
        ("{broken", "{broken", True),
        ("Exit code: 0\nOutput:\nExit code: 1", "Exit code: 0\nOutput:\nExit code: 1", True),
        (
            "Wall time: 1 s\nProcess exited with code 2\n",
            "Wall time: 1 s\nProcess exited with code 2\n",
            False,
        ),
        ("aborted by user after 3 s", "aborted by user after 3 s", False),
        ("execution error: Io", "execution error: Io", False),
        ("abortedly is a word", "abortedly is a word", True),
        ({"content": "no", "success": False}, "no", False),
        ({"content": "Error: x", "success": True}, "Error: x", False),
        ({"output": "yes"}, "yes", True),
        (
            [
                {"type": "input_text", "text": "ran"},
                {"type": "input_text", "text": inside(exit_code=2, output="no")},
            ],
            "ran\nno",
            False,
        ),
    ],
)
def test_a_result_gives_its_text_and_whether_its_call_worked(
    output: Any, text: str, ok: bool
) -> None:
    assert result_of(output, []) == (text, ok)


def test_a_result_that_nests_without_end_is_read_as_far_as_it_tells() -> None:
    deep: Any = {"exit_code": 1}
    for _ in range(10):
        deep = {"result": deep}
    assert result_of(deep, [])[1]


def test_a_status_or_an_error_beside_the_output_counts() -> None:
    assert answer_of({"type": "x", "output": "a", "status": "failed"}, []) == ("a", False)
    assert answer_of({"type": "x", "result": {"Err": "no"}}, []) == ("no", False)


def test_calls_of_each_kind_have_a_name_and_arguments() -> None:
    shell = {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"a": 1}}
    found = call_of(shell, [])
    assert (found.name, found.arguments, found.ok) == ("local_shell", {"a": 1}, None)
    search = {"type": "web_search_call", "status": "completed", "action": {"query": "tides"}}
    found = call_of(search, [])
    assert (found.name, found.id, found.ok) == ("web_search", None, True)
    patch = {"type": "custom_tool_call", "id": "i", "name": "apply_patch", "input": "*** Begin"}
    flags: list[str] = []
    found = call_of({**patch, "status": "incomplete"}, flags)
    assert (found.arguments, found.id, found.ok, flags) == ("*** Begin", "i", False, [])


def test_only_events_of_ended_calls_tell_an_outcome() -> None:
    assert outcome_of({"call_id": "c", "exit_code": 0}) == ("c", True)
    assert outcome_of({"call_id": "c", "success": False}) == ("c", False)
    assert outcome_of({"call_id": "c", "result": {"Err": "x"}}) == ("c", False)
    assert outcome_of({"call_id": "c", "result": {"Ok": {}}}) is None
    assert outcome_of({"exit_code": 0}) is None
