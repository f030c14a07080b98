"""Recall measured on a file: what is stored, asked and counted, and that scopes keep apart."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from symfonic.capabilities.memory.errors import InputError, MissingExtra
from symfonic.capabilities.memory.evaluation import recall_run
from symfonic.capabilities.memory.evaluation.nights_slept import end_of
from symfonic.capabilities.memory.evaluation.recall_run import (
    FORMATS,
    Counts,
    RecallSet,
    evaluate_recall,
)
from symfonic.capabilities.memory.policy import LearningPolicy
from symfonic.capabilities.memory.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from symfonic.capabilities.memory.evaluation.conversations import Conversation
    from symfonic.capabilities.memory.evaluation.scores import Outcome, Scores
    from symfonic.capabilities.memory.records import RecordId
    from symfonic.capabilities.memory.service import Memory


def harbour(sets: Path, *chosen: int) -> RecallSet:
    return RecallSet(path=sets / "locomo.json", format="locomo", chosen=chosen or None)


def judged(scores: Scores, conversation: int) -> list[Outcome]:
    """What came of the questions of a conversation, without the time that it took."""
    return [replace(o, seconds=0.0) for o in scores.outcomes if o.conversation == conversation]


def _ids(memory: Memory, words: str) -> list[RecordId]:
    answers = [memory.recall(words, scope=scope) for scope in ("c1", "c2")]
    return [item.id for answer in answers for item in answer.items if words in item.text]


def written(path: Path, talks: dict[str, list[str]], question: str) -> RecallSet:
    """A set with a question about the first turn of each conversation."""
    lines: list[dict[str, Any]] = []
    for name, texts in talks.items():
        lines += [
            {"conversation": name, "id": n, "session": n // 20, "text": text}
            for n, text in enumerate(texts)
        ]
        lines.append({"conversation": name, "question": question, "gold": [0]})
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return RecallSet(path=path, format="jsonl")


def test_every_format_has_a_reader(sets: Path) -> None:
    assert FORMATS == ("locomo", "longmemeval", "jsonl")
    names = {"locomo": "locomo.json", "longmemeval": "longmemeval.json", "jsonl": "lines.jsonl"}
    for form in FORMATS:
        found = evaluate_recall(RecallSet(path=sets / names[form], format=form))
        assert found.counts.conversations == 2


def test_what_the_file_holds_is_counted(sets: Path) -> None:
    found = evaluate_recall(harbour(sets))
    assert found.counts == Counts(
        conversations=2, turns=8, questions=5, adversarial=1, unlabelled=1, missing=1
    )
    assert len(found.scores.outcomes) == 6
    found = evaluate_recall(RecallSet(path=sets / "longmemeval.json", format="longmemeval"))
    assert (found.counts.blank, found.counts.turns) == (1, 6)


def test_questions_find_the_turns_that_answer_them(sets: Path) -> None:
    found = evaluate_recall(harbour(sets))
    first = found.scores.outcomes[0]
    assert (first.category, first.turn["recall@1"], first.session["any@1"]) == ("single-hop", 1, 1)
    assert found.scores.means("turn").values["recall@10"] == 1.0
    assert found.scores.categories == ["single-hop", "temporal", "multi-hop"]


def test_only_the_chosen_conversations_are_stored_and_asked(sets: Path) -> None:
    found = evaluate_recall(harbour(sets, 2))
    assert found.counts == Counts(conversations=1, turns=2, questions=1)
    assert [outcome.conversation for outcome in found.scores.outcomes] == [2]


def test_the_same_file_gives_the_same_figures(sets: Path) -> None:
    one, two = (evaluate_recall(harbour(sets)).scores for _ in range(2))
    assert judged(one, 1) == judged(two, 1)


def test_what_recall_finds_does_not_depend_on_other_conversations(sets: Path) -> None:
    whole = evaluate_recall(harbour(sets))
    for number in (1, 2):
        alone = evaluate_recall(harbour(sets, number))
        assert judged(whole.scores, number) == judged(alone.scores, number)


def test_nothing_that_is_found_depends_on_other_conversations(tmp_path: Path) -> None:
    """More rows match than are weighed, and the word that is rarer here is frequent elsewhere."""
    pytest.importorskip("bm25s")
    rare = [f"tea {n}" for n in range(290)]
    frequent = [f"we had cake in the garden on day {n}" for n in range(310)]
    talks = {"a": [*rare, *frequent], "b": [f"tea {n}" for n in range(400)]}
    both = written(tmp_path / "x.jsonl", talks, "tea or cake")
    whole = evaluate_recall(both, baselines=True)
    alone = evaluate_recall(replace(both, chosen=(1,)), baselines=True)
    assert judged(whole.scores, 1) == judged(alone.scores, 1)
    for name in ("fts5", "bm25"):
        assert judged(whole.baselines[name], 1) == judged(alone.baselines[name], 1)


def test_baselines_are_asked_the_same_questions(sets: Path) -> None:
    pytest.importorskip("bm25s")
    found = evaluate_recall(harbour(sets), baselines=True)
    assert list(found.baselines) == ["fts5", "bm25"]
    for scores in found.baselines.values():
        assert len(scores.outcomes) == 6
        assert scores.outcomes[0].turn["recall@5"] == 1.0


def test_a_missing_package_is_said_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra):
        evaluate_recall(RecallSet(path=tmp_path / "none.json", format="locomo"), baselines=True)


def test_after_nights_everything_is_asked_again(sets: Path) -> None:
    policy = LearningPolicy(enable_entity_linker=True)
    found = evaluate_recall(harbour(sets), nights=2, policy=policy)
    assert found.slept is not None
    assert found.slept.nights == 3
    assert len(found.slept.scores.outcomes) == len(found.scores.outcomes)
    plain = found.as_plain()
    assert plain["after_sleep"]["nights"] == 3
    assert plain["after_sleep"]["turn"]["questions"] == plain["turn"]["questions"]


def test_questions_that_nights_changed_are_counted(
    sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nights are stood in for that take away a turn that answers in each conversation."""

    def forgets(memory: Memory, conversation: Conversation, count: int, **_: object) -> list[Any]:
        if conversation.number == 1:
            memory.store.forget(Scope("c1"), _ids(memory, "beans too"), subscriptions=())
        else:
            memory.store.forget(Scope("c2"), _ids(memory, "teapot"), subscriptions=())
        return [end_of(conversation)] * count

    monkeypatch.setattr(recall_run, "sleep_through", forgets)
    found = evaluate_recall(harbour(sets), nights=2)
    assert found.slept is not None
    assert (found.slept.nights, found.slept.worse, found.slept.better) == (4, 2, 0)
    assert found.as_plain()["after_sleep"]["worse"] == 2


def test_plain_values_hold_all_that_was_measured(sets: Path) -> None:
    plain = evaluate_recall(harbour(sets)).as_plain()
    assert {"turn", "session", "by_category", "baselines", "counts"} <= plain.keys()
    assert "after_sleep" not in plain
    assert plain["baselines"] == {}
    assert plain["counts"]["missing"] == 1
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize("chosen", [(3,), (0,)])
def test_a_choice_that_asks_nothing_is_refused(sets: Path, chosen: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="has no question about the chosen conversations"):
        evaluate_recall(harbour(sets, *chosen))


def test_each_step_is_told(sets: Path) -> None:
    told: list[tuple[str, int, int]] = []
    evaluate_recall(harbour(sets), nights=1, progress=lambda *far: told.append(far))
    assert told == [
        ("storing", 1, 0), ("storing", 2, 0), ("asking", 1, 2), ("asking", 2, 2),
        ("sleeping", 1, 2), ("sleeping", 2, 2), ("asking", 1, 2), ("asking", 2, 2),
    ]  # fmt: skip
