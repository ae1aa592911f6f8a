"""Each field that names or describes an object may have any type: every command reports that, or ignores it, and goes on.

AFFLINT_FUZZ=1 tries every field of every dumped object with every value, instead of those that decide what the object is.
"""

import ast
import copy
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from manifest_maker import written
from object_samples import SAMPLES

import afflint as package
from afflint.yaml.object_fields import annotations_of, api_version_of, group_of, items_of, kind_of, metadata_of, name_of, namespace_of
from command_line import exit_code

Steps = tuple[str, ...]

NESTED: Any = {"a": [{"b": [[{"c": None}]]}]}
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
VALUES: list[Any] = [
    None, True, 3, 10**40, 1.5, -1e300, "", "Pod", "\ufffd\u2028", 5_000 * "x", [], ["Pod"], [None, {"name": "x"}, 3], {}, {"Pod": 1},
    {"": None}, NESTED, [NESTED], DEEP,
]  # fmt: skip
"""Each type of JSON, empty, filled and nested, and what is unusually large."""
TYPES: list[Any] = [None, 3, ["Pod"], {"Pod": 1}]
NAMING: list[Steps] = [("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")]
FIELDS: list[Steps] = [
    *NAMING, ("metadata", "labels"), ("metadata", "labels", "app"), ("metadata", "annotations"), ("metadata", "annotations", "a/b"),
    ("metadata", "ownerReferences"), ("metadata", "uid"), ("spec",), ("status",), ("data",), ("items",),
]  # fmt: skip
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-9", "labels": {"topology.kubernetes.io/zone": "a"}},
    "status": {"allocatable": {"cpu": "4", "pods": "10"}},
}
CONFIGURATION = "policies: [policies.yaml]\ncontext: [context.yaml]\n"


def changed(sample: dict[str, Any], steps: Steps, value: Any) -> dict[str, Any]:
    """A copy of an object with another value of one field."""
    whole = copy.deepcopy(sample)
    below: Any = whole
    for step in steps[:-1]:
        below = below.setdefault(step, {})
    below[steps[-1]] = value
    return whole


def all_changed(sample: dict[str, Any], *fields: Steps) -> list[dict[str, Any]]:
    """A copy of an object for each field and each value."""
    return [changed(sample, steps, value) for steps in fields or FIELDS for value in VALUES]


def block(objects: Iterable[Any]) -> str:
    return "\n---\n".join(written(each) for each in objects)


