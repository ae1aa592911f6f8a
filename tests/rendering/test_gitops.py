"""Applications of Argo CD and Kustomizations of Flux say what is rendered, in which namespace, with which values."""

from __future__ import annotations

import pytest

from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
        zone: ${zone:=a}
        disktype: ssd
      containers: [{name: web, image: "nginx:1.27"}]
"""
TEMPLATE = DEPLOYMENT.replace("${zone:=a}", "{{ .Values.zone }}").replace("replicas: 2", "replicas: {{ .Values.replicas }}")
CHART = {
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/values.yaml": "zone: a\nreplicas: 1\n",
    "charts/web/templates/web.yaml": DEPLOYMENT.replace("${zone:=a}", "{{ .Values.zone }}").replace(
        "replicas: 2", "replicas: {{ .Values.replicas }}"
    ),
    ".git/HEAD": "ref: refs/heads/main\n",
}


def application(source: str, name: str = "shop") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}}}
spec:
  destination: {{namespace: shop, server: https://kubernetes.default.svc}}
  source: {source}
"""


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize", "helm")


def test_an_application_gives_a_chart_its_values(checking: Checking) -> None:
    one = application("{path: charts/web, helm: {valueFiles: [../../live.yaml], parameters: [{name: replicas, value: '-2'}]}}", "live")
    other = application("{path: charts/web, helm: {valuesObject: {zone: b}}}", "test")
    write({**CHART, "apps/live.yaml": one, "apps/test.yaml": other, "live.yaml": "zone: 1\n"})
    report = checking.report()
    assert report["summary"]["rendered"]["charts"] == 2
    assert [(each["file"], each["line"], each["rule"], each["rendered_in"]) for each in report["findings"]] == [
        ("charts/web/templates/web.yaml", 6, "invalid-replicas", ["charts/web (Application live)"]),
        ("live.yaml", 1, "wrong-type", ["charts/web (Application live)"]),
    ]


def test_an_application_names_a_kustomization_that_another_one_uses(checking: Checking) -> None:
    write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "base/web.yaml": DEPLOYMENT.replace("ssd", "true"),
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "overlay/kustomization.yaml": "resources: [../base]\n",
            "apps/shop.yaml": application("{path: base, kustomize: {namePrefix: shop-}}"),
        }
    )
    (finding,) = checking.report()["findings"]
    assert finding["rendered_in"] == ["base (Application shop)", "overlay"]


def test_the_namespace_of_an_application_counts(checking: Checking) -> None:
    """A selector in another namespace does not reach it."""
    affinity = (
        "{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]}}"
    )
    web = DEPLOYMENT.replace("      containers", f"      affinity: {affinity}\n      containers")
    database = DEPLOYMENT.replace("web", "db").replace("name: db\n", "name: db\n  namespace: data\n", 1)
    write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "web/all.yaml": f"{web}---\n{database}",
            "web/kustomization.yaml": "resources: [all.yaml]\n",
        }
    )
    assert checking.told() == []
    write({"apps/shop.yaml": application("{path: web}")})
    assert [each.split()[1] for each in checking.told()] == ["namespace-misses-target"]


def test_flux_puts_in_variables_patches_and_a_namespace(checking: Checking) -> None:
    write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "web/web.yaml": DEPLOYMENT,
            "web/kustomization.yaml": "resources: [web.yaml]\n",
            "clusters/live/web.yaml": """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web}
spec:
  path: ./web
  targetNamespace: shop
  postBuild: {substitute: {zone: "1"}}
  patches:
    - target: {kind: Deployment}
      patch: |
        - {op: replace, path: /spec/replicas, value: 3}
""",
        }
    )
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["column"], finding["rule"]) == ("web/web.yaml", 12, 15, "wrong-type")
    assert finding["rendered_in"] == ["web (Kustomization web)"]


def test_what_lies_elsewhere_is_no_root(checking: Checking) -> None:
    write({"apps/far.yaml": application("{path: ../../etc}"), "apps/none.yaml": application("{path: nowhere}")})
    assert "Neither a kustomization nor a chart was found to render." in checking("--render", code=0)
