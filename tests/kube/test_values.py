"""Values of Helm charts: files, data in custom resources, and text in block scalars, checked at their position."""

import pytest

from afflint.yaml.prefilter import is_values_file
from linting import findings_of, lint, settings_of

WRONG = "tolerations: [{key: a, operator: Is}]"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("values.yaml", True),
        ("charts/web/values.yaml", True),
        ("charts/web/values-prod.yml", True),
        ("charts/web/ci/ha-values.yaml", True),
        (r"charts\\web\\values.yaml", True),
        ("web.values.yaml", True),
        ("values.yaml.gotmpl", False),
        ("values/web.yaml", False),
        ("myvalues.yaml", False),
        ("values.schema.json", False),
        ("charts/web/values.schema.yaml", False),
        ("values-prod.schema.yml", False),
        ("web.yaml", False),
    ],
)
def test_files_of_values_are_known_by_their_names(name: str, is_one: bool) -> None:
    assert is_values_file(name) is is_one


def places(text: str, name: str = "values.yaml") -> list[str]:
    return [f"{each.span.line}:{each.span.column} {each.severity} {each.rule} {each.field}" for each in lint({name: text})]


def test_a_constraint_in_a_file_of_values() -> None:
    text = f"# Values.\nreplicas: 3\nserver:\n  {WRONG}\n"
    assert places(text) == ["4:36 warning unknown-operator server.tolerations[0].operator"]
    assert places(text, "settings.yaml") == places(text)
    [found] = lint({"values.yaml": text})
    assert found.message == "a toleration does not support the operator `Is` (if this reaches a pod, the pod is rejected)"


def test_numbers_and_booleans_of_labels_without_a_domain_may_be_words_of_the_chart() -> None:
    text = "nodeSelector: {disk: 1, ssd: true}\ntolerations: [{key: a, value: true}]\n"
    assert places(text) == ["2:31 warning wrong-type tolerations[0].value"]


@pytest.mark.parametrize(
    "text",
    [
        "affinity: {}\nnodeSelector: {}\ntolerations: []\ntopologySpreadConstraints: []\n",
        'affinity: |\n  podAntiAffinity:\n    x: {{ include "web.labels" . }}\n',
        "affinity:\n  podAntiAffinity: soft\npodAntiAffinityPreset: hard\n",
        "sessionAffinity: ClientIP\nservice: {sessionAffinity: None}\n",
        "tolerations: '{{ .Values.global.tolerations }}'\n",
        "nodeSelector: {zone: '{{ .Values.zone }}', kubernetes.io/os: linux}\n",
        "affinity: {nodeAffinity: {key: zone, values: [a, b]}}\n",
        "affinity:\n  broken: [\n",
    ],
)
def test_silent(text: str) -> None:
    assert places(text) == []


def test_findings_in_values_can_be_suppressed_in_place() -> None:
    text = f"server:\n  {WRONG}  # afflint: ignore[unknown-operator]\n"
    assert findings_of({"values.yaml": text.encode()}, settings_of(), inline=True) == []
    idle = text.replace("operator: Is", "operator: Exists")
    assert findings_of({"values.yaml": idle.encode()}, settings_of(), inline=True) == [], "it may be meant for the rendered chart"


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  chart: {spec: {chart: web}}
  values:
    server:
      %s
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  source:
    helm:
      %s
"""


def test_data_in_a_release_of_flux_and_an_application_of_argo_cd() -> None:
    assert places(RELEASE % WRONG) == ["8:40 warning unknown-operator spec.values.server.tolerations[0].operator"]
    text = APPLICATION % f"valuesObject:\n        {WRONG}"
    assert places(text) == ["8:42 warning unknown-operator spec.source.helm.valuesObject.tolerations[0].operator"]


def test_text_in_an_application_is_read_and_its_lines_are_those_of_the_file() -> None:
    text = "---\n" + APPLICATION % f"values: |\n        # Values.\n        server:\n          {WRONG}\n      releaseName: web"
    assert places(text) == ["11:44 warning unknown-operator spec.source.helm.values.server.tolerations[0].operator"]
    [found] = lint(text)
    assert (found.object.kind, found.object.name, found.fix) == ("Application", "web", None)


def test_text_in_a_chart_of_k3s() -> None:
    text = f"""\
apiVersion: helm.cattle.io/v1
kind: HelmChartConfig
metadata: {{name: rke2-ingress-nginx, namespace: kube-system}}
spec:
  valuesContent: |-
    controller:
      {WRONG}
"""
    assert places(text) == ["7:40 warning unknown-operator spec.valuesContent.controller.tolerations[0].operator"]


CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-values, namespace: shop}
data:
  %s: |
    server:
      %s
"""


