"""Access to values in data of any shape."""

import pytest

from afflint.yaml.document import list_at, map_at, maps_at, text_at, texts_at, value_at_path

DATA = {"spec": {"name": "web", "items": [{"a": 1}, "b", None, {"c": 2}], "none": None}}


@pytest.mark.parametrize("steps", [("spec", "name"), ("spec", "none", "deeper"), ("spec", "name", "deeper"), ("spec", "items", 1)])
def test_a_map_is_there_or_an_empty_one_takes_its_place(steps: tuple[object, ...]) -> None:
    assert map_at(DATA, "spec") is DATA["spec"]
    assert map_at(DATA, *steps) == {}


def test_what_is_of_another_type_counts_as_absent() -> None:
    assert [value_at_path(DATA, "spec", "items", index) for index in (0, 1, 4, -1, "a")] == [{"a": 1}, "b", None, None, None]
    assert (text_at(DATA, "spec", "name"), text_at(DATA, "spec", "items"), text_at("web", "name")) == ("web", "", "")
    assert list_at(DATA, "spec", "name") == []
    assert maps_at(DATA, "spec", "items") == [{"a": 1}, {"c": 2}]
    assert texts_at(DATA, "spec", "items") == ["b"]


def test_without_steps_it_is_the_data_itself() -> None:
    assert (map_at(DATA), text_at("web"), list_at([1])) == (DATA, "web", [1])
