"""Inputs whose size is a parameter, one for each engine of afflint: every part of an input grows with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.clusters import MANIFESTS, NODES
from bench.constraints import HOSTNAME, ZONE, Data
from bench.workloads import File
from bench.yaml_text import yaml_text

POLICIES = "policies.yaml"
TEMPLATE = "template.txt"
HELMFILE = "helmfile.yaml"
POOL = {"node.example.com/pool": "general"}
"""The label of all nodes."""
_ZONES = 3
_CLASS = "local"


def deployments(size: int) -> Iterator[File]:
    """Yield Deployments, ten in each file."""
    yield from _files([_deployment(number) for number in range(size)])


def cluster(size: int) -> Iterator[File]:
    """Yield nodes in three zones, and as many Deployments, whose replicas are spread over zones."""
    yield _nodes(size)
    yield from _files([_deployment(number, spread=True) for number in range(size)])


def volumes(size: int) -> Iterator[File]:
    """Yield nodes, and as many Deployments, each with a claim; the volumes can be used in one zone each."""
    yield from _with_volumes(size, lambda number: (ZONE, f"zone-{number % _ZONES}"))


def local_volumes(size: int) -> Iterator[File]:
    """Yield the same with volumes that only one node can use."""
    yield from _with_volumes(size, lambda number: (HOSTNAME, _node_name(number)))


def _with_volumes(size: int, reach: Any) -> Iterator[File]:
    yield _nodes(size)
    objects: list[Data] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": _CLASS},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    ]
    for number in range(size):
        key, value = reach(number)
        expression = {"key": key, "operator": "In", "values": [value]}
        common = {"storageClassName": _CLASS, "accessModes": ["ReadWriteOnce"]}
        objects += [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"volume-{number:05}"},
                "spec": {
                    **common,
                    "capacity": {"storage": "10Gi"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
                },
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": f"data-{number:05}", "namespace": "shop"},
                "spec": {**common, "resources": {"requests": {"storage": "5Gi"}}},
            },
            _deployment(number, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number:05}"}}]),
        ]
    yield from _files(objects)


def priorities(size: int) -> Iterator[File]:
    """Yield full nodes, and Deployments that run on them; as many of a higher priority preempt some of them."""
    yield _nodes(size)
    running = [_running_pod(number, size) for number in range(4 * size)]
    important = [_deployment(number, cpu="2", priorityClassName="high") for number in range(size)]
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}]
    yield from _files([*classes, *important])
    yield File("pods.yaml", "---\n".join(map(yaml_text, running)))


def policies(size: int) -> Iterator[File]:
    """Yield Deployments, and a configuration with a policy in CEL."""
    yield from deployments(size)
    expression = "object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest')) && object.metadata.name != ''"
    params = {"expression": expression}
    yield File(POLICIES, yaml_text({"policies": [{"name": "measured", "check": "expression", "params": params}]}))


def template(size: int) -> Iterator[File]:
    """Yield a Go template with conditions, loops and functions."""
    block = (
        "{{ if .Values.on }}name: {{ .Values.name | default `web` | quote }}{{ else }}none: true{{ end }}\n"
        "{{- range $i, $each := .Values.names }}\n- {{ $each | upper }}{{ end }}\n"
        "{{- $copy := .Values.name }}\nlabel: {{ $copy }}\n"
    )
    yield File(TEMPLATE, size * block)


def variables(size: int) -> Iterator[File]:
    """Yield text with variables of Flux, each with another default."""
    yield File(TEMPLATE, "".join(f"a{number}: ${{zone}} ${{other:=x{number}}} ${{zone/a/b}}\n" for number in range(size)))


def application_sets(size: int) -> Iterator[File]:
    """Yield ApplicationSets with a hundred elements each, and the folders that they name."""
    yield File(".git/HEAD", "ref: refs/heads/main\n")
    for start in range(0, size, 100):
        elements = [{"name": f"app-{number:05}", "stage": "live"} for number in range(start, min(start + 100, size))]
        yield File(f"sets/set-{start:05}.yaml", yaml_text(_application_set(f"set-{start:05}", elements)))
        for each in elements:
            yield File(f"apps/{each['name']}/web.yaml", yaml_text(_deployment(start)))


def _application_set(name: str, elements: list[Data]) -> Data:
    source = {"repoURL": "https://git.example.com/shop.git", "path": "apps/{{ .name }}"}
    destination = {"namespace": "{{ .stage }}", "server": "https://kubernetes.default.svc"}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "goTemplate": True,
            "generators": [{"list": {"elements": elements}}],
            "template": {
                "metadata": {"name": "{{ .name }}"},
                "spec": {"project": "default", "destination": destination, "source": source},
            },
        },
    }


def helmfile(size: int) -> Iterator[File]:
    """Yield a helmfile with as many releases of a chart that is not in the repository."""
    yield File(".git/HEAD", "ref: refs/heads/main\n")
    releases = (
        f"  - name: web-{number}\n    namespace: {{{{ .Environment.Name }}}}\n    chart: ./charts/web\n"
        f'    values: [{{number: {{{{ .Values | get "a.b" {number} }}}}}}]\n'
        for number in range(size)
    )
    yield File(HELMFILE, "releases:\n" + "".join(releases))


# Parts of inputs.


def _nodes(size: int) -> File:
    listed = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": _node_name(number), "labels": {HOSTNAME: _node_name(number), ZONE: f"zone-{number % _ZONES}", **POOL}},
            "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
        }
        for number in range(size)
    ]
    return File(NODES, "---\n".join(map(yaml_text, listed)))


def _node_name(number: int) -> str:
    return f"node-{number:05}"


def _files(objects: list[Data]) -> Iterator[File]:
    for start in range(0, len(objects), 10):
        yield File(f"{MANIFESTS}/part-{start:06}.yaml", "---\n".join(map(yaml_text, objects[start : start + 10])))


def _deployment(number: int, *, cpu: str = "100m", spread: bool = False, **pod: Any) -> Data:
    own = {"app": f"app-{number:05}"}
    if spread:
        constraint = {
            "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": own},
        }  # fmt: skip
        pod = {**pod, "topologySpreadConstraints": [constraint]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": own["app"], "namespace": "shop"},
        "spec": {
            "replicas": 2 if spread else 1,
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": own}, "spec": {**pod, "containers": [_container(cpu)]}},
        },
    }


def _container(cpu: str) -> Data:
    return {
        "name": "app",
        "image": "registry.example.com/app:1.0.0",
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
    }


def _running_pod(number: int, nodes: int) -> Data:
    """Return a pod of a ReplicaSet that runs on a node."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"old-{number:05}-5b4f", "uid": f"uid-{number}", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"old-{number:05}-5b4f-x",
            "namespace": "shop",
            "labels": {"app": f"old-{number:05}", "pod-template-hash": "5b4f"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": _node_name(number % nodes), "priority": 0, "containers": [_container("2")]},
        "status": {"phase": "Running"},
    }
