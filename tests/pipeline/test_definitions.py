"""Kinds that CustomResourceDefinitions of a run describe: the same is found in every process, and with every cache."""

import subprocess
import sys
from pathlib import Path

import pytest

from afflint import config
from afflint.findings.finding import Finding
from afflint.fix.rounds import fix_files
from afflint.pipeline.options import Options
from afflint.pipeline.run import run
from afflint.pipeline.session import Session
from afflint.source.sources import Source, discover
from checkout import clean_environment
from linting import settings_of
from widgets import DEFINITION, WIDGET


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "crd.yaml").write_text(DEFINITION, encoding="utf-8")
    for number in range(80):
        (folder / f"widget-{number}.yaml").write_text(WIDGET.replace("{name: w}", f"{{name: w{number}}}"), encoding="utf-8")
    return folder


def found(tree: Path, options: Options, *, without: str = "") -> list[Finding]:
    return run([each for each in discover([str(tree)]) if not without or without not in each.path], settings_of(), options).findings


def test_what_is_kept_and_what_is_read_again_are_the_same(tree: Path, tmp_path: Path) -> None:
    plain = found(tree, Options())
    assert [each.rule for each in plain] == ["wrong-type"] * 80
    cached = Options(cache=str(tmp_path / "cache"))
    assert found(tree, cached) == plain
    assert found(tree, cached) == plain
    (tree / "crd.yaml").write_text(DEFINITION.replace("served: true", "served: false"), encoding="utf-8")
    assert found(tree, cached) == []


def test_definitions_from_elsewhere(tree: Path) -> None:
    asked = []

    def definitions() -> list[Source]:
        asked.append(1)
        return [Source("crd.yaml", str(tree / "crd.yaml"))]

    assert found(tree, Options(), without="crd") == []
    assert len(found(tree, Options(definitions=definitions), without="crd")) == 80
    assert asked == [1]


def test_they_are_not_read_where_all_kinds_are_known(tree: Path) -> None:
    def definitions() -> list[Source]:
        raise AssertionError("nothing is unknown")

    for file in tree.glob("widget-*.yaml"):
        file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {affinity: a}\n", encoding="utf-8")
    assert found(tree, Options(definitions=definitions)) == []


def test_a_path_that_does_not_exist_is_reported_even_if_it_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", encoding="utf-8")
    command = [sys.executable, "-m", "afflint", "check", "--crds", "nowhere", "pod.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such file or folder: 'nowhere'" in done.stderr


def test_custom_resources_in_a_list_are_checked_like_others(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(DEFINITION, encoding="utf-8")
    item = "".join(f"  {line}\n" for line in WIDGET.splitlines()).replace("  apiVersion", "- apiVersion", 1)
    pod = "- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: 'a:1'}]}}\n"
    (tmp_path / "list.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n{item}{pod}", encoding="utf-8")
    assert [each.rule for each in found(tmp_path, Options())] == ["wrong-type"]


def test_a_fix_run_reports_what_definitions_show(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(DEFINITION, encoding="utf-8")
    (tmp_path / "widget.yaml").write_text(WIDGET, encoding="utf-8")
    session = Session(config.default())
    fixed = fix_files(session, session.sources([str(tmp_path)]), Options(), unsafe=False, tops=[str(tmp_path)])
    assert [each.rule for each in fixed.outcome.findings] == ["wrong-type"]
