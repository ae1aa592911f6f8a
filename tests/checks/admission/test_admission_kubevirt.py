"""What the CRDs and webhooks of KubeVirt make of nulls and of numbers: not what the API server makes of them on its own kinds."""

import pytest
from workload_texts import pod_term, workload

from linting import lint


def found(text: str) -> list[str]:
    """``line:column rule message`` for each admission finding."""
    return [f"{each.span.line}:{each.span.column} {each.rule} {each.message}" for each in lint(text) if each.category == "admission"]


VMIRS = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceReplicaSet
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      domain: {devices: {}}
"""


@pytest.mark.parametrize("text", [VMIRS, workload("VirtualMachinePool", "")])
def test_a_null_in_the_selector_asks_for_nothing(text: str) -> None:
    """The API server drops it from a custom resource; ``""`` it asks for."""
    assert found(text.replace("matchLabels: {app: web}", "matchLabels: {app: web, tier: null}")) == []
    assert found(text.replace("matchLabels: {app: web}", 'matchLabels: {app: web, tier: ""}')) != []


def test_a_null_in_the_selector_of_a_core_kind_asks_for_the_empty_value() -> None:
    text = workload("Deployment", "").replace("matchLabels: {app: web}", "matchLabels: {app: web, zone: null}")
    assert found(text) == [
        '5:44 selector-template-mismatch the selector does not match the pod template: it requires `zone: ""`, but the label is missing'
    ]


@pytest.mark.parametrize("lines", ["nodeSelector: {a b: null}", pod_term("topologyKey: zone\nlabelSelector: {matchLabels: {a b: null}}")])
def test_keys_of_null_values_are_dropped_unread(lines: str) -> None:
    for kind in ("VirtualMachine", "VirtualMachineInstance", "VirtualMachinePool"):
        assert found(workload(kind, lines)) == []
    assert [each.split()[1] for each in found(workload("Deployment", lines))] == ["invalid-label-key"]


def test_an_alias_of_a_pruned_map_keeps_its_nulls() -> None:
    """``labels`` of an object are decoded, not pruned: their null is the empty string, whatever shares it."""
    text = workload("VirtualMachineInstance", "nodeSelector: *zone").replace("{app: web, tier: front}", "&zone {a b: null}")
    assert found(text) == [
        "3:38 invalid-label-key `a b` is not a valid label key: it contains a space; only letters, digits, `-`, `_` and `.` are allowed"
    ]


def test_null_metadata_of_a_template() -> None:
    expected = "wrong-type `metadata` is null, but KubeVirt requires an object"
    text = workload("VirtualMachine", "").replace("metadata: {labels: {app: web, tier: front}}", "metadata: null")
    assert found(text) == [f"7:15 {expected}"]
    text = VMIRS.replace("metadata: {labels: {app: web}}", "metadata:").replace("{matchLabels: {app: web}}", "{}")
    assert [each.split(maxsplit=1)[1] for each in found(text)] == [expected]
    pool = workload("VirtualMachinePool", "").replace("metadata: {labels: {app: web, tier: front}}", "metadata: null")
    assert found(pool) == []


SECONDS = "tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: %s}]"


@pytest.mark.parametrize("number", ["9007199254740992", "-9007199254740992"])
def test_numbers_that_a_float_does_not_hold_exactly(number: str) -> None:
    size = "small" if number.startswith("-") else "large"
    for kind in ("VirtualMachine", "VirtualMachineInstance"):
        (finding,) = found(workload(kind, SECONDS % number))
        assert finding.endswith(
            "wrong-type `tolerationSeconds` must be an integer below 2^53 (KubeVirt cannot represent larger ones exactly),"
            f" but `{number}` is too {size}"
        )
        assert found(workload(kind, SECONDS % number.replace("2", "1", 1).replace("9007199154740992", "9007199154740991"))) == []
    for kind in ("VirtualMachinePool", "Deployment"):
        assert found(workload(kind, SECONDS % number)) == []
