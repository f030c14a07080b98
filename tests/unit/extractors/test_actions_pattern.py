"""Stated actions: the forms that are read, what is kept apart, and what talk states nothing."""

from __future__ import annotations

import pytest

from symfonic.capabilities.memory.extractors.actions_pattern import StatedAction, stated_actions


def only(text: str) -> StatedAction:
    (stated,) = stated_actions(text)
    return stated


@pytest.mark.parametrize(
    ("text", "trigger", "steps"),
    [
        (
            "First check the order, then issue the refund.",
            "",
            ["check the order", "issue the refund"],
        ),
        (
            "First check the order. Then issue the refund. Finally, email the customer.",
            "",
            ["check the order", "issue the refund", "email the customer"],
        ),
        ("Run the tests before you push.", "before you push", ["Run the tests"]),
        ("After the release, email the team.", "After the release", ["email the team"]),
        (
            "When a payment bounces, retry it once.",
            "When a payment bounces",
            ["retry it once"],
        ),
        (
            "Whenever I deploy first run the tests and then tag the release",
            "Whenever I deploy",
            ["run the tests", "tag the release"],
        ),
        (
            "Restart the router every time the wifi drops.",
            "every time the wifi drops",
            ["Restart the router"],
        ),
        ("Always use tabs.", "", ["use tabs"]),
        ("Make sure to log out when you leave.", "when you leave", ["log out"]),
        ("Please send the report to Ana", "", ["send the report to Ana"]),
        ("Remember to water the plants", "", ["water the plants"]),
        ("Don't forget to send the invoice.", "", ["send the invoice"]),
        (
            "To reset the router, unplug it and wait a minute, then plug it back in",
            "To reset the router",
            ["unplug it", "wait a minute", "plug it back in"],
        ),
        ("I usually check the queue when I log in", "when I log in", ["check the queue"]),
        ("When I log in, I usually check the queue", "When I log in", ["check the queue"]),
        ("If a payment bounces, retry it", "If a payment bounces", ["retry it"]),
        ("Once the build is green, tag it", "Once the build is green", ["tag it"]),
    ],
)
def test_each_form_gives_its_trigger_and_steps(text: str, trigger: str, steps: list[str]) -> None:
    stated = only(text)
    assert (stated.trigger, list(stated.steps)) == (trigger, steps)


def test_paraphrases_with_the_same_content_words_share_a_key() -> None:
    forms = [
        "Before pushing, run the tests.",
        "Always run the tests before you push!",
        "Please run tests before pushing",
        "I always run the tests before I push",
        "From now on, make sure you run the tests before a push.",
    ]
    assert {only(form).key for form in forms} == {only(forms[0]).key}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run a backup before you deploy", "Run a backup after you deploy"),
        ("Always copy data from prod to staging", "Always copy data from staging to prod"),
        ("Always wait 5 minutes", "Always wait 15 minutes"),
        ("Always log in when it starts", "Always log out when it starts"),
        ("First tag it, then push it", "First push it, then tag it"),
        ("Please notify the client", "Please notify the client, don't copy sales"),
    ],
)
def test_what_means_something_else_has_another_key(one: str, other: str) -> None:
    assert only(one).key != only(other).key


@pytest.mark.parametrize(
    "text",
    [
        "Never push on a Friday.",
        "Don't run the tests before you push.",
        "Should I always run the tests before I push?",
        "Could you please run the tests?",
        "When I was small, we used to run to the lake.",
        "When I got home I opened the door",
        "When I fixed the gate, I painted it",
        "To be honest, I love it.",
        "If you need anything, call me",
        "First we ate, then we danced.",
        "First day at work was great, then I slept.",
        "Before the war my family lived there, and after it too.",
        "I always loved the sea.",
        "We first met in May, and then again after the fair.",
        "It's always good to see you!",
        "Please!",
        "First, check the door.",
        "What do I do before I deploy? Then check it.",
        "",
    ],
)
def test_questions_negations_and_ordinary_talk_state_nothing(text: str) -> None:
    assert stated_actions(text) == []


def test_quotes_code_and_pasted_memory_state_nothing() -> None:
    assert (
        stated_actions(
            "> Always run the tests.\n"
            "```\nAlways check the queue.\n```\n"
            "<recalled_memories>\n- Always tag the release.\n</recalled_memories>\n"
            "<system-reminder>Always close the ticket.</system-reminder>\n"
            "| always | log the call |"
        )
        == []
    )


def test_what_stands_after_a_pasted_block_still_counts() -> None:
    text = "<memory>Always tag it.</memory>\n~~~\nalways lint\n~~~\nAlways close the ticket."
    assert only(text).steps == ("close the ticket",)


def test_an_unclosed_block_runs_to_the_end() -> None:
    assert stated_actions("<context>\nAlways close the ticket.") == []


def test_a_numbered_list_after_a_colon_gives_its_steps() -> None:
    stated = only("To deploy:\n1. Run the tests.\n\n2. Tag it.\n- Push the tag\nThanks!")
    assert stated.trigger == "To deploy"
    assert stated.steps == ("Run the tests", "Tag it", "Push the tag")


def test_a_bulleted_rule_is_read_by_itself() -> None:
    assert only("Some rules\n- Always close the ticket.").steps == ("close the ticket",)


def test_a_negated_piece_stays_in_the_words_of_the_step_before_it() -> None:
    stated = only("When a payment bounces, email the customer, don't charge twice, then log it")
    assert stated.steps == ("email the customer, don't charge twice", "log it")


def test_a_noun_after_and_opens_no_step() -> None:
    stated = only("Whenever a parcel returns, check the name and the address and issue the refund")
    assert stated.steps == ("check the name and the address", "issue the refund")


def test_a_repeated_step_is_one_step() -> None:
    stated = only("First run the tests, then run the tests, then run tests, then tag it")
    assert stated.steps == ("run the tests", "tag it")


def test_a_rule_said_twice_in_one_turn_counts_once() -> None:
    assert len(stated_actions("Always run the tests. And please always run the tests!")) == 1


def test_an_empty_condition_is_no_trigger() -> None:
    assert only("Please send the report if you can").trigger == ""


@pytest.mark.parametrize(
    "text",
    [
        "Always check " + "very " * 40 + "well",
        "Whenever " + "a b " * 10 + ", check the queue",
        "First " + ", then ".join(f"check item{n}" for n in range(20)),
    ],
)
def test_what_is_too_long_for_a_rule_is_none(text: str) -> None:
    assert stated_actions(text) == []


def test_only_the_head_of_a_long_text_is_read() -> None:
    assert stated_actions("a " * 20_000 + "\nAlways close the ticket.") == []
    assert stated_actions("Always close the ticket.\n" + "Please a " * 200_000) != []


def test_a_curly_apostrophe_reads_like_a_straight_one() -> None:
    assert only("Don’t forget to send the invoice").steps == ("send the invoice",)


def test_verbs_with_a_prefix_or_a_hyphen_open_a_step() -> None:
    stated = only("Whenever the branch moved, force-push it, then re-check the build")
    assert stated.steps == ("force-push it", "re-check the build")


@pytest.mark.parametrize(
    "request_",
    ["Please transfer me to a human agent.", "Please, just send us the invoice again."],
)
def test_what_somebody_asks_for_themselves_is_no_rule(request_: str) -> None:
    assert stated_actions(request_) == []


def test_what_somebody_wants_to_be_told_each_time_is_one() -> None:
    assert [s.steps for s in stated_actions("Please tell me before you delete a branch.")] == [
        ("tell me",)
    ]
    assert [s.steps for s in stated_actions("Always show me the diff.")] == [("show me the diff",)]
