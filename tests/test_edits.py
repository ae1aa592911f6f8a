"""The effect of symbolic edits on data, and edits that cannot be applied."""

from typing import Any

import pytest

from afflint.findings.edits import EditError, Insert, Move, Remove, Rename, Replace, SymbolicEdit, applied, is_same

DATA: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"template": {"metadata": None}, "tolerations": [{"key": "a"}, {"key": "b"}]},
}


def after(*edits: SymbolicEdit) -> Any:
    return applied(DATA, edits)


def test_the_data_that_is_edited_stays_as_it_is() -> None:
    before = repr(DATA)
    after(Replace(("metadata", "name"), "db"), Remove(("spec", "tolerations", 0)), Insert(("metadata", "labels"), "tier", "front"))
    assert repr(DATA) == before


def test_replace() -> None:
    assert after(Replace(("metadata", "labels"), {"app": "db"}))["metadata"] == {"name": "web", "labels": {"app": "db"}}
    assert after(Replace(("spec", "tolerations", 1, "key"), 5))["spec"]["tolerations"] == [{"key": "a"}, {"key": 5}]


def test_rename_keeps_the_place() -> None:
    assert list(after(Rename(("metadata", "name"), "generateName"))["metadata"].items()) == [
        ("generateName", "web"),
        ("labels", {"app": "web"}),
    ]


class TestInsert:
    def test_a_new_key_comes_last_or_at_the_requested_position(self) -> None:
        def order(edit: Insert) -> list[str]:
            return list(after(edit)["metadata"])

        assert order(Insert(("metadata",), "namespace", "shop")) == ["name", "labels", "namespace"]
        assert order(Insert(("metadata",), "namespace", "shop", before="labels")) == ["name", "namespace", "labels"]
        assert order(Insert(("metadata",), "namespace", "shop", after="name")) == ["name", "namespace", "labels"]
        assert order(Insert(("metadata",), "namespace", "shop", before="spec")) == ["name", "labels", "namespace"]

    def test_what_is_missing_or_null_is_made(self) -> None:
        home = ("spec", "template", "metadata", "labels")
        assert after(Insert(home, "app", "web"))["spec"]["template"] == {"metadata": {"labels": {"app": "web"}}}
        assert after(Insert(("spec", "terms"), 0, "x"))["spec"]["terms"] == ["x"]

    def test_created_parents_are_at_the_requested_position(self) -> None:
        data = {"template": {"spec": {}}}
        made = applied(data, [Insert(("template", "metadata", "labels"), "app", "web", before="spec")])
        assert list(made["template"]) == ["metadata", "spec"]

    def test_into_a_list(self) -> None:
        def keys(at: int) -> list[str]:
            return [each["key"] for each in after(Insert(("spec", "tolerations"), at, {"key": "c"}))["spec"]["tolerations"]]

        assert keys(0) == ["c", "a", "b"]
        assert keys(1) == ["a", "c", "b"]
        assert keys(2) == ["a", "b", "c"]


class TestRemove:
    def test_what_is_left_empty_stays(self) -> None:
        assert after(Remove(("metadata", "labels", "app")))["metadata"] == {"name": "web", "labels": {}}
        assert after(Remove(("spec", "tolerations", 0)), Remove(("spec", "tolerations", 0)))["spec"]["tolerations"] == []

    def test_or_is_removed_as_well(self) -> None:
        assert after(Remove(("metadata", "labels", "app"), prune=True))["metadata"] == {"name": "web"}
        assert applied({"a": 1, "b": {"c": [{"d": 2}]}}, [Remove(("b", "c", 0, "d"), prune=True)]) == {"a": 1}


class TestMove:
    def test_to_another_map_that_is_made_if_need_be(self) -> None:
        moved = after(Move(("metadata", "labels", "app"), ("spec", "template", "metadata", "labels"), prune=True))
        assert moved["metadata"] == {"name": "web"}
        assert moved["spec"]["template"] == {"metadata": {"labels": {"app": "web"}}}

    def test_under_another_key(self) -> None:
        assert after(Move(("metadata", "name"), ("metadata",), "generateName"))["metadata"] == {
            "labels": {"app": "web"},
            "generateName": "web",
        }

    def test_merging(self) -> None:
        data = {"labels": {"a": "1", "b": "2"}, "template": {"labels": {"b": "2", "c": "3"}}}
        merged = applied(data, [Move(("labels",), ("template",), merge=True)])
        assert merged == {"template": {"labels": {"b": "2", "c": "3", "a": "1"}}}


@pytest.mark.parametrize(
    "edit",
    [
        Replace(("spec", "replicas"), 3),
        Rename(("metadata", "name"), "labels"),
        Rename(("spec", "tolerations", 0), "x"),
        Rename((), "x"),
        Insert(("metadata", "labels"), "app", "db"),
        Insert(("metadata", "name"), "x", "y"),
        Insert(("metadata", "name", "deeper"), "x", "y"),
        Insert(("metadata",), 0, "x"),
        Insert(("spec", "tolerations"), "key", "x"),
        Insert(("spec", "tolerations"), 3, "x"),
        Insert(("spec", "tolerations", 2), "key", "x"),
        Insert(("spec", "terms"), 1, "x"),
        Remove(("metadata", "annotations")),
        Remove(()),
        Move(("metadata", "annotations"), ("spec",)),
        Move(("spec", "tolerations", 0), ("spec",), "x"),
        Move(("spec",), ("spec", "template")),
        Move(("metadata", "labels"), ("metadata",), "name"),
        Move(("metadata", "labels"), ("metadata",), "name", merge=True),
        Move(("metadata", "name"), ("metadata", "name")),
    ],
    ids=str,
)
def test_an_impossible_edit_is_rejected(edit: SymbolicEdit) -> None:
    with pytest.raises(EditError):
        after(edit)


def test_maps_that_contradict_each_other_are_not_merged() -> None:
    with pytest.raises(EditError):
        applied({"labels": {"a": "1"}, "template": {"labels": {"a": "2"}}}, [Move(("labels",), ("template",), merge=True)])


def test_the_same_is_of_the_same_type() -> None:
    assert is_same({"a": [1, None, "x"]}, {"a": [1, None, "x"]})
    assert not any(is_same(1, other) for other in (True, 1.0, "1", None))
    assert not is_same({"a": [1]}, {"a": [True]})
    assert not is_same({"a": 1}, {"b": 1})
    assert not is_same([1], [1, 1])
