"""Keys in custom resources that their kinds do not have: proved by a definition of the run, or probable by the catalogue."""

import pytest

from linting import lint, messages_of, places

PERCONA = """\
apiVersion: pxc.percona.com/v1
kind: PerconaXtraDBCluster
metadata: {name: c}
spec:
  pxc:
    size: 3
    affinity:
      advanced: null
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: disk, operator: Exists}]
  haproxy:
    size: 2
    affintiy:
      antiAffinityTopologyKey: kubernetes.io/hostname
"""
PERCONA_DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: perconaxtradbclusters.pxc.percona.com}
spec:
  group: pxc.percona.com
  names: {kind: PerconaXtraDBCluster}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        x-kubernetes-preserve-unknown-fields: true
        properties:
          spec:
            properties:
              pxc: &component
                properties:
                  size: {type: integer}
                  nodeSelector: {type: object, additionalProperties: {type: string}}
                  affinity:
                    properties:
                      antiAffinityTopologyKey: {type: string}
                      advanced:
                        properties:
                          nodeAffinity: &rules
                            properties:
                              requiredDuringSchedulingIgnoredDuringExecution: {}
                          podAffinity: *rules
                          podAntiAffinity: *rules
              haproxy: *component
"""
REJECTED = "(kubectl rejects it, other clients drop it)"
PROBABLE = "(kubectl rejects it, or the operator ignores it)"


def test_a_definition_of_the_run_is_used_for_kinds_of_the_catalogue() -> None:
    files = {"crd.yaml": PERCONA_DEFINITION, "cluster.yaml": PERCONA}
    assert places(lint(files)) == ["cluster.yaml:9:7 error misplaced-constraint", "cluster.yaml:15:5 error unknown-field"]
    (misplaced,) = messages_of(files, "misplaced-constraint")
    assert misplaced.endswith(f"it belongs in spec.pxc.affinity.advanced {REJECTED}")
    assert messages_of(files, "unknown-field") == [
        f"15:5 unknown field `affintiy` in spec.haproxy of this PerconaXtraDBCluster; did you mean `affinity`? {REJECTED}"
    ]


def test_without_a_definition_the_same_is_a_warning() -> None:
    assert places(lint(PERCONA)) == ["a.yaml:9:7 warning misplaced-constraint", "a.yaml:15:5 warning unknown-field"]
    (message,) = messages_of(PERCONA, "unknown-field")
    assert message.endswith(f"did you mean `affinity`? {PROBABLE}")


@pytest.mark.parametrize(
    ("field", "reported"),
    [
        ("toleration: [{key: a, operator: Exists}]", True),
        ("nodeSelectors: {disk: fast}", True),
        ("topologySpreadConstraint: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]", True),
        ("toleration: strict", False),  # Another shape: another field.
        ("nodeSelectors: [a, b]", False),
        ("nodeSelectors: null", False),
        ("${FIELD}: {disk: fast}", False),
        ("image: a", False),
    ],
)
def test_a_key_one_typo_away_from_a_field_of_the_catalogue(field: str, reported: bool) -> None:
    text = f"apiVersion: pxc.percona.com/v1\nkind: PerconaXtraDBCluster\nmetadata: {{name: c}}\nspec:\n  pxc:\n    size: 3\n    {field}\n"
    assert places(lint(text)) == (["a.yaml:7:5 warning unknown-field"] if reported else [])


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              nodeSelector: {additionalProperties: {type: string}}
              pools:
                additionalProperties:
                  properties:
                    tolerations: &tolerations
                      items: {properties: {key: {}, operator: {}, effect: {}, value: {}}}
              groups:
                items:
                  properties:
                    tolerations: *tolerations
              spread:
                items: {properties: {maxSkew: {}, topologyKey: {}, whenUnsatisfiable: {}, weight: {type: integer}}}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n"
TERM = "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule%s}]"


def widget(*lines: str, definition: str = DEFINITION) -> list[str]:
    text = WIDGET + "".join(f"  {line}\n" for line in lines)
    return [each.split(":", 1)[1] for each in places(lint({"crd.yaml": definition, "w.yaml": text})) if each.startswith("w.yaml")]


class TestPruning:
    """The keys that the API server drops, see apiextensions-apiserver/pkg/apiserver/schema/pruning."""

    def test_a_constraint_in_a_map_that_does_not_have_it(self) -> None:
        assert widget("tolerations: [{operator: Exists}]") == ["5:3 error unknown-field"]
        assert widget("affinity: {}") == ["5:3 error unknown-field"]
        assert widget("placement: {nodeSelector: {a: b}}") == ["5:3 error unknown-field"]

    def test_maps_in_lists_and_maps_of_maps(self) -> None:
        assert widget("groups: [{toleration: []}, {tolerations: []}, {nodeSelector: {}}]") == ["5:50 error unknown-field"]
        assert widget("pools: {a: {nodeSelector: {b: c}}}") == ["5:15 error unknown-field"]

    def test_other_unknown_fields_do_not_matter_here(self) -> None:
        assert widget("size: 3", "groups: [{image: a}]", "pools: {nodeSelector: {}}") == []

    def test_fields_of_kubernetes_that_an_old_definition_lacks(self) -> None:
        assert widget(f"spread: {TERM % ', minDomains: 2'}") == ["5:78 error unknown-field"]

    def test_fields_that_only_the_definition_has(self) -> None:
        assert widget(f"spread: {TERM % ', weight: 2'}") == []
        assert widget(f"spread: {TERM % ', wieght: 2'}") == ["5:78 error unknown-field"]

    def test_a_map_that_keeps_unknown_fields(self) -> None:
        """Only the map itself keeps them: what it specifies is pruned as usual."""
        keeps = DEFINITION.replace("            type: object\n", "            x-kubernetes-preserve-unknown-fields: true\n")
        assert keeps != DEFINITION
        assert widget("tolerations: [{operator: Exists}]", definition=keeps) == []
        assert widget("groups: [{nodeSelector: {a: b}}]", definition=keeps) == ["5:13 error unknown-field"]

    def test_a_list_that_keeps_unknown_fields_keeps_those_of_its_items(self) -> None:
        keeps = DEFINITION.replace("groups:\n", "groups:\n                x-kubernetes-preserve-unknown-fields: true\n")
        assert widget("groups: [{nodeSelector: {a: b}}]", definition=keeps) == []

    def test_an_embedded_resource_keeps_its_metadata(self) -> None:
        embedded = DEFINITION.replace("            type: object\n", "            x-kubernetes-embedded-resource: true\n")
        assert widget("metadata: {nodeSelector: {a: b}}") == []  # Metadata is never searched for constraints.
        assert widget("kind: {nodeSelector: {a: b}}") == ["5:3 error unknown-field"]
        assert widget("kind: {nodeSelector: {a: b}}", definition=embedded) == []

    def test_kinds_that_keep_all_unknown_fields(self) -> None:
        for keeps in (
            DEFINITION.replace("  group: ", "  preserveUnknownFields: true\n  group: "),
            DEFINITION.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"),
        ):
            assert widget("tolerations: [{operator: Exists}]", definition=keeps) == []
        prunes = DEFINITION.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1").replace(
            "  group: ", "  preserveUnknownFields: false\n  group: "
        )
        assert widget("tolerations: [{operator: Exists}]", definition=prunes) == ["5:3 error unknown-field"]

    def test_versions_that_no_definition_describes(self) -> None:
        text = WIDGET.replace("/v1", "/v2") + "  affinity: {}\n"
        assert lint({"crd.yaml": DEFINITION, "w.yaml": text}) == []

    def test_all_copies_of_a_definition_count(self) -> None:
        newer = DEFINITION.replace("replicas:", "affinity: {type: object}\n              replicas:")
        opened = DEFINITION.replace(
            "                items:\n                  properties:", "                items: {}\n                x:"
        )
        assert widget("affinity: {}", definition=f"{DEFINITION}---\n{newer}") == []
        assert widget("groups: [{nodeSelector: {a: b}}]", definition=f"{DEFINITION}---\n{opened}") == []
        assert widget("tolerations: [{operator: Exists}]", definition=f"{DEFINITION}---\n{newer}") == ["5:3 error unknown-field"]


def test_copies_with_different_versions_are_one_definition() -> None:
    """A place that both copies have is checked once."""
    copy = DEFINITION.replace("  - name: v1\n", "  - name: v2\n    served: false\n  - name: v1\n").replace(
        "kind: Widget}", "kind: Widget} # 2"
    )
    newer = DEFINITION[DEFINITION.index("  - name: v1\n") :].replace("name: v1", "name: v2")
    text = WIDGET + "  groups: [{tolerations: {key: a}}]\n"
    files = {"a/crd.yaml": copy, "b/crd.yaml": DEFINITION + newer, "w.yaml": text}
    assert places(lint(files)) == ["w.yaml:5:13 error wrong-type"]


def test_a_key_inside_a_list_of_objects_has_its_own_position() -> None:
    text = f"apiVersion: v1\nkind: List\nitems:\n- {WIDGET.replace(chr(10), chr(10) + '  ')}  affinity: {{}}\n"
    assert places(lint({"crd.yaml": DEFINITION, "w.yaml": text})) == ["w.yaml:8:5 error unknown-field"]
    assert messages_of({"crd.yaml": DEFINITION, "w.yaml": text}, "unknown-field")[0].startswith(
        "8:5 unknown field `affinity` in spec of this Widget"
    )


# The metadata of an object, which has the same fields for every kind.

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: open-webui
  label:
    app: open-webui
spec: {chart: {spec: {chart: podinfo}}}
"""


