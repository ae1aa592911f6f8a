"""Findings in a rendered chart are reported at the key of the values file, and at the line of the template."""

from pathlib import Path

import pytest

from afflint.rendering.boundary import Boundary
from afflint.rendering.helm import Charts
from deployment_text import deployment
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("helm_tool")

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
HELPERS = """\
{{- define "web.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
team: {{ .Values.team | default "shop" }}
{{- end }}
"""
TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "web.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      {{- include "web.labels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "web.labels" . | nindent 8 }}
    spec:
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: web
          image: "nginx:1.27"
          args:
            - |
              # no mark may be here: {{ .Release.Name }}
              exec nginx
"""
TOLERATIONS = """\
      tolerations:
        - {key: gpu, operator: Exist}
      containers:
"""
VALUES = """\
replicas: 2
nodeSelector:
  disktype: ssd
  gpu: "true"
affinity: {}
"""


def chart(folder: str = "chart", values: str = VALUES, template: str = TEMPLATE, more: str = "") -> None:
    files = {"Chart.yaml": CHART + more, "values.yaml": values, "templates/_helpers.tpl": HELPERS, "templates/web.yaml": template}
    write({f"{folder}/{name}": text for name, text in files.items()})


def test_a_chart_without_mistakes(checking: Checking) -> None:
    chart()
    assert "No findings." in (out := checking("--render", code=0))
    assert "Rendered 1 of 1 chart." in out


def test_a_value_with_its_template_line(checking: Checking) -> None:
    chart(values=VALUES.replace('gpu: "true"', "gpu: true"))
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["column"], finding["rule"]) == ("chart/values.yaml", 4, 8, "wrong-type")
    (related,) = finding["related"]
    assert (related["file"], related["line"], related["message"]) == ("chart/templates/web.yaml", 18, "the template uses the value here")
    assert finding["rendered_in"] == ["chart"]


def test_a_map_in_values(checking: Checking) -> None:
    """Of several equal values, a trial shows which one is rendered."""
    affinity = """\
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: ""  # the one
        labelSelector: {matchLabels: {app.kubernetes.io/name: web}}
"""
    chart(values=VALUES.replace("affinity: {}\n", affinity) + 'other:\n  topologyKey: ""\n')
    (found,) = checking.messages()
    assert found.startswith("chart/values.yaml:8:22 empty-topology-key")


def test_a_line_of_a_template(checking: Checking) -> None:
    chart(
        template=TEMPLATE.replace("      containers:\n", "      tolerations:\n        - {key: gpu, operator: Exist}\n      containers:\n")
    )
    assert checking.messages() == ["chart/templates/web.yaml:24:32 unknown-operator spec.template.spec.tolerations[0].operator ['chart']"]


def test_a_constraint_as_text_in_values_is_one_finding_at_the_text(checking: Checking) -> None:
    text = """\
affinity: |
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm:
          labelSelector:
            matchLabels:
              {{- include "web.labels" . | nindent 14 }}
          topologyKey: failure-domain.beta.kubernetes.io/zone
"""
    template = TEMPLATE.replace("affinity: {{- toYaml . | nindent 8 }}", "affinity: {{- tpl . $ | nindent 8 }}")
    chart(values=VALUES.replace("affinity: {}\n", text), template=template)
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["column"]) == ("chart/values.yaml", 13, 24)
    assert (finding["rule"], finding["rendered_in"]) == ("deprecated-node-label", ["chart"])
    assert [(each["file"], each["line"]) for each in finding["related"]] == [("chart/templates/web.yaml", 21)]


@pytest.mark.parametrize(
    ("line", "place", "rule"),
    [("matchLabels: {app: false}", "11:32", "wrong-type"), ("topologyKey:", "13:11", "empty-topology-key")],
)
def test_values_that_cannot_be_tried_in_a_text_are_found_beside_others(checking: Checking, line: str, place: str, rule: str) -> None:
    """A false value, and one that is missing, are at the text and not at the next line of a template."""
    text = """\
affinity: |
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 7
        podAffinityTerm:
          labelSelector:
            matchLabels: {app: web}
            matchExpressions: [{key: app, operator: Exists}]
          topologyKey: zone
