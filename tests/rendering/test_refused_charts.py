"""Charts that refuse their default values: they are checked with values that their errors and templates name."""

from pathlib import Path

import pytest

from deployment_text import deployment
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("helm_tool")

NOT_THE_ROOT = "nodeSelector: {{- toYaml .Values.nodeSelector | nindent 8 }}"
WEB = deployment("{{- with .Values.nodeSelector }}", NOT_THE_ROOT, "{{- end }}")
LINE = WEB.split("\n").index(f"      {NOT_THE_ROOT}") + 1
FOUND = "Helm cannot render the chart: <.Values.nodeSelector>: nil pointer evaluating interface {}.nodeSelector"


def chart(values: str, **templates: str) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": f"nodeSelector: {{}}\n{values}"}
    files |= {f"templates/{name}.yaml": text for name, text in {"web": WEB, **templates}.items()}
    if "refusal" in templates:
        files["templates/refusal.yaml"] = f"# {templates['refusal']}\n"
    write({f"chart/{name}": text for name, text in files.items()})


def found(checking: Checking) -> list[str]:
    """`line message` of each finding in the Deployment."""
    return [f"{each['line']} {each['message']}" for each in checking.report()["findings"] if each["file"] == "chart/templates/web.yaml"]


def helpers(text: str) -> None:
    write({"chart/templates/_helpers.tpl": text})


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        # The condition around `fail`.
        ("urls: []\n", '{{ if eq (len .Values.urls) 0 }}{{ fail "at least one address, please" }}{{ end }}'),
        ("urls: []\n", '{{ if not .Values.urls }}{{ fail "at least one address, please" }}{{ end }}'),
        ("urls: ''\n", '{{ $urls := .Values.urls }}{{ if empty $urls }}{{ fail "no address was given" }}{{ end }}'),
        ("urls: ''\n", '{{ with .Values.urls }}{{ else }}{{ fail "no address was given" }}{{ end }}'),
        (
            "a: {urls: {}}\n",
            '{{ with .Values.a }}{{ if not .urls }}{{ fail (printf "%s: no address was given" $.Chart.Name) }}{{ end }}{{ end }}',
        ),
        ("urls: []\n", "{{ range .Values.urls }}{{ .name }}{{ else }}{{ fail `no address was given` }}{{ end }}"),
        ("urls: a\n", '{{ if ne .Values.urls "" }}{{ fail "do not give an address" }}{{ end }}'),
        ("urls: a\n", '{{ if and .Values.urls (not .Values.names) }}{{ fail "give names as well" }}{{ end }}'),
        ("urls: ''\n", '{{ if or (eq .Values.urls "") (eq .Values.urls "x") }}{{ fail "no address was given" }}{{ end }}'),
        # What is required.
        ("{}\n", '{{ required "an address is required" .Values.urls }}'),
        ("{}\n", '{{ .Values.a.urls | required "an address is required" }}'),
        # What the message names.
        ("a: {urls: ''}\n", '{{ include "web.check" . }}'),
        # A value of a dependency.
        ("{}\n", "{{ .Values.database.auth.name | quote }}"),
    ],
)
def test_a_chart_that_requires_a_value(checking: Checking, values: str, refusal: str) -> None:
    chart(values.replace("{}\n", "a: {}\n") if values == "{}\n" else values, refusal=refusal)
    helpers('{{ define "web.check" }}{{ if not (get .Values.a "urls") }}{{ fail (print "set " "a.urls") }}{{ end }}{{ end }}')
    [only] = found(checking)
    assert only.startswith(f"{LINE} if `nodeSelector` is set and `")
    assert only.endswith(f"set, {FOUND}")


def test_a_chart_that_requires_several_values(checking: Checking) -> None:
    required = "".join(f'{{{{ required "{name} is required" .Values.{name} }}}}' for name in ("one", "two", "three", "four", "five"))
    chart("", refusal=required)
    assert found(checking) == [f"{LINE} if `nodeSelector` is set and `one`, `two`, `three`, `four` and 1 more are set, {FOUND}"]
    assert "one is required" in checking.report()["summary"]["rendered"]["failed"][0]["reason"]


@pytest.mark.parametrize(
    "condition", ["true", '"a"', "1", "not false", "not nil", 'and .Release.Name "a"', 'or .Values.nothing "a"', '(eq "a" "a")']
)
def test_a_literal_in_the_condition_around_what_is_required(checking: Checking, condition: str) -> None:
    chart("key: ''\n", refusal=f'{{{{ if {condition} }}}}{{{{ required "a key is required" .Values.key }}}}{{{{ end }}}}')
    assert found(checking) == [f"{LINE} if `nodeSelector` is set and `key` is set, {FOUND}"]