@pytest.mark.parametrize("key", ["values.yaml", "values-prod.yaml", "web.values.yml"])
def test_a_file_of_values_in_a_config_map_that_a_release_of_flux_reads(key: str) -> None:
    text = CONFIG_MAP % (key, WRONG)
    assert places(text, "web.yaml") == [f"7:40 warning unknown-operator data[{key}].server.tolerations[0].operator"]
    secret = text.replace("kind: ConfigMap", "kind: Secret").replace("data:", "stringData:")
    assert places(secret, "web.yaml") == [f"7:40 warning unknown-operator stringData[{key}].server.tolerations[0].operator"]
    [found] = lint(text)
    assert (found.object.kind, found.object.name, found.fix) == ("ConfigMap", "web-values", None)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CONFIG_MAP % ("config.yaml", WRONG), id="another file"),
        pytest.param(CONFIG_MAP % ("values.yaml", "nodeSelector: {disk: 1}"), id="what charts quote"),
        pytest.param(CONFIG_MAP % ("values.yaml", "{{- if .x }}\n      " + WRONG), id="a template"),
        pytest.param((CONFIG_MAP % ("values.yaml", WRONG)).replace("|", ">"), id="folded"),
        pytest.param((CONFIG_MAP % ("values.json", WRONG)), id="no name of values"),
    ],
)
def test_what_else_a_config_map_holds_is_left_alone(text: str) -> None:
    assert places(text, "web.yaml") == []


def test_in_a_config_map_it_can_be_silenced_for_the_file() -> None:
    text = "# afflint: ignore-file[unknown-operator]\n" + CONFIG_MAP % ("values.yaml", WRONG)
    assert findings_of({"web.yaml": text.encode()}, settings_of(), inline=True) == []


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(f"values: '{WRONG}'", id="on one line"),
        pytest.param(f"values: >\n        {WRONG}", id="folded"),
        pytest.param(f"values: |\n        {{{{ if .x }}}}\n        {WRONG}", id="a structure without its end"),
        pytest.param(f"values: |\n        {WRONG}]", id="no YAML"),
        pytest.param(f"notes: |\n        {WRONG}", id="another field"),
        pytest.param("values: |", id="empty"),
    ],
)
def test_text_that_is_left_out(values: str) -> None:
    assert places(APPLICATION % values) == []


AS_TEXT = """\
server:
  affinity: |
    # Rendered by `tpl`.
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector:
          matchLabels:
            app: {{ template "vault.name" . }}
        topologyKey: kubernetes.io/hostname
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 500
        podAffinityTerm:
          topologyKey: zone
          labelSelector:
            matchLabels:
              {{- include "vault.labels" . | nindent 14 }}
  tolerations: |-
    - key: a
      operator: Is
"""


def test_a_constraint_as_text_for_tpl_is_read_and_its_positions_are_those_of_the_file() -> None:
    assert places(AS_TEXT) == [
        "11:17 warning weight-out-of-range server.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
        "19:17 warning unknown-operator server.tolerations[0].operator",
    ]
    text = (RELEASE % AS_TEXT.replace("\n", "\n      ")).replace("server:\n      server:", "server:")
    assert [each.split()[0] for each in places(text)] == ["17:23", "25:23"]
    inside = APPLICATION % ("values: |\n        " + AS_TEXT.replace("\n", "\n        "))
    assert [each.split()[0] for each in places(inside)] == ["18:25", "26:25"]


def test_what_an_action_in_the_text_may_complete_is_unknown() -> None:
    text = """\
affinity: |
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: {{ .Values.weight }}
      podAffinityTerm:
        {{- toYaml .Values.term | nindent 8 }}
    {{- if .Values.more }}
    - weight: 1
      {{- toYaml .Values.other | nindent 6 }}
    {{- end }}
nodeSelector: |
  {{- if .Values.old }}
  beta.kubernetes.io/os: linux
  {{- else }}
  kubernetes.io/os: linux
  {{- end }}
"""
    assert places(text) == []


def test_values_as_text_may_be_a_template() -> None:
    text = APPLICATION % "values: |\n        {{- if eq .cluster 'a' }}\n        tolerations: [{key: a, operator: Is}]\n        {{- end }}"
    assert [each.split()[0] for each in places(text)] == ["9:42"]


@pytest.mark.parametrize(
    "text",
    [
        "affinity: >\n  nodeAffinity: {}\ntolerations: '- {key: a, operator: Is}'\n",
        "sessionAffinity: |\n  ClientIP\n",
        "tolerations: |\n  {{ range .Values.keys }}\n  - {key: {{ . }}, operator: {{ .operator }}}\n  {{ end }}\n",
        "affinity: |\n  broken: [\n",
        "tolerations: |\n",
    ],
)
def test_silent_for_other_text(text: str) -> None:
    assert places(text) == []
