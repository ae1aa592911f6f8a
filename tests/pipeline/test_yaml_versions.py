"""Words that YAML 1.1 reads as booleans are text in the files that kustomize reads; in others, and in values of Helm, they are booleans."""

from collections.abc import Callable
from typing import Any

import pytest

Write = Callable[[str, str], None]

WORDS = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {example.com/enabled: yes}
  labels: {on: web}
spec:
  selector: {matchLabels: {app: off}}
  template:
    metadata: {labels: {app: off}}
    spec:
      tolerations: [{key: dedicated, value: Y, operator: Equal}]
      containers: [{name: web, image: web}]
"""
BOOLEANS = [
    "5:38: error annotation-not-string",
    "6:12: warning misread-label-key",
    "8:33: error wrong-type",
    "10:30: error wrong-type",
    "12:45: error wrong-type",
]
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ingress-nginx}
spec:
  chart: {spec: {chart: ingress-nginx, sourceRef: {kind: HelmRepository, name: ingress-nginx}}}
  values:
    controller:
      nodeSelector: {ingress: yes}
"""
CHART = """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: ingress-nginx}
spec:
  chart: ingress-nginx
  repo: https://kubernetes.github.io/ingress-nginx
  valuesContent: |
    controller:
      nodeSelector:
        ingress: yes
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec: {path: %s, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""


@pytest.fixture
def findings(check: Any) -> Callable[[str], list[str]]:
    """``12:45: error wrong-type`` for each finding in one file of the folder."""

    def findings(name: str) -> list[str]:
        lines = [line.removeprefix(f"{name}:") for line in check(".").lines if line.startswith(f"{name}:")]
        return [" ".join((*line.split(" ")[:2], line.rpartition("[")[2].rstrip("]"))) for line in lines]

    return findings


def test_a_file_that_kubectl_applies(write: Write, findings: Callable[[str], list[str]]) -> None:
    write("web.yaml", WORDS)
    assert findings("web.yaml") == BOOLEANS


@pytest.mark.parametrize(
    ("path", "kustomization"),
    [
        ("kustomization.yaml", "resources: [web.yaml]\n"),
        ("overlay/kustomization.yaml", "resources: [../web.yaml]\n"),
        ("kustomization.yaml", "patches: [{path: web.yaml}]\n"),
        ("flux.yaml", FLUX % "./"),
    ],
)
def test_a_file_that_kustomize_reads(write: Write, findings: Callable[[str], list[str]], path: str, kustomization: str) -> None:
    write("web.yaml", WORDS)
    write(path, kustomization)
    assert findings("web.yaml") == []


def test_a_folder_that_flux_builds_without_a_kustomization(write: Write, findings: Callable[[str], list[str]]) -> None:
    write(".git/HEAD", "ref: refs/heads/main\n")
    write("clusters/main/apps.yaml", FLUX % "./apps")
    write("apps/web/web.yaml", WORDS)
    write("other/web.yaml", WORDS)
    assert findings("apps/web/web.yaml") == []
    assert findings("other/web.yaml") == BOOLEANS


def test_a_file_next_to_those_that_kustomize_reads_may_be_applied_in_both_ways(write: Write, check: Any) -> None:
    write("web.yaml", WORDS)
    write("kustomization.yaml", "resources: [other.yaml]\n")
    lines = [line for line in check(".").lines if line.startswith("web.yaml")]
    assert {line.split(" ")[1] for line in lines} == {"info"}
    assert lines[2] == (
        "web.yaml:8:33: info the value of `app` must be a string, but unquoted `off` is a boolean (false);"
        " kustomize, which has other files of this folder, would read a string [wrong-type]"
    )


@pytest.mark.parametrize("value", ["true", "False", "1", "1.5"])
def test_booleans_and_numbers_of_both_versions_stay_errors(write: Write, findings: Callable[[str], list[str]], value: str) -> None:
    write("web.yaml", WORDS.replace("app: off", f"app: {value}"))
    write("kustomization.yaml", "resources: [web.yaml]\n")
    assert findings("web.yaml") == ["8:33: error wrong-type", "10:30: error wrong-type"]


def test_a_word_in_the_place_of_a_number_stays_an_error(write: Write, findings: Callable[[str], list[str]]) -> None:
    write("web.yaml", WORDS.replace("spec:\n  selector", "spec:\n  replicas: yes\n  selector"))
    write("kustomization.yaml", "resources: [web.yaml]\n")
    assert findings("web.yaml") == ["8:13: error wrong-type"]


@pytest.mark.parametrize(("kustomization", "name"), [("resources: [web.yaml]\n", "y"), ("", "true")])
def test_a_field_that_is_called_as_a_word(write: Write, check: Any, kustomization: str, name: str) -> None:
    write("web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  y: 1\n  containers: [{name: web, image: web}]\n")
    if kustomization:
        write("kustomization.yaml", kustomization)
    assert check("web.yaml").lines == [f"web.yaml:5:3: error unknown field `{name}` in this pod spec [unknown-field]"]


def test_values_of_a_release_that_kustomize_reads(write: Write, findings: Callable[[str], list[str]]) -> None:
    write("release.yaml", RELEASE)
    assert findings("release.yaml") == ["8:31: error wrong-type"]
    write("kustomization.yaml", "resources: [release.yaml]\n")
    assert findings("release.yaml") == []


def test_values_that_an_object_contains_as_text(write: Write, findings: Callable[[str], list[str]]) -> None:
    """kustomize passes the text on, and Helm reads it."""
    write("chart.yaml", CHART)
    write("kustomization.yaml", "resources: [chart.yaml]\n")
    assert findings("chart.yaml") == ["10:18: error wrong-type"]
