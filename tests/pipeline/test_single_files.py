"""What one file decides: which manifests a fault may have damaged, whether it is empty, and whether its nodes are used."""

import pytest

from afflint.findings.finding import Span
from afflint.kube.kinds import custom_kind
from afflint.pipeline.map_step import Checker, DocumentCache, default_settings
from afflint.pipeline.run import run
from afflint.source.sources import Source
from linting import lint, places

BRACE_TOO_MANY = """\
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: "web:1"}]}}
}
---
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: i}]
  tolerations:
  - {key: a, operator: exists}
"""
POD_IN_FLOW = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}\n"
NO_KIND = """\
# kind: Deployment
apiVersion: apps/v1
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
"""
NO_VERSION = """\
kind: Pod
metadata: {name: till}
spec: {containers: [{name: till, image: "till:1"}]}
"""


def test_after_a_fault_a_missing_api_version_is_not_reported() -> None:
    """The text with the apiVersion may have been lost at the fault."""
    assert places(lint(NO_VERSION)) == ["a.yaml:1:1 error missing-api-version"]
    assert places(lint(BRACE_TOO_MANY + NO_VERSION)) == ["a.yaml:2:1 error text-after-document"]


def test_the_documents_with_a_fault_are_known_by_their_numbers() -> None:
    """Fixes are kept out of them."""
    checker = Checker(default_settings())
    assert checker.check("a.yaml", (BRACE_TOO_MANY + NO_VERSION).encode()).broken == (0,)
    assert checker.check("a.yaml", f"{NO_VERSION}---\n{NO_VERSION}---\n[\n".encode()).broken == (2,)
    assert checker.check("a.yaml", NO_VERSION.encode()).broken == ()


def test_custom_resources_are_counted_by_what_shows_where_they_place_pods() -> None:
    text = (
        "apiVersion: example.com/v1\nkind: Farm\nmetadata: {name: web}\n"
        "spec: {template: {spec: {tolerations: [{key: a, operator: Exists}], containers: [{name: c, image: i}]}}}\n"
    )
    source = Source("a.yaml", "a.yaml", f"{text}---\n{text}---\n{NO_VERSION}".encode())
    assert run([source], default_settings()).summary.custom == (("Farm by its shape", 2),)
    assert Checker(default_settings()).check("a.yaml", f"{text}---\n{text}".encode()).unknown == (("example.com", "Farm"),)


PROMETHEUS = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  other: {tolerations: [{key: a, operator: Exists}]}
"""
FARM = """\
apiVersion: example.com/v1
kind: Farm
metadata: {name: web}
spec:
  one: {nodeSelector: {disk: ssd}}
  two: {tolerations: [{key: a, operator: Exists}]}
