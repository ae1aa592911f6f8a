"""Values that a chart in the repository gets and does not read: reported without Helm, at the line to edit."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from afflint import config
from afflint.pipeline.options import Options
from afflint.pipeline.session import Session
from rendering.rendered_trees import write

RULES = ("ignored-chart-value", "unread-chart-value", "wrong-type")
CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
"""
READS_API = """\
      {{- with .Values.api.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.proxy.chp.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers: [{name: web, image: web}]
"""
TOLERATIONS = "tolerations: [{key: team, operator: Exists}]"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found(files: Mapping[str, str], template: str = READS_API) -> list[str]:
    """What a run over a chart with this template, and these further files, says about its values."""
    write({"chart/Chart.yaml": CHART, "chart/templates/web.yaml": DEPLOYMENT + template, **files})
    session = Session(config.default())
    findings = session.check(session.sources(["."]), Options(inline=True)).findings
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.message}" for each in findings if each.rule in RULES]


def test_a_value_that_no_template_reads() -> None:
    assert found({"chart/values-prod.yaml": f"api:\n  {TOLERATIONS}\n"}) == [
        "chart/values-prod.yaml:2:3 no template of web reads `api.tolerations`: it reaches no pod"
    ]
    assert found({"chart/values-prod.yaml": "api:\n  affinity: {}\n"}) == []


