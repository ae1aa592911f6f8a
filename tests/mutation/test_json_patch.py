"""JSON patches with the options of Kyverno."""

from __future__ import annotations

from typing import Any

import pytest

from afflint.mutation.json_patch import with_json_patch
from afflint.mutation.undecided import InapplicableError, UndecidedError


@pytest.mark.parametrize(
    ("operation", "data", "expected"),
    [
        ({"op": "add", "path": "/a/b", "value": 1}, {}, {"a": {"b": 1}}),
        ({"op": "add", "path": "/spec/tolerations/-", "value": 1}, {"spec": {}}, {"spec": {"tolerations": [1]}}),
        ({"op": "add", "path": "/l/-", "value": 2}, {"l": [1]}, {"l": [1, 2]}),
        ({"op": "add", "path": "/l/0", "value": 2}, {"l": [1]}, {"l": [2, 1]}),
        ({"op": "add", "path": "/l/-1", "value": 2}, {"l": [1]}, {"l": [1, 2]}),
        ({"op": "add", "path": "/terms/-1/matchExpressions/-1", "value": 2}, {}, {"terms": [{"matchExpressions": [2]}]}),
        ({"op": "add", "path": "/terms/-1/x/-1", "value": 2}, {"terms": [{}, {"x": [1]}]}, {"terms": [{}, {"x": [1, 2]}]}),
        ({"op": "add", "path": "/metadata/labels/a~1b", "value": "c"}, {}, {"metadata": {"labels": {"a/b": "c"}}}),
        ({"op": "replace", "path": "/a", "value": 2}, {"a": 1}, {"a": 2}),
        ({"op": "remove", "path": "/l/0"}, {"l": [1, 2]}, {"l": [2]}),
        ({"op": "remove", "path": "/x/y"}, {"a": 1}, {"a": 1}),
        ({"op": "move", "from": "/a", "path": "/b"}, {"a": 1}, {"b": 1}),
        ({"op": "test", "path": "/a", "value": 1}, {"a": 1}, {"a": 1}),
    ],
)
def test_an_operation(operation: dict[str, Any], data: Any, expected: Any) -> None:
    assert with_json_patch(data, [operation]) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "add", "path": "/l/7", "value": 1},
        {"op": "add", "path": "/a/b", "value": 1},
        {"op": "add", "path": "/n/999999", "value": 1},
        "no operation",
    ],
)
def test_a_failing_operation_leaves_the_object(operation: Any) -> None:
    with pytest.raises(InapplicableError):
        with_json_patch({"a": 1, "l": []}, [operation])


@pytest.mark.parametrize("name", ["merge", "copy"])
def test_an_operation_that_is_unknown_or_may_grow_without_limit_is_undecided(name: str) -> None:
    with pytest.raises(UndecidedError, match=f"operation `{name}`"):
        with_json_patch({"a": 1}, [{"op": name, "from": "/a", "path": "/b"}])
