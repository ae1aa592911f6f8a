"""Folders of other Git repositories that Applications and Flux Kustomizations name: `--render-network` fetches them.

The repositories of these tests are on 127.0.0.1 only.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rendering.git_server import GitServer, commit, serving_git
from rendering.rendered_trees import Checking, reasons, write

pytestmark = pytest.mark.usefixtures("tools_and_git")

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {zone: ZONE}
  containers: [{name: web, image: nginx}]
"""
WRONG = POD.replace("ZONE", "1")
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [part.yaml]\n"
FILES = {
    "app/kustomization.yaml": "resources: [pod.yaml]\n",
    "app/pod.yaml": WRONG,
    "part/kustomization.yaml": COMPONENT,
    "part/part.yaml": WRONG.replace("name: web}", "name: part}"),
    "plain/pod.yaml": WRONG,
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/values.yaml": "zone: a\n",
    "chart/wrong.yaml": "zone: 1\n",
    "chart/templates/pod.yaml": POD.replace("ZONE", "{{ .Values.zone }}"),
    "shared/wrong.yaml": "zone: 2\n",
}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  source:
    repoURL: ADDRESS
    targetRevision: main
    path: PATH
"""
SOURCE = (
    "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: apps}\nspec: {url: 'ADDRESS', ref: {branch: main}}\n"
)
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec:
  sourceRef: {kind: GitRepository, name: apps}
  path: PATH
"""
IN_KUSTOMIZATION = "shop.yaml:6:9 wrong-type spec.nodeSelector.zone"


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """It serves the repository `apps`."""
    top = tmp_path_factory.mktemp("repositories")
    commit(top / "apps", FILES)
    with serving_git(top) as server:
        yield server


def application(server: GitServer, path: str, more: str = "") -> None:
    text = APPLICATION.replace("ADDRESS", f"{server.address}/apps/.git").replace("PATH", path)
    write({".git/HEAD": "", "shop.yaml": text + more})


def kustomization(server: GitServer, path: str, more: str = "") -> None:
    source = SOURCE.replace("ADDRESS", f"{server.address}/apps/.git")
    write({".git/HEAD": "", "shop.yaml": KUSTOMIZATION.replace("PATH", path) + more, "source.yaml": source})


def test_an_application_renders_a_kustomization_of_another_repository(checking: Checking, server: GitServer) -> None:
    application(server, "app", "    kustomize: {components: [../part]}\n")
    assert checking.messages() == []
    assert server.requests == []
    report = checking.report("--render-network")
    (found,) = report["findings"]  # The second one is at the same place.
    assert (found["file"], found["line"], found["column"], found["object"]["name"]) == ("shop.yaml", 8, 11, "part")
    assert found["rendered_in"] == [f"folder app of {server.address}/apps/.git main (Application shop of .)"]
    assert reasons(report) == []


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ("valueFiles: [wrong.yaml]", "8:11"),
        ("valueFiles: [/shared/wrong.yaml]", "8:11"),
        ("valueFiles: [../../../../../etc/hostname, none.yaml]", ""),
        ("valuesObject: {zone: 1}", "9:33"),
    ],
)
def test_an_application_renders_a_chart_of_another_repository(checking: Checking, server: GitServer, values: str, place: str) -> None:
    application(server, "chart", f"    helm: {{{values}}}\n")
    messages = checking.messages("--render-network")
    assert [each.split()[:2] for each in messages] == ([[f"shop.yaml:{place}", "wrong-type"]] if place else [])


@pytest.mark.parametrize("path", ["./app", "plain"])
def test_a_flux_kustomization_renders_a_folder_of_another_repository(checking: Checking, server: GitServer, path: str) -> None:
    """Flux builds a folder without a kustomization, too."""
    kustomization(server, path, "  components: [../part]\n" if path == "./app" else "")
    assert checking.messages() == []
    messages = checking.messages("--render-network")
    assert messages
    assert all(each.startswith(IN_KUSTOMIZATION) for each in messages)


def test_a_patch_of_the_object_is_at_its_line(checking: Checking, server: GitServer) -> None:
    patch = "  patches:\n  - patch: |\n      {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelector: {zone: 3}}}\n"
    kustomization(server, "./app", patch)
    assert [each.split()[:2] for each in checking.messages("--render-network")] == [["shop.yaml:9:86", "wrong-type"]]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none", "none of ADDRESS main is not a folder"),
        ("plain", "plain of ADDRESS main is neither a kustomization nor a chart"),
        ("../../etc", "../../etc of ADDRESS main is not a folder"),
    ],
)
def test_an_application_says_why_a_folder_is_not_rendered(checking: Checking, server: GitServer, path: str, reason: str) -> None:
    application(server, path)
    assert reasons(checking.report("--render-network")) == [reason.replace("ADDRESS", f"{server.address}/apps/.git")]


def test_a_source_that_is_not_here_is_named(checking: Checking, server: GitServer) -> None:
    kustomization(server, "./app")
    Path("source.yaml").unlink()
    assert reasons(checking.report("--render-network")) == [
        "`GitRepository apps`, which says where its folder is, is not in the repository"
    ]


@pytest.mark.parametrize("remote", ["ADDRESS/apps/.git", "ssh://git@127.0.0.1:22/apps/.git", "git@127.0.0.1:apps/.git"])
def test_the_repository_itself_is_never_fetched(checking: Checking, server: GitServer, remote: str) -> None:
    """A folder that is missing from it is missing, whatever its remote has."""
    application(server, "app")
    write({".git/config": f'[remote "origin"]\n\turl = {remote.replace("ADDRESS", server.address)}\n'})
    assert reasons(checking.report("--render-network")) == ["the folder app is not in the repository"]
    assert server.requests == []


def test_a_folder_that_is_here_is_not_fetched(checking: Checking, server: GitServer) -> None:
    """The address may be that of a fork."""
    application(server, "app")
    write({"app/kustomization.yaml": "resources: [pod.yaml]\n", "app/pod.yaml": WRONG})
    assert [each.split()[0] for each in checking.messages("--render-network")] == ["app/pod.yaml:5:24"]
    assert server.requests == []


def test_objects_in_a_fetched_folder_are_followed(checking: Checking, server: GitServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An Application of Applications in another repository."""
    top = tmp_path_factory.mktemp("more")
    text = APPLICATION.replace("ADDRESS", f"{server.address}/apps/.git").replace("PATH", "app").replace("name: shop", "name: inner")
    commit(top / "all", {"all/kustomization.yaml": "resources: [inner.yaml]\n", "all/inner.yaml": text})
    with serving_git(top) as more:
        outer = APPLICATION.replace("ADDRESS", f"{more.address}/all/.git").replace("PATH", "all")
        write({"shop/shop.yaml": outer})
        Path("shop/.git").mkdir()
        messages = checking.messages("--render-network")
    assert [each.split()[1:3] for each in messages] == [["wrong-type", "spec.nodeSelector.zone"]]
    assert messages[0].startswith("shop/shop.yaml:8:11 ")
