"""Kustomizations are built with every file of their repository, as Flux builds them, and with no file outside it."""

import os
from pathlib import Path

import pytest

from deployment_text import deployment
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("tools")

WEB = deployment("{containers: [{name: web, image: nginx}]}")
SPREAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: wob}}
"""


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in the working directory, with files outside it."""
    write({"outside/secret.yaml": WEB, "repository/.git/HEAD": ""})
    monkeypatch.chdir(project / "repository")
    return project / "repository"


FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\nspec: {path: ./apps/web}\n"


def test_a_patch_in_another_folder_of_the_repository_is_read(checking: Checking, repository: Path) -> None:  # noqa: ARG001
    write(
        {
            "clusters/web.yaml": FLUX,
            "apps/web/kustomization.yaml": "resources: [web.yaml]\npatches: [{path: ../../shared/spread.yaml}]\n",
            "apps/web/web.yaml": WEB,
            "shared/spread.yaml": SPREAD,
        }
    )
    assert checking.messages() == [
        (
            "shared/spread.yaml:11:44 spread-misses-itself "
            "spec.template.spec.topologySpreadConstraints[0].labelSelector.matchLabels.app ['apps/web (Kustomization web)']"
        )
    ]


OUTSIDE = {
    "a patch": "resources: [web.yaml]\npatches: [{path: ../outside/secret.yaml}]\n",
    "an absolute path": "resources: [web.yaml]\nconfigMapGenerator: [{name: a, files: [FOLDER/outside/secret.yaml]}]\n",
    "a named file": "resources: [web.yaml]\nconfigMapGenerator: [{name: a, files: ['key=../outside/secret.yaml']}]\n",
    "a link": "resources: [web.yaml, link.yaml]\n",
    "a generator": "resources: [web.yaml]\ngenerators: [made.yaml]\n",
}


@pytest.mark.parametrize("way", OUTSIDE)
def test_a_file_outside_the_repository_is_not_read(way: str, checking: Checking, repository: Path) -> None:
    made = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, files: [../outside/secret.yaml]}\n"
    write({"kustomization.yaml": OUTSIDE[way].replace("FOLDER", str(repository.parent)), "web.yaml": WEB, "made.yaml": made})
    os.symlink("../outside/secret.yaml", "link.yaml")
    [failed] = checking.report()["summary"]["rendered"]["failed"]
    assert failed["reason"] == "`../outside/secret.yaml` is outside the repository"


def test_a_plugin_that_a_patch_changes_is_not_run(checking: Checking, repository: Path) -> None:
    """Its path may change while it is built, or become a URL."""
    plugin = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, files: [web.yaml]}\n"
    path = os.path.join(repository.parent, "outside", "secret.yaml")
    operation = f"    - op: replace\n      path: /files/0\n      value: {path}\n"
    patch = f"patches:\n- target: {{kind: ConfigMapGenerator}}\n  patch: |-\n{operation}"
    write({"k/kustomization.yaml": "resources: [web.yaml]\ngenerators: [../made]\n", "k/web.yaml": WEB})
    write({"made/kustomization.yaml": f"resources: [plugin.yaml]\n{patch}", "made/plugin.yaml": plugin})
    [failed] = checking.report("k")["summary"]["rendered"]["failed"]
    assert failed["reason"] == "afflint does not render configurations of plugins from a kustomization with the field `patches`"


CHART = {
    "app/charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "app/charts/web/values.yaml": "app: web\n",
    "app/charts/web/templates/web.yaml": WEB.replace("app: web}}\n    spec:", "app: '{{ .Values.app }}'}}\n    spec:"),
}


def test_a_chart_of_a_kustomization_is_rendered(checking: Checking, repository: Path) -> None:  # noqa: ARG001
    write({**CHART, "app/kustomization.yaml": "helmCharts: [{name: web, releaseName: web, valuesInline: {app: other}}]\n"})
    report = checking.report("--render=kustomize")
    assert report["summary"]["rendered"]["kustomizations"] == 1
    assert [each["rule"] for each in report["findings"]] == ["selector-template-mismatch"]


