"""The documents that are parsed: all that may be of a kind that afflint reads, hardly any others, and no templates."""

import pytest

from afflint.kube.kinds import NAMES
from afflint.pipeline.map_step import Checker, default_settings
from afflint.yaml import prefilter as module
from afflint.yaml.documents import Document
from afflint.yaml.prefilter import Triage, looks_templated, parses

TRIAGE = Triage(NAMES)


def parsed(text: str) -> list[Document]:
    return list(TRIAGE.documents(text.encode()))


def kinds(text: str) -> list[str | None]:
    """The kinds of the documents that are parsed; None for one that has no kind or a problem."""
    return [document.data.get("kind") if isinstance(document.data, dict) else None for document in parsed(text)]


def findings(text: str, name: str = "a.yaml") -> list[str]:
    """``line:column rule`` of each finding of the rules that are on by default."""
    result = Checker(default_settings()).check(name, text.encode())
    return [f"{each.span.line}:{each.span.column} {each.rule}" for each in result.found]


# By their kind.


@pytest.mark.parametrize(
    "text",
    [
        "kind: Pod\n",
        "apiVersion: v1\nkind: Pod\n",
        "metadata: {}\nspec: {}\nkind: Pod",
        "kind: Pod # a pod\n",
        "kind:    Pod\r\n",
        "kind:\tPod\n",
        'kind: "Pod"\n',
        "kind: 'Pod'\n",
        '"kind": Pod\n',
        "kind : Pod\n",
        "kind:\n  Pod\n",
        "{apiVersion: v1, kind: Pod}\n",
        '{"apiVersion":"v1","kind":"Pod"}',
        '{\n  "apiVersion": "v1",\n  "kind" :\n "Pod"\n}\n',
        "  apiVersion: v1\n  kind: Pod\n",
        "apiVersion: v1\rkind: Pod\r",
        "? kind\n: Pod\n",
        "kind: !!str Pod\n",
        "kind: # what it is\n  Pod\n",
        "kind:\n\n  # what it is\n  Pod\n",
        "kind: !!str # what it is\n  Pod\n",
        '"kind": >-\n  Pod\n',
        "? kind # what it is\n: Pod\n",
        "? |-\n  kind\n: Pod\n",
        "? &k kind\n: Pod\n",
        "k: &k kind\n*k : Pod\n",
        "!!str kind: Pod\n",
        "{kind : Pod}\n",
        'kind: "P\\\n  od"\n',
        '? "ki\\\n  nd"\n: Pod\n',
        "x: &x {kind: Pod}\n<<: *x\n",
        "kind: &kind Pod\n",
        "kind: &kind\n  Pod\n",
        "kind: !!str &kind 'Pod'\n",
        "{kind: &kind Pod}\n",
        "metadata: {labels: {app: &k Pod}}\nkind: *k\n",
        "kind: >-\n  Pod\n",
        'kind: "Po\\x64"\n',
        'kind: "\\u0050od"\n',
        '"\\x6bind": Pod\n',
        '{"k\\u0069nd": "Pod"}',
        '{"kind": "P\\u006fd"}',
        "\ufeffkind: Pod\n",
        "# about it\n\nkind: Pod\n",
    ],
)
def test_a_manifest_that_matters_is_parsed_however_its_kind_is_written(text: str) -> None:
    assert kinds(text) == ["Pod"]


@pytest.mark.parametrize(
    "text",
    [
        "kind: ConfigMap\n",
        "apiVersion: v1\nkind: PodPreset\n",
        "kind: Pods\n",
        "kind: pod\n",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    kind: Pod\n",
        "kind: CustomResourceDefinition\nspec: {names: {kind: Pod}}\n",
        "kinds: Pod\n",
        "a: 1\n",
        "",
        "# kin: Pod\n",
        "kind: List\nitems:\n- kind: ConfigMap\n",
        "kind: ConfigMapList\nitems: []\n",
        "kind:\n  - ConfigMap\n",
    ],
)
def test_what_is_not_ours_is_not_even_parsed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Document:
        raise AssertionError("parsed")

    monkeypatch.setattr(module, "read", never)
    assert parsed(text) == []


def test_lists_are_parsed_for_what_is_in_them() -> None:
    assert kinds("kind: List\nitems:\n- kind: Pod\n") == ["List"]
    assert kinds('{"kind": "List", "items": [{"kind": "Pod"}]}') == ["List"]
    # The items of a typed list need not say what they are.
    assert kinds("kind: PodList\nitems: [{}]\n") == ["PodList"]
    assert kinds("apiVersion: kubevirt.io/v1\nkind: VirtualMachineList\nitems: []\n") == ["VirtualMachineList"]


def test_a_kind_in_a_text_does_no_harm() -> None:
    text = "patches:\n- patch: |-\n    kind: Deployment\n    spec: {replicas: -1}\n"
    assert len(parsed(text)) == 1
    assert findings(text) == []


def test_values_with_a_kind_of_their_own_are_not_a_manifest() -> None:
    assert findings("kind: Deployment\nreplicas: -1\nnodeSelector: {a: 5}\n", "values.yaml") == []


def test_once_one_document_matters_so_do_those_that_do_not_say_what_they_are() -> None:
    assert kinds("kind: Pod\n---\nkind: ConfigMap\n---\nspec: {}\n---\n# nothing\n") == ["Pod", None]
    assert kinds("kind: ConfigMap\n---\nspec: {}\n") == []


