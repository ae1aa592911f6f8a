"""The files that make up most of real repositories: CustomResourceDefinitions, ConfigMaps with long texts, values files of Helm charts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from random import Random

from bench.constraints import Data
from bench.yaml_text import yaml_text

_NOUNS = ("cluster", "backup", "policy", "gateway", "route", "volume", "tenant", "queue", "mirror", "probe", "secret", "quota", "pool")
_WORDS = (
    "the", "number", "of", "replicas", "that", "should", "be", "kept", "when", "a", "node", "is", "lost", "or", "drained", "defaults", "to",
    "value", "which", "selects", "pods", "in", "same", "namespace", "if", "not", "set", "operator", "may", "choose", "another", "and",
    "this", "field", "cannot", "updated", "after", "creation", "see", "documentation", "for", "details", "must", "match",
    "labels", "template",
)  # fmt: skip
_PLACEMENT = ("affinity", "tolerations", "nodeSelector", "topologySpreadConstraints", "containers", "kind", "metadata", "template")


class _Chance:
    """Random choices that are the same for a seed on every version of Python, because only ``random()`` guarantees that."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def of(self, choices: tuple[str, ...]) -> str:
        return choices[self.below(len(choices))]

    def sentence(self, words: int) -> str:
        return " ".join(self.of(_WORDS) for _ in range(words)).capitalize() + "."

    def paragraph(self, words: int) -> str:
        """Return a description like those of generators: long ones have several lines."""
        return textwrap.fill(self.sentence(words), 80) + ("\n" if words > 12 else "")


def custom_resource_definitions(index: int, seed: int) -> str:
    """Return a file with one CustomResourceDefinition, every fourth with three, each with a schema of hundreds of fields."""
    chance = _Chance(f"{seed}/crd/{index}")
    return "".join("---\n" + yaml_text(_definition(chance, 3 * index + number)) for number in range(3 if index % 4 == 0 else 1))


def _definition(chance: _Chance, number: int) -> Data:
    noun = chance.of(_NOUNS) + chance.of(_NOUNS)
    group = f"g{number}.example.com"
    spec = {"description": chance.paragraph(20), "type": "object", "properties": _properties(chance, 0)}
    top = {
        "apiVersion": {"description": chance.paragraph(30), "type": "string"},
        "kind": {"description": chance.paragraph(30), "type": "string"},
        "metadata": {"type": "object"},
        "spec": spec,
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    columns = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    schema = {"openAPIV3Schema": {"description": chance.sentence(12), "type": "object", "properties": top}}
    version = {"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": columns, "schema": schema}
    names = {"kind": noun.capitalize(), "listKind": f"{noun.capitalize()}List", "plural": f"{noun}s", "singular": noun}
    metadata = {"name": f"{noun}s.{group}", "annotations": {"controller-gen.kubebuilder.io/version": "v0.16.1"}}
    body = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": body}


def _properties(chance: _Chance, depth: int) -> Data:
    """Return the fields of a schema, one of them about placement, as in operators that embed a pod template; fewer at greater depth."""
    names = [f"{chance.of(_NOUNS)}{chance.of(_NOUNS).capitalize()}{number}" for number in range(4 + chance.below(6))]
    return {name: _field(chance, depth) for name in sorted((*names, chance.of(_PLACEMENT)))}


def _field(chance: _Chance, depth: int) -> Data:
    described: Data = {"description": chance.paragraph(3 + chance.below(25))}
    sort = chance.below(10)
    if depth < 3 and sort < 3:
        return {**described, "type": "object", "properties": _properties(chance, depth + 1)}
    if depth < 3 and sort == 3:
        item = {"type": "object", "properties": _properties(chance, depth + 2), "required": ["name"]}
        return {**described, "type": "array", "items": item, "x-kubernetes-list-type": "atomic"}
    if sort < 7:
        return {**described, "type": "integer", "format": "int32", "minimum": 0, "default": chance.below(10)}
    return {**described, "type": "string", "enum": ["Always", "Never"]} if sort == 7 else {**described, "type": "string"}


def config_map(index: int, seed: int) -> str:
    """Return a ConfigMap of 4 to 60 KB: dashboards, scripts, and manifests as text."""
    chance = _Chance(f"{seed}/configmap/{index}")
    texts = (_dashboard, _script, _embedded_manifests)
    data = {f"file-{number}.txt": texts[(index + number) % 3](chance) for number in range(1 + chance.below(4))}
    metadata = {"name": f"config-{index}", "namespace": f"config-{index % 40}", "labels": {"app.kubernetes.io/name": "config"}}
    return yaml_text({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def _dashboard(chance: _Chance) -> str:
    panels = [
        f'  {{\n    "id": {number},\n    "title": "{chance.sentence(5)}",\n    "expr": "sum(rate(x{number}_total[5m])) by (pod)",\n'
        f'    "gridPos": {{"h": 8, "w": 12, "x": {chance.below(24)}, "y": {number * 8}}}\n  }}'
        for number in range(40 + chance.below(60))
    ]
    return '{"panels": [\n' + ",\n".join(panels) + "\n]}\n"


def _script(chance: _Chance) -> str:
    steps = [
        f"if ! step_{number} --quiet; then\n  echo '{chance.sentence(8)}' >&2\n  exit {chance.below(9)}\nfi\n# {chance.sentence(12)}\n"
        for number in range(40 + chance.below(80))
    ]
    return "#!/bin/sh\nset -eu\n\n" + "\n".join(steps)


def _embedded_manifests(chance: _Chance) -> str:
    return "".join(
        f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-{number}\n  labels:\n    note: {chance.of(_WORDS)}\n"
        f"spec:\n  replicas: {chance.below(9)}\n  # {chance.sentence(14)}\n"
        for number in range(20 + chance.below(60))
    )


def helm_values(index: int, seed: int) -> str:
    """Return a values file of 4 to 40 KB: commented settings, empty placement fields, and in every eighth file a ``kind`` of a workload."""
    chance = _Chance(f"{seed}/values/{index}")
    lines = [f"# Default values for chart-{index}."]
    for number in range(4 + chance.below(24)):
        lines += _component(chance, f"{chance.of(_NOUNS)}{number}", kind=index % 8 == 0 and number == 1)
    return "\n".join(lines) + "\n"


def _component(chance: _Chance, name: str, *, kind: bool) -> Iterator[str]:
    yield f"\n# -- {chance.sentence(12)}\n{name}:"
    if kind:
        yield "  # -- Deployment or DaemonSet\n  kind: Deployment"
    for number in range(6 + chance.below(20)):
        yield f"  # -- {chance.sentence(4 + chance.below(8))}" if number % 2 == 0 else ""
        yield f"  {chance.of(_NOUNS)}{number}: {chance.below(1000)}"
    yield f'  image:\n    repository: registry.example.com/{name}\n    tag: "{chance.below(9)}.{chance.below(40)}.0"'
    yield "  resources: {}\n  nodeSelector: {}\n  tolerations: []\n  affinity: {}"
