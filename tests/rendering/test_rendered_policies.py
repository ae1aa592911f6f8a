"""Policies apply to rendered objects, and violations are reported at their source."""

from pathlib import Path

import pytest

from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

BASE = """\
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
      nodeName: n1  # afflint: ignore[no-hosts] -- its disk is there
      containers: [{name: web, image: "nginx:1.27"}]
"""
POLICY = "- {name: %s, check: no-pinning, match: {namespaces: [shop-*], min-replicas: 3, files: overlays/}%s}\n"


@pytest.fixture(autouse=True)
def tree(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    on_path(monkeypatch, "kustomize")
    write(
        {
            "base/web.yaml": BASE,
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "overlays/prod/kustomization.yaml": "resources: [../../base]\nnamespace: shop-prod\nreplicas: [{name: web, count: 3}]\n",
            "overlays/test/kustomization.yaml": "resources: [../../base]\nnamespace: shop-test\n",
            "overlays/dev/kustomization.yaml": "resources: [../../base]\nnamespace: dev\nreplicas: [{name: web, count: 3}]\n",
        }
    )
    assert project.exists()


def found(checking: Checking) -> list[tuple[str, int, str, list[str]]]:
    findings = checking.report()["findings"]
    return [(each["file"], each["line"], each["rule"], each["rendered_in"]) for each in findings if each["category"] == "policy"]


def test_a_violation_in_an_overlay_is_reported_in_the_base(checking: Checking) -> None:
    write({".afflint.yaml": "policies:\n" + POLICY % ("by-name", "")})
    assert found(checking) == [("base/web.yaml", 11, "by-name", ["overlays/prod"])]


def test_a_comment_in_the_base_suppresses_a_violation(checking: Checking) -> None:
    write({".afflint.yaml": "policies:\n" + POLICY % ("no-hosts", "")})
    assert found(checking) == []


def test_a_comment_does_not_suppress_a_mandatory_policy(checking: Checking) -> None:
    write({".afflint.yaml": "policies:\n" + POLICY % ("no-hosts", ", mandatory: true")})
    assert found(checking) == [("base/web.yaml", 11, "no-hosts", ["overlays/prod"])]
