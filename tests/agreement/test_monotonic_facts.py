"""More freedom proves no new failure: another node, a taint fewer, a replica fewer, a workload in another namespace."""

from copy import deepcopy
from random import Random

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from plans import Plans, as_json

from afflint.checks.registry import bind_rules, rules
from afflint.findings.finding import Finding
from cluster_objects import HOST, Object
from linting import findings_of, settings_of
from mistaken_manifests import mistaken_manifests
from random_orders import drawn_objects

OF_ONE_WORKLOAD, OF_SEVERAL = ("unschedulable", "too-few-domains"), "competing-workloads"
"""The rules whose errors are proofs that replicas stay Pending."""
OF_ONE_MANIFEST = settings_of(
    [each.rule.name for each in bind_rules(rules()) if each.subject in ("manifest", "workload", "constrained", "mismatched")]
)
randoms = st.randoms(use_true_random=False)
few = settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def nodes_in(objects: list[Object]) -> list[Object]:
    return [each for each in objects if each["kind"] == "Node"]


def proved(objects: list[Object], *rules: str) -> set[object]:
    """The workloads with a proof by one of the rules that some replica cannot be scheduled."""
    found = findings_of({"all.json": as_json(objects)}, settings_of(rules), nodes=["all.json"])
    return {each.object for each in found if each.severity == "error"}


def check_that_nothing_new_is_proved(before: list[Object], after: list[Object]) -> None:
    """A proof about several workloads may be new if there was one about one of them, which hides it."""
    assert proved(after, *OF_ONE_WORKLOAD) <= proved(before, *OF_ONE_WORKLOAD)
    assert proved(before, *OF_ONE_WORKLOAD, OF_SEVERAL) or not proved(after, OF_SEVERAL)


@few
@given(randoms)
def test_another_node_like_one_of_them_proves_no_new_failure(random: Random) -> None:
    objects = drawn_objects(random)
    more = deepcopy(random.choice(nodes_in(objects)))
    more["metadata"]["name"] = "another"
    if HOST in more["metadata"]["labels"]:
        more["metadata"]["labels"][HOST] = "another"
    check_that_nothing_new_is_proved(objects, [*objects, more])


@few
@given(randoms)
def test_a_node_without_its_taints_is_usable_by_the_workloads_that_could_use_it(plans: Plans, random: Random) -> None:
    """By the first pod that is scheduled: the nodes of other pods depend on where the first ones are."""
    objects = drawn_objects(random)
    nodes = nodes_in(objects)
    first = objects[len(nodes)]
    open_nodes = [{**each, "spec": {key: value for key, value in each["spec"].items() if key != "taints"}} for each in nodes]
    (before,), (after,) = (plans.of_objects([*listed, first]).feasible.values() for listed in (nodes, open_nodes))
    assert before <= after


@few
@given(randoms)
def test_a_taint_fewer_proves_no_new_failure(random: Random) -> None:
    objects = drawn_objects(random)
    fewer = deepcopy(objects)
    for each in nodes_in(fewer):
        each["spec"].pop("taints", None)
    check_that_nothing_new_is_proved(objects, fewer)


@few
@given(randoms)
def test_a_replica_fewer_proves_no_new_failure(random: Random) -> None:
    objects = drawn_objects(random)
    fewer = deepcopy(objects)
    scaled = [each["spec"] for each in fewer if each["spec"].get("replicas", 0) > 1]
    for spec in scaled[:1]:
        spec["replicas"] -= 1
    check_that_nothing_new_is_proved(objects, fewer)


@few
@given(randoms, mistaken_manifests())
def test_a_workload_in_another_namespace_changes_nothing_for_rules_of_one_manifest(random: Random, mistaken: Object) -> None:
    other = deepcopy(random.choice([each for each in drawn_objects(random) if "template" in each["spec"]]))
    other["metadata"] |= {"namespace": "elsewhere", "name": "other"}

    def findings(*objects: Object) -> list[Finding]:
        found = findings_of({f"{number}.json": as_json([each]) for number, each in enumerate(objects)}, OF_ONE_MANIFEST)
        return [each for each in found if each.file == "0.json"]

    assert findings(mistaken, other) == findings(mistaken)
