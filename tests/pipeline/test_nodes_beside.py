"""Nodes that lie among the manifests are those of the run, where it is plain that they are meant."""

import os
from pathlib import Path

import pytest

from afflint import config
from afflint.pipeline.session import Session

WEB = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  containers: [{name: web, image: "web:1"}]
"""
NODES = "nodes:\n- {name: n1, labels: {disk: hdd}}\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app/examples").mkdir(parents=True)
    Path("app/web.yaml").write_text(WEB)


def found(*paths: str) -> tuple[list[str], str | None]:
    session = Session(config.default())
    outcome = session.check(session.sources(paths))
    return sorted({finding.rule for finding in outcome.findings}), outcome.unused_nodes


ON_NODES = ["unschedulable"]


@pytest.mark.parametrize("named", [["app"], ["app/web.yaml", "app/nodes.yaml"], ["app/*.yaml"], ["./app/"]])
def test_in_the_folder_that_is_named_or_named_themselves(named: list[str]) -> None:
    Path("app/nodes.yaml").write_text(NODES)
    assert found(*named) == (ON_NODES, None)


def test_node_manifests_count_like_a_list_of_nodes() -> None:
    Path("app/nodes.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {disk: hdd}}\n")
    assert found("app") == (ON_NODES, None)


def test_a_node_without_a_name_is_the_expectation_of_a_test() -> None:
    Path("app/00-assert.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {labels: {disk: ssd}}\n")
    assert found("app") == ([], None)
    Path("app/nodes.yaml").write_text(NODES)
    assert found("app") == (ON_NODES, None)


def test_those_further_below_may_be_an_example_or_of_another_cluster() -> None:
    Path("app/examples/nodes.yaml").write_text(NODES)
    assert found("app") == ([], None)
    assert found("app/web.yaml", "app/examples/nodes.yaml") == ([], None)


def test_below_a_folder_count_those_beside_all_of_the_workloads() -> None:
    Path("app/nodes.yaml").write_text(NODES)
    Path("ci.yaml").write_text("on: [push]\n")
    assert found(".") == (ON_NODES, None)
    Path("job.yaml").write_text(WEB.replace("name: web", "name: job").replace("ssd", "hdd"))
    assert found(".") == ([], None), "they do not restrict the nodes of the job"


def test_nodes_of_two_clusters_are_not_an_inventory() -> None:
    Path("app/east.yaml").write_text(NODES)
    Path("app/west.yaml").write_text(NODES)
    rules, fault = found("app")
    assert rules == []
    assert (
        fault == f"{os.path.join('app', 'west.yaml')}:2:10: duplicate node 'n1': it is also defined in {os.path.join('app', 'east.yaml')}"
    )


def test_a_file_that_is_named_as_that_of_the_nodes_comes_first() -> None:
    Path("app/nodes.yaml").write_text(NODES)
    Path("ssd.yaml").write_text(NODES.replace("hdd", "ssd"))
    session = Session(config.with_overrides(config.default(), nodes=["ssd.yaml"]))
    assert session.check(session.sources(["app"])).findings == []
