import pytest

from symfonic.capabilities.memory.ingest.codex_texts import texts_of, without_wrappers


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("mend it", "mend it"),
        ("<environment_context>\nx\n</environment_context>", ""),
        ("<environment_context>x</environment_context>\n\nmend it", "mend it"),
        ("<user_instructions>see </user_instructions> x</user_instructions>", ""),
        ("<skill>a</skill><environment_context>b</environment_context> go", "go"),
        ("<environment_context> what is this tag?", "<environment_context> what is this tag?"),
        ("<b>bold</b> words", "<b>bold</b> words"),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\ny\n</INSTRUCTIONS>", ""),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>y</INSTRUCTIONS> go", "go"),
        ("# AGENTS.md instructions for /x\n\nbe brief", ""),
        (
            "# Context from my IDE setup:\n\n## Open tabs:\n- a\n\n## My request for Codex:\ngo\n",
            "go",
        ),
        ("# Context from my IDE setup: what is it?", "# Context from my IDE setup: what is it?"),
        ("", ""),
    ],
)
def test_a_persons_words_are_told_from_what_stands_around_them(text: str, own: str) -> None:
    assert without_wrappers(text) == own


def test_content_is_text_or_parts_and_pictures_leave_a_mark() -> None:
    flags: list[str] = []
    parts = ["a", {"type": "input_text", "text": "<image>"}, {"type": "input_image"}]
    assert list(texts_of(parts, flags)) == ["a"]
    assert flags == ["attachment"]
    assert list(texts_of([{"type": "new", "text": "b"}], flags)) == ["b"]
    assert flags == ["attachment", "unknown_content"]
    assert list(texts_of(None, flags)) == []
    assert list(texts_of("c", flags)) == ["c"]
