"""`--render` loads nothing from the network, not even from local addresses: kustomize is not started if it would."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, write

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


class Server:
    """An HTTP server on a loopback address, and what it was asked for."""

    def __init__(self) -> None:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(POD.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def failure(checking: Checking) -> str:
    """Why the only root was not rendered."""
    (failed,) = checking.report()["summary"]["rendered"]["failed"]
    reason: str = failed["reason"]
    return reason


def left_out(checking: Checking) -> list[str]:
    """What the only root was rendered without."""
    report = checking.report()
    assert report["summary"]["rendered"]["kustomizations"] == 1
    return [each["name"] for each in report["coverage"]["not_seen"] if each["kind"] == "remote resource"]


GENERATOR = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: a}, files: ['a=URL/a']}"
PATCHER = "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: 'URL/a'}"
FIELDS = {
    "resources": "resources: [URL/a]",
    "capital letters": "resources: ['HTTP://HOST/a']",
    "bases": "bases: [URL/a]",
    "components": "components: ['URL/repo.git//base?ref=main']",
    "git": "resources: ['git::URL/repo.git//base']",
    "openapi": "openapi: {path: URL/a}",
    "crds": "crds: [URL/a]",
    "configurations": "configurations: [URL/a]",
    "patches": "patches: [{path: URL/a}]",
    "patchesStrategicMerge": "patchesStrategicMerge: [URL/a]",
    "patchesJson6902": "patchesJson6902: [{target: {version: v1, kind: Pod, name: web}, path: URL/a}]",
    "replacements": "replacements: [{path: URL/a}]",
    "files of a generator": "configMapGenerator: [{name: a, files: [URL/a]}]",
    "named files of a generator": "configMapGenerator: [{name: a, files: ['a=URL/a']}]",
    "envs of a generator": "secretGenerator: [{name: a, envs: [URL/a]}]",
    "generators": "generators: [URL/a]",
    "inline generators": f"generators:\n- |\n  {GENERATOR}",
    "inline transformers": f"transformers:\n- |\n  {PATCHER}",
    "validators": "validators: [URL/a]",
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_url_is_rejected_in_every_field_that_loads_files(
    field: str, server: Server, checking: Checking, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, "kustomize")
    text = FIELDS[field].replace("HOST", server.url.removeprefix("http://")).replace("URL", server.url)
    more = "" if field == "resources" or "resources:" in text else "resources: [web.yaml]\n"
    write({"kustomization.yaml": f"{more}{text}\n", "web.yaml": POD})
    if field in ("bases", "components", "crds"):
        assert len(left_out(checking)) == 1
    else:
        reason = failure(checking)
        assert reason.startswith("rendering requires the network for ")
        assert reason.endswith("; `--render-network` allows it")
    assert server.asked == []


def test_what_the_network_has_is_left_out_of_a_build(server: Server, checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings in the rest are at their lines, and a patch for an object that is left out does not stop the build."""
    on_path(monkeypatch, "kustomize")
    write(
        {
            "k/kustomization.yaml": f"resources: [../base, '{server.url}/a.yaml']\npatches:\n- path: patch.yaml\n- path: other.yaml\n",
            "k/patch.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeSelector: {disk: [ssd]}\n",
            "k/other.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: remote}\nspec: {nodeSelector: {disk: hdd}}\n",
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "base/web.yaml": POD + "spec: {containers: [{name: web, image: nginx}]}\n",
        }
    )
    assert left_out(checking) == [f"{server.url}/a.yaml"]
    assert checking.messages() == ["k/patch.yaml:5:18 wrong-type spec.nodeSelector.disk ['k']"]
    assert server.asked == []
    assert f"Left out of 1 kustomization: remote resource {server.url}/a.yaml; `--render-network` loads it." in checking("--render")


INCLUDED = {
    "a base": {"k/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "resources: [URL/a]\n"},
    "a base of a base": {
        "k/kustomization.yaml": "resources: [../one]\n",
        "one/kustomization.yaml": "bases: [../two]\n",
        "two/Kustomization": "crds: [URL/a]\n",
    },
    "a component": {
        "k/kustomization.yaml": "components: [../part]\n",
        "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: URL/a}]\n",
    },
    "a file with a generator": {"k/kustomization.yaml": "generators: [made.yaml]\n", "k/made.yaml": f"{GENERATOR}\n"},
    "a folder with a transformer": {
        "k/kustomization.yaml": "resources: [web.yaml]\ntransformers: [../made]\n",
        "k/web.yaml": POD,
        "made/kustomization.yaml": "resources: [patch.yaml]\n",
        "made/patch.yaml": f"{PATCHER}\n",
    },
}


@pytest.mark.parametrize("way", INCLUDED)
def test_a_url_in_an_included_file_is_rejected(way: str, server: Server, checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize")
    write({name: text.replace("URL", server.url) for name, text in INCLUDED[way].items()})
    assert failure(checking).startswith(f"rendering requires the network for {server.url}/a")
    assert server.asked == []


def test_a_url_is_loaded_when_the_network_is_allowed(server: Server, checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize")
    write({"kustomization.yaml": f"resources: ['{server.url}/a']\n"})
    assert "Rendered 1 of 1 kustomization." in checking("--render", "--render-network", code=0)
    assert {*server.asked} == {"/a"}


def test_text_that_looks_like_a_url_is_not_a_reference(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize")
    write(
        {
            "kustomization.yaml": "resources: ['git@web.yaml', web.yaml]\n"
            "commonAnnotations: {source: 'https://example.com/a'}\n"
            "configMapGenerator: [{name: a, literals: ['url=https://example.com'], options: {annotations: {a: 'http://b'}}}]\n"
            "patches:\n- target: {kind: Pod, name: web}\n  patch: |\n    - {op: add, path: /metadata/annotations, value: {a: 'http://b'}}\n",
            "git@web.yaml": POD,
            "web.yaml": POD.replace("web", "db"),
        }
    )
    assert "Rendered 1 of 1 kustomization." in checking("--render", code=0)


def test_a_folder_outside_the_repository_is_rejected(checking: Checking, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize")
    write({"mine/kustomization.yaml": "resources: [pod.yaml]\n", "mine/pod.yaml": POD})
    write({"repository/.git/HEAD": "", "repository/k/kustomization.yaml": "resources: [../../mine]\n"})
    monkeypatch.chdir(project / "repository")
    assert failure(checking) == "`../mine` is outside the repository"