def test_documents_are_counted_without_empty_ones() -> None:
    text = "# first\n---\nkind: ConfigMap\n---\n---\nkind: Pod\n---\n~\n---\nkind: Pod\n"
    assert [(each.index, each.line) for each in parsed(text)] == [(1, 5), (2, 9)]


def test_a_separator_with_text_is_a_problem_and_the_rest_is_read() -> None:
    first, refused, second, third = parsed("kind: Pod\n--- oops\nkind: Pod\nspec: {}\n---\nkind: Service\n")
    assert [first.index, refused.index, second.index, third.index] == [0, 1, 1, 2]
    assert refused.problem is not None
    assert refused.problem.span == (2, 1, 2, 4)
    assert [each.problem for each in (first, second, third)] == [None, None, None]
    assert second.locate(("spec",)) == (4, 1, 4, 5)


def test_instructions_make_a_document_matter_beside_one_of_ours() -> None:
    text = "# afflint: ignore-file[wrong-type]\n---\nkind: Pod\n---\n# afflint: ignore[x]\nkind: ConfigMap\n"
    assert [(each.index, each.empty) for each in parsed(text)] == [(0, True), (0, False), (1, False)]
    assert parsed("# afflint: ignore-file\n---\nkind: ConfigMap\n") == []


def test_kinds_of_the_configuration_count() -> None:
    custom = Triage([*NAMES, "Greenhouse"])
    assert [each.data for each in custom.documents(b"kind: Greenhouse\n")] == [{"kind": "Greenhouse"}]
    assert parsed("kind: Greenhouse\n") == []


# Without a separator.


def test_two_objects_in_one_document_lack_a_separator_if_one_of_them_is_ours() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 80}]}\n"
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    assert findings(pod + service) == findings(service + pod) == ["5:1 missing-separator"]
    assert findings(other + pod + other) == ["4:1 missing-separator", "8:1 missing-separator"]
    assert findings(other + other) == []


# Templates.


@pytest.mark.parametrize(
    "text",
    [
        "kind: Pod\nspec:\n{{- if .Values.x }}\n  a: b\n{{- end }}\n",
        "kind: Pod\nspec:\n  {{ toYaml .Values.spec | nindent 2 }}\n",
        'kind: Pod\nmetadata:\n  {{ include "labels" . }}: x\n',
        "kind: Pod\nspec:\n  {% if x %}\n  a: b\n  {% endif %}\n",
        "kind: Pod\nspec:\n  containers:\n  - {{ .Values.container }}\n",
        "{{ range .Values.pods }}\n---\nkind: Pod\nmetadata: {name: {{ .name }}}\n{{ end }}\n",
    ],
)
def test_a_template_is_skipped_and_counted(text: str) -> None:
    result = Checker(default_settings()).check("pod.yaml", text.encode())
    assert (result.templated, result.found) == (True, ())


def test_in_a_template_folder_any_value_in_braces_makes_an_invalid_file_a_template() -> None:
    text = "kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n  labels: {a\n"
    assert Checker(default_settings()).check("chart/templates/pod.yaml", text.encode()).templated
    assert findings(text, "pod.yaml") == ["4:11 unreadable-manifest"]


def test_below_templates_lone_placeholders_are_read_as_everywhere() -> None:
    result = Checker(default_settings()).check("chart/templates/pod.yaml", b"kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n")
    assert (result.templated, result.filled, result.documents) == (False, True, 1)


def test_a_template_that_is_yaml_is_a_manifest() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: '{{ .x }}'}\nspec: {nodeSelector: {a: 5}, containers: [{name: a, image: a}]}\n"
    assert findings(text, "chart/templates/pod.yaml") == ["4:26 wrong-type"]
    quoted = "kind: Pod\nmetadata:\n  annotations:\n    text: |\n      {{- if x }}\n      {{- end }}\n"
    assert not Checker(default_settings()).check("pod.yaml", quoted.encode()).templated


def test_a_template_of_other_kinds_is_counted_too() -> None:
    text = "kind: ConfigMap\ndata:\n{{- range .Values.x }}\n  a: b\n{{- end }}\n"
    assert Checker(default_settings()).check("x.yaml", text.encode()).templated


def test_what_looks_like_a_template() -> None:
    assert looks_templated("a.yaml", b"a: {{- x }}")
    assert looks_templated("a.yaml", b"a: {{ x | indent 4 }}")
    assert looks_templated("templates/a.yaml", b"a: {{ x }}")
    assert looks_templated("x\\templates\\a.yaml", b"a: {{ x }}")
    assert not looks_templated("a.yaml", b"a: {{ x }}")
    assert not looks_templated("templates/a.yaml", b"a: {x: y}")
    assert not looks_templated("mytemplates/a.yaml", b"a: {{ x }}")


def test_what_parses() -> None:
    assert parses(b"a: 1\n---\nb: 2\n")
    assert parses(b"")
    assert not parses(b"a: 1\n---\nb: [\n")
    assert not parses(b"a: 1\n--- b\n")
    assert parses(b"a: {{ b }}\n")
    assert not parses(b"a: {{ b }}\n{{ if c }}\n")


def test_skipped_documents_are_counted_by_their_whole_kind() -> None:
    text = "kind: EC2NodeClass\n---\nkind: CiliumL2AnnouncementPolicy\n---\nkind: Secret\n"
    documents, skipped = TRIAGE.triaged(text.encode())
    assert not list(documents)
    assert skipped == ["EC2NodeClass", "CiliumL2AnnouncementPolicy", "Secret"]
