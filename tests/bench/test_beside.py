"""The comparison with other linters: those that are there, with their versions, on the same trees, as one Markdown table."""

import os
import re
import sys
from pathlib import Path

import pytest
from bench.beside import comparison
from bench.peers import peers

from afflint import __version__

pytestmark = pytest.mark.skipif(os.name == "nt", reason="scripts replace the other programs")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with a kubeconform and a kube-score that note what they are asked to do."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    says(folder, "kubeconform", 'case "$1" in -v) echo v0.7.0;; esac')
    says(folder, "kube-score", 'case "$1" in version) echo "kube-score version: 1.20.0, commit: abc";; *) exit 1;; esac')
    return folder


def says(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{folder}/log\n{script}\n', encoding="utf-8")
    (folder / name).chmod(0o755)


def is_such_a_table(lines: list[str]) -> bool:
    """Whether these lines are a table of the comparison, whatever was there to compare and on which machine."""
    head, rule, *rows, empty, machine = lines
    figure = r"(?:[\d,]+ ms|\d+\.\d\d s)"
    files = r"[\d,]+ files, \d+ MB"
    pattern = (
        r"Median wall time of \d+ rounds, \d+ workers each, on \d+ cores of .+, \w+, \d{4}-\d\d-\d\d\.(?: Not installed: [a-z, -]+\.)?"
    )
    return (
        re.fullmatch(rf"\| \| workloads: {files} \| a mixed tree: {files} \| one file of [\d,]+ bytes \|", head) is not None
        and (rule, empty) == ("|---|---|---|---|", "")
        and all(re.fullmatch(rf"\| [a-z-]+ [^|]+ \| {figure} \| {figure} \| {figure} \|", row) for row in rows)
        and re.fullmatch(pattern, machine) is not None
    )


def test_the_page_shows_such_a_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "comparison.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- begin bench -->\n\n")[2].partition("\n<!-- end bench -->")[0]
    assert is_such_a_table(shown.splitlines())


@pytest.mark.usefixtures("programs")
def test_the_table_names_versions_trees_and_the_machine(tmp_path: Path) -> None:
    lines = comparison(str(tmp_path / "data"), 10, 1, None).splitlines()
    assert is_such_a_table(lines)
    version = f"{__version__}, Python {sys.version.split()[0]}"
    assert [row.split(" | ")[0] for row in lines[2:-2]] == [f"| afflint {version}", "| kubeconform v0.7.0", "| kube-score 1.20.0"]
    assert lines[-1].endswith(". Not installed: kube-linter.")


@pytest.mark.usefixtures("programs")
def test_each_linter_gets_the_same_work(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("b.yaml", "a.yaml"):
        (tree / name).write_text("kind: Pod\n", encoding="utf-8")
    found = peers(str(tree), str(tree / "a.yaml"), str(tmp_path / "cache"), workers=3, schemas="here/{{ .ResourceKind }}.json")
    conform, score = found.commands["kubeconform"], found.commands["kube-score"]
    assert conform.arguments[1:3] == ("-n", "3")
    assert conform.arguments[-1] == str(tree)
    assert "here/{{ .ResourceKind }}.json" in conform.arguments
    assert score.arguments[1:] == ("score", str(tree / "a.yaml"), str(tree / "b.yaml")), "it takes files alone"
    assert found.versions == {"kubeconform": "v0.7.0", "kube-score": "1.20.0"}
    assert found.skipped == ("kube-linter: skipped, not on PATH",)


def test_a_linter_that_fails_on_a_healthy_file_is_left_out(programs: Path, tmp_path: Path) -> None:
    says(programs, "kubeconform", "exit 1")
    (tmp_path / "a.yaml").write_text("kind: Pod\n", encoding="utf-8")
    found = peers(str(tmp_path), str(tmp_path / "a.yaml"), str(tmp_path / "cache"))
    assert "kubeconform" not in found.commands
    assert "kubeconform: skipped, cannot lint one healthy file here" in found.skipped
