"""The nodeSelector and node affinity of a pod, parsed from its spec."""

from typing import Any

from afflint.constraints.nodes import NodeConstraints, NodeRequirement, nodes_of, parse_node_constraints, required_nodes
from afflint.findings.paths import Path
from afflint.kube.constraints import PREFERRED, REQUIRED, constraints_of
from afflint.kube.selectors import EVERYTHING, AnyOf, Malformed, Requirement, Selector, matches

SSD = Requirement("disk", "In", ("ssd",))
GPU = Requirement("gpu", "Exists")
NAMED = Requirement("metadata.name", "In", ("n1",), field=True)
TERMS: Path = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")


def expression(requirement: Requirement) -> dict[str, Any]:
    return {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}


def term(*requirements: Requirement) -> dict[str, Any]:
    return {
        "matchFields": [expression(each) for each in requirements if each.field],
        "matchExpressions": [expression(each) for each in requirements if not each.field],
    }


def parse(
    selector: object = None, required: list[object] | None = None, preferred: list[dict[str, object]] | None = None
) -> NodeConstraints:
    affinity: dict[str, Any] = {}
    if required is not None:
        affinity[REQUIRED] = {"nodeSelectorTerms": required}
    if preferred is not None:
        affinity[PREFERRED] = preferred
    return parse_node_constraints(constraints_of({"nodeSelector": selector, "affinity": {"nodeAffinity": affinity}}, ("spec",)))


def test_a_pod_without_constraints_has_one_alternative_without_requirements() -> None:
    for nodes in (parse(), parse({}), parse(preferred=[{"weight": 1, "preference": term(GPU)}])):
        assert nodes.is_empty
        assert nodes.alternatives == ((),)
        assert nodes_of(nodes.alternatives) == AnyOf((EVERYTHING,))


def test_each_term_is_an_alternative_with_the_node_selector() -> None:
    nodes = parse({"pool": "a"}, [term(NAMED, SSD, GPU), term(GPU)])
    pool = NodeRequirement(Requirement("pool", "In", ("a",)), ("spec", "nodeSelector", "pool"))
    assert nodes.alternatives == (
        (
            pool,
            NodeRequirement(SSD, (*TERMS, 0, "matchExpressions", 0)),
            NodeRequirement(GPU, (*TERMS, 0, "matchExpressions", 1)),
            NodeRequirement(NAMED, (*TERMS, 0, "matchFields", 0)),
        ),
        (pool, NodeRequirement(GPU, (*TERMS, 1, "matchExpressions", 0))),
    )
    assert not nodes.is_empty
    assert nodes_of(nodes.alternatives).selectors[1] == Selector((pool.requirement, GPU))


def test_terms_that_match_no_node_are_not_alternatives() -> None:
    nodes = parse(required=[{}, term(GPU), None])
    assert [each.selector for each in nodes.terms or ()] == [None, Selector((GPU,)), None]
    assert nodes.alternatives == ((NodeRequirement(GPU, (*TERMS, 1, "matchExpressions", 0)),),)
    assert parse(required=[]).alternatives == parse(required=[{}]).alternatives == ()
    assert not parse(required=[]).is_empty


def test_a_malformed_part_leaves_no_alternative() -> None:
    for nodes in (parse({"pool": 1}), parse(required=[term(GPU), {"matchExpressions": [{"key": "gpu", "operator": "Is"}]}])):
        assert nodes.alternatives == ()
        assert not nodes.is_empty
    malformed = parse(required=[{"matchExpressions": {}}]).terms
    assert malformed is not None
    assert isinstance(malformed[0].selector, Malformed)
    assert malformed[0].requirements == ()


def test_preferences_have_weights() -> None:
    nodes = parse(preferred=[{"weight": 5, "preference": term(SSD)}, {"weight": "5", "preference": term(GPU)}, {"weight": 1}])
    assert nodes.terms is None
    assert [each.weight for each in nodes.preferences] == [5, 0]
    path = ("spec", "affinity", "nodeAffinity", PREFERRED, 0, "preference")
    assert nodes.preferences[0].path == path
    assert nodes.preferences[0].requirements == (NodeRequirement(SSD, (*path, "matchExpressions", 0)),)


def test_unknown_fields_of_a_term_do_not_move_its_requirements() -> None:
    nodes = parse(required=[{"matchLabels": {"a": "b"}, **term(GPU)}])
    assert nodes.alternatives == ((NodeRequirement(GPU, (*TERMS, 0, "matchExpressions", 0)),),)


def test_required_nodes_combine_node_selector_and_terms() -> None:
    pool = Selector((Requirement("pool", "In", ("a",)),))
    assert required_nodes(pool, None) == AnyOf((pool,))
    assert required_nodes(pool, ()) == AnyOf()
    nodes = required_nodes(pool, (Selector((SSD,)), None, Malformed((), ""), Selector((GPU,))))
    assert nodes == AnyOf((Selector((*pool.requirements, SSD)), Selector((*pool.requirements, GPU))))
    assert matches(nodes, {"pool": "a", "gpu": ""})
    assert not matches(nodes, {"gpu": ""})
