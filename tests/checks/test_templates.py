"""The literal text of templates: what no action touches is checked, and nothing else is."""

import pytest

from afflint.checks.registry import REGISTRY
from afflint.pipeline.map_step import Checker
from growth import assert_linear
from linting import findings_of, lint, settings_of

DEPLOYMENT = """\
{{- if .Values.enabled }}
apiVersion: {{ include "web.apiVersion" . }}
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels:
    {{- include "web.labels" . | nindent 4 }}
spec:
  template:
    spec:
      %s
      containers:
      - name: web
        image: "{{ .Values.image }}:{{ default "latest" .Values.tag }}"
{{- end }}
"""


def places(text: str, name: str = "chart/templates/web.yaml") -> list[str]:
    """``12:5 rule`` for each finding in a template that has ``text`` in its pod spec; lines count from that of the text."""
    indented = text.rstrip("\n").replace("\n", "\n      ")
    return [f"{each.span.line - 10}:{each.span.column - 6} {each.rule}" for each in lint({name: DEPLOYMENT % indented})]


def test_a_value_in_a_file_with_actions() -> None:
    text = "tolerations:\n- key: {{ .Values.key }}\n  operator: Is\n"
    assert places(text) == ["3:13 unknown-operator"]
    assert places(text, "cluster/manifests/web.yaml") == ["3:13 unknown-operator"]
    [found] = lint({"web.yaml": DEPLOYMENT % text.replace("\n", "\n      ")})
    assert (found.severity, found.object.kind, found.fix) == ("error", "Deployment", None)
    assert found.field == "spec.template.spec.tolerations[0].operator"


