"""Long Lists are read to the same data as by any reader, and need memory only for different values."""

import json

import pytest

from afflint.yaml import list_reader
from afflint.yaml.documents import read
from afflint.yaml.list_reader import read_list

ITEM = """\
- kind: Pod
  spec:
    containers:
    - {name: a, image: b}
    flags: [{x: true}, {x: 1}, {x: "1"}, {x: 1.0}, {x: null}, [true], [1], ["1"], [], {}]
    text: "@"
"""


def listing(count: int, item: str = ITEM) -> str:
    return "kind: List\nitems:\n" + "".join(item.replace("@", str(number)) for number in range(count))


def types(value: object) -> object:
    """The value with the type of each scalar, as 1 and true are equal in Python."""
    if isinstance(value, dict):
        return {key: types(below) for key, below in value.items()}
    return [types(below) for below in value] if isinstance(value, list) else (type(value), value)


@pytest.mark.parametrize("form", ["YAML", "JSON"])
def test_the_data_is_that_of_the_whole(form: str) -> None:
    text = listing(50)
    whole = read(text.encode(), 0, 0)
    if form == "JSON":
        text = json.dumps(whole.data).replace('{"kind": "List", ', "{")
        whole = read(text.encode(), 0, 0)
    document = read_list(text.encode(), 0, 0)
    assert document is not None
    assert types(document.data) == types(whole.data)


def test_what_is_the_same_in_many_items_is_kept_once() -> None:
    document = read_list(listing(3).encode(), 0, 0)
    assert document is not None
    one, other, _ = document.data["items"]
    assert one["spec"]["containers"] is other["spec"]["containers"]
    assert one["spec"] is not other["spec"]


def test_but_not_where_an_alias_may_have_made_it_the_same() -> None:
    document = read_list(listing(3, ITEM.replace("name: a", "name: &a a")).encode(), 0, 0)
    assert document is not None
    one, other, _ = document.data["items"]
    assert one["spec"]["containers"] == other["spec"]["containers"]
    assert one["spec"]["containers"] is not other["spec"]["containers"]


@pytest.mark.parametrize("form", ["YAML", "JSON"])
def test_a_list_may_be_as_long_as_it_likes_but_not_hold_ever_more(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_read(text: str) -> bool:
        if form == "JSON":
            text = json.dumps({"items": read(text.encode(), 0, 0).data["items"]})
        return read_list(text.encode(), 0, 0) is not None

    monkeypatch.setattr(list_reader, "_MOST_KEPT", 2_000)
    different = ITEM.replace("name: a", "name: a@").replace("{x", "{x@").replace("[true]", "[@, true]")
    assert is_read(listing(100))
    assert is_read(listing(10, different))
    assert not is_read(listing(100, different))


PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {"name": "no"}, "name": f"pod-{number}"}, "spec": {"name": "no"}}
    for number in range(3)
]
BLOCKS = """\
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      text: |
        metadata:
          name: no
    name: one
- metadata:
    labels: {name: no}

    # The name:
    name: two
  kind: Pod
- kind: Pod
  metadata: {name: three}
- kind: Pod
  metadata:
    labels: {}
  spec:
    name: no
"""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"items": PODS}),
        json.dumps({"items": PODS}, indent=4),
        json.dumps({"items": PODS}, indent=4).replace("\\n", "\\r\\n"),
        BLOCKS,
    ],
    ids=["one line", "indented", "Windows", "YAML"],
)
def test_the_line_of_a_name_is_found_without_nodes(text: str) -> None:
    document = read_list(text.encode(), 0, 0)
    assert document is not None
    for number in range(len(document.data["items"])):
        path = ("items", number, "metadata", "name")
        assert document.line_of(path) == document.locate(path).line


MANAGED = """\
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      text: |
        managedFields:
        - kept
    labels:
      managedFields: kept
    managedFields:
    - apiVersion: v1
      fieldsV1:
        f:status:
          k:{"type":"Ready"}:
            .: {}
    - manager: kubelet
    name: web@
  spec:
    managedFields:
    - kept
"""


@pytest.mark.parametrize("indent", ["", "  "], ids=["flush", "indented"])
def test_the_managed_fields_of_the_items_are_left_out(indent: str) -> None:
    item = "".join(f"{indent}{line}\n" for line in MANAGED.splitlines())
    text = listing(3, item)
    whole = read(text.encode(), 0, 0).data
    for each in whole["items"]:
        del each["metadata"]["managedFields"]
    document = read_list(text.encode(), 0, 0)
    assert document is not None
    assert document.data == whole
    assert document.line_of(("items", 1, "metadata", "name")) == text[: text.index("name: web1")].count("\n") + 1
