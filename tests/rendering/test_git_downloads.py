"""Charts in the Git repository of a GitRepository: `--render-network` fetches the ref, and `--offline` takes it from the cache.

The repositories of these tests are on 127.0.0.1 only.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from afflint.rendering.git_downloads import git_folder
from afflint.rendering.programs import RenderError
from command_line import exit_code
from rendering.git_server import GitServer, commit, git, serving_git
from rendering.rendered_trees import Checking, reasons, write

pytestmark = pytest.mark.usefixtures("tools_and_git")

CHART = "apiVersion: v2\nname: NAME\nversion: 1.0.0\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {zone: {{ .Values.zone }}}
  containers: [{name: web, image: nginx}]
"""
WEB = {
    "charts/web/Chart.yaml": CHART.replace("NAME", "web"),
    "charts/web/values.yaml": "zone: a\n",
    "charts/web/templates/pod.yaml": POD,
    "values-1.yaml": "zone: 1\n",
}
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: shops}
spec:
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: charts}}}
  values:
    zone: 1
"""
SEEN = "apps/release.yaml:7:11 wrong-type spec.nodeSelector.zone"


@pytest.fixture
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the repositories that are served; `charts` has the chart `web`."""
    top = tmp_path_factory.mktemp("repositories")
    commit(top / "charts", WEB)
    return top


@pytest.fixture
def server(repositories: Path) -> Iterator[GitServer]:
    with serving_git(repositories) as server:
        yield server


def flux(address: str, ref: str = "branch: main") -> dict[str, str]:
    """A release of the chart `web` in a Git repository."""
    spec = f"{{url: '{address}', ref: {{{ref}}}}}"
    source = f"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: charts, namespace: shops}}\nspec: {spec}\n"
    return {".git/HEAD": "", "apps/release.yaml": RELEASE, "apps/source.yaml": source}


@pytest.mark.parametrize("ref", ["branch: main", "tag: v1", "name: refs/tags/v1", "commit: COMMIT"])
def test_a_release_whose_chart_is_in_another_repository_is_rendered(
    checking: Checking, server: GitServer, repositories: Path, ref: str
) -> None:
    git(repositories / "charts", "tag", "v1")
    first = git(repositories / "charts", "rev-parse", "HEAD")
    if ref != "branch: main":
        commit(repositories / "charts", {"charts/web/Chart.yaml": "not a chart"})
    write(flux(f"{server.address}/charts/.git", ref.replace("COMMIT", first)))
    assert checking.messages() == []
    assert server.requests == []
    (messages,) = checking.messages("--render-network")
    assert messages.startswith(SEEN)
    assert "chart charts/web of http://127.0.0.1" in messages


def test_a_chart_may_use_the_values_files_and_charts_of_its_repository(checking: Checking, server: GitServer, repositories: Path) -> None:
    dependency = "dependencies: [{name: sub, version: 1.0.0, repository: 'file://../sub'}]\n"
    sub = {
        "Chart.yaml": CHART.replace("NAME", "sub"),
        "values.yaml": "zone: a\n",
        "templates/pod.yaml": POD.replace("name: web}", "name: sub}"),
    }
    files = {f"charts/sub/{name}": text for name, text in sub.items()}
    commit(repositories / "charts", {**files, "charts/web/Chart.yaml": CHART.replace("NAME", "web") + dependency})
    release = RELEASE.replace("sourceRef", "valuesFiles: [values-1.yaml], sourceRef").replace("zone: 1", "sub: {zone: 1}")
    write({**flux(f"{server.address}/charts/.git"), "apps/release.yaml": release})
    messages = checking.messages("--render-network")
    assert [each.split()[0] for each in messages] == ["apps/release.yaml:5:25", "apps/release.yaml:7:17"]


