"""`afflint diff --render`: both sides are rendered, from Git objects, and what they create is compared."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Afflint
from git_history import History
from rendering.real_tools import on_path

NODES = """\
nodes:
  - {name: a1, labels: {topology.kubernetes.io/zone: a, disk: ssd}}
  - {name: b1, labels: {topology.kubernetes.io/zone: b}}
  - {name: c1, labels: {topology.kubernetes.io/zone: c}}
"""
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
      containers: [{name: web, image: "nginx:1.27"}]
"""
PATCH = """\
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {template: {spec: {nodeSelector: {disk: DISK}}}}
"""
OVERLAY = "resources: [../../base]\nnamespace: prod\n"
PATCHED = f"{OVERLAY}patches:\n{PATCH}"
BROKEN = "resources: [../../base, missing.yaml]\nnamespace: prod\n"
TEMPLATE = WEB.replace("name: web\nspec", "name: api\nspec").replace("replicas: 2", "replicas: {{ .Values.replicas }}")
SELECTING = TEMPLATE.replace("      containers", "      nodeSelector: {{ toJson .Values.nodeSelector }}\n      containers")


def report(afflint: Afflint, *words: str) -> dict[str, Any]:
    """The JSON report of a comparison of what kustomize and Helm render."""
    done = afflint("diff", "--render", "kustomize,helm", "--format", "json", "--exit-zero", *words)
    assert done.err == "", done.err
    result: dict[str, Any] = json.loads(done.out)
    return result


def changes(data: dict[str, Any]) -> dict[str, list[str]]:
    return {each["workload"]: each["changes"] for each in data["placement"]}


