"""Bases of kustomizations in other repositories: `--render-network` fetches them, and `--offline` takes them from the cache.

The servers of these tests are on 127.0.0.1 only.
"""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from afflint.programs import sandbox
from afflint.rendering import git_downloads
from afflint.rendering.programs import RenderError
from afflint.rendering.remote_bases import remote_bases
from command_line import exit_code
from rendering.chart_servers import serving
from rendering.git_server import GitServer, commit, git, serving_git
from rendering.rendered_trees import Checking, reasons, write

pytestmark = pytest.mark.usefixtures("tools_and_git")

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeSelector: {zone: ZONE}
  containers: [{name: web, image: nginx}]
"""
WRONG = POD.replace("ZONE", "1")
RIGHT = POD.replace("ZONE", "a")


@pytest.fixture
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the repositories that are served; `bases` has the base `web`."""
    top = tmp_path_factory.mktemp("repositories")
    commit(top / "bases", {"web/kustomization.yaml": "resources: [pod.yaml]\n", "web/pod.yaml": WRONG.replace("NAME", "web")})
    return top


@pytest.fixture
def server(repositories: Path) -> Iterator[GitServer]:
    with serving_git(repositories) as server:
        yield server


def overlay(*resources: str) -> dict[str, str]:
    """A kustomization with these resources, one in each line, after that of its own pod in line 2."""
    lines = [f"- {each}\n" for each in ("own.yaml", *resources)]
    return {".git/HEAD": "", "app/kustomization.yaml": "resources:\n" + "".join(lines), "app/own.yaml": WRONG.replace("NAME", "own")}


OWN = "app/own.yaml:5:24 wrong-type spec.nodeSelector.zone ['app']"
OF_BASE = "app/kustomization.yaml:3:3 wrong-type spec.nodeSelector.zone ['app']"


# What is fetched.


@pytest.mark.parametrize("query", ["?ref=main", "", "?version=v1", "?ref=COMMIT&timeout=90s&submodules=false"])
def test_findings_in_a_remote_base_are_at_the_entry_that_names_it(
    checking: Checking, server: GitServer, repositories: Path, query: str
) -> None:
    git(repositories / "bases", "tag", "v1")
    ref = git(repositories / "bases", "rev-parse", "HEAD")
    write(overlay(f"{server.address}/bases/.git//web{query.replace('COMMIT', ref)}"))
    assert checking.messages() == [OWN]
    assert server.requests == []
    assert checking.messages("--render-network") == [OF_BASE, OWN]


def test_a_patch_of_the_user_for_a_remote_base_is_at_its_line(checking: Checking, server: GitServer, repositories: Path) -> None:
    commit(repositories / "bases", {"web/pod.yaml": RIGHT.replace("NAME", "web")})
    files = overlay(f"{server.address}/bases/.git//web")
    patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeSelector: {zone: 2}}\n"
    write({**files, "app/kustomization.yaml": files["app/kustomization.yaml"] + "patches: [{path: patch.yaml}]\n", "app/patch.yaml": patch})
    assert checking.messages("--render-network") == [OWN, "app/patch.yaml:4:29 wrong-type spec.nodeSelector.zone ['app']"]


def test_a_remote_component_is_applied(checking: Checking, server: GitServer, repositories: Path) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [../web]\n"
    commit(repositories / "bases", {"part/kustomization.yaml": component})
    write({**overlay(), "app/kustomization.yaml": f"resources: [own.yaml]\ncomponents:\n- {server.address}/bases/.git//part\n"})
    assert checking.messages("--render-network") == [OF_BASE, OWN]


def test_remote_bases_of_remote_bases_are_fetched_up_to_a_depth(checking: Checking, server: GitServer, repositories: Path) -> None:
    commit(repositories / "more", {"a/kustomization.yaml": f"resources: ['{server.address}/bases/.git//web']\n"})
    write(overlay(f"{server.address}/more/.git//a"))
    assert checking.messages("--render-network") == [OF_BASE, OWN]
    chain = {
        f"{number}/kustomization.yaml": f"resources: ['{server.address}/more/.git//{number + 1}', ../pod]\nnamePrefix: a\n"
        for number in range(9)
    }
    commit(repositories / "more", {**chain, "pod/kustomization.yaml": "resources: [pod.yaml]\n", "pod/pod.yaml": RIGHT})
    write(overlay(f"{server.address}/more/.git//0"))
    assert reasons(checking.report("--render-network")) == ["more than 5 bases name each other"]


def test_a_manifest_at_a_url_is_fetched(checking: Checking) -> None:
    with serving() as charts:
        charts.files["/pod.yaml"] = WRONG.replace("NAME", "web").encode()
        write(overlay(f"http://{charts.address}/pod.yaml"))
        assert checking.messages("--render-network") == [OF_BASE, OWN]


