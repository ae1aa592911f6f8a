"""One position with one message is one finding: a value with an anchor is checked wherever an alias repeats it, and reported once."""

from linting import lint, places


def test_an_anchor_in_values() -> None:
    values = """\
        common: &common
          nodeSelector: {"a b": c d}
        web: *common
        worker: *common
    """
    assert places(lint({"values.yaml": values})) == [
        "values.yaml:2:18 warning invalid-label-key",
        "values.yaml:2:25 warning invalid-label-value",
    ]


def test_an_anchor_in_two_objects_of_a_list() -> None:
    pods = """\
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {tolerations: &all [{key: a, operator: Is}]}}
        - {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {tolerations: *all}}
    """
    assert places(lint(pods)) == ["a.yaml:4:97 error unknown-operator"]