class TestKustomize:
    """An overlay, whose base is elsewhere in the repository."""

    @pytest.fixture
    def history(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
        on_path(monkeypatch, "kustomize")
        history = History(tmp_path / "shop")
        history.commit(
            {
                "nodes.yaml": NODES,
                "base/web.yaml": WEB,
                "base/kustomization.yaml": "resources: [web.yaml]\n",
                "overlays/prod/kustomization.yaml": OVERLAY,
            }
        )
        monkeypatch.chdir(history.root)
        return history

    def test_a_patch_changes_where_a_workload_runs(self, history: History, afflint: Afflint) -> None:
        history.write({"overlays/prod/kustomization.yaml": PATCHED.replace("DISK", "hdd")})
        data = report(afflint)
        assert changes(data) == {"Deployment prod/web": ["0 of 2 replicas can be scheduled: 3 nodes lack disk=hdd"]}
        assert [(each["file"], each["line"], each["rule"]) for each in data["new"]] == [
            ("overlays/prod/kustomization.yaml", 8, "unschedulable")
        ]

    def test_without_rendering_the_patch_is_not_seen_and_a_note_says_so(self, history: History, afflint: Afflint) -> None:
        history.write({"overlays/prod/kustomization.yaml": PATCHED.replace("DISK", "hdd")})
        data = json.loads(afflint("diff", "--format", "json").out)
        assert (data["placement"], data["summary"]["verdict"]) == ([], "changed")
        assert [(each["line"], each["field"], each["change"]) for each in data["values"]] == [
            (8, "patches[0].patch.spec.template.spec.nodeSelector", "new, {disk: hdd}")
        ]
        assert data["not_compared"] == [{"name": "overlays/prod/kustomization.yaml", "reason": "a kustomization; `--render` renders it"}]

    def test_two_commits_whatever_the_work_tree_has(self, history: History, afflint: Afflint) -> None:
        head = history.commit({"overlays/prod/kustomization.yaml": PATCHED.replace("DISK", "ssd")})
        history.write({"overlays/prod/kustomization.yaml": BROKEN, "base/web.yaml": None})
        assert changes(report(afflint, f"{head}~..{head}"))["Deployment prod/web"][0] == "zones: 3 → 1 (a)"
        assert changes(report(afflint, f"{head}..{head}~"))["Deployment prod/web"][0] == "zones: 1 → 3 (a, b and c)"

    def test_the_folder_of_an_overlay_alone(self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its base is read as well, although it is not in the folder."""
        history.write({"base/web.yaml": WEB.replace("replicas: 2", "replicas: 3")})
        assert changes(report(afflint, "main", "overlays/prod", "--nodes", "nodes.yaml")) == {"Deployment prod/web": ["replicas: 2 → 3"]}
        monkeypatch.chdir(history.root / "overlays" / "prod")
        assert changes(report(afflint, "--nodes", "../../nodes.yaml")) == {"Deployment prod/web": ["replicas: 2 → 3"]}

    def test_a_new_overlay_adds_a_workload(self, history: History, afflint: Afflint) -> None:
        history.write({"overlays/dev/kustomization.yaml": OVERLAY.replace("prod", "dev")})
        data = report(afflint)
        assert data["summary"]["placement_basis"] == "2 clusters: overlays/dev (3 nodes), overlays/prod (3 nodes)"
        assert changes(data) == {"overlays/dev: Deployment dev/web": ["new workload with 2 replicas"]}
        assert changes(report(afflint, "main", "overlays/dev", "--nodes", "nodes.yaml")) == {
            "Deployment dev/web": ["new workload with 2 replicas"]
        }

    def test_another_way_to_write_the_same_overlay(self, history: History, afflint: Afflint) -> None:
        history.write(
            {
                "overlays/prod/kustomization.yaml": "namespace: prod\nresources: [app]\n",
                "overlays/prod/app/kustomization.yaml": "resources: [web.yaml]\n",
                "overlays/prod/app/web.yaml": WEB,
                "base/web.yaml": None,
                "base/kustomization.yaml": None,
            }
        )
        data = report(afflint)
        assert (data["placement"], data["new"], data["fixed"]) == ([], [], [])

    @pytest.mark.parametrize("fixes", [False, True])
    def test_what_one_side_cannot_render_is_not_called_gone_or_new(self, history: History, afflint: Afflint, fixes: bool) -> None:
        good = history.commit({"overlays/prod/kustomization.yaml": PATCHED.replace("DISK", "hdd")})
        broken = history.commit({"overlays/prod/kustomization.yaml": BROKEN})
        first, second = (broken, good) if fixes else (good, broken)
        data = report(afflint, f"{first}..{second}")
        assert (data["placement"], data["new"], data["fixed"]) == ([], [], [])
        (reason,) = [each["reason"] for each in data["not_compared"] if each["name"] == "overlays/prod"]
        assert reason.startswith(f"kustomize cannot render it in {broken[:10]}: ")
        assert str(history.root) in reason, "the path in the repository"
        assert "afflint-" not in reason, "not that of a temporary folder"
        words = ("diff", f"{first}..{second}", "--render", "kustomize,helm")
        assert "1 placement value changes (3 nodes of nodes.yaml); not known: `overlays/prod`\n" in afflint(*words).out
        for form in ("markdown", "html"):
            assert "not all of it is compared" in afflint(*words, "--format", form).out

    def test_since(self, history: History, afflint: Afflint) -> None:
        history.write({"overlays/prod/kustomization.yaml": PATCHED.replace("DISK", "hdd")})
        words = ("check", "--since", "main", "--render", "kustomize", "--format", "concise")
        assert afflint(*words).rules == ["unschedulable"]
        history.commit()
        assert afflint(*words[:2], "HEAD", *words[3:]).rules == []


class TestHelm:
    """A chart with values."""

    @pytest.fixture
    def history(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
        on_path(monkeypatch, "helm")
        history = History(tmp_path / "shop")
        history.commit(
            {
                "nodes.yaml": NODES,
                "chart/Chart.yaml": "{apiVersion: v2, name: api, version: 1.0.0}\n",
                "chart/values.yaml": "replicas: 2\nnodeSelector: {}\n",
                "chart/templates/api.yaml": TEMPLATE,
            }
        )
        monkeypatch.chdir(history.root)
        return history

    def test_values_change_where_a_workload_runs(self, history: History, afflint: Afflint) -> None:
        history.commit({"chart/templates/api.yaml": SELECTING})
        history.write({"chart/values.yaml": "replicas: 2\nnodeSelector: {disk: hdd}\n"})
        data = report(afflint, "HEAD")
        assert changes(data) == {"Deployment default/api": ["0 of 2 replicas can be scheduled: 3 nodes lack disk=hdd"]}
        assert [(each["file"], each["line"], each["rule"]) for each in data["new"]] == [("chart/values.yaml", 2, "unschedulable")]

    def test_a_template_that_renders_the_same_changes_nothing(self, history: History, afflint: Afflint) -> None:
        history.write({"chart/templates/api.yaml": SELECTING})
        data = report(afflint)
        assert (data["placement"], data["new"]) == ([], [])
        assert [each["rule"] for each in data["fixed"]] == ["unread-chart-value"]

    def test_a_chart_that_cannot_be_rendered_any_more(self, history: History, afflint: Afflint) -> None:
        history.write({"chart/templates/api.yaml": TEMPLATE + '{{ fail "no" }}\n'})
        data = report(afflint)
        assert (data["placement"], data["new"], data["fixed"]) == ([], [], [])
        assert [(each["name"], each["reason"].partition(":")[0]) for each in data["not_compared"]] == [
            ("chart", "helm cannot render it in work tree")
        ]