READS_TOLERATIONS = "      tolerations: {{- toYaml .Values.tolerations | nindent 8 }}\n      containers: [{name: web, image: web}]\n"
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {{ANNOTATIONS}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: web}]
"""


def of_hook(when: str, extra: str = "", template: str = READS_TOLERATIONS) -> list[str]:
    """What a run says about a chart with a hook that runs at this time."""
    job = HOOK.replace("{{ANNOTATIONS}}", f'\n    "helm.sh/hook": {when}') + extra
    return found({"chart/values.yaml": "tolerations: []\n", "chart/templates/job.yaml": job}, template)


def test_a_hook_that_does_not_get_the_tolerations_of_the_other_pods() -> None:
    place = "chart/values.yaml:1:1"
    assert of_hook("pre-install,pre-upgrade") == [
        f"{place} the hook Job in `templates/job.yaml` does not get `tolerations`: it stays Pending if all nodes have `NoSchedule` taints"
    ]
    assert of_hook("test") == []
    assert of_hook("pre-install", "      tolerations: [{operator: Exists}]\n") == []
    assert of_hook("pre-install", "      {{- toYaml .Values.podSpec | nindent 6 }}\n") == []
    assert of_hook("pre-install", '      {{- .Files.Get "placement.yaml" | nindent 6 }}\n') == []
    assert of_hook("pre-install", '      {{- toYaml (dict "tolerations" .Values.tolerations) | nindent 6 }}\n') == []
    assert of_hook("pre-install", "      <<: *placement\n") == []
    assert of_hook("pre-install", "      nodeName: one\n") == []
    assert of_hook("crd-install") == []
    assert of_hook("{{ .Values.when }}") == []


def test_a_component_that_is_off_has_no_pods_to_miss() -> None:
    spread = "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: WHAT}}}]"
    template = (
        "{{- if .Values.enabled }}\n"
        + DEPLOYMENT.replace("metadata: {labels: {app: web}}", "metadata:\n      labels:\n        app: web")
        + "      topologySpreadConstraints: {{- toYaml .Values.spread.topologySpreadConstraints | nindent 8 }}\n"
        "      containers: [{name: web, image: web}]\n{{- end }}\n"
    )

    def misses(enabled: str, label: str) -> list[str]:
        values = f"enabled: {enabled}\nspread:\n  topologySpreadConstraints: {spread.replace('WHAT', label)}\n"
        found({"chart/values.yaml": values, "chart/templates/web.yaml": template}, "")
        session = Session(config.default())
        return [each.rule for each in session.check(session.sources(["."]), Options(inline=True)).findings if "spread-misses" in each.rule]

    assert misses("true", "other") == ["spread-misses-itself"]
    assert misses("true", "web") == []
    assert misses("false", "web") == []


def test_a_hook_in_a_chart_whose_tolerations_no_other_pod_gets() -> None:
    assert of_hook("pre-install", template="      containers: [{name: web, image: web}]\n") == [
        "chart/values.yaml:1:1 no template of the chart reads `tolerations`: it has no effect"
    ]


def test_a_value_that_the_chart_declares() -> None:
    assert found({"chart/values.yaml": "api:\n  affinity: {}\n  tolerations: []\n"}) == [
        "chart/values.yaml:3:3 no template of the chart reads `api.tolerations`: it has no effect"
    ]


@pytest.mark.parametrize(
    ("values", "name", "instead"),
    [
        ("proxy:\n  nodeSelector: {disk: ssd}\n", "proxy.nodeSelector", "proxy.chp.nodeSelector"),
        ("proxy:\n  chp:\n    deep:\n      nodeSelector: {disk: ssd}\n", "proxy.chp.deep.nodeSelector", "proxy.chp.nodeSelector"),
        ("proxi:\n  chp:\n    nodeSelector: {disk: ssd}\n", "proxi.chp.nodeSelector", "proxy.chp.nodeSelector"),
    ],
    ids=["one level too high", "one level too low", "a wrong letter"],
)
def test_the_value_that_is_read_instead(values: str, name: str, instead: str) -> None:
    write({"chart/Chart.yaml": CHART, "chart/templates/web.yaml": DEPLOYMENT + READS_API, "chart/values-prod.yaml": values})
    session = Session(config.default())
    findings = [each for each in session.check(session.sources(["."]), Options()).findings if each.rule == "ignored-chart-value"]
    assert [each.message.partition(":")[0] for each in findings] == [f"no template of web reads `{name}`"]
    assert findings[0].help == f"Set `{instead}` instead."


def test_a_value_that_templates_only_ask_for() -> None:
    template = "      {{- if .Values.tolerations }}\n      affinity: {{- toYaml .Values.affinity | nindent 8 }}\n      {{- end }}\n"
    assert found({"chart/values-prod.yaml": TOLERATIONS + "\n"}, template) == [
        "chart/values-prod.yaml:1:1 no template of web writes `tolerations`: they only ask whether it is set"
    ]
    assert found({"chart/values-prod.yaml": TOLERATIONS + "\n"}, template.replace(".affinity", ".tolerations")) == []


def test_a_map_of_switches() -> None:
    template = "      {{- if and .Values.affinity .Values.affinity.hard }}\n      affinity: {podAntiAffinity: {}}\n      {{- end }}\n"
    assert found({"chart/values.yaml": "affinity: {hard: true}\n"}, template) == []


def test_a_value_behind_a_switch_that_is_off() -> None:
    template = (
        "      {{- if .Values.affinity.enabled }}\n      affinity:\n"
        "        nodeAffinity: {{- toYaml .Values.affinity.nodeAffinity | nindent 10 }}\n"
        "      {{- end }}\n"
    )
    terms = "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}"
    values = f"affinity:\n  nodeAffinity: {terms}\n"
    assert found({"chart/values.yaml": "affinityEnabled: false\n", "chart/values-prod.yaml": values}, template) == [
        "chart/values-prod.yaml:1:1 web reads `affinity` only if `affinity.enabled` is set: it reaches no pod"
    ]
    assert found({"chart/values-prod.yaml": values + "  enabled: true\n"}, template) == []


def test_the_values_of_a_dependency_are_below_its_alias() -> None:
    chart = CHART + "dependencies: [{name: db, alias: store, version: 1.0.0}]\n"
    inner = {"chart/charts/db/Chart.yaml": CHART.replace("web", "db"), "chart/charts/db/templates/db.yaml": DEPLOYMENT + READS_API}
    alias = "the values of the dependency `db` are below `store`"
    values = {"chart/values-prod.yaml": "db:\n  api:\n    affinity: {nodeAffinity: {}}\nstore:\n  api:\n    affinity: {nodeAffinity: {}}\n"}
    assert found({"chart/Chart.yaml": chart, **inner, **values}) == [
        f"chart/values-prod.yaml:3:5 no template of web reads `db.api.affinity`: it reaches no pod; {alias}"
    ]


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  destination: {namespace: web}
  source:
    repoURL: https://example.com/repository.git
    path: chart
    helm:
"""


