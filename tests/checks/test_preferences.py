"""Preferred node affinity checked against the nodes."""

import pytest

from on_nodes import lint, messages_of, workload

NODES = """\
    - {name: w1, labels: {size: large, zone: west, "kubernetes.io/os": linux}}
    - {name: w2, labels: {size: small, zone: West}}
    - {name: w3, labels: {size: small, zone: west, cores: "8"}, taints: ["dedicated=db:NoSchedule"]}
    """


def preferring(*terms: str, required: str = "", kind: str = "matchExpressions") -> str:
    listed = ", ".join(f"{{weight: 1, preference: {{{kind}: [{term}]}}}}" for term in terms)
    demanded = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{required}]}}]}}, "
    own = demanded if required else ""
    return f"affinity: {{nodeAffinity: {{{own}preferredDuringSchedulingIgnoredDuringExecution: [{listed}]}}}}"


def unmet(*terms: str, required: str = "", kind: str = "matchExpressions", more: str = "") -> list[str]:
    found = messages_of("unmet-preference", NODES, workload(preferring(*terms, required=required, kind=kind) + more))
    return [each.split(" ", 1)[1].replace("this preference has no effect: ", "") for each in found]


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("{key: size, operator: In, values: [larg]}", "warning: no node has the label `size` with the value `larg`; did you mean `large`?"),
        (
            "{key: zone, operator: In, values: [east]}",
            "warning: no node has the label `zone` with the value `east`; the values that nodes have are `West` and `west`",
        ),
        ("{key: Size, operator: Exists}", "warning: none of the 3 known nodes has the label `Size`; did you mean `size`?"),
        ("{key: rack, operator: In, values: [r1]}", "warning: none of the 3 known nodes has the label `rack`"),
        (
            "{key: topology.kubernetes.io/zone, operator: Exists}",
            "info: none of the 3 known nodes has the label `topology.kubernetes.io/zone`",
        ),
        ("{key: cores, operator: Gt, values: ['16']}", "warning: none of the 3 known nodes has `cores Gt [16]`"),
        ("{key: zone, operator: NotIn, values: [west, West]}", "warning: every node has the label `zone` with the value `west` or `West`"),
        ("{key: size, operator: DoesNotExist}", "warning: every node has the label `size`"),
        (
            "{key: size, operator: In, values: [large]}, {key: zone, operator: In, values: [West]}",
            "warning: none of the 3 known nodes has `size In [large]` and `zone In [West]` together",
        ),
    ],
)
def test_what_no_node_meets(term: str, message: str) -> None:
    assert unmet(term) == [message]


def test_the_help_says_how_many_nodes_have_what_was_meant() -> None:

    (found,) = [
        each for each in lint(NODES, workload(preferring("{key: size, operator: In, values: [smal]}"))) if each.rule == "unmet-preference"
    ]
    assert found.help == "Write `small`, which 2 nodes have."


def test_the_name_of_a_node() -> None:
    assert unmet("{key: metadata.name, operator: In, values: [w4]}", kind="matchFields") == ["warning: no node is named `w4`"]


@pytest.mark.parametrize(
    "term",
    [
        "{key: size, operator: In, values: [large]}",
        "{key: size, operator: In, values: [large, huge]}",
        "{key: cores, operator: Lt, values: ['4']}, {key: size, operator: In, values: ['{{ .Values.size }}']}",
        "{key: kubernetes.io/arch, operator: In, values: [arm64]}",
        "{key: topology.kubernetes.io/hostname, operator: Exists}",
        "{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [a]}",
        "{key: size, operator: In, values: [large]}, {key: size, operator: NotIn, values: [large]}",
    ],
    ids=["met", "one value met", "filled in later", "left out of lists by hand", "no node has it", "deprecated", "contradictory"],
)
def test_what_is_met_and_what_other_rules_say(term: str) -> None:
    assert unmet(term) == []


def test_a_ladder_need_not_have_every_rung_here() -> None:
    large, huge = "{key: size, operator: In, values: [large]}", "{key: size, operator: In, values: [huge]}"
    assert unmet(huge, large) == []
    assert unmet("{key: size, operator: In, values: [larged]}", large) == [
        "warning: no node has the label `size` with the value `larged`; did you mean `large`?"
    ]


def test_nodes_where_the_pods_may_not_go_do_not_count() -> None:
    cores = "{key: cores, operator: Exists}"
    assert unmet(cores) == ["warning: only node w3 satisfies it, but the pods cannot be scheduled there"]
    assert unmet(cores, more="\ntolerations: [{key: dedicated, operator: Exists}]") == []
    assert unmet("{key: zone, operator: In, values: [West]}", required="{key: size, operator: In, values: [large]}") == [
        "warning: only node w2 satisfies it, but the pods cannot be scheduled there"
    ]


def test_a_preference_that_contradicts_what_is_required_is_reported_once() -> None:
    """By redundant-term, which needs no nodes for that."""
    small = "{key: size, operator: In, values: [small]}"
    assert unmet(small, required="{key: size, operator: In, values: [large]}") == []


def test_a_pod_that_names_its_node_prefers_nothing() -> None:
    assert unmet("{key: rack, operator: Exists}", more="\nnodeName: w1") == []
