"""`--render` reads nothing outside the repository: no values file, no link in a chart, no file that a generator names."""

from __future__ import annotations

from pathlib import Path

import pytest

from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
TEMPLATE = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: {{ .Files.Get "secret" | default .Values.a | quote }}}}\n'
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {path: chart, helm: {valueFiles: ['FILE']}}}
"""


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a chart; beside it are files of the user."""
    on_path(monkeypatch, "helm")
    write(
        {
            "secret": "s3cr3t of mine!\n",
            "outside.yaml": "a: s3cr3t of mine!\n",
            "charts/mine/Chart.yaml": CHART,
            "charts/mine/values.yaml": "",
        }
    )
    write({"repository/.git/HEAD": "", "repository/chart/Chart.yaml": CHART, "repository/chart/values.yaml": "a: b\n"})
    write({"repository/chart/templates/pod.yaml": TEMPLATE})
    monkeypatch.chdir(project / "repository")
    return project / "repository"


def test_a_values_file_outside_the_repository_is_not_read(checking: Checking, repository: Path) -> None:
    (repository / "link.yaml").symlink_to("../outside.yaml")
    for name in ("../../outside.yaml", "../link.yaml", "/link.yaml", "$values/link.yaml"):
        write({"web.yaml": APPLICATION.replace("FILE", name)})
        shown = checking("--render", code=0)
        assert "s3cr3t" not in shown
        assert f"`{name.replace('$values', '').lstrip('/')}` is outside the repository" in shown.replace("`/", "`")
    write({"web.yaml": APPLICATION.replace("FILE", "../own.yaml"), "own.yaml": "a: not valid!\n"})
    assert "`not valid!`" in checking("--render", code=1)


def test_the_name_of_a_file_parameter_names_no_file(checking: Checking, repository: Path) -> None:
    """Helm takes `NAME=FILE,NAME=FILE`, so that a name could have files of its own."""
    parameter = f"{{name: 'a={repository.parent}/secret,b', path: values.yaml}}"
    write({"web.yaml": APPLICATION.replace("valueFiles: ['FILE']", f"fileParameters: [{parameter}]")})
    assert "s3cr3t" not in checking("--render")


@pytest.mark.parametrize("name", ["secret", "values.schema.json", "templates/more.txt", "deep/secret"])
def test_a_chart_with_a_link_out_of_the_repository_is_not_rendered(name: str, checking: Checking, repository: Path) -> None:
    (repository / "chart" / name).parent.mkdir(exist_ok=True)
    (repository / "chart" / name).symlink_to(repository.parent / "secret")
    shown = checking("--render", code=0)
    assert f"Not rendered: chart (helm): `{name}` in the chart is a link to a file outside the repository" in shown
    assert "s3cr3t" not in shown


def test_a_chart_with_a_linked_folder_outside_the_repository_is_not_rendered(checking: Checking, repository: Path) -> None:
    write({"shared/a.txt": ""})
    (repository / "shared" / "secret").symlink_to(repository.parent / "secret")
    (repository / "chart" / "shared").symlink_to("../shared")
    assert "in the chart is a link to a file outside the repository" in checking("--render", code=0)


def test_a_link_to_a_file_of_the_repository_is_followed(checking: Checking, repository: Path) -> None:
    write({"shared.txt": "not valid!"})
    (repository / "chart" / "secret").symlink_to("../shared.txt")
    assert "`not valid!`" in checking("--render", code=1)


@pytest.mark.usefixtures("repository")
def test_a_dependency_outside_the_repository_is_left_out(checking: Checking) -> None:
    dependency = "dependencies: [{name: mine, version: 1.0.0, repository: 'file://../../charts/mine'}]\n"
    write({"chart/Chart.yaml": CHART + dependency})
    assert "Rendered without charts that are not in the repository: mine (for chart)" in checking("--render", code=0)


def test_a_generator_only_reads_files_of_the_repository(checking: Checking, repository: Path) -> None:
    (repository / "clusters").symlink_to(repository.parent)
    generators = "[{git: {files: [{path: clusters/outside.yaml}]}}]"
    parameters = "{source: {path: chart, helm: {parameters: [{name: a, value: '{{a}}'}]}}}"
    write(
        {
            "web.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\n"
            f"spec: {{generators: {generators}, template: {{metadata: {{name: web}}, spec: {parameters}}}}}\n"
        }
    )
    assert "s3cr3t" not in checking("--render")