"""
    key = line.partition(":")[0]
    text = "".join(f"{each[: len(each) - len(each.lstrip())]}{line}\n" if key in each else f"{each}\n" for each in text.splitlines())
    template = TEMPLATE.replace("affinity: {{- toYaml . | nindent 8 }}", "affinity: {{- tpl . $ | nindent 8 }}")
    chart(values=VALUES.replace("affinity: {}\n", text), template=template)
    assert [f"{each['file']}:{each['line']}:{each['column']} {each['rule']}" for each in checking.report()["findings"]] == [
        f"chart/values.yaml:{place} {rule}"
    ]


def test_a_template_is_not_checked_again_if_its_chart_is_rendered(checking: Checking) -> None:
    chart(template=TEMPLATE.replace("      containers:\n", TOLERATIONS))
    assert checking.messages() == ["chart/templates/web.yaml:24:32 unknown-operator spec.template.spec.tolerations[0].operator ['chart']"]
    summary = checking.report()["summary"]
    assert (summary["templated"], summary["templates_in_part"]) == (0, 0)


def test_a_helper_and_where_it_is_included(checking: Checking) -> None:
    chart(values=VALUES.replace("affinity", 'team: "a b"\naffinity'))
    write({"chart/templates/_helpers.tpl": HELPERS.replace('| default "shop"', '| default "shop" | replace " " "/ "')})
    found = checking.report()["findings"]
    assert {(each["file"], each["line"]) for each in found} == {("chart/templates/_helpers.tpl", 3)}
    assert {(related["file"], related["line"]) for each in found for related in each["related"]} <= {
        ("chart/templates/web.yaml", number) for number in (5, 10, 14)
    }


def test_dependencies_in_the_repository_and_others(checking: Checking) -> None:
    chart("charts/common", values=VALUES.replace("replicas: 2", "replicas: -1"))
    needs = "dependencies:\n  - {name: web, version: 1.0.0, repository: 'https://charts.example.invalid'}\n"
    write(
        {"app/Chart.yaml": CHART.replace("web", "app") + needs + "  - {name: far, version: 1.0.0, repository: 'https://example.invalid'}\n"}
    )
    report = checking.report()
    assert {(each["file"], each["line"]) for each in report["findings"]} == {("charts/common/values.yaml", 1)}
    assert report["findings"][0]["rendered_in"] == ["app", "charts/common"]
    assert report["summary"]["rendered"] == {"kustomizations": 0, "charts": 2, "failed": [], "without": [{"root": "app", "chart": "far"}]}


def test_the_kubernetes_version_is_passed_to_helm(checking: Checking) -> None:
    chart(more='kubeVersion: ">=1.33"\n')
    assert checking.report()["summary"]["rendered"]["charts"] == 1
    (failed,) = checking.report("--kubernetes-version", "1.30")["summary"]["rendered"]["failed"]
    assert "1.30.0" in failed["reason"]


def test_a_chart_that_needs_values_is_rendered_with_its_test_values(checking: Checking) -> None:
    chart(template=TEMPLATE.replace("{{ .Values.replicas }}", '{{ required "say how many" .Values.count }}'))
    (failed,) = checking.report()["summary"]["rendered"]["failed"]
    assert "say how many" in failed["reason"]
    write({"chart/ci/default-values.yaml": "count: -2\n"})
    (found,) = checking.messages()
    assert found.startswith("chart/ci/default-values.yaml:1:8 ")


def test_comments_in_templates_and_values_suppress_findings(checking: Checking) -> None:
    chart(values=VALUES.replace('gpu: "true"', "gpu: true # afflint: ignore[wrong-type]"))
    assert checking.messages() == []
    tolerations = (
        "      # afflint: ignore[unknown-operator]\n      tolerations:\n        - {key: gpu, operator: Exist}\n      containers:\n"
    )
    chart(template=TEMPLATE.replace("      containers:\n", tolerations))
    assert checking.messages() == []


def test_a_library_chart_is_not_rendered(checking: Checking) -> None:
    chart(more="type: library\n")
    assert "No kustomization or chart found to render." in checking("--render", code=0)


def test_links_do_not_lead_a_copy_out_of_the_chart(project: Path) -> None:
    chart(values=VALUES.replace("disktype: ssd", "disktype: 1"))
    write({"common/Chart.yaml": CHART.replace("web", "common"), "common/values.yaml": "{}\n"})
    (project / "chart" / "everything").symlink_to(project)
    (project / "chart" / "charts").mkdir()
    (project / "chart" / "charts" / "common").symlink_to(project / "common")
    (project / "common" / "charts").mkdir()
    (project / "common" / "charts" / "web").symlink_to(project / "chart")
    copy = Charts([], Boundary([])).copy(str(project / "chart"), str(project / "copy"))
    assert sorted(each.name for each in Path(copy.folder).iterdir()) == ["Chart.yaml", "charts", "templates", "values.yaml"]
    assert sorted(each.name for each in Path(copy.folder, "charts", "common").iterdir()) == ["Chart.yaml", "values.yaml"]


def test_a_chart_named_alone_lacks_a_dependency(checking: Checking) -> None:
    """`--helm` renders what `--render` renders, and says what is missing."""
    dependencies = (
        "dependencies:\n- {name: cache, version: 1.0.0, repository: 'https://charts.example.org'}\n- {name: lib, version: 1.0.0}\n"
    )
    chart(values=VALUES.replace('gpu: "true"', "gpu: true"), more=dependencies)
    chart("lib", template="")
    write({"lib/Chart.yaml": CHART.replace("web", "lib")})
    out = checking("--helm", "chart", "--format", "concise")
    assert "wrong-type" in out
    assert "Rendered without charts that are not in the repository: cache (for chart); `helm dependency build` fetches them." in out


@pytest.mark.parametrize(
    ("template", "values", "reported"),
    [
        ("{{ .Release.Name }}-{{ .Values.version }}", "other: a\n", False),  # The user has to set it.
        ("{{ .Release.Name }}-{{ .Values.version }}", "version:\n", False),
        ("{{ .Release.Name }}-{{ .Values.of.version }}", "of: {}\n", False),
        ("{{ .Release.Name }}-{{ .Values.version }}", "version: a b\n", True),
        ("{{ .Release.Name }}-{{ .Values.version }}", "version: ''\n", True),
        ('{{ .Values.name }}-{{ .Values.version | default "" }}', "name: a\n", True),
        ("{{ .Release.Name }}-", "other: a\n", True),
    ],
)
def test_a_label_of_a_value_that_the_chart_leaves_to_the_user(checking: Checking, template: str, values: str, reported: bool) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    app: VALUE\nspec: {containers: [{name: a, image: a}]}\n"
    chart(values=values, template=pod.replace("VALUE", template))
    assert [each["rule"] for each in checking.report()["findings"]] == ["invalid-label-value"] * reported


OWN_LABELS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: &labels {app: web, of: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: *labels}
    spec:
      topologySpreadConstraints: {{- toYaml .Values.topologySpreadConstraints | nindent 8 }}
      containers: [{name: web, image: web}]
"""
SPREAD = "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {%s}}}]"