AFFINITY = """\
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - %s
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            AFFINITY % "labelSelector:\n        matchLabels: {app: web}\n      topologyKey: kubernetes.io/hostname",
            ["4:7 missing-term-wrapper", "4:7 weight-out-of-range"],
            id="a term without its wrapper",
        ),
        pytest.param(
            "{{- with .Values.zone }}\n"
            + AFFINITY % "weight: 101\n      podAffinityTerm: {topologyKey: zone, labelSelector: {}}\n{{- end }}",
            ["5:15 weight-out-of-range"],
            id="in a branch",
        ),
        pytest.param(
            "tolerations:\n{{- toYaml .Values.tolerations | nindent 6 }}\n- {key: a, operator: Is}",
            ["3:22 unknown-operator"],
            id="below other items",
        ),
        pytest.param(
            "tolerations:\n- {key: a, operator: Is}\n- {key: b, operator: Exists}\n{{- toYaml .Values.tolerations | nindent 6 }}",
            ["2:22 unknown-operator"],
            id="above other items",
        ),
        pytest.param(
            "tolerations:\n- key: node-role.kubernetes.io/master\n  effect: NoSchedule",
            ["2:8 legacy-control-plane-toleration"],
            id="a whole constraint",
        ),
        pytest.param(
            "nodeSelector:\n  beta.kubernetes.io/os: linux\n  {{- toYaml .Values.nodeSelector | nindent 8 }}",
            ["2:3 deprecated-node-label"],
            id="a value that an action below cannot change",
        ),
        pytest.param("tolerations: {{/* A comment. */}}\n- {key: a, operator: Is}", ["2:22 unknown-operator"], id="below a comment"),
        pytest.param("{{- /*\ntolerations:\n*/}}\ntolerations:\n- {key: a, operator: Is}", ["5:22 unknown-operator"], id="long comment"),
        pytest.param(
            "tolerations:\n- key: '{{ printf \"%s\" .Values.a }}'\n  operator: Is", ["3:13 unknown-operator"], id="quotes in a value"
        ),
        pytest.param("{% if x %}\ntolerations:\n- {key: a, operator: Is}\n{% endif %}", ["3:22 unknown-operator"], id="Jinja"),
    ],
)
def test_literal_constraints_are_checked(text: str, expected: list[str]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tolerations:\n- key: a\n  operator: {{ .Values.operator }}", id="a placeholder"),
        pytest.param("tolerations:\n- key: a\n  operator: {{ if .Values.a }}Exists{{ else }}Equal{{ end }}", id="a choice in a line"),
        pytest.param(AFFINITY % "{{- toYaml .Values.a | nindent 8 }}\n      weight: 1", id="an item that an action prints in part"),
        pytest.param(AFFINITY % "weight: 1\n      {{- toYaml .Values.term | nindent 8 }}", id="a term that an action completes"),
        pytest.param(
            AFFINITY % "podAffinityTerm:\n        {{- if .Values.a }}\n        topologyKey: zone\n        {{- end }}",
            id="a branch in a term",
        ),
        pytest.param(
            "tolerations:\n{{- if .Values.a }}\n- key: node-role.kubernetes.io/master\n{{- else }}\n"
            "- key: node-role.kubernetes.io/control-plane\n{{- end }}",
            id="a list with branches",
        ),
        pytest.param(
            "{{- if .Values.a }}\nnodeSelector: {kubernetes.io/os: linux}\n{{- else }}\n"
            "nodeSelector: {beta.kubernetes.io/os: linux}\n{{- end }}",
            id="an old label as the alternative of the new one",
        ),
        pytest.param(
            '{{- if semverCompare "<1.14" .Capabilities.KubeVersion.Version }}\nnodeSelector: {beta.kubernetes.io/os: linux}\n{{- end }}',
            id="an old label for an old version",
        ),
        pytest.param(
            "affinity:\n  podAntiAffinity:\n{{- if .Values.hard }}\n    requiredDuringSchedulingIgnoredDuringExecution:\n{{- else }}\n"
            "    preferredDuringSchedulingIgnoredDuringExecution:\n{{- end }}\n    - topologyKey: zone\n      labelSelector: {}",
            id="items of the one field or the other",
        ),
        pytest.param("{{- /*\ntolerations:\n- {key: a, operator: Is}\n*/}}", id="in a comment"),
        pytest.param('{{- define "x" }}\ntolerations:\n- {key: a, operator: Is}\n{{- end }}', id="in a definition"),
        pytest.param(
            "tolerations:\n  {{- if .Values.a -}}\n- {key: a, operator: Is}\n{{- end }}", id="an indentation that an action trims"
        ),
        pytest.param("tolerations:\n{{- if .Values.a }}\n- {key: a, operator: Is}", id="a structure without its end"),
        pytest.param("tolerations:\n- {key: a, operator: Is}\n{{- end }}\n{{- end }}", id="an end too many"),
        pytest.param("affinity: {{- toYaml .Values.affinity | nindent 8 }}\nnodeSelector: {a: b}", id="text that an action prints"),
        pytest.param("nodeSelector: {kubernetes.io/os: linux}\n", id="healthy"),
    ],
)
def test_silent_where_actions_decide(text: str) -> None:
    found = places(text)
    assert found == []


IN_CONTAINER = """\
        resources:
{{ toYaml .Values.resources | indent %d }}
{{- with .Values.tolerations }}
        tolerations:
          {{- toYaml . | nindent 10 }}
{{- end }}
{{- end }}
"""


def test_branches_that_do_not_fit_together_as_yaml_are_left_out() -> None:
    items = "containers:\n{{- if .Values.proxy }}\n  - {name: proxy, image: proxy}\n{{- end }}\n"
    text = f"{items}- name: web\n  tolerations: [{{key: a, operator: Is}}]\ntolerations:\n- {{key: a, operator: Is}}"
    template = (DEPLOYMENT % text.replace("\n", "\n      ")).replace("      containers:\n      - name: web\n        image", "#")
    assert [f"{each.span.line} {each.rule}" for each in lint(template)] == ["16 misplaced-constraint", "18 unknown-operator"]


def test_a_key_at_a_place_where_it_does_nothing_whatever_its_value_is() -> None:
    template = (DEPLOYMENT % "hostNetwork: true").removesuffix("{{- end }}\n").replace('{{ include "web.apiVersion" . }}', "apps/v1")
    [found] = lint(template + IN_CONTAINER % 12)
    assert (found.rule, found.span.line, found.span.column) == ("misplaced-constraint", 18, 9)
    assert lint(template + IN_CONTAINER % 4) == [], "the inserted lines may contain the map that the key belongs to"
    assert places("{{- with .Values.tolerations }}\ntoleration:\n{{- toYaml . | nindent 8 }}\n{{- end }}") == ["2:1 unknown-field"]
    assert places("{{- with .Values.tolerations }}\ntolerations:\n{{- toYaml . | nindent 8 }}\n{{- end }}") == []
    assert places("{{- with .Values.dns }}\ndnsPolici: {{ . }}\n{{- end }}") == [], "not about placement"


@pytest.mark.parametrize(
    ("start", "part"),
    [
        ("", '{{define "a"}}affinity{{end}}'),
        ("", "{{ "),
        ("{{ ", '"'),
        ("", "{{/* "),
        ("", "{% "),
        ("", "{{ if x }}"),
        ("", "{{ if x }}\n"),
    ],
    ids=["named", "open", "quotes", "comments", "Jinja", "one line", "deep"],
)
def test_the_time_for_a_template_is_linear(start: str, part: str) -> None:
    def check(count: int) -> None:
        text = f"tolerations:\n{start}{part * count}\n{{{{- end }}}}\n"
        assert not Checker(settings_of()).check("web.yaml", text.encode()).found

    assert_linear(check, 20_000)


def test_a_template_gives_no_facts_and_is_counted_as_a_template() -> None:
    checker = Checker(settings_of())
    text = (DEPLOYMENT % "tolerations: [{key: a, operator: Exists}]").encode()
    result = checker.check("chart/templates/web.yaml", text)
    assert (result.templated, result.literal, result.documents, result.facts.pods) == (True, True, 0, ())
    without = checker.check("chart/templates/web.yaml", (DEPLOYMENT % "hostNetwork: true").encode())
    assert (without.templated, without.literal) == (True, False)
    filled = checker.check("chart/templates/web.yaml", (DEPLOYMENT % "affinity: {{ .Values.affinity | toJson }}").encode())
    assert filled.literal, "the rules about constraints have seen the field"


AFFINITY_OF_NODES = """\
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
    - matchExpressions: [{key: zone, operator: Inn, values: [a]}]
