"""Tolerations that compare numbers: only since 1.35, only with their feature gate, and then held to how a number is written."""

import pytest
from workload_texts import workload

from afflint.checks.match import Target
from afflint.kube import NEWEST
from linting import lint

GATE = frozenset(("TaintTolerationComparisonOperators",))
COMPARING = Target(NEWEST, GATE)


def found(toleration: str, kind: str = "Pod", target: Target = COMPARING) -> list[str]:
    """``line:column rule message`` for each admission finding."""
    admission = [each for each in lint(workload(kind, f"tolerations: [{toleration}]"), target=target) if each.category == "admission"]
    return [f"{each.span.line}:{each.span.column} {each.rule} {each.message}" for each in admission]


@pytest.mark.parametrize("value", ["0", "5", "-5", "9223372036854775807", "-9223372036854775808"])
def test_numbers(value: str) -> None:
    assert found(f'{{key: a, operator: Gt, value: "{value}"}}') == []


@pytest.mark.parametrize("value", ["abc", "007", "+5", "-0", "1e3", "5.0", " 5"])
def test_what_is_not_a_number_in_its_one_form(value: str) -> None:
    message = (
        f"the operator Lt compares integers, but `{value}` is not an integer in plain form: digits without a plus sign or leading zeros"
    )
    assert found(f'{{key: a, operator: Lt, value: "{value}"}}') == [f"6:47 invalid-toleration {message}"]


def test_numbers_that_are_too_large() -> None:
    for value in ("9223372036854775808", "-9223372036854775809"):
        (finding,) = found(f'{{key: a, operator: Gt, value: "{value}"}}')
        assert finding.endswith(f"`{value}` is not a 64-bit integer")


def test_without_value_or_key() -> None:
    no_value = "6:18 invalid-toleration the operator Gt compares integers, but the toleration has no value"
    assert found("{key: a, operator: Gt}") == [no_value]
    no_key = "a toleration without a key must have `operator: Exists`, which tolerates every taint"
    assert [each.split(maxsplit=1)[1] for each in found('{operator: Gt, value: "5"}')] == [f"invalid-toleration {no_key}"]


def test_the_webhook_of_kubevirt_knows_them_not_and_has_no_schema_for_pools() -> None:
    for value in ("5", "abc"):
        toleration = f'{{key: a, operator: Gt, value: "{value}"}}'
        assert [each.split(maxsplit=1)[1] for each in found(toleration, "VirtualMachine")] == [
            "unknown-operator a toleration does not support the operator Gt in KubeVirt"
        ]
    assert found('{key: a, operator: Gt, value: "5"}', "VirtualMachinePool") == []
    (finding,) = found('{key: a, operator: Gt, value: "abc"}', "VirtualMachinePool")
    assert finding.endswith("(the object is accepted, but every pod created from it is rejected)")
