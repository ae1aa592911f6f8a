"""`afflint place --render`: what kustomizations and charts render to is placed, and workloads are named by their source."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import exit_code
from rendering.real_tools import on_path
from rendering.rendered_trees import write

WEB = """\
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
      containers: [{name: web, image: "nginx:1.27", ports: [{containerPort: 80, hostPort: 80}]}]
"""
OVERLAYS = {
    "nodes.yaml": "nodes: [{name: a}, {name: b}]\n",
    "base/web.yaml": WEB,
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "overlays/dev/kustomization.yaml": "resources: [../../base]\nnamespace: dev\n",
    "overlays/prod/kustomization.yaml": "resources: [../../base]\nnamespace: prod\n",
}
CHART = {
    ".git/HEAD": "",
    "nodes.yaml": "nodes: [{name: a}, {name: b}]\n",
    "chart/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "chart/values.yaml": "replicas: 1\n",
    "chart/templates/web.yaml": WEB.replace("name: web\nspec", "name: {{ .Release.Name }}\nspec")
    .replace("replicas: 2", "replicas: {{ .Values.replicas }}")
    .replace(", ports: [{containerPort: 80, hostPort: 80}]", ""),
}
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: shop}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux}}}
  values:
    replicas: 1
"""

Placing = Callable[..., Any]


@pytest.fixture
def placing(project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Placing:  # noqa: ARG001
    """Runs `afflint place` and returns what it prints; the plan with ``--format json``."""
    on_path(monkeypatch, "kustomize", "helm")

    def run(*words: str, code: int) -> Any:
        ended = exit_code(monkeypatch, "place", *words)
        sys.stdout.flush()
        out, err = capfd.readouterr()
        assert ended == code, out + err
        return json.loads(out) if "json" in words else out + err

    return run


def workloads(plan: Any) -> list[tuple[str, str, int, int]]:
    """The key, the file, the line and the number of scheduled replicas of each workload."""
    return [
        (each["key"], each["file"], each["line"], sum(replica["node"] is not None for replica in each["replicas"]))
        for each in plan["workloads"]
    ]


def test_an_overlay_is_placed_as_rendered(placing: Placing) -> None:
    write(OVERLAYS)
    plan = placing("overlays/prod", "--nodes", "nodes.yaml", "--render", "--format", "json", code=0)
    assert workloads(plan) == [("Deployment prod/web", "base/web.yaml", 4, 2)]
    assert plan["coverage"] == {
        "seen": [{"kind": "kustomization", "name": "overlays/prod", "file": "overlays/prod/kustomization.yaml"}],
        "not_seen": [],
    }


def test_overlays_of_one_base_are_not_placed_on_the_same_nodes(placing: Placing) -> None:
    write(OVERLAYS)
    assert "the manifests are for 2 clusters" in placing("--render", code=2)
    assert "`overlays/dev` and `overlays/prod`" in placing("--render", code=2)


def test_releases_of_one_chart_are_placed_together(placing: Placing) -> None:
    write({**CHART, **{f"{name}.yaml": RELEASE.replace("NAME", name) for name in ("one", "two")}})
    plan = placing("--render", "--format", "json", code=0)
    template = "chart/templates/web.yaml"
    assert workloads(plan) == [("Deployment shop/one", template, 4, 1), ("Deployment shop/two", template, 4, 1)]


def test_a_release_in_two_overlays_is_for_two_clusters(placing: Placing) -> None:
    write({**CHART, "base/release.yaml": RELEASE.replace("NAME", "one"), "base/kustomization.yaml": "resources: [release.yaml]\n"})
    for name in ("dev", "prod"):
        write({f"{name}/kustomization.yaml": f"resources: [../base]\nnamespace: {name}\n"})
    assert "the manifests are for 2 clusters" in placing("--render", code=2)
    plan = placing("prod", "--nodes", "nodes.yaml", "--render", "--format", "json", code=0)
    assert workloads(plan) == [("Deployment prod/one", "chart/templates/web.yaml", 4, 1)]


def test_what_the_api_server_would_reject_is_named_where_it_is_written(placing: Placing) -> None:
    write({**CHART, "one.yaml": RELEASE.replace("NAME", "one").replace("replicas: 1", "replicas: many")})
    shown = placing("--render", code=1)
    assert "`replicas` must be an integer" in shown
    assert "(one.yaml:7)" in shown
    assert "one.yaml:7:15: `replicas` must be an integer" in shown


def test_a_suppression_in_the_source_accepts_the_workload(placing: Placing) -> None:
    ignored = "replicas: many  # afflint: ignore[wrong-type] -- filled in later"
    write({**CHART, "one.yaml": RELEASE.replace("NAME", "one").replace("replicas: 1", ignored)})
    assert "API server would reject" not in placing("--render", code=0)


def test_what_was_not_rendered_is_a_note(placing: Placing) -> None:
    write({**OVERLAYS, "broken/kustomization.yaml": "resources: [absent.yaml]\n"})
    plan = placing("broken", "overlays/prod", "--nodes", "nodes.yaml", "--render", "--format", "json", code=0)
    assert "rendered 1 of 2 kustomizations" in plan["notes"]
    assert [each["name"] for each in plan["coverage"]["not_seen"]] == ["broken"]
    plan = placing("overlays/prod", "nodes.yaml", "--format", "json", code=0)
    assert "not rendered: 1 kustomization; `--render` places what they create" in plan["notes"]


def test_a_configuration_that_is_named_may_render(placing: Placing) -> None:
    write({**OVERLAYS, ".afflint.yaml": "render: true\nnodes: [nodes.yaml]\n"})
    plan = placing("overlays/prod", "--config", ".afflint.yaml", "--format", "json", code=0)
    assert [each[0] for each in workloads(plan)] == ["Deployment prod/web"]
    assert "`render` needs --render on the command line" in placing("overlays/prod", code=0)
