"""How much of what is rendered is found again in its source, and that it is the right place: on trees of our own, and on real ones."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from afflint.rendering.helm import Charts
from afflint.rendering.programs import RenderError
from afflint.rendering.roots import CHART, Kustomizations, chart_folders, kustomization_folders
from rendering.proving import prove_chart, prove_kustomization
from rendering.real_tools import tool
from rendering.rendered_trees import write
from shared_material import shared

WORKLOAD = """\
apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
  labels: {{app: {name}}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: {name}}}
  template:
    metadata:
      labels: {{app: {name}, tier: front}}
    spec:
      priorityClassName: high
      nodeSelector: {{disktype: ssd, "arch": 'amd64'}}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {{key: zone, operator: In, values: [a, b]}}
                  - key: pool
                    operator: NotIn
                    values:
                      - spot
      tolerations:
        - {{key: dedicated, operator: Equal, value: web, effect: NoSchedule}}
      containers:
        - {{name: web, image: "nginx:1.27"}}
"""
TREE = {
    "base/web.yaml": WORKLOAD.format(kind="Deployment", name="web"),
    "base/all.yaml": "---\n# first\n---\n" + WORKLOAD.format(kind="StatefulSet", name="db") + "---\n" + WORKLOAD.format(kind="Deployment", name="queue"),
    "base/list.yaml": "kind: List\napiVersion: v1\nitems:\n"
    + "".join(("- " if not number else "  ") + line + "\n" for number, line in enumerate(WORKLOAD.format(kind="Deployment", name="listed").splitlines())),
    "base/kustomization.yaml": "resources: [web.yaml, all.yaml, list.yaml]\ncommonLabels: {part-of: shop}\n",
    "component/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {kind: StatefulSet}
    patch: |
      - op: add
        path: /spec/template/spec/tolerations/-
        value: {key: disk, operator: Exists}
      - op: replace
        path: /spec/template/spec/nodeSelector/disktype
        value: hdd
""",
    "prod/kustomization.yaml": """\
resources: [../base]
components: [../component]
namePrefix: prod-
nameSuffix: -v1
namespace: shop
labels:
  - pairs: {team: blue}
    includeSelectors: true
  - pairs: {stage: prod}
replicas:
  - {name: web, count: 5}
patches:
  - path: patches/spread.yaml
  - target: {kind: Deployment, name: queue}
    path: patches/operations.json
patchesStrategicMerge:
  - |-
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: queue
    spec:
      template:
        spec:
          schedulerName: second
""",
    "prod/patches/spread.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
""",
    "prod/patches/operations.json": """\
[
  {"op": "add", "path": "/spec/template/spec/tolerations/0", "value": {"key": "first", "operator": "Exists"}},
  {"op": "add", "path": "/spec/template/metadata/labels/a~1b", "value": "c"},
  {"op": "replace", "path": "/metadata/name", "value": "renamed"}
]
""",
}


def kustomizations(top: Path) -> tuple[Counter[str], int, int]:
    """The shares of all roots below a folder; how many rendered, of how many."""
    program = [tool("kustomize"), "build"]
    roots = Kustomizations().roots(kustomization_folders([os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]))
    shares: Counter[str] = Counter()
    rendered = 0
    for root in roots:
        try:
            shares += prove_kustomization(program, root, top)
            rendered += 1
        except RenderError:
            continue
    return shares, rendered, len(roots)


def charts(top: Path) -> tuple[Counter[str], int, int]:
    """The same of charts."""
    program = [tool("helm"), "template"]
    found = [os.path.join(folder, CHART) for folder, _, names in os.walk(top) if CHART in names]
    known = Charts([os.path.dirname(each) for each in found])
    shares: Counter[str] = Counter()
    rendered = 0
    for folder in chart_folders(found):
        try:
            shares += prove_chart(program, folder, known, blanked=6)
            rendered += 1
        except RenderError:
            continue
    return shares, rendered, len(chart_folders(found))


def test_a_kustomization_with_all_that_changes_fields(tmp_path: Path) -> None:
    write(TREE, tmp_path)
    shares, rendered, roots = kustomizations(tmp_path)
    assert (rendered, roots) == (1, 1)
    assert shares["placed"] == shares["leaves"] > 80
    assert shares["right"] == shares["placed"]
