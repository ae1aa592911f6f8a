"""Kustomizations that hide what they load, compared with what the real kustomize loads: afflint never builds with a file outside.

Each field that loads files is written in every way that kustomize may read and afflint may overlook. The real kustomize, without
restrictions, shows which of them load the file: it must be many, or the forms prove nothing.
"""

import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from afflint.rendering.builds import RenderOptions, render_roots
from rendering.real_tools import on_path, tool
from rendering.rendered_trees import write

CANARY = "OUTSIDE CANARY!"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, annotations: {a: 'TEXT'}}\nspec: {containers: [{name: web, image: nginx}]}\n"
PATCH = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, annotations: {{b: '{CANARY}'}}}}\n"
OPERATIONS = json.dumps([{"op": "add", "path": "/metadata/annotations/b", "value": CANARY}])
REPLACEMENT = json.dumps([{"sourceValue": CANARY, "targets": [{"select": {"kind": "Pod"}, "fieldPaths": ["metadata.annotations.a"]}]}])
LABELS = (
    "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: x}\n"
    f"annotations: {{b: '{CANARY}'}}\nfieldSpecs: [{{path: metadata/annotations, create: true}}]\n"
)
OUTSIDE = {
    "pod.yaml": POD.replace("NAME", "theirs").replace("TEXT", CANARY),
    "kustomization.yaml": "resources: [pod.yaml]\n",
    "component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [pod.yaml]\n",
    "component/pod.yaml": POD.replace("NAME", "theirs").replace("TEXT", CANARY),
    "patch.yaml": PATCH,
    "operations.yaml": OPERATIONS,
    "replacement.yaml": REPLACEMENT,
    "transformer.yaml": LABELS,
    "secret.env": f"a={CANARY}\n",
}
TARGET = {"kind": "Pod", "name": "web", "version": "v1"}
FIELDS: dict[str, list[object]] = {
    "resources": ["../../outside/pod.yaml"],
    "bases": ["../../outside"],
    "components": ["../../outside/component"],
    "patches": [{"path": "../../outside/patch.yaml"}],
    "patchesStrategicMerge": ["../../outside/patch.yaml"],
    "patchesJson6902": [{"target": TARGET, "path": "../../outside/operations.yaml"}],
    "replacements": [{"path": "../../outside/replacement.yaml"}],
    "generators": ["../../outside/pod.yaml"],
    "transformers": ["../../outside/transformer.yaml"],
    "configMapGenerator": [{"name": "x", "files": ["../../outside/secret.env"]}],
    "secretGenerator": [{"name": "x", "envs": ["../../outside/secret.env"]}],
}
"""The fields that load files, each with an entry that loads a canary."""


def folded(key: str) -> str:
    """Return a key that Go takes for this one, with letters that are not ASCII."""
    return key.replace("s", "\u017f", 1).replace("k", "\u212a", 1)


def folded_files(text: str) -> str:
    """Return a text whose field `files` has a letter that is not ASCII."""
    return text.replace("files", "file\u017f")


GENERATOR = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, files: [../../outside/secret.env]}"
FOLDED = folded_files("{name: x, files: [../../outside/secret.env]}")


def escaped(key: str) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in key) + '"'


def binary(key: str) -> str:
    return f"!!binary {base64.b64encode(key.encode()).decode()}"


SPELLINGS: dict[str, Callable[[str], str]] = {
    "exact": lambda key: key,
    "capitals": str.upper,
    "one capital": lambda key: key[0].upper() + key[1:],
    "letters that are not ASCII": folded,
    "escapes": escaped,
    "a tag": lambda key: f"!!str {key}",
    "binary": binary,
    "a question mark": lambda key: f"? {key}\n",
}


def text_of(key: str, spelling: str) -> bytes:
    """Return a kustomization with a pod and a field in some spelling."""
    value = json.dumps(FIELDS[key])
    line = f"{SPELLINGS[spelling](key)}: {value}\n"
    return (line if key == "resources" else f"resources: [web.yaml]\n{line}").encode()


