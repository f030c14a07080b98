from __future__ import annotations

import pytest

from symfonic.capabilities.memory.collaborators import Mention
from symfonic.capabilities.memory.extractors.speakers import speaker_of
from symfonic.capabilities.memory.records import Episode


def test_a_speaker_is_a_person_of_its_name() -> None:
    assert speaker_of(Episode(role="user", name=" Wilma  Okoro ")) == Mention(
        key="wilma okoro", name="Wilma Okoro", entity_kind="person", score=0.95
    )


@pytest.mark.parametrize(
    "name", [None, "", "User", "assistant", "+44 20 7946", "42", "Wilma " * 17]
)
def test_a_role_a_number_or_a_text_names_nobody(name: str | None) -> None:
    assert speaker_of(Episode(role="user", name=name)) is None