def test_a_kustomization_may_need_a_remote_base_and_a_chart(checking: Checking, server: GitServer) -> None:
    with serving() as charts:
        template = POD.replace("NAME", "chart").replace("ZONE", "{{ .Values.zone }}")
        charts.add("web", "1.2.0", {"templates/pod.yaml": template, "values.yaml": "zone: a\n"})
        files = overlay(f"{server.address}/bases/.git//web")
        chart = f"helmCharts: [{{name: web, repo: '{charts.repository}', version: 1.2.0, valuesInline: {{zone: 1}}}}]\n"
        write({**files, "app/kustomization.yaml": files["app/kustomization.yaml"] + chart})
        at_value = "app/kustomization.yaml:4:NN wrong-type spec.nodeSelector.zone ['app']".replace("NN", str(chart.index("1}}") + 1))
        assert checking.messages("--render-network") == [OF_BASE, at_value, OWN]


def test_what_was_fetched_is_built_offline(
    checking: Checking,
    server: GitServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    cache = str(tmp_path_factory.mktemp("cache"))
    address = f"{server.address}/bases/.git//web"
    write(overlay(address))
    (reason,) = reasons(checking.report("--offline"))
    assert reason == f"web of {server.address}/bases/.git HEAD is not in the cache; `--render-network` fetches it"
    for words in (["--render-network"], ["--offline"]):
        server.requests.clear()
        exit_code(monkeypatch, "check", "--cache-dir", cache, "--render", *words)
        assert "app/kustomization.yaml:3:3" in capfd.readouterr().out
    assert server.requests == []


def test_a_kustomization_with_a_generator_gets_its_remote_base(checking: Checking, server: GitServer) -> None:
    generator = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, literals: [a=b]}\n"
    files = overlay(f"{server.address}/bases/.git//web")
    text = files["app/kustomization.yaml"] + "generators: [made.yaml]\n"
    write({**files, "app/kustomization.yaml": text, "app/made.yaml": generator})
    assert checking.messages("--render-network") == [OF_BASE, OWN]


