"""A path means something else where kustomize builds: in a copy of the kustomization, in a temporary folder, in another process."""

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from afflint.programs import sandbox
from afflint.rendering.builds import BuildFailure, Rendered, RenderOptions, render_roots
from afflint.source import temporary_folders
from afflint.yaml.json_text import json_text
from rendering.real_tools import on_path
from rendering.rendered_trees import write

CANARY = "OUTSIDE CANARY!"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {a: 'TEXT'}}\nspec: {containers: [{name: web, image: nginx}]}\n"
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: ok\nversion: 1.0.0\n",
    "values.yaml": "a: mine\n",
    "templates/pod.yaml": POD.replace("'TEXT'", "{{ .Values.a | quote }}"),
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that is deeper than the temporary folders of afflint, beside which the user has a kustomization."""
    on_path(monkeypatch, "kustomize", "helm")
    write({"kustomization.yaml": "resources: [pod.yaml]\n", "pod.yaml": POD.replace("TEXT", CANARY)}, tmp_path / "private")
    top = tmp_path / "some" / "deep" / "folder" / "repository"
    pod = POD.replace("TEXT", "mine")
    write({".git/HEAD": "", "common/pod.yaml": pod.replace("name: web,", "name: common,"), "app/pod.yaml": pod}, top)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(temporary_folders.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.chdir(top)
    return top


def rendered() -> Rendered:
    files = [os.path.join(here, name) for here, _, names in os.walk(".") for name in names if name.endswith(".yaml")]
    return render_roots([os.path.normpath(each) for each in sorted(files)], RenderOptions(("kustomize",)))


def only_failure() -> BuildFailure:
    [failure] = rendered().failures
    return failure


@pytest.mark.parametrize("name", ["private", "private/pod.yaml"])
@pytest.mark.parametrize("more", ["", ", ../common/pod.yaml"], ids=["restricted", "unrestricted"])
def test_a_path_leads_nowhere_from_the_copy(name: str, more: str, repository: Path) -> None:
    """The copy of `app` is in `temporary/afflint-run-…/0/app`, so this path leads to the user's files from there only."""
    write({"app/kustomization.yaml": f"resources: [pod.yaml, ../../../../{name}{more}]\n"})
    assert not os.path.exists(repository / "app" / "../../../../private")
    assert only_failure().reason == f"`../../../{name}` is outside the repository"


def test_a_path_through_the_working_directory_is_rejected(repository: Path) -> None:  # noqa: ARG001
    """The working directory of kustomize is another one."""
    write(
        {
            "app/kustomization.yaml": "resources: [pod.yaml, ../common/pod.yaml]\n"
            "configMapGenerator: [{name: a, files: [/proc/self/cwd/../../../private/pod.yaml]}]\n"
        }
    )
    assert "is an absolute path" in only_failure().reason


@pytest.mark.parametrize("field", ["chartHome", "valuesFile"])
def test_an_absolute_path_leads_to_no_original(field: str, repository: Path) -> None:
    """Only the copy of a chart has no schema that refers to other files."""
    write({f"app/charts/ok/{name}": text for name, text in CHART.items()})
    path = str(repository / "app" / "charts" / ("ok/values.yaml" if field == "valuesFile" else ""))
    chart = {"name": "ok", "releaseName": "ok", **({field: path} if field == "valuesFile" else {})}
    globals_ = {field: path} if field == "chartHome" else {}
    write({"app/kustomization.yaml": json.dumps({"helmGlobals": globals_, "helmCharts": [chart]})})
    assert only_failure().reason.endswith("` is an absolute path")


class _Server(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        self.requests: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.requests.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a: b\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    """A server on this machine, which programs can reach: many systems have no network namespaces."""
    monkeypatch.setattr(sandbox, "_NAMESPACES", ())
    sandbox._allowed.cache_clear()
    with _Server() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()
    sandbox._allowed.cache_clear()


PLUGIN = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: x}\nliterals: [a=b]\n"
PATCH = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, files: ['URL']}"
CONNECTING = {
    "values of a chart": {"app/kustomization.yaml": "helmCharts: [{name: ok, releaseName: ok, valuesFile: 'URL'}]\n"},
    "further values": {"app/kustomization.yaml": "helmCharts: [{name: ok, releaseName: ok, additionalValuesFiles: ['URL']}]\n"},
    "a chart without a copy": {
        "app/kustomization.yaml": "helmCharts:\n- {name: ok, releaseName: ok}\n"
        "- {name: no, releaseName: no, version: 1.0.0, repo: 'URL', valuesFile: charts/ok/values.yaml}\n",
        "app/charts/no-1.0.0/no/node_modules/file": "",
    },
    "a patch of a plugin": {
        "app/kustomization.yaml": "generators: [../made]\n",
        "made/kustomization.yaml": f'resources: [plugin.yaml]\npatches: [{{patch: "{PATCH}"}}]\n',
        "made/plugin.yaml": PLUGIN,
    },
}


@pytest.mark.parametrize("case", CONNECTING)
def test_nothing_is_fetched(case: str, server: _Server, repository: Path) -> None:  # noqa: ARG001
    url = f"http://127.0.0.1:{server.server_address[1]}/x"
    write({f"app/charts/ok/{name}": text for name, text in CHART.items()})
    write({name: text.replace("URL", url) for name, text in CONNECTING[case].items()})
    assert [each.name for each in rendered().failures] == ["app"]
    assert server.requests == []


def test_a_plugin_in_a_kustomization_is_written_as_afflint_has_read_it(repository: Path) -> None:  # noqa: ARG001
    write({"app/kustomization.yaml": json.dumps({"generators": ["? kind\n: !!str ConfigMapGenerator\n" + PLUGIN.replace("kind", "#")]})})
    [build] = rendered().builds
    assert b"a: b" in build.output


def test_an_inline_plugin_that_is_not_a_map_is_rejected(repository: Path) -> None:  # noqa: ARG001
    write({"app/kustomization.yaml": "generators: ['nothing: \"']\n"})
    assert only_failure().reason == "afflint cannot read the configuration of a plugin in `generators[0]`"


def test_characters_beyond_the_first_plane_stay(repository: Path) -> None:  # noqa: ARG001
    """JSON writes them as two escapes, which the YAML readers of Go reject."""
    patch = POD.replace("TEXT", "\U0001f600")
    data = {"resources": ["pod.yaml"], "commonAnnotations": {"b": "\U0001f600 é \u2028"}, "patches": [{"patch": patch}]}
    write({"app/kustomization.yaml": json_text(data)})
    [build] = rendered().builds
    assert 'a: "\\U0001F600"' in build.output.decode()
    assert 'b: "\\U0001F600 é \\L"' in build.output.decode()


def test_a_patch_is_not_changed_if_nothing_is_left_out(repository: Path) -> None:  # noqa: ARG001
    """YAML has more forms than JSON: the keys `y` and `n` are texts for kustomize, and booleans for others."""
    patch = POD.replace("'TEXT'}", "'b', y: 'yes', n: 'no'}")
    write({"app/kustomization.yaml": json.dumps({"resources": ["pod.yaml"], "patches": [{"patch": patch}]})})
    [build] = rendered().builds
    assert b'"y": "yes"' in build.output
    assert b'"n": "no"' in build.output
