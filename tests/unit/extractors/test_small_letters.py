from __future__ import annotations

import pytest

from symfonic.capabilities.memory.extractors.small_letters import MOST, small_names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ilkay sarıgül asked for a copy.", ["ilkay sarıgül"]),
        ("Fine. mirel oduya called back", ["mirel oduya"]),
        ("Ilkay Sarıgül asked for a copy.", []),
        ("ok thanks, see you tomorrow", []),
        ("mirel, oduya and the others", []),
        ("", []),
    ],
)
def test_neighbouring_uncommon_words_of_a_small_sentence_may_be_a_name(
    text: str, found: list[str]
) -> None:
    assert list(small_names(text)) == found


def test_an_episode_gives_few_of_them() -> None:
    assert len(list(small_names("zorb quax " * 50))) == MOST
