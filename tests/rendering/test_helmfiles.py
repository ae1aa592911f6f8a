"""Releases of helmfiles render the charts of the repository, for each environment with its own values."""

from pathlib import Path

import pytest

from afflint.rendering.boundary import Boundary
from afflint.rendering.helmfiles import add_helmfiles
from afflint.rendering.hints import Hints
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("helm_tool")

TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {zone: "{{ .Values.zone }}"}
      containers: [{name: web, image: nginx}]
"""
CHART = {
    ".git/HEAD": "",
    "charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "charts/web/values.yaml": "zone: a\nreplicas: 1\n",
    "charts/web/templates/web.yaml": TEMPLATE,
}


def test_values_files_inline_values_and_single_values(checking: Checking) -> None:
    """The last one takes precedence; each finding is where its value is written."""
    helmfile = """\
releases:
  - name: web
    chart: ../charts/web
    values:
      - values/web.yaml
      - zone: -b-
    set: [{name: replicas, value: 2}]
  - name: shop
    chart: ../charts/web
    values: [values/web.yaml]
"""
    write({**CHART, "live/helmfile.yaml": helmfile, "live/values/web.yaml": "zone: -a-\nreplicas: -1\n"})
    assert checking.messages() == [
        "live/helmfile.yaml:6:15 invalid-label-value spec.template.spec.nodeSelector ['charts/web (Release web)']",
        "live/values/web.yaml:1:7 invalid-label-value spec.template.spec.nodeSelector ['charts/web (Release shop)']",
        "live/values/web.yaml:2:11 invalid-replicas spec.replicas ['charts/web (Release shop)']",
    ]


ENVIRONMENTS = """\
environments:
  test:
    values: [{zone: b}]
  live:
    values: [zones.yaml]
---
helmDefaults:
  args: [{{ .Environment.Values | get "kubeConfig" "x" }}]
releases:
  - name: web-{{ .Environment.Name }}
    namespace: shop
    chart: ./charts/web
    values:
      - zone: {{ .Values.zone }}
      - values-{{`{{ .Release.Name }}`}}.yaml
"""


def test_each_environment_has_its_own_values(checking: Checking) -> None:
    write({**CHART, "helmfile.yaml": ENVIRONMENTS, "zones.yaml": "zone: -c-\n", "values-web-test.yaml": "replicas: -1\n"})
    assert checking.messages() == [
        "values-web-test.yaml:1:11 invalid-replicas spec.replicas ['charts/web (Release web-test, test)']",
        "zones.yaml:1:7 invalid-label-value spec.template.spec.nodeSelector ['charts/web (Release web-live, live)']",
    ]


def test_a_template_of_values_is_filled(checking: Checking) -> None:
    helmfile = ENVIRONMENTS.replace("zone: {{ .Values.zone }}", "web.yaml.gotmpl")
    write({**CHART, "helmfile.yaml": helmfile, "zones.yaml": "zone: c\n", "web.yaml.gotmpl": "zone: -{{ .Values.zone | upper }}\n"})
    assert [each.split()[0] for each in checking.messages()] == ["web.yaml.gotmpl:1:7"]


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("./charts/web", "stable/web", "the chart stable/web is not in the repository"),
        (
            "    namespace: shop",
            "    {{ if .Values.x }}\n    namespace: shop\n    {{ end }}",
            "its template depends on `{{ if .Values.x }}`, which is not known",
        ),
        ("namespace: shop", "namespace: {{ env `X` }}", "its `namespace` is not known"),
        ("namespace: shop", "installedTemplate: '{{`{{ if .x }}true{{ end }}`}}'", "its `installedTemplate` is not known"),
    ],
)
def test_what_is_not_rendered_is_reported(checking: Checking, old: str, new: str, seen: str) -> None:
    write({**CHART, "helmfile.yaml": ENVIRONMENTS.replace(old, new), "zones.yaml": "zone: c\n"})
    assert {each["reason"] for each in checking.report()["coverage"]["not_seen"]} == {seen}


def test_values_of_a_chart_in_another_place_are_checked_by_shape(checking: Checking) -> None:
    helmfile = "releases: [{name: web, chart: stable/web, values: [live/web.yaml]}]\n"
    write({".git/HEAD": "", "helmfile.yaml": helmfile, "live/web.yaml": "tolerations: [{key: a, operator: Is}]\n"})
    assert [each.split()[0] for each in checking.messages()] == ["live/web.yaml:1:34"]


@pytest.mark.parametrize("line", ["installed: false", "condition: web.enabled"])
def test_a_release_that_is_not_installed_is_left_out(checking: Checking, line: str) -> None:
    write({**CHART, "helmfile.yaml": ENVIRONMENTS.replace("namespace: shop", line), "zones.yaml": "zone: -c-\n"})
    assert checking.messages() == []


BRANCHES = """\
environments:
  test:
    values: [{releases: [web], zone: -t-}]
  live:
    values: [{releases: [web, shop], zone: -l-}]
