"""Lone placeholders of templates are read as text: their surroundings are checked, and nothing that depends on them."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml.nodes import MappingNode, ScalarNode

import rule_pages
from afflint.checks import registry
from afflint.pipeline.map_step import Checker, FileResult, MapSettings, default_settings
from afflint.yaml.composer import nodes_below
from afflint.yaml.documents import Document, read, split
from afflint.yaml.placeholders import holds_control, is_placeholder, is_unfinished_name, masked, masked_action
from linting import findings_of
from rule_pages import Example

CHECKER = Checker(default_settings())

LONE = [
    "{{ name }}",
    "{{.Image}}",
    "{{x}}-y",
    "a-{{ x }}:{{ y }}",
    "${{ values.x }}",
    "@X@",
    "%X%",
    "%%_SSP_NAME_%%",
    "@@image.tag@@",
    "<%= a: b %>",
    '{{ index .a "}}" }}',
]
READABLE = ["x-{{x}}", "<% x %>", "${X}", "$(params.x)", "($x)", "__X__", "e2e-$$name$$", "<fill-me-in>", '"{{ x }}"', "'@X@'"]


def checked(text: str, name: str = "a.yaml") -> FileResult:
    return CHECKER.check(name, text.encode())


def deployment(placeholder: str) -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n"
        f"  name: {placeholder}\n"
        "spec:\n"
        f"  replicas: {placeholder}\n"
        "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n"
        f"      nodeSelector: {{zone: {placeholder}, ssd: true}}\n"
        f"      containers: [{{name: a, image: {placeholder}}}]\n"
    )


@pytest.mark.parametrize("placeholder", LONE)
def test_what_does_not_depend_on_a_placeholder_is_judged_at_its_place(placeholder: str) -> None:
    result = checked(deployment(placeholder))
    assert [(each.rule, each.span.line, each.span.column) for each in result.found] == [("wrong-type", 11, 35 + len(placeholder))]
    assert (result.filled, result.templated, result.documents) == (True, False, 1)


@pytest.mark.parametrize("placeholder", READABLE)
def test_text_that_yaml_can_read_is_not_a_template(placeholder: str) -> None:
    text = deployment(placeholder).replace(f"zone: {placeholder}, ", "").replace(f"image: {placeholder}", "image: b")
    result = checked(text)
    assert [each.rule for each in result.found] == ["wrong-type"]
    assert (result.filled, result.templated) == (False, False)


def test_a_placeholder_is_text_as_it_is_written() -> None:
    document = read(b'a: {{ x | default "y: #z" }}\n"b": "{{ c }}" # {{ d }}\n{{ e }}: [${F}, @G@]\n', 0, 0)
    assert document.problem is None
    assert document.data == {"a": '{{ x | default "y: #z" }}', "b": "{{ c }}", "{{ e }}": ["${F}", "@G@"]}
    assert document.locate(("{{ e }}", 1)).column == 17


@pytest.mark.parametrize(
    "text",
    [
        "{{ if .on }}\nkind: Pod\n{{ end }}\n",
        "kind: Pod\nmetadata:\n  {{- toYaml .x | nindent 2 }}\n  name: {{ x }}\n",
        "kind: Pod\nspec:\n  nodeSelector:\n    {{ .Values.selector }}\n",
        "kind: Pod\nmetadata: {name: {{ include `name` . }}}\n",
        "kind: Pod\n{% if x %}\nmetadata: {name: {{ x }}}\n{% endif %}\n",
    ],
)
def test_what_is_made_of_control_flow_is_skipped(text: str) -> None:
    result = checked(text)
    assert (result.templated, result.filled, result.found) == (True, False, ())


def test_a_fault_beside_a_placeholder_is_reported_where_it_is() -> None:
    found = checked("apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ x }}\n  labels: {a: b\nspec: {}\n").found
    assert [each.rule for each in found] == ["unreadable-manifest"]


GO, SED = "{{ x }} | a {{x}} b | ${X} | $(x) | ($x) | (join('-', [$a, 'b'])) | $X | <x>", "@X@ | @X_1@ | __X__ | __NODE_1__ | %X%"
WORDS = "%%X%% | @@x-y@@ | #{NODE}# | REPLACE_ME | CHANGEME | YOUR_NODE | NAMESPACE_TO_BE_CHANGED | TBD | FIXME"
OTHERS = "$zone | $$zone | $env:ZONE | @project.zone@ | %zone% | [[ zone ]] | {% zone %} | %(zone)s | @{zone} | $[variables.zone] | ref+awsssm://zone"


@pytest.mark.parametrize("text", f"{GO} | {SED} | {WORDS} | {OTHERS}".split(" | "))
def test_what_is_a_placeholder(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "",
        "a(b)",
        "(a) b",
        "$5",
        "@",
        "a@b.c",
        "100%",
        "{x}",
        "a < b",
        "__init__",
        "ON_DEMAND",
        "A100",
        "CHANGES",
        "[x]",
        "a$",
        "^$",
        "TBDX",
    ],
)
def test_what_is_none(text: str) -> None:
    assert not is_placeholder(text)


@pytest.mark.parametrize("text", ["NODE_NAME", "WATCH_NAMESPACE_1", "-node1", "-node.1", "<node>", "$NODE"])
def test_what_is_the_name_of_an_object_that_a_tool_completes(text: str) -> None:
    assert is_unfinished_name(text)


@pytest.mark.parametrize("text", ["", "NODE", "WORKER1", "-", "-node-", "Node_Name", "node_name", "-Node", "node1"])
def test_what_is_a_name_as_it_is_written(text: str) -> None:
    assert not is_unfinished_name(text)


def test_the_name_of_a_variable_is_not_judged_as_a_name() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeName: NODE\n  priorityClassName: NODE\n"
        "  nodeSelector: {kubernetes.io/hostname: HOST, rack: RACK}\n  containers: [{name: c, image: i}]\n"
    )
    wrong = text.replace("NODE", "Node_A").replace("HOST", "-bad-").replace("RACK", "-rack1")
    assert sorted(each.rule for each in checked(wrong).found) == ["invalid-label-value"] * 2 + ["invalid-scheduling-field"] * 2
    assert checked(text.replace("NODE", "NODE_NAME").replace("HOST", "NODE_NAME").replace("RACK", "ON_DEMAND")).found == ()


@pytest.mark.parametrize("value", ["-1", "1-", "-node1"])
def test_a_host_name_that_is_not_a_label_value_is_reported(value: str) -> None:
    """The API server rejects it, as the value of any other label."""
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  nodeSelector: {{kubernetes.io/hostname: '{value}'}}\n"
    (found,) = checked(f"{text}  containers: [{{name: c, image: i}}]\n").found
    assert (found.rule, found.span.line) == ("invalid-label-value", 5)


@pytest.mark.parametrize("block", ["%%BLOCK%%", "@BLOCK@", "  ${BLOCK}", "__BLOCK__", "@@block@@"])
def test_a_file_with_a_line_that_a_tool_replaces_is_a_template(block: str) -> None:
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  nodeName: a\n{block}\n  hostNetwork: true\n"
    result = checked(text)
    assert (result.templated, result.found) == (True, ())
    broken = checked(text.replace(block, "BLOCK"))
    assert (broken.templated, [each.rule for each in broken.found]) == (False, ["unreadable-manifest"])


# Nothing that is right becomes a finding because a value is yet to be filled in.

GOOD = [example for example in rule_pages.examples() if not example.bad and "kind: Node\n" not in example.text]
_MAPS = ("labels", "matchLabels", "nodeSelector", "annotations")


def with_one_placeholder(text: str) -> Iterator[str]:
    """The text with each of its values, and each key of a label, put into the hands of a template."""
    lines = text.splitlines(keepends=True)
    for piece, line, _ in split(text.encode()):
        document, part = read(piece, 0, line), piece.decode()
        before = "".join(lines[:line])
        after = text[len(before) + len(part) :]
        for start, end in places(document.root, document):
            yield f"{before}{part[:start]}{{{{ x }}}}{part[end:]}{after}"


def places(root: object, document: Document) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for node in nodes_below(root):
        if type(node) is ScalarNode:
            continue
        values = node.value
        if type(node) is MappingNode:
            labels = [
                each
                for key, below in node.value
                if key.value in _MAPS and type(below) is MappingNode
                for each, _ in below.value
                if each.value != "<<"
            ]
            values = [value for _, value in node.value] + labels
        found |= {(each.start_mark.index, document.end_of(each)) for each in values if type(each) is ScalarNode or each.flow_style}
    return found


@pytest.mark.parametrize("example", GOOD, ids=str)
def test_a_good_example_stays_good_with_any_value_to_be_filled_in(example: Example) -> None:
    settings = MapSettings(
        registry.bind_rules([rule.name for rule in registry.rules().values() if rule.default and rule.name != "unused-suppression"])
    )
    for text in with_one_placeholder(example.text):
        if "<<: {{" in text:
            continue
        found = findings_of({"example.yaml": text.encode()}, settings, inline=True)
        assert [(each.rule, each.message) for each in found] == [], text


# What is looked up without these expressions, because they take quadratic time where a placeholder does not end.
ENCLOSED = r"(?s)\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|#\{[^}]*\}"
UNREADABLE = (
    rb"\$?\{\{(?!\{)(?:\"[^\"\n]*\"|`[^`\n]*`|[^}\"`\n]|\}(?!\}))*\}\}"
    rb"|\$\{[^}\n]*\}|\$\([^)\n]*\)|<%[^\n]*?%>|@[A-Z_][A-Z0-9_]*@|%[A-Z_][A-Z0-9_]*%|@@[\w.-]+@@|%%[\w.-]+%%"
)
pieces = st.lists(st.sampled_from(("{{", "}}", "{", "}", "${", "$", "$(", ")", "<%", "%>", "%", "@", "#{", '"', "`", " ", "a", "A_", "\n")))


@settings(max_examples=1000)
@given(pieces.map("".join))
def test_placeholders_begin_and_end_as_the_expressions_say(text: str) -> None:
    lone = text.replace("<", "").replace("@", "").replace("%", "").replace("A_", "1").replace("a", "1")
    assert is_placeholder(lone) == (re.search(ENCLOSED, lone) is not None)
    if not holds_control(text.encode()):
        expected = re.sub(UNREADABLE, lambda match: masked_action(match[0].decode()).encode(), text.encode())
        assert (masked(text.encode()) or text.encode()) == expected