def in_list(objects: Iterable[Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


class Trees:
    """Writes files into the current folder, and runs commands that must not fail because of what is in them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self._folder / name.replace("__", ".")).write_text(text, encoding="utf-8")

    def run(self, *words: str) -> None:
        code = exit_code(self._monkeypatch, *words)  # In this process, which is fast.
        assert code in (0, 1, 2), self._capsys.readouterr().err


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Trees:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AFFLINT_TRACEBACK", "1")
    (tmp_path / ".git").mkdir()
    return Trees(tmp_path, monkeypatch, capsys)


def samples(*groups: str) -> Any:
    """A parameter for each sample of some groups: the object, and the others of its group."""
    cases = [(each, [other for other in SAMPLES[group] if other is not each]) for group in groups for each in SAMPLES[group]]
    return pytest.mark.parametrize(("sample", "others"), cases, ids=[f"{each['kind']}-{number}" for number, (each, _) in enumerate(cases)])


@samples("manifests", "cluster", "storage", "configurations", "pools")
def test_manifests(trees: Trees, sample: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """Broken manifests next to valid ones, checked alone, against nodes, and placed on them."""
    broken = [changed(sample, steps, value) for steps in FIELDS for value in (TYPES if sample in SAMPLES["manifests"] else VALUES)]
    trees.write(nodes__yaml=block([NODE]), web__yaml=block(SAMPLES["manifests"][:2]), a__yaml=block([*broken, *others]))
    trees.write(b__json=in_list(changed(sample, steps, value) for steps in FIELDS for value in TYPES))
    trees.run("check", "--nodes", "nodes.yaml", "a.yaml", "b.json", "web.yaml", "--crds", "a.yaml")
    trees.write(b__json=in_list(changed(sample, steps, value) for steps in NAMING for value in TYPES))
    trees.run("place", "--nodes", "nodes.yaml", "b.json", "web.yaml")
    trees.run("why", "web", "--nodes", "nodes.yaml", "b.json", "web.yaml")


@samples("cluster", "storage")
def test_dumps(trees: Trees, sample: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """One broken object in the dump of a cluster."""
    rest = [NODE, *SAMPLES["storage" if others[0] in SAMPLES["cluster"] else "cluster"]]
    trees.write(web__yaml=block(SAMPLES["manifests"][:2]))
    everything = "AFFLINT_FUZZ" in os.environ
    for steps in FIELDS if everything else NAMING[:2]:
        for value in VALUES if everything else TYPES:
            trees.write(dump__yaml=block([changed(sample, steps, value), *others, *rest]))
            trees.run("place", "--nodes", "dump.yaml", "--pods", "dump.yaml", "web.yaml", "--upgrade", "each")


@samples("pools")
def test_node_pools(trees: Trees, sample: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """One broken declaration among those of node pools."""
    trees.write(web__yaml=block(SAMPLES["manifests"][:2]))
    trees.write(a__yaml=block([*all_changed(sample), *others]))
    trees.run("place", "--nodes", "a.yaml", "web.yaml")
    trees.run("check", "--nodes", "a.yaml", "web.yaml")


@samples("policies")
def test_policies(trees: Trees, sample: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """Broken policies, their bindings, parameters and namespaces, in files that a configuration names."""
    trees.write(__afflint__yaml=CONFIGURATION, web__yaml=block(SAMPLES["manifests"][:2]))
    broken = block([*all_changed(sample), *others])
    trees.write(policies__yaml=broken, context__yaml=broken)
    trees.run("check", ".")
    trees.run("report", ".")


@samples("gitops")
def test_what_is_rendered(trees: Trees, sample: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """Broken objects of Argo CD and Flux, generators of kustomize, and helmfiles. Nothing of them can be built."""
    broken = all_changed(sample, *FIELDS, ("releases",), ("environments",), ("bases",), ("values",))
    trees.write(a__yaml=block([*broken, *others]), b__json=in_list(broken), helmfile__yaml=block(broken))
    trees.run("check", "--render", ".")


@pytest.mark.parametrize("value", VALUES, ids=[str(number) for number, _ in enumerate(VALUES)])
def test_a_field_has_its_type_or_is_absent(value: Any) -> None:
    readers = (api_version_of, group_of, kind_of, name_of, namespace_of)
    for data in (value, {"apiVersion": value, "kind": value, "metadata": value}, {"metadata": {"name": value, "namespace": value}}):
        assert all(type(read(data)) is str for read in readers)
        assert type(metadata_of(data)) is dict
    assert all(type(each) is str for each in annotations_of({"metadata": {"annotations": {"a": value}}}).values())
    assert type(items_of({"items": value})) is list


COMPARED = re.compile(r"rendering/(kustomize_.*|roots)|cli/place")
"""Modules that only compare the kind with a text."""
READERS = {
    "yaml.object_fields": "reads the fields",
    "config.loader": "a configuration, which its schema has validated",
    "manifests.catalogue": "data that ships with the package",
    "charts.catalogue": "data that ships with the package",
    "manifests.reader": "distinguishes a kind of another type from an absent one",
    "kube.kinds": "distinguishes a kind of another type from an absent one",
}


def test_the_kind_of_an_object_is_read_in_one_place() -> None:
    """``data["kind"]`` and ``data.get("kind")`` have any type, so that they cannot be looked up in a map."""
    root = Path(package.__file__).parent
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in sorted(root.rglob("*.py"))
        if ".".join(path.relative_to(root).with_suffix("").parts) not in READERS
        and not COMPARED.fullmatch(path.relative_to(root).with_suffix("").as_posix())
        and FIELD.search(path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _reads_kind(node)
    ]
    assert found == []


FIELD = re.compile(r"""[(\[]"(?:kind|apiVersion)"[,)\]]""")


def _reads_kind(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        key: ast.AST = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key = node.args[0]
    else:
        return False
    return isinstance(key, ast.Constant) and key.value in ("kind", "apiVersion")
