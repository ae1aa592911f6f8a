"""The folders of files that are measured: generated from a fixed seed, kept, and regenerated when the generating code changes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

from bench.bystanders import config_map, custom_resource_definitions, helm_values
from bench.clusters import MANIFESTS, NODES, cluster_files
from bench.policy_cases import policy_files
from bench.workloads import File, fleet_file

SEED = 20_240
FILES = 10_000
"""The size of the fleet at which the limits apply."""

_CHANGES = 10
"""How many workloads the second commit of a history changes."""
_REPLICAS = re.compile(r"^  replicas: \d+$", re.MULTILINE)
_UNSAFE = re.compile("[^a-z]+")
_MAKERS = (
    "bystanders.py", "clusters.py", "constraints.py", "growing_inputs.py", "policy_cases.py", "trees.py", "workloads.py", "yaml_text.py",
)  # fmt: skip
# Shares of the mixed tree in percent; the fleet has the other ten.
_MIXTURE: tuple[tuple[str, int, Callable[[int, int], str]], ...] = (
    ("crds", 70, custom_resource_definitions),
    ("configmaps", 10, config_map),
    ("values", 10, helm_values),
)
_FLEET_SHARE = 10

_SINGLE_NAME = "web.yaml"
_SINGLE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels:
    app: web
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              labelSelector:
                matchLabels:
                  app: web
              topologyKey: topology.kubernetes.io/zone
      nodeSelector:
        kubernetes.io/os: linux
      tolerations:
      - key: dedicated
        operator: Equal
        value: web
        effect: NoSchedule
      containers:
      - name: web
        image: registry.example.com/web:1.4.2
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: LOG_LEVEL
          value: info
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
        resources:
          requests:
            cpu: 250m
            memory: 128Mi
"""


class Tree(NamedTuple):
    """A folder that is measured, with its numbers."""

    folder: str
    files: int
    size: int


def fleet(data: str, files: int) -> Tree:
    """Return a tree of only workloads and the objects that select them."""
    return _tree(data, f"fleet-{files}", (fleet_file(index, SEED) for index in range(files)))


def mixed(data: str, files: int) -> Tree:
    """Return a tree with a fifth of the fleet, and nine times as many bytes of files that afflint ignores."""
    return _tree(data, f"mixed-{files}", _mixture(files // 5))


def single(data: str) -> Tree:
    """Return a tree of one Deployment of 1 KB with typical constraints."""
    return _tree(data, "single", iter([File(_SINGLE_NAME, _SINGLE)]))


def cluster(data: str, constraint: str, workloads: int, replicas: int, nodes: int) -> Tree:
    """Return a tree of nodes, and Deployments that all have one constraint."""
    name = f"{constraint}-{workloads}x{replicas}-on-{nodes}"
    return _tree(data, name, cluster_files(constraint, workloads, replicas, nodes))


def history(data: str, files: int) -> Tree:
    """Return a repository with the fleet in two commits: the second changes the replicas of ten Deployments."""
    tree = _tree(data, f"history-{files}", (fleet_file(index, SEED) for index in range(files)))
    return _with_two_commits(tree, lambda: _deployments(tree.folder)[:_CHANGES])


def grown(data: str, engine: str, files: Callable[[int], Iterator[File]], size: int) -> Tree:
    """Return the tree of an input of some size for an engine."""
    return _tree(data, f"input-{_UNSAFE.sub('-', engine.lower())}-{size}", files(size))


def grown_history(data: str, engine: str, files: Callable[[int], Iterator[File]], size: int) -> Tree:
    """Return a repository with an input of some size in two commits: the second changes the replicas in a tenth of the manifests."""
    tree = grown(data, engine, files, size)
    folder = os.path.join(tree.folder, MANIFESTS)
    return _with_two_commits(tree, lambda: [os.path.join(folder, name) for name in sorted(os.listdir(folder))[::10]])


def _with_two_commits(tree: Tree, changed: Callable[[], list[str]]) -> Tree:
    if not os.path.isdir(os.path.join(tree.folder, ".git")):
        paths = changed()
        _git(tree.folder, "init", "--quiet")
        _commit(tree.folder, "All files")
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(_REPLICAS.sub("  replicas: 7", text, count=1))
        _commit(tree.folder, "More replicas")
    return tree


def _deployments(folder: str) -> list[str]:
    """Return the Deployments of a fleet, in the order of their paths."""
    paths = (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return sorted(path for path in paths if path.endswith("-deployment.yaml"))


def _commit(folder: str, subject: str) -> None:
    _git(folder, "add", "--all")
    _git(folder, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "--message", subject)


def _git(folder: str, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, stdout=subprocess.DEVNULL)


def policies(data: str, deployments: int) -> Tree:
    """Return a tree of Deployments, policies, and a configuration for each of these."""
    return _tree(data, f"policies-{deployments}", policy_files(deployments))


def parts_of_cluster(tree: Tree) -> tuple[str, str]:
    """Return the folder of manifests and the list of nodes of a tree from ``cluster``."""
    return os.path.join(tree.folder, MANIFESTS), os.path.join(tree.folder, NODES)


def path_of_single(tree: Tree) -> str:
    """Return the path of the file of a tree from ``single``."""
    return os.path.join(tree.folder, _SINGLE_NAME)


def _mixture(fleet_files: int) -> Iterator[File]:
    size = 0
    for index in range(fleet_files):
        file = fleet_file(index, SEED)
        size += len(file.text)
        yield File(f"manifests/{file.path}", file.text)
    for folder, share, text_of in _MIXTURE:
        left = size * share // _FLEET_SHARE
        for index in count():
            text = text_of(index, SEED)
            yield File(f"{folder}/group-{index // 20}/{folder[:-1]}-{index}.yaml", text)
            left -= len(text)
            if left <= 0:
                break


def _tree(data: str, name: str, files: Iterator[File]) -> Tree:
    """Return the tree of this name and version of the generating code; it is generated unless a complete one exists."""
    folder = os.path.join(data, f"{name}-{_fingerprint()}")
    if not os.path.isdir(folder):
        unfinished = f"{folder}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        _write(unfinished, files)
        os.rename(unfinished, folder)
    sizes = [os.path.getsize(os.path.join(parent, each)) for parent, _, names in os.walk(folder) for each in names if ".git" not in parent]
    return Tree(folder, len(sizes), sum(sizes))


def _write(folder: str, files: Iterator[File]) -> None:
    created: set[str] = set()
    for file in files:
        path = os.path.join(folder, file.path)
        parent = os.path.dirname(path)
        if parent not in created:
            os.makedirs(parent, exist_ok=True)
            created.add(parent)
        with open(path, "x", encoding="utf-8", newline="\n") as target:
            target.write(file.text)


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for name in _MAKERS:
        with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:12]