def forms() -> dict[str, bytes]:
    found = {f"{key}, {spelling}": text_of(key, spelling) for key in FIELDS for spelling in SPELLINGS}
    plain = text_of("patches", "exact").decode()
    value = json.dumps(FIELDS["patches"])
    found |= {
        "a byte order mark": b"\xef\xbb\xbf" + plain.encode(),
        "UTF-16": plain.encode("utf-16"),
        "a second document": f"resources: [web.yaml]\n---\n{plain}".encode(),
        "a document before": f"---\n# nothing\n---\n{plain}".encode(),
        "a line separator": f"resources: [web.yaml] # \u2028\npatches: {value}\n".encode(),
        "a next line": f"resources: [web.yaml] # \u0085\npatches: {value}\n".encode(),
        "carriage returns": plain.replace("\n", "\r").encode(),
        "a merge key": f"resources: [web.yaml]\n<<: {{patches: {value}}}\n".encode(),
        "a merged anchor": f"metadata: &m {{patches: {value}}}\nresources: [web.yaml]\n<<: *m\n".encode(),
        "an alias": b"metadata: {annotations: {a: &v ../../outside/patch.yaml}}\nresources: [web.yaml]\npatches: [{path: *v}]\n",
        "a key twice": f"resources: [web.yaml]\npatches: []\npatches: {value}\n".encode(),
        "a key in two cases": f"resources: [web.yaml]\npatches: []\nPatches: {value}\n".encode(),
        "JSON": json.dumps({"resources": ["web.yaml"], "patches": FIELDS["patches"]}).encode(),
        "a nested key in capitals": b"resources: [web.yaml]\npatches: [{PATH: ../../outside/patch.yaml}]\n",
        "a nested key that is not ASCII": f"resources: [web.yaml]\nconfigMapGenerator: [{FOLDED}]\n".encode(),
        "a literal block": b"resources: [web.yaml]\npatches:\n- path: |-\n    ../../outside/patch.yaml\n",
        "a folded path": b"resources: [web.yaml]\npatches:\n- path: >-\n    ../../outside/patch.yaml\n",
        "an absolute path": b"resources: [web.yaml]\npatches: [{path: OUTSIDE/patch.yaml}]\n",
        "a link": b"resources: [web.yaml]\npatches: [{path: link.yaml}]\n",
        "a linked folder": b"resources: [web.yaml]\npatches: [{path: linked/patch.yaml}]\n",
        "an inline generator": f"resources: [web.yaml]\ngenerators:\n- |-\n  {GENERATOR}\n".encode(),
        "an inline generator that is not ASCII": f"resources: [web.yaml]\ngenerators:\n- |-\n  {folded_files(GENERATOR)}\n".encode(),
    }
    return found


FORMS = forms()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    on_path(monkeypatch, "kustomize", "helm")
    monkeypatch.chdir(tmp_path)
    write({f"outside/{name}": text for name, text in OUTSIDE.items()})
    write({"repository/.git/HEAD": "", "repository/app/kustomization.yaml": "resources: [../sub]\n"})
    write({"repository/sub/web.yaml": POD.replace("NAME", "web").replace("TEXT", "mine")})
    made = tmp_path / "repository"
    (made / "sub" / "link.yaml").symlink_to("../../outside/patch.yaml")
    (made / "sub" / "linked").symlink_to("../../outside")
    monkeypatch.chdir(made)
    return made


def loaded_by_kustomize(repository: Path) -> bool:
    """Return whether the real kustomize loads a canary."""
    command = [tool("kustomize"), "build", "--load-restrictor", "LoadRestrictionsNone", "app"]
    done = subprocess.run(command, cwd=repository, capture_output=True, check=False)
    return any(each in done.stdout for each in (CANARY.encode(), base64.b64encode(CANARY.encode())))


