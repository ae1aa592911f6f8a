"""How much of what is rendered is found again in its source, and that it is the right place: on trees of our own, and on real ones.

``python tests/rendering/test_mapping.py`` prints the shares, repository by repository (with ``tests`` on PYTHONPATH).
"""

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from afflint.rendering.boundary import Boundary
from afflint.rendering.helm import Charts
from afflint.rendering.programs import RenderError
from afflint.rendering.roots import CHART, RootKustomizations, chart_folders, kustomization_folders
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
    "base/all.yaml": "---\n# first\n---\n"
    + WORKLOAD.format(kind="StatefulSet", name="db")
    + "---\n"
    + WORKLOAD.format(kind="Deployment", name="queue"),
    "base/list.yaml": "kind: List\napiVersion: v1\nitems:\n"
    + "".join(
        ("- " if not number else "  ") + line + "\n"
        for number, line in enumerate(WORKLOAD.format(kind="Deployment", name="listed").splitlines())
    ),
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


CHART_FILES = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "values.yaml": """\
replicas: 2
team: shop
nodeSelector: {disktype: ssd, arch: amd64}
tolerations:
  - key: dedicated
    operator: Equal
    value: web
""",
    "templates/_helpers.tpl": """\
{{- define "web.name" -}}
{{ .Release.Name }}-{{ .Chart.Name }}
{{- end }}
{{/*
Labels: of all
*/}}
{{- define "web.labels" -}}
app: {{ include "web.name" . }}
{{- if .Values.team }}
team: {{ .Values.team | quote }}
{{- end }}
{{- end }}
""",
    "templates/web.yaml": """\
{{- $name := include "web.name" . }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "web.labels" . | nindent 4 }}
  annotations:
    checksum/config: {{ include "web.labels" . | sha256sum }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      {{- include "web.labels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "web.labels" . | nindent 8 }}
        tier: "front"
    spec:
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if .Values.tolerations }}
      tolerations: {{ toYaml .Values.tolerations | nindent 8 }}
        - {key: gpu, operator: Exists}
      {{- end }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 10
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels:
                    {{- include "web.labels" . | nindent 20 }}
      containers:
        - name: web
          image: "nginx:1.27"
          command: ["sh", "-c",
            "exec nginx"]
          args:
            - |
              {{- .Values.team | nindent 14 }}
              tier: no line of YAML
""",
}


def added(prove: Callable[[], Counter[str]], shares: Counter[str]) -> bool:
    """Adds what a proof gives; False where there is nothing to prove, for it does not render."""
    try:
        shares += prove()
    except RenderError:
        return False
    return True


def kustomizations(top: Path) -> tuple[Counter[str], int, int]:
    """The shares of all roots below a folder; how many rendered, of how many."""
    program = [tool("kustomize"), "build"]
    files = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
    roots = RootKustomizations(os.path.dirname).roots(kustomization_folders(files))
    shares: Counter[str] = Counter()
    rendered = sum(added(partial(prove_kustomization, program, root, top), shares) for root in roots)
    return shares, rendered, len(roots)


def charts(top: Path, blanked: int = 6) -> tuple[Counter[str], int, int]:
    """The same for charts; of each, ``blanked`` lines are proved."""
    program = [tool("helm"), "template"]
    files = [os.path.join(folder, CHART) for folder, _, names in os.walk(top) if CHART in names]
    known = Charts([os.path.dirname(each) for each in files], Boundary(files))
    shares: Counter[str] = Counter()
    rendered = sum(added(partial(prove_chart, program, folder, known, blanked), shares) for folder in chart_folders(files))
    return shares, rendered, len(chart_folders(files))


def test_a_kustomization_with_all_that_changes_fields(tmp_path: Path) -> None:
    write(TREE, tmp_path)
    shares, rendered, roots = kustomizations(tmp_path)
    assert (rendered, roots) == (1, 1)
    assert shares["placed"] == shares["leaves"] > 80
    assert shares["right"] == shares["placed"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_chart_with_helpers_blocks_and_a_chart_in_it(tmp_path: Path, line_end: str) -> None:
    for folder in ("chart", "chart/charts/sub"):
        write({name: text.replace("\n", line_end) for name, text in CHART_FILES.items()}, tmp_path / folder)
    shares, rendered, roots = charts(tmp_path, blanked=50)
    assert (rendered, roots) == (1, 1)
    assert shares["placed"] == shares["leaves"] > 30
    assert shares["right"] == shares["proved"] > 20


REPOSITORIES = (
    "NVIDIA+gpu-operator",
    "argoproj+argo-cd",
    "kubernetes-sigs+scheduler-plugins",
    "metallb+metallb",
    "redhat-cop+gitops-catalog",
    "rook+rook",
)
# It has 329 kustomizations, and few of them render workloads.
LONG = "redhat-cop+gitops-catalog"


def enough(shares: Counter[str], proved: str, bar: float) -> None:
    """Enough leaves have a position, and each position that was proved was right."""
    assert shares["placed"] >= bar * shares["leaves"] > 0
    assert shares["right"] == shares[proved] > 0


def test_the_kustomizations_of_real_repositories() -> None:
    found = (kustomizations(shared("corpus", "whole", name))[0] for name in REPOSITORIES if name != LONG)
    enough(sum(found, Counter()), "placed", 0.99)


def test_the_charts_of_real_repositories() -> None:
    found = (charts(shared("corpus", "whole", name), blanked=2)[0] for name in REPOSITORIES)
    enough(sum(found, Counter()), "proved", 0.93)
