"""The unsafe fix of `unschedulable` and `too-few-domains`: the one smallest edit with which a plan shows that all replicas run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from command_line import Afflint

NODES = """\
nodes:
  - {name: one, labels: {topology.kubernetes.io/zone: a, disk: solid}, taints: ["dedicated=db:NoSchedule"]}
  - {name: two, labels: {topology.kubernetes.io/zone: b, disk: spinning}}
  - {name: three, labels: {topology.kubernetes.io/zone: b, disk: spinning}}
"""


def deployment(name: str = "web", replicas: int = 2, **spec: Any) -> str:
    """A Deployment in JSON, which is YAML as well. ``spec`` are the fields of its pod spec."""
    labels = {"app": name}
    pod = {"containers": [{"name": "web", "image": "web:1"}], **spec}
    whole = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"}, "spec": whole})


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.yaml").write_text(NODES, encoding="utf-8")
    return tmp_path


def fixed(afflint: Afflint, project: Path, manifest: str) -> str:
    (project / "web.yaml").write_text(manifest, encoding="utf-8")
    afflint("check", "--select", "unschedulable,too-few-domains", "--fix", "--unsafe-fixes", "--no-cache")
    return (project / "web.yaml").read_text(encoding="utf-8")


def test_the_smallest_edit_is_applied(afflint: Afflint, project: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeSelector: {disk: solid}\n  containers: [{name: a, image: b}]\n"
    text = fixed(afflint, project, pod)
    assert "tolerations:" in text
    assert "dedicated" in text
    assert afflint("check", "--select", "unschedulable", "--no-cache").code == 0


def test_an_object_of_a_list_gets_the_same_fix(afflint: Afflint, project: Path) -> None:
    whole = {"apiVersion": "v1", "kind": "List", "items": [json.loads(deployment(nodeSelector={"disk": "solid"}))]}
    text = fixed(afflint, project, json.dumps(whole))
    assert json.loads(text)["items"][0]["spec"]["template"]["spec"]["tolerations"][0]["key"] == "dedicated"


def test_none_of_several_smallest_changes_is_chosen(afflint: Afflint, project: Path) -> None:
    nodes = NODES.replace('"dedicated=db:NoSchedule"', '"a=b:NoSchedule"').replace(
        "disk: spinning}", 'disk: solid}, taints: ["c=d:NoSchedule"]', 1
    )
    (project / "nodes.yaml").write_text(nodes, encoding="utf-8")
    manifest = deployment(nodeSelector={"disk": "solid"})
    assert fixed(afflint, project, manifest) == manifest


def test_a_smaller_change_of_the_nodes_leaves_the_manifest_alone(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text(NODES + "  - {name: four, labels: {disk: solid}, unschedulable: true}\n", encoding="utf-8")
    manifest = deployment(nodeSelector={"disk": "solid"})
    assert fixed(afflint, project, manifest) == manifest


def test_an_edit_that_makes_another_workload_pending_is_not_offered(afflint: Afflint, project: Path) -> None:
    (project / "nodes.yaml").write_text("nodes: [{name: one, labels: {disk: spinning}}]\n", encoding="utf-8")
    port = [{"name": "a", "image": "b", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    (project / "zoo.yaml").write_text(deployment("zoo", 1, containers=port), encoding="utf-8")
    manifest = deployment("web", 1, nodeSelector={"disk": "solid"}, containers=port)
    assert fixed(afflint, project, manifest) == manifest


def test_an_edit_that_helps_in_some_orders_only_is_not_offered(afflint: Afflint, project: Path) -> None:
    """The log must not share a node with web, and takes the only node with the label if it comes first."""
    nodes = "nodes: [{name: a, labels: {disk: spinning}}, {name: b, labels: {disk: solid}}]\n"
    (project / "nodes.yaml").write_text(nodes, encoding="utf-8")
    manifest = deployment(nodeSelector={"disk": "soild"})
    assert '"solid"' in fixed(afflint, project, manifest)
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    (project / "zlog.yaml").write_text(deployment("log", affinity=apart), encoding="utf-8")
    assert fixed(afflint, project, manifest) == manifest


def test_what_a_namespace_adds_is_not_edited(afflint: Afflint, project: Path) -> None:
    annotations = {"scheduler.alpha.kubernetes.io/node-selector": "rack=r1"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "annotations": annotations}}
    (project / "shop.yaml").write_text(json.dumps(namespace), encoding="utf-8")
    (project / ".afflint.yaml").write_text("admission-plugins: [PodNodeSelector]\n", encoding="utf-8")
    manifest = deployment(nodeSelector={"disk": "spinning"})
    assert fixed(afflint, project, manifest) == manifest


def test_an_anti_affinity_that_too_few_zones_can_meet_becomes_a_preference(afflint: Afflint, project: Path) -> None:
    manifest = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: web}}
      containers: [{name: web, image: "web:1"}]
"""
    (project / "nodes.yaml").write_text("nodes: [{name: one}, {name: two}]\n", encoding="utf-8")
    text = fixed(afflint, project, manifest)
    assert "preferredDuringSchedulingIgnoredDuringExecution:" in text
    assert "requiredDuringSchedulingIgnoredDuringExecution" not in text
    assert afflint("check", "--select", "too-few-domains", "--no-cache").code == 0


def test_a_workload_that_waits_for_a_pod_of_no_manifest_gets_no_fix(afflint: Afflint, project: Path) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "elsewhere"}}}
    manifest = deployment(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    assert fixed(afflint, project, manifest) == manifest
    assert afflint("check", "--select", "unschedulable", "--no-cache").code == 1


def test_only_a_few_workloads_of_a_run_are_examined(afflint: Afflint, project: Path) -> None:
    for number in range(7):
        (project / f"{number}.yaml").write_text(deployment(f"web-{number}", nodeSelector={"disk": "solid"}), encoding="utf-8")
    done = afflint("check", "--select", "unschedulable", "--format", "json", "--no-cache")
    fixes = [finding["fix"] for finding in json.loads(done.out)["findings"]]
    assert (len(fixes), sum(fix is not None for fix in fixes)) == (7, 5)
