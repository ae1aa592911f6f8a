"""Pools of nodes that lie among the manifests are those of the run, unless the user names others, or none."""

from pathlib import Path

import pytest

from afflint import config
from afflint.inventory.node_files import NodeFileError
from afflint.pipeline.session import Session

WEB = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disk: nvme-ssd}
  containers: [{name: web, image: "web:1"}]
"""
GROUPS = (
    "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: c}\nmanagedNodeGroups: [{name: g, labels: {disk: nvme-sdd}}]\n"
)
FAR = GROUPS.replace("eksctl.io/v1alpha5\nkind: ClusterConfig", "k3d.io/v1alpha5\nkind: Simple")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app").mkdir()
    Path("clusters").mkdir()
    Path("app/web.yaml").write_text(WEB)
    Path("clusters/c.yaml").write_text(GROUPS)


def found(*paths: str, settings: str = "", **overrides: list[str]) -> list[str]:
    """``severity rule`` of the findings, with a configuration and with options of the command line."""
    chosen = config.default()
    if settings:
        Path(".afflint.yaml").write_text(settings)
        chosen = config.load(".afflint.yaml", rule_names=(), categories=())
    session = Session(config.with_overrides(chosen, **overrides))
    return [f"{finding.severity} {finding.rule}" for finding in session.check(session.sources(paths)).findings]


def test_those_in_the_run_count() -> None:
    assert found(".") == ["warning no-matching-pool"]
    assert found("app") == []


def test_those_of_the_context_count() -> None:
    assert found("app", settings="context: [clusters/]\n") == ["warning no-matching-pool"]


@pytest.mark.parametrize("word", ["none", "auto"])
def test_they_can_be_left_out(word: str) -> None:
    expected = [] if word == "none" else ["warning no-matching-pool"]
    assert found(".", nodes=[word]) == expected
    assert found(".", settings=f"nodes: {word}\n") == expected


def test_nodes_are_left_out_likewise() -> None:
    Path("nodes.yaml").write_text("nodes:\n- {name: n1, labels: {disk: hdd}}\n")
    assert "error unschedulable" in found(".")
    assert found(".", nodes=["none"]) == []


def test_complete_ones_make_it_an_error() -> None:
    assert found(".", settings="complete-nodes: true\n") == ["error no-matching-pool"]


def test_those_that_are_named_are_those_of_the_cluster_whatever_their_format() -> None:
    Path("far.yaml").write_text(FAR)
    assert found("app", "far.yaml") == []
    assert found(".", nodes=["far.yaml"]) == ["info no-matching-pool"]
    assert found("app", settings="nodes: far.yaml\n") == ["info no-matching-pool"]


def test_a_file_that_is_named_and_declares_nothing_is_an_error() -> None:
    with pytest.raises(NodeFileError, match="no nodes in this file"):
        found("app", nodes=["app/web.yaml"])


def test_what_is_wrong_with_pools_is_reported_in_a_file_that_is_named_for_its_nodes() -> None:
    Path("clusters/c.yaml").write_text(GROUPS.replace("labels: {disk: nvme-sdd}", "taints: [{key: a, effect: NO_SCHEDULE}]"))
    assert found("app", nodes=["clusters/c.yaml"]) == ["info no-matching-pool", "error invalid-pool-taint"]


def test_results_that_were_kept_know_the_pools(tmp_path: Path) -> None:
    from afflint.pipeline.options import Options

    session = Session(config.default())
    options = Options(cache=str(tmp_path / "kept"))
    first, second = (session.check(session.sources(["."]), options).findings for _ in range(2))
    assert first == second
    assert [finding.rule for finding in second] == ["no-matching-pool"]