def test_what_was_fetched_is_rendered_offline(
    checking: Checking,
    server: GitServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    cache = str(tmp_path_factory.mktemp("cache"))
    write(flux(f"{server.address}/charts/.git"))
    (reason,) = reasons(checking.report("--offline"))
    assert reason.endswith(" is not in the cache; `--render-network` fetches it")
    for words in (["--render-network"], ["--offline"]):
        server.requests.clear()
        exit_code(monkeypatch, "check", "--cache-dir", cache, "--render", *words)
        assert "apps/release.yaml:7:11" in capfd.readouterr().out
    assert server.requests == []


@pytest.mark.parametrize(
    ("address", "ref"),
    [
        ("file:///etc", "refs/heads/a"),
        ("/etc", "refs/heads/a"),
        ("ext::sh -c id", "refs/heads/a"),
        ("ssh://-oProxyCommand=id/x", "refs/heads/a"),
        ("-oProxyCommand=id@host:x", "refs/heads/a"),
        ("git@-host:x", "refs/heads/a"),
        ("https://host/x", "--upload-pack=id"),
        ("https://host/x", "a:refs/heads/b"),
        ("https://host/x", "a..b"),
    ],
)
def test_an_address_or_ref_that_could_be_more_than_that_is_rejected(address: str, ref: str) -> None:
    with pytest.raises(RenderError):
        git_folder(address, ref, "web")


def test_passwords_are_left_out_of_addresses() -> None:
    assert git_folder("https://me:secret@host/x", "a", "web").address == "https://host/x"
    assert git_folder("ssh://git:secret@host:22/x", "a", "web").address == "ssh://git@host:22/x"
    assert git_folder("git@host:x/y.git", "a", "web").address == "ssh://git@host/x/y.git"


def test_nothing_of_the_repository_is_run_or_read_elsewhere(checking: Checking, server: GitServer, repositories: Path) -> None:
    """A filter of the user would change the files, and a submodule would be fetched from another server."""
    home = Path.home()
    hooks = {"hooks/reference-transaction": "#!/bin/sh\necho hook >> ~/started\n"}
    write({**hooks, ".gitconfig": f'[filter "mine"]\nsmudge = echo filter >> ~/started\n[core]\nhooksPath = {home}/hooks\n'}, home)
    (home / "hooks/reference-transaction").chmod(0o755)
    (repositories / "charts" / "charts" / "web" / "templates" / "link.yaml").symlink_to("/etc/hostname")
    modules = '[submodule "x"]\npath = x\nurl = http://127.0.0.1:9/x\n'
    commit(repositories / "charts", {".gitattributes": "* filter=mine\n", ".gitmodules": modules})
    (home / "started").unlink(missing_ok=True)
    write(flux(f"{server.address}/charts/.git"))
    (messages,) = checking.messages("--render-network")
    assert messages.startswith(SEEN)
    assert not (home / "started").exists()


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("semver: 1.x", "afflint does not fetch a range of tags of Git (`1.x`)"),
        ("branch: none", "charts/web of ADDRESS none cannot be fetched: fatal: couldn't find remote ref refs/heads/none"),
    ],
)
def test_a_release_says_why_its_chart_cannot_be_fetched(checking: Checking, server: GitServer, ref: str, reason: str) -> None:
    address = f"{server.address}/charts/.git"
    write(flux(address, ref))
    assert reasons(checking.report("--render-network")) == [reason.replace("ADDRESS", address)]


def test_a_folder_that_is_not_a_chart_is_not_rendered(checking: Checking, server: GitServer) -> None:
    for path in ("./charts", "../../../etc"):
        write({**flux(f"{server.address}/charts/.git"), "apps/release.yaml": RELEASE.replace("./charts/web", path)})
        (reason,) = reasons(checking.report("--render-network"))
        assert reason.endswith(" is not a chart")


def test_a_chart_in_a_bucket_is_not_fetched(checking: Checking) -> None:
    write({**flux(""), "apps/release.yaml": RELEASE.replace("GitRepository", "Bucket")})
    (reason,) = reasons(checking.report("--render-network"))
    assert reason == "its chart is in `Bucket charts`, whose files only the cluster can read"