"""


def test_the_source_of_fields_is_the_catalogue_even_if_only_the_shape_shows_some_of_them() -> None:
    checker = Checker(default_settings())
    assert checker.check("a.yaml", PROMETHEUS.encode()).custom == (("Prometheus", "the catalogue"),)
    assert checker.check("a.yaml", FARM.encode()).custom == (("Farm", "its shape"),)


def test_the_source_of_fields_is_the_configuration_for_the_kinds_that_it_names() -> None:
    farm = custom_kind("example.com/v1", "Farm", ("spec", "template"))
    checker = Checker(default_settings()._replace(custom=(farm,)))
    text = f"{FARM}  template: {{spec: {{containers: [{{name: c, image: i}}]}}}}\n---\n{POD}"
    assert checker.check("a.yaml", text.encode()).custom == (("Farm", "the configuration"),)


def test_each_resource_of_a_list_is_counted() -> None:
    items = "".join("- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in (FARM, FARM, POD))
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    result = Checker(default_settings()).check("a.yaml", text.encode())
    assert (result.custom, result.unknown) == ((("Farm", "its shape"),) * 2, (("example.com", "Farm"),))


@pytest.mark.parametrize(
    ("holder", "unknown"),
    [
        ("apiVersion: v1\nkind: List\nitems:\n", (("example.com", "Farm"),)),
        ("apiVersion: v1\nkind: PodList\nitems:\n", ()),
        ("apiVersion: v1\nkind: List\nentries:\n", ()),
        ("apiVersion: v1\nkind: Template\nobjects:\n", ()),
    ],
    ids=["a list", "a typed list", "no items", "another container"],
)
def test_an_unknown_kind_is_reported_even_if_it_is_an_item_of_a_list_without_constraints(
    holder: str, unknown: tuple[tuple[str, str], ...]
) -> None:
    text = f"{holder}- apiVersion: example.com/v1\n  kind: Farm\n- {POD_IN_FLOW}"
    assert Checker(default_settings()).check("a.yaml", text.encode()).unknown == unknown


def test_an_unknown_kind_with_constraints_is_reported_in_every_container_and_without_one_even_if_they_are_empty() -> None:
    checker = Checker(default_settings())
    farm = FARM.replace("\n", "\n  ").rstrip()
    template = f"apiVersion: v1\nkind: Template\nobjects:\n- {farm}\n- {POD_IN_FLOW}"
    empty = "apiVersion: example.com/v1\nkind: Farm\nspec: {nodeSelector: {}}\n"
    assert checker.check("a.yaml", template.encode()).unknown == (("example.com", "Farm"),)
    assert checker.check("a.yaml", empty.encode()).unknown == (("example.com", "Farm"),)


@pytest.mark.parametrize(
    ("text", "documents", "passed"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 0, ("ConfigMap",)),
        ("apiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: a}\n", 1, ()),
        ("kind: Pod\nkey: [\n", 1, ()),
        ("# kind: Pod\nkey: value\n", 0, ("no kind",)),
        ("# kind: Pod\napiVersion: v1\n", 0, ()),
        ("# kind: Pod\nnodes: []\n", 0, ()),
        ("kind: {kind: Pod}\n", 1, ()),
        (NO_KIND, 1, ()),
        ("- kind: Pod\n", 0, ()),
        ("[{kind: Pod}]\n}\n", 1, ()),
        ("apiVersion: v1\nkind: Thing\nspec: {nodeSelector: {disk: ssd}}\n", 0, ("Thing",)),
        ("apiVersion: example.com/v1\nkind: Farm\nspec: {nodeSelector: {disk: ssd}}\n", 1, ()),
    ],
    ids=[
        "another kind",
        "a known kind of another group",
        "broken",
        "no object",
        "no kind",
        "nodes",
        "a kind that is not a string",
        "an object without its kind",
        "a list",
        "text after a list",
        "constraints in a kind of no group",
        "constraints in a custom resource",
    ],
)
def test_what_may_be_an_object_counts_as_a_document(text: str, documents: int, passed: tuple[str, ...]) -> None:
    result = Checker(default_settings()).check("a.yaml", text.encode())
    assert (result.documents, result.passed) == (documents, passed)
    assert Checker(default_settings()).check("a.yaml", text.encode(), DocumentCache()) == result


def test_a_file_with_nothing_but_nodes_is_not_empty() -> None:
    texts = {"nodes.yaml": b"nodes: [{name: w1}]\n", "comment.yaml": b"# later\n"}
    outcome = run([Source(name, name, data) for name, data in texts.items()], default_settings())
    assert [outcome.sources[file].name for file in outcome.empty] == ["comment.yaml"]


def test_comments_in_a_list_of_nodes_are_read_only_if_the_nodes_are_used() -> None:
    nodes = Source("nodes.yaml", "nodes.yaml", b"nodes:\n- {name: w1}  # afflint: ignroe\n")
    settings = default_settings()
    assert places(run([nodes], settings).findings) == ["nodes.yaml:2:15 warning invalid-suppression"]
    assert run([nodes], settings._replace(auto_nodes=False)).findings == []


@pytest.mark.parametrize(
    ("text", "templated", "filled"),
    [
        (NO_VERSION, False, False),
        (f"{{{{ if .Values.on }}}}\n{NO_VERSION}{{{{ end }}}}\n", True, False),
        (NO_VERSION.replace("name: till,", "name: '{{ .Values.name }}',"), False, False),
        ("{{ .Values.whole }}\n", True, False),
        ("# {{ not used }}\nkey: value\n", False, False),
    ],
    ids=["a manifest", "a block", "a quoted value", "the whole", "a comment"],
)
def test_a_text_that_only_a_template_engine_can_read_counts_as_a_template(text: str, *, templated: bool, filled: bool) -> None:
    result = Checker(default_settings()).check("templates/web.yaml", text.encode())
    assert (result.templated, result.filled) == (templated, filled)
    assert result.broken == ((0,) if templated else ())


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        ("web.yaml", POD, ["Exists"]),
        ("templates/web.yaml", POD, ["Exists"]),
        ("web.yaml", f"{POD}# {{{{ .Values.note }}}}\n", ["Exists"]),
        ("templates/web.yaml", f"{POD}# {{{{ .Values.note }}}}\n", []),
        ("web.yaml", f"{POD}# {{{{ if .Values.on }}}}\n", []),
        ("web.yaml", POD.replace("name: web", "name: {{ name }}"), []),
    ],
    ids=["a manifest", "nothing to substitute", "a comment", "a comment in a template", "a condition", "a placeholder"],
)
def test_a_file_that_looks_templated_gets_no_fixes(name: str, text: str, fixed: list[str]) -> None:
    """What is rendered may differ from the file; the finding remains."""
    [found] = Checker(default_settings()).check(name, text.encode()).found
    assert (found.rule, found.span.line, found.span.column, found.field) == ("unknown-operator", 7, 24, "spec.tolerations[0].operator")
    assert [each.text for each in found.edits] == fixed
    assert len(found.meant) == len(fixed)


def test_no_finding_of_a_file_that_looks_templated_has_fixes() -> None:
    text = f"{POD}  - {{key: b, operator: Is}}\n# {{{{ if .Values.on }}}}\n"
    found = Checker(default_settings()).check("web.yaml", text.encode()).found
    assert [(each.span.line, each.edits) for each in found] == [(7, ()), (8, ())]


def test_a_duplicate_key_is_removed_unless_the_file_has_placeholders() -> None:
    text = f"{POD.replace('exists', 'Exists')}  tolerations: [{{key: a, operator: Exists}}]\n"
    for name, edits in (("web", 1), ("{{ name }}", 0)):
        [found] = Checker(default_settings()).check("web.yaml", text.replace("web", name).encode()).found
        assert (found.rule, found.span.line, found.object.kind, found.field) == ("duplicate-key", 8, "Pod", "spec.tolerations")
        assert len(found.edits) == edits
        assert (found.message, found.help) == ("duplicate key `tolerations` (first set on line 6); only the last one takes effect", "")


@pytest.mark.parametrize(("count", "fixed"), [(20, 20), (21, 0)])
def test_a_file_with_many_duplicate_keys_gets_no_fixes(count: int, fixed: int) -> None:
    labels = "".join(f"    a{number}: x\n    a{number}: x\n" for number in range(count))
    text = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels:\n{labels}spec: {{containers: [{{name: c, image: i}}]}}\n"
    found = Checker(default_settings()).check("a.yaml", text.encode()).found
    assert [each.rule for each in found] == ["duplicate-key"] * count
    assert sum(len(each.edits) for each in found) == fixed


def test_a_duplicate_key_is_reported_for_the_item_of_the_list_that_contains_it() -> None:
    text = f"apiVersion: v1\nkind: List\nitems:\n- {POD_IN_FLOW}- {POD_IN_FLOW.replace('metadata', 'metadata: {name: old}, metadata')}"
    text = text.replace("name: web", "name: shop", 1)
    [found] = Checker(default_settings()).check("a.yaml", text.encode()).found
    assert (found.rule, found.span.line, found.object.name, found.field) == ("duplicate-key", 5, "web", "metadata")
    text = f"{POD.replace('exists', 'Exists')}  - {{key: b, key: b, operator: Exists}}\n"
    [found] = Checker(default_settings()).check("a.yaml", text.encode()).found
    assert (found.field, found.item) == ("spec.tolerations[1].key", "spec.tolerations[key=b].key")


def test_of_the_duplicate_keys_of_a_custom_resource_those_in_its_constraints_are_reported() -> None:
    text = PROMETHEUS.replace("spec:\n", "spec:\n  port: 1\n  port: 2\n").replace("key: a,", "key: a, key: b,")
    [found] = Checker(default_settings()).check("a.yaml", text.encode()).found
    assert (found.rule, found.span.line, found.field, found.severity) == ("duplicate-key", 8, "spec.other.tolerations[0].key", None)


def test_values_of_a_chart_may_override_those_of_an_anchor() -> None:
    """No API server reads the values of a chart."""
    values = b"tolerations:\n- &a {key: a, operator: Exists}\n- {<<: *a, key: b}\n"
    assert Checker(default_settings()).check("values.yaml", values).found == ()
    [found] = Checker(default_settings()).check("values.yaml", values.replace(b"<<: *a, key: b", b"key: c, key: b")).found
    assert found.message.startswith("duplicate key `key`")


def test_a_key_that_overrides_a_merge_key_is_an_info_and_a_merge_key_that_overrides_a_key_is_a_warning() -> None:
    pod = POD.replace("- {key: a, operator: exists}", "- &a {key: a, operator: Exists}")
    [found] = Checker(default_settings()).check("a.yaml", f"{pod}  - {{<<: *a, key: b}}\n".encode()).found
    assert (found.rule, found.span.line, found.severity) == ("duplicate-key", 8, "info")
    assert found.message.startswith("`key` overrides the value that the merge key `<<` adds from line 7;")
    assert "move the value out of the anchor" in found.help
    [found] = Checker(default_settings(["duplicate-key"])).check("a.yaml", f"{pod}  - {{key: b, <<: *a}}\n".encode()).found
    assert (found.rule, found.span.line, found.severity) == ("duplicate-key", 8, "warning")
    assert found.message == (
        "the merge key `<<` sets `key` again (first set on line 8): kubectl and Helm use the merged value, kustomize does not"
    )
    assert found.help == "Write the merge key above the keys that override its values."


@pytest.mark.parametrize(
    ("toleration", "lines"),
    [
        ("{key: b, operator: exists}", [7, 8]),
        ("{$patch: delete, key: b, operator: exists}", [7]),
        ("{$patch: delete, key: b, operator: exists}\n  - {key: c, operator: exists}", [7, 9]),
    ],
    ids=["a manifest", "a directive", "the next item"],
)
def test_fields_next_to_a_directive_of_a_patch_are_not_checked(toleration: str, lines: list[int]) -> None:
    found = Checker(default_settings()).check("a.yaml", f"{POD}  - {toleration}\n".encode()).found
    assert [(each.rule, each.span.line) for each in found] == [("unknown-operator", line) for line in lines]


def test_fields_after_a_directive_of_a_patch_are_checked() -> None:
    text = f"{POD.replace('{key: a,', '{$patch: delete, key: a,')}  - {{key: b, operator: exists}}\n"
    assert [each.span.line for each in Checker(default_settings()).check("a.yaml", text.encode()).found] == [8]


@pytest.mark.parametrize(
    ("above", "kind", "end"),
    [
        (POD_IN_FLOW, "Pod", "reads only Pod web"),
        (f"{{apiVersion: v1, kind: List, items: [{POD_IN_FLOW.rstrip()}]}}\n", None, "reads only the List"),
        ("{apiVersion: v1, kind: [Pod], spec: {kind: Pod}}\n", None, "is not an object"),
        ("[{kind: Pod}]\n", None, "is not an object"),
    ],
    ids=["an object", "a list of objects", "a kind that is not a string", "no object"],
)
def test_text_after_a_document_is_reported_for_the_object_that_ends_there(above: str, kind: str | None, end: str) -> None:
    [found] = Checker(default_settings(["text-after-document"])).check("a.yaml", f"{above}}}\n".encode()).found
    assert (found.rule, found.span.line, found.object.kind) == ("text-after-document", 2, kind)
    assert found.message.endswith(end)


VALUES = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  source:
    helm:
      values: |
        web:
          tolerations:
          - {key: a, operator: exists}
"""


