"""`--render` reads nothing outside the repository: no values file, no link in a chart, no file that a generator names."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from afflint.rendering import chart_copies
from afflint.rendering.hints import Hint
from afflint.rendering.kustomize_chart_origins import ChartOutput, KustomizeChartMap
from afflint.rendering.kustomize_origins import RenderedIdentity
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourceTexts
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


REFERENCE = '{"properties": {"a": {"$ref": "file://OUTSIDE"}}}'


def pack_subchart(folder: Path, schema: str) -> None:
    with tarfile.open(folder / "sub-1.0.0.tgz", "w:gz") as archive:
        for name, text in {"Chart.yaml": CHART.replace("web", "sub"), "values.schema.json": schema}.items():
            member = tarfile.TarInfo(f"sub/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


@pytest.mark.parametrize("place", ["chart", "packed subchart"])
def test_a_schema_of_values_reads_no_file(place: str, checking: Checking, repository: Path) -> None:
    """Helm rejects the value with this file, and would so show what the file contains."""
    write({"../schema.json": '{"type": "integer"}'})
    schema = REFERENCE.replace("OUTSIDE", str(repository.parent / "schema.json"))
    if place == "chart":
        write({"chart/values.schema.json": schema, "chart/values.yaml": "a: not valid!\n"})
    else:
        (repository / "chart" / "charts").mkdir()
        write({"chart/values.yaml": "a: not valid!\nsub: {a: b}\n"})
        pack_subchart(repository / "chart" / "charts", schema)
    assert "`not valid!`" in checking("--render", code=1)


@pytest.mark.usefixtures("repository")
def test_a_chart_of_a_kustomization_is_rendered_without_a_schema_that_refers_to_files(
    checking: Checking, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, "kustomize", "helm")
    write({"app/kustomization.yaml": "helmGlobals: {chartHome: ../}\nhelmCharts: [{name: chart}]\n", "chart/values.schema.json": REFERENCE})
    assert "Not rendered" not in checking("--render", code=0)


TWO_DOCUMENTS = """\
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: web}
chartHome: ..
name: chart
---
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: web}
helmGlobals: {chartHome: HOME}
helmCharts: [{name: NAME, valuesFile: VALUES}]
"""


@pytest.mark.parametrize(
    ("home", "name", "values", "rendered"),
    [
        ("..", "chart", "own.yaml", ["chart", "chart"]),
        ("../../charts", "mine", "own.yaml", ["chart"]),
        ("..", "chart", "../../outside.yaml", ["chart"]),
        ("..", "chart, kubeVersion: --debug", "own.yaml", ["chart"]),
    ],
    ids=["inside", "chart outside", "values outside", "option"],
)
def test_a_chart_in_another_document_of_a_generator_is_in_the_repository(
    home: str, name: str, values: str, rendered: list[str], repository: Path
) -> None:
    """The build examines only the documents that are generators of charts."""
    asked: list[str] = []

    def render(hint: Hint) -> ChartOutput:
        asked.append(os.path.basename(hint.folder))
        raise RenderError("not rendered in this test")

    written = TWO_DOCUMENTS.replace("HOME", home).replace("NAME", name).replace("VALUES", values)
    write({"app/chart.yaml": written, "app/own.yaml": "a: b\n"})
    charts = KustomizeChartMap(render, SourceTexts(), {}, "", str(repository))
    identity = RenderedIdentity("v1", "Pod", None, "web")
    assert charts.places(str(repository / "app/chart.yaml"), identity, {}, (), key=False) == ()
    assert asked == rendered


def test_a_chart_with_deep_folders_is_not_rendered(checking: Checking, repository: Path) -> None:
    (repository / "chart" / "/".join(["a"] * 300)).mkdir(parents=True)
    assert "Not rendered: chart (helm): the chart in " in checking("--render", code=0)


@pytest.mark.usefixtures("repository")
def test_a_dependency_whose_name_is_a_path_is_looked_up_nowhere(checking: Checking) -> None:
    write({"chart/Chart.yaml": CHART + "dependencies: [{name: ../../../charts/mine, version: 1.0.0}]\n"})
    assert "Rendered without charts that are not in the repository: ../../../charts/mine" in checking("--render", code=0)


@pytest.mark.usefixtures("repository")
def test_dependencies_of_dependencies_are_copied_up_to_a_number(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten charts that each depend on the ten of the next layer would be copied more than ten million times over seven layers."""
    monkeypatch.setattr(chart_copies, "_MOST_CHARTS", 6)
    for layer, below in (("a", "b"), ("b", "c"), ("c", "")):
        dependencies = ", ".join(f"{{name: {below}{number}, version: 1.0.0}}" for number in range(2) if below)
        for number in range(2 if layer != "a" else 1):
            write({f"{layer}{number}/Chart.yaml": CHART.replace("web", f"{layer}{number}") + f"dependencies: [{dependencies}]\n"})
    assert "Not rendered: a0 (helm): the chart and its dependencies are more than 6 charts" in checking("--render", code=0)
    monkeypatch.setattr(chart_copies, "_MOST_CHARTS", 7)
    assert "Not rendered" not in checking("--render", code=0)


# Kustomizations that hide what they load.

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: web, image: nginx}]}\n"
GENERATOR = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, files: [../../secret]}"
LABEL = "{source: {kind: ConfigMap, fieldPath: data.secret}, targets: [{select: {kind: Pod}, fieldPaths: [metadata.labels.a]}]}"