@pytest.mark.parametrize("condition", ["false", '""', "0", "not true", "and .Values.key nil"])
def test_a_literal_in_the_condition_around_what_is_not_rendered(checking: Checking, condition: str) -> None:
    unused = f'{{{{ if {condition} }}}}{{{{ fail "a key is required" }}}}{{{{ end }}}}'
    chart("key: ''\n", refusal=f'{unused}{{{{ required "a key is required" .Values.key }}}}')
    assert found(checking) == [f"{LINE} if `nodeSelector` is set and `key` is set, {FOUND}"]


def test_text_of_a_helper_in_the_message(checking: Checking) -> None:
    """As charts collect their messages."""
    chart("domain: ''\n", refusal='{{ with include "web.check" . }}{{ printf "VALUES:\\n%s" . | fail }}{{ end }}')
    helpers('{{ define "web.check" }}{{ if not .Values.domain }}\nweb: the address of\n  this site is not set\n{{ end }}{{ end }}')
    assert found(checking) == [f"{LINE} if `nodeSelector` is set and `domain` is set, {FOUND}"]


@pytest.mark.parametrize(
    "refusal", ['{{ fail "never" }}', '{{ if not (lookup "v1" "Secret" "a" "b") }}{{ fail "missing" }}{{ end }}', '{{ include "a.b" . }}']
)
def test_a_template_that_cannot_be_rendered_is_left_out(checking: Checking, refusal: str) -> None:
    chart("", refusal=refusal)
    assert found(checking) == [f"{LINE} if `nodeSelector` is set, {FOUND}"]


def test_a_chart_that_cannot_be_rendered(checking: Checking) -> None:
    chart("", refusal='{{ fail "never" }}')
    write({"chart/templates/web.yaml": '{{ fail "nor here" }}\n' + WEB})
    assert found(checking) == []


def test_placement_values_are_not_required_words(checking: Checking) -> None:
    """A text instead of a map would only show mistakes of its own."""
    required = WEB.replace(
        "      containers", '      tolerations: {{ required "tolerations are required" .Values.tolerations }}\n      containers'
    )
    chart("tolerations:\n", web=required)
    assert found(checking) == []


def test_findings_with_the_required_value(checking: Checking) -> None:
    """Only the rendered chart has this selector; what depends on the value itself is not reported."""
    selector = "{matchLabels: {app: {{ .Values.app }}}}"
    spread = f"topologySpreadConstraints: [{{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {selector}}}]"
    template = deployment("{{- if .Values.url }}", spread.replace("maxSkew: 0", "maxSkew: {{ .Values.skew }}"), "{{- end }}")
    chart("skew: 0\napp: web\n", web=template, refusal='{{ required "an address is required" .Values.url }}')
    assert found(checking) == ["10 if `url` is set, maxSkew must be at least 1, not `0`"]
    chart(
        "app: web\n",
        web=template,
        refusal='{{ required "an address is required" .Values.url }}{{ required "a skew is required" .Values.skew }}',
    )
    assert found(checking) == []


def test_an_error_names_no_file_outside_the_chart(checking: Checking) -> None:
    write({"outside.yaml": "a: b\n"})
    for name in ("templates/../../outside.yaml", "../outside.yaml", "templates/web.yaml/../../../outside.yaml"):
        chart("", refusal=f'{{{{ fail "execution error at (web/{name}:1:1): no" }}}}')
        found(checking)
    assert Path("outside.yaml").read_text(encoding="utf-8") == "a: b\n"


def test_the_chart_is_not_changed(checking: Checking, project: Path) -> None:
    chart("", refusal='{{ fail "never" }}')
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert found(checking)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_many_alternatives_take_linear_time(checking: Checking) -> None:
    branches = "".join(f"{{{{ else if .Values.a{number} }}}}\n" for number in range(20_000))
    chart("", refusal=f'{{{{ if .Values.a }}}}{branches}{{{{ end }}}}{{{{ fail "never and nowhere" }}}}')
    assert found(checking) == [f"{LINE} if `nodeSelector` is set, {FOUND}"]


@pytest.mark.parametrize("admitted", [">= 1.19.0-0 <= 1.24.0-0", "<1.25.0-0", "~1.23", "1.20 - 1.22"])
def test_a_chart_for_an_older_version_is_rendered_for_it(checking: Checking, admitted: str) -> None:
    chart("")
    write({"chart/Chart.yaml": f'apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: "{admitted}"\n'})
    assert found(checking) == [f"{LINE} if `nodeSelector` is set, {FOUND}"]


def test_a_chart_for_no_version(checking: Checking) -> None:
    chart("")
    write({"chart/Chart.yaml": 'apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: "<0.9"\n'})
    assert found(checking) == []
