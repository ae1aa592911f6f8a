"""Fields of another level of the same object: where they belong is said, and those that one indentation moved are one finding."""

import textwrap

import pytest
from workload_texts import pod_term, workload

from linting import lint

CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: backup, image: busybox}]
"""


def under(text: str, holder: str, *fields: str) -> str:
    """The text with fields as the first entries of the map that begins on the line ``holder``."""
    indented = textwrap.indent("\n".join(fields), " " * (len(holder) - len(holder.lstrip()) + 2))
    return text.replace(f"{holder}\n", f"{holder}\n{indented}\n", 1)


def the(text: str) -> tuple[str, str, str]:
    """Rule, message and help of the one finding."""
    (found,) = lint(text)
    return found.rule, found.message, found.help


@pytest.mark.parametrize(
    "kind, field, struct, home",
    [
        ("Deployment", "volumes: []", "Deployment spec", "spec.template.spec"),
        ("StatefulSet", "serviceAccountName: web", "StatefulSet spec", "spec.template.spec"),
        ("VirtualMachine", "evictionStrategy: LiveMigrate", "VirtualMachine spec", "spec.template.spec"),
    ],
)
def test_a_field_of_pods_in_the_spec_of_their_controller(kind: str, field: str, struct: str, home: str) -> None:
    name = field.partition(":")[0]
    message = f"unknown field `{name}` in this {struct}; it belongs in {home}"
    assert the(under(workload(kind, ""), "spec:", field)) == ("unknown-field", message, f"Move {name} to {home}.")


@pytest.mark.parametrize(
    "kind, field, home",
    [
        ("Deployment", "minReadySeconds: 5", "spec"),
        ("Deployment", "replicas: 3", "spec"),
        ("StatefulSet", "volumeClaimTemplates: []", "spec"),
        ("VirtualMachine", "runStrategy: Manual", "spec"),
    ],
)
def test_a_field_of_the_controller_in_the_spec_of_its_pods(kind: str, field: str, home: str) -> None:
    rule, message, help_ = the(workload(kind, field))
    name = field.partition(":")[0]
    assert (rule, message.partition("; ")[2]) == ("unknown-field", f"it belongs in {home}")
    there = kind == "VirtualMachine"
    assert help_ == (f"Remove it: {home} already has {name}." if there else f"Move {name} to {home}.")


@pytest.mark.parametrize(
    "holder, field, struct, home",
    [
        ("spec:", "backoffLimit: 3", "CronJob spec", "spec.jobTemplate.spec"),
        ("spec:", "activeDeadlineSeconds: 60", "CronJob spec", "spec.jobTemplate.spec"),
        ("  jobTemplate:", "parallelism: 2", "job template", "spec.jobTemplate.spec"),
        ("        spec:", "ttlSecondsAfterFinished: 60", "pod spec", "spec.jobTemplate.spec"),
        ("    spec:", "timeZone: Europe/Berlin", "Job spec", "spec"),
        ("spec:", "dnsPolicy: Default", "CronJob spec", "spec.jobTemplate.spec.template.spec"),
    ],
)
def test_fields_of_a_cron_job_of_its_jobs_and_of_their_pods(holder: str, field: str, struct: str, home: str) -> None:
    name = field.partition(":")[0]
    message = f"unknown field `{name}` in this {struct}; it belongs in {home}"
    assert the(under(CRON_JOB, holder, field)) == ("unknown-field", message, f"Move {name} to {home}.")


def test_host_names_are_those_of_a_host_alias() -> None:
    text = workload("Pod", "hostAliases:\n  - ip: 10.0.0.1\nhostnames: [db]")
    assert the(text) == (
        "unknown-field",
        "unknown field `hostnames` in this pod spec; it belongs in an item of spec.hostAliases, next to its ip",
        "Move hostnames to an item of spec.hostAliases, next to its ip.",
    )


def test_one_dedent_is_one_finding() -> None:
    text = under(workload("Deployment", ""), "spec:", "volumes: []", "dnsPolicy: Default", "hostNetwork: true")
    (found,) = lint(text)
    assert (found.rule, found.span.line, found.span.column) == ("unknown-field", 5, 3)
    assert (
        found.message
        == "unknown fields `volumes`, `dnsPolicy` and `hostNetwork` in this Deployment spec; they belong in spec.template.spec"
    )
    assert found.help == "Move them to spec.template.spec."


def test_one_dedent_with_placement_in_it_is_a_misplaced_constraint() -> None:
    text = under(workload("Deployment", ""), "spec:", "volumes: []", "nodeSelector: {disk: ssd}", "tolerations: []", "replicas: 3")
    assert the(text) == (
        "misplaced-constraint",
        "volumes, nodeSelector and tolerations are not fields of the Deployment spec; they belong in spec.template.spec",
        "Move them to spec.template.spec.",
    )


def test_the_rest_of_a_container() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n  image: busybox\n  ports: []\n"
    assert the(text) == (
        "unknown-field",
        "unknown fields `image` and `ports` in this pod spec; they belong in an item of spec.containers",
        "Move them to an item of spec.containers.",
    )


def test_fields_for_different_places_are_different_findings() -> None:
    text = under(CRON_JOB, "spec:", "backoffLimit: 3", "dnsPolicy: Default")
    assert [each.message.partition("; ")[2] for each in lint(text)] == [
        "it belongs in spec.jobTemplate.spec",
        "it belongs in spec.jobTemplate.spec.template.spec",
    ]


def test_a_term_without_its_wrapper_is_one_finding() -> None:
    text = workload(
        "Pod",
        "affinity:\n  podAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n"
        "      - {weight: 1, labelSelector: {matchLabels: {app: web}}, topologyKey: zone, namespaces: [shop]}",
    )
    assert the(text) == (
        "missing-term-wrapper",
        "labelSelector, namespaces and topologyKey are set directly in a preferred term; they belong under podAffinityTerm",
        "Indent labelSelector and topologyKey under `podAffinityTerm:`, next to weight.",
    )


def test_the_order_of_its_keys_changes_neither_field_nor_message() -> None:
    def found(fields: str) -> tuple[str, str]:
        text = workload(
            "Pod", f"affinity:\n  podAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n      - {{weight: 1, {fields}}}"
        )
        (finding,) = lint(text)
        return finding.field, finding.message

    selector = "labelSelector: {matchLabels: {app: web}}"
    assert found(f"{selector}, topologyKey: zone") == found(f"topologyKey: zone, {selector}")


def test_what_a_label_selector_swallowed_is_one_finding() -> None:
    text = workload("Pod", pod_term("labelSelector: {matchLabels: {app: web}, topologyKey: zone, namespaces: [shop]}"))
    assert the(text) == (
        "misplaced-constraint",
        "topologyKey and namespaces are inside the label selector; they belong next to it",
        "Align topologyKey and namespaces with labelSelector.",
    )


def test_a_spec_that_was_left_out_below_the_metadata_of_a_template_is_one_finding() -> None:
    text = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec:\n  runStrategy: Always\n  template:\n"
        "    metadata:\n      labels: {app: web}\n      terminationGracePeriodSeconds: 180\n      nodeSelector: {disk: ssd}\n"
        "      domain: {devices: {}}\n      networks: []\n"
    )
    rule, message, _ = the(text)
    assert rule == "misplaced-constraint"
    assert message.startswith("terminationGracePeriodSeconds, nodeSelector, domain and networks are not fields of the template metadata; ")
    assert message.endswith("; they belong in spec.template.spec")


def test_a_time_to_end_is_not_a_slip_for_the_one_that_the_server_sets() -> None:
    """`deletionGracePeriodSeconds` of the metadata is set when an object is deleted."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, terminationGracePeriodSeconds: 180}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    assert the(text)[1] == "unknown field `terminationGracePeriodSeconds` in this metadata; it belongs in spec"


def test_a_spec_that_is_indented_into_the_metadata_is_one_finding() -> None:
    text = """
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: vm}
        spec:
          runStrategy: Always
          template:
            metadata:
              labels: {app: vm}
              spec:
                nodeSelector: {disktype: ssd}
              domain: {devices: {}}
              terminationGracePeriodSeconds: 180
    """
    (finding,) = lint(text)
    assert (finding.rule, finding.span.line, finding.field) == ("unknown-field", 10, "spec.template.metadata.spec")
    assert finding.message == (
        "spec is indented into the template metadata, and so are domain and terminationGracePeriodSeconds; spec.template has no spec"
    )
    assert finding.help == "Move spec to spec.template, next to metadata, and domain and terminationGracePeriodSeconds into it."


def test_a_spec_in_the_metadata_next_to_one_in_the_template_is_unknown() -> None:
    text = """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}, spec: {hostNetwork: true}}
            spec: {containers: [{name: web, image: web}]}
    """
    assert [each.message for each in lint(text)] == ["unknown field `spec` in this metadata"]