@pytest.mark.skipif(os.name != "posix", reason="the replacement for ssh is a shell script")
def test_a_base_is_fetched_over_ssh_by_the_git_of_the_user(
    checking: Checking, repositories: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replacement for ssh starts what the server would start, and records its arguments."""
    folder = tmp_path_factory.mktemp("ssh")
    ssh = folder / "ssh"
    ssh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {folder}/words\nfor last; do :; done\neval "$last"\n', encoding="utf-8")
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    repository = repositories / "bases" / ".git"
    write(overlay(f"git@host.invalid:{str(repository)[1:]}//web?ref=main"))
    assert checking.messages("--render-network") == [OF_BASE, OWN]
    words = (folder / "words").read_text(encoding="utf-8").splitlines()
    assert words[-2:] == ["git@host.invalid", f"git-upload-pack '{repository}'"]


def test_attributes_of_a_repository_leave_nothing_out(checking: Checking, server: GitServer, repositories: Path) -> None:
    """kustomize and Flux check a repository out, which ignores `export-ignore`."""
    commit(repositories / "bases", {".gitattributes": "/web export-ignore\n"})
    write(overlay(f"{server.address}/bases/.git//web"))
    assert checking.messages("--render-network") == [OF_BASE, OWN]


def test_a_large_repository_is_kept_without_its_source_code(
    checking: Checking, server: GitServer, repositories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = "".join(random.Random(1).choices("0123456789abcdef", k=1 << 20))
    commit(repositories / "bases", {"pkg/main.go": large})
    address = f"{server.address}/bases/.git"
    write(overlay(f"{address}//web"))
    monkeypatch.setattr(git_downloads, "LARGEST", 1 << 18)
    assert checking.messages("--render-network") == [OF_BASE, OWN]
    commit(repositories / "bases", {"large.yaml": large})
    (reason,) = reasons(checking.report("--render-network"))
    assert reason == f"the repository of web of {address} HEAD has more than 0 MB, packed"


# What is not.


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files that programs write")
def test_a_repository_that_is_too_large_does_not_fill_the_disk(
    checking: Checking, server: GitServer, repositories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = "".join(random.Random(1).choices("0123456789abcdef", k=1 << 22))
    commit(repositories / "bases", {"large.txt": large})
    address = f"{server.address}/bases/.git"
    write(overlay(f"{address}//web"))
    monkeypatch.setattr(sandbox, "MOST_WRITTEN", 1 << 20)
    (reason,) = reasons(checking.report("--render-network"))
    assert reason == f"web of {address} HEAD cannot be fetched: it has more than 1 MB"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none", "none of ADDRESS HEAD is not a folder"),
        ("empty", "ADDRESS//empty is not the folder of a kustomization"),
        ("../../etc", "`../../etc` leaves its repository"),
        ("plugin", "ADDRESS//plugin is not rendered: one of its kustomizations generates the configuration of another"),
    ],
)
def test_a_base_that_cannot_be_built_is_left_out(checking: Checking, server: GitServer, repositories: Path, path: str, reason: str) -> None:
    files = {
        "empty/a.txt": "",
        "plugin/kustomization.yaml": "generators: [../made]\n",
        "made/kustomization.yaml": "resources: [../web]\n",
    }
    commit(repositories / "bases", files)
    address = f"{server.address}/bases/.git"
    write(overlay(f"{address}//{path}"))
    report = checking.report("--render-network")
    assert reasons(report) == [reason.replace("ADDRESS", address)]
    assert [each["file"] for each in report["findings"]] == ["app/own.yaml"]


def test_a_base_with_a_file_outside_its_repository_is_left_out(checking: Checking, server: GitServer, repositories: Path) -> None:
    """Not even the repository that names the base."""
    write(overlay(f"{server.address}/bases/.git//outside"))
    file = Path("app/own.yaml").resolve()
    commit(repositories / "bases", {"outside/kustomization.yaml": f"resources: [{'../' * 20}{file.relative_to('/')}]\n"})
    (reason,) = reasons(checking.report("--render-network"))
    assert reason.endswith("` is outside the repository")


def test_links_in_a_fetched_base_are_not_followed(checking: Checking, server: GitServer, repositories: Path) -> None:
    (repositories / "bases" / "web" / "link.yaml").symlink_to("/etc/hostname")
    commit(repositories / "bases", {"web/kustomization.yaml": "resources: [pod.yaml, link.yaml]\n"})
    write(overlay(f"{server.address}/bases/.git//web"))
    (failed,) = checking.report("--render-network")["summary"]["rendered"]["failed"]
    assert "link.yaml" in failed["reason"]


def test_a_url_where_a_base_cannot_be_is_not_fetched(checking: Checking, server: GitServer) -> None:
    write({**overlay(), "app/kustomization.yaml": f"resources: [own.yaml]\npatches: [{{path: '{server.address}/a.yaml'}}]\n"})
    (failed,) = checking.report("--render-network")["summary"]["rendered"]["failed"]
    assert failed["reason"] == f"afflint does not fetch {server.address}/a.yaml, which is not a base"
    assert server.requests == []


def test_no_credentials_are_shown(checking: Checking, server: GitServer) -> None:
    address = server.address.replace("//", "//me:secret@")
    write(overlay(f"{address}/none.git//web", f"{address}/none.yaml"))
    shown = checking("--render", "--render-network", "-v") + str(checking.report("--render-network"))
    assert "none.git" in shown
    assert "secret" not in shown


# Addresses.

HERE = "https://github.com/org/repo"
ADDRESSES = {
    "github.com/org/repo//path?ref=v1": (HERE, "v1", "path"),
    "github.com/org/repo/path/below": (HERE, "HEAD", "path/below"),
    "https://github.com/org/repo?ref=v1": (HERE, "v1", "."),
    "git::https://github.com/org/repo//path": (HERE, "HEAD", "path"),
    "https://host/group/sub/repo.git//path?ref=": ("https://host/group/sub/repo.git", "HEAD", "path"),
    "https://host/group/sub/repo.git/path?version=2": ("https://host/group/sub/repo.git", "2", "path"),
    "https://me@host/org/project/_git/repo/path?ref=a": ("https://host/org/project/_git/repo", "a", "path"),
    "git@host:org/repo//path": ("ssh://git@host/org/repo", "HEAD", "path"),
    "git@github.com:org/repo.git/path?ref=a%2Fb": ("ssh://git@github.com/org/repo.git", "a/b", "path"),
    "git@github.com/org/repo//path": ("ssh://git@github.com/org/repo", "HEAD", "path"),
    "ssh://git@host:22/org/repo.git?ref=v1&timeout=10s&submodules=false": ("ssh://git@host:22/org/repo.git", "v1", "."),
    "ssh://git:secret@host/org/repo//path": ("ssh://git@host/org/repo", "HEAD", "path"),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_is_read_as_kustomize_reads_it(text: str) -> None:
    assert [tuple(each) for each in remote_bases(text)] == [ADDRESSES[text]]


def test_a_url_without_a_mark_is_a_manifest_or_else_a_repository() -> None:
    assert [each.shown for each in remote_bases("https://me:secret@host/org/repo")] == [
        "https://host/org/repo",
        ". of https://host/org/repo HEAD",
    ]
    assert [each.shown for each in remote_bases("https://github.com/a/b/releases/download/v1/all.yaml")] == [
        "https://github.com/a/b/releases/download/v1/all.yaml"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc//app",
        "ext::sh -c id",
        "git::ext::sh -c id",
        "gh:org/repo",
        "ssh://-oProxyCommand=id/org/repo",
        "-oProxyCommand=id@host:org/repo",
        "git@-oProxyCommand=id:org/repo",
        "github.com/org/repo?ref=--upload-pack=id",
        "github.com/org/repo?ref=a:b",
        "github.com/org/--upload-pack=id//x",
        "github.com/org",
        "github.com/org/repo//../../x",
        "host:org/repo",
    ],
)
def test_an_address_that_could_be_more_than_that_is_rejected(text: str) -> None:
    with pytest.raises(RenderError):
        remote_bases(text)