def test_a_finding_in_values_that_are_text_names_the_field_of_the_resource() -> None:
    [found] = Checker(default_settings()).check("a.yaml", VALUES.encode()).found
    assert (found.rule, found.span.line, found.span.column, found.object.name) == ("unknown-operator", 10, 32, "shop")
    assert found.field == "spec.source.helm.values.web.tolerations[0].operator"
    assert found.item == "spec.source.helm.values.web.tolerations[key=a].operator"
    assert not found.edits


def test_a_finding_in_values_that_are_text_has_no_item_outside_of_lists() -> None:
    text = f"{VALUES.partition('tolerations')[0]}nodeSelector: {{beta.kubernetes.io/os: linux}}\n"
    [found] = Checker(default_settings()).check("a.yaml", text.encode()).found
    assert (found.rule, found.span.line, found.item) == ("deprecated-node-label", 9, "")
    assert found.field == "spec.source.helm.values.web.nodeSelector[beta.kubernetes.io/os]"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("values.yaml", "web:\n  tolerations: [{key: a, operator: Is}]\n", [2]),
        ("values.yaml", "tolerations: [{key: a, operator: Is}]\n---\ntolerations: [{key: a, operator: Is}]\n", [1, 3]),
        ("values.yaml", "tolerations: [{key: a, operator: Is}]\n---\nreplicas: 3\n", [1]),
        ("templates/values.yaml", "tolerations: [{key: a, operator: Is}]\n", []),
        ("web.yaml", "tolerations: [{key: a, operator: Is}]\n---\nnodeSelector: {a b: c}\n", [1]),
    ],
    ids=["values", "two documents", "a document without constraints", "a template", "any name"],
)
def test_each_document_of_values_with_constraints_counts_as_one(name: str, text: str, lines: list[int]) -> None:
    result = Checker(default_settings()).check(name, text.encode())
    assert [(each.rule, each.span.line) for each in result.found] == [("unknown-operator", line) for line in lines]
    assert result.documents == len(lines)


