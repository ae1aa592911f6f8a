"""What the settings of a run do to its findings: severities, rules that are off in some files, files of nodes."""

import os
from pathlib import Path
from typing import Any

import pytest

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels:
    tier: front
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: 5}
      containers: [{name: web, image: "web:1"}]
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {tier: front}, ports: [{port: 80}]}\n"


def severities(lines: list[str]) -> dict[str, str]:
    """The severity of each rule that is in a report."""
    return {line.rpartition("[")[2].rstrip("]"): line.split(": ")[1].split()[0] for line in lines}


def test_the_configured_severity_beats_the_one_that_a_check_gives_its_finding(check: Any, write: Any) -> None:
    """`label-not-on-template` is a warning, and an error where a selector elsewhere asks for the label; unless the user said otherwise."""
    write("web.yaml", DEPLOYMENT)
    write("service.yaml", SERVICE)
    assert severities(check("web.yaml", "service.yaml").lines) == {"label-not-on-template": "error", "wrong-type": "error"}
    write(".afflint.yaml", "severity: {label-not-on-template: info, wrong-type: warning}\n")
    done = check("web.yaml", "service.yaml")
    assert severities(done.lines) == {"label-not-on-template": "info", "wrong-type": "warning"}
    assert done.code == 1


def test_files_on_another_drive_are_called_by_their_whole_path(
    check: Any, write: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows no relative path leads from one drive to another; `exclude` says nothing about what lies there."""
    write("c/.afflint.yaml", "exclude: ['*.yaml']\nper-file-ignores: {web.yaml: [wrong-type]}\ncontext: ['*.yaml']\n")
    write("d/web.yaml", DEPLOYMENT)
    write("d/pod.yaml", DEPLOYMENT.replace("web", "pod"))
    way = os.path.relpath

    def relpath(path: str, start: str = os.curdir) -> str:
        drives = {way(each, project).split(os.sep)[0] for each in (path, start)}
        if len(drives) > 1:
            raise ValueError("path is on mount 'D:', start on mount 'C:'")
        return way(path, start)

    monkeypatch.setattr(os.path, "relpath", relpath)
    monkeypatch.chdir(project / "d")
    done = check("--config", str(project / "c" / ".afflint.yaml"), "--force-exclude", "web.yaml", "pod.yaml", ".")
    assert (done.code, done.err) == (1, "")
    assert [line.partition(":")[0] for line in done.lines] == ["pod.yaml"]


NODES = """\
apiVersion: v1
kind: Node
metadata: {name: w1, labels: {kubernetes.io/hostname: w}}
---
apiVersion: v1
kind: Node
metadata: {name: w2, labels: {kubernetes.io/hostname: w}}
---
apiVersion: v1
kind: Pod
metadata: {name: agent}
spec:
  tolerations: [{operator: Is}]
  containers: [{name: agent, image: "agent:1"}]
"""
OF_THE_NODES = (
    "nodes.yaml:7:55: error nodes w1 and w2 have the same kubernetes.io/hostname `w`: constraints over hostnames treat them as one node"
    " [inconsistent-topology]"
)
OF_THE_POD = "nodes.yaml:13:28: error a toleration does not support the operator `Is` [unknown-operator]"


@pytest.mark.parametrize("named", [["nodes.yaml", "web.yaml"], ["web.yaml", "nodes.yaml"], ["."]])
def test_a_file_of_nodes_that_is_checked_too_is_reported_once(named: list[str], check: Any, write: Any) -> None:
    write("nodes.yaml", NODES)
    write("web.yaml", SERVICE)
    assert check("--nodes", "nodes.yaml", *named).lines == [OF_THE_NODES, OF_THE_POD]


def test_a_file_of_nodes_that_is_not_checked_is_reported_for_its_nodes_alone(check: Any, write: Any) -> None:
    write("nodes.yaml", NODES)
    write("web.yaml", SERVICE)
    assert check("--nodes", "nodes.yaml", "web.yaml").lines == [OF_THE_NODES]