"""


SPREADS = "- maxSkew: 0\n  topologyKey: zone\n  whenUnsatisfiable: DoNotSchedule\n"
NO_TERMS = "nodeAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n    nodeSelectorTerms: []\n"


def in_named_template(text: str) -> list[str]:
    """``12:5 rule`` for each finding in a named template with this text; lines count from that of the text."""
    above = '{{/* Names. */}}\n{{- define "web.name" -}}\nweb\n{{- end }}\n{{- define "web.pod" -}}\n'
    found = lint({"chart/templates/_helpers.tpl": f"{above}{text}{{{{- end -}}}}\n"})
    assert all(each.object.kind == "template" and each.fix is None for each in found)
    return [f"{each.span.line - 5}:{each.span.column} {each.rule}" for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(AFFINITY_OF_NODES, ["4:48 unknown-operator"], id="an affinity"),
        pytest.param(f"{{{{- if .a }}}}\n{AFFINITY_OF_NODES}{{{{- end }}}}\n", ["5:48 unknown-operator"], id="in a branch"),
        pytest.param("    tolerations:\n    - {key: a, operator: Is}\n", ["2:26 unknown-operator"], id="a field, indented"),
        pytest.param(SPREADS, ["1:12 invalid-spread-constraint"], id="a list of spread constraints"),
        pytest.param(AFFINITY_OF_NODES.replace("Inn", "{{ .operator }}"), [], id="an action in the mistake"),
        pytest.param("operators: [Inn]\nlabels: {a: b}\n", [], id="other data"),
        pytest.param("affinity: {}\ntolerations: [{operator: Exists}]\nnodeSelctor: {a: b}\n", [], id="a key whose map is unknown"),
        pytest.param(NO_TERMS, [], id="a constraint that may grow"),
    ],
)
def test_the_text_of_a_named_template(text: str, expected: list[str]) -> None:
    assert in_named_template(text) == expected


def test_a_comment_in_a_named_template_silences_its_findings() -> None:
    text = AFFINITY_OF_NODES.replace("[a]}]", "[a]}]  # afflint: ignore[unknown-operator]")
    assert findings_of({"_helpers.tpl": f'{{{{ define "a" }}}}\n{text}{{{{ end }}}}\n'.encode()}, settings_of(), inline=True) == []


def test_a_named_template_in_a_template_of_a_manifest() -> None:
    named = f'{{{{ define "affinity" }}}}\n{AFFINITY_OF_NODES}{{{{ end }}}}\n---\n'
    found = lint({"web.yaml": named + DEPLOYMENT % "tolerations: [{key: a, operator: Is}]"})
    assert [(each.span.line, each.object.kind) for each in found] == [(5, "template"), (18, "Deployment")]


NAMES = ("web.yaml.j2", "web.yml.template", "web.gotmpl", "a/WEB.TPL")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_with_the_name_of_a_template_is_read_as_one(name: str) -> None:
    """Even if it could be read as YAML: other lines may be added to it."""
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  tolerations: [{key: a, operator: Is}]\n  containerz: []\n"
    [found] = lint({name: text})
    assert (found.rule, found.span.line) == ("unknown-operator", 5)
    result = Checker(settings_of()).check(name, text.encode())
    assert (result.templated, result.literal, result.documents, result.facts.pods) == (True, True, 0, ())


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        pytest.param("server {\n  listen {{ port }};\n", False, id="no manifest"),
        pytest.param("kind: Pod\nspec: [\n", True, id="broken YAML"),
        pytest.param("{% if a %}\nkind: Pod\n", True, id="an open branch"),
        pytest.param("kind: ConfigMap\ndata: {a: {{ a }}}\n", True, id="no constraints"),
    ],
)
def test_a_file_with_the_name_of_a_template_is_silent_without_literal_constraints(text: str, skipped: bool) -> None:
    result = Checker(settings_of()).check("web.j2", text.encode())
    assert (result.found, result.templated, result.literal) == ((), skipped, False)


def test_a_comment_in_a_template_silences_its_findings_and_is_never_unused() -> None:
    text = DEPLOYMENT % "tolerations: [{key: a, operator: Is}]  # afflint: ignore[unknown-operator]"
    assert findings_of({"web.yaml": text.encode()}, settings_of(), inline=True) == []
    idle = text.replace("operator: Is", "operator: Exists")
    assert findings_of({"web.yaml": idle.encode()}, settings_of(), inline=True) == [], "it may be meant for the rendered chart"


def test_a_rule_has_the_same_evidence_in_all_its_checks_of_single_objects() -> None:
    found: dict[str, set[str]] = {}
    for subject in ("manifest", "workload", "constrained", "mismatched"):
        for check in REGISTRY[subject]:
            found.setdefault(check.rule, set()).add(check.evidence)
    assert [rule for rule, kinds in found.items() if len(kinds) > 1] == []


OPEN = """\
affinity:
  nodeAffinity:
    {{- if .Values.dedicated }}
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 1
      preference:
        matchExpressions:
    {{- end }}
"""


@pytest.mark.parametrize(
    "below",
    [
        "        - key: a\n          operator: Exists\n",
        "    {{- range .Values.keys }}\n        - key: {{ . }}\n          operator: Exists\n    {{- end }}\n",
    ],
)
def test_a_key_that_is_open_at_the_end_of_a_branch_has_the_value_below_the_branches(below: str) -> None:
    assert places(OPEN + below) == []
    assert places(OPEN.replace("{{- if .Values.dedicated }}", "{{- with .Values.dedicated }}") + below) == []


def test_a_key_without_a_value_at_the_end_of_a_branch() -> None:
    lone = "affinity:\n  nodeAffinity:\n    {{- if .Values.a }}\n" + OPEN.partition("}}\n")[2].partition("    {{- else")[0]
    assert places(lone + "    {{- end }}\n") == ["6:9 empty-term"]