def test_values_that_an_application_gives_the_chart() -> None:
    inline = "      valuesObject:\n        api:\n          tolerations: [{key: team, operator: Exists}]\n"
    assert found({".git/HEAD": "", "apps/web.yaml": APPLICATION + inline}) == [
        "apps/web.yaml:12:11 no template of web reads `api.tolerations`: it reaches no pod"
    ]
    write({"apps/web.yaml": APPLICATION + "      valueFiles: [../env/prod.yaml]\n"})
    assert found({"env/prod.yaml": f"api:\n  {TOLERATIONS}\n"}) == [
        "env/prod.yaml:2:3 no template of web reads `api.tolerations`: it reaches no pod"
    ]


SPEC = (
    "      nodeSelector: {{- toYaml .Values.nodeSelector | nindent 8 }}\n      tolerations: {{- toYaml .Values.tolerations | nindent 8 }}\n"
)


@pytest.mark.parametrize(
    ("values", "messages"),
    [
        ("tolerations: {team: {operator: Exists}}\n", ["chart/values-prod.yaml:1:1 `tolerations` must be a list, not a map"]),
        ("nodeSelector: [disk=ssd]\n", ["chart/values-prod.yaml:1:1 `nodeSelector` must be a map, not a list"]),
        ("nodeSelector: {disk: ssd}\ntolerations: [{operator: Exists}]\n", []),
    ],
)
def test_a_value_of_another_type_than_the_field_that_it_becomes(values: str, messages: list[str]) -> None:
    assert found({"chart/values-prod.yaml": values}, SPEC) == messages


@pytest.mark.parametrize(
    "template",
    [
        '      {{- if kindIs "map" .Values.tolerations }}\n      tolerations: []\n      {{- else }}\n' + SPEC + "      {{- end }}\n",
        "      tolerations:\n      {{- range $name, $each := .Values.tolerations }}\n      - {key: {{ $name }}}\n      {{- end }}\n",
        '      {{- include "tolerations" .Values.tolerations | nindent 6 }}\n',
    ],
    ids=["both are tried", "a map of items", "an unknown template"],
)
def test_a_template_may_take_a_map_where_pods_need_a_list(template: str) -> None:
    assert found({"chart/values-prod.yaml": "tolerations: {team: {operator: Exists}}\n"}, template) == []


SILENT = {
    "an anchor that aliases use": f"x-defaults: &defaults\n  {TOLERATIONS}\napi: {{<<: *defaults, tolerations: null}}\n",
    "a merge key": f"x-defaults:\n  &defaults\n  {TOLERATIONS}\nx-web: &web\n  <<: *defaults\napi: {{<<: *web, tolerations: null}}\n",
    "a whole object": "extra:\n- apiVersion: v1\n  kind: Pod\n  spec: {tolerations: [{key: team, operator: Exists}]}\n",
    "global values": "global:\n  tolerations: [{key: team, operator: Exists}]\n",
    "a word": "podAntiAffinity: hard\n",
}


@pytest.mark.parametrize("values", SILENT.values(), ids=SILENT)
def test_it_is_silent(values: str) -> None:
    assert found({"chart/values-prod.yaml": values}) == []


def test_a_text_of_the_values_that_names_another_value() -> None:
    template = "      {{- tpl .Values.spec . | nindent 6 }}\n"
    values = 'spec: "tolerations: {{ toJson .Values.tolerations }}"\n' + TOLERATIONS + "\n"
    assert found({"chart/values-prod.yaml": values}, template) == []


def test_a_chart_whose_library_is_not_in_the_repository() -> None:
    chart = CHART + "dependencies: [{name: common, version: 1.0.0, repository: 'https://example.com'}]\n"
    template = '      {{- include "common.placement" . | nindent 6 }}\n'
    assert found({"chart/Chart.yaml": chart, "chart/values-prod.yaml": TOLERATIONS + "\n"}, template) == []


def test_a_file_that_templates_may_read_as_it_is() -> None:
    assert found({"chart/files/profile.yaml": TOLERATIONS + "\n"}) == []
    assert found({"chart/environments/prod.yaml": TOLERATIONS + "\n"}) == [
        "chart/environments/prod.yaml:1:1 no template of web reads `tolerations`: it reaches no pod"
    ]