@pytest.mark.parametrize("form", FORMS)
def test_nothing_outside_is_built(form: str, repository: Path) -> None:
    (repository / "sub" / "kustomization.yaml").write_bytes(FORMS[form].replace(b"OUTSIDE", os.fsencode(repository.parent / "outside")))
    loads = loaded_by_kustomize(repository)
    rendered = render_roots(["app/kustomization.yaml", "sub/kustomization.yaml", "sub/web.yaml"], RenderOptions(("kustomize",)))
    encoded = base64.b64encode(CANARY.encode())
    for each in rendered.builds:
        assert CANARY.encode() not in each.output
        assert encoded not in each.output
    for failure in rendered.failures:
        assert CANARY not in failure.reason
    if loads:  # What kustomize loads and afflint does not is not silently left out.
        assert rendered.failures, "the kustomization is built as if it did not name the file"


def test_the_forms_are_such_that_kustomize_loads_many(repository: Path) -> None:
    """Of one field that kustomize reads in each spelling, to keep it short."""
    loading = 0
    for spelling in SPELLINGS:
        (repository / "sub" / "kustomization.yaml").write_bytes(text_of("patches", spelling))
        loading += loaded_by_kustomize(repository)
    assert loading >= 6


CHART = "metadata: {name: x}, name: x, version: 1.0.0, repo: 'evil://a'"
PLUGIN = "name: evil\nversion: 1.0.0\ndownloaders: [{command: run.sh, protocols: [evil]}]\n"


@pytest.mark.parametrize(
    "text",
    [
        "helmGlobals: {configHome: ./sub/home}\nhelmCharts: [{name: x, releaseName: x, version: 1.0.0, repo: 'evil://a'}]\n",
        "helmGlobal\u017f: {configHome: ./sub/home}\nhelmChart\u017f: [{name: x, relea\u017feName: x, version: 1.0.0, repo: 'evil://a'}]\n",
        "helmChartInflationGenerator: [{chartName: x, chartVersion: 1.0.0, chartRepoUrl: 'evil://a', helmHome: ./sub/home}]\n",
        "generators:\n- |-\n  {apiVersion: builtin, kind: HelmChartInflationGenerator, CHART, configHome: ./sub/home}\n",
    ],
)
@pytest.mark.parametrize("include", ["resources: [../sub]\n", "re\u017fources: [../sub]\n", "ba\u017fes: [../sub]\n"])
def test_no_plugin_of_the_tree_is_started(text: str, include: str, repository: Path) -> None:
    """A harmless chart turns on Helm; the plugin is in a folder that the kustomization names as the home of Helm."""
    chart = {
        "Chart.yaml": "apiVersion: v2\nname: ok\nversion: 1.0.0\n",
        "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    }
    write({f"app/charts/ok/{name}": content for name, content in chart.items()})
    write(
        {
            "app/kustomization.yaml": f"{include}helmCharts: [{{name: ok, releaseName: ok}}]\n",
            "sub/kustomization.yaml": text.replace("CHART", CHART),
        }
    )
    plugin = repository / "sub" / "home" / ".data" / "plugins" / "evil"
    write({str((plugin / "plugin.yaml").relative_to(repository)): PLUGIN})
    (plugin / "run.sh").write_text(f"#!/bin/sh\ntouch {repository.parent}/CANARY\n")
    (plugin / "run.sh").chmod(0o755)
    paths = ["app/kustomization.yaml", "sub/kustomization.yaml"]
    render_roots(paths, RenderOptions())
    render_roots(paths, RenderOptions(network=True))
    assert not (repository.parent / "CANARY").exists()


def test_a_folder_of_versions_does_not_choose_the_program(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version managers read `.tool-versions` in the working directory and above it."""
    tools = repository.parent / "tools"
    tools.mkdir()
    (tools / "kustomize").write_text('#!/bin/sh\necho "# $(pwd) $(ls -A)"\n')
    (tools / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    write({".tool-versions": "kustomize 0.0.1\n", "sub/kustomization.yaml": "resources: [web.yaml]\n"})
    [build] = render_roots(["sub/kustomization.yaml"], RenderOptions(("kustomize",))).builds
    folder = build.output.decode().split()[1]
    assert not folder.startswith(str(repository))
    assert build.output.decode().split()[2:] == []