def test_a_misspelt_field_of_the_metadata_of_any_resource_is_reported() -> None:
    assert messages_of({"a.yaml": RELEASE}, "unknown-field") == [
        f"5:3 unknown field `label` in metadata of this HelmRelease; did you mean `labels`? {REJECTED}"
    ]
    assert messages_of({"a.yaml": RELEASE.replace("label:\n    app: open-webui", "label: open-webui")}, "unknown-field") == []
    assert messages_of({"a.yaml": RELEASE.replace("label:", "labels: {}\n  label:")}, "unknown-field") == []


def test_any_field_of_the_metadata_is_known_for_a_kind_of_the_catalogue() -> None:
    workflow = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a, title: b}\nspec: {nodeSelector: {a: b}}\n"
    assert messages_of({"a.yaml": workflow}, "unknown-field") == [f"3:21 unknown field `title` in metadata of this Workflow {REJECTED}"]
    assert messages_of({"a.yaml": workflow.replace("argoproj.io", "backstage.io")}, "unknown-field") == []
    assert messages_of({"a.yaml": workflow.replace("title: b", "clusterName: b")}, "unknown-field") == []


@pytest.mark.parametrize("kind", ["v1\nkind: Service", "v1\nkind: Namespace", "policy/v1\nkind: PodDisruptionBudget"])
def test_the_metadata_of_objects_that_create_no_pods_is_checked(kind: str) -> None:
    manifest = f"apiVersion: {kind}\nmetadata:\n  name: a\n  label: {{a: b}}\n"
    assert messages_of({"a.yaml": manifest}, "unknown-field") == ["5:3 unknown field `label` in this metadata; did you mean `labels`?"]
    nested = "apiVersion: v1\nkind: List\nitems:\n- null\n- " + manifest.replace("\n", "\n  ")
    assert messages_of({"a.yaml": nested}, "unknown-field") == ["9:5 unknown field `label` in this metadata; did you mean `labels`?"]