def test_the_values_of_a_dependency_that_a_template_of_the_chart_reads() -> None:
    template = '      nodeSelector: {{- include "db.selector" .Subcharts.db | nindent 8 }}\n'
    helper = '{{- define "db.selector" }}{{ toYaml .Values.nodeSelector }}{{ end }}\n'
    inner = {"chart/charts/db/Chart.yaml": CHART.replace("web", "db"), "chart/charts/db/templates/_helpers.tpl": helper}
    assert found({**inner, "chart/values-prod.yaml": "db:\n  nodeSelector: {disk: ssd}\n"}, template) == []


def test_a_suppression_in_the_values() -> None:
    suppressed = "tolerations: []  # afflint: ignore[unread-chart-value] -- for later\n"
    assert found({"chart/values.yaml": suppressed}) == []


@pytest.mark.parametrize(
    "text",
    [
        "x-affinity:\n  &spread\n  affinity: {podAntiAffinity: {}}\napi: *spread\n",
        "spare:\n  tolerations:\n    - &team {key: team, operator: Exists}\n",
    ],
    ids=["below the key", "in an item"],
)
def test_a_value_with_an_anchor_may_be_used_elsewhere(text: str) -> None:
    assert found({"chart/values-prod.yaml": text}) == []


SWITCHED = """\
      {{- if .Values.affinityEnabled }}
      affinity: {{- toYaml .Values.affinity | nindent 8 }}
      {{- end }}
      containers: [{name: web, image: web}]
"""
AFFINITY = "affinity: {nodeAffinity: {}}\n"


def test_a_switch_that_another_file_of_the_release_may_set() -> None:
    """Which of the files of a chart a release gets is not known, if no object names them."""
    only = ["chart/values-prod.yaml:1:1 web reads `affinity` only if `affinityEnabled` is set: it reaches no pod"]
    assert found({"chart/values-prod.yaml": AFFINITY}, SWITCHED) == only
    assert found({"chart/values-all.yaml": "replicas: 2\n"}, SWITCHED) == only
    assert found({"chart/values-all.yaml": "affinityEnabled: true\n"}, SWITCHED) == []


MIXED = """\
      {{- if .Values.own }}
      affinity: {{- include "mixed" (list .Values.affinity) | fromYaml | toYaml | nindent 8 }}
      {{- end }}
"""
HELPER = '{{- define "mixed" }}{{- $found := dict }}{{- range . }}{{- $found = merge $found . }}{{- end }}{{ toYaml $found }}{{- end }}'


def test_a_switch_of_a_value_that_is_also_read_in_another_form() -> None:
    files = {"chart/templates/_helpers.tpl": HELPER, "chart/values.yaml": "own: true\n", "chart/values-prod.yaml": AFFINITY}
    assert found(files, MIXED + SWITCHED) == []


def test_a_switch_that_another_file_of_an_application_sets() -> None:
    files = {".git/HEAD": "", "env/all.yaml": "affinityEnabled: true\n", "env/prod.yaml": AFFINITY}
    assert found({**files, "apps/web.yaml": APPLICATION + "      valueFiles: [../env/all.yaml, ../env/prod.yaml]\n"}, SWITCHED) == []
    assert found({"apps/web.yaml": APPLICATION + "      valueFiles: [../env/prod.yaml]\n"}, SWITCHED) == [
        "env/prod.yaml:1:1 web reads `affinity` only if `affinityEnabled` is set: it reaches no pod"
    ]


def test_values_in_a_text_of_an_application() -> None:
    text = "      values: |\n        # of the team\n        api:\n          tolerations: [{key: team, operator: Exists}]\n"
    assert found({".git/HEAD": "", "apps/web.yaml": APPLICATION + text}) == [
        "apps/web.yaml:13:11 no template of web reads `api.tolerations`: it reaches no pod"
    ]


def test_an_empty_map_in_place_of_a_list() -> None:
    """Most charts leave it out, or loop over a map."""
    values = {"chart/values.yaml": "tolerations: {}\n"}
    whole = "      tolerations: {{- toYaml .Values.tolerations | nindent 8 }}\n"
    assert found(values, whole) == ["chart/values.yaml:1:1 `tolerations` must be a list, not a map"]
    assert (
        found(values, f"      {{{{- with .Values.tolerations }}}}\n{whole.replace('.Values.tolerations', '.')}      {{{{- end }}}}\n") == []
    )
    loop = "        {{- range $key, $each := .Values.tolerations }}\n        - key: {{ $key }}\n        {{- end }}\n"
    assert found(values, f"      tolerations:\n{loop}") == []