REJECTED = {
    "an option as a name": ("{name: web, releaseName: '--post-renderer=./run'}", "`--post-renderer=./run` cannot be passed to Helm"),
    "a folder as a name": ("{name: ../../web}", "`../../web` is not the name of a chart"),
    "another case": (
        "{name: web, RELEASENAME: x}",
        "afflint does not render charts of a kustomization with the field `RELEASENAME`",
    ),
    "values outside": ("{name: web, valuesFile: ../../outside/secret.yaml}", "`../../outside/secret.yaml` is outside the repository"),
}


@pytest.mark.parametrize("way", REJECTED)
def test_a_chart_that_could_do_harm_is_not_rendered(way: str, checking: Checking, repository: Path) -> None:  # noqa: ARG001
    entry, reason = REJECTED[way]
    write({**CHART, "app/kustomization.yaml": f"helmCharts: [{entry}]\n"})
    [failed] = checking.report("--render=kustomize")["summary"]["rendered"]["failed"]
    assert failed["reason"] == reason


def test_plugins_of_helm_in_the_repository_are_not_loaded(checking: Checking, repository: Path) -> None:  # noqa: ARG001
    write({**CHART, "app/kustomization.yaml": "helmGlobals: {configHome: ./home}\nhelmCharts: [{name: web}]\n"})
    [failed] = checking.report("--render=kustomize")["summary"]["rendered"]["failed"]
    assert failed["reason"] == "afflint does not render charts of a kustomization with the field `configHome`"


def test_a_chart_that_is_not_in_the_repository_is_left_out(checking: Checking, repository: Path) -> None:  # noqa: ARG001
    charts = "helmCharts: [{name: redis, repo: 'https://charts.example', version: 1.0.0}]\n"
    write({"kustomization.yaml": f"resources: [web.yaml]\n{charts}", "web.yaml": WEB})
    report = checking.report()
    assert report["summary"]["rendered"]["kustomizations"] == 1
    assert report["coverage"]["not_seen"] == [
        {"kind": "remote resource", "name": "the chart redis", "file": "kustomization.yaml", "reason": "it requires the network"}
    ]


def test_flux_builds_a_folder_without_a_kustomization(checking: Checking, repository: Path) -> None:  # noqa: ARG001
    """All its manifests, those of folders below, and the kustomizations there, with the labels that the object of Flux adds."""
    write(
        {
            "clusters/web.yaml": FLUX.replace("apps/web}", "apps/web, postBuild: {substitute: {disk: '-ssd'}}}"),
            "apps/web/web.yaml": WEB.replace("spec: {containers", "spec: {nodeSelector: {disk: '${disk}'}, containers"),
            "apps/web/more/db.yaml": WEB.replace("web", "db"),
            "apps/web/built/kustomization.yaml": "resources: [cache.yaml]\nnamePrefix: my-\n",
            "apps/web/built/cache.yaml": WEB.replace("web", "cache"),
        }
    )
    report = checking.report()
    assert [each["name"] for each in report["coverage"]["seen"]] == ["web"]
    assert [(each["file"], each["line"], each["rule"]) for each in report["findings"]] == [("clusters/web.yaml", 4, "invalid-label-value")]
    assert report["summary"]["documents"] == 3


def test_a_kustomization_in_the_folder_of_a_chart_is_built_and_not_changed(checking: Checking, repository: Path) -> None:
    inner = "resources: [db.yaml]\n"
    write({**CHART, "app/charts/web/extra/kustomization.yaml": inner, "app/charts/web/extra/db.yaml": WEB.replace("web", "db")})
    write({"app/kustomization.yaml": "resources: ['https://example.invalid/a.yaml', charts/web/extra]\nhelmCharts: [{name: web}]\n"})
    assert checking.report("--render=kustomize")["summary"]["rendered"]["failed"] == []
    assert (repository / "app/charts/web/extra/kustomization.yaml").read_text() == inner