def test_a_file_that_cannot_be_decoded_is_reported_at_its_beginning() -> None:
    result = Checker(default_settings()).check("a.yaml", b"\xff\xfe\x00")
    assert [(each.rule, each.document, each.span) for each in result.found] == [("unreadable-manifest", 0, Span(1, 1, 1, 1))]
    assert (result.unread, result.broken) == (True, (0,))


def test_a_list_that_contains_a_node_holds_nodes() -> None:
    node = "{apiVersion: v1, kind: Node, metadata: {name: w1}}\n"
    for items, holds_nodes in ((f"- {POD_IN_FLOW}- {node}", True), (f"- {POD_IN_FLOW}", False)):
        result = Checker(default_settings()).check("a.yaml", f"apiVersion: v1\nkind: List\nitems:\n{items}".encode())
        assert result.facts.holds_nodes is holds_nodes


def test_text_after_a_document_is_not_reported_in_a_template() -> None:
    text = f"{POD_IN_FLOW}...\nkey: '{{{{ .Values.key }}}}'\n"
    assert Checker(default_settings()).check("templates/web.yaml", text.encode()).templated
    assert not Checker(default_settings()).check("web.yaml", text.encode()).templated


@pytest.mark.parametrize(
    ("inventory", "resources", "lines", "expected"),
    [
        (False, True, True, None),
        (True, False, False, (False, 0)),
        (True, True, False, (True, 0)),
        (True, False, True, (False, 2)),
    ],
    ids=["nothing without nodes", "placement", "resources", "lines"],
)
def test_facts_contain_what_the_settings_ask_for(
    *, inventory: bool, resources: bool, lines: bool, expected: tuple[bool, int] | None
) -> None:
    settings = default_settings()._replace(inventory=inventory, resources=resources, lines=lines)
    text = "# A pod.\n" + POD_IN_FLOW.replace("image: i", "image: i, resources: {requests: {cpu: 1}}")
    [pods] = Checker(settings).check("a.yaml", text.encode()).facts.pods
    source = pods.pod_source
    assert (None if source is None else ("requests" in repr(source.pod), source.line)) == expected
