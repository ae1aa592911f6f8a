"""A report on a running cluster begins with what an administrator acts on: what is at risk now, and what stops drains."""

import json
from typing import Any

import jsonschema

from afflint.controllers.budgets import read_budget
from afflint.controllers.observed_workloads import observed_workloads
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.selection import selected
from afflint.report.place import json_report, page, table
from checkout import ROOT
from cluster_objects import HOST, ZONE, Object, apart, budget, node, together, zoned
from cluster_objects import pod as plain_pod
from workload_objects import inventory

NODES = zoned(w1="a", w2="a", w3="b")
SCHEMA = json.loads((ROOT / "schemas" / "place.schema.json").read_text())
WEB = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}


def pod(name: str, on: str, **spec: Any) -> Object:
    """A running pod of the Deployment or StatefulSet that its name begins with; without a hyphen, it has no controller."""
    app = name.rpartition("-")[0]
    found = plain_pod(name, {"app": app or name}, on=on, namespace="default", **spec)
    if app:
        kind = "StatefulSet" if name[-1].isdigit() else "ReplicaSet"
        found["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": app, "controller": True}]
    found["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return found


def plan(*pods: Object, nodes: list[Object] = NODES, budgets: tuple[Object, ...] = (), drain: tuple[str, ...] = ()) -> Plan:
    workloads = observed_workloads([], pods, [each["metadata"]["name"] for each in nodes])
    given = inventory(nodes, pods=list(pods))
    return make_plan(given, workloads, asked=DisruptionRequest(drain=drain), budgets=[read_budget(each) for each in budgets])


def blocks(found: Plan, **options: Any) -> list[str]:
    text = "".join(table.render(found, color=False, width=160, **options))
    return [" ".join(part.split()) for part in text.split("\n\n")]


def test_a_cluster_without_risks_is_described_in_one_sentence() -> None:
    found = plan(pod("web-a", "w1"), pod("web-b", "w3"))
    assert found.now is not None
    assert (found.now.running, found.now.blocked, found.now.concentrated) == (2, (), ())
    fine = "can leave its node and violates no placement rule, and no application with several replicas is in one place only."
    assert blocks(found)[0] == f"Each running pod of the workloads {fine}"


def test_pods_of_an_unknown_scheduler_are_not_among_those_that_are_fine() -> None:
    found = plan(pod("web-a", "w1", schedulerName="volcano"))
    assert blocks(found)[0].startswith("Each running pod of the evaluated workloads can leave its node")


def test_manifests_without_running_pods_have_no_present_state() -> None:
    assert plan().now is None
    assert blocks(plan())[0].startswith("3 nodes by zone")


def test_replicas_in_one_zone_or_on_one_node_are_at_risk_by_chance_or_because_no_other_takes_them() -> None:
    found = plan(pod("web-a", "w1"), pod("web-b", "w2"), pod("db-a", "w1"), pod("db-b", "w1"), pod("old-a", "w1", nodeSelector={ZONE: "a"}),
                 pod("old-b", "w2", nodeSelector={ZONE: "a"}))  # fmt: skip
    assert found.now is not None
    assert [(each.name, each.replicas, each.key, each.domain, each.movable) for each in found.now.concentrated] == [
        ("ReplicaSet default/web", 2, ZONE, "a", True),
        ("ReplicaSet default/db", 2, HOST, "w1", True),
        ("ReplicaSet default/old", 2, ZONE, "a", False),
    ]
    first, risks, *_ = blocks(found)
    assert first == "1 workload runs on one node and 2 workloads run in one zone."
    assert risks == (
        "At risk now "
        "1 workload runs on one node nothing requires that: another node could take a replica: default/db (2 in w1) "
        "1 workload runs in one zone nothing requires that: another zone could take a replica: default/web (2 in a) "
        "1 workload runs in one zone no other zone can take a replica now: default/old (2 in a)"
    )


def test_replicas_that_must_be_together_are_not_together_by_chance() -> None:
    beside = together(WEB)
    found = plan(pod("web-a", "w1", affinity=beside), pod("web-b", "w1", affinity=beside))
    assert found.now is not None
    assert [(each.key, each.movable) for each in found.now.concentrated] == [(HOST, False)]


def test_one_replica_that_could_run_elsewhere_is_enough() -> None:
    """Two revisions of a workload: only the old pod has to be in zone a."""
    found = plan(pod("web-a", "w1", nodeSelector={ZONE: "a"}), pod("web-b", "w2"))
    assert found.now is not None
    assert [each.movable for each in found.now.concentrated] == [True]


def test_pods_of_one_zone_cluster_and_of_jobs_are_not_at_risk() -> None:
    jobs = [pod("job-a", "w1"), pod("job-b", "w1")]
    for each in jobs:
        each["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "controller": True}]
    for found in (plan(pod("web-a", "w1"), pod("web-b", "w2"), nodes=zoned(w1="a", w2="a")), plan(*jobs)):
        assert found.now is not None
        assert found.now.concentrated == ()


def test_budgets_that_allow_nothing_and_the_pods_that_they_keep_are_listed_without_a_drain() -> None:
    found = plan(pod("web-a", "w1"), pod("web-b", "w3"), pod("tool", "w2"), budgets=(budget(minAvailable=2),))
    assert found.now is not None
    assert [(each.name, each.pods) for each in found.now.budgets] == [("default/web", ("web-a", "web-b"))]
    assert [(each.pod, each.node, each.refused) for each in found.now.blocked] == [
        ("web-a", "w1", False),
        ("tool", "w2", True),
        ("web-b", "w3", False),
    ]
    first, risks, drains, *_ = blocks(found)
    assert first == "3 pods keep 3 of 3 nodes from being drained."
    assert risks == "At risk now 1 PodDisruptionBudget allows no eviction now default/web"
    assert drains == (
        "3 pods keep 3 of 3 nodes from being drained (blocked: never completes, refused: fails at once) "
        "2 nodes blocked 2 pods are not evicted: default/web (w1, w3); for example, web-a of default/web is not evicted from w1: "
        "PodDisruptionBudget web (minAvailable 2) requires 2 of 2 pods to be healthy, and 2 are "
        "node w2 refused tool of default/tool is not evicted from w2: it has no controller: kubectl drain fails without --force, which "
        "deletes it permanently"
    )


def test_what_stops_drains_is_what_the_drains_say() -> None:
    pods = pod("web-a", "w1"), pod("web-b", "w3"), pod("tool", "w2"), pod("free-a", "w2")
    found = plan(*pods, budgets=(budget(minAvailable=2),), drain=("each:node",))
    assert found.now is not None
    assert set(found.now.blocked) == {each for loss in found.losses for each in loss.blocked}
    # The drains follow the sentence, and are not listed twice.
    assert [each[:8] for each in blocks(found)[:3]] == ["3 pods k", "At risk ", "3 drains"]


def test_a_refused_drain_names_what_would_block_it_with_force() -> None:
    (loss,) = plan(pod("web-a", "w1"), pod("web-b", "w3"), pod("tool", "w1"), budgets=(budget(minAvailable=2),), drain=("w1",)).losses
    assert (loss.result, [each.pod for each in loss.blocked]) == ("refused", ["tool"])
    (note,) = loss.notes
    assert note.startswith("with --force, the drain of w1 would not complete either: web-a is not evicted: PodDisruptionBudget web ")


def test_what_blocked_drains_do_before_they_stop_is_in_the_sums() -> None:
    lone = pod("db-a", "w1", nodeSelector={HOST: "w1"})
    text = blocks(plan(pod("web-a", "w1"), pod("web-b", "w3"), lone, budgets=(budget(minAvailable=2),), drain=("w1", "w2")))[-1]
    sums = "2 drains: 1 is blocked, 1 is survived by every workload. Of those that do not complete, 1 takes a workload down."
    assert sums in text


def test_a_selection_says_what_is_at_risk_of_it() -> None:
    found = selected(plan(pod("web-a", "w1"), pod("web-b", "w2"), pod("tool", "w2")), ["tool"])
    assert blocks(found)[0] == "1 pod keeps 1 of 3 nodes from being drained."


def test_names_of_nodes_are_shortened_and_a_note_says_so() -> None:
    nodes = [node(f"w{number}.rack.example.com", {HOST: f"w{number}.rack.example.com"}) for number in (1, 2)]
    pods = [pod("web-a", "w1.rack.example.com", affinity=apart(WEB)), pod("web-b", "w1.rack.example.com", affinity=apart(WEB))]
    text = blocks(plan(*pods, nodes=nodes))
    assert text[1].endswith(
        "default/web web-b w1 already has a replica of web; a restart would move it, for example to w2; a descheduler with "
        "RemovePodsViolatingInterPodAntiAffinity considers it"
    )
    assert text[-1].endswith("note: node names are shortened: w1 is w1.rack.example.com")


def test_many_workloads_that_are_fine_are_one_line() -> None:
    found = plan(*[pod(f"w{number}-{letter}", on) for number in range(30) for letter, on in (("a", "w1"), ("b", "w3"))])
    assert "30 workloads are completely scheduled (-v lists them)." in blocks(found)
    assert "default/w7" not in " ".join(blocks(found))
    assert "ReplicaSet default/w7 2 of 2" in " ".join(blocks(found, verbose=True))


def test_a_summary_begins_with_the_sentence() -> None:
    (found,) = blocks(plan(pod("tool", "w2")), summary=True)
    assert found.startswith("1 pod keeps 1 of 3 nodes from being drained. 1 of 1 replica of 1 workload scheduled on 3 nodes.")


def test_the_page_has_the_sentence_the_risks_and_the_causes_above_the_picture() -> None:
    text = page.render(plan(pod("web-a", "w1"), pod("web-b", "w1"), pod("tool<b>", "w2"), drain=("each:node",)))
    parts = (
        '<p class="lead">1 pod keeps 1 of 3 nodes from being drained and 1 workload runs on one node. 3 of 3 replicas scheduled.',
        "<b>1 workload runs on one node</b>: nothing requires that: another node could take a replica: default/web (2 in w1)",
        "1 pod keeps 1 of 3 nodes from being drained</summary>",
        "node w2</span> tool&lt;b&gt; of default/tool&lt;b&gt; is not evicted from w2",
        'class="stage',
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_json_has_every_name() -> None:
    found = plan(*[pod(f"web-{letter}", "w1") for letter in "abcdefghijklmnopqrstu"], budgets=(budget(maxUnavailable=0),))
    document = json.loads("".join(json_report.render(found)))
    jsonschema.validate(document, SCHEMA)
    assert len(document["now"]["blocked"]) == 21
    assert document["now"]["concentrated"][0]["domain"] == "w1"
    assert "now" not in json.loads("".join(json_report.render(plan())))


def test_the_note_about_a_column_needs_the_column() -> None:
    """A large cluster has tables of workloads only with -v."""
    found = plan(*[pod(f"app{number}-{each}", "w1") for number in range(40) for each in "ab"])
    assert "FITS is for the first replica" in " ".join(blocks(found, verbose=True))
    assert "FITS" not in " ".join(blocks(found))
