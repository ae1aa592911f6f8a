"""Annotations as the API server reads them: sizes in bytes, keys in the lower case of Go, and tolerations in JSON as Go decodes it."""

import pytest
from workload_texts import workload

from afflint.checks.match import Target
from afflint.kube import NEWEST
from linting import lint


def found(text: str, target: Target | None = None) -> list[str]:
    """``line:column rule message`` for each admission finding."""
    admission = [each for each in lint(text, target=target) if each.category == "admission"]
    return [f"{each.span.line}:{each.span.column} {each.rule} {each.message}" for each in admission]


def annotated(annotations: str, kind: str = "Pod") -> str:
    return workload(kind, "").replace("labels: {app: web, tier: front}", f"labels: {{app: web, tier: front}}, annotations: {annotations}")


def test_the_limit_is_one_of_bytes() -> None:
    """Two of them for each é, and the name of the annotation counts."""
    fits = "é" * ((262_144 - 4) // 2)
    assert found(annotated(f"{{note: {fits}}}")) == []
    message = "the annotations have 262146 bytes in total, but at most 262144 are allowed"
    assert found(annotated(f"{{note: {fits}é}}")) == [f"3:56 invalid-annotation {message}"]
    assert [each.split(maxsplit=1)[1] for each in found(annotated(f"{{note: {fits}é}}", "Deployment"))] == [f"invalid-annotation {message}"]


def test_keys_are_lowered_letter_by_letter() -> None:
    assert found(annotated('{"aİb": x, "EXAMPLE.com/x": z}')) == []
    assert [each.split()[1] for each in found(annotated('{"aıb": x}'))] == ["invalid-annotation"]


class TestDeletionCost:
    COST = "{controller.kubernetes.io/pod-deletion-cost: null}"
    LATE = " (the object is accepted, but every pod created from it is rejected)"

    @pytest.mark.parametrize(
        "kind, late", [("Pod", ""), ("Deployment", ""), ("VirtualMachineInstance", LATE), ("VirtualMachinePool", LATE)]
    )
    def test_a_null_is_the_empty_text(self, kind: str, late: str) -> None:
        assert [each.split(maxsplit=1)[1] for each in found(annotated(self.COST, kind))] == [
            f'invalid-annotation the pod-deletion-cost `""` is not an integer{late}'
        ]

    def test_where_kubevirt_refuses_the_null_that_is_reported(self) -> None:
        (finding,) = found(annotated(self.COST, "VirtualMachine"))
        assert "is null, but KubeVirt requires a string" in finding


class TestLegacyTolerations:
    """GetTolerationsFromPodAnnotations decodes them with encoding/json, and then they are checked like tolerations."""

    @staticmethod
    def messages_of(tolerations: str, target: Target | None = None) -> list[str]:
        """What is said of a list of tolerations, without what goes before in every message."""
        messages = found(annotated(f"{{scheduler.alpha.kubernetes.io/tolerations: '{tolerations}'}}"), target)
        assert all(each.startswith("3:113 invalid-annotation ") for each in messages)
        before = ("the annotation must be a JSON list of tolerations, but ", "in this list of tolerations: ")
        return [each.removeprefix("3:113 invalid-annotation ").removeprefix(before[0]).removeprefix(before[1]) for each in messages]

    @pytest.mark.parametrize(
        "tolerations, expected",
        [
            ("[1]", "item 1 is not an object"),
            ('["a"]', "item 1 is not an object"),
            ('[{"operator": "Exists"}, []]', "item 2 is not an object"),
            ('[{"operator": 1}]', "item 1 has a value of operator that is not a string"),
            ('[{"key": ["a"]}]', "item 1 has a value of key that is not a string"),
            ("[NaN]", "it is not valid JSON"),
            ('[{"operator": "Exists", "x": -Infinity}]', "it is not valid JSON"),
            ("1", "it is not a list"),
            ('{"operator": "Exists"}', "it is not a list"),
            (" ", "it is not valid JSON"),
            ("[null]", "a toleration without a key must have `operator: Exists`, which tolerates every taint"),
            (
                '[{"OPERATOR": "Equal", "Key": "a b"}]',
                "`a b` is not a valid label key: it contains a space; only letters, digits, `-`, `_` and `.` are allowed",
            ),
            ('[{"operator": "Exists", "OPERATOR": "In"}]', "a toleration does not support the operator `In`"),
        ],
    )
    def test_refused(self, tolerations: str, expected: str) -> None:
        assert self.messages_of(tolerations) == [expected]

    @pytest.mark.parametrize("seconds", ["1e3", "5.0", "9223372036854775808", '"5"', "true"])
    def test_seconds_that_go_does_not_decode(self, seconds: str) -> None:
        (message,) = self.messages_of(f'[{{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": {seconds}}}]')
        assert message.startswith("item 1 has the tolerationSeconds ")

    @pytest.mark.parametrize(
        "tolerations",
        [
            "null",
            "[]",
            '[{"OPERATOR": "Exists"}]',
            '[{"operator": "Exists", "effect": "NoExecute", "TolerationSeconds": -9223372036854775808}]',
            '[{"operator": "In", "Operator": "Exists", "operator": null}]',
            '[{"operator": "Exists", "note": 1e999}]',
            '[{"\u212aey": "a", "operator": "Exist\u017f", "operator": "Exists"}]',
        ],
    )
    def test_accepted(self, tolerations: str) -> None:
        assert self.messages_of(tolerations) == []

    def test_comparisons_where_their_gate_is_on(self) -> None:
        comparing = Target(NEWEST, frozenset(("TaintTolerationComparisonOperators",)))
        assert self.messages_of('[{"key": "a", "operator": "Gt", "value": "5"}]') == ["a toleration does not support the operator `Gt`"]
        assert self.messages_of('[{"key": "a", "operator": "Gt", "value": "5"}]', comparing) == []
        assert self.messages_of('[{"key": "a", "operator": "Gt"}]', comparing) == [
            "the operator Gt compares integers, but the toleration has no value"
        ]
