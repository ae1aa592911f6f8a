"""Overlays of one base are for different clusters: each is simulated with all nodes and the objects of all clusters."""

import pytest

from afflint.rendering.clusters import Root, clusters_of
from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: web}}
              namespaceSelector: {}
      containers: [{name: web, image: "nginx:1.27", ports: [{containerPort: 80, hostPort: 80}]}]
"""
NODES = "nodes: [{name: a}, {name: b}]\n"


@pytest.fixture
def overlays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of one base, in namespaces of their own, for two nodes."""
    on_path(monkeypatch, "kustomize")
    write({"nodes.yaml": NODES, "base/web.yaml": WEB, "base/kustomization.yaml": "resources: [web.yaml]\n"})
    for name in ("dev", "prod"):
        write({f"overlays/{name}/kustomization.yaml": f"resources: [../../base]\nnamespace: {name}\n"})


def deployment(name: str, namespace: str, more: str) -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  replicas: 1\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n  strategy: {{type: Recreate}}\n"
        f"  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n{more}      containers: [{{name: c, image: i}}]\n"
    )


def affinity(kind: str, app: str) -> str:
    return (
        f"      affinity:\n        {kind}:\n          requiredDuringSchedulingIgnoredDuringExecution:\n"
        f"            - topologyKey: kubernetes.io/hostname\n              namespaceSelector: {{}}\n"
        f"              labelSelector: {{matchLabels: {{app: {app}}}}}\n"
    )


def test_overlays_do_not_use_the_capacity_of_each_other(checking: Checking, overlays: None) -> None:  # noqa: ARG001
    # Both ask for one port of each host, and keep away from pods with the same label in any namespace.
    assert checking.messages("--select", "placement", "--nodes", "nodes.yaml") == []


def test_each_overlay_is_checked_although_it_has_the_same_object(checking: Checking, overlays: None) -> None:  # noqa: ARG001
    for name, count in (("dev", 2), ("prod", 3)):
        write({f"overlays/{name}/kustomization.yaml": f"resources: [../../base]\nreplicas: [{{name: web, count: {count}}}]\n"})
    (finding,) = checking.report("--select", "placement", "--nodes", "nodes.yaml")["findings"]
    assert (finding["rule"], finding["rendered_in"]) == ("too-few-domains", ["overlays/prod"])


def test_a_finding_in_shared_objects_is_reported_only_if_it_applies_in_each_cluster(checking: Checking, overlays: None) -> None:  # noqa: ARG001
    # Beside the two pods of production nothing has room that keeps away from them; beside the one of `dev` there is some.
    write({"tools.yaml": deployment("tools", "tools", affinity("podAntiAffinity", "web"))})
    for name, count in (("dev", 1), ("prod", 2)):
        write({f"overlays/{name}/kustomization.yaml": f"resources: [../../base]\nreplicas: [{{name: web, count: {count}}}]\n"})
    words = "--select", "competing-workloads", "--nodes", "nodes.yaml"
    assert checking.messages(*words) == []
    write({"overlays/dev/kustomization.yaml": "resources: [../../base]\n"})
    assert checking.messages(*words) == ["tools.yaml:3:18 competing-workloads metadata.name []"]