@pytest.fixture
def kustomization(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a kustomization; beside it are files of the user."""
    on_path(monkeypatch, "kustomize", "helm")
    mistake = POD.replace("NAME}", "theirs, labels: {a: 's3cr3t of mine!'}}")
    write({"secret": "s3cr3t of mine!\n", "outside/pod.yaml": mistake, "outside/kustomization.yaml": "resources: [pod.yaml]\n"})
    write({"repository/.git/HEAD": "", "repository/app/pod.yaml": POD.replace("NAME}", "mine, labels: {a: b}}")})
    monkeypatch.chdir(project / "repository")
    return project / "repository" / "app" / "kustomization.yaml"


HIDING = {
    "in a field in other case": "Resources: [pod.yaml, ../../outside]\n",
    "in a plugin in other case": "resources: [pod.yaml]\nGenerators: [plugin.yaml]\n",
    "in a plugin on one line": f"resources: [pod.yaml]\ngenerators: ['{GENERATOR}']\n",
    "in a file whose name has two lines": 'resources: [pod.yaml]\nconfigMapGenerator: [{name: x, files: ["secret=two\\nlines"]}]\n',
    "in a plugin in a list": "resources: [pod.yaml]\ngenerators: [list.yaml]\n",
    "in a plugin with a repeated key": "resources: [pod.yaml]\ngenerators: [repeated.yaml]\n",
    "in a document on the line of a separator": "--- {resources: [pod.yaml, ../../outside]}\n---\nresources: [pod.yaml]\n",
}


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING)
def test_a_kustomization_cannot_hide_what_it_loads(text: str, checking: Checking, kustomization: Path) -> None:
    (kustomization.parent / "two\nlines").symlink_to("../../secret")
    plugins = {"app/plugin.yaml": GENERATOR, "app/list.yaml": f"apiVersion: v1\nkind: List\nitems: [{GENERATOR}]\n"}
    plugins["app/repeated.yaml"] = GENERATOR.replace("files:", "files: [../../secret], files:").replace("../../secret]}", "pod.yaml]}")
    write({**plugins, "app/kustomization.yaml": f"{text.rstrip()}\nreplacements: [{LABEL}]\n" if text.startswith("resources") else text})
    shown = checking("--render", code=0)
    assert "s3cr3t" not in shown
    assert "Not rendered: app (kustomize): " in shown


@pytest.mark.parametrize("plugin", ["inline", "list.yaml"])
def test_a_hidden_chart_starts_no_program_of_the_tree(plugin: str, checking: Checking, kustomization: Path) -> None:
    """Helm starts the programs of its plugins to fetch from addresses that they declare."""
    downloader = "name: x\nversion: 1.0.0\nusage: x\ndescription: x\ncommand: x\ndownloaders: [{command: fetch, protocols: [x]}]\n"
    chart = "name: y, releaseName: y, version: 1.0.0, repo: 'x:y', configHome: app/home"
    generator = f"{{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {{name: x}}, {chart}}}"
    named = generator.replace("'", "''") if plugin == "inline" else plugin
    write(
        {
            "app/kustomization.yaml": f"helmCharts: [{{name: web, releaseName: web}}]\ngenerators: ['{named}']\n",
            "app/list.yaml": f"apiVersion: v1\nkind: List\nitems: [{generator}]\n",
            "app/charts/web/Chart.yaml": CHART,
            "app/charts/web/values.yaml": "",
            "app/charts/web/templates/pod.yaml": POD.replace("NAME", "web"),
            "app/home/.data/plugins/x/plugin.yaml": downloader,
            "app/home/.data/plugins/x/fetch": "#!/bin/sh\necho ran > started\n",
        }
    )
    (kustomization.parent / "home/.data/plugins/x/fetch").chmod(0o755)
    shown = checking("--render", "app/kustomization.yaml")
    assert not [*kustomization.parents[1].rglob("started")]
    assert "afflint does not render charts of a kustomization with the field `configHome`" in shown


def test_a_kustomization_that_another_one_takes_as_a_file_is_not_overwritten(checking: Checking, kustomization: Path) -> None:
    """The copy without remote resources has links to files, and its own kustomizations."""
    base = "resources: [pod.yaml]  # a comment\n"
    remote = "https://example.invalid/x.yaml"
    write({"base/kustomization.yaml": base, "base/pod.yaml": POD.replace("NAME", "base")})
    kustomization.write_text(f"resources: [../base, '{remote}']\nconfigMapGenerator: [{{name: x, files: [../base/kustomization.yaml]}}]\n")
    assert "Left out of 1 kustomization" in checking("--render")
    assert Path("base/kustomization.yaml").read_text(encoding="utf-8") == base


def test_a_kustomization_outside_the_repository_is_not_read(
    checking: Checking, kustomization: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real_open = os.open

    def recording(path: str, *rest: object, **more: object) -> int:
        opened.append(os.fspath(path))
        return real_open(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", recording)
    kustomization.write_text("resources: [pod.yaml, ../../outside]\n")
    assert "`../outside` is outside the repository" in checking("--render")
    assert str(kustomization) in opened
    assert str(kustomization.parents[2] / "outside" / "kustomization.yaml") not in opened


@pytest.mark.parametrize("field", ["resources: [pod.yaml, 'URL']", "openapi: {path: 'URL'}"], ids=["left out", "not rendered"])
def test_credentials_in_a_url_are_not_printed(field: str, checking: Checking, kustomization: Path) -> None:
    kustomization.write_text(field.replace("URL", "https://me:s3cr3t@example.invalid/x.yaml") + "\n")
    shown = checking("--render", "-v")
    assert "https://example.invalid/x.yaml" in shown
    assert "s3cr3t" not in shown
