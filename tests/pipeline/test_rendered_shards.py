"""Shards of a run with --render: the shards check files, the merge renders, and the report is that of one run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checkout import ROOT
from command_line import Afflint
from rendering.real_tools import on_path
from rendering.rendered_trees import write

EXAMPLES = ("gitops", "argo-cd", "flux")


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize", "helm")
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")


def sharded(afflint: Afflint, of: int, *words: str) -> list[str]:
    """The files of results of all shards of a run."""
    files = [f"shard-{number}.jsonl" for number in range(1, of + 1)]
    for number, file in enumerate(files, 1):
        assert afflint("check", *words, "--shard", f"{number}/{of}", "--output", file) == (0, "", "")
    return files


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("of", [1, 2, 3, 4])
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_report_is_that_of_one_run(project: Path, afflint: Afflint, example: str, of: int, form: str) -> None:
    shutil.copytree(ROOT / "examples" / example, project / "deploy")
    one = afflint("check", "deploy", "--render", "--format", form)
    assert one.code == 1
    assert "Rendered " in one.out if form == "text" else '"rendered_in"' in one.out
    assert afflint("merge", *sharded(afflint, of, "deploy", "--render"), "--render", "--format", form) == one


TEMPLATE = """\
kind: Pod
apiVersion: v1
metadata: {name: web}
spec: {nodeSelector: {disktype: "a b"}, containers: [{name: web, image: nginx}]}
"""
APPLICATION = """\
kind: Application
apiVersion: argoproj.io/v1alpha1
metadata: {name: NAME}
spec: {source: {path: PATH}}
"""
APP_OF_APPS = {
    ".git/HEAD": "",
    "root.yaml": APPLICATION.replace("NAME", "root").replace("PATH", "apps"),
    "apps/Chart.yaml": "{apiVersion: v2, name: apps, version: 1.0.0}\n",
    "apps/values.yaml": "name: web\n",
    "apps/templates/app.yaml": APPLICATION.replace("NAME", "{{ .Values.name }}").replace("PATH", "web/{{ .Values.name }}"),
    "web/web/kustomization.yaml": "resources: [pod.yaml]\nnamespace: shop\n",
    "web/web/pod.yaml": TEMPLATE,
}


@pytest.mark.parametrize("of", [1, 2, 3, 4])
def test_applications_that_a_chart_renders_are_followed(project: Path, afflint: Afflint, of: int) -> None:
    write(APP_OF_APPS, project)
    one = afflint("check", ".", "--render", "--format", "json")
    assert "web/web/pod.yaml" in one.out
    assert afflint("merge", *sharded(afflint, of, ".", "--render"), "--render", "--format", "json") == one


def test_a_kind_that_only_rendered_output_defines_is_known(project: Path, afflint: Afflint) -> None:
    """The shards do not know it, so the merge checks the files again, and says so."""
    crd = """\
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: databases.example.com}
spec:
  group: example.com
  names: {kind: {{ .Values.kind }}, plural: databases}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {nodeSelector: {type: object}}}}}}}
"""
    write(
        {
            ".git/HEAD": "",
            "chart/Chart.yaml": "{apiVersion: v2, name: crds, version: 1.0.0}\n",
            "chart/values.yaml": "kind: Database\n",
            "chart/templates/crd.yaml": crd,
            "db.yaml": "kind: Database\napiVersion: example.com/v1\nmetadata: {name: db}\nspec: {nodeSelector: {disktype: 'a b'}}\n",
        },
        project,
    )
    one = afflint("check", ".", "--render")
    merged = afflint("merge", *sharded(afflint, 2, ".", "--render"), "--render")
    assert (merged.code, merged.out) == (one.code, one.out)
    assert "have changed since" not in merged.err


def test_shards_of_a_configuration_that_renders_need_the_option_too(project: Path, afflint: Afflint) -> None:
    """What renders is on the command line of the merge: a file of results starts no program."""
    write({**APP_OF_APPS, "render.yaml": "render: true\n"}, project)
    files = sharded(afflint, 2, ".", "--config", "render.yaml")
    assert afflint("merge", *files) == (2, "", "afflint: the shards ran with --render; run `afflint merge` with --render, too\n")
    one = afflint("check", ".", "--config", "render.yaml")
    assert afflint("merge", *files, "--render") == one


def test_a_configuration_that_was_found_renders_nothing(
    project: Path, afflint: Afflint, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({**APP_OF_APPS, ".afflint.yaml": "render: true\n"}, project)
    started = tmp_path_factory.mktemp("bin")
    for name in ("kustomize", "helm"):
        (started / name).write_text(f"#!/bin/sh\ntouch {started}/started\n")
        (started / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{started}:/usr/bin:/bin")
    one = afflint("check", ".")
    assert "`render` needs --render" in one.err
    assert afflint("merge", *sharded(afflint, 2, ".")) == one
    assert not (started / "started").exists()


def test_the_tools_of_the_shards_are_those_of_the_merge(project: Path, afflint: Afflint) -> None:
    write(APP_OF_APPS, project)
    files = sharded(afflint, 1, ".", "--render=helm")
    assert afflint("merge", *files, "--render").err == (
        "afflint: the shards ran with --render=helm; run `afflint merge` with --render=helm, too\n"
    )
    assert afflint("merge", *files, "--render=helm") == afflint("check", ".", "--render=helm")


def test_shards_without_the_option_can_be_rendered(project: Path, afflint: Afflint) -> None:
    write(APP_OF_APPS, project)
    assert afflint("merge", *sharded(afflint, 2, "."), "--render") == afflint("check", ".", "--render")
