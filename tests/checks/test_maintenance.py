"""MigrationPolicies of KubeVirt and NodeMaintenances: their fields, the virtual machines that they select, and the nodes that they name."""

import pytest

import on_nodes
from afflint.checks.match import Target
from linting import lint, messages_of, places

POLICY = """\
apiVersion: migrations.kubevirt.io/v1alpha1
kind: MigrationPolicy
metadata: {name: %s}
spec:
  %s
  selectors: {%s}
---
"""
MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: erp, namespace: prod, labels: {size: large}}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {workload: database, os: linux}}
    spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
---
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {stage: production}}\n---\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {kubernetes.io/hostname: w1}}\n---\n"
MAINTENANCE = """\
apiVersion: nodemaintenance.%s/v1beta1
kind: NodeMaintenance
metadata: {name: memory%s}
spec: {nodeName: %s, reason: more memory}
"""
NOTHING, IGNORED, INVALID = "selector-matches-nothing", "ignored-operator-setting", "invalid-operator-setting"


def of_machines(labels: str, *, name: str = "fast", settings: str = "allowPostCopy: true") -> str:
    return POLICY % (name, settings, f"virtualMachineInstanceSelector: {{{labels}}}")


# Fields.


def test_a_field_that_does_not_exist_and_a_value_of_the_wrong_type() -> None:
    policy = POLICY % ("fast", "allowAutoConverge: 1\n  completionTimeoutPerGib: 5", "")
    assert places(lint(policy)) == ["a.yaml:5:22 error wrong-type", "a.yaml:6:3 error unknown-field"]


def test_the_selectors_are_maps_of_labels_without_match_labels() -> None:
    policy = POLICY % ("fast", "allowPostCopy: true", "namespaceSelector: {matchLabels: {stage: production}}")
    assert places(lint(policy)) == ["a.yaml:6:35 error wrong-type"]


def test_a_version_that_kubevirt_does_not_serve() -> None:
    assert places(lint(of_machines("os: linux").replace("v1alpha1", "v1beta1"))) == ["a.yaml:1:13 error unserved-api-version"]


@pytest.mark.parametrize(
    ("settings", "count"), [("completionTimeoutPerGiB: -1", 1), ("bandwidthPerMigration: -1Gi", 1), ("bandwidthPerMigration: 0", 0)]
)
def test_negative_settings(settings: str, count: int) -> None:
    assert len(messages_of(of_machines("os: linux", settings=settings), INVALID)) == count


def test_fields_of_a_node_maintenance() -> None:
    found = lint("apiVersion: nodemaintenance.kubevirt.io/v1beta1\nkind: NodeMaintenance\nmetadata: {name: a}\nspec: {nodeNam: w1}\n")
    assert [each.message for each in found] == ["unknown field `nodeNam` in this NodeMaintenance spec; did you mean `nodeName`?"]


# What a MigrationPolicy selects.


def test_a_policy_for_the_labels_of_the_virtual_machine_itself() -> None:
    assert messages_of(of_machines("size: large") + MACHINE, NOTHING) == [
        (
            "6:54 no virtual machine has `size: large`, so this policy applies to none;"
            " `size: large` is on VirtualMachine erp, but only in metadata.labels"
        )
    ]


def test_a_misspelt_value() -> None:
    assert messages_of(of_machines("workload: databsae") + MACHINE, NOTHING) == [
        "6:58 no virtual machine has `workload: databsae`, so this policy applies to none; `workload: database` is on VirtualMachine erp"
    ]


@pytest.mark.parametrize("labels", ["workload: database", "", "kubevirt.io/nodeName: w1", "workload: ${WORKLOAD}"])
def test_a_policy_that_selects_some_or_may(labels: str) -> None:
    assert messages_of(of_machines(labels) + MACHINE, NOTHING, target=Target(complete=True)) == []


def test_a_policy_without_virtual_machines_only_if_these_are_all() -> None:
    unlike = of_machines("tier: web") + MACHINE
    assert messages_of(unlike, NOTHING) == []
    assert messages_of(unlike, NOTHING, target=Target(complete=True)) == [
        "6:3 this MigrationPolicy selects no virtual machine, and the configuration sets `complete: true`"
    ]


@pytest.mark.parametrize(("stage", "silent"), [("production", True), ("test", False)])
def test_the_labels_of_namespaces(stage: str, silent: bool) -> None:
    policy = POLICY % ("fast", "allowPostCopy: true", f"namespaceSelector: {{stage: {stage}}}")
    found = messages_of(policy + MACHINE + NAMESPACE, NOTHING, target=Target(complete=True))
    assert (not found) == silent
    # Without the Namespace, its labels are not known.
    assert messages_of(policy + MACHINE, NOTHING, target=Target(complete=True)) == []


def test_other_workloads_with_the_labels_are_not_selected() -> None:
    web = on_nodes.workload(name="web")
    assert messages_of(of_machines("app: web") + MACHINE + "---\n" + web, NOTHING, target=Target(complete=True)) != []


# Policies that tie.


def test_of_two_policies_with_as_many_labels_the_name_decides() -> None:
    both = of_machines("workload: database", name="b") + of_machines("os: linux", name="a", settings="allowPostCopy: false")
    assert messages_of(both + MACHINE, IGNORED) == [
        "6:3 KubeVirt ignores this MigrationPolicy for VirtualMachine erp: `a` selects as many labels, and its name sorts first"
    ]


@pytest.mark.parametrize(
    "other",
    [
        of_machines("workload: database, os: linux", name="a", settings="allowPostCopy: false"),  # More labels.
        of_machines("os: linux", name="a"),  # The same settings.
        of_machines("os: windows", name="a", settings="allowPostCopy: false"),
        POLICY % ("a", "allowPostCopy: false", "namespaceSelector: {stage: production}"),  # As many, but of namespaces.
    ],
)
def test_policies_that_do_not_tie(other: str) -> None:
    assert messages_of(of_machines("workload: database", name="b") + other + MACHINE + NAMESPACE, IGNORED) == []


def test_policies_in_two_folders_may_be_for_two_clusters() -> None:
    files = {
        "a/policy.yaml": of_machines("workload: database", name="b"),
        "b/policy.yaml": of_machines("os: linux", name="a", settings="allowPostCopy: false"),
        "vm.yaml": MACHINE,
    }
    assert messages_of(files, IGNORED) == []


# NodeMaintenances.


@pytest.mark.parametrize("group", ["medik8s.io", "kubevirt.io"])
def test_a_node_that_the_dump_does_not_have(group: str) -> None:
    nodes = NODE % "w1.example.com" + NODE % "w2.example.com"
    assert on_nodes.messages_of(INVALID, nodes, MAINTENANCE % (group, "", "w1")) == [
        "a.yaml:4:18 error: no node is named `w1`, so the operator rejects this NodeMaintenance; did you mean `w1.example.com`?"
    ]
    assert on_nodes.messages_of(INVALID, nodes, MAINTENANCE % (group, "", "w1.example.com")) == []


def test_nodes_in_a_list_may_not_be_all() -> None:
    assert on_nodes.messages_of(INVALID, "- {name: w1.example.com}", MAINTENANCE % ("medik8s.io", "", "w1")) == []


def test_a_maintenance_from_a_dump_was_accepted() -> None:
    running = MAINTENANCE % ("medik8s.io", ", uid: x", "w1") + "status: {phase: Succeeded}\n"
    assert on_nodes.messages_of(INVALID, NODE % "w1.example.com", running) == []
