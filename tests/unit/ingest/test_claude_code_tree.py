from typing import Any

from symfonic.capabilities.memory.ingest.claude_code_tree import Tree, records_of, tree_of
from symfonic.capabilities.memory.ingest.document import Piece


def tree(*records: Any) -> Tree:
    return tree_of(Piece(n, n, n, n, record) for n, record in enumerate(records, 1))


def record(uuid: str, parent: Any = None, kind: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, **more}


def test_the_branch_with_the_last_message_is_the_active_one() -> None:
    found = tree(
        record("a"), record("b", "a"), record("c", "b"), record("b2", "a"), record("c2", "b2")
    )
    assert found.abandoned == {(2, 0), (3, 0)}


def test_a_fork_within_an_abandoned_branch_changes_nothing_outside() -> None:
    found = tree(record("a"), record("b", "a"), record("c", "b"), record("c2", "b"),
                 record("b2", "a"))  # fmt: skip
    assert found.abandoned == {(2, 0), (3, 0), (4, 0)}


def test_records_that_say_nothing_do_not_make_a_branch_the_last_one() -> None:
    found = tree(record("a"), record("b", "a"), record("p", "a", "progress"))
    assert found.abandoned == set()
    found = tree(record("a"), record("b", "a"), record("b2", "a"), record("p", "b", "system"))
    assert found.abandoned == {(2, 0)}


def test_an_unknown_later_or_unreadable_parent_begins_a_tree() -> None:
    found = tree(record("a"), record("b", "ghost"), record("c", "d"), record("d", "c"),
                 record("e", 7), record("f", "f"))  # fmt: skip
    assert found.abandoned == set()


def test_a_compaction_names_the_true_parent_aside() -> None:
    boundary = record("x", None, "system", logicalParentUuid="b")
    found = tree(record("a"), record("b", "a"), record("c", "b"), boundary, record("d", "x"))
    assert found.abandoned == {(3, 0)}


def test_a_uuid_that_comes_again_is_a_repeat() -> None:
    assert tree(record("a"), record("a", "b"), record("b", "a")).repeated == {(2, 0)}


def test_talk_with_a_sub_agent_is_a_tree_of_its_own_with_a_name() -> None:
    found = tree(
        record("a"),
        record("s", "a", isSidechain=True),
        record("t", "s", isSidechain=True),
        record("b", "a"),
        record("u", "b", isSidechain=True),
    )
    assert found.abandoned == set()
    assert found.roots == {"s": "s", "t": "s", "u": "u"}


def test_what_has_no_uuid_or_is_no_record_is_passed_over() -> None:
    broken = Piece(1, 1, 0, 3, None, "{x", "not valid JSON")
    values: list[Any] = [3, None, [], {"uuid": ""}, {"uuid": 3}]
    odd = [Piece(2, 2, 3, 6, value) for value in values]
    assert tree_of([broken, *odd]) == Tree()


def test_a_session_that_is_one_document_has_its_lines_as_records() -> None:
    lines = [record("a"), record("b", "a")]
    piece = Piece(3, 3, 0, 9, {"loglines": lines})
    assert list(records_of(piece)) == [((3, 0), lines[0]), ((3, 1), lines[1])]
    assert list(records_of(Piece(4, 4, 0, 9, {"loglines": 3}))) == [((4, 0), {"loglines": 3})]