@pytest.mark.parametrize("most", [1, 8])
def test_so_it_is_with_more_clusters_than_are_simulated(
    most: int,
    checking: Checking,
    overlays: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("afflint.pipeline.locating._MAX_WHOLE_CLUSTERS", most)
    write({"tools.yaml": deployment("tools", "tools", affinity("podAntiAffinity", "web"))})
    words = "--select", "competing-workloads", "--nodes", "nodes.yaml"
    assert checking.messages(*words) == ["tools.yaml:3:18 competing-workloads metadata.name []"]


def test_affinity_to_pods_of_another_cluster_is_not_reported(checking: Checking, overlays: None) -> None:  # noqa: ARG001
    # The cluster `live` is unknown: pods that its manifests select may exist there.
    for name in ("live", "trial"):
        write(
            {
                f"shop/{name}/shop.yaml": deployment("shop", "shop", affinity("podAffinity", "web")),
                f"shop/{name}/kustomization.yaml": "resources: [shop.yaml]\n",
            }
        )
    assert checking.messages("--select", "placement", "--nodes", "nodes.yaml") == []


def test_clusters_are_distinguished_by_the_names_of_roots() -> None:
    shop, blog = frozenset(("shop",)), frozenset(("blog",))
    roots = {
        "1": Root("shop/overlays/dev", shop),
        "2": Root("shop/overlays/prod", shop),
        "3": Root("blog/prod", blog),
        "4": Root("blog/test-eu", blog),
        "5": Root("tools", frozenset(("tools",))),
    }
    assert sorted(map(sorted, clusters_of(roots))) == [["1"], ["2", "3"], ["4"]]


def test_two_releases_of_a_chart_exclude_each_other_with_any_names() -> None:
    same = frozenset(("templates/web.yaml",))
    assert clusters_of({"1": Root("chart", same), "2": Root("chart", same)}) == [{"1"}, {"2"}]
    assert clusters_of({"1": Root("chart", same)}) == []


CONFLICT = deployment("web", "shop", affinity("podAffinity", "db")).replace("              namespaceSelector: {}\n", "")
BASE = CONFLICT.replace(", namespace: shop", "").replace("  strategy: {type: Recreate}\n", "")
DATABASE = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: c, image: i}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 2
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: api}}
      containers: [{name: c, image: i}]
"""
RULES = "affinity-conflict,drain-blocked,spread-without-effect"


class TestASecondOverlay:
    """An overlay for another cluster neither hides nor adds a finding: its objects do not exist beside those of the first."""

    @pytest.mark.parametrize("namespace", ["", "namespace: shop\n", "namespace: NAME\n"])
    @pytest.mark.parametrize("words", [("--select", RULES), ("--select", RULES, "--nodes", "nodes.yaml")])
    @pytest.mark.parametrize("number", [2, 10])
    def test_hides_no_finding_of_the_base(
        self, number: int, words: tuple[str, ...], namespace: str, checking: Checking, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on_path(monkeypatch, "kustomize")
        write({"nodes.yaml": NODES, "base/web.yaml": BASE + DATABASE, "base/kustomization.yaml": "resources: [web.yaml]\n"})
        found = []
        for name in [f"c{number}" for number in range(number)]:
            write({f"overlays/{name}/kustomization.yaml": f"resources: [../../base]\n{namespace.replace('NAME', name)}"})
            if name in ("c0", f"c{number - 1}"):
                found.append([each.partition(" [")[0] for each in checking.messages(*words)])
        alone, together = found
        assert alone == together
        assert [each.partition(" spec.")[0] for each in alone] == [
            "base/web.yaml:14:15 affinity-conflict",
            "base/web.yaml:35:22 drain-blocked",
            "base/web.yaml:47:20 spread-without-effect",
        ]

    def test_does_not_add_pods_to_those_of_the_base(self, checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
        on_path(monkeypatch, "kustomize")
        budget = DATABASE.split("---\n")[2].replace("minAvailable: 1", "minAvailable: 2")
        db = DATABASE.split("---\n")[1].replace("replicas: 1", "replicas: 2")
        write({"base/web.yaml": f"{db}---\n{budget}", "base/kustomization.yaml": "resources: [web.yaml]\n"})
        for name, count in (("dev", 3), ("prod", 2)):
            write({f"overlays/{name}/kustomization.yaml": f"resources: [../../base]\nreplicas: [{{name: db, count: {count}}}]\n"})
        (found,) = checking.report("--select", "drain-blocked")["findings"]
        assert (found["rule"], found["rendered_in"]) == ("drain-blocked", ["overlays/prod"])