@pytest.mark.parametrize(
    ("labels", "reported"),
    [("app: web, of: my-release", False), ("app: web, of: release", False), ("app: wep", True)],
)
def test_users_choose_the_name_of_a_release(checking: Checking, labels: str, reported: bool) -> None:
    chart(values=f"topologySpreadConstraints: {SPREAD % labels}\n", template=OWN_LABELS)
    assert [each["rule"] for each in checking.report()["findings"]] == ["spread-misses-itself"] * reported


LITERAL = """\
      {{- if SWITCH }}
      nodeselector: {disktype: ssd}
      {{- end }}
"""
UNKNOWN_FIELD = "unknown field `nodeselector` in this pod spec; did you mean `nodeSelector`?"


def behind(*switches: str) -> dict[str, str]:
    """A template for each switch, behind which there is a mistake in literal text."""
    return {
        f"templates/web-{number}.yaml": deployment("containers: [{name: web, image: web}]") + LITERAL.replace("SWITCH", each)
        for number, each in enumerate(switches)
    }


@pytest.mark.parametrize(
    "switches",
    [
        pytest.param([".Values.azure"], id="one that the values do not declare"),
        pytest.param([f".Values.cloud{number}.enabled" for number in range(8)], id="many that cannot be true together"),
    ],
)
def test_what_is_behind_a_switch_is_checked_as_it_is_written(checking: Checking, switches: list[str]) -> None:
    """Rendering with `--render` never finds less in it than a run without."""
    values = "".join(f"cloud{number}: {{enabled: false}}\n" for number in range(8))
    clash = "{{ if and .Values.cloud0.enabled .Values.cloud1.enabled }}{{ .Values.absent.name }}{{ end }}\n"
    write({f"chart/{name}": text for name, text in behind(*switches).items()})
    write({"chart/Chart.yaml": CHART, "chart/values.yaml": values, "chart/templates/clash.yaml": clash})
    findings = checking.report("chart")["findings"]
    assert [(each["file"], each["line"]) for each in findings] == [
        (f"chart/templates/web-{number}.yaml", 11) for number in range(len(switches))
    ]
    assert all(each["message"].endswith(UNKNOWN_FIELD) for each in findings)