def test_the_metadata_of_an_object_with_several_templates_is_checked_once() -> None:
    job = "template: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}"
    manifest = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: a, annotation: {{a: b}}}}
spec:
  replicatedJobs:
  - {{name: x, {job}}}
  - {{name: y, {job}}}
"""
    files = {"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- null\n- " + manifest.replace("\n", "\n  ")}
    assert messages_of(files, "unknown-field") == ["7:23 unknown field `annotation` in this metadata; did you mean `annotations`?"]


# Selectors that a kind needs.

PLAN = """\
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: os}
spec:
  concurrency: 1
  upgrade: {image: upgrade}
"""


def test_a_plan_without_a_node_selector_upgrades_no_node() -> None:
    assert messages_of({"a.yaml": PLAN}, "selector-matches-nothing") == ["4:1 this Plan has no nodeSelector, so it selects no node"]
    assert messages_of({"a.yaml": PLAN + "  nodeSelector: {}\n"}, "selector-matches-nothing") == []
    assert messages_of({"a.yaml": PLAN + "  nodeSelector:\n"}, "selector-matches-nothing") != []
    assert messages_of({"a.yaml": PLAN.replace("  upgrade: {image: upgrade}\n", "")}, "selector-matches-nothing") == []
    assert messages_of({"a.yaml": PLAN.replace("upgrade.cattle.io", "backups.example.io")}, "selector-matches-nothing") == []
