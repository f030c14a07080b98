from typing import Any

from symfonic.capabilities.memory.ingest.chatgpt_tree import branches


def node(parent: str | None, *children: str, at: Any = None, said: bool = True) -> dict[str, Any]:
    message = {"create_time": at} if said else None
    return {"parent": parent, "children": list(children), "message": message}


TREE = {
    "root": node(None, "ask", said=False),
    "ask": node("root", "old", "new", at=1),
    "old": node("ask", "old2", at=9),
    "old2": node("old", at=10),
    "new": node("ask", at=5),
}


def test_the_path_is_what_stands_above_the_current_node() -> None:
    found = branches(TREE, "new")
    assert (found.active, found.inactive, found.lost) == (("ask", "new"), ("old", "old2"), ())
    assert not found.guessed


def test_a_current_node_in_the_middle_ends_the_path() -> None:
    assert branches(TREE, "old").active == ("ask", "old")


def test_without_a_current_node_the_leaf_said_last_ends_the_path() -> None:
    for current in (None, "gone", ["new"]):
        found = branches(TREE, current)
        assert found.active == ("ask", "old", "old2")
        assert found.guessed


def test_of_leaves_without_a_time_the_last_one_ends_the_path() -> None:
    for at in (None, "1", float("nan"), 10**400):
        nodes = {"a": node(None, "b", "c"), "b": node("a", at=at), "c": node("a", at=at)}
        assert branches(nodes, None).active == ("a", "c")


def test_a_missing_parent_is_found_by_the_children_that_name_the_node() -> None:
    nodes = {"a": node(None, "b"), "b": node("gone"), "c": node("b")}
    assert branches(nodes, "c").active == ("a", "b", "c")


def test_what_hangs_on_no_parent_is_lost_and_not_another_branch() -> None:
    nodes = {"a": node(None), "x": node("gone"), "y": node("x"), "b": node("a")}
    found = branches(nodes, "b")
    assert (found.active, found.lost, found.inactive) == (("a", "b"), ("x", "y"), ())


def test_above_a_path_that_breaks_off_everything_is_lost() -> None:
    nodes = {"a": node(None), "b": node("gone")}
    found = branches(nodes, "b")
    assert (found.active, found.lost) == (("b",), ("a",))


def test_a_second_root_is_another_branch() -> None:
    nodes = {"a": node(None), "b": node(None), "c": node("")}
    found = branches(nodes, "a")
    assert (found.active, found.inactive) == (("a",), ("b", "c"))


def test_circles_end() -> None:
    nodes = {"a": node("c"), "b": node("a"), "c": node("b"), "d": node("d"), "e": node("c")}
    found = branches(nodes, "c")
    assert found.active == ("a", "b", "c")
    assert (found.inactive, found.lost) == (("e",), ("d",))
    assert branches({"a": node("b"), "b": node("a")}, None).active == ("a", "b")


def test_odd_nodes_stand_where_their_parents_say() -> None:
    nodes: dict[str, Any] = {
        "a": {"children": ["b", 3, None, "a"], "message": {}},
        "b": "no node",
        "c": {"children": "b", "parent": 7, "message": {}},
    }
    found = branches(nodes, "b")
    assert (found.active, found.lost) == (("a", "b"), ("c",))


def test_an_empty_tree_has_no_branches() -> None:
    found = branches({}, "x")
    assert (found.active, found.inactive, found.lost) == ((), (), ())


def test_a_tree_of_a_hundred_thousand_is_climbed_once() -> None:
    nodes = {str(n): node(str(n - 1) if n else None) for n in range(100_000)}
    assert len(branches(nodes, "50000").active) == 50_001