SELECTED = "{web: {nodeSelector: {disk: ssd}}}\n"
WRITTEN = "{{ $w := .Values.web }}{{ toYaml $w.nodeSelector }}"
READ_BY_PARENTS = {
    "by its path": "{{ $s := .Values.sub }}{{ toYaml $s.web.nodeSelector }}",
    "as a chart": '{{ include "of.web" .Subcharts.sub }}{{ define "of.web" }}{{ .Values.web.nodeSelector }}{{ end }}',
}


@pytest.mark.parametrize("template", READ_BY_PARENTS.values(), ids=READ_BY_PARENTS)
def test_values_of_a_dependency_that_its_parent_reads(template: str) -> None:
    inner = {"chart/charts/sub/Chart.yaml": "name: sub\nversion: 1.0.0\n", "chart/charts/sub/templates/a.yaml": "a: {{ .Values.a }}\n"}
    values = {"chart/charts/sub/values.yaml": "web:\n  nodeSelector: {}\n"}
    assert found({**inner, **values}, "{}\n") != []
    assert found({**inner, **values, "chart/templates/parent.yaml": template}, "{}\n") == []


def test_values_of_a_dependency_that_its_parent_imports() -> None:
    chart = "name: web\nversion: 1.0.0\ndependencies: [{name: sub, version: 1.0.0, import-values: [{child: web, parent: api}]}]\n"
    inner = {"chart/charts/sub/Chart.yaml": "name: sub\nversion: 1.0.0\n", "chart/charts/sub/templates/a.yaml": "a: {{ .Values.a }}\n"}
    assert found({**inner, "chart/Chart.yaml": chart, "chart/charts/sub/values.yaml": "web:\n  nodeSelector: {}\n"}) == []


def test_files_for_the_charts_of_an_app_of_apps() -> None:
    template = '{{ tpl (.Files.Get (printf "%s-values.yaml" .Values.name)) . }}\n'
    assert found({"chart/loki-values.yaml": SELECTED}, template) == []


def test_a_file_for_a_chart_in_another_place() -> None:
    helmfile = "releases:\n- name: loki\n  chart: grafana/loki\n  values: [chart/values-loki.yaml]\n"
    application = APPLICATION.replace("    path: chart\n", "    chart: loki\n    targetRevision: 5.0.0\n")
    assert found({"chart/values-loki.yaml": SELECTED}) != []
    assert found({"helmfile.yaml": helmfile}) == []
    sources = application.replace("  source:\n    ", "  sources:\n  - ").replace("\n    ", "\n    ")
    files = {"helmfile.yaml": "", ".git/HEAD": "", "apps/web.yaml": f"{sources}      valueFiles: [$values/chart/values-loki.yaml]\n"}
    files["apps/web.yaml"] += "  - repoURL: https://example.com/repository.git\n    ref: values\n"
    assert found(files) == []


def test_a_dependency_from_elsewhere_is_not_the_chart_of_that_name_here() -> None:
    dependency = "dependencies: [{name: redis, version: 17.x.x, repository: https://charts.example.com}]\n"
    files = {f"{each}/Chart.yaml": f"name: redis\nversion: 17.0.0\n{dependency}" for each in ("dev", "prod")}
    assert found({**files, "prod/values.yaml": "redis:\n  master:\n    nodeSelector: {}\n"}) == []


TEXTS = {
    "index": '{{ toYaml (index .Values "web" "nodeSelector") }}',
    "a variable": "{{ $v := .Values }}{{ toYaml $v.web.nodeSelector }}",
    "a loop": "{{ range $k, $v := .Values }}{{ $v.nodeSelector }}{{ end }}",
    "a helper": '{{ include "of.text" . }}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_a_template_fills_may_name_a_value(text: str) -> None:
    template = "{{ tpl .Values.extra . }}\n"
    helper = {"chart/templates/_a.tpl": f'{{{{ define "of.text" }}}}{WRITTEN}{{{{ end }}}}'}
    values = f"extra: '{text}'\nweb:\n  nodeSelector: {{disk: ssd}}\n"
    assert found({**helper, "chart/values-prod.yaml": values}, template) == []
    assert found({"chart/values-prod.yaml": "extra: text\nworker:\n  nodeSelector: {disk: ssd}\n"}, template) != []