---
{{- $zone := .Values.zone }}
releases:
{{- range $name := list "web" "shop" }}
  - name: {{ $name }}
    chart: ./charts/web
    recreatePods: {{ if hasKey .Environment.Values "restart" }}true{{ else }}false{{ end }}
    installedTemplate: '{{`{{ has .Release.Name .Environment.Values.releases }}`}}'
    {{- if eq $zone "-l-" }}
    namespace: live
    {{- end }}
    values: [zone.yaml.gotmpl]
{{- end }}
"""


def test_branches_and_functions_of_templates(checking: Checking) -> None:
    """The dot of a `range` is its item, so that `.Environment` is unknown there; only unused keys depend on it."""
    write({**CHART, "helmfile.yaml": BRANCHES, "zone.yaml.gotmpl": "{{ if .Values.zone }}\nzone: {{ .Values.zone }}\n{{ end }}\n"})
    assert checking.messages() == [
        "helmfile.yaml:3:38 invalid-label-value spec.template.spec.nodeSelector ['charts/web (Release web, test)']",
        (
            "helmfile.yaml:5:44 invalid-label-value spec.template.spec.nodeSelector "
            "['charts/web (Release shop, live)', 'charts/web (Release web, live)']"
        ),
    ], "the release shop is not installed in the environment test"
    assert checking.report()["coverage"]["not_seen"] == []


def test_what_lines_depend_on_is_reported_for_each_environment(checking: Checking) -> None:
    helmfile = BRANCHES.replace("live:\n    values: [", "live:\n    values: [/etc/live.yaml, ").replace(
        'eq $zone "-l-"', 'hasKey $.Values "x"'
    )
    write({**CHART, "helmfile.yaml": helmfile, "zone.yaml.gotmpl": "zone: a\n"})
    reason = 'its template depends on `{{- if hasKey $.Values "x" }}`, which is not known'
    (not_seen,) = checking.report()["coverage"]["not_seen"]
    assert not_seen["name"].endswith(", live")
    assert not_seen["reason"] == reason


def unread(folder: Path, text: str) -> list[str]:
    """Why what a helmfile renders was not read, without starting Helm."""
    (folder / ".git").mkdir()
    (folder / "helmfile.yaml").write_text(text, encoding="utf-8")
    found = Hints.none()
    add_helmfiles(found, [str(folder / "helmfile.yaml")], Boundary([str(folder)]))
    return [each.reason for each in found.unsupported]


@pytest.mark.parametrize(
    ("step", "action"),
    [
        ('{{- $a = printf "%s%s" $a $a -}}', '{{- $a = printf "%s%s" $a $a -}}'),
        ("{{- $a = toJson (list $a $a) -}}", "{{- $a = toJson (list $a $a) -}}"),
    ],
)
def test_a_text_that_doubles_with_each_line_is_reported(tmp_path: Path, step: str, action: str) -> None:
    text = '{{- $a := "aaaaaaaaaaaaaaaa" -}}\n' + f"{step}\n" * 32 + "releases: [{name: {{ $a }}, chart: ./c}]\n"
    assert unread(tmp_path, text) == [f"its template is too large to be filled at `{action}`"]


def test_a_replacement_that_grows_is_an_unknown_value(tmp_path: Path) -> None:
    step = '{{- $a = replace "a" "aa" $a -}}\n'
    text = '{{- $a := "aaaaaaaaaaaaaaaa" -}}\n' + step * 32 + "releases: [{name: {{ $a }}, chart: ./c}]\n"
    assert unread(tmp_path, text) == ["its `name` is not known"]


@pytest.mark.parametrize("name", ["get", "hasKey", "getOrNil", "get `a`", "printf", "index", "join `a` 5"])
def test_a_function_without_its_arguments_has_an_unknown_value(tmp_path: Path, name: str) -> None:
    assert unread(tmp_path, f"releases: [{{name: {{{{ {name} }}}}, chart: ./c}}]\n") == ["its `name` is not known"]


LIMITED = {
    "releases": (
        "releases:\n" + "".join(f"- {{name: a{number}, chart: 'b'}}\n" for number in range(2_500)),
        "200 releases and values files",
    ),
    "environments": (
        "environments:\n" + "".join(f"  e{number}: {{}}\n" for number in range(31)) + "---\nreleases: []\n",
        "30 environments",
    ),
    "bases": ("bases:\n" + "- a.yaml\n" * 51 + "environments: {a: {}}\n", "50 bases"),
    "values": ("environments:\n  a:\n    values:\n" + "    - {a: b}\n" * 51, "50 values of an environment"),
}


@pytest.mark.parametrize(("text", "what"), LIMITED.values(), ids=LIMITED)
def test_what_exceeds_a_limit_is_reported(tmp_path: Path, text: str, what: str) -> None:
    verb = "renders" if "releases" in what else "has"
    assert unread(tmp_path, text)[-1] == f"it {verb} more than {what}, and the rest was not checked"


def test_releases_that_are_not_installed_count_as_well(tmp_path: Path) -> None:
    text = "releases:\n" + "- {name: a, chart: b, installed: false}\n" * 2_001
    assert unread(tmp_path, text) == ["it has more than 2,000 releases in its environments, and the rest was not checked"]
